//! `/api/v1/drills`: faults that are injected into a demonstration which was started for it.

mod refusal;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use kernel::ids::DrillId;
use kernel::wire::drill::{DrillList, DrillView, StartDrill};
use kernel::wire::rest::Problem;

use crate::drill::{Conductor, DrillRefusal};
use crate::http::problem::{Code, Refused};
use crate::http::{AppState, body};

/// What can be injected, what stands, and what ended last.
///
/// Not offered of what the lab injects: a node that is gone for good, and a plant whose process goes away.
#[utoipa::path(get, path = "/drills", operation_id = "listDrills", tag = "drills", responses(
    (status = 200, body = DrillList),
    (status = 404, description = "`drills_off`", body = Problem, content_type = "application/problem+json"),
))]
pub(in crate::http) async fn list(State(state): State<AppState>) -> Result<Json<DrillList>, Refused> {
    conductor(&state).map(|it| Json(it.list()))
}

/// Lets a drill begin. It is answered once the ledger has it, and injected right after.
#[utoipa::path(post, path = "/drills", operation_id = "startDrill", tag = "drills", request_body = StartDrill,
    responses(
        (status = 201, description = "Recorded; it begins.", body = DrillView,
            headers(("Location" = String, description = "Where the drill is read."))),
        (status = 400, description = "`malformed_json`", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`drills_off`", body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "`request_timeout`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`drill_collides`", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "`body_too_large`", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "`unsupported_media_type`", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "`unknown_field`, `invalid_body`, `unknown_drill_place`, `drill_duration`",
            body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_drills`", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`ledger_unavailable`", body = Problem,
            content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn start(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Refused> {
    let conductor = conductor(&state)?;
    let asked: StartDrill = body::json(request).await?;
    let view = conductor.start(asked).await.map_err(|it| refusal::refused(&it, conductor.plant()))?;
    let location = format!("/api/v1/drills/{}", view.id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(view)).into_response())
}

/// One drill that stands or ended lately.
#[utoipa::path(get, path = "/drills/{drill}", operation_id = "readDrill", tag = "drills",
    params(("drill" = DrillId, Path, description = "Its name.")),
    responses(
        (status = 200, body = DrillView),
        (status = 404, description = "`not_found`, `drills_off`", body = Problem,
            content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<DrillView>, Refused> {
    let conductor = conductor(&state)?;
    super::find("drill", &text, |text| DrillId::try_new(text).ok(), |id| conductor.read(id)).map(Json)
}

/// Ends a drill before its time.
#[utoipa::path(delete, path = "/drills/{drill}", operation_id = "endDrill", tag = "drills",
    params(("drill" = DrillId, Path, description = "Its name.")),
    responses(
        (status = 200, description = "It is over.", body = DrillView),
        (status = 404, description = "`not_found`, `drills_off`", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "`drill_over`", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`ledger_unavailable`", body = Problem,
            content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn end(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<DrillView>, Refused> {
    let conductor = conductor(&state)?;
    let ended = match DrillId::try_new(&text) {
        Ok(id) => conductor.end(&id).await,
        Err(_) => Err(DrillRefusal::Unknown),
    };
    ended.map(Json).map_err(|it| refusal::refused(&it, conductor.plant()))
}

fn conductor(state: &AppState) -> Result<&Conductor, Refused> {
    state.drills().ok_or_else(|| {
        Refused::new(
            Code::DrillsOff,
            "Faults are injected only into a demonstration that was started for it: `hoistway demo --drills`.",
        )
    })
}
