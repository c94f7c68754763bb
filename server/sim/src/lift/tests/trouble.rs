//! What goes wrong at a lift, and how its PLC takes commands.

use super::*;
use crate::fixture::floor;

impl Bench {
    fn trouble(&mut self, trouble: &LiftTrouble) {
        self.lift.trouble(trouble, self.now);
    }
}

/// Three different commands within one scan, and more than a PLC holds.
#[test]
fn commands_of_one_scan_are_overwritten_or_queued() {
    // What is accepted after each of three scans, and how many of ten are taken in the end.
    for (intake, accepted, taken) in [(Intake::Overwrites, [3, 3, 3], 1), (Intake::Queues, [1, 2, 3], 8)] {
        let written = |numbers: std::ops::RangeInclusive<u16>| {
            let mut bench = Bench::new();
            bench.lift.set_intake(intake);
            for number in numbers {
                bench.write(number, if number % 2 == 0 { OpenDoor } else { GoTo }, 1);
            }
            bench
        };
        let mut bench = written(1..=3);
        assert_eq!([bench.scan().accepted, bench.scan().accepted, bench.scan().accepted], accepted);
        assert_eq!(bench.lift.counters().contradictions, 2, "{intake:?}: each contradicts the one before it");
        let mut bench = written(1..=10);
        bench.run(Millis::seconds(20));
        let counters = bench.lift.counters();
        assert_eq!((counters.writes, counters.taken), (10, taken), "{intake:?}");
    }
}

/// People take the lift in mid-travel. It stops and takes nothing; in the mode of the key switch their calls move it.
#[test]
fn modes_of_people_drop_what_was_in_hand_and_end() {
    let rows =
        [(LiftMode::Maintenance, 0, false), (LiftMode::Emergency, 0, false), (LiftMode::Human, 1, true)];
    for (mode, calls, arrives) in rows {
        let mut bench = Bench::new();
        bench.write(1, GoTo, 2);
        assert_eq!(bench.run(Millis(1500)).motion, Motion::Up);
        bench.trouble(&LiftTrouble::Mode { mode, for_ms: Millis::seconds(20) });
        let stopped = bench.scan();
        assert_eq!(
            (stopped.mode, stopped.motion, stopped.levelled),
            (mode, Motion::Still, false),
            "{mode:?}"
        );
        let refused = bench.finish(2, GoTo, 1);
        assert_eq!((refused.accepted, bench.lift.counters().rejected), (1, 1), "{mode:?}");
        bench.trouble(&LiftTrouble::CalledByPeople { stop: 2 });
        let called = bench.run(Millis::seconds(8));
        assert_eq!(
            (bench.lift.counters().called_by_people, called.stands_at(&floor("F2"))),
            (calls, arrives)
        );
        let over = bench.run(Millis::seconds(2));
        assert_eq!((over.mode, over.fault, over.completed), (LiftMode::Vehicle, 0, 1), "{mode:?}");
        assert!(bench.finish(3, GoTo, 1).stands_at(&floor("F1")), "{mode:?}: it serves again");
        assert_eq!(bench.lift.counters().e_stops, 0, "{mode:?}: no command tripped it");
    }
}

#[test]
fn a_slow_plc_scans_as_many_times_less_often_until_that_is_over() {
    for (factor, scans) in [(3, 10), (1, 30), (0, 30)] {
        let mut bench = Bench::new();
        let span = bench.lift.scan_ms().times(30);
        bench.scan();
        bench.trouble(&LiftTrouble::Slow { factor, for_ms: span });
        let mut counted = || {
            let before = bench.lift.status().heartbeat;
            bench.run(span).heartbeat - before
        };
        assert!(counted().abs_diff(scans) <= 1, "times {factor}");
        assert!(counted().abs_diff(30) <= 3, "times {factor}: over");
    }
}

/// Nobody's command is at fault: it is finished when the door can.
#[test]
fn a_door_that_cannot_move_finishes_its_command_afterwards() {
    let for_ms = Millis::seconds(6);
    let rows = [
        ("stuck, opening", LiftTrouble::DoorStuck { for_ms }, OpenDoor, DoorState::Opening, 0),
        ("stuck, closing", LiftTrouble::DoorStuck { for_ms }, CloseDoor, DoorState::Closing, 0),
        ("blocked, opening", LiftTrouble::SillBlocked { for_ms }, OpenDoor, DoorState::Open, 0),
        ("blocked, closing", LiftTrouble::SillBlocked { for_ms }, CloseDoor, DoorState::Obstructed, 1),
    ];
    for (name, trouble, action, shown, obstructions) in rows {
        let mut bench = Bench::new();
        if action == CloseDoor {
            bench.finish(1, OpenDoor, 1);
        }
        bench.write(2, action, 1);
        bench.scan();
        bench.trouble(&trouble);
        let troubled = bench.run(Millis::seconds(5));
        assert_eq!((troubled.door, troubled.completed == 2), (shown, shown == DoorState::Open), "{name}");
        assert_eq!((troubled.mode, troubled.occupied), (LiftMode::Vehicle, false), "{name}");
        let over = bench.run(Millis::seconds(10));
        let end = if action == OpenDoor { DoorState::Open } else { DoorState::Closed };
        assert_eq!((over.door, over.completed), (end, 2), "{name}");
        let counters = bench.lift.counters();
        assert_eq!((counters.obstructions, counters.contradictions), (obstructions, 0), "{name}");
    }
}
