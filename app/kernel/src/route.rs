//! Ways through the plant: over edges on a floor, by lifts between floors.
//!
//! A way is weighed in milliseconds at the vehicle's speed. A lift costs its worst single trip plus what the
//! caller says its line costs, so that a busy lift is avoided.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{FloorId, LiftId, PointId};
use crate::plant::{Plant, Vehicle, ZoneKind};
use crate::time::Millis;

/// One stretch of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// Over points of one floor, the first being where it starts; two at least.
    Drive(Vec<PointId>),
    /// By a lift, from landing to landing.
    Ride {
        /// Which.
        lift: LiftId,
        /// Where it enters.
        from: FloorId,
        /// Where it leaves.
        to: FloorId,
    },
}

/// How fast and how patient the traveller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// On free ways.
    pub speed_mm_s: u32,
    /// In transition zones.
    pub creep_mm_s: u32,
    /// What it weighs; lifts that carry less are passed by.
    pub mass_kg: u32,
}

impl Pace {
    /// Of a vehicle with the heaviest load that it takes.
    pub fn of(vehicle: &Vehicle) -> Self {
        Self {
            speed_mm_s: vehicle.speed_mm_s,
            creep_mm_s: vehicle.creep_mm_s,
            mass_kg: vehicle.weight_kg.saturating_add(vehicle.payload_kg),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hop {
    Edge,
    Lift(LiftId),
}

/// What waiting for each lift costs on top.
pub type Line = BTreeMap<LiftId, Millis>;

/// What the cheapest way costs, in milliseconds; none when there is none.
pub fn cost(plant: &Plant, from: &PointId, to: &PointId, pace: Pace, line: &Line) -> Option<Millis> {
    search(plant, from, to, pace, line).map(|found| Millis(found.cost))
}

/// Cheapest way from one point to another; empty when they are the same, none when there is none.
pub fn way(plant: &Plant, from: &PointId, to: &PointId, pace: Pace, line: &Line) -> Option<Vec<Stretch>> {
    search(plant, from, to, pace, line).map(|found| stretches(plant, &found.back, from, to))
}

struct Found<'a> {
    cost: u64,
    back: BTreeMap<&'a PointId, (&'a PointId, Hop)>,
}

fn search<'a>(
    plant: &'a Plant,
    from: &'a PointId,
    to: &'a PointId,
    pace: Pace,
    line: &Line,
) -> Option<Found<'a>> {
    let mut best: BTreeMap<&PointId, u64> = BTreeMap::from([(from, 0)]);
    let mut back: BTreeMap<&PointId, (&PointId, Hop)> = BTreeMap::new();
    let mut open: BTreeSet<(u64, &PointId)> = BTreeSet::from([(0, from)]);
    while let Some((cost, here)) = open.pop_first() {
        if here == to {
            return Some(Found { cost, back });
        }
        for (next, hop, step) in hops(plant, here, pace, line) {
            let total = cost.saturating_add(step);
            if best.get(next).is_none_or(|known| total < *known) {
                if let Some(known) = best.insert(next, total) {
                    open.remove(&(known, next));
                }
                back.insert(next, (here, hop));
                open.insert((total, next));
            }
        }
    }
    None
}

fn hops<'a>(plant: &'a Plant, here: &'a PointId, pace: Pace, line: &Line) -> Vec<(&'a PointId, Hop, u64)> {
    let mut found = Vec::new();
    for edge in &plant.edges {
        if edge.from == *here {
            found.push((&edge.to, Hop::Edge, edge_ms(plant, &edge.from, &edge.to, edge.length_mm, pace)));
        } else if edge.to == *here && !edge.one_way {
            found.push((&edge.from, Hop::Edge, edge_ms(plant, &edge.to, &edge.from, edge.length_mm, pace)));
        }
    }
    for (id, lift) in &plant.lifts {
        if lift.payload_kg < pace.mass_kg || !lift.stops.iter().any(|stop| stop.landing == *here) {
            continue;
        }
        let cost = lift.one_way() + lift.door_ms.times(2) + line.get(id).copied().unwrap_or_default();
        for stop in lift.stops.iter().filter(|stop| stop.landing != *here) {
            found.push((&stop.landing, Hop::Lift(id.clone()), cost.0));
        }
    }
    found
}

fn edge_ms(plant: &Plant, from: &PointId, to: &PointId, length_mm: u64, pace: Pace) -> u64 {
    let slow = plant.in_zone(from, ZoneKind::Transition) || plant.in_zone(to, ZoneKind::Transition);
    let speed = u64::from(if slow { pace.creep_mm_s } else { pace.speed_mm_s }).max(1);
    length_mm.saturating_mul(1000) / speed
}

fn stretches(
    plant: &Plant,
    back: &BTreeMap<&PointId, (&PointId, Hop)>,
    from: &PointId,
    to: &PointId,
) -> Vec<Stretch> {
    let mut hops = Vec::new();
    let mut here = to;
    while let Some((before, hop)) = back.get(here).filter(|_| here != from) {
        hops.push((*before, hop, here));
        here = before;
    }
    let mut way: Vec<Stretch> = Vec::new();
    for (start, hop, end) in hops.into_iter().rev() {
        match (hop, way.last_mut()) {
            (Hop::Edge, Some(Stretch::Drive(path))) => path.push(end.clone()),
            (Hop::Edge, Some(Stretch::Ride { .. }) | None) => {
                way.push(Stretch::Drive(vec![start.clone(), end.clone()]));
            }
            (Hop::Lift(lift), _) => {
                if let (Some(from), Some(to)) = (plant.floor_of(start), plant.floor_of(end)) {
                    way.push(Stretch::Ride { lift: lift.clone(), from: from.clone(), to: to.clone() });
                }
            }
        }
    }
    way
}
