//! What comes from the ledger.

use super::*;
use crate::ids::LiftId;
use crate::lease::LeaseNonce;
use crate::time::Mono;
use crate::wire::gateway::Verdict;
use crate::wire::health::{EmergencyStops, Waits};
use SessionPhase::{Alighting, Boarding, Forced, Granted, Released, Riding};

type Story = Vec<(u64, Record)>;

fn decided(verdict: Option<Verdict>) -> Record {
    Record::EdgeDecided {
        lift: fixture::lift("L1"),
        command: fixture::command_id("C-1"),
        action: LiftAction::GoTo,
        floor: fixture::floor("F1"),
        verdict,
    }
}

fn foreign(lift: &str, boot: u64, nth: u64) -> Record {
    let (part, floor) = (crate::wire::gateway::ForeignPart::Car, fixture::floor("F1"));
    Record::ForeignMoved { lift: fixture::lift(lift), boot, nth, part, floor }
}

/// The second was not told by itself, the third was told twice; then the gateway started anew.
fn unbidden() -> Story {
    let told = [("L1", 1, 1), ("L1", 1, 3), ("L1", 1, 3), ("L1", 2, 2), ("L2", 1, 1)];
    (0..).zip(told).map(|(ms, (lift, boot, nth))| (ms, foreign(lift, boot, nth))).collect()
}

/// A ride: asked for at once, its turn after 20 s, in the car after 60 s, over after 100 s.
fn ride() -> Story {
    vec![
        (0, asks("S-1")),
        (20_000, becomes("S-1", Granted)),
        (40_000, becomes("S-1", Boarding)),
        (60_000, becomes("S-1", Riding)),
        (90_000, becomes("S-1", Alighting)),
        (100_000, becomes("S-1", Released)),
    ]
}

fn waits(waits: &Waits) -> [u64; 3] {
    [waits.count, waits.sum_ms.0, waits.max_ms.0]
}

fn stops(health: &RecordedHealth) -> Vec<u64> {
    health.emergency_stops.iter().flat_map(|it| [it.fault.into(), it.count]).collect()
}

type Row = (&'static str, Story, fn(&RecordedHealth) -> Vec<u64>, &'static [u64]);

fn check(rows: Vec<Row>) {
    for (name, story, show, expected) in rows {
        let mut health = health();
        for (ms, record) in story {
            health.take(&entry(ms, record));
        }
        let shown = shifts_of(&health, HOUR, |it| show(&it.recorded));
        assert_eq!(shown, [expected], "{name}, in the shift");
        assert_eq!(show(&total(&health, HOUR).recorded), expected, "{name}, in all");
    }
}

#[test]
fn each_figure_of_rides_counts_what_it_says() {
    let given_up = vec![(0, asks("S-1")), (5000, becomes("S-1", Released))];
    check(vec![
        ("wait for the turn", ride(), |it| waits(&it.turn_wait).into(), &[1, 20_000, 20_000]),
        ("wait for the lift", ride(), |it| waits(&it.vehicle_wait).into(), &[1, 60_000, 60_000]),
        ("given up: no turn", given_up.clone(), |it| waits(&it.turn_wait).into(), &[0, 0, 0]),
        ("given up: no ride", given_up, |it| waits(&it.vehicle_wait).into(), &[0, 0, 0]),
        ("held", ride(), |it| vec![it.held_ms.0], &[80_000]),
        (
            "held, ended by a person",
            vec![(0, asks("S-1")), (1000, becomes("S-1", Granted)), (3000, becomes("S-1", Forced))],
            |it| vec![it.held_ms.0],
            &[2000],
        ),
        (
            "held, and not over",
            vec![(0, asks("S-1")), (MINUTE, becomes("S-1", Granted))],
            |it| vec![it.held_ms.0],
            &[59 * MINUTE],
        ),
        (
            "a phase that is told twice counts once",
            ride().into_iter().flat_map(|(ms, it)| [(ms, it.clone()), (ms + 1, it)]).take(8).collect(),
            |it| vec![it.turn_wait.count, it.vehicle_wait.count],
            &[1, 1],
        ),
    ]);
}

#[test]
fn each_figure_of_trouble_counts_what_it_says() {
    use AlarmKind::{LiftEmergencyStopped, LiftFaulted, LiftFrozen, LiftOutOfService, LiftUnverified};
    check(vec![
        (
            "emergency stops by cause",
            vec![
                (0, raised(LiftEmergencyStopped, "L1", "#2")),
                (1, raised(LiftEmergencyStopped, "L1", "")),
                (2, raised(LiftEmergencyStopped, "L1", "#2")),
                (3, raised(LiftEmergencyStopped, "L2", "#2")),
                (4, raised(LiftOutOfService, "L1", "")),
            ],
            stops,
            &[2, 2, 0, 1],
        ),
        (
            "one ticket for all that stands at once",
            vec![
                (0, raised(LiftEmergencyStopped, "L1", "#2")),
                (1, raised(LiftFaulted, "L1", "#2")),
                (2, cleared(LiftEmergencyStopped, "L1")),
                (3, raised(LiftFrozen, "L1", "")),
                (4, raised(LiftFaulted, "L2", "#1")),
            ],
            |it| vec![it.fault_tickets],
            &[1],
        ),
        (
            "the next ticket once all is well",
            vec![
                (0, raised(LiftFaulted, "L1", "#2")),
                (1, cleared(LiftFaulted, "L1")),
                (2, raised(LiftFaulted, "L1", "#2")),
            ],
            |it| vec![it.fault_tickets],
            &[2],
        ),
        (
            "no ticket where nobody has to come",
            vec![(0, raised(LiftUnverified, "L1", "")), (1, raised(LiftOutOfService, "L1", ""))],
            |it| vec![it.fault_tickets],
            &[0],
        ),
        ("movements that nobody commanded", unbidden(), |it| vec![it.foreign_moves], &[5]),
        (
            "edge arbitration",
            vec![
                (0, edge(Arbitration::Edge)),
                (1, edge(Arbitration::Returning)),
                (2, edge(Arbitration::Lease)),
            ],
            |it| vec![it.edge_spells],
            &[1],
        ),
        (
            "commands by edge arbitration",
            vec![(0, decided(None)), (1, decided(Some(Verdict::Accepted)))],
            |it| vec![it.edge_commands],
            &[1],
        ),
    ]);
}

#[test]
fn a_ride_across_shifts_gives_each_its_part() {
    let mut health = health();
    health.take(&entry(0, asks("S-1")));
    health.take(&entry(7 * HOUR, becomes("S-1", Granted)));
    let held = |it: &ShiftHealth| (it.recorded.held_ms.0 / HOUR, it.utilization_pct);
    assert_eq!(shifts_of(&health, 10 * HOUR, held), [(2, 100), (1, 12)], "while it holds");
    health.take(&entry(17 * HOUR, becomes("S-1", Released)));
    assert_eq!(shifts_of(&health, 20 * HOUR, held), [(1, 25), (8, 100), (1, 12)], "and after");
    assert_eq!(total(&health, 20 * HOUR).recorded.held_ms.0, 10 * HOUR);
}

#[test]
fn waits_fall_into_the_bucket_of_their_length() {
    let mut waits = Waits::for_lift();
    for seconds in [1, 10, 11, 140, 280, 281, 600, 601] {
        waits.add(Millis::seconds(seconds));
    }
    let filled = waits.buckets.iter().filter(|it| it.count > 0).map(|it| (it.up_to_ms.0 / 1000, it.count));
    assert_eq!(filled.collect::<Vec<_>>(), [(10, 2), (20, 1), (140, 1), (280, 1), (360, 1), (600, 1)]);
    assert_eq!(waits.count, 8, "601 s lie in no bucket");
}

#[test]
fn a_plc_with_ever_new_faults_fills_no_memory() {
    let mut health = RecordedHealth::default();
    for fault in 1..=100 {
        health.add_emergency_stop(fault);
    }
    assert_eq!(health.emergency_stops.len(), 17);
    assert_eq!(health.emergency_stops.last(), Some(&EmergencyStops { fault: 0, count: 84 }));
}

#[test]
fn a_clock_that_steps_back_takes_no_time_away() {
    let mut health = health();
    health.take(&entry(60_000, asks("S-1")));
    health.take(&entry(50_000, becomes("S-1", Granted)));
    health.take(&entry(40_000, becomes("S-1", Released)));
    let recorded = total(&health, HOUR).recorded;
    assert_eq!((waits(&recorded.turn_wait), recorded.held_ms.0), ([1, 0, 0], 0));
}

/// One node lived through it and heard much else; another was started anew and took the ledger in.
#[test]
fn a_replay_of_the_ledger_gives_what_was_lived_through() {
    let mut ledger: Vec<Entry> = Vec::new();
    for (n, (ms, record)) in ride().into_iter().enumerate() {
        ledger.push(entry(7 * HOUR + ms * 60, record));
        let alarm = if n % 2 == 0 {
            raised(AlarmKind::LiftFaulted, "L1", "#1")
        } else {
            cleared(AlarmKind::LiftFaulted, "L1")
        };
        ledger.push(entry(7 * HOUR + ms * 60 + 1, alarm));
        ledger.push(entry(7 * HOUR + ms * 60 + 2, raised(AlarmKind::LiftEmergencyStopped, "L1", "#1")));
    }
    let mut lived = health();
    for (n, entry) in ledger.iter().enumerate() {
        let (lift, nonce): (LiftId, _) = (fixture::lift("L1"), LeaseNonce(n as u64));
        let now = crate::time::Now { mono: Mono(n as u64), wall: entry.at };
        lived.see(
            &Effect::AcquireLease {
                lift,
                nonce,
                epoch: 1,
                floor: 0,
                life: crate::lease::StoreLife::default(),
                priority: crate::lease::LeasePriority::default(),
            },
            now,
        );
        lived.hear(&Event::StoreProbed { reached: true }, now);
        lived.take(entry);
        assert!(lived.of(&fixture::lift("L1"), entry.at).is_some());
    }
    let mut replayed = health();
    ledger.iter().for_each(|it| replayed.take(it));
    let recorded = |it: &ShiftHealth| (it.starts_at, it.elapsed_ms, it.utilization_pct, it.recorded.clone());
    assert_eq!(shifts_of(&replayed, 12 * HOUR, recorded), shifts_of(&lived, 12 * HOUR, recorded));
    assert_eq!(total(&replayed, 12 * HOUR).recorded, total(&lived, 12 * HOUR).recorded);
    assert_eq!(total(&replayed, 12 * HOUR).recorded.fault_tickets, 1);
    assert_eq!(total(&lived, 12 * HOUR).heard.leases.asked, ledger.len() as u64);
    assert_eq!(shifts_of(&replayed, 12 * HOUR, |it| it.heard.clone()), [None, None], "nothing was heard");
}
