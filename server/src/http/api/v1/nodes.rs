//! `/api/v1/nodes`: the control nodes of the site.

use axum::Json;
use axum::extract::{Path, State};
use kernel::ids::NodeId;
use kernel::wire::rest::Problem;
use kernel::wire::view::PeerView;

use super::find;
use crate::http::AppState;
use crate::http::problem::Refused;

/// All control nodes that ever took part, by name: whether they run, and how many open tasks each claims.
#[utoipa::path(get, path = "/nodes", operation_id = "listNodes", tag = "nodes", responses((status = 200, body = Vec<PeerView>)))]
pub(in crate::http) async fn list(State(state): State<AppState>) -> Json<Vec<PeerView>> {
    Json(state.hub().nodes())
}

/// One control node.
#[utoipa::path(get, path = "/nodes/{node}", operation_id = "readNode", tag = "nodes", params(("node" = NodeId, Path, description = "Its name.")),
    responses(
        (status = 200, body = PeerView),
        (status = 404, description = "`not_found`", body = Problem, content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn read(
    State(state): State<AppState>,
    Path(text): Path<String>,
) -> Result<Json<PeerView>, Refused> {
    find("node", &text, |text| NodeId::try_new(text).ok(), |id| state.hub().peer(id)).map(Json)
}
