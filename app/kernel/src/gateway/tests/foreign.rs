//! Movements that nobody commanded: told apart from what a command explains.

use super::*;
use crate::lift::{LiftMode, Motion};
use crate::safeguard::Safeguard;
use crate::wire::gateway::{ForeignMove, ForeignPart};

type Change = fn(&mut LiftStatus);
/// Its name, what the PLC shows read by read, and what was seen: how many, the last one's part, whether it is over.
type Row = (&'static str, &'static [Change], Option<(u64, ForeignPart, bool)>);

fn foreign(bench: &mut Bench) -> Option<ForeignMove> {
    bench.reading().foreign
}

const LEAVES: Change = |it| {
    it.motion = Motion::Up;
    it.levelled = false;
};
const ARRIVES: Change = |it| {
    it.motion = Motion::Still;
    it.levelled = true;
    it.floor = fixture::floor("F2");
};
/// Between two floors.
const RESTARTS: Change = |it| {
    it.boot += 1;
    it.levelled = false;
};
const OPENS: Change = |it| it.door = DoorState::Opening;
const OPEN: Change = |it| it.door = DoorState::Open;

#[test]
fn what_moves_without_a_command_is_seen_once() {
    let rows: &[Row] = &[
        ("a lift at rest", &[|_| ()], None),
        ("the car leaves", &[LEAVES], Some((1, ForeignPart::Car, false))),
        ("it is one movement until it rests", &[LEAVES, |_| (), ARRIVES], Some((1, ForeignPart::Car, true))),
        ("it was elsewhere by the next read", &[ARRIVES], Some((1, ForeignPart::Car, true))),
        ("two movements", &[LEAVES, ARRIVES, OPENS, OPEN], Some((2, ForeignPart::Door, true))),
        ("the door opens", &[OPENS], Some((1, ForeignPart::Door, false))),
        (
            "a number that nobody gave",
            &[|it| it.accepted = 900, LEAVES],
            Some((1, ForeignPart::Command, false)),
        ),
        (
            "the car levels itself as a vehicle rolls in",
            &[OPENS, OPEN, |it| it.levelled = false, |it| it.levelled = true],
            Some((1, ForeignPart::Door, true)),
        ),
        (
            "somebody crosses the sill",
            &[OPENS, OPEN, |it| it.door = DoorState::Obstructed, OPEN],
            Some((1, ForeignPart::Door, true)),
        ),
        ("people are served", &[|it| it.mode = LiftMode::Human, LEAVES, ARRIVES], None),
        (
            "people have been served",
            &[|it| it.mode = LiftMode::Human, LEAVES, |it| it.mode = LiftMode::Vehicle],
            None,
        ),
        ("a fault stops it", &[|it| it.fault = 3, LEAVES], None),
        ("a PLC that has restarted creeps to a floor", &[RESTARTS, LEAVES, ARRIVES], None),
        ("and is watched again then", &[RESTARTS, ARRIVES, OPENS], Some((1, ForeignPart::Door, false))),
    ];
    for (what, changes, expected) in rows {
        let mut bench = Bench::ready();
        for change in *changes {
            change(&mut bench.status);
            bench.run(LIFT_POLL_PERIOD);
        }
        let seen = foreign(&mut bench).map(|it| (it.nth, it.part, it.over));
        assert_eq!(seen, *expected, "{what}");
    }
}

/// The PLC has taken the command to open the door, and does so.
fn opening() -> Bench {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.written(1, WriteResult::Confirmed);
    bench.status.accepted = 1;
    OPENS(&mut bench.status);
    bench.run(LIFT_POLL_PERIOD);
    bench
}

#[test]
fn a_command_explains_what_it_moves_from_its_number_to_its_end() {
    let mut bench = opening();
    OPEN(&mut bench.status);
    bench.status.completed = 1;
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(foreign(&mut bench), None);
    bench.status.door = DoorState::Closing;
    bench.run(LIFT_POLL_PERIOD);
    let seen = foreign(&mut bench).expect("nobody shuts it");
    assert_eq!((seen.part, seen.floor, seen.age_ms), (ForeignPart::Door, fixture::floor("F1"), Millis(0)));
}

/// The PLC moves before it shows the number that is on its way: that is somebody else's movement.
#[test]
fn a_command_that_the_plc_has_not_taken_explains_nothing() {
    let mut bench = Bench::ready();
    bench.open("C1");
    LEAVES(&mut bench.status);
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(foreign(&mut bench).map(|it| it.part), Some(ForeignPart::Car));
}

#[test]
fn who_does_not_watch_sees_nothing() {
    let mut bench = Bench::new();
    bench.gateway = bench.gateway.under(Safeguards::all_but(Safeguard::ForeignMoves));
    bench.read();
    LEAVES(&mut bench.status);
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(foreign(&mut bench), None);
}

/// The PLC says that it has finished, and its door arrives a read later; one that never arrives is told after all.
#[test]
fn a_plc_that_finishes_before_its_door_does_is_given_a_second() {
    for (reads, expected) in [(1, None), (5, None), (7, Some(ForeignPart::Door))] {
        let mut bench = opening();
        bench.status.completed = 1;
        bench.run(LIFT_POLL_PERIOD.times(reads));
        OPEN(&mut bench.status);
        bench.run(LIFT_POLL_PERIOD);
        assert_eq!(foreign(&mut bench).map(|it| it.part), expected, "{reads} reads later");
    }
}

/// A second master that counts from the start has numbers that this gateway gave, too, and earlier.
#[test]
fn a_number_below_the_last_one_is_another_masters() {
    let mut bench = Bench::restarted(marks_with_number(40), 0);
    (bench.status.accepted, bench.status.completed) = (40, 40);
    bench.read();
    bench.status.accepted = 12;
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(foreign(&mut bench).map(|it| it.part), Some(ForeignPart::Command));
}

fn marks_with_number(number: u16) -> Marks {
    let mut marks = Marks::default();
    marks.lifts.insert(fixture::lift("L1"), LiftMarks { number, ..LiftMarks::default() });
    marks
}

/// What happened while nothing could be read is nobody's to judge.
#[test]
fn after_a_gap_in_the_reads_the_lift_is_watched_anew() {
    let mut bench = Bench::ready();
    bench.sleep(Millis::seconds(600));
    ARRIVES(&mut bench.status);
    bench.read();
    assert_eq!(foreign(&mut bench), None);
}
