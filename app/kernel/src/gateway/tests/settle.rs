//! When no echo comes: nothing is sent before the PLC itself says what happened.

use super::*;
use crate::timing::{PLC_ACK_DEADLINE, PLC_FROZEN, PLC_SETTLE};
use crate::wire::gateway::{Connection, Settling};

const UNKNOWN: &str = "tell C1 Unknown";
const NOT_SENT: &str = "tell C1 NotSent";
const RAN: &str = "tell C1 Ran";

/// A gateway in doubt about C1, which carries number 1.
fn doubtful() -> Bench {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.look();
    bench.written(1, WriteResult::Unknown);
    assert_eq!(bench.news(), [UNKNOWN]);
    bench
}

#[test]
fn without_an_echo_a_command_is_unknown_and_nothing_is_sent() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.written(1, WriteResult::Confirmed);
    bench.look();
    bench.sleep(Millis(PLC_ACK_DEADLINE.0 - 1));
    assert_eq!(bench.news(), Vec::<String>::new());
    let (due, reason) = bench.gateway.poll_timeout().expect("a deadline");
    assert!(due.0 >= PLC_ACK_DEADLINE.0, "{reason} at {due:?}");
    bench.sleep(Millis(1));
    assert_eq!(bench.news(), [UNKNOWN]);
    assert_eq!(bench.reading().verifying, Some(fixture::command_id("C1")));
    bench.read();
    bench.open("C2");
    assert_eq!(bench.news(), ["tell C2 Refused { reason: Verifying }"]);
}

#[test]
fn an_echo_while_in_doubt_says_that_it_ran() {
    let mut bench = doubtful();
    bench.run(Millis(PLC_SETTLE.0 / 2));
    bench.echo(1);
    assert_eq!(bench.news(), [RAN]);
    assert_eq!(bench.reading().verifying, None);
    bench.open("C2");
    assert_eq!(bench.news(), ["write 2 OpenDoor 1"]);
}

#[test]
fn good_reads_without_the_echo_say_that_it_was_not_sent() {
    let mut bench = doubtful();
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new(), "the first good read only starts the time");
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT]);
    bench.open("C2");
    assert_eq!(bench.news(), ["write 2 OpenDoor 1"]);
}

#[test]
fn a_failed_read_starts_the_settling_anew() {
    let mut bench = doubtful();
    bench.run(PLC_SETTLE);
    bench.read_failed();
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT]);
}

#[test]
fn reads_of_a_frozen_plc_settle_nothing() {
    let mut bench = doubtful();
    bench.read();
    for _ in 0..20 {
        bench.ms += LIFT_POLL_PERIOD.0;
        bench.read_frozen();
    }
    assert_eq!(bench.news(), Vec::<String>::new(), "a PLC that does not scan may still have the command");
    bench.ms += LIFT_POLL_PERIOD.0;
    bench.echo(1);
    assert_eq!(bench.news(), [RAN], "thawed, it runs what lay in its registers");
}

/// A connection that is up again says nothing about the scan behind it.
#[test]
fn a_frozen_plc_behind_a_broken_connection_settles_nothing() {
    let mut bench = doubtful();
    bench.read_failed();
    for _ in 0..20 {
        bench.ms += LIFT_POLL_PERIOD.0;
        bench.read_frozen();
    }
    assert_eq!(bench.news(), Vec::<String>::new(), "a PLC that does not scan may still have the command");
    bench.ms += LIFT_POLL_PERIOD.0;
    bench.echo(1);
    assert_eq!(bench.news(), [RAN]);
}

#[test]
fn a_write_that_was_not_sent_is_told_so_and_the_next_one_goes() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.open("C2");
    bench.look();
    bench.written(1, WriteResult::NotSent);
    assert_eq!(bench.news(), [NOT_SENT, "write 2 OpenDoor 1"]);
}

#[test]
fn the_result_of_another_write_changes_nothing() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.look();
    bench.written(9, WriteResult::NotSent);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.echo(1);
    assert_eq!(bench.news(), ["tell C1 Accepted"]);
}

#[test]
fn a_restart_of_the_plc_makes_its_echo_worthless() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.look();
    // By chance it shows the number that is awaited.
    bench.status.boot = 2;
    bench.echo(1);
    assert_eq!(bench.news(), [UNKNOWN], "never a match by luck");
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new());
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [NOT_SENT], "the lift stands as before the write");
}

/// It restarted just before the write, and no read had shown that yet: the command lay in its new registers.
#[test]
fn a_restarted_plc_that_has_something_under_way_stays_in_doubt() {
    let mut bench = Bench::ready();
    bench.status.boot = 2;
    bench.open("C1");
    bench.look();
    bench.run(LIFT_POLL_PERIOD);
    assert_eq!(bench.news(), [UNKNOWN]);
    bench.run(Millis(PLC_SETTLE.0 - LIFT_POLL_PERIOD.0));
    bench.status.accepted = 1;
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new(), "the door is about to open");
    bench.status.completed = 1;
    bench.status.door = DoorState::Open;
    bench.run(PLC_SETTLE);
    assert_eq!(bench.news(), Vec::<String>::new());
    assert_eq!(bench.reading().verifying, Some(fixture::command_id("C1")));
}

#[test]
fn a_restarted_plc_that_stands_elsewhere_stays_in_doubt() {
    // Where the car stands after the restart: at the target, or off the stop that it had begun to leave.
    for (floor, levelled) in [("F2", true), ("F1", false)] {
        let mut bench = Bench::ready();
        let command = bench.command("C1", LiftAction::GoTo, "F2");
        bench.send(command);
        bench.look();
        bench.status = fixture::status(floor, DoorState::Closed);
        bench.status.levelled = levelled;
        bench.status.boot = 2;
        bench.run(Millis::seconds(60));
        assert_eq!(bench.news(), [UNKNOWN], "{floor}");
        assert_eq!(bench.reading().verifying, Some(fixture::command_id("C1")), "{floor}");
    }
}

#[test]
fn a_command_in_flight_over_a_restart_is_verified_and_never_written_again() {
    // What the PLC shows after the restart, and what becomes of the command.
    for (accepted, expected) in [(1, RAN), (0, NOT_SENT)] {
        let mut bench = Bench::ready();
        bench.open("C1");
        let marks = bench.marks.clone();
        let mut bench = Bench::restarted(marks, 1000);
        bench.status.accepted = accepted;
        bench.status.completed = accepted;
        bench.look();
        bench.open("C2");
        bench.run(LIFT_POLL_PERIOD);
        bench.open("C1");
        bench.run(PLC_SETTLE + LIFT_POLL_PERIOD);
        let news = bench.news();
        assert!(news.contains(&expected.to_owned()), "{news:?}");
        assert!(news.iter().all(|it| !it.starts_with("write")), "{news:?}");
        assert_eq!(bench.marks.lifts[&fixture::lift("L1")].in_flight, None);
    }
}

#[test]
fn a_heartbeat_register_that_stands_still_is_shown_and_refused() {
    let mut bench = Bench::ready();
    let rows = [(PLC_FROZEN.0 - 1, Connection::Up), (PLC_FROZEN.0, Connection::Frozen)];
    for (ms, expected) in rows {
        bench.ms = ms;
        bench.read_frozen();
        assert_eq!(bench.reading().connection, expected, "after {ms} ms");
    }
    bench.look();
    bench.open("C1");
    assert_eq!(bench.news(), ["tell C1 Refused { reason: Unreachable }"]);
    bench.read();
    assert_eq!(bench.reading().connection, Connection::Up);
    bench.open("C2");
    assert_eq!(bench.news(), ["write 1 OpenDoor 1"]);
}

#[test]
fn a_broken_connection_is_counted_and_logged_once() {
    let mut bench = Bench::ready();
    let mut lines = 0;
    for _ in 0..3 {
        bench.gateway.handle(
            Event::ReadFailed { lift: fixture::lift("L1"), reason: "refused".to_owned() },
            at(bench.ms),
        );
        while let Some(effect) = bench.gateway.poll_effect() {
            lines += usize::from(matches!(effect, Effect::Log { .. }));
        }
    }
    assert_eq!((lines, bench.reading().connections_lost), (1, 1));
    assert_eq!(bench.reading().connection, Connection::Down);
}

/// A PLC that answers and breaks off by turns would else come and go with every read.
#[test]
fn a_plc_that_flaps_is_down_until_reads_are_unbroken() {
    let mut bench = Bench::ready();
    for _ in 0..10 {
        bench.ms += LIFT_POLL_PERIOD.0;
        bench.read_failed();
        bench.read();
        assert_eq!(bench.reading().connection, Connection::Down);
    }
    assert_eq!(bench.reading().connections_lost, 10, "each break counts");
    bench.run(PLC_SETTLE + LIFT_POLL_PERIOD);
    assert_eq!(bench.reading().connection, Connection::Up);
}

#[test]
fn what_settles_a_command_in_doubt_is_told() {
    type Row = (&'static str, fn(&mut Bench), Settling);
    let rows: [Row; 5] = [
        ("nothing was read since", |_| (), Settling::NoReads),
        (
            "reads come",
            |it| {
                it.read();
                it.run(Millis(400));
            },
            Settling::Reads { left_ms: Millis(PLC_SETTLE.0 - 400) },
        ),
        (
            "one of them failed",
            |it| {
                it.run(Millis(400));
                it.read_failed();
            },
            Settling::NoReads,
        ),
        (
            "the PLC does not scan",
            |it| {
                it.read();
                it.ms += PLC_FROZEN.0;
                it.read_frozen();
            },
            Settling::Frozen,
        ),
        (
            "it started anew, and the lift stands elsewhere",
            |it| {
                it.status.boot += 1;
                it.status.door = DoorState::Open;
                it.read();
                it.run(PLC_SETTLE + LIFT_POLL_PERIOD);
            },
            Settling::Restarted,
        ),
    ];
    for (what, change, expected) in rows {
        let mut bench = doubtful();
        change(&mut bench);
        assert_eq!(bench.reading().settling, Some(expected), "{what}");
    }
    assert_eq!(Bench::ready().reading().settling, None);
}
