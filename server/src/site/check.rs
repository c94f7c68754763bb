//! Looks at the plant as a whole: whether every place can be reached, whether two things want one place, and
//! whether the stretch before each lift door is long enough for the radio to come back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use kernel::ids::{FloorId, LiftId, PointId};
use kernel::plant::{Lift, LiftStop, Plant, ZoneKind};
use kernel::time::Millis;

use super::SiteFile;
use super::problem::Problems;
use crate::fieldbus::wire::Wire;

/// One way from a waiting point through the transition zone to a lift door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Which lift.
    pub lift: LiftId,
    /// On which floor.
    pub floor: FloorId,
    /// Where the vehicle waits.
    pub waiting: PointId,
    /// How much of its way to the landing lies in a transition zone.
    pub zone_mm: u64,
    /// How long the fastest creeping vehicle of the site spends there.
    pub time_ms: Millis,
}

/// Every way from a waiting point to its lift door. A waiting point without a way is left out.
pub fn crossings(plant: &Plant) -> Vec<Crossing> {
    let ways = Ways::on_floors(plant);
    let creep_mm_s = u64::from(plant.vehicles.values().map(|it| it.creep_mm_s).max().unwrap_or(1).max(1));
    let mut found = Vec::new();
    for (id, lift) in &plant.lifts {
        for stop in &lift.stops {
            let next = ways.next_towards(&stop.landing);
            for waiting in &stop.waiting {
                let Some(zone_mm) = zone_length(plant, &next, waiting, &stop.landing) else { continue };
                let time_ms = Millis(zone_mm.saturating_mul(1000) / creep_mm_s);
                let (lift, floor, waiting) = (id.clone(), stop.floor.clone(), waiting.clone());
                found.push(Crossing { lift, floor, waiting, zone_mm, time_ms });
            }
        }
    }
    found
}

/// Reports everything that does not fit together.
pub(super) fn check(problems: &mut Problems, site: &SiteFile) {
    let plant = &site.plant;
    for (id, lift) in &plant.lifts {
        stops(problems, plant, id, lift);
    }
    places(problems, plant);
    doubled_edges(problems, plant);
    plc_addresses(problems, site);
    weights(problems, plant);
    waiting_points(problems, plant);
    reachable(problems, plant);
    // Lengths of zones mean nothing while ways are missing.
    if problems.is_empty() {
        zones(problems, plant);
    }
}

fn stops(problems: &mut Problems, plant: &Plant, id: &LiftId, lift: &Lift) {
    let path = format!("lifts.{id}.stops");
    let floors: BTreeSet<&FloorId> = lift.stops.iter().map(|stop| &stop.floor).collect();
    if floors.len() < lift.stops.len() {
        problems.report(&path, "two stops lie on one floor; a lift stops once on each of its floors");
    }
    for (idx, stop) in lift.stops.iter().enumerate() {
        let on_floor = |point: &PointId| plant.floor_of(point) == Some(&stop.floor);
        let place = format!("{path}[{idx}]");
        if !on_floor(&stop.landing) {
            wrong_floor(problems, plant, &format!("{place}.landing"), &stop.landing, &stop.floor);
        }
        for (nth, waiting) in stop.waiting.iter().enumerate() {
            let path = format!("{place}.waiting[{nth}]");
            if *waiting == stop.landing {
                problems.report(
                    &path,
                    format!("\"{waiting}\" is the landing; a vehicle that waits there blocks the door"),
                );
            } else if !on_floor(waiting) {
                wrong_floor(problems, plant, &path, waiting, &stop.floor);
            }
        }
    }
}

fn wrong_floor(problems: &mut Problems, plant: &Plant, path: &str, point: &PointId, wanted: &FloorId) {
    let found = plant.floor_of(point).map(ToString::to_string).unwrap_or_default();
    problems.report(
        path,
        format!(
            "\"{point}\" lies on floor {found}, this stop on floor {wanted}; name a point of floor {wanted}"
        ),
    );
}

/// Landings belong to one lift each and must stay free; a home belongs to one vehicle.
fn places(problems: &mut Problems, plant: &Plant) {
    let mut owners: BTreeMap<&PointId, String> = BTreeMap::new();
    for (id, lift) in &plant.lifts {
        for (idx, stop) in lift.stops.iter().enumerate() {
            claim(problems, &mut owners, &stop.landing, &format!("lifts.{id}.stops[{idx}].landing"));
        }
    }
    let landings = owners.clone();
    for (id, station) in &plant.stations {
        if let Some(owner) = landings.get(&station.point) {
            let text = format!("\"{}\" is {owner}; a load handled there blocks the door", station.point);
            problems.report(&format!("stations.{id}.point"), text);
        }
    }
    for (id, vehicle) in &plant.vehicles {
        claim(problems, &mut owners, &vehicle.home, &format!("vehicles.{id}.home"));
    }
}

fn claim<'p>(
    problems: &mut Problems,
    owners: &mut BTreeMap<&'p PointId, String>,
    point: &'p PointId,
    path: &str,
) {
    match owners.get(point) {
        Some(owner) => problems.report(path, format!("\"{point}\" is already {owner}; name another point")),
        None => drop(owners.insert(point, path.to_owned())),
    }
}

fn doubled_edges(problems: &mut Problems, plant: &Plant) {
    let mut seen = BTreeSet::new();
    for edge in &plant.edges {
        let forward = seen.insert((&edge.from, &edge.to));
        let backward = edge.one_way || seen.insert((&edge.to, &edge.from));
        if !(forward && backward) {
            problems.report(
                "edges",
                format!("the way from \"{}\" to \"{}\" stands here twice; remove one", edge.from, edge.to),
            );
        }
    }
}

fn plc_addresses(problems: &mut Problems, site: &SiteFile) {
    let (mut seen, mut wires) = (BTreeMap::new(), BTreeMap::new());
    for (id, plc) in &site.plcs {
        let place = plc.wire.place();
        let path = format!("lifts.{id}.plc");
        if let Some(other) = seen.insert((place.clone(), plc.unit), id) {
            let text = format!(
                "unit {} at {place} is also the PLC of lift {other}; each lift has its own",
                plc.unit
            );
            problems.report(&path, text);
        }
        let gateway = site.plant.lifts.get(id).map(|it| &it.gateway);
        let (first, wire, owner) = *wires.entry(place.clone()).or_insert((id, &plc.wire, gateway));
        if *wire != plc.wire {
            let text =
                format!("{place} is {wire} to lift {first} and {} here; one wire speaks one way", plc.wire);
            problems.report(&path, text);
        } else if owner != gateway && !matches!(wire, Wire::Tcp(_)) {
            let text = format!("{place} also serves lift {first} of another gateway; RTU has one master");
            problems.report(&path, text);
        }
    }
}

fn weights(problems: &mut Problems, plant: &Plant) {
    let Some(strongest) = plant.lifts.values().map(|lift| lift.payload_kg).max() else { return };
    for (id, vehicle) in &plant.vehicles {
        let loaded_kg = vehicle.weight_kg.saturating_add(vehicle.payload_kg);
        if loaded_kg > strongest {
            let text = format!(
                "weighs {loaded_kg} kg with its load, and no lift carries more than {strongest} kg; check both"
            );
            problems.report(&format!("vehicles.{id}"), text);
        }
    }
}

fn waiting_points(problems: &mut Problems, plant: &Plant) {
    let ways = Ways::on_floors(plant);
    for (id, lift) in &plant.lifts {
        for (idx, stop) in lift.stops.iter().enumerate() {
            let next = ways.next_towards(&stop.landing);
            for (nth, waiting) in stop.waiting.iter().enumerate() {
                let on_floor = plant.floor_of(waiting) == Some(&stop.floor);
                if on_floor && *waiting != stop.landing && !next.contains_key(waiting) {
                    let text = format!(
                        "no way leads from \"{waiting}\" to the landing \"{}\"; add an edge",
                        stop.landing
                    );
                    problems.report(&format!("lifts.{id}.stops[{idx}].waiting[{nth}]"), text);
                }
            }
        }
    }
}

/// Every place that an order, a ride or a parked vehicle needs can be reached from the first station and back.
fn reachable(problems: &mut Problems, plant: &Plant) {
    let Some((first, start)) = plant.stations.iter().next().map(|(id, station)| (id, &station.point)) else {
        return;
    };
    let ways = Ways::with_lifts(plant);
    let (there, back) = (ways.reached_from(start), ways.reaching(start));
    for (path, point) in needed(plant) {
        let missing = match (there.contains(point), back.contains(point)) {
            (true, true) => continue,
            (false, _) => format!("no way leads from station \"{first}\" to \"{point}\""),
            (true, false) => format!("no way leads from \"{point}\" back to station \"{first}\""),
        };
        problems.report(&path, format!("{missing}; add an edge or a lift"));
    }
}

fn needed(plant: &Plant) -> Vec<(String, &PointId)> {
    let mut needed: Vec<(String, &PointId)> = Vec::new();
    needed.extend(plant.stations.iter().map(|(id, it)| (format!("stations.{id}.point"), &it.point)));
    needed.extend(plant.vehicles.iter().map(|(id, it)| (format!("vehicles.{id}.home"), &it.home)));
    for (id, lift) in &plant.lifts {
        for (idx, LiftStop { landing, waiting, .. }) in lift.stops.iter().enumerate() {
            let path = format!("lifts.{id}.stops[{idx}]");
            needed.push((format!("{path}.landing"), landing));
            needed.extend(waiting.iter().enumerate().map(|(nth, it)| (format!("{path}.waiting[{nth}]"), it)));
        }
    }
    needed
}

fn zones(problems: &mut Problems, plant: &Plant) {
    let needed = plant.link_budget.roaming_ms;
    for crossing in crossings(plant).iter().filter(|it| it.time_ms < needed) {
        let Crossing { lift, floor, waiting, zone_mm, time_ms } = crossing;
        let text = format!(
            "on floor {floor}, the way from \"{waiting}\" to the door runs {zone_mm} mm through a transition zone; \
             creeping takes {time_ms}, less than the {needed} that the radio may need to come back \
             (link_budget.roaming_s); lengthen the zone or lower creep_m_s"
        );
        problems.report(&format!("lifts.{lift}.stops"), text);
    }
}

/// How much of the shortest way from a waiting point to its landing lies in a transition zone.
fn zone_length(plant: &Plant, next: &Next, from: &PointId, landing: &PointId) -> Option<u64> {
    let mut zone_mm = 0;
    let mut here = from;
    while here != landing {
        let (ahead, length_mm) = next.get(here)?;
        let in_zone = |point| plant.in_zone(point, ZoneKind::Transition);
        if in_zone(here) && in_zone(ahead) {
            zone_mm += length_mm;
        }
        here = ahead;
    }
    Some(zone_mm)
}

/// From each point the next one on the shortest way to a goal, and how far it is.
type Next = BTreeMap<PointId, (PointId, u64)>;

/// What leads where.
struct Ways<'p> {
    ahead: BTreeMap<&'p PointId, Vec<(&'p PointId, u64)>>,
    behind: BTreeMap<&'p PointId, Vec<(&'p PointId, u64)>>,
}

impl<'p> Ways<'p> {
    /// By driving alone.
    fn on_floors(plant: &'p Plant) -> Self {
        let mut ways = Self { ahead: BTreeMap::new(), behind: BTreeMap::new() };
        for edge in &plant.edges {
            ways.add(&edge.from, &edge.to, edge.length_mm);
            if !edge.one_way {
                ways.add(&edge.to, &edge.from, edge.length_mm);
            }
        }
        ways
    }

    /// By driving and riding.
    fn with_lifts(plant: &'p Plant) -> Self {
        let mut ways = Self::on_floors(plant);
        for lift in plant.lifts.values() {
            for (low, high) in lift.stops.iter().zip(lift.stops.iter().skip(1)) {
                ways.add(&low.landing, &high.landing, 0);
                ways.add(&high.landing, &low.landing, 0);
            }
        }
        ways
    }

    fn add(&mut self, from: &'p PointId, to: &'p PointId, length_mm: u64) {
        self.ahead.entry(from).or_default().push((to, length_mm));
        self.behind.entry(to).or_default().push((from, length_mm));
    }

    fn reached_from(&self, start: &'p PointId) -> BTreeSet<&'p PointId> {
        flood(&self.ahead, start)
    }

    fn reaching(&self, goal: &'p PointId) -> BTreeSet<&'p PointId> {
        flood(&self.behind, goal)
    }

    /// Shortest ways from everywhere to `goal`, by Dijkstra's algorithm run backwards.
    fn next_towards(&self, goal: &PointId) -> Next {
        let mut next = Next::new();
        let mut settled: BTreeSet<&PointId> = BTreeSet::new();
        let mut frontier = BinaryHeap::from([(Reverse(0), goal, None)]);
        while let Some((Reverse(distance_mm), point, step)) = frontier.pop() {
            if !settled.insert(point) {
                continue;
            }
            if let Some((ahead, length_mm)) = step {
                next.insert(point.clone(), (PointId::clone(ahead), length_mm));
            }
            for (from, length_mm) in self.behind.get(point).into_iter().flatten() {
                frontier.push((Reverse(distance_mm + length_mm), *from, Some((point, *length_mm))));
            }
        }
        next
    }
}

fn flood<'p>(
    ways: &BTreeMap<&'p PointId, Vec<(&'p PointId, u64)>>,
    start: &'p PointId,
) -> BTreeSet<&'p PointId> {
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(point) = open.pop() {
        for (next, _) in ways.get(point).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(*next);
            }
        }
    }
    seen
}
