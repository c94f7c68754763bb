//! Reading a JSON body: bounded in size and time, and clear about what does not fit.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::problem::{Code, Refused};

/// Largest body. An order has some hundred bytes.
pub const BODY_MAX: usize = 16 * 1024;

/// A body must be here by then.
pub(super) const BODY_DEADLINE: Duration = Duration::from_secs(5);

/// Of a body that is too large so much is still taken and thrown away: a client that only listens once it has sent
/// everything then gets its answer rather than a broken connection.
const DISCARD_MAX: usize = 32 * 1024 * 1024;

/// Reads and understands a JSON body.
pub(super) async fn json<T: DeserializeOwned>(request: Request) -> Result<T, Refused> {
    // The body is taken first: a client that only listens once it has sent everything gets its answer.
    let headers = request.headers().clone();
    let bytes = read(request).await?;
    check_media_type(&headers)?;
    if bytes.iter().find(|it| !it.is_ascii_whitespace()) == Some(&b'[') {
        return Err(Refused::new(
            Code::InvalidBody,
            "The body is a JSON array; send an object with named fields.",
        ));
    }
    serde_json::from_slice(&bytes).map_err(|error| not_understood(&error, &bytes))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Refused> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.and_then(|text| text.split(';').next()).map(str::trim);
    if essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let found =
        given.map_or_else(|| "no Content-Type header".to_owned(), |text| format!("Content-Type {text:?}"));
    Err(Refused::new(
        Code::UnsupportedMediaType,
        format!("The request has {found}; send the body as JSON with `Content-Type: application/json`."),
    ))
}

async fn read(request: Request) -> Result<Bytes, Refused> {
    let announced = header_number(request.headers());
    // A client that waits for leave is told at once, before it sends anything.
    let waits_for_leave = request.headers().contains_key(EXPECT);
    let body = request.into_body();
    if announced.is_some_and(|length| length > BODY_MAX as u64) {
        if !waits_for_leave {
            discard(body).await;
        }
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_DEADLINE, take(body)).await {
        Ok(result) => result,
        Err(_) => Err(Refused::new(
            Code::RequestTimeout,
            format!("The body was not complete after {} s; send it in one go.", BODY_DEADLINE.as_secs()),
        )),
    }
}

fn header_number(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The whole body. One that turns out too long is read on and thrown away.
async fn take(body: Body) -> Result<Bytes, Refused> {
    let mut stream = body.into_data_stream();
    let mut taken = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| {
            Refused::new(Code::BadRequest, format!("The body could not be read to its end: {error}."))
        })?;
        if taken.len() + chunk.len() > BODY_MAX {
            discard(Body::from_stream(stream)).await;
            return Err(too_large());
        }
        taken.extend_from_slice(&chunk);
    }
    Ok(taken.into())
}

/// Reads and forgets, within bounds of size and time.
async fn discard(body: Body) {
    let mut stream = body.into_data_stream();
    let all = async {
        let mut n_bytes = 0;
        while let Some(Ok(chunk)) = stream.next().await {
            n_bytes += chunk.len();
            if n_bytes > DISCARD_MAX {
                break;
            }
        }
    };
    // Out of time: the answer goes out all the same.
    let _ = tokio::time::timeout(BODY_DEADLINE, all).await;
}

fn too_large() -> Refused {
    Refused::new(
        Code::BodyTooLarge,
        format!("The body is larger than {BODY_MAX} bytes; an order needs a few hundred."),
    )
}

/// What does not fit, with line and column.
fn not_understood(error: &serde_json::Error, bytes: &[u8]) -> Refused {
    let text = error.to_string();
    // A name where a kind of value is told by its key is no JSON to serde; it is JSON all the same.
    let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    match error.classify() {
        Category::Syntax | Category::Eof if is_json => {
            Refused::new(Code::InvalidBody, format!("The body does not fit: {text}."))
        }
        Category::Syntax | Category::Eof | Category::Io => {
            Refused::new(Code::MalformedJson, format!("The body is not JSON: {text}."))
        }
        Category::Data if text.starts_with("unknown field") => Refused::new(
            Code::UnknownField,
            format!("The body has an {text}. Remove the field or correct its name."),
        ),
        Category::Data => Refused::new(Code::InvalidBody, format!("The body does not fit: {text}.")),
    }
}
