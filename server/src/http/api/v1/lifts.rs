//! `/api/v1/lifts`.

use axum::Json;
use axum::extract::{Path, State};
use chrono::Utc;
use kernel::ids::LiftId;
use kernel::wire::health::LiftHealth;
use kernel::wire::rest::Problem;
use kernel::wire::view::LiftView;

use super::find;
use crate::http::AppState;
use crate::http::problem::Refused;

/// All lifts, by name.
#[utoipa::path(get, path = "/lifts", operation_id = "listLifts", tag = "lifts", responses((status = 200, body = Vec<LiftView>)))]
pub(in crate::http) async fn list(State(state): State<AppState>) -> Json<Vec<LiftView>> {
    Json(state.hub().lifts())
}

/// One lift.
#[utoipa::path(get, path = "/lifts/{lift}", operation_id = "readLift", tag = "lifts", params(("lift" = LiftId, Path, description = "Its name.")),
    responses(
        (status = 200, body = LiftView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<LiftView>, Refused> {
    find("lift", &text, |text| LiftId::try_new(text).ok(), |id| state.hub().lift(id)).map(Json)
}

/// How well a lift did, shift by shift, the current one first. `recorded` is the same on every node; `heard` is the
/// answering node's own.
#[utoipa::path(get, path = "/lifts/{lift}/health", operation_id = "readLiftHealth", tag = "lifts", params(("lift" = LiftId, Path, description = "Its name.")),
    responses(
        (status = 200, body = LiftHealth),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn health(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<LiftHealth>, Refused> {
    let of = |id: &LiftId| state.hub().health().of(id, Utc::now());
    find("lift", &text, |text| LiftId::try_new(text).ok(), of).map(Json)
}
