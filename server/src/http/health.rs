//! Whether this node lives and takes orders, and what it is.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use kernel::wire::rest::Readiness;
use kernel::wire::view::Hearing;
use serde::Serialize;
use utoipa::ToSchema;

use super::AppState;

/// The process answers.
#[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200, description = "The process lives.")))]
pub(super) async fn livez() -> &'static str {
    "ok"
}

/// Whether orders are taken. What is missing without keeping orders from being taken is listed as `degraded`.
#[utoipa::path(get, path = "/readyz", tag = "health", responses(
    (status = 200, description = "Orders are taken.", body = Readiness),
    (status = 503, description = "Orders are not taken: `failing` says why.", body = Readiness),
))]
pub(super) async fn readyz(State(state): State<AppState>) -> Response {
    let readiness = readiness(&state);
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

/// Whether orders are taken, and what is missing.
pub(super) fn readiness(state: &AppState) -> Readiness {
    let (hub, node) = (state.hub(), state.hub().node());
    let mut failing = Vec::new();
    if state.control().is_stopped() {
        failing.push("control".to_owned());
    }
    if !node.ledger_writable {
        failing.push("ledger".to_owned());
    }
    let mut degraded = Vec::new();
    if !node.broker_connected {
        degraded.push("broker".to_owned());
    }
    if state.leases().is_away() {
        degraded.push("lease".to_owned());
    }
    let silent = hub.lifts().into_iter().filter(|lift| lift.gateway_hearing != Hearing::Heard);
    let mut gateways: Vec<String> = silent.map(|lift| format!("gateway:{}", lift.gateway)).collect();
    gateways.sort();
    gateways.dedup();
    degraded.extend(gateways);
    Readiness { ready: failing.is_empty(), degraded, failing }
}

/// What runs here.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    /// Of the product.
    version: &'static str,
    /// Changes with each build of the server.
    build: String,
    /// The node that answers.
    node: String,
}

/// Version and build of the server.
#[utoipa::path(get, path = "/version", tag = "health", responses((status = 200, body = Version)))]
pub(super) async fn version(State(state): State<AppState>) -> Json<Version> {
    let node = state.hub().node().id.to_string();
    Json(Version { version: env!("CARGO_PKG_VERSION"), build: state.build().to_owned(), node })
}
