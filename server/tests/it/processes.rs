//! The small site as three processes on a real Mosquitto and a real Redis: control, gateway, simulated plant.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use server::messaging::{Incoming, LinkOptions, Outbox, Subscription, connect};

use crate::brokers::{Mosquitto, client, free_address};
use crate::stores::RedisServer;

/// A ride over two floors takes the small site about two minutes; a busy machine may take more.
pub(crate) const RIDE_BOUND: Duration = Duration::from_secs(300);
/// A process is up, or an answer is there, long before this.
pub(crate) const START_BOUND: Duration = Duration::from_secs(60);

/// A process of a test, killed by its id when it goes out of scope.
pub(crate) struct Process {
    pub(crate) child: Child,
}

impl Process {
    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until it has ended by itself, without blocking what else the test does.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        tokio::task::spawn_blocking(move || self.child.wait().unwrap()).await.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A site of its own: data, logs and ports that nobody else uses.
struct Site {
    folder: tempfile::TempDir,
    broker: Mosquitto,
    leases: RedisServer,
    control_port: u16,
    plant_port: u16,
}

impl Site {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plc = free_port();
        let text =
            include_str!("../../sites/small.toml").replace("127.0.0.1:1502", &format!("127.0.0.1:{plc}"));
        assert!(text.contains(&plc.to_string()), "the small site's PLC address has moved");
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        let (broker, leases) = (Mosquitto::start().await, RedisServer::start().await);
        Self { folder, broker, leases, control_port: free_port(), plant_port: free_port() }
    }

    fn spawn(&self, name: &str, arguments: &[&str]) -> Process {
        let log = File::options().create(true).append(true).open(self.log(name)).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_hoistway"))
            .arg(name)
            .args(["--site", self.folder.path().join("site.toml").to_str().unwrap()])
            .args(["--broker", &self.broker.address.to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Process { child }
    }

    fn control(&self) -> Process {
        let listen = format!("127.0.0.1:{}", self.control_port);
        let data = self.data("control");
        let leases = self.leases.text_url();
        self.spawn("control", &["--listen", &listen, "--data", data.to_str().unwrap(), "--leases", &leases])
    }

    fn gateway(&self) -> Process {
        let data = self.data("gateway");
        self.spawn("gateway", &["--id", "G1", "--data", data.to_str().unwrap()])
    }

    fn plant(&self) -> Process {
        let report = format!("127.0.0.1:{}", self.plant_port);
        self.spawn("simulate", &["--report", &report, "--data", self.data("plant").to_str().unwrap()])
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// What the processes logged, for a test that fails.
    fn logs(&self) -> String {
        ["control", "gateway", "simulate"].map(|it| format!("== {it}\n{}", tail(&self.log(it)))).join("\n")
    }

    /// Asks until the answer fits; fails with the last answer and the logs.
    async fn wait(&self, port: u16, path: &str, bound: Duration, fits: impl Fn(&Value) -> bool) -> Value {
        wait(port, path, bound, || self.logs(), fits).await
    }

    /// Waits until a vehicle says that its link is closed: control beats are missing for it.
    async fn links_closed(&self) {
        let filter = "hoistway/v1/small/vehicle/+/heartbeat".to_owned();
        let subscriptions = vec![Subscription { filter, reliable: false }];
        let options = LinkOptions { subscriptions, ..client(self.broker.address, "watch") };
        let (_watch, mut incoming) = connect(options, Outbox::memory());
        let closed = async {
            while let Some(heard) = incoming.recv().await {
                let Incoming::Message { payload, .. } = heard else { continue };
                if String::from_utf8_lossy(&payload).contains("\"linkOpen\":false") {
                    return;
                }
            }
            panic!("the link ended");
        };
        tokio::time::timeout(START_BOUND, closed).await.expect("a vehicle misses its control beats");
    }

    async fn place_order(&self) -> String {
        place_order(self.control_port).await
    }
}

/// Both vehicles of the small site take commands, so that the one that stands on the floor of the load gets the order.
pub(crate) fn all_heard(vehicles: &Value) -> bool {
    vehicles.as_array().is_some_and(|all| all.len() == 2 && all.iter().all(|it| it["linkOpen"] == true))
}

/// The last lines of a log.
pub(crate) fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// None while nobody answers, and while a node that starts does not know its ledger yet.
pub(crate) async fn get(port: u16, path: &str) -> Option<Value> {
    let answer = reqwest::get(format!("http://127.0.0.1:{port}{path}")).await.ok()?;
    answer.error_for_status().ok()?.json().await.ok()
}

/// Asks until the answer fits; fails with the last answer and the logs.
pub(crate) async fn wait(
    port: u16,
    path: &str,
    bound: Duration,
    logs: impl Fn() -> String,
    fits: impl Fn(&Value) -> bool,
) -> Value {
    let give_up = Instant::now() + bound;
    let mut last = None;
    while Instant::now() < give_up {
        last = get(port, path).await.or(last);
        if let Some(answer) = last.as_ref().filter(|it| fits(it)) {
            return answer.clone();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{path} never fitted within {} s: {last:#?}\n{}", bound.as_secs(), logs());
}

/// Places an order across the floors of the small site, and says which task carries it out.
pub(crate) async fn place_order(port: u16) -> String {
    let client = reqwest::Client::new();
    let answer = client
        .post(format!("http://127.0.0.1:{port}/api/v1/orders"))
        .header("Idempotency-Key", "the-only-one")
        .json(&serde_json::json!({ "from": "A21", "to": "B12" }))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 202);
    let body: Value = answer.json().await.unwrap();
    body["task"].as_str().unwrap().to_owned()
}

pub(crate) fn free_port() -> u16 {
    free_address().port()
}

/// The name of a task's state: a plain string, or the one key of an object.
pub(crate) fn state_of(task: &Value) -> String {
    let state = &task["state"];
    let name = state.as_str().or_else(|| state.as_object()?.keys().next().map(String::as_str));
    name.unwrap_or_else(|| panic!("a state is {state}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn control_is_killed_in_mid_task_and_the_load_is_moved_once() {
    let site = Site::start().await;
    let plant = site.plant();
    site.wait(site.plant_port, "/plant", START_BOUND, |_| true).await;
    let gateway = site.gateway();
    let mut control = site.control();
    site.wait(site.control_port, "/api/v1/vehicles", START_BOUND, all_heard).await;

    let task = site.place_order().await;
    let path = format!("/api/v1/tasks/{task}");
    // In the car, where the vehicle is silent: the hardest moment to lose the one who asked for the ride.
    let rides = |it: &Value| it["activity"].get("rides").is_some();
    site.wait(site.control_port, &path, RIDE_BOUND, rides).await;
    control.child.kill().unwrap();
    control.child.wait().unwrap();
    // The plant runs on, the load is aboard, and the vehicles have noticed that nobody leads them.
    let counted = site.wait(site.plant_port, "/plant", START_BOUND, |_| true).await;
    let load = &counted["loads"][0];
    assert_eq!((&load["picked"], &load["dropped"]), (&1.into(), &0.into()), "{counted:#}");
    site.links_closed().await;
    let control = site.control();

    site.wait(site.control_port, &path, RIDE_BOUND, |it| state_of(it) == "completed").await;
    let counted = site.wait(site.plant_port, "/plant", START_BOUND, |_| true).await;
    let loads = counted["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 1, "{counted:#}");
    assert_eq!((&loads[0]["picked"], &loads[0]["dropped"]), (&1.into(), &1.into()), "{counted:#}");
    for lift in counted["lifts"].as_array().unwrap() {
        assert_eq!((&lift["contradictions"], &lift["eStops"]), (&0.into(), &0.into()), "{counted:#}");
        assert_eq!(lift["vehiclesMax"], 1, "{counted:#}");
    }
    drop((control, gateway, plant));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plant_is_killed_in_mid_ride_and_the_load_is_moved_once() {
    let mut site = Site::start().await;
    let plant = site.plant();
    site.wait(site.plant_port, "/plant", START_BOUND, |_| true).await;
    let (gateway, control) = (site.gateway(), site.control());
    site.wait(site.control_port, "/api/v1/vehicles", START_BOUND, all_heard).await;
    let path = format!("/api/v1/tasks/{}", site.place_order().await);
    let rides = |it: &Value| it["activity"].get("rides").is_some();
    site.wait(site.control_port, &path, RIDE_BOUND, rides).await;
    drop(plant);
    // Control has noticed.
    let silent = |it: &Value| {
        it.as_array().is_some_and(|all| all.iter().all(|vehicle| vehicle["hearing"] == "silent"))
    };
    site.wait(site.control_port, "/api/v1/vehicles", START_BOUND, silent).await;
    // The lease store has nothing on disk: it comes back without holders and serials.
    site.leases.kill();
    site.leases.start_again().await;
    let plant = site.plant();
    site.wait(site.control_port, &path, RIDE_BOUND, |it| state_of(it) == "completed").await;
    let counted = site.wait(site.plant_port, "/plant", START_BOUND, |_| true).await;
    assert_eq!(counted["loads"].as_array().map(Vec::len), Some(1), "{counted:#}");
    let load = &counted["loads"][0];
    assert_eq!((&load["picked"], &load["dropped"]), (&1.into(), &1.into()), "{counted:#}");
    assert_eq!(counted["lifts"][0]["contradictions"], 0, "{counted:#}");
    drop((control, gateway, plant));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_lease_store_a_node_is_ready_and_degraded() {
    let mut site = Site::start().await;
    let control = site.control();
    let lease_missing = |it: &Value| it["degraded"].as_array().unwrap().contains(&"lease".into());
    let ready = |it: &Value| it["ready"] == true;
    site.wait(site.control_port, "/readyz", START_BOUND, |it| ready(it) && !lease_missing(it)).await;
    site.leases.kill();
    site.wait(site.control_port, "/readyz", START_BOUND, |it| ready(it) && lease_missing(it)).await;
    site.leases.start_again().await;
    site.wait(site.control_port, "/readyz", START_BOUND, |it| ready(it) && !lease_missing(it)).await;
    drop(control);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_under_load_loses_no_accepted_order() {
    let site = Site::start().await;
    let control = site.control();
    site.wait(site.control_port, "/readyz", START_BOUND, |_| true).await;
    let client = reqwest::Client::new();
    let url = format!("http://127.0.0.1:{}/api/v1/orders", site.control_port);
    let orders = (0..200).map(|n| {
        let request = client
            .post(&url)
            .header("Idempotency-Key", format!("order-{n}"))
            .json(&serde_json::json!({ "from": "A21", "to": "B12" }));
        tokio::spawn(async move {
            let answer = request.send().await.ok()?;
            let accepted = answer.status() == 202;
            let body: Value = answer.json().await.ok()?;
            accepted.then(|| body["order"]["id"].as_str().unwrap().to_owned())
        })
    });
    let mut orders: Vec<_> = orders.collect();
    // The stop comes in the midst of them: one is answered, the others are on their way.
    let mut accepted: Vec<String> = orders.remove(0).await.unwrap().into_iter().collect();
    assert_eq!(accepted.len(), 1, "{}", site.logs());
    control.terminate();
    for order in orders {
        accepted.extend(order.await.unwrap());
    }
    let ended = control.ended().await;
    assert!(ended.success(), "{ended}\n{}", site.logs());

    let control = site.control();
    site.wait(site.control_port, "/readyz", START_BOUND, |_| true).await;
    for order in &accepted {
        let path = format!("/api/v1/orders/{order}");
        site.wait(site.control_port, &path, START_BOUND, |it| it["order"]["id"] == order.as_str()).await;
    }
    drop(control);
}
