//! Placing orders: once, durable, or refused with the reason.

use kernel::ids::OrderId;
use kernel::wire::rest::OrderRefusal;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use serde_json::{Value, json};
use server::shell::CONTROL_MAILBOX_MAX;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ORDER, post, problem};
use crate::web::{Control, Web, client, station};

#[tokio::test]
async fn an_order_is_accepted_once_however_often_it_is_sent() {
    let web = Web::start(Control::Accepts).await;
    let first = post(&web, "k1", ORDER).send().await.unwrap();
    assert_eq!(first.status(), 202);
    assert_eq!(first.headers()[LOCATION], "/api/v1/orders/A-1");
    assert!(!first.headers().contains_key("idempotency-replayed"));
    let first: Value = first.json().await.unwrap();
    assert_eq!(
        (&first["order"]["id"], &first["task"], &first["state"]),
        (&json!("A-1"), &json!("T-1"), &json!("created"))
    );
    assert_eq!(first["order"]["priority"], 5);

    // White space, the order of fields and a default spelt out make no other order.
    let spelt_out = "{ \"priority\": 5,\n \"to\": \"A11\", \"from\": \"A31\" }";
    let again = post(&web, "k1", spelt_out).send().await.unwrap();
    assert_eq!(again.status(), 202);
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert_eq!(again.json::<Value>().await.unwrap(), first);

    let other = post(&web, "k1", r#"{"from":"A11","to":"A31"}"#).send().await.unwrap();
    let body = problem(other, 422, "idempotency_key_reused", "another body").await;
    assert!(body["detail"].as_str().unwrap().contains("order A-1"), "{body}");
    assert_eq!(web.stored.lock().unwrap().len(), 1);
    assert_eq!(web.read("/api/v1/orders/A-1").await, first);
}

/// What is sent, and how it is refused.
struct BadOrder {
    what: &'static str,
    key: Option<&'static str>,
    media_type: Option<&'static str>,
    body: &'static str,
    status: u16,
    code: &'static str,
    detail: &'static str,
}

const fn by_head(
    what: &'static str,
    key: Option<&'static str>,
    media_type: Option<&'static str>,
    (status, code, detail): (u16, &'static str, &'static str),
) -> BadOrder {
    BadOrder { what, key, media_type, body: ORDER, status, code, detail }
}

const fn by_body(
    what: &'static str,
    body: &'static str,
    (status, code, detail): (u16, &'static str, &'static str),
) -> BadOrder {
    BadOrder { what, key: Some("k"), media_type: JSON, body, status, code, detail }
}

const JSON: Option<&str> = Some("application/json");
const KEY_129: &str = "129_________________________________________________________________________________________\
    _____________________________________";

const BAD_ORDERS: &[BadOrder] = &[
    by_head("no key", None, JSON, (400, "idempotency_key_missing", "Send a header `Idempotency-Key`")),
    by_head("empty key", Some(""), JSON, (400, "idempotency_key_invalid", "has 0 characters")),
    by_head("long key", Some(KEY_129), JSON, (400, "idempotency_key_invalid", "has 129 characters")),
    by_head("key with a space", Some("a b"), JSON, (400, "idempotency_key_invalid", "not visible ASCII")),
    by_head("key beyond ASCII", Some("升"), JSON, (400, "idempotency_key_invalid", "not visible ASCII")),
    by_head("no media type", Some("k"), None, (415, "unsupported_media_type", "no Content-Type")),
    by_head("a text", Some("k"), Some("text/plain"), (415, "unsupported_media_type", "\"text/plain\"")),
    by_body("empty body", "", (400, "malformed_json", "line 1 column 0")),
    by_body("cut off", "{\n\"from\": \"A31\"", (400, "malformed_json", "line 2 column 13")),
    by_body("no JSON", "from=A31", (400, "malformed_json", "line 1 column 2")),
    by_body("a list", "[[1]]", (422, "invalid_body", "JSON array")),
    by_body("a list that would fit", r#" ["A31","E15"]"#, (422, "invalid_body", "JSON array")),
    by_body("no target", r#"{"from":"A31"}"#, (422, "invalid_body", "missing field `to`")),
    by_body("twice", r#"{"from":"A31","from":"A31"}"#, (422, "invalid_body", "duplicate field `from`")),
    by_body("a number", r#"{"from":31,"to":"A11"}"#, (422, "invalid_body", "line 1 column 10")),
    by_body("no name", r#"{"from":"A 31","to":"A11"}"#, (422, "invalid_body", "not allowed here in a name")),
    by_body("beyond a byte", r#"{"from":"A31","to":"A11","priority":300}"#, (422, "invalid_body", "300")),
    by_body("no date", r#"{"from":"A31","to":"A11","deadline":"soon"}"#, (422, "invalid_body", "line 1")),
    by_body("unknown field", r#"{"from":"A31","to":"A11","prio":1}"#, (422, "unknown_field", "`prio`")),
];

#[tokio::test]
async fn bad_input_gets_its_own_problem_and_stores_nothing() {
    let web = Web::start(Control::Accepts).await;
    for row in BAD_ORDERS {
        let mut request = client().post(web.url("/api/v1/orders")).body(row.body);
        if let Some(key) = row.key {
            request = request.header("idempotency-key", HeaderValue::from_bytes(key.as_bytes()).unwrap());
        }
        if let Some(media_type) = row.media_type {
            request = request.header(CONTENT_TYPE, media_type);
        }
        let body = problem(request.send().await.unwrap(), row.status, row.code, row.what).await;
        assert!(body["detail"].as_str().unwrap().contains(row.detail), "{}: {body}", row.what);
    }
    let twice = post(&web, "k", ORDER).header("idempotency-key", "l").send().await.unwrap();
    problem(twice, 400, "idempotency_key_invalid", "two keys").await;
    let ten_megabytes = post(&web, "k", "x".repeat(10_000_000)).send().await.unwrap();
    problem(ten_megabytes, 413, "body_too_large", "10 MB").await;
    let deep = post(&web, "k", format!("{{\"from\":{}", "[".repeat(5000))).send().await.unwrap();
    problem(deep, 422, "invalid_body", "deep").await;
    assert_eq!(web.stored.lock().unwrap().len(), 0);
    assert_eq!(web.read("/api/v1/orders").await, json!({"items": [], "nextCursor": null}));

    // The border itself is allowed.
    assert_eq!(post(&web, &"k".repeat(128), ORDER).send().await.unwrap().status(), 202);
}

#[tokio::test]
async fn a_long_body_without_a_length_is_refused_too() {
    let web = Web::start(Control::Accepts).await;
    let mut socket = TcpStream::connect(web.address).await.unwrap();
    let head = format!(
        "POST /api/v1/orders HTTP/1.1\r\nHost: {}\r\nIdempotency-Key: k\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        web.address
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..200 {
        socket.write_all(format!("3e8\r\n{}\r\n", " ".repeat(1000)).as_bytes()).await.unwrap();
    }
    socket.write_all(b"0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("\"code\":\"body_too_large\""), "{answer}");
}

#[tokio::test]
async fn each_refusal_of_the_control_loop_is_a_problem() {
    let rows: &[(OrderRefusal, u16, &str, &str)] = &[
        (OrderRefusal::UnknownStation(station("A3l")), 422, "unknown_station", "lists its 2 stations"),
        (OrderRefusal::SameStation(station("A31")), 422, "same_station", "both \"A31\""),
        (
            OrderRefusal::Unreachable(station("A31"), station("A11")),
            422,
            "unreachable_target",
            "\"A31\" to \"A11\"",
        ),
        (OrderRefusal::PriorityTooHigh(10), 422, "priority_too_high", "0 to 9"),
        (OrderRefusal::ReferenceTooLong(65), 422, "reference_too_long", "65 characters"),
        (
            OrderRefusal::KeyReused(OrderId::try_new("A-7").unwrap()),
            422,
            "idempotency_key_reused",
            "order A-7",
        ),
        (OrderRefusal::TooMany(5000), 429, "too_many_orders", "5000 orders"),
        (OrderRefusal::LedgerUnavailable("disk full".to_owned()), 503, "ledger_unavailable", "disk full"),
    ];
    for (refusal, status, code, detail) in rows {
        let web = Web::start(Control::Refuses(refusal.clone())).await;
        let body = problem(post(&web, "k", ORDER).send().await.unwrap(), *status, code, code).await;
        assert!(body["detail"].as_str().unwrap().contains(detail), "{body}");
    }
}

#[tokio::test]
async fn an_unknown_station_is_told_its_field_and_its_neighbor() {
    let web = Web::start(Control::Refuses(OrderRefusal::UnknownStation(station("A13")))).await;
    let response = post(&web, "k", r#"{"from":"A31","to":"A13"}"#).send().await.unwrap();
    let body = problem(response, 422, "unknown_station", "near").await;
    let detail = body["detail"].as_str().unwrap();
    assert!(
        detail.contains("`to` names station \"A13\"") && detail.contains("Did you mean \"A11\"?"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_control_loop_that_does_not_answer_is_no_hang() {
    let ended = Web::start(Control::Ended).await;
    // The fake's end and the first request race; a lost answer reads the same.
    let body =
        problem(post(&ended, "k", ORDER).send().await.unwrap(), 503, "control_unavailable", "ended").await;
    assert!(body["detail"].as_str().unwrap().contains("has ended"), "{body}");

    let hangs = Web::start(Control::Hangs).await;
    let body =
        problem(post(&hangs, "k", ORDER).send().await.unwrap(), 503, "control_unavailable", "hangs").await;
    assert!(body["detail"].as_str().unwrap().contains("is not known"), "{body}");
}

#[tokio::test]
async fn a_full_mailbox_turns_orders_away_at_once() {
    let web = Web::start(Control::Deaf).await;
    let asked: Vec<_> = (0..=CONTROL_MAILBOX_MAX)
        .map(|idx| tokio::spawn(post(&web, &format!("k{idx}"), ORDER).send()))
        .collect();
    let mut busy = 0;
    for response in asked {
        let response = response.await.unwrap().unwrap();
        let body = problem(response, 503, "control_unavailable", "deaf").await;
        busy += usize::from(body["detail"].as_str().unwrap().contains("256 requests wait already"));
    }
    assert_eq!(busy, 1);
}
