//! The whole router on a real socket, with a control loop that answers from a table.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::alarm::{AlarmKind, Subject};
use kernel::control::{Accepted, TakenBack};
use kernel::ids::{AlarmId, Generation};
use kernel::ids::{
    FloorId, GatewayId, LiftId, NodeId, OrderId, PointId, SiteId, StationId, TaskId, VehicleId,
};
use kernel::lease::LeaseTiming as Timing;
use kernel::plant::{Capabilities, Floor, Lift, LiftStop, Plant, Point, Station};
use kernel::task::TaskState;
use kernel::time::Millis;
use kernel::timing::LinkBudget;
use kernel::wire::gateway::{Arbitration, Connection};
use kernel::wire::live::Change;
use kernel::wire::rest::{OrderRefusal, PlaceOrder, TransportOrder, WithdrawalRefusal};
use kernel::wire::vehicle::{Place, WorkState};
use kernel::wire::view::{
    Activity, AlarmView, Hearing, Knowledge, LiftView, NodeStanding, NodeView, OrderView, PeerView, TaskView,
    VehicleView,
};
use server::http::{AppState, bind, serve};
use server::lease::LeaseStore;
use server::live::hub::Hub;
use server::shell::{ControlHandle, ControlRequest};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// No answer of a test takes longer.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// What the control loop of a test does with an order.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// Takes it, once for each key.
    Accepts,
    /// Refuses it.
    Refuses(OrderRefusal),
    /// Refuses to take it back.
    Keeps(WithdrawalRefusal),
    /// Says that it is taken back, and shows it as it was.
    ShowsLate,
    /// Says that it is taken back after the ride.
    Rides,
    /// Takes requests and never answers.
    Hangs,
    /// Takes no request.
    Deaf,
    /// Has ended.
    Ended,
}

pub(crate) struct Web {
    pub(crate) address: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) leases: LeaseStore,
    pub(crate) stop: CancellationToken,
    pub(crate) served: JoinHandle<anyhow::Result<()>>,
    /// Orders that were stored, by key.
    pub(crate) stored: Arc<Mutex<BTreeMap<String, (String, OrderId)>>>,
    site: TempDir,
}

impl Web {
    pub(crate) async fn start(control: Control) -> Self {
        Self::start_node("A", control).await
    }

    /// A node of that name; all nodes have the same plant.
    pub(crate) async fn start_node(name: &str, control: Control) -> Self {
        let node = NodeView { id: NodeId::try_new(name).unwrap(), ..node() };
        let hub = Hub::new(Arc::new(plant()), node);
        let (handle, requests) = ControlHandle::new();
        let stored = Arc::default();
        tokio::spawn(answer(control, requests, hub.clone(), Arc::clone(&stored)));
        let site = tempfile::tempdir().unwrap();
        let stop = CancellationToken::new();
        let leases = LeaseStore::in_process(Timing::default());
        let state =
            AppState::new(handle, hub.clone(), leases.clone(), site.path().to_owned(), stop.clone(), None)
                .unwrap();
        let listener = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = tokio::spawn(serve(listener, state));
        Self { address, hub, leases, stop, served, stored, site }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn site_dir(&self) -> &Path {
        self.site.path()
    }

    pub(crate) async fn get(&self, path: &str) -> reqwest::Response {
        client().get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn read(&self, path: &str) -> serde_json::Value {
        let response = self.get(path).await;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.unwrap()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().timeout(BOUND).build().unwrap()
}

async fn answer(
    control: Control,
    mut requests: mpsc::Receiver<ControlRequest>,
    hub: Hub,
    stored: Arc<Mutex<BTreeMap<String, (String, OrderId)>>>,
) {
    match control {
        Control::Ended => return,
        Control::Deaf => return std::future::pending().await,
        Control::Accepts
        | Control::Refuses(_)
        | Control::Keeps(_)
        | Control::ShowsLate
        | Control::Rides
        | Control::Hangs => {}
    }
    let (mut held, mut kept) = (Vec::new(), Vec::new());
    while let Some(request) = requests.recv().await {
        let (order, idempotency_key, fingerprint, reply) = match (request, &control) {
            (ControlRequest::WithdrawOrder { reply, .. }, control) => {
                match taken_back(control) {
                    Some(answer) => drop(reply.send(answer)),
                    None => kept.push(reply),
                }
                continue;
            }
            (ControlRequest::Drill(_), _) => continue,
            (ControlRequest::PlaceOrder { order, idempotency_key, fingerprint, reply }, _) => {
                (order, idempotency_key, fingerprint, reply)
            }
        };
        match &control {
            Control::Refuses(refusal) => drop(reply.send(Err(refusal.clone()))),
            Control::Accepts => {
                let decided = accept(&hub, &mut stored.lock().unwrap(), order, idempotency_key, fingerprint);
                drop(reply.send(decided));
            }
            Control::Keeps(_)
            | Control::ShowsLate
            | Control::Rides
            | Control::Hangs
            | Control::Deaf
            | Control::Ended => held.push(reply),
        }
    }
}

fn taken_back(control: &Control) -> Option<Result<TakenBack, WithdrawalRefusal>> {
    match control {
        Control::Keeps(refusal) => Some(Err(refusal.clone())),
        Control::ShowsLate => Some(Ok(TakenBack::Withdrawn(task_id(1)))),
        Control::Rides => Some(Ok(TakenBack::Asked(task_id(1)))),
        Control::Accepts | Control::Refuses(_) | Control::Hangs | Control::Deaf | Control::Ended => None,
    }
}

fn accept(
    hub: &Hub,
    stored: &mut BTreeMap<String, (String, OrderId)>,
    order: PlaceOrder,
    key: String,
    fingerprint: String,
) -> Result<Accepted, OrderRefusal> {
    let numbered = |n: usize| (OrderId::try_new(&format!("A-{n}")).unwrap(), task_id(n));
    if let Some((known, id)) = stored.get(&key) {
        let task = task_id(id.as_str()[2..].parse().unwrap());
        let reused = OrderRefusal::KeyReused(id.clone());
        return if *known == fingerprint {
            Ok(Accepted { order: id.clone(), task, repeated: true })
        } else {
            Err(reused)
        };
    }
    let (id, task) = numbered(stored.len() + 1);
    stored.insert(key, (fingerprint, id.clone()));
    hub.show(Change::Order(order_view(&order, id.clone(), task.clone())));
    Ok(Accepted { order: id, task, repeated: false })
}

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_020_000 + second, 0).unwrap()
}

pub(crate) fn task_id(n: usize) -> TaskId {
    TaskId::try_new(&format!("T-{n}")).unwrap()
}

pub(crate) fn station(name: &str) -> StationId {
    StationId::try_new(name).unwrap()
}

fn order_view(order: &PlaceOrder, id: OrderId, task: TaskId) -> OrderView {
    let order = TransportOrder {
        id,
        from: order.from.clone(),
        to: order.to.clone(),
        priority: order.priority,
        deadline: order.deadline,
        reference: order.reference.clone(),
    };
    OrderView {
        order,
        task,
        state: TaskState::Created,
        withdrawal_asked: false,
        placed_at: at(0),
        ended_at: None,
    }
}

pub(crate) fn nth_order(n: usize, state: TaskState) -> OrderView {
    let asked =
        PlaceOrder { from: station("A31"), to: station("A11"), priority: 5, deadline: None, reference: None };
    let id = OrderId::try_new(&format!("A-{n}")).unwrap();
    let ended_at = state.is_terminal().then(|| at(1000));
    let placed_at = at(i64::try_from(n).unwrap());
    OrderView { state, placed_at, ended_at, ..order_view(&asked, id, task_id(n)) }
}

pub(crate) fn nth_task(n: usize, state: TaskState) -> TaskView {
    TaskView {
        id: task_id(n),
        order: OrderId::try_new(&format!("A-{n}")).unwrap(),
        from: station("A31"),
        to: station("A11"),
        priority: 5,
        state,
        withdrawal_asked: false,
        knowledge: Knowledge::Confirmed,
        activity: Activity::WaitsForVehicle,
        vehicle: None,
        claimed_by: None,
        claim: Generation(1),
        since: at(i64::try_from(n).unwrap()),
        ack_budget_ms: Millis(28_000),
        next_delivery_at: None,
    }
}

pub(crate) fn vehicle(battery_pct: u8) -> VehicleView {
    VehicleView {
        id: VehicleId::try_new("V01").unwrap(),
        place: Place::At { point: PointId::try_new("P1").unwrap() },
        placed_at: Some(at(0)),
        hearing: Hearing::Heard,
        heard_at: Some(at(0)),
        work: WorkState::Idle,
        load: None,
        task: None,
        battery_pct: Some(battery_pct),
        rssi_dbm: Some(-60),
        link: Generation(1),
        link_open: true,
    }
}

pub(crate) fn lift(gateway_hearing: Hearing) -> LiftView {
    LiftView {
        id: LiftId::try_new("L1").unwrap(),
        gateway: GatewayId::try_new("G1").unwrap(),
        gateway_hearing,
        connection: Connection::Up,
        connections_lost: 0,
        status: None,
        read_at: None,
        verifying: None,
        settling: None,
        arbitration: Arbitration::Lease,
        epoch: Some(1),
        lease: None,
        session: None,
        waiting: vec![],
        commands: vec![],
    }
}

pub(crate) fn alarm(name: &str, kind: AlarmKind) -> AlarmView {
    AlarmView {
        id: AlarmId::try_new(name).unwrap(),
        kind,
        subject: Subject::Site,
        priority: kind.priority(),
        detail: "seen".to_owned(),
        raised_at: at(0),
    }
}

/// A control node as the ledger tells of it.
pub(crate) fn peer(name: &str, standing: NodeStanding, tasks: u32) -> PeerView {
    PeerView {
        id: NodeId::try_new(name).unwrap(),
        run: 1,
        standing,
        version: Some("0.1.0".to_owned()),
        since: at(0),
        heard_at: Some(at(1)),
        hears_broker: Some(true),
        tasks,
    }
}

pub(crate) fn node() -> NodeView {
    NodeView {
        id: NodeId::try_new("A").unwrap(),
        broker_connected: true,
        ledger_writable: true,
        messages_rejected: 0,
        last_rejection: None,
        drill: false,
    }
}

/// With one stop: it leads nowhere.
fn lift_plan(floor: FloorId) -> Lift {
    let landing = PointId::try_new("P2").unwrap();
    Lift {
        gateway: GatewayId::try_new("G1").unwrap(),
        stops: vec![LiftStop { floor, landing, waiting: vec![] }],
        travel_per_floor_ms: Millis(4000),
        door_ms: Millis(2500),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    }
}

/// One floor with two stations and a lift: the router needs no more.
fn plant() -> Plant {
    let floor = FloorId::try_new("F1").unwrap();
    let point = |name: &str| PointId::try_new(name).unwrap();
    let points = [("P1", 0), ("P2", 5000)]
        .map(|(name, x_mm)| (point(name), Point { floor: floor.clone(), x_mm, y_mm: 0 }));
    let stations =
        [("A31", "P1"), ("A11", "P2")].map(|(name, at)| (station(name), Station { point: point(at) }));
    Plant {
        site: SiteId::try_new("test").unwrap(),
        name: "Test".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![],
        floors: vec![Floor { id: floor.clone(), name: "Floor 1".to_owned() }],
        points: BTreeMap::from(points),
        edges: vec![],
        stations: BTreeMap::from(stations),
        lifts: BTreeMap::from([(LiftId::try_new("L1").unwrap(), lift_plan(floor))]),
        zones: vec![],
        vehicles: BTreeMap::new(),
        gateways: vec![],
        link_budget: LinkBudget::REPORTED,
    }
}
