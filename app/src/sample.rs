//! A small site for tests: two floors, one lift that is verifying, one vehicle, one task, one alarm.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use kernel::alarm::{AlarmKind, Subject};
use kernel::ids::{
    AlarmId, CommandId, FloorId, GatewayId, Generation, LedgerSequence, LiftId, NodeId, OrderId, PointId,
    SessionId, SiteId, StationId, TaskId, VehicleId,
};
use kernel::lease::FencingToken;
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::plant::{Capabilities, Floor, Lift, LiftStop, Plant, Point, Station};
use kernel::task::TaskState;
use kernel::time::Millis;
use kernel::timing::LinkBudget;
use kernel::wire::gateway::{Arbitration, Connection};
use kernel::wire::ledger::SessionPhase;
use kernel::wire::live::Snapshot;
use kernel::wire::vehicle::{Place, WorkState};
use kernel::wire::view::{
    Activity, AlarmView, Hearing, Knowledge, LeaseView, LiftCommandView, LiftView, LiftWait, NodeStanding,
    NodeView, PeerView, SessionView, SettlingView, TaskView, VehicleView,
};

pub(crate) fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_796_020_000 + second, 0).unwrap()
}

pub(crate) fn bare_plant() -> Plant {
    Plant {
        site: SiteId::try_new("test").unwrap(),
        name: "Test".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![],
        floors: vec![],
        points: BTreeMap::new(),
        edges: vec![],
        stations: BTreeMap::new(),
        lifts: BTreeMap::new(),
        zones: vec![],
        vehicles: BTreeMap::new(),
        gateways: vec![GatewayId::try_new("G1").unwrap()],
        link_budget: LinkBudget::REPORTED,
    }
}

/// On each floor: station A at 0 m, waiting point W at 5 m, landing L at 8 m, station B at 20 m.
pub(crate) fn plant() -> Plant {
    let mut plant = bare_plant();
    let mut stops = vec![];
    for number in 1..=2 {
        let floor = FloorId::try_new(&number.to_string()).unwrap();
        plant.floors.push(Floor { id: floor.clone(), name: format!("Floor {number}") });
        let point = |name: &str| PointId::try_new(&format!("{name}{number}")).unwrap();
        for (name, x_mm) in [("A", 0), ("W", 5_000), ("L", 8_000), ("B", 20_000)] {
            plant.points.insert(point(name), Point { floor: floor.clone(), x_mm, y_mm: 0 });
        }
        for name in ["A", "B"] {
            let station = StationId::try_new(&format!("{name}{number}")).unwrap();
            plant.stations.insert(station, Station { point: point(name) });
        }
        stops.push(LiftStop { floor, landing: point("L"), waiting: vec![point("W")] });
    }
    let lift = Lift {
        gateway: GatewayId::try_new("G1").unwrap(),
        stops,
        travel_per_floor_ms: Millis::seconds(6),
        door_ms: Millis::seconds(3),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    };
    plant.lifts.insert(LiftId::try_new("L1").unwrap(), lift);
    plant
}

pub(crate) fn task(id: &str) -> TaskView {
    TaskView {
        id: TaskId::try_new(id).unwrap(),
        order: OrderId::try_new("O-1").unwrap(),
        from: StationId::try_new("A2").unwrap(),
        to: StationId::try_new("B1").unwrap(),
        priority: 5,
        state: TaskState::Created,
        withdrawal_asked: false,
        knowledge: Knowledge::Confirmed,
        activity: Activity::WaitsForVehicle,
        vehicle: None,
        claimed_by: None,
        claim: Generation(1),
        since: at(0),
        ack_budget_ms: Millis::seconds(28),
        next_delivery_at: None,
    }
}

/// Four control nodes: one that runs, one that is silent, one that is lost, one that does not hear the broker.
pub(crate) fn nodes() -> Vec<PeerView> {
    let rows = [
        ("A", NodeStanding::Running, true, 1),
        ("B", NodeStanding::Silent, true, 2),
        ("C", NodeStanding::Lost, true, 0),
        ("D", NodeStanding::Running, false, 0),
    ];
    let view = |(id, standing, hears_broker, tasks)| PeerView {
        id: NodeId::try_new(id).unwrap(),
        run: 1,
        standing,
        version: Some("0.1.0".to_owned()),
        since: at(-60),
        heard_at: Some(at(-61)),
        hears_broker: Some(hears_broker),
        tasks,
    };
    rows.map(view).to_vec()
}

pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        sequence: LedgerSequence(7),
        server_time: at(0),
        plant: plant(),
        node: NodeView {
            id: NodeId::try_new("A").unwrap(),
            broker_connected: true,
            ledger_writable: true,
            messages_rejected: 0,
            last_rejection: None,
            drill: false,
        },
        vehicles: vec![vehicle()],
        lifts: vec![lift()],
        tasks: vec![task("T-1")],
        alarms: vec![AlarmView {
            id: AlarmId::try_new("AL-1").unwrap(),
            kind: AlarmKind::LiftUnverified,
            subject: Subject::Lift(LiftId::try_new("L1").unwrap()),
            priority: 2,
            detail: "no echo for command 7 in 2.5 s".to_owned(),
            raised_at: at(-2),
        }],
        drills: vec![],
        nodes: vec![],
    }
}

/// A command to the lift's door, not answered yet.
pub(crate) fn command(id: &str, issuer: &str, contradicts: Option<&str>) -> LiftCommandView {
    LiftCommandView {
        id: CommandId::try_new(id).unwrap(),
        at: at(0),
        issuer: NodeId::try_new(issuer).unwrap(),
        token: Some(FencingToken { epoch: 7, serial: 418 }),
        action: LiftAction::OpenDoor,
        floor: FloorId::try_new("2").unwrap(),
        verdict: None,
        answered_after_ms: None,
        joined: None,
        contradicts: contradicts.map(|it| CommandId::try_new(it).unwrap()),
    }
}

/// A lease of the serving node, which knows when it ends, or of another one.
pub(crate) fn lease(holder: &str, own: bool) -> LeaseView {
    LeaseView {
        holder: NodeId::try_new(holder).unwrap(),
        token: FencingToken { epoch: 7, serial: 418 },
        since: at(0),
        ends_at: own.then(|| at(24)),
        renewed_at: None,
    }
}

/// A ride, or who waits for one.
pub(crate) fn session(vehicle: &str, phase: SessionPhase, waits: LiftWait) -> SessionView {
    SessionView {
        id: SessionId::try_new(&format!("S-{vehicle}")).unwrap(),
        vehicle: VehicleId::try_new(vehicle).unwrap(),
        task: TaskId::try_new("T-1").unwrap(),
        from: FloorId::try_new("2").unwrap(),
        to: FloorId::try_new("1").unwrap(),
        phase,
        generation: Generation(1),
        since: at(-18),
        hold_limit_ms: Millis::seconds(66),
        waits,
    }
}

fn vehicle() -> VehicleView {
    VehicleView {
        id: VehicleId::try_new("V1").unwrap(),
        place: Place::At { point: PointId::try_new("A1").unwrap() },
        placed_at: Some(at(0)),
        hearing: Hearing::Heard,
        heard_at: Some(at(0)),
        work: WorkState::Idle,
        load: None,
        task: None,
        battery_pct: Some(80),
        rssi_dbm: Some(-60),
        link: Generation(1),
        link_open: true,
    }
}

fn lift() -> LiftView {
    LiftView {
        id: LiftId::try_new("L1").unwrap(),
        gateway: GatewayId::try_new("G1").unwrap(),
        gateway_hearing: Hearing::Heard,
        connection: Connection::Up,
        connections_lost: 0,
        status: Some(LiftStatus {
            floor: FloorId::try_new("2").unwrap(),
            levelled: true,
            door: DoorState::Opening,
            motion: Motion::Still,
            mode: LiftMode::Vehicle,
            fault: 0,
            accepted: 7,
            completed: 6,
            boot: 1,
            heartbeat: 99,
            occupied: false,
        }),
        read_at: Some(at(0)),
        verifying: Some(CommandId::try_new("A-1-7").unwrap()),
        settling: Some(SettlingView::NoReads),
        arbitration: Arbitration::Lease,
        epoch: Some(1),
        lease: None,
        session: None,
        waiting: vec![],
        commands: vec![],
    }
}
