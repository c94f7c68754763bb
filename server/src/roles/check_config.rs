//! `hoistway check-config FILE`: is the site file sound, and what follows from it?
//!
//! Prints every duration that a decision will rest on, with the parts that it is made of, so that a commissioning
//! engineer can hold it against what was measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use kernel::plant::{Capabilities, Lift, Plant, ZoneKind};
use kernel::time::Millis;
use kernel::timing::{self, LinkBudget};

use crate::site::{self, Crossing, SiteErrors, SiteFile};

/// Reads the file and says what follows from it, as text for people.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn run(file: &Path) -> Result<String, SiteErrors> {
    site::read(file).map(|site| describe(&site, &file.display().to_string()))
}

/// What follows from a sound site file.
pub fn describe(site: &SiteFile, name: &str) -> String {
    let mut text = String::new();
    for part in [
        counts(&site.plant, name),
        ack_deadline(&site.plant.link_budget),
        redelivery(),
        silence(),
        hold_limits(&site.plant),
        crossings(&site.plant),
        lift_road(site),
    ] {
        text.push_str(&part);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn counts(plant: &Plant, name: &str) -> String {
    let zones = |kind| plant.zones.iter().filter(|zone| zone.kind == kind).count();
    let shifts: Vec<String> =
        plant.shift_starts_min.iter().map(|start| format!("{:02}:{:02}", start / 60, start % 60)).collect();
    let mut text = format!("{name} is sound.\n\n");
    row(
        &mut text,
        "site",
        &format!("{} \"{}\", {}, shifts {}", plant.site, plant.name, plant.time_zone, shifts.join(" ")),
    );
    row(&mut text, "floors", &plant.floors.len().to_string());
    row(
        &mut text,
        "points",
        &format!("{}, with {} ways between them", plant.points.len(), plant.edges.len()),
    );
    row(&mut text, "stations", &plant.stations.len().to_string());
    row(&mut text, "lifts", &plant.lifts.len().to_string());
    row(&mut text, "vehicles", &plant.vehicles.len().to_string());
    row(&mut text, "gateways", &plant.gateways.len().to_string());
    let (transition, blind) = (zones(ZoneKind::Transition), zones(ZoneKind::Blind));
    row(&mut text, "zones", &format!("{transition} transition, {blind} blind"));
    text
}

fn ack_deadline(budget: &LinkBudget) -> String {
    let mut text =
        "Acknowledgement deadline: after it the task is suspended and the command redelivered\n".to_owned();
    let twice = format!("command and acknowledgement, {} each", budget.transport_ms);
    span(&mut text, "2 × transport", budget.transport_ms.times(2), &twice);
    span(&mut text, "execution", budget.execution_ms, "until wheels turn, a fork movement before");
    span(&mut text, "lift", budget.lift_ms, "two floors of travel and the doors");
    span(&mut text, "roaming", budget.roaming_ms, "change of access point and what the car hides");
    span(&mut text, "deadline", budget.ack_deadline(), "their sum");
    text
}

fn redelivery() -> String {
    let waits: Vec<String> =
        (1..=timing::DELIVERIES_MAX).map(|n| (timing::redelivery_wait(n).0 / 1000).to_string()).collect();
    let mut text = "Redelivery: waits after each delivery without an acknowledgement\n".to_owned();
    row(&mut text, "waits", &format!("{} s", waits.join(", ")));
    row(&mut text, "then", &format!("after {} deliveries a person decides", timing::DELIVERIES_MAX));
    text
}

fn silence() -> String {
    let (period, missed) = (timing::HEARTBEAT_PERIOD, timing::HEARTBEATS_MISSED_MAX);
    let mut text = "Silence\n".to_owned();
    span(
        &mut text,
        "vehicle silent",
        period.times(missed),
        &format!("{missed} heartbeats of {period} missing"),
    );
    let steady = timing::HEARTBEATS_STEADY;
    span(
        &mut text,
        "heard again",
        period.times(steady.into()),
        &format!("{steady} steady heartbeats, then reconciliation"),
    );
    span(&mut text, "frozen at most", timing::SILENCE_LIMIT, "then a person is asked");
    let (period, missed) = (timing::CONTROL_BEAT_PERIOD, timing::CONTROL_BEATS_MISSED_MAX);
    span(
        &mut text,
        "control silent",
        period.times(missed),
        &format!("{missed} control beats of {period} missing: vehicles take nothing new"),
    );
    text
}

fn hold_limits(plant: &Plant) -> String {
    let mut text = "Hold limit: how long one ride may hold a lift before a person is asked\n".to_owned();
    for (id, lift) in &plant.lifts {
        span(&mut text, id.as_str(), timing::hold_limit(lift), &hold_parts(lift));
    }
    text
}

fn hold_parts(lift: &Lift) -> String {
    let n_spans = lift.stops.len().saturating_sub(1);
    let (one_way, travel, door) = (lift.one_way(), lift.travel_per_floor_ms, lift.door_ms);
    format!(
        "2 × {one_way} one way ({n_spans} × {travel} + 2 × {door} door) + 2 × {} handover",
        timing::HANDOVER_MARGIN
    )
}

/// For each landing the shortest crossing, against the time that the radio needs.
fn crossings(plant: &Plant) -> String {
    let needed = plant.link_budget.roaming_ms;
    let mut shortest: BTreeMap<_, Crossing> = BTreeMap::new();
    for crossing in site::crossings(plant) {
        let key = (crossing.lift.clone(), plant.level(&crossing.floor));
        let known = shortest.entry(key).or_insert_with(|| crossing.clone());
        if crossing.time_ms < known.time_ms {
            *known = crossing;
        }
    }
    let mut text =
        format!("Transition zones: creeping through takes longer than the {needed} of a reconnect\n");
    for crossing in shortest.values() {
        let Crossing { lift, floor, waiting, zone_mm, time_ms } = crossing;
        let times = time_ms.0 as f64 / needed.0.max(1) as f64;
        let metres = *zone_mm as f64 / 1000.0;
        span(
            &mut text,
            &format!("{lift}, floor {floor}"),
            *time_ms,
            &format!("{metres:.1} m from {waiting}, {times:.1} × the reconnect"),
        );
    }
    text
}

fn lift_road(site: &SiteFile) -> String {
    let mut text = "Lift road\n".to_owned();
    span(&mut text, "gateway waits", timing::PLC_ACK_DEADLINE, "for the PLC's echo");
    span(&mut text, "control waits", timing::LIFT_ACK_DEADLINE, "for the gateway's answer");
    span(&mut text, "oldest read", timing::LIFT_READ_AGE_MAX, "on which a command may rest");
    span(
        &mut text,
        "lease held",
        timing::LEASE_HOLD_MAX,
        &format!("at most, of {} without renewal", timing::LEASE_TTL),
    );
    for (id, plc) in &site.plcs {
        row(&mut text, id.as_str(), &format!("{}, unit {}, profile {}", plc.wire, plc.unit, plc.profile));
        for lost in site.plant.lifts.get(id).into_iter().flat_map(|it| what_is_lost(&it.capabilities)) {
            row(&mut text, "", &lost);
        }
    }
    text
}

/// What a PLC does not tell, and what that costs: a line for each.
fn what_is_lost(can: &Capabilities) -> Vec<String> {
    let echo = format!(
        "warning: no echo: a command counts as accepted when the lift is seen to do it, and may take {} to show",
        can.reaction_ms
    );
    let boot =
        "warning: no boot counter: each loss of the connection counts as a restart of the PLC".to_owned();
    let heartbeat = "warning: no heartbeat: a PLC that hangs is not noticed".to_owned();
    let lines = [(can.echo, echo), (can.boot, boot), (can.heartbeat, heartbeat)];
    lines.into_iter().filter(|(told, _)| !told).map(|(_, line)| line).collect()
}

fn row(text: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {label:<18} {value}");
}

fn span(text: &mut String, label: &str, value: Millis, remark: &str) {
    let _ = writeln!(text, "  {label:<18} {:>7}   {remark}", value.to_string());
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn what_a_plc_does_not_tell_is_warned_of() {
        let lines = |echo, boot, heartbeat| {
            what_is_lost(&Capabilities { echo, boot, heartbeat, ..Capabilities::default() })
        };
        assert_eq!(lines(true, true, true), Vec::<String>::new());
        let starts = ["warning: no echo", "warning: no boot counter", "warning: no heartbeat"];
        let found = lines(false, false, false);
        assert!(found.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{found:?}");
        for (found, start) in
            [lines(false, true, true), lines(true, false, true), lines(true, true, false)].iter().zip(starts)
        {
            assert!(matches!(found.as_slice(), [line] if line.starts_with(start)), "{found:?}");
        }
    }

    #[test]
    fn both_sites_say_what_follows() {
        let rows = [
            (site::SMALL, "small.toml", expect_file!["../../tests/it/expect/check-config-small.txt"]),
            (site::DEMO, "demo.toml", expect_file!["../../tests/it/expect/check-config-demo.txt"]),
        ];
        for (text, name, expected) in rows {
            let site = site::parse(text, name).unwrap_or_else(|errors| panic!("{errors}"));
            expected.assert_eq(&describe(&site, name));
        }
    }
}
