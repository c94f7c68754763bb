//! The description of the API, made from the handlers themselves.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa::OpenApi;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Code;
use super::{AppState, api, health, metrics, opening};

/// Of a node that takes in its ledger.
const OPENING_STATUS: &str = "503";

#[derive(OpenApi)]
#[openapi(info(title = "Hoistway", license(name = "MIT OR Apache-2.0")))]
struct Described;

/// Every documented address, with its handler.
pub(super) fn router() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Described::openapi())
        .nest("/api/v1", api::v1::router())
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::version))
        .routes(routes!(metrics::read))
}

/// The description as pretty JSON, as `public/openapi.json` keeps it.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn document() -> serde_json::Result<String> {
    let (_, mut described) = router().split_for_parts();
    described.info.description = Some(description());
    describe_opening(&mut described);
    let mut text = described.to_pretty_json()?;
    text.push('\n');
    Ok(text)
}

/// Whatever tells of the site may be asked too early: see [`super::opening`].
fn describe_opening(described: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut described.paths.paths {
        let Some(read) = item.get.as_mut().filter(|_| opening::tells_of_the_site(path)) else { continue };
        let responses = &mut read.responses.responses;
        if let Some(RefOr::T(earlier)) = responses.get_mut(OPENING_STATUS) {
            earlier.description = format!("{}, `control_unavailable`", earlier.description);
            continue;
        }
        let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let response = ResponseBuilder::new()
            .description("`control_unavailable`")
            .content("application/problem+json", problem)
            .build();
        responses.insert(OPENING_STATUS.to_owned(), RefOr::T(response));
    }
}

fn description() -> String {
    let mut text =
        "Orders in, and what the site does with them out. Every error is an RFC 9457 problem with one of \
                    these codes, which do not change from 1.0 on:\n\n"
            .to_owned();
    text.insert_str(
        0,
        "In a drill run, `hoistway demo --drills`, each answer carries the header `Hoistway-Drill: true`: faults are \
         injected on purpose. An answer without it is of an ordinary run.\n\n",
    );
    for code in Code::ALL {
        let (status, code_text, title) = (code.status().as_u16(), code.text(), code.title());
        text.push_str(&format!("- `{code_text}` ({status}): {title}.\n"));
    }
    text
}

/// `GET /openapi.json`.
pub(super) async fn read(axum::extract::State(state): axum::extract::State<AppState>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], state.openapi().to_owned())
}
