//! What a refused request gets: an RFC 9457 problem with a stable code.
//!
//! Handlers return [`Refused`]; the outermost layer turns it into the answer, since it alone knows the request's
//! path and number. An error answer from anywhere else (a router, a file service, a panic) becomes a problem there
//! too, so that no client ever meets another shape.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kernel::wire::rest::Problem;

use super::AppState;

/// Media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Names each answer, in the server's log too.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// `true` on each answer of a drill run, and on no other.
pub const DRILL: HeaderName = HeaderName::from_static("hoistway-drill");

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:ident, $title:literal;)*) => {
        /// What a problem is about. The text of a code does not change from 1.0 on: programs rely on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// For programs.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The HTTP status.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// For people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    /// The request cannot be read as HTTP wants it.
    BadRequest = "bad_request", BAD_REQUEST, "The request cannot be understood";
    /// The body is not JSON.
    MalformedJson = "malformed_json", BAD_REQUEST, "The body is not JSON";
    /// A query parameter is unknown or has no such value.
    InvalidQuery = "invalid_query", BAD_REQUEST, "A query parameter is not understood";
    /// The header is not there.
    IdempotencyKeyMissing = "idempotency_key_missing", BAD_REQUEST, "The Idempotency-Key header is missing";
    /// The header's value is not allowed.
    IdempotencyKeyInvalid = "idempotency_key_invalid", BAD_REQUEST, "The Idempotency-Key is not valid";
    /// The stream was asked for without a websocket.
    WebsocketExpected = "websocket_expected", BAD_REQUEST, "This address speaks websocket";
    /// The name in `Host` is not this machine's.
    HostNotAllowed = "host_not_allowed", FORBIDDEN, "The host name is not allowed";
    /// A page from elsewhere asks.
    OriginNotAllowed = "origin_not_allowed", FORBIDDEN, "The origin is not allowed";
    /// Nothing stands there.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// The run is no drill run.
    DrillsOff = "drills_off", NOT_FOUND, "This run takes no drills";
    /// The address knows other methods.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The method is not allowed here";
    /// The body did not come in time.
    RequestTimeout = "request_timeout", REQUEST_TIMEOUT, "The body did not arrive in time";
    /// One that turns the same switch stands.
    DrillCollides = "drill_collides", CONFLICT, "Another drill stands there";
    /// It ended before.
    DrillOver = "drill_over", CONFLICT, "The drill is over";
    /// The order stood once.
    OrderForgotten = "order_forgotten", GONE, "The order is not kept any more";
    /// More than the limit.
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is too large";
    /// Not `application/json`.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The media type is not supported";
    /// A field that the body does not have.
    UnknownField = "unknown_field", UNPROCESSABLE_ENTITY, "The body has an unknown field";
    /// A field is missing or of a wrong kind.
    InvalidBody = "invalid_body", UNPROCESSABLE_ENTITY, "The body does not have the expected shape";
    /// A station that the site does not have.
    UnknownStation = "unknown_station", UNPROCESSABLE_ENTITY, "The station is unknown";
    /// From a station to itself.
    SameStation = "same_station", UNPROCESSABLE_ENTITY, "The order leads from a station to itself";
    /// No way leads there.
    UnreachableTarget = "unreachable_target", UNPROCESSABLE_ENTITY, "The target cannot be reached";
    /// Above the limit.
    PriorityTooHigh = "priority_too_high", UNPROCESSABLE_ENTITY, "The priority is too high";
    /// Above the limit.
    ReferenceTooLong = "reference_too_long", UNPROCESSABLE_ENTITY, "The reference is too long";
    /// The fault is not injected there.
    UnknownDrillPlace = "unknown_drill_place", UNPROCESSABLE_ENTITY, "The fault is not injected there";
    /// Too short, too long, missing, or given for what happens at once.
    DrillDuration = "drill_duration", UNPROCESSABLE_ENTITY, "The duration does not fit";
    /// The key came with another body before.
    IdempotencyKeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The Idempotency-Key was used before";
    /// It ended otherwise.
    OrderOver = "order_over", CONFLICT, "The order is over";
    /// Its load may be aboard.
    LoadOnItsWay = "load_on_its_way", CONFLICT, "The load is on its way";
    /// Nobody else can say where its vehicle is.
    NeedsPerson = "needs_person", CONFLICT, "A person has to decide";
    /// As many open orders as are kept.
    TooManyOrders = "too_many_orders", TOO_MANY_REQUESTS, "Too many orders are open";
    /// As many drills as are conducted.
    TooManyDrills = "too_many_drills", TOO_MANY_REQUESTS, "Too many drills stand";
    /// A defect of ours.
    Internal = "internal", INTERNAL_SERVER_ERROR, "The server failed";
    /// Nothing can be made durable.
    LedgerUnavailable = "ledger_unavailable", SERVICE_UNAVAILABLE, "The ledger cannot be written";
    /// The control loop is busy or gone.
    ControlUnavailable = "control_unavailable", SERVICE_UNAVAILABLE, "The control loop does not answer";
    /// As many browsers as are served.
    TooManyClients = "too_many_clients", SERVICE_UNAVAILABLE, "Too many browsers follow the stream";
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What it is about.
    pub code: Code,
    /// What was wrong here, and what to do.
    pub detail: String,
    /// When to try again, in seconds.
    pub retry_after_s: Option<u32>,
}

impl Refused {
    /// A refusal for good.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), retry_after_s: None }
    }

    /// A refusal that passes: when to ask again.
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = self.code.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Answers a request that made a handler panic. The reason is for the log alone.
pub(super) fn panicked(reason: Box<dyn Any + Send + 'static>) -> Response {
    let text = reason.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let text = text.or_else(|| reason.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(reason = %text, "a request made its handler panic");
    internal().into_response()
}

fn internal() -> Refused {
    Refused::new(
        Code::Internal,
        "This is a defect of the server, not of the request. Nothing that was answered is lost. Tell the \
         operations team the request id; the reason stands in the server's log under it.",
    )
}

/// Numbers requests within one run.
#[derive(Debug)]
pub(super) struct RequestIds {
    run: String,
    last: AtomicU64,
}

impl RequestIds {
    pub(super) fn new(run: String) -> Self {
        Self { run, last: AtomicU64::new(0) }
    }

    fn next(&self) -> String {
        format!("{}-{}", self.run, self.last.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

/// The outermost layer: numbers the request and writes its problem, if it ended in one.
pub(super) async fn write(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let request_id = state.request_ids().next();
    let mut response = next.run(request).await;
    if let Some(refused) = refusal(&response, &path) {
        // What was sent may hold line ends and colors; a line of the log stays one line.
        let detail = refused.detail.escape_debug();
        tracing::info!(%request_id, %path, code = refused.code.text(), %detail, "request refused");
        response = problem(response, refused, path, &request_id);
    }
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Why a response is an error, if it is one.
fn refusal(response: &Response, path: &str) -> Option<Refused> {
    if let Some(refused) = response.extensions().get::<Refused>() {
        return Some(refused.clone());
    }
    let status = response.status();
    // JSON is a handler's own answer, such as that of `/readyz`, and HTML a page; routers and file services have none.
    let is_own = |it: &HeaderValue| it == "application/json" || it.as_bytes().starts_with(b"text/html");
    let is_answer = response.headers().get(CONTENT_TYPE).is_some_and(is_own);
    if is_answer || !(status.is_client_error() || status.is_server_error()) {
        return None;
    }
    Some(match status {
        StatusCode::NOT_FOUND => nothing_at(path),
        StatusCode::METHOD_NOT_ALLOWED => Refused::new(
            Code::MethodNotAllowed,
            format!("{path} takes other methods; the Allow header lists them."),
        ),
        status if status.is_client_error() => Refused::new(
            Code::BadRequest,
            format!(
                "The request was refused with status {status}; /openapi.json describes what is accepted."
            ),
        ),
        _ => internal(),
    })
}

/// Answers a path that leads nowhere.
pub(super) fn nothing_at(path: &str) -> Refused {
    Refused::new(
        Code::NotFound,
        format!("There is nothing at {path}; /openapi.json lists every address of the API."),
    )
}

/// The answer, with the headers of the original one (such as `Allow`).
fn problem(original: Response, refused: Refused, instance: String, request_id: &str) -> Response {
    let code = refused.code;
    let body = Problem {
        r#type: format!("urn:hoistway:problem:{}", code.text()),
        title: code.title().to_owned(),
        status: code.status().as_u16(),
        detail: refused.detail,
        code: code.text().to_owned(),
        instance,
        request_id: request_id.to_owned(),
    };
    let (mut parts, _) = original.into_parts();
    parts.status = code.status();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    if let Some(seconds) = refused.retry_after_s {
        parts.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    let text = serde_json::to_vec(&body).unwrap_or_default();
    Response::from_parts(parts, Body::from(text))
}
