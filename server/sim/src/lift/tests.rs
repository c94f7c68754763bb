use super::*;
use crate::fixture;

mod trouble;

/// Runs a lift and writes commands to it.
struct Bench {
    lift: LiftModel,
    now: Mono,
}

impl Bench {
    fn new() -> Self {
        Self::seeded(1)
    }

    fn seeded(seed: u64) -> Self {
        let id = fixture::lift("L1");
        let plant = fixture::plant();
        let lift = LiftModel::new(&id, &plant.lifts[&id], 1, seed, Mono(0)).expect("it has stops");
        Self { lift, now: Mono(0) }
    }

    fn write(&mut self, number: u16, action: LiftAction, floor: u16) {
        self.lift.write(CommandBlock { number, action, floor });
    }

    fn scan(&mut self) -> LiftStatus {
        self.now = self.lift.scan_due();
        self.lift.scan(self.now);
        self.lift.status()
    }

    fn run(&mut self, span: Millis) -> LiftStatus {
        let end = self.now + span;
        while self.lift.scan_due() <= end {
            self.scan();
        }
        self.now = end;
        self.lift.status()
    }

    /// Writes, runs 10 s, long enough for every movement of the small site.
    fn finish(&mut self, number: u16, action: LiftAction, floor: u16) -> LiftStatus {
        self.write(number, action, floor);
        self.run(Millis::seconds(10))
    }
}

use LiftAction::{CloseDoor, GoTo, OpenDoor};

#[test]
fn scans_stay_within_100_to_300_ms_and_differ_by_seed() {
    let periods: Vec<u64> = (0..50).map(|seed| Bench::seeded(seed).lift.scan_ms().0).collect();
    assert!(periods.iter().all(|it| (100..=300).contains(it)), "{periods:?}");
    assert!(periods.iter().any(|it| *it != periods[0]));
}

#[test]
fn the_heartbeat_rises_by_each_scan_and_wraps() {
    let mut bench = Bench::new();
    bench.lift.heartbeat = u16::MAX - 1;
    assert_eq!([bench.scan().heartbeat, bench.scan().heartbeat, bench.scan().heartbeat], [u16::MAX, 0, 1]);
}

#[test]
fn a_command_is_taken_at_the_next_scan_and_finished_later() {
    let rows = [(OpenDoor, 1, DoorState::Opening, Motion::Still), (GoTo, 2, DoorState::Closed, Motion::Up)];
    for (action, floor, door, motion) in rows {
        let mut bench = Bench::new();
        bench.write(5, action, floor);
        assert_eq!(bench.lift.status().accepted, 0, "{action:?}: not before the scan");
        let taken = bench.scan();
        assert_eq!((taken.accepted, taken.completed), (5, 0), "{action:?}");
        assert_eq!((taken.door, taken.motion), (door, motion), "{action:?}");
        let finished = bench.run(Millis::seconds(10));
        assert_eq!((finished.accepted, finished.completed), (5, 5), "{action:?}");
        assert_eq!(finished.motion, Motion::Still, "{action:?}");
    }
}

#[test]
fn the_floor_changes_on_the_way_and_the_car_levels_at_the_target() {
    let mut bench = Bench::new();
    bench.write(1, GoTo, 2);
    let mut seen = Vec::new();
    while bench.lift.status().completed != 1 {
        let status = bench.scan();
        assert_eq!(status.levelled, status.completed == 1);
        seen.push(status.floor.to_string());
    }
    seen.dedup();
    assert_eq!(seen, ["F1", "F2"]);
    assert!((4000..5000).contains(&bench.now.0), "{:?}", bench.now);
}

#[test]
fn a_number_runs_once_and_0_never() {
    let mut bench = Bench::new();
    assert_eq!(bench.finish(0, OpenDoor, 1).door, DoorState::Closed);
    assert_eq!(bench.finish(1, OpenDoor, 1).door, DoorState::Open);
    let repeated = bench.finish(1, CloseDoor, 1);
    assert_eq!((repeated.door, repeated.accepted), (DoorState::Open, 1));
    assert_eq!(bench.lift.counters().taken, 1);
    assert_eq!(bench.lift.counters().writes, 3);
}

#[test]
fn an_unknown_stop_is_not_taken() {
    for stop in [0, 3, u16::MAX] {
        let mut bench = Bench::new();
        assert_eq!(bench.finish(1, GoTo, stop).accepted, 0, "{stop}");
        assert_eq!(bench.lift.counters().rejected, 1, "{stop}");
    }
}

#[test]
fn a_travel_waits_for_the_door() {
    let mut bench = Bench::new();
    bench.finish(1, OpenDoor, 1);
    let waiting = bench.finish(2, GoTo, 2);
    assert_eq!((waiting.accepted, waiting.completed), (2, 1));
    assert!(waiting.stands_at(&fixture::floor("F1")));
    let gone = bench.finish(3, CloseDoor, 1);
    assert_eq!((gone.accepted, gone.completed), (3, 2), "the travel ended last");
    assert!(gone.stands_at(&fixture::floor("F2")));
}

#[test]
fn a_door_waits_until_the_car_stands_level_at_its_floor() {
    let mut bench = Bench::new();
    bench.write(1, GoTo, 2);
    bench.scan();
    bench.write(2, OpenDoor, 2);
    let status = bench.scan();
    assert_eq!((status.accepted, status.door), (2, DoorState::Closed));
    let opened = bench.run(Millis::seconds(10));
    assert_eq!((opened.completed, opened.door), (2, DoorState::Open));
    let elsewhere = bench.finish(3, CloseDoor, 1);
    assert_eq!((elsewhere.accepted, elsewhere.completed, elsewhere.door), (3, 2, DoorState::Open));
}

#[test]
fn contradictions_are_counted() {
    use contradiction_rows::ROWS;
    for (name, act, expected) in ROWS {
        let mut bench = Bench::new();
        act(&mut bench);
        bench.scan();
        assert_eq!(bench.lift.counters().contradictions, *expected, "{name}");
    }
}

/// Rows of [`contradictions_are_counted`].
mod contradiction_rows {
    use super::*;

    type Row = (&'static str, fn(&mut Bench), u64);

    pub(super) const ROWS: &[Row] = &[
        (
            "a repeat",
            |bench| {
                bench.write(1, GoTo, 2);
                bench.scan();
                bench.write(1, GoTo, 2);
            },
            0,
        ),
        (
            "the same travel again",
            |bench| {
                bench.write(1, GoTo, 2);
                bench.scan();
                bench.write(2, GoTo, 2);
            },
            0,
        ),
        (
            "a travel turned round",
            |bench| {
                bench.write(1, GoTo, 2);
                bench.scan();
                bench.write(2, GoTo, 1);
            },
            1,
        ),
        (
            "two in one scan",
            |bench| {
                bench.write(1, GoTo, 2);
                bench.write(2, OpenDoor, 1);
            },
            1,
        ),
        (
            "a door turned round",
            |bench| {
                bench.write(1, OpenDoor, 1);
                bench.scan();
                bench.write(2, CloseDoor, 1);
            },
            1,
        ),
        (
            "an open door closed",
            |bench| {
                bench.finish(1, OpenDoor, 1);
                bench.write(2, CloseDoor, 1);
            },
            0,
        ),
    ];
}

#[test]
fn three_reversals_within_40_s_trip_the_emergency_stop() {
    let rows = [(Millis::seconds(2), LiftMode::Emergency, 1), (Millis::seconds(25), LiftMode::Vehicle, 0)];
    for (pause, mode, fault) in rows {
        let mut bench = Bench::new();
        for n in 0..3 {
            bench.run(pause);
            bench.finish(10 * n + 1, CloseDoor, 1);
            bench.write(10 * n + 2, OpenDoor, 1);
            bench.scan();
            bench.write(10 * n + 3, CloseDoor, 1);
            bench.scan();
        }
        let status = bench.lift.status();
        assert_eq!((status.mode, status.fault), (mode, fault), "{pause}");
        assert_eq!(bench.lift.counters().door_reversals, 3);
        assert_eq!(bench.lift.counters().e_stops, u64::from(fault));
        let after = bench.finish(99, OpenDoor, 1);
        assert_eq!(after.accepted == 99, mode == LiftMode::Vehicle, "nothing is taken in an emergency");
    }
}

#[test]
fn a_door_gives_way_to_what_stands_on_the_sill_and_closes_afterwards() {
    let mut bench = Bench::new();
    bench.finish(1, OpenDoor, 1);
    bench.write(2, CloseDoor, 1);
    assert_eq!(bench.scan().door, DoorState::Closing);
    bench.lift.sense(1, true);
    let held = bench.run(Millis::seconds(10));
    assert_eq!(
        (held.door, held.accepted, held.completed, held.occupied),
        (DoorState::Obstructed, 2, 1, true)
    );
    assert_eq!(bench.lift.counters().obstructions, 1);
    bench.lift.sense(0, false);
    let closed = bench.run(Millis::seconds(10));
    assert_eq!((closed.door, closed.completed, closed.occupied), (DoorState::Closed, 2, false));
}

#[test]
fn a_reboot_forgets_commands_counts_and_levels_the_car() {
    let mut bench = Bench::new();
    bench.write(7, GoTo, 2);
    bench.run(Millis::seconds(2));
    bench.write(8, OpenDoor, 2);
    bench.lift.reboot();
    let halted = bench.lift.status();
    assert_eq!((halted.motion, halted.levelled), (Motion::Still, false));
    let status = bench.run(Millis::seconds(10));
    assert_eq!((status.boot, status.accepted, status.completed), (2, 0, 0));
    let nearest = status.floor.clone();
    assert!(status.stands_at(&nearest), "it creeps to the nearest stop by itself");
    assert!(bench.finish(1, GoTo, 1).stands_at(&fixture::floor("F1")));
}
