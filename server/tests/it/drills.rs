//! Drills in a demonstration that was started for them: its real REST, its real wires.

use std::path::Path;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use kernel::ids::NodeId;
use kernel::wire::ledger::Record;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use server::journal::{Journal, Runs};
use server::roles::demo;
use server::store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::brokers::free_address;
use crate::web::{Control, Web, client};

/// A fault is seen, or is over, long before this.
const PATIENCE: Duration = Duration::from_secs(90);

/// Ports that are lost to somebody else before they are taken.
const STARTS_MAX: usize = 5;

struct Demo {
    url: String,
    folder: tempfile::TempDir,
    stop: CancellationToken,
    ended: JoinHandle<anyhow::Result<()>>,
}

impl Demo {
    /// Somebody else may take the free port first; then it is tried again with another.
    async fn start(drills: bool) -> Self {
        for _ in 0..STARTS_MAX {
            let mut demo = Self::begin_run(drills);
            let url = demo.url.clone();
            let ended = tokio::select! {
                _ = until(&url, "/readyz", |it| it["degraded"] == json!([])) => return demo,
                ended = &mut demo.ended => ended,
            };
            let reason = format!("{:#}", ended.unwrap().unwrap_err());
            assert!(reason.contains("listen"), "{reason}");
        }
        panic!("no port stayed free");
    }

    fn begin_run(drills: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listen = free_address();
        let args = demo::Args {
            site: None,
            listen,
            data: folder.path().to_owned(),
            assets: folder.path().to_owned(),
            fresh: false,
            seed: 1,
            drills,
        };
        let stop = CancellationToken::new();
        let ended = tokio::spawn(demo::run(args, stop.clone()));
        Self { url: format!("http://{listen}"), folder, stop, ended }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let request = client().request(method, format!("{}{path}", self.url));
        match body {
            Some(body) => request.json(body),
            None => request,
        }
        .send()
        .await
        .unwrap()
    }

    async fn until(&self, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
        until(&self.url, path, fits).await
    }

    async fn begin(&self, body: Value) -> String {
        let answer = self.ask(Method::POST, "/api/v1/drills", Some(&body)).await;
        assert_eq!(answer.status(), 201, "{body}: {:?}", answer.text().await);
        let location = answer.headers()["location"].to_str().unwrap().to_owned();
        let view: Value = answer.json().await.unwrap();
        assert_eq!(location, format!("/api/v1/drills/{}", view["id"].as_str().unwrap()));
        location
    }

    async fn end(self) -> tempfile::TempDir {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.ended).await.expect("it ends").unwrap().unwrap();
        self.folder
    }
}

/// Asks until the answer fits.
async fn until(url: &str, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let give_up = Instant::now() + PATIENCE;
    let mut last = Value::Null;
    while Instant::now() < give_up {
        if let Ok(answer) = client().get(format!("{url}{path}")).send().await
            && let Ok(body) = answer.json().await
        {
            last = body;
            if fits(&last) {
                return last;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} never fitted: {last:#}");
}

#[tokio::test]
async fn an_ordinary_run_has_no_drills() {
    let web = Web::start(Control::Accepts).await;
    let rows = [
        (Method::GET, "/api/v1/drills"),
        (Method::POST, "/api/v1/drills"),
        (Method::GET, "/api/v1/drills/D-1"),
        (Method::DELETE, "/api/v1/drills/D-1"),
    ];
    for (method, path) in rows {
        let answer = client().request(method.clone(), web.url(path)).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{method} {path}");
        assert!(!answer.headers().contains_key("hoistway-drill"));
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], "drills_off", "{method} {path}");
        assert!(problem["detail"].as_str().unwrap().contains("hoistway demo --drills"));
    }
    let page = web.get("/").await.text().await.unwrap();
    assert!(!page.contains("drill-band") && !page.contains("id=\"drills\""), "a trace of drills");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_with_field_and_neighbors() {
    let demo = Demo::start(true).await;
    let stuck = |at: Value, for_ms: Value| json!({"fault": "doorStuck", "at": at, "forMs": for_ms});
    let l1 = json!({"lift": "L1"});
    let rows = [
        (json!({"fault": "doorStuk", "forMs": 1000}), "invalid_body", "`doorStuck`"),
        (json!({"fault": "doorStuck", "fur": 1}), "unknown_field", "fur"),
        (stuck(json!({"lift": "L11"}), json!(1000)), "unknown_drill_place", "Did you mean \"L1\"?"),
        (stuck(json!({"vehicle": "V01"}), json!(1000)), "unknown_drill_place", "injected at a lift"),
        (stuck(l1.clone(), json!(999)), "drill_duration", "1000 to 600000"),
        (stuck(l1.clone(), json!(600_001)), "drill_duration", "1000 to 600000"),
        (stuck(l1.clone(), Value::Null), "drill_duration", "is missing"),
        (
            json!({"fault": "vehicleFrozen", "at": {"vehicle": "V01"}, "forMs": 29_001}),
            "drill_duration",
            "to 29000",
        ),
        (json!({"fault": "plcRebooted", "at": l1, "forMs": 1000}), "drill_duration", "happens at once"),
        (json!({"fault": "radioCut", "at": {"vehicle": "V99"}, "forMs": 1000}), "unknown_drill_place", "V12"),
    ];
    for (body, code, detail) in rows {
        let answer = demo.ask(Method::POST, "/api/v1/drills", Some(&body)).await;
        assert_eq!(answer.status(), 422, "{body}");
        assert_eq!(answer.headers()["hoistway-drill"], "true", "a refusal is marked, too");
        let problem: Value = answer.json().await.unwrap();
        assert_eq!(problem["code"], code, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
    let list = demo.until("/api/v1/drills", |_| true).await;
    assert_eq!((&list["running"], &list["ended"]), (&json!([]), &json!([])));
    assert_eq!(list["offers"].as_array().unwrap().len(), kernel::drill::DrillFault::ALL.len());
    let gone = demo.ask(Method::DELETE, "/api/v1/drills/D-77", None).await;
    assert_eq!(gone.status(), 404);
    let page = reqwest::get(&demo.url).await.unwrap().text().await.unwrap();
    assert!(page.contains("drill-band") && page.contains("演习 DRILL · "), "the page is not marked");
    demo.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_seen_where_they_are_injected_end_by_themselves_and_are_recorded() {
    let demo = Demo::start(true).await;
    // A PLC that does not scan and one that nobody reaches, as the gateway reads them over Modbus.
    let frozen = demo.begin(json!({"fault": "plcFrozen", "at": {"lift": "L1"}, "forMs": 600_000})).await;
    let down = demo.begin(json!({"fault": "plcLinkDown", "at": {"lift": "L2"}, "forMs": 600_000})).await;
    demo.until("/api/v1/lifts/L1", |it| it["connection"] == "frozen").await;
    demo.until("/api/v1/lifts/L2", |it| it["connection"] == "down").await;
    let again = json!({"fault": "closesInWrite", "at": {"lift": "L2"}, "forMs": 1000});
    assert_eq!(demo.ask(Method::POST, "/api/v1/drills", Some(&again)).await.status(), 409, "one switch");
    for drill in [&frozen, &down] {
        assert_eq!(demo.ask(Method::DELETE, drill, None).await.status(), 200);
        assert_eq!(demo.ask(Method::DELETE, drill, None).await.status(), 409, "over already");
    }
    demo.until("/api/v1/lifts/L1", |it| it["connection"] == "up").await;
    demo.until("/api/v1/lifts/L2", |it| it["connection"] == "up").await;

    let cut = demo.begin(json!({"fault": "radioCut", "at": {"vehicle": "V01"}, "forMs": 5000})).await;
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "silent").await;
    let over = demo.until(&cut, |it| it["end"] != Value::Null).await;
    assert_eq!(over["end"], "ranOut");
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "heard").await;

    demo.begin(json!({"fault": "fireMode", "at": {"lift": "L1"}, "forMs": 600_000})).await;
    demo.until("/api/v1/lifts/L1", |it| it["status"]["mode"] == "fire").await;
    let folder = demo.end().await;
    recorded(folder.path()).await;
}

/// Every entry is marked and chained, each drill begins and ends once, and no ordinary run goes on from there.
async fn recorded(folder: &Path) {
    let pool = store::open(&folder.join("hoistway.db")).await.unwrap();
    let refused = Journal::open(pool.clone(), Runs::Ordinary).await.unwrap_err().to_string();
    assert!(refused.contains("start with --drills"), "{refused}");
    let (journal, _) = Journal::open(pool, Runs::Drill).await.unwrap();
    let entries = journal.entries_after(Default::default(), 1000).await.unwrap();
    assert!(entries.iter().all(|it| it.drill));
    assert_eq!(serde_json::to_value(&entries[0]).unwrap()["drill"], true);
    let of = |wanted: fn(&Record) -> bool| entries.iter().filter(|it| wanted(&it.record)).count();
    let started = of(|it| matches!(it, Record::DrillStarted { .. }));
    let ended = of(|it| matches!(it, Record::DrillEnded { .. }));
    assert_eq!((started, ended), (4, 4), "what stood at the stop is ended, too");
}

#[tokio::test]
async fn a_ledger_of_one_kind_of_run_is_not_continued_by_the_other() {
    for (first, other) in [(Runs::Drill, Runs::Ordinary), (Runs::Ordinary, Runs::Drill)] {
        let folder = tempfile::tempdir().unwrap();
        let pool = store::open(&folder.path().join("hoistway.db")).await.unwrap();
        let (journal, _) = Journal::open(pool.clone(), first).await.unwrap();
        let site = kernel::ids::SiteId::try_new("demo").unwrap();
        let node = NodeId::try_new("A").unwrap();
        let records = vec![Record::NodeStarted { run: 1, site }];
        let stored = journal.append(node, chrono::Utc::now(), records, vec![]).await.unwrap();
        assert_eq!(stored[0].drill, first == Runs::Drill);
        let refused = Journal::open(pool.clone(), other).await.unwrap_err().to_string();
        assert!(refused.contains("another --data folder"), "{refused}");
        Journal::open(pool, first).await.expect("its own kind goes on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_die_and_come_back_and_the_ledger_knows() {
    let demo = Demo::start(true).await;
    let killed = demo.begin(json!({"fault": "gatewayKilled", "at": {"gateway": "G1"}, "forMs": 6000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("gateway:G1")).await;
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;
    demo.until(&killed, |it| it["end"] == "ranOut").await;

    let away = demo.begin(json!({"fault": "brokerAway", "forMs": 3000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("broker")).await;
    demo.until(&away, |it| it["end"] == "ranOut").await;
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;

    demo.end().await;
}

/// Whichever node dies or stands still, the page of the other goes on, and each drill is recorded once.
#[tokio::test(flavor = "multi_thread")]
async fn either_node_is_struck_and_the_other_records_it() {
    let demo = Demo::start(true).await;
    let nodes = demo.until("/api/v1/drills", |_| true).await;
    let offer = nodes["offers"].as_array().unwrap().iter().find(|it| it["fault"] == "nodeKilled").unwrap();
    assert_eq!(offer["places"], json!([{"node": "A"}, {"node": "B"}]));

    let paused = demo.begin(json!({"fault": "nodePaused", "at": {"node": "B"}, "forMs": 600_000})).await;
    let killed = demo.begin(json!({"fault": "nodeKilled", "at": {"node": "A"}, "forMs": 2000})).await;
    let over = demo.until(&killed, |it| it["end"] == "ranOut").await;
    assert_eq!(over["fault"], "nodeKilled", "the new node has it from the ledger");
    assert_eq!(
        demo.ask(Method::DELETE, &paused, None).await.status(),
        200,
        "node A records it, B stood still"
    );
    let killed = demo.begin(json!({"fault": "nodeKilled", "at": {"node": "B"}, "forMs": 1000})).await;
    demo.until(&killed, |it| it["end"] == "ranOut").await;
    let folder = demo.end().await;
    assert_eq!(drills_recorded(folder.path()).await, (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_stop_and_are_cut_off_and_a_gateway_stands_still() {
    let demo = Demo::start(true).await;
    let standing = |wanted: &'static str| move |it: &Value| it["standing"] == wanted;
    let stopped = demo.begin(json!({"fault": "nodeStopped", "at": {"node": "B"}, "forMs": 600_000})).await;
    demo.until("/api/v1/nodes/B", standing("stopped")).await;
    assert_eq!(demo.ask(Method::DELETE, &stopped, None).await.status(), 200);
    demo.until("/api/v1/nodes/B", standing("running")).await;

    let cut = demo.begin(json!({"fault": "nodeCutOff", "at": {"node": "B"}, "forMs": 600_000})).await;
    demo.until("/api/v1/nodes/B", |it| it["hearsBroker"] == false).await;
    assert_eq!(demo.ask(Method::DELETE, &cut, None).await.status(), 200);

    let paused =
        demo.begin(json!({"fault": "gatewayPaused", "at": {"gateway": "G1"}, "forMs": 600_000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("gateway:G1")).await;
    assert_eq!(demo.ask(Method::DELETE, &paused, None).await.status(), 200);
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;

    let cut = demo.begin(json!({"fault": "gatewayCutOff", "at": {"gateway": "G1"}, "forMs": 600_000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("gateway:G1")).await;
    assert_eq!(demo.ask(Method::DELETE, &cut, None).await.status(), 200);
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;
    demo.end().await;
}

/// Node A would record the drill; while it does not reach the ledger node B does.
#[tokio::test(flavor = "multi_thread")]
async fn one_node_alone_loses_the_ledger_and_the_other_records_it() {
    let demo = Demo::start(true).await;
    let cut = demo.begin(json!({"fault": "ledgerCutOff", "at": {"node": "A"}, "forMs": 600_000})).await;
    demo.until("/readyz", |it| it["failing"].to_string().contains("ledger")).await;
    let other = demo.begin(json!({"fault": "plcRebooted", "at": {"lift": "L1"}})).await;
    let killed = json!({"fault": "nodeKilled", "at": {"node": "A"}, "forMs": 1000});
    assert_eq!(demo.ask(Method::POST, "/api/v1/drills", Some(&killed)).await.status(), 409);
    demo.until(&other, |it| it["end"] == "ranOut").await;
    assert_eq!(demo.ask(Method::DELETE, &cut, None).await.status(), 200);
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;
    let folder = demo.end().await;
    assert_eq!(drills_recorded(folder.path()).await, (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vehicle_and_the_broker_stand_still_and_go_on() {
    let demo = Demo::start(true).await;
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "heard").await;
    let frozen = json!({"fault": "vehicleFrozen", "at": {"vehicle": "V01"}, "forMs": 29_000});
    let frozen = demo.begin(frozen).await;
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "silent").await;
    assert_eq!(demo.ask(Method::DELETE, &frozen, None).await.status(), 200);
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "heard").await;

    let paused = demo.begin(json!({"fault": "brokerPaused", "forMs": 15_000})).await;
    demo.until("/api/v1/vehicles/V02", |it| it["hearing"] == "silent").await;
    assert_eq!(demo.ask(Method::DELETE, &paused, None).await.status(), 200);
    demo.until("/api/v1/vehicles/V02", |it| it["hearing"] == "heard").await;
    demo.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_alone_loses_the_lease_store_and_has_a_wrong_clock() {
    let demo = Demo::start(true).await;
    let cut = demo.begin(json!({"fault": "leasesPartitioned", "at": {"node": "A"}, "forMs": 600_000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("lease")).await;
    assert_eq!(demo.ask(Method::DELETE, &cut, None).await.status(), 200);
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;

    let began_at = async |body: Value| -> DateTime<Utc> {
        let drill = demo.begin(body).await;
        let view = demo.until(&drill, |_| true).await;
        view["startedAt"].as_str().unwrap().parse().unwrap()
    };
    let real = Utc::now();
    began_at(json!({"fault": "clockAhead", "at": {"node": "A"}, "forMs": 600_000})).await;
    let told = began_at(json!({"fault": "plcRebooted", "at": {"lift": "L1"}})).await;
    assert!(told - real >= TimeDelta::seconds(60), "node A records by its own clock: {told}, {real}");
    demo.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_call_is_seen_and_a_broker_that_forgot_goes_on() {
    let demo = Demo::start(true).await;
    demo.begin(json!({"fault": "strayCall", "at": {"lift": "L1"}})).await;
    let strays = |it: &Value| it["issuer"] == "stray" && it["verdict"] != Value::Null;
    demo.until("/api/v1/lifts/L1", |it| it["commands"].as_array().unwrap().iter().any(strays)).await;

    let forgets = demo.begin(json!({"fault": "brokerForgets", "forMs": 2000})).await;
    demo.until("/readyz", |it| it["degraded"].to_string().contains("broker")).await;
    demo.until(&forgets, |it| it["end"] == "ranOut").await;
    demo.until("/readyz", |it| it["degraded"] == json!([])).await;
    demo.until("/api/v1/vehicles/V01", |it| it["hearing"] == "heard").await;
    demo.end().await;
}

/// How many drills began and ended in a ledger.
async fn drills_recorded(folder: &Path) -> (usize, usize) {
    let pool = store::open(&folder.join("hoistway.db")).await.unwrap();
    let (journal, _) = Journal::open(pool, Runs::Drill).await.unwrap();
    let entries = journal.entries_after(Default::default(), 1000).await.unwrap();
    let of = |wanted: fn(&Record) -> bool| entries.iter().filter(|it| wanted(&it.record)).count();
    let started = of(|it| matches!(it, Record::DrillStarted { .. }));
    (started, of(|it| matches!(it, Record::DrillEnded { .. })))
}
