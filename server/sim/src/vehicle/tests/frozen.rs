//! A controller that stands still.

use super::*;
use crate::vehicle::arrivals::WAITING_MAX;

#[test]
fn a_frozen_controller_does_nothing_and_goes_on_where_it_was_with_a_closed_link() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1", "W1"])));
    bench.run(Millis(3000));
    let place = bench.model.place(bench.now);
    bench.model.freeze(bench.now + Millis::seconds(8), bench.now);
    bench.seen.clear();
    bench.run_with(Millis(7900), false);
    assert_eq!(bench.seen, [], "it says nothing");
    assert_eq!(bench.model.place(bench.now), place);
    bench.run_with(Millis(100), false);
    let beat = bench.heartbeat();
    assert_eq!((beat.place, beat.link_open), (place, false));
    let next = command("V1", 3, drive(&["H1", "S1"]));
    assert_eq!(bench.refusal(&next), Some(VehicleRefusal::StaleLink));
    bench.run(Millis(6900));
    assert_eq!(bench.progress(), []);
    bench.run(Millis(100));
    assert_eq!(bench.progress(), [Progress::Done], "later by what it stood still");
}

#[test]
fn a_frozen_controller_goes_on_before_its_time_when_it_is_told() {
    let mut bench = Bench::open();
    bench.model.freeze(bench.now + Millis::seconds(20), bench.now);
    bench.run_with(Millis(1000), false);
    assert!(bench.model.stands_still_until().is_some());
    bench.model.go_on(bench.now);
    bench.seen.clear();
    bench.run_with(Millis(100), false);
    assert_eq!(bench.model.stands_still_until(), None);
    assert!(!bench.seen.is_empty(), "it says that it is there");
    bench.model.go_on(bench.now);
    assert_eq!(bench.model.stands_still_until(), None, "nothing stands still");
}

fn open_link(link: u64, sequence: u64) -> VehicleCommand {
    VehicleCommand { link: Generation(link), ..command("V1", sequence, Instruction::OpenLink) }
}

fn drive_on() -> VehicleCommand {
    command("V1", 2, drive(&["H1", "S1"]))
}

/// Whatever the frames say that waited, nobody was heard meanwhile.
#[test]
fn what_reaches_a_frozen_controller_waits_and_a_beat_among_it_keeps_no_old_link_open() {
    use AckVerdict::{Accepted, Refused};
    type Row = (&'static str, u64, fn(&mut Bench), Vec<AckVerdict>, bool);
    let stale = Refused { reason: VehicleRefusal::StaleLink };
    let rows: Vec<Row> = vec![
        ("beats alone", 8, |_| {}, vec![], false),
        ("beats alone, for a moment", 2, |_| {}, vec![], true),
        ("a command", 8, |bench| bench.model.command(&drive_on(), bench.now), vec![stale.clone()], false),
        (
            "a command, for a moment",
            2,
            |bench| bench.model.command(&drive_on(), bench.now),
            vec![Accepted],
            true,
        ),
        ("a new link", 8, |bench| bench.model.command(&open_link(2, 2), bench.now), vec![Accepted], true),
        (
            "a broken session",
            2,
            |bench| {
                bench.model.disconnect();
                bench.model.command(&open_link(2, 2), bench.now);
            },
            vec![],
            true,
        ),
        (
            "a session that broke and stands again",
            2,
            |bench| {
                bench.model.disconnect();
                bench.model.connect();
                bench.model.command(&drive_on(), bench.now);
            },
            vec![stale],
            false,
        ),
    ];
    for (name, seconds, act, answers, link_open) in rows {
        let mut bench = Bench::open();
        bench.seen.clear();
        bench.model.freeze(bench.now + Millis::seconds(seconds), bench.now);
        act(&mut bench);
        bench.run(Millis(seconds * 1000 - 100));
        assert_eq!(bench.seen, [], "{name}: it says nothing yet");
        bench.run(Millis(700));
        let verdicts: Vec<AckVerdict> = bench.acks().into_iter().map(|it| it.verdict).collect();
        assert_eq!((verdicts, bench.model.link_open), (answers, link_open), "{name}");
    }
}

#[test]
fn the_broker_s_receipt_waits_too() {
    let mut bench = Bench::open();
    bench.tell(&command("V1", 2, drive(&["H1", "S1"])));
    bench.model.freeze(bench.now + Millis::seconds(2), bench.now);
    bench.model.deliver(1);
    assert_eq!(bench.model.undelivered.len(), 1);
    bench.run(Millis::seconds(2));
    assert_eq!(bench.model.undelivered.len(), 0);
}

#[test]
fn what_waits_has_a_bound_and_a_restart_forgets_it() {
    let mut bench = Bench::open();
    bench.model.freeze(bench.now + Millis::seconds(8), bench.now);
    for _ in 0..2 * WAITING_MAX {
        bench.model.hear_beat(bench.now);
    }
    assert_eq!(bench.model.waiting.len(), WAITING_MAX);
    bench.model.command(&command("V1", 2, drive(&["H1"])), bench.now);
    assert_eq!(bench.model.waiting.len(), WAITING_MAX, "lost like a frame");
    bench.model.disconnect();
    assert_eq!(bench.model.waiting, [Arrival::Disconnected], "what a session held goes with it");
    bench.model.connect();
    bench.model.restart(bench.now);
    assert!(bench.model.waiting.is_empty());
}
