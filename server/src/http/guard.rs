//! Who may ask at all, and what browsers are told to be careful about.
//!
//! Until there are accounts the server is for this machine alone. It listens on loopback only, and a page from
//! elsewhere must not reach it through the browser of somebody who sits here: neither by a name that suddenly
//! points here (DNS rebinding: the `Host` is checked) nor by asking across origins (the `Origin` is checked).

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::{Code, Refused};

/// The page holds no inline script; the wasm needs leave to be compiled; `'self'` covers the websocket.
const CSP: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

static HEADERS: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Refuses what comes from elsewhere and adds the security headers to every answer.
pub(super) async fn guard(request: Request, next: Next) -> Response {
    let mut response = match check(&request) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, value.clone());
    }
    // What the site looks like now is never worth keeping, unless a handler knows better.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn check(request: &Request) -> Result<(), Refused> {
    let authority = authority(request)?;
    if !is_loopback_name(authority.host()) {
        return Err(Refused::new(
            Code::HostNotAllowed,
            format!(
                "The request was sent to the name {:?}. Until there are accounts, only localhost, 127.0.0.1 and \
                 [::1] are answered: open the address that the server printed at its start.",
                authority.host()
            ),
        ));
    }
    let Some(origin) = request.headers().get(ORIGIN) else { return Ok(()) };
    let same = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok()).is_some_and(|origin| {
        matches!(origin.scheme_str(), Some("http" | "https")) && origin.authority() == Some(&authority)
    });
    if same {
        return Ok(());
    }
    Err(Refused::new(
        Code::OriginNotAllowed,
        format!(
            "A page of {origin:?} asked, and only pages of this server may. Programs leave the Origin header away."
        ),
    ))
}

/// The name and port that the client meant.
fn authority(request: &Request) -> Result<Authority, Refused> {
    if let Some(authority) = request.uri().authority() {
        return Ok(authority.clone());
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    // With two of them, or with a user before the name, two readers may understand two hosts.
    let host = hosts.next().filter(|_| hosts.next().is_none()).and_then(|value| value.to_str().ok());
    host.filter(|text| !text.contains('@'))
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Refused::new(Code::HostNotAllowed, "The request has no valid Host header; send one."))
}

fn is_loopback_name(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let rows = [
            ("localhost", true),
            ("LocalHost", true),
            ("127.0.0.1", true),
            ("127.1.2.3", true),
            ("[::1]", true),
            ("localhost.evil.example", false),
            ("evil.example", false),
            ("10.0.0.1", false),
            ("127.0.0.1.nip.io", false),
            ("[::2]", false),
            ("", false),
        ];
        for (host, expected) in rows {
            assert_eq!(is_loopback_name(host), expected, "{host}");
        }
    }
}
