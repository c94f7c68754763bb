//! `/api/v1/vehicles`.

use axum::Json;
use axum::extract::{Path, State};
use kernel::ids::VehicleId;
use kernel::wire::rest::Problem;
use kernel::wire::view::VehicleView;

use super::find;
use crate::http::AppState;
use crate::http::problem::Refused;

/// All vehicles, by name.
#[utoipa::path(get, path = "/vehicles", operation_id = "listVehicles", tag = "vehicles", responses((status = 200, body = Vec<VehicleView>)))]
pub(in crate::http) async fn list(State(state): State<AppState>) -> Json<Vec<VehicleView>> {
    Json(state.hub().vehicles())
}

/// One vehicle.
#[utoipa::path(get, path = "/vehicles/{vehicle}", operation_id = "readVehicle", tag = "vehicles", params(("vehicle" = VehicleId, Path, description = "Its name.")),
    responses(
        (status = 200, body = VehicleView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<VehicleView>, Refused> {
    find("vehicle", &text, |text| VehicleId::try_new(text).ok(), |id| state.hub().vehicle(id)).map(Json)
}
