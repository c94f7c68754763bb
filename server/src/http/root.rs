//! The pages: rendered with what the node knows now, so that the first paint is real.

use app::Page;
use axum::extract::{Path, State};
use axum::http::header::{ACCEPT_LANGUAGE, COOKIE, HeaderName, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use chrono::Utc;
use kernel::ids::LiftId;

use super::AppState;
use super::problem::{Code, Refused};

/// `GET /`.
pub(super) async fn overview(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, Refused> {
    render(&state, &headers, Page::Overview)
}

/// `GET /lifts/{lift}`. A person who asks for a lift that is not there gets a page with a way back.
pub(super) async fn lift(
    State(state): State<AppState>,
    Path(text): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let known = LiftId::try_new(&text).ok().filter(|id| state.hub().plant().lifts.contains_key(id));
    match known {
        Some(id) => render(&state, &headers, Page::Lift(id)),
        None => {
            let page = render(&state, &headers, Page::NoSuchLift(text))?;
            Ok((StatusCode::NOT_FOUND, page).into_response())
        }
    }
}

fn render(state: &AppState, headers: &HeaderMap, page: Page) -> Result<Response, Refused> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let snapshot = state.hub().snapshot(Utc::now());
    let boot = app::Boot::for_request(snapshot, state.build(), text(COOKIE), text(ACCEPT_LANGUAGE));
    let html = app::page(boot.at(page))
        .map_err(|error| Refused::new(Code::Internal, format!("The page could not be rendered: {error}.")))?;
    Ok(([(VARY, "cookie, accept-language")], Html(html)).into_response())
}
