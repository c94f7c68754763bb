//! The keys of a site file, section by section.

use std::collections::BTreeMap;

use kernel::ids::{FloorId, GatewayId, LiftId, PointId, SiteId, StationId, VehicleId};
use kernel::plant::{Floor, Lift, Plant, Point, Station, Vehicle, Zone, ZoneKind};
use kernel::time::Millis;
use kernel::timing::LinkBudget;
use toml::de::{DeTable, DeValue};

use super::limits::{self as limit, Count};
use super::problem::Problems;
use super::reader::{Names, Table, text_of};
use super::{SiteFile, installation, profiles, ways};
use crate::fieldbus::profile;
use crate::spelling::nearest;

/// The register profile that is built in.
pub(super) use profile::BUILT_IN as BUILT_IN_PROFILE;

/// Every name that the file declares.
pub(super) struct Declared {
    pub(super) floors: Names<FloorId>,
    pub(super) gateways: Names<GatewayId>,
    pub(super) points: Names<PointId>,
    pub(super) stations: Names<StationId>,
    pub(super) lifts: Names<LiftId>,
    pub(super) vehicles: Names<VehicleId>,
}

type Entries<'t> = Vec<(&'t str, String, &'t DeValue<'t>)>;

/// The whole file; none when any part is wrong.
pub(super) fn site_file<'t>(problems: &mut Problems, document: &'t DeTable<'t>) -> Option<SiteFile> {
    let mut root = Table::new("", document);
    let mut declared = Declared {
        floors: Names::new("floor"),
        gateways: Names::new("gateway"),
        points: Names::new("point"),
        stations: Names::new("station"),
        lifts: Names::new("lift"),
        vehicles: Names::new("vehicle"),
    };
    let header = header(problems, &mut root);
    let floors = floors(problems, &mut root, &mut declared.floors);
    let gateways = gateways(problems, &mut root, &mut declared.gateways);
    let points = named(problems, &mut root, "points", limit::POINTS, &mut declared.points);
    let stations = named(problems, &mut root, "stations", limit::STATIONS, &mut declared.stations);
    let lifts = named(problems, &mut root, "lifts", limit::LIFTS, &mut declared.lifts);
    let vehicles = named(problems, &mut root, "vehicles", limit::VEHICLES, &mut declared.vehicles);
    let profiles = profiles::tables(problems, &mut root);

    let points = each(problems, points, &declared.points, |p, table| point(p, table, &declared));
    let edges = ways::edges(problems, &mut root, &declared.points, &points);
    let stations = each(problems, stations, &declared.stations, |p, table| station(p, table, &declared));
    let lifts =
        each(problems, lifts, &declared.lifts, |p, table| installation::lift(p, table, &declared, &profiles));
    let zones = zones(problems, &mut root, &declared);
    let vehicles = each(problems, vehicles, &declared.vehicles, |p, table| vehicle(p, table, &declared));
    let link_budget = link_budget(problems, &mut root);
    root.finish(problems);

    let (site, name, time_zone, shift_starts_min) = header?;
    let plcs = lifts.iter().map(|(id, (_, plc))| (id.clone(), plc.clone())).collect();
    let (floors, gateways, link_budget) = (floors?, gateways?, link_budget?);
    let level = |floor: &FloorId| floors.iter().position(|it| it.id == *floor);
    let rising = |(id, (mut lift, _)): (LiftId, (Lift, _))| {
        lift.stops.sort_by_key(|stop| level(&stop.floor));
        (id, lift)
    };
    let lifts = lifts.into_iter().map(rising).collect();
    #[rustfmt::skip]
    let plant = Plant {
        site, name, time_zone, shift_starts_min, floors, points, edges, stations, lifts, zones, vehicles, gateways,
        link_budget,
    };
    Some(SiteFile { plant, plcs, profiles })
}

/// Declares the names of a section of named tables.
fn named<'t, T: TryFrom<String, Error = kernel::ids::InvalidName> + Clone>(
    problems: &mut Problems,
    root: &mut Table<'t>,
    key: &'static str,
    count: Count,
    names: &mut Names<T>,
) -> Entries<'t> {
    let entries = root.entries(problems, key, count).unwrap_or_default();
    for (name, path, _) in &entries {
        names.declare(problems, path, name);
    }
    entries
}

/// Reads each table of a section of named tables.
fn each<'t, T, V>(
    problems: &mut Problems,
    entries: Entries<'t>,
    names: &Names<T>,
    read: impl Fn(&mut Problems, Table<'t>) -> Option<V>,
) -> BTreeMap<T, V>
where
    T: TryFrom<String, Error = kernel::ids::InvalidName> + Clone + Ord,
{
    let mut found = BTreeMap::new();
    for (name, path, value) in entries {
        let value = Table::of(problems, &path, value).and_then(|table| read(problems, table));
        if let (Some(name), Some(value)) = (names.get(name), value) {
            found.insert(name, value);
        }
    }
    found
}

/// A section that is one table.
fn section<'t>(problems: &mut Problems, root: &mut Table<'t>, key: &'static str) -> Option<Table<'t>> {
    let Some(value) = root.optional(key) else {
        problems.report(key, format!("the section `[{key}]` is missing; add it"));
        return None;
    };
    Table::of(problems, key, value)
}

type Header = (SiteId, String, String, Vec<u16>);

fn header(problems: &mut Problems, root: &mut Table<'_>) -> Option<Header> {
    let mut table = section(problems, root, "site")?;
    let id = table.text(problems, "id").and_then(|text| {
        let named = SiteId::try_new(text);
        named
            .map_err(|reason| problems.report("site.id", format!("\"{text}\" cannot name a site: {reason}")))
            .ok()
    });
    let name = table.title(problems, "name");
    let zone = table.text(problems, "time_zone").and_then(|text| time_zone(problems, text));
    let shifts = shifts(problems, &mut table);
    table.finish(problems);
    Some((id?, name?, zone?, shifts?))
}

fn time_zone(problems: &mut Problems, text: &str) -> Option<String> {
    if text.parse::<chrono_tz::Tz>().is_ok() {
        return Some(text.to_owned());
    }
    let hint = match nearest(text, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "use an IANA name such as \"Asia/Shanghai\" or \"Europe/Berlin\"".to_owned(),
    };
    problems.report("site.time_zone", format!("there is no time zone \"{text}\"; {hint}"));
    None
}

fn shifts(problems: &mut Problems, table: &mut Table<'_>) -> Option<Vec<u16>> {
    let items = table.array(problems, "shifts", limit::SHIFTS)?;
    let mut starts: Vec<u16> = Vec::new();
    let n_items = items.len();
    for (path, value) in items {
        let Some(text) = text_of(problems, &path, value) else { continue };
        match minutes(text) {
            None => problems.report(&path, format!("\"{text}\" is not a time of day such as \"06:00\"")),
            Some(start) if starts.last().is_some_and(|last| start <= *last) => {
                problems.report(
                    &path,
                    format!(
                        "shift starts must rise within the day; \"{text}\" does not come after the one before"
                    ),
                );
            }
            Some(start) => starts.push(start),
        }
    }
    (starts.len() == n_items).then_some(starts)
}

/// `HH:MM` as minutes after midnight.
fn minutes(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|it| it.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes) = (hours.parse::<u16>().ok()?, minutes.parse::<u16>().ok()?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

fn floors(problems: &mut Problems, root: &mut Table<'_>, names: &mut Names<FloorId>) -> Option<Vec<Floor>> {
    let items = root.array(problems, "floors", limit::FLOORS)?;
    let mut found = Vec::new();
    for (path, value) in items {
        let Some(mut table) = Table::of(problems, &path, value) else { continue };
        let id = table.text(problems, "id");
        if let Some(id) = id {
            names.declare(problems, &table.key("id"), id);
        }
        let name = table.title(problems, "name");
        table.finish(problems);
        if let (Some(id), Some(name)) = (id.and_then(|id| names.get(id)), name) {
            found.push(Floor { id, name });
        }
    }
    Some(found)
}

fn gateways(
    problems: &mut Problems,
    root: &mut Table<'_>,
    names: &mut Names<GatewayId>,
) -> Option<Vec<GatewayId>> {
    let items = root.array(problems, "gateways", limit::GATEWAYS)?;
    let mut found = Vec::new();
    for (path, value) in items {
        let Some(mut table) = Table::of(problems, &path, value) else { continue };
        if let Some(id) = table.text(problems, "id") {
            names.declare(problems, &table.key("id"), id);
            found.extend(names.get(id));
        }
        table.finish(problems);
    }
    Some(found)
}

fn point(problems: &mut Problems, mut table: Table<'_>, declared: &Declared) -> Option<Point> {
    let floor = table.reference(problems, "floor", &declared.floors);
    let x = table.number(problems, "x", limit::POSITION);
    let y = table.number(problems, "y", limit::POSITION);
    table.finish(problems);
    Some(Point { floor: floor?, x_mm: thousandths(x?) as i64, y_mm: thousandths(y?) as i64 })
}

/// Metres as millimetres, seconds as milliseconds.
pub(super) fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round()
}

pub(super) fn millis(seconds: f64) -> Millis {
    Millis(thousandths(seconds) as u64)
}

fn station(problems: &mut Problems, mut table: Table<'_>, declared: &Declared) -> Option<Station> {
    let point = table.reference(problems, "point", &declared.points);
    table.finish(problems);
    Some(Station { point: point? })
}

fn zones(problems: &mut Problems, root: &mut Table<'_>, declared: &Declared) -> Vec<Zone> {
    let mut found = Vec::new();
    for (path, value) in root.array(problems, "zones", limit::ZONES).unwrap_or_default() {
        let Some(mut table) = Table::of(problems, &path, value) else { continue };
        let name = table.title(problems, "name");
        let kind = table.text(problems, "kind").and_then(|text| match text {
            "transition" => Some(ZoneKind::Transition),
            "blind" => Some(ZoneKind::Blind),
            other => {
                let hint = "\"transition\" (before lift doors) or \"blind\" (no radio)";
                problems.report(&table.key("kind"), format!("\"{other}\" is no kind of zone; use {hint}"));
                None
            }
        });
        let points = table.references(problems, "points", &declared.points, limit::ZONE_POINTS);
        table.finish(problems);
        if let (Some(name), Some(kind), Some(points)) = (name, kind, points) {
            found.push(Zone { name, kind, points });
        }
    }
    found
}

fn vehicle(problems: &mut Problems, mut table: Table<'_>, declared: &Declared) -> Option<Vehicle> {
    let gateway = table.reference(problems, "gateway", &declared.gateways);
    let home = table.reference(problems, "home", &declared.points);
    let speed = table.number(problems, "speed_m_s", limit::SPEED);
    let creep = table.number(problems, "creep_m_s", limit::CREEP);
    let weight = table.whole(problems, "weight_kg", limit::WEIGHT);
    let payload = table.whole(problems, "payload_kg", limit::PAYLOAD);
    if let (Some(speed), Some(creep)) = (speed, creep)
        && creep > speed
    {
        problems.report(
            &table.key("creep_m_s"),
            format!("creeping at {creep} m/s is faster than driving at {speed} m/s"),
        );
    }
    table.finish(problems);
    Some(Vehicle {
        gateway: gateway?,
        home: home?,
        speed_mm_s: thousandths(speed?) as u32,
        creep_mm_s: thousandths(creep?) as u32,
        weight_kg: weight?,
        payload_kg: payload?,
    })
}

fn link_budget(problems: &mut Problems, root: &mut Table<'_>) -> Option<LinkBudget> {
    let Some(value) = root.optional("link_budget") else { return Some(LinkBudget::REPORTED) };
    let mut table = Table::of(problems, "link_budget", value)?;
    let mut part = |key, default: Millis| {
        table.number_or(problems, key, limit::BUDGET_PART, default.0 as f64 / 1000.0).map(millis)
    };
    let transport = part("transport_s", LinkBudget::REPORTED.transport_ms);
    let execution = part("execution_s", LinkBudget::REPORTED.execution_ms);
    let lift = part("lift_s", LinkBudget::REPORTED.lift_ms);
    let roaming = part("roaming_s", LinkBudget::REPORTED.roaming_ms);
    table.finish(problems);
    Some(LinkBudget {
        transport_ms: transport?,
        execution_ms: execution?,
        lift_ms: lift?,
        roaming_ms: roaming?,
    })
}
