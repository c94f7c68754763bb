//! The page: rendered with what the node knows now, so that the first paint is real.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_LANGUAGE, COOKIE, HeaderName, VARY};
use axum::response::{Html, IntoResponse, Response};
use chrono::Utc;

use super::AppState;
use super::problem::{Code, Refused};

/// `GET /`.
pub(super) async fn page(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, Refused> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let snapshot = state.hub().snapshot(Utc::now());
    let boot = app::Boot::for_request(snapshot, state.build(), text(COOKIE), text(ACCEPT_LANGUAGE));
    let html = app::page(boot)
        .map_err(|error| Refused::new(Code::Internal, format!("The page could not be rendered: {error}.")))?;
    Ok(([(VARY, "cookie, accept-language")], Html(html)).into_response())
}
