//! Control nodes, as processes, whose PostgreSQL goes away in every way: while they run, start and stop.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use kernel::ids::SiteId;
use kernel::wire::ledger::Record;
use reqwest::StatusCode;
use serde_json::{Value, json};
use server::journal::{Journal, Runs};
use server::store::Database;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::time::{Instant, sleep};

use super::away::open;
use super::node::{SITE, hoistway};
use super::wire::{Break, Wire};
use super::{at, named, node};
use crate::brokers::free_address;
use crate::postgres::{Postgres, USER};
use crate::processes::{Process, START_BOUND, free_port, tail, wait};

/// Repeats that come while an order is being stored, and right after.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_key_is_sent_many_times_at_once_is_told_to_all() {
    let server = Postgres::shared().await;
    let node = Node::ready(&server.url(&server.create().await)).await;
    for turn in 0..40 {
        let told = node.order_at_once(&format!("key-{turn}"), 12).await;
        let orders: std::collections::BTreeSet<String> =
            told.iter().map(|(_, body)| body["order"]["id"].to_string()).collect();
        assert!(told.iter().all(|it| it.0 == 202), "{told:#?}");
        assert_eq!(orders.len(), 1, "{orders:?}");
    }
}

/// The machine in a node asks a ledger that failed again after a second: so long nothing must change.
const WATCHED: Duration = Duration::from_secs(4);
/// Alarms follow each other more quickly.
const SILENT: Duration = Duration::from_secs(8);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(50);

/// Node A of the small site, without broker, gateway or plant.
struct Node {
    port: u16,
    folder: tempfile::TempDir,
    process: Process,
}

impl Node {
    fn start(ledger: &str) -> Self {
        let (port, folder) = (free_port(), tempfile::tempdir().unwrap());
        let (listen, broker) = (format!("127.0.0.1:{port}"), free_address().to_string());
        let child = hoistway(&["control", "--site", SITE, "--broker", &broker, "--listen", &listen])
            .env("HOISTWAY_LEDGER", ledger)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        Self { port, folder, process: Process { child } }
    }

    /// Whose start is in the ledger.
    async fn ready(ledger: &str) -> Self {
        let node = Self::start(ledger);
        node.is_ready().await;
        node
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    async fn is_ready(&self) {
        wait(self.port, "/readyz", START_BOUND, || tail(&self.log()), |it| it["ready"] == true).await;
    }

    async fn order(&self, key: &str) -> (StatusCode, bool, Value) {
        let request = reqwest::Client::new()
            .post(format!("http://127.0.0.1:{}/api/v1/orders", self.port))
            .header("Idempotency-Key", key)
            .json(&json!({ "from": "A21", "to": "B12" }));
        let answer = request.send().await.unwrap();
        let retry_after = answer.headers().contains_key("retry-after");
        (answer.status(), retry_after, answer.json().await.unwrap())
    }

    /// One key, sent so often at once: what each is told.
    async fn order_at_once(&self, key: &str, times: usize) -> Vec<(StatusCode, Value)> {
        let asked = (0..times).map(|_| self.order(key));
        let told = futures_util::future::join_all(asked).await;
        told.into_iter().map(|(status, _, body)| (status, body)).collect()
    }

    /// Asks until the order is taken, as a client has to.
    async fn takes(&self, key: &str) {
        let deadline = Instant::now() + START_BOUND;
        loop {
            let (status, _, body) = self.order(key).await;
            if status == 202 {
                return;
            }
            assert_eq!(status, 503, "{body:#}");
            assert!(Instant::now() < deadline, "{body:#}\n{}", tail(&self.log()));
            sleep(PAUSE).await;
        }
    }

    /// Waits until it says that the ledger is away, although nobody orders anything.
    async fn finds_out(&self) {
        let deadline = Instant::now() + START_BOUND;
        let url = format!("http://127.0.0.1:{}/readyz", self.port);
        while reqwest::get(&url).await.unwrap().status() != 503 {
            assert!(Instant::now() < deadline, "it does not find out\n{}", tail(&self.log()));
            sleep(PAUSE).await;
        }
    }

    /// Waits until orders are refused because of the ledger. One that came while it was not known yet may be told that
    /// nothing is known.
    async fn refuses(&self) {
        let deadline = Instant::now() + START_BOUND;
        loop {
            let (status, retry_after, problem) = self.order("refused").await;
            assert_eq!((status, retry_after), (StatusCode::SERVICE_UNAVAILABLE, true), "{problem:#}");
            if problem["code"] == "ledger_unavailable" {
                return;
            }
            assert!(Instant::now() < deadline, "{problem:#}\n{}", tail(&self.log()));
        }
    }

    /// The ledger is away all the time: readiness never says otherwise, and no order waits. Nobody orders anything while
    /// readiness is watched, for an order would remind the machine of the ledger.
    async fn stays_refusing(&self) {
        let until = Instant::now() + WATCHED;
        while Instant::now() < until {
            let ready = reqwest::get(format!("http://127.0.0.1:{}/readyz", self.port)).await.unwrap();
            assert_eq!(ready.status(), 503);
            assert_eq!(ready.json::<Value>().await.unwrap()["failing"], json!(["ledger"]));
            sleep(PAUSE).await;
        }
        for _ in 0..3 {
            let (status, retry_after, problem) = self.order("refused").await;
            assert_eq!((status, retry_after), (StatusCode::SERVICE_UNAVAILABLE, true), "{problem:#}");
            assert_eq!(problem["code"], "ledger_unavailable", "{problem:#}");
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.process.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Asks it to stop; it does, and says nothing of a failure.
    async fn stops(self) {
        self.process.terminate();
        let deadline = Instant::now() + START_BOUND;
        let mut node = self;
        let ended = loop {
            if let Some(ended) = node.process.child.try_wait().unwrap() {
                break ended;
            }
            assert!(Instant::now() < deadline, "it does not stop\n{}", tail(&node.log()));
            sleep(PAUSE).await;
        };
        assert!(ended.success(), "{ended}\n{}", tail(&node.log()));
    }
}

/// Orders in the ledger under a key.
async fn placed(server: &Postgres, database: &str, key: &str) -> usize {
    let journal = open(server.options(database)).await;
    let entries = journal.entries_after(kernel::ids::LedgerSequence(0), 1000).await.unwrap();
    let placed =
        |it: &Record| matches!(it, Record::OrderPlaced { idempotency_key, .. } if idempotency_key == key);
    entries.iter().filter(|it| placed(&it.record)).count()
}

/// Waits until a node has told its ledger all that it knows, its alarms above all: one that has nothing more to propose
/// is not reminded by that of a ledger that is away. Goes on after a while in any case.
async fn falls_silent(server: &Postgres, database: &str) {
    let mut watch: PgConnection = server.options(database).connect().await.unwrap();
    let give_up = Instant::now() + START_BOUND;
    let (mut known, mut since) = (0, Instant::now());
    while since.elapsed() < SILENT && Instant::now() < give_up {
        let head: i64 = sqlx::query_scalar("SELECT sequence FROM head").fetch_one(&mut watch).await.unwrap();
        if head != known {
            (known, since) = (head, Instant::now());
        }
        sleep(PAUSE).await;
    }
}

/// A node with a commit under way to a PostgreSQL that has vanished.
async fn left_in_mid_commit(server: &Postgres, database: &str) -> (Wire, Node) {
    let wire = Wire::to(server.address).await;
    let node = Node::ready(&format!("postgres://{USER}@{}/{database}", wire.address)).await;
    node.takes("before").await;
    wire.breaks_at(Break::Vanishes, "under-way");
    let url = format!("http://127.0.0.1:{}/api/v1/orders", node.port);
    let request = reqwest::Client::new().post(url).header("Idempotency-Key", "under-way");
    // What it is told depends on how long it takes; it may be told that nothing is known.
    tokio::spawn(request.json(&json!({ "from": "A21", "to": "B12" })).send());
    let deadline = Instant::now() + START_BOUND;
    while !wire.has_broken() {
        assert!(Instant::now() < deadline, "the danger did not arise\n{}", tail(&node.log()));
        sleep(PAUSE).await;
    }
    (wire, node)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_refuses_orders_while_postgresql_is_away_and_takes_them_again_after() {
    let server = Postgres::start().await;
    let database = server.create().await;
    let node = Node::ready(&server.url(&database)).await;
    node.takes("before").await;
    falls_silent(&server, &database).await;
    server.freeze();
    node.refuses().await;
    node.stays_refusing().await;
    server.thaw();
    node.takes("refused").await;
    node.is_ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_waits_for_what_became_of_its_commit_and_refuses_orders_meanwhile() {
    let server = Postgres::shared().await;
    let database = server.create().await;
    let (wire, mut node) = left_in_mid_commit(&server, &database).await;
    node.refuses().await;
    node.stays_refusing().await;
    assert!(node.process.child.try_wait().unwrap().is_none(), "it has ended\n{}", tail(&node.log()));
    wire.heals();
    node.takes("under-way").await;
    node.takes("refused").await;
    node.is_ready().await;
    node.stops().await;
    for key in ["before", "under-way", "refused"] {
        assert_eq!(placed(&server, &database, key).await, 1, "{key}");
    }
}

/// Its worker waits for entries of another node, which it must not skip; orders must not wait behind that.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_follow_another_one_refuses_orders_meanwhile() {
    let server = Postgres::shared().await;
    let database = server.create().await;
    let node = Node::ready(&server.url(&database)).await;
    node.takes("before").await;
    falls_silent(&server, &database).await;
    node.signal("-STOP");
    let journal = open(server.options(&database)).await;
    let site = SiteId::try_new("small").unwrap();
    journal.append(named("B"), at(), vec![Record::NodeStarted { run: 1, site }], vec![]).await.unwrap();
    let mut holder: PgConnection = server.options(&database).connect().await.unwrap();
    let mut held = holder.begin().await.unwrap();
    sqlx::raw_sql("LOCK TABLE entries IN ACCESS EXCLUSIVE MODE").execute(&mut *held).await.unwrap();
    node.signal("-CONT");
    node.finds_out().await;
    node.refuses().await;
    node.stays_refusing().await;
    held.rollback().await.unwrap();
    node.takes("refused").await;
    node.is_ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_stops_while_postgresql_is_away() {
    let server = Postgres::start().await;
    let database = server.create().await;
    let idle = Node::ready(&server.url(&database)).await;
    idle.takes("before").await;
    server.freeze();
    idle.stops().await;
    server.thaw();

    let (_wire, in_mid_commit) = left_in_mid_commit(&server, &server.create().await).await;
    in_mid_commit.stops().await;
}

/// The start of a node is under way when its process is killed, and comes to stand after the next process has begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_does_not_take_its_own_late_start_for_another_process() {
    let server = Postgres::shared().await;
    let database = server.create().await;
    open(server.options(&database)).await;
    let wire = Wire::to(server.address).await;
    // Without the bounds of a node's sessions, so that its turn lasts as long as the test wants it to.
    let options = server.options(&database).port(wire.address.port());
    let killed = Database::Postgres(PgPool::connect_with(options).await.unwrap());
    let (journal, _) = Journal::open(killed, Runs::Ordinary).await.unwrap();
    wire.breaks(Break::Holds);
    let site = SiteId::try_new("small").unwrap();
    let start = Record::NodeStarted { run: 1, site };
    tokio::spawn(async move { journal.append(node(), at(), vec![start], vec![]).await });
    let deadline = Instant::now() + START_BOUND;
    while !wire.has_broken() {
        assert!(Instant::now() < deadline, "the danger did not arise");
        sleep(PAUSE).await;
    }

    let mut next = Node::start(&server.url(&database));
    let mut watch: PgConnection = server.options(&database).connect().await.unwrap();
    let waits = "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = $1 AND application_name = 'hoistway' AND wait_event_type = 'Lock'";
    loop {
        let n: i64 = sqlx::query_scalar(waits).bind(&database).fetch_one(&mut watch).await.unwrap();
        if n > 0 {
            break;
        }
        assert!(Instant::now() < deadline, "it does not come to its turn\n{}", tail(&next.log()));
        sleep(PAUSE).await;
    }
    wire.heals();
    next.is_ready().await;
    next.takes("after").await;
    assert!(next.process.child.try_wait().unwrap().is_none(), "it has ended\n{}", tail(&next.log()));
}
