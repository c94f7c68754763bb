//! The lifts: `[lifts.NAME]`, with their stops and PLCs.

use std::collections::BTreeMap;

use kernel::plant::{Capabilities, Lift, LiftStop};
use toml::de::DeValue;

use super::limits as limit;
use super::problem::Problems;
use super::reader::{Table, text_of};
use super::sections::{BUILT_IN_PROFILE, Declared, millis};
use super::{HostPort, Plc};
use crate::fieldbus::profile_named;
use crate::spelling::nearest;

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
        Some(value) => Table::of(problems, &path, value).and_then(|table| plc(problems, table, profiles)),
        None => {
            problems.report(&path, "`plc` is missing; add `plc = { address = \"HOST:PORT\", unit = 1 }`");
            None
        }
    };
    table.finish(problems);
    let (plc, capabilities) = plc?;
    let lift = Lift {
        gateway: gateway?,
        stops: stops?,
        travel_per_floor_ms: millis(travel?),
        door_ms: millis(door?),
        capacity_vehicles: u8::try_from(capacity?).ok()?,
        payload_kg: payload?,
        capabilities,
    };
    Some((lift, plc))
}

fn plc(
    problems: &mut Problems,
    mut table: Table<'_>,
    profiles: &BTreeMap<String, toml::Table>,
) -> Option<(Plc, Capabilities)> {
    let address = table.text(problems, "address").and_then(|text| {
        text.parse::<HostPort>()
            .map_err(|reason| problems.report(&table.key("address"), reason.to_string()))
            .ok()
    });
    let unit =
        if table.optional("unit").is_some() { table.whole(problems, "unit", limit::UNIT) } else { Some(1) };
    let profile = match table.optional("profile") {
        None => Some(BUILT_IN_PROFILE),
        Some(value) => text_of(problems, &table.key("profile"), value),
    };
    let path = table.key("profile");
    table.finish(problems);
    let profile = profile.filter(|name| {
        let known = *name == BUILT_IN_PROFILE || profiles.contains_key(*name);
        if !known {
            let names = profiles.keys().map(String::as_str).chain([BUILT_IN_PROFILE]);
            let near = nearest(name, names).unwrap_or(BUILT_IN_PROFILE);
            problems.report(
                &path,
                format!(
                    "there is no profile \"{name}\"; did you mean \"{near}\"? Or add `[profiles.{name}]`"
                ),
            );
        }
        known
    });
    let profile = profile?.to_owned();
    // What is wrong with the profile was reported where it stands.
    let can = profile_named(&profile, profiles).map(|it| it.capabilities()).unwrap_or_default();
    Some((Plc { address: address?, unit: u8::try_from(unit?).ok()?, profile }, can))
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
