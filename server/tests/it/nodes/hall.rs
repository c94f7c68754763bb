//! A hall in which loads are carried all the time: many vehicles beside short ways on two floors, one lift.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::ids::{LedgerSequence, NodeId};
use kernel::wire::ledger::Entry;
use serde_json::Value;
use server::journal::{Journal, READ_MAX, Runs};
use server::store::Database;
use sqlx::PgPool;

use super::roads::{Road, Roads};
use crate::brokers::{Mosquitto, free_address};
use crate::postgres::Postgres;
use crate::processes::{Process, RIDE_BOUND, START_BOUND, free_port, get, state_of, tail, wait};
use crate::stores::RedisServer;

/// A lease is held for tens of milliseconds and more.
const LOOK: Duration = Duration::from_millis(3);
/// What a process had sent before it was stopped has arrived.
const SETTLED: Duration = Duration::from_millis(200);

/// The processes of a hall. Nodes are counted from 0, which is A.
pub(super) struct Hall {
    folder: tempfile::TempDir,
    broker: Mosquitto,
    pub(super) leases: RedisServer,
    pub(super) roads: Roads,
    postgres: Arc<Postgres>,
    database: String,
    nodes: Vec<Node>,
    /// What each node is told besides.
    more: &'static [&'static str],
    plant_port: u16,
    gateway: Option<Process>,
    plant: Option<Process>,
    client: reqwest::Client,
}

/// A program that serves the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Gateway,
    /// It comes back empty: no lease was made durable.
    Leases,
    /// It comes back without what it kept for anybody.
    Broker,
}

struct Node {
    port: u16,
    process: Option<Process>,
}

/// Bay `n` of a floor: a home, a station to pick at and one to drop at, a metre apart.
fn bays(text: &mut String, edges: &mut String, floor: usize, count: usize) {
    for bay in 1..=count {
        let x = f64::from(u32::try_from(bay).unwrap()) * 2.0;
        for (name, y) in [("C", 0.0), ("H", 1.0), ("P", 2.0), ("D", 3.0)] {
            writeln!(text, "\"{name}{floor}-{bay}\" = {{ floor = \"{floor}\", x = {x:.1}, y = {y:.1} }}")
                .unwrap();
        }
        let chain = ["C", "H", "P", "D"].map(|it| format!("\"{it}{floor}-{bay}\"")).join(", ");
        writeln!(edges, "[[edges]]\npath = [{chain}]").unwrap();
    }
    let corridor: Vec<String> = (1..=count).map(|bay| format!("\"C{floor}-{bay}\"")).collect();
    let end = f64::from(u32::try_from(count).unwrap()) * 2.0;
    for (name, x) in [("W", end + 2.0), ("Z", end + 4.0), ("L", end + 7.0)] {
        writeln!(text, "{name}{floor} = {{ floor = \"{floor}\", x = {x:.1}, y = 0.0 }}").unwrap();
    }
    let chain = corridor.join(", ");
    writeln!(edges, "[[edges]]\npath = [{chain}, \"W{floor}\", \"Z{floor}\", \"L{floor}\"]").unwrap();
}

/// The hall as a site file: `per_floor` bays and vehicles on each of two floors.
fn site(per_floor: usize, plc: u16) -> String {
    let mut text = String::from(
        "[site]\nid = \"hall\"\nname = \"Hall\"\ntime_zone = \"UTC\"\nshifts = [\"06:00\"]\n\
         [[gateways]]\nid = \"G1\"\n[[floors]]\nid = \"1\"\nname = \"1\"\n[[floors]]\nid = \"2\"\nname = \"2\"\n[points]\n",
    );
    let mut edges = String::new();
    for floor in [1, 2] {
        bays(&mut text, &mut edges, floor, per_floor);
    }
    text += &edges;
    text += "[stations]\n";
    for (floor, bay) in [1, 2].into_iter().flat_map(|floor| (1..=per_floor).map(move |bay| (floor, bay))) {
        for kind in ["P", "D"] {
            writeln!(text, "\"{kind}{floor}-{bay}\" = {{ point = \"{kind}{floor}-{bay}\" }}").unwrap();
        }
    }
    write!(
        text,
        "[lifts.L1]\ngateway = \"G1\"\ntravel_per_floor_s = 3.0\ndoor_s = 1.5\ncapacity_vehicles = 1\npayload_kg = 2000\n\
         plc = {{ address = \"127.0.0.1:{plc}\", unit = 1, profile = \"hoistway-plc\" }}\nstops = [\n\
         {{ floor = \"1\", landing = \"L1\", waiting = [\"W1\"] }},\n{{ floor = \"2\", landing = \"L2\", waiting = [\"W2\"] }},\n]\n"
    )
    .unwrap();
    for floor in [1, 2] {
        let points = format!("points = [\"Z{floor}\", \"L{floor}\"]");
        writeln!(text, "[[zones]]\nname = \"Before L1, floor {floor}\"\nkind = \"transition\"\n{points}")
            .unwrap();
    }
    text += "[vehicles]\n";
    for (floor, bay) in [1, 2].into_iter().flat_map(|floor| (1..=per_floor).map(move |bay| (floor, bay))) {
        let shape = "speed_m_s = 1.2, creep_m_s = 0.3, weight_kg = 350, payload_kg = 500";
        writeln!(text, "V{floor}-{bay} = {{ gateway = \"G1\", home = \"H{floor}-{bay}\", {shape} }}")
            .unwrap();
    }
    text += "[link_budget]\ntransport_s = 1.5\nexecution_s = 10.0\nlift_s = 10.0\nroaming_s = 5.0\n";
    text
}

impl Hall {
    /// Starts everything and both nodes, and waits until every vehicle takes commands.
    pub(super) async fn start(per_floor: usize) -> Self {
        Self::start_on(per_floor, Postgres::shared().await).await
    }

    /// With the ledger on this server.
    pub(super) async fn start_on(per_floor: usize, postgres: Arc<Postgres>) -> Self {
        Self::start_with(per_floor, postgres, RedisServer::start().await).await
    }

    /// With this lease store, too.
    pub(super) async fn start_with(per_floor: usize, postgres: Arc<Postgres>, leases: RedisServer) -> Self {
        Self::start_as(per_floor, (postgres, leases), &[]).await
    }

    /// With nodes that are told more than where everything is.
    pub(super) async fn start_told(per_floor: usize, more: &'static [&'static str]) -> Self {
        Self::start_as(per_floor, (Postgres::shared().await, RedisServer::start().await), more).await
    }

    async fn start_as(
        per_floor: usize,
        (postgres, leases): (Arc<Postgres>, RedisServer),
        more: &'static [&'static str],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (broker, plc) = (Mosquitto::start().await, free_address());
        let roads = Roads::start(broker.address, leases.address, plc).await;
        // The gateway finds the PLC at the end of its road.
        for (name, port) in [("site", plc.port()), ("gateway", roads.address(Road::Plc).port())] {
            std::fs::write(folder.path().join(format!("{name}.toml")), site(per_floor, port)).unwrap();
        }
        let database = postgres.create().await;
        let nodes = [0, 1].map(|_| Node { port: free_port(), process: None }).into_iter().collect();
        let plant_port = free_port();
        let client = reqwest::Client::new();
        let mut hall = Self {
            folder,
            broker,
            leases,
            roads,
            postgres,
            database,
            nodes,
            more,
            plant_port,
            gateway: None,
            plant: None,
            client,
        };
        let report = format!("127.0.0.1:{plant_port}");
        let broker = hall.broker.address;
        hall.plant = Some(hall.spawn("simulate", "plant", ("site", broker), &["--report", &report]));
        wait(plant_port, "/plant", START_BOUND, || hall.logs(), |_| true).await;
        hall.start_gateway();
        // One after the other: the first brings the schema.
        for idx in [0, 1] {
            hall.start_node(idx);
            hall.wait(idx, "/readyz", START_BOUND, |it| it["ready"] == true).await;
        }
        let open = |it: &Value| it.as_array().is_some_and(|all| all.iter().all(|it| it["linkOpen"] == true));
        hall.wait(0, "/api/v1/vehicles", START_BOUND, open).await;
        hall
    }

    /// A program, by its role, its name, the site file and the address of the broker that it knows, and what else.
    fn spawn(&self, role: &str, name: &str, knows: (&str, SocketAddr), arguments: &[&str]) -> Process {
        let site = self.folder.path().join(format!("{}.toml", knows.0));
        let log = File::options().create(true).append(true).open(self.log(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_hoistway"))
            .arg(role)
            .args(["--site", site.to_str().unwrap()])
            .args(["--broker", &knows.1.to_string()])
            .args(["--data", self.folder.path().join(name).to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Process { child }
    }

    pub(super) fn node(&self, idx: usize) -> NodeId {
        NodeId::try_new(["A", "B"][idx]).unwrap()
    }

    /// Where a node serves.
    pub(super) fn address(&self, idx: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.nodes[idx].port))
    }

    pub(super) fn start_node(&mut self, idx: usize) {
        let (name, listen) = (self.node(idx), format!("127.0.0.1:{}", self.nodes[idx].port));
        let ledger = self.postgres.url(&self.database);
        let leases = format!("redis://{}", self.roads.address(Road::Leases(idx)));
        let arguments =
            ["--node", name.as_str(), "--listen", &listen, "--ledger", &ledger, "--leases", &leases];
        let arguments = [&arguments, self.more].concat();
        let knows = ("site", self.roads.address(Road::Broker(idx)));
        let process = self.spawn("control", &format!("control-{name}"), knows, &arguments);
        self.nodes[idx].process = Some(process);
    }

    /// Kills it as SIGKILL does.
    pub(super) fn kill_node(&mut self, idx: usize) {
        self.nodes[idx].process = None;
    }

    fn start_gateway(&mut self) {
        let knows = ("gateway", self.roads.address(Road::GatewayBroker));
        self.gateway = Some(self.spawn("gateway", "gateway", knows, &["--id", "G1"]));
    }

    /// Kills a program that serves the nodes, as SIGKILL does, and starts it again at once.
    pub(super) async fn strike_beside(&mut self, beside: Beside) {
        match beside {
            Beside::Gateway => {
                self.gateway = None;
                self.start_gateway();
            }
            Beside::Leases => {
                self.leases.kill();
                self.leases.start_again().await;
            }
            Beside::Broker => self.broker.crash_and_restart().await,
        }
    }

    /// Its process, to be ended by whoever takes it.
    pub(super) fn take_node(&mut self, idx: usize) -> Process {
        self.nodes[idx].process.take().unwrap()
    }

    fn signal_node(&self, idx: usize, signal: &str) {
        let id = self.nodes[idx].process.as_ref().unwrap().child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Who holds a lift's lease now.
    pub(super) async fn lease_holder(&self, lift: &str) -> Option<String> {
        let key = format!("agv:lift:control:{{{lift}}}");
        let held = self.leases.command(&["HGET", &key, "holder"]).await.unwrap();
        redis::from_redis_value(held).unwrap()
    }

    /// Stops a node, as SIGSTOP does, in a moment in which it holds a lift's lease, and its ride needs another one: of two
    /// nodes the other shows so.
    pub(super) async fn freeze_with_lease(&self, idx: usize, lift: &str) {
        let name = self.node(idx).to_string();
        let deadline = Instant::now() + RIDE_BOUND;
        loop {
            assert!(Instant::now() < deadline, "{name} never holds {lift}\n{}", self.logs());
            if self.lease_holder(lift).await.as_ref() != Some(&name) {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            self.signal_node(idx, "-STOP");
            // It may have given it back in the meantime, and its last word may have been on the way.
            tokio::time::sleep(SETTLED).await;
            // With the last lease of a ride the door shuts, and nobody asks for another.
            if self.lease_holder(lift).await.as_ref() == Some(&name) && self.ride_goes_on(1 - idx, lift).await
            {
                return;
            }
            self.thaw_node(idx);
        }
    }

    /// Whether a lift has yet to be moved for its ride, as one node shows it.
    async fn ride_goes_on(&self, idx: usize, lift: &str) -> bool {
        let shown = self.look(idx, &format!("/api/v1/lifts/{lift}")).await;
        let phase = shown.as_ref().and_then(|it| it["session"]["phase"].as_str());
        phase.is_some_and(|it| ["granted", "boarding", "riding"].contains(&it))
    }

    /// Lets a stopped node go on.
    pub(super) fn thaw_node(&self, idx: usize) {
        self.signal_node(idx, "-CONT");
    }

    /// Waits until a lift's lease is this node's.
    pub(super) async fn lease_passes_to(&self, idx: usize, lift: &str) {
        let (name, deadline) = (self.node(idx).to_string(), Instant::now() + RIDE_BOUND);
        while self.lease_holder(lift).await.as_ref() != Some(&name) {
            assert!(Instant::now() < deadline, "{name} does not get {lift}\n{}", self.logs());
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks it to stop, and waits until it has.
    pub(super) async fn stop_node(&mut self, idx: usize) {
        let process = self.take_node(idx);
        process.terminate();
        let ended = process.ended().await;
        assert!(ended.success(), "{ended}\n{}", self.logs());
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    pub(super) fn logs(&self) -> String {
        ["control-A", "control-B", "gateway", "plant"]
            .map(|it| format!("== {it}\n{}", tail(&self.log(it))))
            .join("\n")
    }

    pub(super) async fn wait(
        &self,
        idx: usize,
        path: &str,
        bound: Duration,
        fits: impl Fn(&Value) -> bool,
    ) -> Value {
        wait(self.nodes[idx].port, path, bound, || self.logs(), fits).await
    }

    /// Reads at a node once. None when it does not answer.
    pub(super) async fn look(&self, idx: usize, path: &str) -> Option<Value> {
        get(self.nodes[idx].port, path).await
    }

    /// Asks one node once. None when it does not answer, or not with 202.
    pub(super) async fn place(&self, idx: usize, key: &str, from: &str, to: &str) -> Option<Value> {
        let answer = self
            .client
            .post(format!("http://127.0.0.1:{}/api/v1/orders", self.nodes[idx].port))
            .header("Idempotency-Key", key)
            .json(&serde_json::json!({ "from": from, "to": to }))
            .timeout(Duration::from_secs(10))
            .send()
            .await
            .ok()?;
        let accepted = answer.status() == 202;
        let body = answer.json().await.ok()?;
        accepted.then_some(body)
    }

    /// Takes an order back at a node; the status, and the state or the problem's code.
    pub(super) async fn withdraw(&self, idx: usize, order: &str) -> (u16, String) {
        let url = format!("http://127.0.0.1:{}/api/v1/orders/{order}", self.nodes[idx].port);
        let answer = self.client.delete(url).send().await.unwrap();
        let status = answer.status().as_u16();
        let body: Value = answer.json().await.unwrap();
        (status, body["code"].as_str().map_or_else(|| state_of(&body), str::to_owned))
    }

    /// Which node has a task, once its vehicle is at work.
    pub(super) async fn owner_at_work(&self, task: &str) -> usize {
        let path = format!("/api/v1/tasks/{task}");
        let view = self.wait(0, &path, START_BOUND, |it| state_of(it) == "executing").await;
        usize::from(view["claimedBy"] == "B")
    }

    /// The whole ledger, whose chain is whole.
    pub(super) async fn entries(&self) -> Vec<Entry> {
        let pool = PgPool::connect_with(self.postgres.options(&self.database)).await.unwrap();
        let (journal, writer) =
            Journal::open(Database::Postgres(pool.clone()), Runs::Ordinary).await.unwrap();
        let mut entries = Vec::new();
        loop {
            let after = LedgerSequence(entries.len() as u64);
            let page = journal.entries_after(after, READ_MAX).await.unwrap();
            if page.is_empty() {
                break;
            }
            entries.extend(page);
        }
        drop(journal);
        writer.await.unwrap();
        pool.close().await;
        entries
    }

    /// How often the plant saw each load picked and dropped, by order.
    pub(super) async fn counted(&self) -> BTreeMap<String, (u64, u64)> {
        let report = wait(self.plant_port, "/plant", START_BOUND, || self.logs(), |_| true).await;
        let count = |it: &Value| (it["picked"].as_u64().unwrap(), it["dropped"].as_u64().unwrap());
        let loads = report["loads"].as_array().unwrap();
        loads.iter().map(|it| (it["order"].as_str().unwrap().to_owned(), count(it))).collect()
    }

    /// What the lift's PLC counted.
    pub(super) async fn lift(&self) -> Value {
        let report = wait(self.plant_port, "/plant", START_BOUND, || self.logs(), |_| true).await;
        report["lifts"][0].clone()
    }
}
