//! A site of two floors and one lift, for whole runs.

use std::collections::BTreeMap;

use kernel::ids::{FloorId, GatewayId, LiftId, PointId, SiteId, StationId, VehicleId};
use kernel::plant::{Edge, Floor, Lift, LiftStop, Plant, Point, Station, Vehicle, Zone, ZoneKind};
use kernel::time::Millis;
use kernel::timing::LinkBudget;

fn point(text: &str) -> PointId {
    PointId::try_new(text).expect("a name")
}

fn floor(text: &str) -> FloorId {
    FloorId::try_new(text).expect("a name")
}

/// The points of a floor from left to right: homes, station, two waiting points, landing.
fn hall(number: usize, n_homes: usize) -> Vec<(PointId, i64)> {
    let mut row: Vec<String> = (1..=n_homes).map(|n| format!("H{number}{n}")).collect();
    row.extend(["P", "V", "W", "D"].map(|prefix| format!("{prefix}{number}")));
    row.iter().enumerate().map(|(idx, name)| (point(name), idx as i64 * 3000)).collect()
}

/// `n` vehicles, half of them at home on each floor.
pub(crate) fn plant(n: usize) -> Plant {
    let gateway = GatewayId::try_new("G1").expect("a name");
    let n_homes = n.div_ceil(2);
    let mut points = BTreeMap::new();
    let mut edges = Vec::new();
    for number in 1..=2 {
        let row = hall(number, n_homes);
        for (id, x_mm) in &row {
            let at = Point { floor: floor(&format!("F{number}")), x_mm: *x_mm, y_mm: 0 };
            points.insert(id.clone(), at);
        }
        edges.extend(row.windows(2).map(|pair| Edge {
            from: pair[0].0.clone(),
            to: pair[1].0.clone(),
            length_mm: 3000,
            one_way: false,
        }));
    }
    let stop = |number: u8| LiftStop {
        floor: floor(&format!("F{number}")),
        landing: point(&format!("D{number}")),
        waiting: vec![point(&format!("W{number}")), point(&format!("V{number}"))],
    };
    let lift = Lift {
        gateway: gateway.clone(),
        stops: vec![stop(1), stop(2)],
        travel_per_floor_ms: Millis(3000),
        door_ms: Millis(2000),
        capacity_vehicles: 1,
        payload_kg: 2000,
    };
    let station = |number: u8| {
        let id = StationId::try_new(&format!("S{number}")).expect("a name");
        (id, Station { point: point(&format!("P{number}")) })
    };
    let vehicles = (0..n).map(|idx| {
        let home = point(&format!("H{}{}", idx % 2 + 1, idx / 2 + 1));
        let id = VehicleId::try_new(&format!("V{}", idx + 1)).expect("a name");
        let gateway = gateway.clone();
        let vehicle =
            Vehicle { gateway, home, speed_mm_s: 1200, creep_mm_s: 400, weight_kg: 300, payload_kg: 500 };
        (id, vehicle)
    });
    let zone = |number: u8| Zone {
        name: format!("before the lift on F{number}"),
        kind: ZoneKind::Transition,
        points: vec![point(&format!("W{number}")), point(&format!("D{number}"))],
    };
    Plant {
        site: SiteId::try_new("virtual").expect("a name"),
        name: "Virtual".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![360],
        floors: ["F1", "F2"].map(|it| Floor { id: floor(it), name: it.to_owned() }).into(),
        points,
        edges,
        stations: [station(1), station(2)].into(),
        lifts: [(LiftId::try_new("L1").expect("a name"), lift)].into(),
        zones: vec![zone(1), zone(2)],
        vehicles: vehicles.collect(),
        gateways: vec![gateway],
        link_budget: LinkBudget::REPORTED,
    }
}
