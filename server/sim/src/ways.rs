//! The plant as a vehicle knows it: which ways exist, how long they take, where it creeps, how the radio is.

use std::collections::{BTreeMap, BTreeSet};

use kernel::ids::{FloorId, LiftId, PointId};
use kernel::plant::{Plant, Vehicle, ZoneKind};
use kernel::time::Millis;

use crate::radio::Cover;

/// From the landing until clear of the sill in the car, or back: a vehicle of 1.2 m and a gap of 0.3 m.
const SILL_MM: u64 = 1500;

/// One way, in the direction in which it may be driven.
#[derive(Clone, Copy, Debug)]
struct Way {
    length_mm: u64,
    creep: bool,
    cover: Cover,
}

/// What every vehicle of a site knows of it.
#[derive(Clone, Debug)]
pub struct Ways {
    ways: BTreeMap<PointId, BTreeMap<PointId, Way>>,
    cover: BTreeMap<PointId, Cover>,
    floors: BTreeMap<PointId, FloorId>,
    stations: BTreeSet<PointId>,
    landings: BTreeMap<LiftId, BTreeMap<FloorId, PointId>>,
}

impl Ways {
    /// Reads them from the plant.
    pub fn new(plant: &Plant) -> Self {
        let mut ways: BTreeMap<PointId, BTreeMap<PointId, Way>> = BTreeMap::new();
        for edge in &plant.edges {
            let way = Way {
                length_mm: edge.length_mm,
                creep: creeps(plant, &edge.from, &edge.to),
                cover: worse(cover(plant, &edge.from), cover(plant, &edge.to)),
            };
            ways.entry(edge.from.clone()).or_default().insert(edge.to.clone(), way);
            if !edge.one_way {
                ways.entry(edge.to.clone()).or_default().insert(edge.from.clone(), way);
            }
        }
        let stops_of = |lift: &kernel::plant::Lift| {
            lift.stops.iter().map(|stop| (stop.floor.clone(), stop.landing.clone())).collect()
        };
        Self {
            ways,
            cover: plant.points.keys().map(|point| (point.clone(), cover(plant, point))).collect(),
            floors: plant.points.iter().map(|(id, point)| (id.clone(), point.floor.clone())).collect(),
            stations: plant.stations.values().map(|station| station.point.clone()).collect(),
            landings: plant.lifts.iter().map(|(id, lift)| (id.clone(), stops_of(lift))).collect(),
        }
    }

    /// Whether each point is joined to the next one by a way in that direction.
    pub fn lead_along(&self, path: &[PointId]) -> bool {
        let known = path.iter().all(|point| self.cover.contains_key(point));
        known && path.windows(2).all(|pair| self.way(&pair[0], &pair[1]).is_some())
    }

    /// How long a vehicle takes from a point to the next; none without a way.
    pub fn time(&self, from: &PointId, to: &PointId, vehicle: &Vehicle) -> Option<Millis> {
        let way = self.way(from, to)?;
        let speed = if way.creep { vehicle.creep_mm_s } else { vehicle.speed_mm_s };
        Some(time_ms(way.length_mm, speed))
    }

    /// How long a vehicle takes over the sill.
    pub fn sill_time(vehicle: &Vehicle) -> Millis {
        time_ms(SILL_MM, vehicle.creep_mm_s)
    }

    /// The floor of a point.
    pub fn floor_of(&self, point: &PointId) -> Option<&FloorId> {
        self.floors.get(point)
    }

    /// The radio at a point.
    pub fn cover_at(&self, point: &PointId) -> Cover {
        self.cover.get(point).copied().unwrap_or(Cover::Normal)
    }

    /// The radio on the way between two points: that of the worse end.
    pub fn cover_between(&self, from: &PointId, to: &PointId) -> Cover {
        self.way(from, to).map_or(Cover::Normal, |way| way.cover)
    }

    /// Whether loads can be handled at a point.
    pub fn is_station(&self, point: &PointId) -> bool {
        self.stations.contains(point)
    }

    /// Whether the site has this lift.
    pub fn has_lift(&self, lift: &LiftId) -> bool {
        self.landings.contains_key(lift)
    }

    /// The landing of a lift on a floor.
    pub fn landing(&self, lift: &LiftId, floor: &FloorId) -> Option<&PointId> {
        self.landings.get(lift)?.get(floor)
    }

    fn way(&self, from: &PointId, to: &PointId) -> Option<&Way> {
        self.ways.get(from)?.get(to)
    }
}

fn time_ms(length_mm: u64, speed_mm_s: u32) -> Millis {
    Millis(length_mm.saturating_mul(1000).div_ceil(u64::from(speed_mm_s.max(1))))
}

/// A way is crept along inside a transition zone, and always up to a landing: the doors may be shut.
fn creeps(plant: &Plant, from: &PointId, to: &PointId) -> bool {
    let inside = |point| plant.in_zone(point, ZoneKind::Transition);
    let landing = |point: &PointId| {
        plant.lifts.values().flat_map(|lift| &lift.stops).any(|stop| stop.landing == *point)
    };
    (inside(from) && inside(to)) || landing(from) || landing(to)
}

fn cover(plant: &Plant, point: &PointId) -> Cover {
    if plant.in_zone(point, ZoneKind::Blind) {
        Cover::Dead
    } else if plant.in_zone(point, ZoneKind::Transition) {
        Cover::Weak
    } else {
        Cover::Normal
    }
}

fn worse(one: Cover, other: Cover) -> Cover {
    match (one, other) {
        (Cover::Dead, _) | (_, Cover::Dead) => Cover::Dead,
        (Cover::Weak, _) | (_, Cover::Weak) => Cover::Weak,
        (Cover::Normal, Cover::Normal) => Cover::Normal,
    }
}
