//! `/api/v1/site`.

use axum::Json;
use axum::extract::State;
use kernel::plant::Plant;

use crate::http::AppState;

/// The plant as the site file describes it.
#[utoipa::path(get, path = "/site", operation_id = "readSite", tag = "site", responses((status = 200, body = Plant)))]
pub(in crate::http) async fn read(State(state): State<AppState>) -> Json<Plant> {
    Json(Plant::clone(state.hub().plant()))
}
