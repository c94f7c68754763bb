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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, edge, lift, point, stop};
    use crate::plant::Point;

    /// The small site with a second lift, L2, from E1 (6 m behind W1) to E2 (6 m behind W2).
    fn two_lifts() -> Plant {
        let mut plant = fixture::plant();
        for (name, on) in [("E1", "F1"), ("E2", "F2")] {
            plant.points.insert(point(name), Point { floor: fixture::floor(on), x_mm: 16_000, y_mm: 0 });
        }
        plant.edges.push(edge("W1", "E1", 6000, false));
        plant.edges.push(edge("W2", "E2", 6000, false));
        let stops = vec![stop("F1", "E1", "W1"), stop("F2", "E2", "W2")];
        plant.lifts.insert(lift("L2"), fixture::lift_of(stops));
        plant
    }

    fn pace() -> Pace {
        Pace::of(&fixture::plant().vehicles[&fixture::vehicle("V1")])
    }

    /// The way as text, such as `H1-S1, L1 F1-F2`.
    fn found(plant: &Plant, from: &str, to: &str, pace: Pace, line: &Line) -> Option<String> {
        let way = way(plant, &point(from), &point(to), pace, line)?;
        let text = way.iter().map(|stretch| match stretch {
            Stretch::Drive(path) => path.iter().map(PointId::as_str).collect::<Vec<_>>().join("-"),
            Stretch::Ride { lift, from, to } => format!("{lift} {from}-{to}"),
        });
        Some(text.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn ways_of_the_small_site() {
        let rows = [
            ("H1", "H1", Some("")),
            ("H1", "S1", Some("H1-S1")),
            ("H1", "H2", Some("H1-H2")),
            ("H2", "H1", Some("H2-S1-H1")),
            ("S1", "S2", Some("S1-W1-D1, L1 F1-F2, D2-W2-S2")),
            ("S2", "H1", Some("S2-W2-D2, L1 F2-F1, D1-W1-S1-H1")),
            ("D1", "D2", Some("L1 F1-F2")),
            ("H1", "nowhere", None),
        ];
        for (from, to, expected) in rows {
            let way = found(&fixture::plant(), from, to, pace(), &Line::new());
            assert_eq!(way.as_deref(), expected, "{from} to {to}");
        }
    }

    #[test]
    fn without_a_lift_no_way_leads_to_another_floor() {
        let mut plant = fixture::plant();
        plant.lifts.clear();
        assert_eq!(found(&plant, "S1", "S2", pace(), &Line::new()), None);
        assert_eq!(cost(&plant, &point("S1"), &point("S2"), pace(), &Line::new()), None);
    }

    #[test]
    fn a_way_costs_its_time_at_the_pace_of_its_stretches() {
        let plant = fixture::plant();
        // Creep speed is 0.3 m/s from W1 on; a ride costs one way with both doors, and once more to come.
        let rows = [("H1", "H1", 0), ("H1", "S1", 6000), ("S1", "W1", 13_333), ("D1", "D2", 9000 + 5000)];
        for (from, to, expected) in rows {
            let cost = cost(&plant, &point(from), &point(to), pace(), &Line::new());
            assert_eq!(cost, Some(Millis(expected)), "{from} to {to}");
        }
    }

    #[test]
    fn a_lift_is_passed_by_when_it_is_too_weak_or_its_line_too_long() {
        let by = |lift: &str, landings: (&str, &str)| {
            Some(format!("S1-W1-{}, {lift} F1-F2, {}-W2-S2", landings.0, landings.1))
        };
        let (near, far) = (by("L1", ("D1", "D2")), by("L2", ("E1", "E2")));
        let heavy = Pace { mass_kg: 2001, ..pace() };
        let line = |ms| Line::from([(lift("L1"), Millis(ms))]);
        let rows = [
            ("the nearer one", 2000, pace(), line(0), &near),
            ("just strong enough", 2000, Pace { mass_kg: 2000, ..pace() }, line(0), &near),
            ("too weak", 700, pace(), line(0), &far),
            ("a short line", 2000, pace(), line(19_000), &near),
            ("a long line", 2000, pace(), line(21_000), &far),
            ("a long line before the only one that is strong enough", 2500, heavy, line(60_000), &near),
        ];
        for (name, payload_kg, pace, line, expected) in rows {
            let mut plant = two_lifts();
            if let Some(near) = plant.lifts.get_mut(&lift("L1")) {
                near.payload_kg = payload_kg;
            }
            assert_eq!(&found(&plant, "S1", "S2", pace, &line), expected, "{name}");
        }
    }
}
