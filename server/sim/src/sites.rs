//! Sites of the lab: halls over each other, joined by lifts side by side.

use std::collections::BTreeMap;

use kernel::ids::{FloorId, GatewayId, InvalidName, LiftId, NodeId, PointId, SiteId, StationId, VehicleId};
use kernel::plant::{
    Capabilities, Edge, Floor, Lift, LiftStop, Plant, Point, Station, Vehicle, Zone, ZoneKind,
};
use kernel::time::Millis;
use kernel::timing::LinkBudget;

/// How large a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteShape {
    /// Floors, each with one station.
    pub floors: u8,
    /// Lifts, each serving every floor.
    pub lifts: u8,
    /// Vehicles, at home by turns on each floor.
    pub vehicles: u8,
    /// Gateways, which have lifts and vehicles by turns.
    pub gateways: u8,
}

/// From a point to the next.
const STEP_MM: u64 = 3000;

/// Builds a site. Floor n has homes `H{n}{i}` in a row, then the station `S{n}` at point `P{n}`, and from there for
/// each lift l the waiting points `V{n}{l}`, `W{n}{l}` and the landing `D{n}{l}`.
///
/// # Errors
/// Never for numbers of one or two digits: the names are made here.
pub fn site(shape: SiteShape) -> Result<Plant, InvalidName> {
    let mut points = BTreeMap::new();
    let mut edges = Vec::new();
    let mut zones = Vec::new();
    let mut stations = BTreeMap::new();
    for n in 1..=shape.floors {
        let floor = FloorId::try_new(&format!("F{n}"))?;
        let n_homes = shape.vehicles.div_ceil(shape.floors.max(1));
        let mut hall: Vec<PointId> = Vec::new();
        for i in 1..=n_homes {
            hall.push(PointId::try_new(&format!("H{n}{i}"))?);
        }
        hall.push(PointId::try_new(&format!("P{n}"))?);
        lay(&mut points, &mut edges, &floor, &hall, 0);
        let station = hall.last().cloned();
        for l in 1..=shape.lifts {
            let branch = ["V", "W", "D"].map(|it| PointId::try_new(&format!("{it}{n}{l}")));
            let [v, w, d] = branch;
            let branch: Vec<PointId> = station.iter().cloned().chain([v?, w?, d?]).collect();
            lay(&mut points, &mut edges, &floor, &branch, i64::from(l) * 4000);
            zones.push(Zone {
                name: format!("before lift {l} on floor {n}"),
                kind: ZoneKind::Transition,
                points: branch.into_iter().skip(2).collect(),
            });
        }
        if let Some(point) = station {
            stations.insert(StationId::try_new(&format!("S{n}"))?, Station { point });
        }
    }
    let gateways = gateways(shape.gateways)?;
    let floors: Result<Vec<Floor>, InvalidName> = (1..=shape.floors)
        .map(|n| Ok(Floor { id: FloorId::try_new(&format!("F{n}"))?, name: format!("Floor {n}") }))
        .collect();
    Ok(Plant {
        site: SiteId::try_new("lab")?,
        name: "Lab".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![360],
        floors: floors?,
        points,
        edges,
        stations,
        lifts: (1..=shape.lifts).map(|l| lift(l, shape, &gateways)).collect::<Result<_, _>>()?,
        zones,
        vehicles: (0..shape.vehicles).map(|i| vehicle(i, shape, &gateways)).collect::<Result<_, _>>()?,
        gateways,
        link_budget: LinkBudget::REPORTED,
    })
}

fn lay(
    points: &mut BTreeMap<PointId, Point>,
    edges: &mut Vec<Edge>,
    floor: &FloorId,
    row: &[PointId],
    y_mm: i64,
) {
    let mut x_mm = 0;
    let mut last: Option<&PointId> = None;
    for id in row {
        if let Some(last) = last {
            let (from, to) = (last.clone(), id.clone());
            edges.push(Edge { from, to, length_mm: STEP_MM, one_way: false });
        }
        points.entry(id.clone()).or_insert(Point { floor: floor.clone(), x_mm, y_mm });
        x_mm += i64::try_from(STEP_MM).unwrap_or_default();
        last = Some(id);
    }
}

/// Gateways G1, G2 …, one at least.
fn gateways(count: u8) -> Result<Vec<GatewayId>, InvalidName> {
    (1..=count.max(1)).map(|n| GatewayId::try_new(&format!("G{n}"))).collect()
}

/// The gateway of the n-th machine of its kind, from 0.
fn by_turns(gateways: &[GatewayId], n: u8) -> Result<GatewayId, InvalidName> {
    let turn = usize::from(n) % gateways.len().max(1);
    gateways.get(turn).cloned().map_or_else(|| GatewayId::try_new("G1"), Ok)
}

/// Control nodes A, B, C … for a site.
///
/// # Errors
/// More than there are letters.
pub fn nodes(count: u8) -> Result<Vec<NodeId>, InvalidName> {
    (0..count).map(|n| NodeId::try_new(&char::from(b'A'.saturating_add(n)).to_string())).collect()
}

fn lift(l: u8, shape: SiteShape, gateways: &[GatewayId]) -> Result<(LiftId, Lift), InvalidName> {
    let stops: Result<Vec<LiftStop>, InvalidName> = (1..=shape.floors)
        .map(|n| {
            Ok(LiftStop {
                floor: FloorId::try_new(&format!("F{n}"))?,
                landing: PointId::try_new(&format!("D{n}{l}"))?,
                waiting: vec![PointId::try_new(&format!("W{n}{l}"))?, PointId::try_new(&format!("V{n}{l}"))?],
            })
        })
        .collect();
    let lift = Lift {
        gateway: by_turns(gateways, l.saturating_sub(1))?,
        stops: stops?,
        travel_per_floor_ms: Millis(3000),
        door_ms: Millis(2000),
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    };
    Ok((LiftId::try_new(&format!("L{l}"))?, lift))
}

fn vehicle(i: u8, shape: SiteShape, gateways: &[GatewayId]) -> Result<(VehicleId, Vehicle), InvalidName> {
    let floors = shape.floors.max(1);
    let home = PointId::try_new(&format!("H{}{}", i % floors + 1, i / floors + 1))?;
    let gateway = by_turns(gateways, i)?;
    let vehicle =
        Vehicle { gateway, home, speed_mm_s: 1200, creep_mm_s: 400, weight_kg: 300, payload_kg: 500 };
    Ok((VehicleId::try_new(&format!("V{}", i + 1))?, vehicle))
}
