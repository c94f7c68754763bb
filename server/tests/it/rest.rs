//! REST as a WMS and a browser meet it.

mod health;
mod orders;
mod withdrawals;

use std::io::Write;

use kernel::task::TaskState;
use kernel::wire::live::Change;
use kernel::wire::view::{Hearing, NodeStanding, NodeView};
use reqwest::header::{ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HOST, LAST_MODIFIED};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::web::{Control, Web, client, lift, node, nth_order, nth_task, peer, vehicle};

const ORDER: &str = r#"{"from":"A31","to":"A11"}"#;

fn post(web: &Web, key: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    let request = client().post(web.url("/api/v1/orders")).header("idempotency-key", key);
    request.header(CONTENT_TYPE, "application/json").body(body)
}

/// Checks that an answer is a problem in full, and returns it.
async fn problem(response: Response, status: u16, code: &str, what: &str) -> Value {
    assert_eq!(response.status().as_u16(), status, "{what}");
    assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json", "{what}");
    let (path, id) = (response.url().path().to_owned(), response.headers()["x-request-id"].clone());
    let retry_after = response.headers().contains_key("retry-after");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["code"], code, "{what}: {body}");
    assert_eq!(body["status"], status, "{what}");
    assert_eq!(body["type"], format!("urn:hoistway:problem:{code}"), "{what}");
    assert_eq!(body["instance"], path, "{what}");
    assert_eq!(body["requestId"], id.to_str().unwrap(), "{what}");
    assert!(
        !body["title"].as_str().unwrap().is_empty() && !body["detail"].as_str().unwrap().is_empty(),
        "{what}"
    );
    assert_eq!(retry_after, matches!(status, 429 | 503), "{what}");
    body
}

/// While its ledger is taken in, an empty list would be taken for true.
#[tokio::test]
async fn a_node_that_opens_its_ledger_tells_nothing_of_the_site() {
    let web = Web::start(Control::Accepts).await;
    web.hub.open();
    for path in ["orders", "orders/A-1", "tasks", "vehicles", "lifts", "nodes", "alarms", "stream", "site"] {
        let body = problem(web.get(&format!("/api/v1/{path}")).await, 503, "control_unavailable", path).await;
        assert!(body["detail"].as_str().unwrap().contains("taking in its ledger"), "{body}");
    }
    problem(web.get("/metrics").await, 503, "control_unavailable", "half a ledger counts for nothing").await;
    assert_eq!(web.get("/livez").await.status(), 200);
    let document = web.read("/openapi.json").await;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let told = !operations["get"]["responses"]["503"].is_null();
        let tells = path.starts_with("/api/v1/") || path == "/metrics" || path == "/readyz";
        assert!(operations["get"].is_null() || told == tells, "{path}");
    }
    web.hub.show(Change::Order(nth_order(1, TaskState::Created)));
    assert_eq!(web.read("/api/v1/orders").await["items"].as_array().unwrap().len(), 1);
}

/// Another node has accepted it, and this one hears of it a moment later.
#[tokio::test]
async fn an_order_that_is_about_to_be_known_is_waited_for() {
    let web = Web::start(Control::Accepts).await;
    let asked = web.get("/api/v1/orders/A-1");
    let told = async {
        tokio::task::yield_now().await;
        web.hub.show(Change::Order(nth_order(1, TaskState::Created)));
    };
    let (answer, ()) = tokio::join!(asked, told);
    assert_eq!(answer.status(), 200);
    problem(web.get("/api/v1/orders/A-2").await, 404, "not_found", "A-2").await;
}

#[tokio::test]
async fn lists_are_read_page_by_page_and_by_state() {
    for (list, id) in [("orders", "/order/id"), ("tasks", "/id")] {
        let web = Web::start(Control::Accepts).await;
        for n in 1..=7 {
            let state = if n % 2 == 0 { TaskState::Completed } else { TaskState::Created };
            web.hub.show(Change::Order(nth_order(n, state.clone())));
            web.hub.show(Change::Task(nth_task(n, state)));
        }
        let mut path = format!("/api/v1/{list}?limit=3");
        let mut found = Vec::new();
        let mut n_pages = 0;
        loop {
            let page = web.read(&path).await;
            let items = page["items"].as_array().unwrap();
            found
                .extend(items.iter().map(|item| item.pointer(id).unwrap().as_str().unwrap()[2..].to_owned()));
            n_pages += 1;
            // What comes in between stands before the first page and disturbs nothing.
            web.hub.show(Change::Order(nth_order(100 + n_pages, TaskState::Created)));
            web.hub.show(Change::Task(nth_task(100 + n_pages, TaskState::Created)));
            match page["nextCursor"].as_str() {
                Some(cursor) => path = format!("/api/v1/{list}?limit=3&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!((found.join(","), n_pages), ("7,6,5,4,3,2,1".to_owned(), 3), "{list}");
        let ended = web.read(&format!("/api/v1/{list}?state=completed")).await;
        assert_eq!(ended["items"].as_array().unwrap().len(), 3, "{list}");
        break_list(&web, list).await;
    }
}

async fn break_list(web: &Web, list: &str) {
    let rows = [
        ("limit=0", "1 to 200"),
        ("limit=201", "1 to 200"),
        ("limit=many", "limit"),
        ("state=done", "known are created, issued"),
        ("cursor=x", "no page gave"),
        ("cursor=1.a%20b", "no page gave"),
        ("page=2", "unknown field `page`"),
    ];
    for (query, detail) in rows {
        let response = web.get(&format!("/api/v1/{list}?{query}")).await;
        let body = problem(response, 400, "invalid_query", query).await;
        assert!(body["detail"].as_str().unwrap().contains(detail), "{query}: {body}");
    }
}

#[tokio::test]
async fn single_things_are_read_by_name() {
    let web = Web::start(Control::Accepts).await;
    web.hub.show(Change::Vehicle(vehicle(80)));
    web.hub.show(Change::Lift(lift(Hearing::Heard)));
    web.hub.show(Change::Task(nth_task(1, TaskState::Created)));
    assert_eq!(web.read("/api/v1/vehicles/V01").await["batteryPct"], 80);
    assert_eq!(web.read("/api/v1/lifts/L1").await["gateway"], "G1");
    assert_eq!(web.read("/api/v1/tasks/T-1").await["state"], "created");
    assert_eq!(web.read("/api/v1/vehicles").await[0]["id"], "V01");
    assert_eq!(web.read("/api/v1/lifts").await[0]["id"], "L1");
    assert_eq!(web.read("/api/v1/alarms").await, json!([]));
    assert_eq!(web.read("/api/v1/site").await["stations"]["A31"]["point"], "P1");
    for path in ["orders/X", "tasks/X", "vehicles/V02", "lifts/L%209", "nodes/A", "vehicles/%FF"] {
        let response = web.get(&format!("/api/v1/{path}")).await;
        let status = response.status().as_u16();
        assert!(status == 404 || path.ends_with("%FF") && status == 400, "{path}: {status}");
        let code = if status == 404 { "not_found" } else { "bad_request" };
        problem(response, status, code, path).await;
    }
}

#[tokio::test]
async fn control_nodes_are_listed_and_read_by_name() {
    let web = Web::start(Control::Accepts).await;
    assert_eq!(web.read("/api/v1/nodes").await, json!([]), "before the ledger tells of any");
    let nodes = vec![peer("A", NodeStanding::Running, 3), peer("B", NodeStanding::Lost, 0)];
    web.hub.show(Change::Nodes(nodes));
    let lost = json!({
        "id": "B", "run": 1, "standing": "lost", "version": "0.1.0", "since": "2026-11-30T06:26:40Z",
        "heardAt": "2026-11-30T06:26:41Z", "hearsBroker": true, "tasks": 0
    });
    let listed = web.read("/api/v1/nodes").await;
    assert_eq!(
        (&listed[0]["id"], &listed[0]["standing"], &listed[0]["tasks"]),
        (&json!("A"), &json!("running"), &json!(3))
    );
    assert_eq!(listed[1], lost);
    assert_eq!(web.read("/api/v1/nodes/B").await, lost);
    let body = problem(web.get("/api/v1/nodes/C").await, 404, "not_found", "C").await;
    assert!(body["detail"].as_str().unwrap().contains("GET /api/v1/nodes lists"), "{body}");
}

#[tokio::test]
async fn addresses_and_methods_that_do_not_exist_are_problems() {
    let web = Web::start(Control::Accepts).await;
    let rows = [
        (Method::GET, "/api/v1/nothing", 404, "not_found"),
        (Method::POST, "/api/v1/nothing", 404, "not_found"),
        (Method::GET, "/api", 404, "not_found"),
        (Method::GET, "/nothing.js", 404, "not_found"),
        (Method::GET, "/pkg/../../etc/passwd", 404, "not_found"),
        (Method::GET, "/%2e%2e/%2e%2e/etc/passwd", 404, "not_found"),
        (Method::DELETE, "/api/v1/orders", 405, "method_not_allowed"),
        (Method::PUT, "/api/v1/lifts/L1", 405, "method_not_allowed"),
        (Method::POST, "/", 405, "method_not_allowed"),
        (Method::POST, "/lifts/L1", 405, "method_not_allowed"),
        (Method::GET, "/lifts", 404, "not_found"),
        (Method::GET, "/lifts/", 404, "not_found"),
        (Method::GET, "/api/v1/stream", 400, "websocket_expected"),
        (Method::GET, "/api/v1/stream?codec=xml", 400, "invalid_query"),
        (Method::GET, "/api/v1/stream?after=7", 400, "invalid_query"),
        (Method::GET, "/api/v1/stream?site=test", 400, "invalid_query"),
        (Method::GET, "/api/v1/stream?after=-1&site=test", 400, "invalid_query"),
    ];
    for (method, path, status, code) in rows {
        let what = format!("{method} {path}");
        let response = client().request(method, web.url(path)).send().await.unwrap();
        if status == 405 {
            assert!(response.headers().contains_key(ALLOW), "{what}");
        }
        problem(response, status, code, &what).await;
    }
}

#[tokio::test]
async fn readiness_tells_failing_from_degraded() {
    let web = Web::start(Control::Accepts).await;
    assert_eq!(web.get("/livez").await.text().await.unwrap(), "ok");
    assert_eq!(web.read("/readyz").await, json!({"ready": true, "degraded": [], "failing": []}));

    web.hub.show(Change::Node(NodeView { broker_connected: false, ..node() }));
    web.hub.show(Change::Lift(lift(Hearing::Silent)));
    assert_eq!(
        web.read("/readyz").await,
        json!({"ready": true, "degraded": ["broker", "gateway:G1"], "failing": []})
    );

    web.leases.set_stopped(true);
    assert_eq!(
        web.read("/readyz").await,
        json!({"ready": true, "degraded": ["broker", "lease", "gateway:G1"], "failing": []})
    );

    web.hub.show(Change::Node(NodeView { ledger_writable: false, ..node() }));
    let response = web.get("/readyz").await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.json::<Value>().await.unwrap()["failing"], json!(["ledger"]));

    let ended = Web::start(Control::Ended).await;
    let mut readiness = ended.get("/readyz").await;
    while readiness.status() == 200 {
        readiness = ended.get("/readyz").await;
    }
    assert_eq!(readiness.json::<Value>().await.unwrap()["failing"], json!(["control"]));
    let version = web.read("/version").await;
    assert!(version["build"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")), "{version}");
}

#[tokio::test]
async fn only_this_machine_and_its_own_pages_are_answered() {
    let web = Web::start(Control::Accepts).await;
    let own = format!("http://{}", web.address);
    let host = web.address.to_string();
    let port = web.address.port();
    let local = format!("localhost:{port}");
    type Row<'a> = (&'a str, Option<&'a str>, Option<&'a str>);
    let rows: &[Row<'_>] = &[
        (&host, None, None),
        (&local, None, None),
        ("[::1]:80", None, None),
        (&host, Some(&own), None),
        ("evil.example", None, Some("host_not_allowed")),
        ("192.168.1.7", None, Some("host_not_allowed")),
        (&host, Some("http://evil.example"), Some("origin_not_allowed")),
        (&host, Some("http://127.0.0.1:1"), Some("origin_not_allowed")),
        (&local, Some(&own), Some("origin_not_allowed")),
        (&host, Some("null"), Some("origin_not_allowed")),
    ];
    for (idx, (host, origin, code)) in rows.iter().enumerate() {
        let mut request = post(&web, &format!("k{idx}"), ORDER).header(HOST, *host);
        if let Some(origin) = origin {
            request = request.header("origin", *origin);
        }
        let response = request.send().await.unwrap();
        let what = format!("{host} {origin:?}");
        match code {
            Some(code) => drop(problem(response, 403, code, &what).await),
            None => assert_eq!(response.status(), 202, "{what}"),
        }
    }
    assert_eq!(web.stored.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn every_answer_carries_the_security_headers() {
    let web = Web::start(Control::Accepts).await;
    for path in ["/", "/lifts/L1", "/lifts/L9", "/api/v1/lifts", "/nothing", "/openapi.json"] {
        let response = web.get(path).await;
        let csp = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(
            csp.starts_with("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"),
            "{path}: {csp}"
        );
        assert!(!csp.contains("unsafe-inline") && csp.contains("frame-ancestors 'none'"), "{path}: {csp}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
        assert!(response.headers().contains_key(CACHE_CONTROL), "{path}");
    }
    assert_eq!(web.get("/api/v1/lifts").await.headers()[CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn each_lift_has_a_page_and_another_name_has_one_with_a_way_back() {
    let web = Web::start(Control::Accepts).await;
    web.hub.show(Change::Lift(lift(Hearing::Silent)));
    let long = format!("/lifts/{}", "L".repeat(65));
    let rows: [(&str, u16, &[&str]); 6] = [
        ("/lifts/L1", 200, &["<title>L1 · Test · Hoistway</title>", "Gateway G1 is silent"]),
        ("/lifts/L2", 404, &["This site has no lift L2", "href=\"/\"", "href=\"/lifts/L1\""]),
        ("/lifts/%3Cscript%3E", 404, &["This site has no lift &lt;script&gt;"]),
        ("/lifts/l1", 404, &["This site has no lift l1"]),
        (&long, 404, &["This site has no lift"]),
        ("/lifts/%ff", 400, &["bad_request"]),
    ];
    for (path, status, texts) in rows {
        let response = client().get(web.url(path)).header("accept-language", "en").send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
        let is_page = status != 400;
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind.starts_with("text/html"), is_page, "{path}: {kind}");
        assert!(!is_page || response.headers()["vary"] == "cookie, accept-language", "{path}");
        let body = response.text().await.unwrap();
        for text in texts {
            assert!(body.contains(text), "{path}: {text} is missing in {body}");
        }
    }
}

#[tokio::test]
async fn the_page_comes_with_what_the_site_looks_like_now() {
    let web = Web::start(Control::Accepts).await;
    web.hub.show(Change::Vehicle(vehicle(80)));
    let page = web.get("/").await;
    assert!(page.headers()[CONTENT_TYPE].to_str().unwrap().starts_with("text/html"));
    assert!(page.text().await.unwrap().contains("V01"));
}

#[tokio::test]
async fn files_are_served_small_and_revalidated() {
    let web = Web::start(Control::Accepts).await;
    let pkg = web.site_dir().join("pkg");
    std::fs::create_dir(&pkg).unwrap();
    std::fs::write(pkg.join("hoistway_bg.wasm"), "plain").unwrap();
    std::fs::File::create(pkg.join("hoistway_bg.wasm.gz")).unwrap().write_all(b"zipped").unwrap();

    let get = |accept: &'static str| {
        client().get(web.url("/pkg/hoistway_bg.wasm")).header("accept-encoding", accept)
    };
    let plain = get("identity").send().await.unwrap();
    assert_eq!(plain.headers()[CONTENT_TYPE], "application/wasm");
    assert_eq!(plain.headers()[CACHE_CONTROL], "no-cache");
    let modified = plain.headers()[LAST_MODIFIED].clone();
    assert_eq!(plain.text().await.unwrap(), "plain");

    let zipped = get("gzip").send().await.unwrap();
    assert_eq!(zipped.headers()[CONTENT_ENCODING], "gzip");
    assert_eq!(zipped.text().await.unwrap(), "zipped");

    let again = get("identity").header("if-modified-since", modified).send().await.unwrap();
    assert_eq!(again.status(), 304);
}

#[tokio::test]
async fn only_loopback_is_listened_on() {
    for address in ["0.0.0.0:0", "10.1.2.3:8080", "[::]:0"] {
        let refused = server::http::bind(address.parse().unwrap()).await.unwrap_err().to_string();
        assert!(refused.contains("no accounts yet"), "{refused}");
    }
    let web = Web::start(Control::Accepts).await;
    let taken = server::http::bind(web.address).await.unwrap_err().to_string();
    assert!(taken.contains("is another server running there?"), "{taken}");
}
