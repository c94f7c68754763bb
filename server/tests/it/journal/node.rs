//! A control node whose ledger is on PostgreSQL, as a process, and what the command line says of such a ledger.

use std::path::Path;
use std::process::{Command, Stdio};

use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::brokers::free_address;
use crate::postgres::Postgres;
use crate::processes::{Process, START_BOUND, free_port, tail, wait};

const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sites/small.toml");

fn hoistway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoistway"));
    command.args(arguments).env_remove("HOISTWAY_LEDGER").stdin(Stdio::null());
    command
}

async fn order(port: u16, key: &str) -> Response {
    let request = reqwest::Client::new()
        .post(format!("http://127.0.0.1:{port}/api/v1/orders"))
        .header("Idempotency-Key", key)
        .json(&json!({ "from": "A21", "to": "B12" }));
    request.send().await.unwrap()
}

/// Asks until the order is taken, as a client has to.
async fn taken(port: u16, key: &str, log: &Path) {
    let deadline = Instant::now() + START_BOUND;
    loop {
        let answer = order(port, key).await;
        let (status, body) = (answer.status(), answer.text().await.unwrap());
        if status == 202 {
            return;
        }
        assert_eq!(status, 503, "{body}");
        assert!(Instant::now() < deadline, "{body}\n{}", tail(log));
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_refuses_orders_while_postgresql_is_away_and_takes_them_again_after() {
    let server = Postgres::start().await;
    let database = server.create().await;
    let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
    let log = folder.path().join("control.log");
    let (listen, broker) = (format!("127.0.0.1:{port}"), free_address().to_string());
    let child = hoistway(&["control", "--site", SITE, "--broker", &broker, "--listen", &listen])
        .env("HOISTWAY_LEDGER", server.url(&database))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _control = Process { child };
    wait(port, "/readyz", START_BOUND, || tail(&log), |it| it["ready"] == true).await;
    // It is ready a moment before its start is in the ledger, and takes no order until then.
    taken(port, "before", &log).await;

    server.freeze();
    let refused = loop {
        let answer = order(port, "while").await;
        assert_eq!(answer.status(), 503, "{}", tail(&log));
        assert!(answer.headers().contains_key("retry-after"));
        let problem: Value = answer.json().await.unwrap();
        // An order that came while a commit was in flight is told that nothing is known yet.
        if problem["code"] != "control_unavailable" {
            break problem;
        }
    };
    assert_eq!(refused["code"], "ledger_unavailable", "{refused:#}");
    let ready = reqwest::get(format!("http://127.0.0.1:{port}/readyz")).await.unwrap();
    assert_eq!(ready.status(), 503);
    assert_eq!(ready.json::<Value>().await.unwrap()["failing"], json!(["ledger"]));

    server.thaw();
    taken(port, "while", &log).await;
    wait(port, "/readyz", START_BOUND, || tail(&log), |it| it["ready"] == true).await;
}

#[tokio::test]
async fn the_command_line_takes_either_store_and_never_shows_a_password() {
    let server = Postgres::shared().await;
    let url = server.url(&server.create().await);
    let secret = url.replace("hoist@", "hoist:secret@");
    let nowhere = secret.replace("/hall", "/nowhere");
    let rows: &[(&[&str], i32, &str)] = &[
        (&["migrate", &secret], 0, "schema 1, the newest"),
        (&["migrate", &nowhere], 1, "there is no such database"),
        (&["migrate", "mysql://hoist:secret@db/hall"], 1, "a ledger is not kept on \"mysql\""),
        (&["control", "--site", SITE, "--ledger", "http://hoist:secret@db/"], 1, "a ledger is not kept on"),
        (&["control", "--help"], 0, "--ledger <URL>"),
    ];
    for (arguments, code, said) in rows {
        let output = hoistway(arguments).env("HOISTWAY_LEDGER", &secret).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
        assert!(!text.contains("secret"), "{arguments:?}: {text}");
    }
}
