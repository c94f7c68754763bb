//! `/api/v1/alarms`.

use axum::Json;
use axum::extract::State;
use kernel::wire::view::AlarmView;

use crate::http::AppState;

/// The standing alarms, most urgent first, then the oldest first.
#[utoipa::path(get, path = "/alarms", operation_id = "listAlarms", tag = "alarms", responses((status = 200, body = Vec<AlarmView>)))]
pub(in crate::http) async fn list(State(state): State<AppState>) -> Json<Vec<AlarmView>> {
    Json(state.hub().alarms())
}
