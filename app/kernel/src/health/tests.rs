//! Each figure by the smallest story that makes it, what belongs to which shift, and that a replay loses nothing.

mod heard;
mod recorded;

use chrono::FixedOffset;

use super::*;
use crate::alarm::{Alarm, AlarmKind, Subject};
use crate::control::{Effect, Event};
use crate::fixture::{self, at};
use crate::ids::{AlarmId, Generation, LedgerSequence};
use crate::lift::LiftAction;
use crate::wire::gateway::Arbitration;
use crate::wire::ledger::{Entry, Record, SessionPhase};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

/// Shifts at 00, 08 and 16 o'clock; the tests' clock begins at the first of them.
fn health() -> Health<FixedOffset> {
    let shifts = Shifts::new(FixedOffset::east_opt(0).unwrap(), &[0, 480, 960]);
    Health::new(fixture::node("A"), shifts, [fixture::lift("L1"), fixture::lift("L2")].into_iter())
}

fn entry(ms: u64, record: Record) -> Entry {
    let (sequence, at) = (LedgerSequence(ms + 1), at(ms).wall);
    Entry { sequence, at, node: fixture::node("A"), record, drill: false }
}

fn asks(name: &str) -> Record {
    Record::SessionRequested {
        session: fixture::session(name),
        lift: fixture::lift("L1"),
        task: fixture::task("T-1"),
        vehicle: fixture::vehicle("V1"),
        from: fixture::floor("F1"),
        to: fixture::floor("F2"),
    }
}

fn becomes(name: &str, phase: SessionPhase) -> Record {
    let (session, lift) = (fixture::session(name), fixture::lift("L1"));
    Record::SessionChanged { session, phase, generation: Generation(1), lift }
}

fn raised(kind: AlarmKind, lift: &str, detail: &str) -> Record {
    let (id, subject) = (alarm_id(kind, lift), Subject::Lift(fixture::lift(lift)));
    Record::AlarmRaised { alarm: Alarm { id, kind, subject, detail: detail.to_owned() } }
}

fn cleared(kind: AlarmKind, lift: &str) -> Record {
    Record::AlarmCleared { alarm: alarm_id(kind, lift) }
}

fn alarm_id(kind: AlarmKind, lift: &str) -> AlarmId {
    AlarmId::try_new(&format!("{kind:?}.{lift}")).unwrap()
}

fn edge(arbitration: Arbitration) -> Record {
    Record::ArbitrationChanged { lift: fixture::lift("L1"), arbitration, epoch: 2 }
}

/// Each shift of L1 as `show` tells it, the newest first.
fn shifts_of<V>(health: &Health<FixedOffset>, ms: u64, show: impl Fn(&ShiftHealth) -> V) -> Vec<V> {
    health.of(&fixture::lift("L1"), at(ms).wall).unwrap().shifts.iter().map(show).collect()
}

fn total(health: &Health<FixedOffset>, ms: u64) -> Totals {
    health.totals(at(ms).wall).into_iter().find(|it| it.lift == fixture::lift("L1")).unwrap()
}

#[test]
fn shifts_follow_the_clock_of_the_site() {
    // The zone's hours east; the moment, and what its shift reaches from and to, in hours of the tests' clock, which is UTC.
    type Row<'a> = (&'a str, i32, &'a [u16], u64, (u64, u64));
    let rows: &[Row<'_>] = &[
        ("within one", 0, &[360, 840, 1320], 50, (46, 54)),
        ("at its first moment", 0, &[360, 840, 1320], 54, (54, 62)),
        ("before the first of the day", 0, &[360, 840, 1320], 49, (46, 54)),
        ("after the last of the day", 0, &[360, 840, 1320], 47, (46, 54)),
        ("east of it", 8, &[360], 40, (22, 46)),
        ("west of it", -5, &[360], 40, (35, 59)),
        ("none given", 8, &[], 40, (40, 64)),
    ];
    for (name, zone, starts, hour, (from, to)) in rows {
        let shifts = Shifts::new(FixedOffset::east_opt(zone * 3600).unwrap(), starts);
        let shift = shifts.of(at(hour * HOUR).wall);
        assert_eq!(shift, Shift { starts_at: at(from * HOUR).wall, ends_at: at(to * HOUR).wall }, "{name}");
    }
}

#[test]
fn a_shift_begins_with_the_ledger_and_elapses_until_it_ends() {
    let mut health = health();
    let elapsed = |it: &ShiftHealth| it.elapsed_ms.0;
    assert_eq!(shifts_of(&health, HOUR, elapsed), [0], "nothing is known yet");
    health.take(&entry(2 * HOUR, asks("S-1")));
    assert_eq!(shifts_of(&health, 9 * HOUR, elapsed), [HOUR, 6 * HOUR]);
    let spans = shifts_of(&health, 9 * HOUR, |it| (it.starts_at, it.ends_at));
    assert_eq!(spans[0], (at(8 * HOUR).wall, at(16 * HOUR).wall));
}

#[test]
fn what_is_kept_is_bounded() {
    let mut health = health();
    for hour in 0..80 {
        health.take(&entry(hour * HOUR, edge(Arbitration::Edge)));
    }
    assert_eq!(shifts_of(&health, 80 * HOUR - 1, |it| it.recorded.edge_spells), [8; SHIFTS_KEPT]);
    // One from long ago, by a clock that is wrong, displaces nothing.
    health.take(&entry(0, edge(Arbitration::Edge)));
    assert_eq!(shifts_of(&health, 80 * HOUR - 1, |it| it.recorded.edge_spells), [8; SHIFTS_KEPT]);
    assert_eq!(total(&health, 80 * HOUR).recorded.edge_spells, 81);
    assert_eq!(health.lifts[&fixture::lift("L1")].shifts.len(), SHIFTS_KEPT);
    assert_eq!(health.of(&fixture::lift("L3"), at(0).wall), None, "it is no lift of the plant");
}
