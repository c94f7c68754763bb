//! A small site for tests, and builders of what crosses its wires.
//!
//! Floor F1: homes H1, H2 — station A1 at S1 — waiting point W1 — landing D1. Floor F2: landing D2 — waiting point
//! W2 — station A2 at S2. A one-way leads from H1 to H2. One lift, L1; two vehicles, V1 and V2; one gateway, G1.

use chrono::DateTime;

use crate::ids::{
    CommandId, FloorId, GatewayId, Generation, LiftId, NodeId, OrderId, PointId, SessionId, SiteId,
    StationId, TaskId, VehicleId,
};
use crate::lease::{FencingToken, LeaseNonce};
use crate::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use crate::plant::{
    Capabilities, Edge, Floor, Lift, LiftStop, Plant, Point, Station, Vehicle, Zone, ZoneKind,
};
use crate::time::{Millis, Mono, Now};
use crate::timing::{LIFT_COMMAND_VALIDITY, LinkBudget};
use crate::wire::gateway::{Authority, LiftCommand, ReadRef, SessionRef};
use crate::wire::vehicle::{Heartbeat, Instruction, Operation, Place, VehicleCommand, WorkState};

macro_rules! namers {
    ($($name:ident: $kind:ident;)*) => {$(
        pub(crate) fn $name(text: &str) -> $kind {
            $kind::try_new(text).expect("a name")
        }
    )*};
}

namers! {
    floor: FloorId;
    point: PointId;
    station: StationId;
    lift: LiftId;
    vehicle: VehicleId;
    gateway: GatewayId;
    node: NodeId;
    order: OrderId;
    task: TaskId;
    session: SessionId;
    command_id: CommandId;
}

/// Both clocks, the wall clock beginning at the epoch.
pub(crate) fn at(ms: u64) -> Now {
    let wall = DateTime::from_timestamp_millis(i64::try_from(ms).expect("a test's time")).expect("a date");
    Now { mono: Mono(ms), wall }
}

pub(crate) fn path(points: &[&str]) -> Vec<PointId> {
    points.iter().map(|it| point(it)).collect()
}

pub(crate) fn edge(from: &str, to: &str, length_mm: u64, one_way: bool) -> Edge {
    Edge { from: point(from), to: point(to), length_mm, one_way }
}

pub(crate) fn stop(on: &str, landing: &str, waiting: &str) -> LiftStop {
    LiftStop { floor: floor(on), landing: point(landing), waiting: path(&[waiting]) }
}

pub(crate) fn lift_of(stops: Vec<LiftStop>) -> Lift {
    Lift {
        gateway: gateway("G1"),
        stops,
        travel_per_floor_ms: Millis(4000),
        door_ms: Millis(2500),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    }
}

pub(crate) fn plant() -> Plant {
    let place = |name: &str, on: &str, x_mm| (point(name), Point { floor: floor(on), x_mm, y_mm: 0 });
    let home = |home: &str| Vehicle {
        gateway: gateway("G1"),
        home: point(home),
        speed_mm_s: 1000,
        creep_mm_s: 300,
        weight_kg: 300,
        payload_kg: 500,
    };
    Plant {
        site: SiteId::try_new("test").expect("a name"),
        name: "Test".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![360],
        floors: ["F1", "F2"].map(|it| Floor { id: floor(it), name: it.to_owned() }).into(),
        points: [
            place("H1", "F1", 0),
            place("H2", "F1", 2000),
            place("S1", "F1", 6000),
            place("W1", "F1", 10_000),
            place("D1", "F1", 13_000),
            place("D2", "F2", 13_000),
            place("W2", "F2", 10_000),
            place("S2", "F2", 6000),
        ]
        .into(),
        edges: vec![
            edge("H1", "H2", 2000, true),
            edge("H1", "S1", 6000, false),
            edge("H2", "S1", 4000, false),
            edge("S1", "W1", 4000, false),
            edge("W1", "D1", 3000, false),
            edge("D2", "W2", 3000, false),
            edge("W2", "S2", 4000, false),
        ],
        stations: [("A1", "S1"), ("A2", "S2")]
            .map(|(it, on)| (station(it), Station { point: point(on) }))
            .into(),
        lifts: [(lift("L1"), lift_of(vec![stop("F1", "D1", "W1"), stop("F2", "D2", "W2")]))].into(),
        zones: vec![Zone {
            name: "before the doors".to_owned(),
            kind: ZoneKind::Transition,
            points: path(&["W1", "D1", "D2", "W2"]),
        }],
        vehicles: [(vehicle("V1"), home("H1")), (vehicle("V2"), home("H2"))].into(),
        gateways: vec![gateway("G1")],
        link_budget: LinkBudget::REPORTED,
    }
}

/// An idle, empty lift in vehicle mode.
pub(crate) fn status(on: &str, door: DoorState) -> LiftStatus {
    LiftStatus {
        floor: floor(on),
        levelled: true,
        door,
        motion: Motion::Still,
        mode: LiftMode::Vehicle,
        fault: 0,
        accepted: 0,
        completed: 0,
        boot: 1,
        heartbeat: 0,
        occupied: false,
    }
}

/// A command decided on `seen`, of the first grant, the first session and the first claim.
pub(crate) fn lift_command(
    id: &str,
    action: LiftAction,
    to: &str,
    seen: &LiftStatus,
    read: ReadRef,
) -> LiftCommand {
    LiftCommand {
        id: command_id(id),
        lift: lift("L1"),
        action,
        floor: floor(to),
        holder: node("A"),
        sequence: 1,
        authority: Authority::Lease { token: FencingToken { epoch: 1, serial: 1 }, nonce: LeaseNonce(1) },
        session: SessionRef {
            session: session("S-1"),
            generation: Generation(1),
            task: task("T-1"),
            claim: Generation(1),
            link: Generation(1),
            vehicle: vehicle("V1"),
        },
        read,
        expects: seen.expectation(),
        valid_for_ms: LIFT_COMMAND_VALIDITY,
    }
}

/// Rank and request of a command by a lease.
pub(crate) fn lease_of(command: &mut LiftCommand) -> (&mut FencingToken, &mut LeaseNonce) {
    match &mut command.authority {
        Authority::Lease { token, nonce } => (token, nonce),
        Authority::Edge { .. } => panic!("{} has no lease", command.id),
    }
}

/// A drive that only stands at its end.
pub(crate) fn vehicle_command(id: &str, to: &str, claim: u64) -> VehicleCommand {
    VehicleCommand {
        id: command_id(id),
        vehicle: vehicle(to),
        sequence: 1,
        task: Some(task("T-1")),
        step: 0,
        claim: Generation(claim),
        link: Generation(1),
        valid_for_ms: Millis::seconds(28),
        instruction: Instruction::Drive { path: path(&["H1"]), then: Operation::Stand },
    }
}

/// Of an idle vehicle that was just switched on, before its first beat.
pub(crate) fn heartbeat(id: &str, on: &str) -> Heartbeat {
    Heartbeat {
        vehicle: vehicle(id),
        boot: 1,
        beat: 0,
        work: WorkState::Idle,
        command: None,
        acknowledged: 0,
        completions: Vec::new(),
        window_floor: 0,
        link: Generation(0),
        link_open: false,
        place: Place::At { point: point(on) },
        load: None,
    }
}
