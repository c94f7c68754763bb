//! The first field report's site: twelve vehicles, three floors, one freight lift.
//!
//! Knows: places, speeds and times of the plant. Must not know who dispatches it. What the report does not give is
//! filled in so that its one figure for the lift holds: a door cycle with a vehicle takes at most about 15 s.

use std::collections::BTreeMap;

use kernel::ids::{FloorId, GatewayId, InvalidName, LiftId, PointId, SiteId, StationId, VehicleId};
use kernel::plant::{
    Capabilities, Edge, Floor, Lift, LiftStop, Plant, Point, Station, Vehicle, Zone, ZoneKind,
};
use kernel::time::Millis;
use kernel::timing::LinkBudget;

/// Floors, numbered from 1: the report's log names the second and the third, its vehicles stand on the first.
pub(super) const N_FLOORS: u64 = 3;
/// Stations on each floor.
pub(super) const N_STATIONS: u64 = 2;
/// Vehicles (report, 6.3).
const N_VEHICLES: u64 = 12;

/// Along each hall: its points with the way to the next one in mm. The last stretch is what a vehicle creeps while
/// the door opens.
const HALL: [(&str, u64); 5] = [("H", 12_000), ("A", 24_000), ("B", 18_000), ("W", 1_500), ("D", 0)];

/// Opening or closing: with 5 s over the sill, and scans, a door cycle takes 14 s of the report's 15 s (4.2).
const DOOR: Millis = Millis(4000);
/// A freight lift of 0.5 m/s between floors 4 m apart.
const TRAVEL_PER_FLOOR: Millis = Millis(8000);

const SPEED_MM_S: u32 = 1200;
const CREEP_MM_S: u32 = 300;

/// The name of the one lift.
pub(super) fn lift_id() -> Result<LiftId, InvalidName> {
    LiftId::try_new("L1")
}

/// A station by floor and number, both from 1.
pub(super) fn station(floor: u64, number: u64) -> Result<StationId, InvalidName> {
    StationId::try_new(&format!("S{floor}{number}"))
}

/// The site.
///
/// # Errors
/// A name that is none; the names are made here, so a test holds that there is no such error.
pub(super) fn plant() -> Result<Plant, InvalidName> {
    let gateway = GatewayId::try_new("G1")?;
    let mut plant = Plant {
        site: SiteId::try_new("first-report")?,
        name: "First field report".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![480],
        floors: Vec::new(),
        points: BTreeMap::new(),
        edges: Vec::new(),
        stations: BTreeMap::new(),
        lifts: BTreeMap::new(),
        zones: Vec::new(),
        vehicles: BTreeMap::new(),
        gateways: vec![gateway.clone()],
        link_budget: LinkBudget::REPORTED,
    };
    let mut stops = Vec::new();
    for number in 1..=N_FLOORS {
        stops.push(add_floor(&mut plant, number)?);
    }
    for number in 1..=N_VEHICLES {
        let vehicle = Vehicle {
            gateway: gateway.clone(),
            home: point("H", (number - 1) % N_FLOORS + 1)?,
            speed_mm_s: SPEED_MM_S,
            creep_mm_s: CREEP_MM_S,
            weight_kg: 400,
            payload_kg: 600,
        };
        plant.vehicles.insert(VehicleId::try_new(&format!("V{number:02}"))?, vehicle);
    }
    let lift = Lift {
        gateway,
        stops,
        travel_per_floor_ms: TRAVEL_PER_FLOOR,
        door_ms: DOOR,
        capacity_vehicles: 1,
        payload_kg: 2000,
        capabilities: Capabilities::default(),
    };
    plant.lifts.insert(lift_id()?, lift);
    Ok(plant)
}

fn point(prefix: &str, floor: u64) -> Result<PointId, InvalidName> {
    PointId::try_new(&format!("{prefix}{floor}"))
}

fn add_floor(plant: &mut Plant, number: u64) -> Result<LiftStop, InvalidName> {
    let floor = FloorId::try_new(&format!("F{number}"))?;
    plant.floors.push(Floor { id: floor.clone(), name: format!("Floor {number}") });
    let mut x_mm = 0_u64;
    let mut before: Option<(PointId, u64)> = None;
    for (prefix, way_mm) in HALL {
        let here = point(prefix, number)?;
        let at = Point { floor: floor.clone(), x_mm: i64::try_from(x_mm).unwrap_or_default(), y_mm: 0 };
        plant.points.insert(here.clone(), at);
        if let Some((from, length_mm)) = before.replace((here.clone(), way_mm)) {
            plant.edges.push(Edge { from, to: here, length_mm, one_way: false });
        }
        x_mm += way_mm;
    }
    for (idx, prefix) in (1..=N_STATIONS).zip(["A", "B"]) {
        plant.stations.insert(station(number, idx)?, Station { point: point(prefix, number)? });
    }
    let (waiting, landing) = (point("W", number)?, point("D", number)?);
    plant.zones.push(Zone {
        name: format!("before the lift on floor {number}"),
        kind: ZoneKind::Transition,
        points: vec![waiting.clone(), landing.clone()],
    });
    Ok(LiftStop { floor, landing, waiting: vec![waiting] })
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (N_FLOORS, N_STATIONS, N_VEHICLES, HALL, DOOR, TRAVEL_PER_FLOOR, SPEED_MM_S, CREEP_MM_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_reported_site() {
        let plant = plant().expect("its names are names");
        assert_eq!(plant.vehicles.len(), 12);
        assert_eq!(plant.lifts.len(), 1);
        let lift = &plant.lifts[&lift_id().expect("a name")];
        assert_eq!((lift.capacity_vehicles, lift.stops.len()), (1, 3));
    }
}
