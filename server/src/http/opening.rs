//! While a node takes in its ledger it knows nothing of the site, and says so: an empty list would be taken for true.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::AppState;
use super::problem::{Code, Refused};

/// The ledger of a large site is taken in within seconds.
const RETRY_S: u32 = 2;

/// What is answered at this address comes from the ledger, or from what is heard once it is taken in.
pub(super) fn tells_of_the_site(path: &str) -> bool {
    path.starts_with("/api/v1/") || path == "/metrics"
}

/// Turns away who would read what is not known yet.
pub(super) async fn wait(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let reads = request.method() == Method::GET && tells_of_the_site(request.uri().path());
    if reads && state.hub().is_opening() {
        return Refused::new(
            Code::ControlUnavailable,
            "This node is taking in its ledger and knows nothing of the site yet. Try again, or ask another node.",
        )
        .retry_after_s(RETRY_S)
        .into_response();
    }
    next.run(request).await
}
