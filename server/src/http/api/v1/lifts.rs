//! `/api/v1/lifts`.

use axum::Json;
use axum::extract::{Path, State};
use kernel::ids::LiftId;
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
