//! A small site for tests: two floors, one lift, two vehicles.
//!
//! Floor F1: home H1, H2 — station S1 — waiting point W1 — landing D1. Floor F2: landing D2 — waiting point W2 —
//! station S2 — blind point B2. A one-way leads from H1 to H2.

use std::collections::BTreeMap;

use kernel::ids::{
    CommandId, FloorId, GatewayId, Generation, LiftId, OrderId, PointId, SessionId, SiteId, StationId,
    TaskId, VehicleId,
};
use kernel::plant::{
    Capabilities, Edge, Floor, Lift, LiftStop, Plant, Point, Station, Vehicle, Zone, ZoneKind,
};
use kernel::time::Millis;
use kernel::timing::LinkBudget;
use kernel::wire::vehicle::{Instruction, Operation, VehicleCommand};

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
    lift: LiftId;
    vehicle: VehicleId;
    order: OrderId;
    task: TaskId;
    command_id: CommandId;
}

pub(crate) fn path(points: &[&str]) -> Vec<PointId> {
    points.iter().map(|it| point(it)).collect()
}

fn points() -> BTreeMap<PointId, Point> {
    let at =
        |name: &str, floor_name: &str, x_mm| (point(name), Point { floor: floor(floor_name), x_mm, y_mm: 0 });
    [
        at("H1", "F1", 0),
        at("H2", "F1", 2000),
        at("S1", "F1", 6000),
        at("W1", "F1", 10_000),
        at("D1", "F1", 13_000),
        at("D2", "F2", 13_000),
        at("W2", "F2", 10_000),
        at("S2", "F2", 6000),
        at("B2", "F2", 0),
    ]
    .into()
}

pub(crate) fn plant() -> Plant {
    let gateway = GatewayId::try_new("G1").expect("a name");
    let edge = |from: &str, to: &str, length_mm, one_way| Edge {
        from: point(from),
        to: point(to),
        length_mm,
        one_way,
    };
    let stop = |floor_name: &str, landing: &str, waiting: &str| LiftStop {
        floor: floor(floor_name),
        landing: point(landing),
        waiting: vec![point(waiting)],
    };
    let fleet = |home: &str| Vehicle {
        gateway: gateway.clone(),
        home: point(home),
        speed_mm_s: 1000,
        creep_mm_s: 300,
        weight_kg: 300,
        payload_kg: 500,
    };
    let zone = |kind, points: &[&str]| Zone { name: "zone".to_owned(), kind, points: path(points) };
    let station =
        |name: &str, at: &str| (StationId::try_new(name).expect("a name"), Station { point: point(at) });
    Plant {
        site: SiteId::try_new("test").expect("a name"),
        name: "Test".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![360],
        floors: ["F1", "F2"].map(|it| Floor { id: floor(it), name: it.to_owned() }).into(),
        points: points(),
        edges: vec![
            edge("H1", "H2", 2000, true),
            edge("H1", "S1", 6000, false),
            edge("H2", "S1", 4000, false),
            edge("S1", "W1", 4000, false),
            edge("W1", "D1", 3000, false),
            edge("D2", "W2", 3000, false),
            edge("W2", "S2", 4000, false),
            edge("S2", "B2", 6000, false),
        ],
        stations: [station("A1", "S1"), station("A2", "S2")].into(),
        lifts: [(
            lift("L1"),
            Lift {
                gateway: gateway.clone(),
                stops: vec![stop("F1", "D1", "W1"), stop("F2", "D2", "W2")],
                travel_per_floor_ms: Millis(4000),
                door_ms: Millis(2500),
                capacity_vehicles: 1,
                payload_kg: 2000,
                capabilities: Capabilities::default(),
            },
        )]
        .into(),
        zones: vec![zone(ZoneKind::Transition, &["W1", "D1", "D2", "W2"]), zone(ZoneKind::Blind, &["B2"])],
        vehicles: [(vehicle("V1"), fleet("H1")), (vehicle("V2"), fleet("H2"))].into(),
        gateways: vec![gateway],
        link_budget: LinkBudget::REPORTED,
    }
}

/// A command of link generation 1 and claim generation 1 for task `T1`, with an id made from its sequence.
pub(crate) fn command(name: &str, sequence: u64, instruction: Instruction) -> VehicleCommand {
    let task = if instruction == Instruction::OpenLink { None } else { Some(task("T1")) };
    VehicleCommand {
        id: command_id(&format!("C{sequence}")),
        vehicle: vehicle(name),
        sequence,
        task,
        step: 0,
        claim: Generation(1),
        link: Generation(1),
        valid_for_ms: Millis::seconds(30),
        instruction,
    }
}

pub(crate) fn drive(points: &[&str]) -> Instruction {
    Instruction::Drive { path: path(points), then: Operation::Stand }
}

pub(crate) fn pick(points: &[&str], name: &str) -> Instruction {
    Instruction::Drive { path: path(points), then: Operation::Pick { order: order(name) } }
}

pub(crate) fn put(points: &[&str], name: &str) -> Instruction {
    Instruction::Drive { path: path(points), then: Operation::Drop { order: order(name) } }
}

pub(crate) fn ride(approach: &[&str]) -> Instruction {
    Instruction::Ride {
        lift: lift("L1"),
        session: SessionId::try_new("S1").expect("a name"),
        from: floor("F1"),
        to: floor("F2"),
        approach: path(approach),
        exit: point("D2"),
    }
}
