//! Placing an order: durable before it is answered, and answered alike when it is asked again.

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::Utc;
use kernel::control::Accepted;
use kernel::task::TaskState;
use kernel::wire::rest::{PlaceOrder, Problem, TransportOrder};
use kernel::wire::view::OrderView;
use sha2::{Digest, Sha256};

use super::refusal;
use crate::http::AppState;
use crate::http::body;
use crate::http::problem::{Code, Refused};
use crate::journal;

/// Longest idempotency key, in characters.
const KEY_LENGTH_MAX: usize = 128;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The control loop shows an order right after it was accepted.
const SHOWN_DEADLINE: Duration = Duration::from_secs(1);

/// Places an order. It is answered once it is durable: from then on it survives the death of any process and is
/// carried out once. The same key with the same body gets the same order again, as long as that order is open
/// or among the 10,000 that ended last.
#[utoipa::path(post, path = "/orders", operation_id = "placeOrder", tag = "orders", request_body = PlaceOrder,
    params(("Idempotency-Key" = String, Header, min_length = 1, max_length = 128,
        description = "Names this request: 1 to 128 visible ASCII characters, unique for each order.")),
    responses(
        (status = 202, description = "Durable. `Idempotency-Replayed: true` when it was placed before.",
            body = OrderView, headers(("Location" = String, description = "Where the order is read."))),
        (status = 400, description = "`idempotency_key_missing`, `idempotency_key_invalid`, `malformed_json`",
            body = Problem, content_type = "application/problem+json"),
        (status = 408, description = "`request_timeout`", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "`order_forgotten`", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "`body_too_large`", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "`unsupported_media_type`", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "`unknown_field`, `invalid_body`, `unknown_station`, `same_station`, \
            `unreachable_target`, `priority_too_high`, `reference_too_long`, `idempotency_key_reused`",
            body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_orders`", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "`ledger_unavailable`, `control_unavailable`", body = Problem,
            content_type = "application/problem+json"),
    ))]
pub(in crate::http) async fn place(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, Refused> {
    let headers = request.headers().clone();
    let order: PlaceOrder = body::json(request).await?;
    let key = idempotency_key(&headers)?;
    let fingerprint = fingerprint(&order)?;
    let decided = state.control().place_order(order.clone(), key, fingerprint).await;
    let accepted = decided
        .map_err(refusal::unavailable)?
        .map_err(|reason| refusal::refused(&reason, &order, state.hub().plant()))?;
    answer(&state, accepted, order).await
}

fn idempotency_key(headers: &HeaderMap) -> Result<String, Refused> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        return Err(Refused::new(
            Code::IdempotencyKeyMissing,
            "Send a header `Idempotency-Key` with a name of your own for this order. A repeat after a lost answer \
             then gets the same order instead of a second one.",
        ));
    };
    let invalid = |what: String| {
        Refused::new(
            Code::IdempotencyKeyInvalid,
            format!("{what}; send one key of 1 to {KEY_LENGTH_MAX} visible ASCII characters."),
        )
    };
    if values.next().is_some() {
        return Err(invalid("The header Idempotency-Key was sent more than once".to_owned()));
    }
    let bytes = value.as_bytes();
    if bytes.is_empty() || bytes.len() > KEY_LENGTH_MAX {
        return Err(invalid(format!("The Idempotency-Key has {} characters", bytes.len())));
    }
    match value.to_str() {
        Ok(text) if bytes.iter().all(u8::is_ascii_graphic) => Ok(text.to_owned()),
        Ok(_) | Err(_) => {
            Err(invalid("The Idempotency-Key holds a character that is not visible ASCII".to_owned()))
        }
    }
}

/// SHA-256 of what was asked. White space, the order of fields and defaults spelt out make no difference.
fn fingerprint(order: &PlaceOrder) -> Result<String, Refused> {
    let canonical = serde_json::to_vec(order).map_err(|error| {
        Refused::new(Code::Internal, format!("The order cannot be written as JSON: {error}."))
    })?;
    Ok(journal::hex(&Sha256::digest(canonical).into()))
}

async fn answer(state: &AppState, accepted: Accepted, asked: PlaceOrder) -> Result<Response, Refused> {
    let shown = match accepted.repeated {
        true => state.hub().order(&accepted.order),
        false => state.hub().order_shown(&accepted.order, SHOWN_DEADLINE).await,
    };
    let view = match shown {
        Some(view) => view,
        None if accepted.repeated => return Err(forgotten(&accepted)),
        None => begun(&accepted, asked),
    };
    let location = format!("/api/v1/orders/{}", accepted.order);
    let mut response = (StatusCode::ACCEPTED, [(LOCATION, location)], Json(view)).into_response();
    if accepted.repeated {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, axum::http::HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn forgotten(accepted: &Accepted) -> Refused {
    Refused::new(
        Code::OrderForgotten,
        format!(
            "The Idempotency-Key belongs to order {}, which ended so long ago that only the ledger has it. Nothing \
             was placed now; use another key for a new order.",
            accepted.order
        ),
    )
}

/// An accepted order that the hub does not show yet: its task begins in `created`.
fn begun(accepted: &Accepted, asked: PlaceOrder) -> OrderView {
    tracing::warn!(order = %accepted.order, "an order was accepted and is not shown yet");
    let order = TransportOrder {
        id: accepted.order.clone(),
        from: asked.from,
        to: asked.to,
        priority: asked.priority,
        deadline: asked.deadline,
        reference: asked.reference,
    };
    let (task, placed_at) = (accepted.task.clone(), Utc::now());
    OrderView { order, task, state: TaskState::Created, withdrawal_asked: false, placed_at, ended_at: None }
}
