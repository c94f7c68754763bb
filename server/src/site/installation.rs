//! The lifts: `[lifts.NAME]`, with their stops and PLCs.

use std::collections::BTreeMap;

use kernel::plant::{Lift, LiftStop};
use toml::de::DeValue;

use super::limits as limit;
use super::problem::Problems;
use super::reader::Table;
use super::sections::{Declared, millis};
use super::{Plc, plcs};
use crate::fieldbus::Profile;

/// One lift and how its PLC is reached.
pub(super) fn lift(
    problems: &mut Problems,
    mut table: Table<'_>,
    declared: &Declared,
    profiles: &BTreeMap<String, toml::Table>,
) -> Option<(Lift, Plc)> {
    let gateway = table.reference(problems, "gateway", &declared.gateways);
    let travel = table.number(problems, "travel_per_floor_s", limit::TRAVEL_PER_FLOOR);
    let door = table.number(problems, "door_s", limit::DOOR);
    let capacity = table.whole(problems, "capacity_vehicles", limit::CAPACITY);
    let payload = table.whole(problems, "payload_kg", limit::LIFT_PAYLOAD);
    let stops = stops(problems, &mut table, declared);
    let path = table.key("plc");
    let plc = match table.optional("plc") {
        Some(value) => {
            Table::of(problems, &path, value).and_then(|table| plcs::plc(problems, table, profiles))
        }
        None => {
            problems.report(&path, "`plc` is missing; add `plc = { address = \"HOST:PORT\", unit = 1 }`");
            None
        }
    };
    table.finish(problems);
    let (plc, profile) = plc?;
    let stops = stops?;
    if let Some(n_mapped) = profile.as_ref().and_then(Profile::n_stops).filter(|it| *it != stops.len()) {
        let (name, n_stops) = (&plc.profile, stops.len());
        let text = format!("\"{name}\" has contacts for {n_mapped} stops, the lift has {n_stops}");
        problems.report(&format!("{path}.profile"), text);
    }
    let lift = Lift {
        gateway: gateway?,
        stops,
        travel_per_floor_ms: millis(travel?),
        door_ms: millis(door?),
        capacity_vehicles: u8::try_from(capacity?).ok()?,
        payload_kg: payload?,
        capabilities: profile.map(|it| it.capabilities()).unwrap_or_default(),
    };
    Some((lift, plc))
}

fn stops(problems: &mut Problems, table: &mut Table<'_>, declared: &Declared) -> Option<Vec<LiftStop>> {
    let path = table.key("stops");
    if let Some(1) = table.optional("stops").and_then(DeValue::as_array).map(|stops| stops.len()) {
        problems.report(&path, "the lift serves one floor only; a lift has at least two stops");
        return None;
    }
    let items = table.array(problems, "stops", limit::STOPS)?;
    let n_items = items.len();
    let mut found = Vec::new();
    for (path, value) in items {
        let Some(mut table) = Table::of(problems, &path, value) else { continue };
        let floor = table.reference(problems, "floor", &declared.floors);
        let landing = table.reference(problems, "landing", &declared.points);
        let waiting = table.references(problems, "waiting", &declared.points, limit::WAITING);
        table.finish(problems);
        if let (Some(floor), Some(landing), Some(waiting)) = (floor, landing, waiting) {
            found.push(LiftStop { floor, landing, waiting });
        }
    }
    (found.len() == n_items).then_some(found)
}
