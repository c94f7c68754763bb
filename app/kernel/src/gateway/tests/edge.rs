//! When the gateway arbitrates itself, what it lets through then, and how leases come to count again.

use std::fmt::Write as _;

use super::*;
use crate::ids::Generation;
use crate::lease::FencingToken;
use crate::lift::Motion;
use crate::timing::{CONTROL_BEAT_PERIOD, NODE_SILENT_AFTER, STORE_OUTAGE, STORE_STEADY};
use crate::wire::gateway::{Arbitration, Authority, StoredEpoch};

const DARK: Option<bool> = Some(false);
const REACHED: Option<bool> = Some(true);

impl Bench {
    fn beat(&mut self, node: &str, reaches_store: Option<bool>, epochs: &[u32]) {
        let stored = |epoch: &u32| StoredEpoch { lift: fixture::lift("L1"), epoch: *epoch };
        let (node, epochs) = (fixture::node(node), epochs.iter().map(stored).collect());
        self.handle(Event::Beat(ControlBeat { node, beat: self.ms, reaches_store, epochs }));
    }

    /// Each second these nodes say this of the store, and the lift is read.
    fn beats(&mut self, span: Millis, words: &[(&str, Option<bool>)]) {
        for _ in 0..span.0 / CONTROL_BEAT_PERIOD.0 {
            self.run(CONTROL_BEAT_PERIOD);
            for (node, word) in words {
                self.beat(node, *word, &[]);
            }
        }
    }

    fn arbitration(&self) -> (Arbitration, u32) {
        let kept = &self.gateway.marks.lifts[&fixture::lift("L1")];
        assert_eq!(self.marks.lifts[&fixture::lift("L1")], *kept, "what counts is durable");
        (kept.arbitration, kept.epoch)
    }

    fn at_the_edge() -> Self {
        let mut bench = Self::ready();
        bench.beats(STORE_OUTAGE + CONTROL_BEAT_PERIOD, &[("A", DARK)]);
        assert_eq!(bench.arbitration(), (Arbitration::Edge, 2));
        bench
    }

    fn edge_command(&self, id: &str, epoch: u32) -> LiftCommand {
        LiftCommand { authority: Authority::Edge { epoch }, ..self.command(id, LiftAction::OpenDoor, "F1") }
    }
}

#[test]
fn an_outage_is_when_some_node_lives_and_none_reaches_the_store_for_thirty_seconds() {
    const NOT_YET: Millis = Millis(STORE_OUTAGE.0 - 1000);
    type Hears = fn(&mut Bench);
    let rows: &[(&str, Hears, bool)] = &[
        ("one node alone says so", |it| it.beats(STORE_OUTAGE, &[("A", DARK)]), true),
        ("both say so", |it| it.beats(STORE_OUTAGE, &[("A", DARK), ("B", DARK)]), true),
        ("not for long enough", |it| it.beats(NOT_YET, &[("A", DARK)]), false),
        ("the other reaches it", |it| it.beats(STORE_OUTAGE, &[("A", DARK), ("B", REACHED)]), false),
        ("the other does not say", |it| it.beats(STORE_OUTAGE, &[("A", DARK), ("B", None)]), false),
        ("nobody says anything", |it| it.run(STORE_OUTAGE.times(2)), false),
        (
            "all fall silent",
            |it| {
                it.beats(NOT_YET, &[("A", DARK)]);
                it.run(STORE_OUTAGE);
            },
            false,
        ),
        (
            "silence between, and silence is no outage",
            |it| {
                it.beats(NOT_YET, &[("A", DARK)]);
                it.run(NODE_SILENT_AFTER + Millis(1200));
                it.beats(Millis::seconds(2), &[("A", DARK)]);
            },
            false,
        ),
        (
            "one reached it in between",
            |it| {
                it.beats(NOT_YET, &[("A", DARK)]);
                it.beat("B", REACHED, &[]);
                it.beats(NOT_YET, &[("A", DARK)]);
            },
            false,
        ),
    ];
    for (name, hears, outage) in rows {
        let mut bench = Bench::ready();
        bench.beat("A", DARK, &[]);
        hears(&mut bench);
        let expected = if *outage { (Arbitration::Edge, 2) } else { (Arbitration::Lease, 1) };
        assert_eq!(bench.arbitration(), expected, "{name}");
    }
}

#[test]
fn leases_count_again_only_when_the_store_is_steady_the_lift_settled_and_the_epoch_stored() {
    let mut bench = Bench::at_the_edge();
    bench.beats(STORE_STEADY, &[("A", REACHED)]);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 2), "not yet steady");
    bench.status.motion = Motion::Up;
    bench.beats(Millis::seconds(2), &[("A", REACHED)]);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 2), "the lift travels");
    bench.status.motion = Motion::Still;
    bench.read();
    assert_eq!(bench.arbitration(), (Arbitration::Returning, 3));
    for epoch in [2, 4] {
        bench.beat("A", REACHED, &[epoch]);
        assert_eq!(bench.arbitration(), (Arbitration::Returning, 3), "{epoch} is another epoch");
    }
    bench.beat("A", REACHED, &[3]);
    assert_eq!(bench.arbitration(), (Arbitration::Lease, 3));
    bench.beats(STORE_OUTAGE + CONTROL_BEAT_PERIOD, &[("A", DARK)]);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 4));
}

#[test]
fn edge_arbitration_stays_while_a_command_waits_or_is_under_way() {
    let mut bench = Bench::at_the_edge();
    bench.beats(STORE_STEADY, &[("A", REACHED)]);
    for id in ["C1", "C2"] {
        let command = bench.edge_command(id, 2);
        bench.send(command);
    }
    bench.beats(Millis::seconds(1), &[("A", REACHED)]);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 2), "one is awaited, one waits");
    bench.echo(1);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 2), "the other one is awaited");
    bench.echo(2);
    assert_eq!(bench.arbitration(), (Arbitration::Returning, 3));
}

#[test]
fn an_edge_gateway_goes_on_after_a_restart() {
    let bench = Bench::at_the_edge();
    let mut bench = Bench::restarted(bench.marks.clone(), bench.ms + 1000);
    bench.read();
    bench.beat("A", REACHED, &[2]);
    assert_eq!(bench.arbitration(), (Arbitration::Edge, 2));
    let command = bench.edge_command("C1", 2);
    bench.look();
    bench.send(command);
    assert_eq!(bench.news(), ["write 1 OpenDoor 1"]);
}

#[test]
fn a_command_counts_under_its_own_arbitration_and_epoch_alone() {
    let lease = |epoch| {
        let token = FencingToken { epoch, serial: 9 };
        Authority::Lease { token, nonce: crate::lease::LeaseNonce(9) }
    };
    let edge = |epoch| Authority::Edge { epoch };
    // Who arbitrates, under which epoch, and what a command gets then.
    let rows = [
        (Arbitration::Lease, lease(3), "write 1"),
        (Arbitration::Lease, lease(2), "StaleToken"),
        (Arbitration::Lease, edge(3), "WrongArbitration"),
        (Arbitration::Edge, edge(3), "write 1"),
        (Arbitration::Edge, edge(2), "WrongArbitration"),
        (Arbitration::Edge, lease(3), "WrongArbitration"),
        (Arbitration::Returning, lease(3), "WrongArbitration"),
        (Arbitration::Returning, edge(3), "WrongArbitration"),
        (Arbitration::Returning, edge(2), "WrongArbitration"),
    ];
    for (arbitration, authority, expected) in rows {
        let mut marks = Marks::default();
        let kept = LiftMarks { arbitration, epoch: 3, ..LiftMarks::default() };
        marks.lifts.insert(fixture::lift("L1"), kept);
        let mut bench = Bench::restarted(marks, 0);
        bench.read();
        let command = LiftCommand { authority, ..bench.command("C1", LiftAction::OpenDoor, "F1") };
        bench.send(command);
        let told = bench.news();
        let last = told.last().expect("an answer");
        assert!(last.contains(expected), "{arbitration:?} {authority:?}: {last}");
    }
}

#[test]
fn the_gateway_numbers_what_it_admits_at_the_edge() {
    let mut bench = Bench::at_the_edge();
    for n in [1, 2, 3] {
        let command = bench.edge_command(&format!("C{n}"), 2);
        bench.send(command);
        let token = bench.marks.lifts[&fixture::lift("L1")].token;
        assert_eq!(token, FencingToken { epoch: 2, serial: n });
    }
}

#[test]
fn at_the_edge_the_car_is_the_occupants() {
    // The session of a command beside the one that is known, whether the car is occupied, and the answer.
    let rows =
        [(4, true, "write"), (5, false, "write"), (5, true, "CarOccupied"), (3, false, "StaleSession")];
    for (generation, occupied, expected) in rows {
        let mut marks = Marks::default();
        let kept =
            LiftMarks { arbitration: Arbitration::Edge, session: Generation(4), ..LiftMarks::default() };
        marks.lifts.insert(fixture::lift("L1"), kept);
        let mut bench = Bench::restarted(marks, 0);
        bench.status.occupied = occupied;
        bench.read();
        let mut command = bench.edge_command("C1", 1);
        command.session.generation = Generation(generation);
        bench.send(command);
        let told = bench.news();
        let last = told.last().expect("an answer");
        assert!(last.contains(expected), "{generation} {occupied}: {last}");
    }
}

/// Of a lift that shows something else than standing idle at F1.
#[test]
fn what_a_lift_does_is_told_by_what_it_shows() {
    type Change = fn(&mut LiftStatus);
    let rows: &[(Change, LiftState)] = &[
        (|_| {}, LiftState::Idle),
        (|it| it.accepted = 7, LiftState::Moving),
        (|it| (it.motion, it.levelled) = (Motion::Up, false), LiftState::Moving),
        (|it| (it.accepted, it.levelled) = (7, false), LiftState::Moving),
        (|it| it.door = DoorState::Opening, LiftState::DoorOpening),
        (|it| it.door = DoorState::Closing, LiftState::DoorClosing),
        (|it| it.door = DoorState::Open, LiftState::DoorOpen),
        (|it| it.door = DoorState::Obstructed, LiftState::DoorOpen),
        (|it| it.levelled = false, LiftState::Error),
        (|it| it.fault = 3, LiftState::Error),
        (|it| it.mode = crate::lift::LiftMode::Fire, LiftState::Error),
    ];
    for (change, expected) in rows {
        let mut status = fixture::status("F1", DoorState::Closed);
        change(&mut status);
        assert_eq!(LiftState::of(&status), *expected, "{status:?}");
    }
}

/// The whole table, as it is printed.
fn printed() -> String {
    let columns = || SessionRank::ALL.into_iter().flat_map(|rank| Car::ALL.map(|car| (rank, car)));
    let mut text = String::from(include_str!("edge_head.md"));
    write!(text, "\n| Lift | Command |").expect("a string");
    for (rank, car) in columns() {
        write!(text, " {rank:?}, {car:?} |").expect("a string");
    }
    write!(text, "\n|{}", "---|".repeat(2 + columns().count())).expect("a string");
    for state in LiftState::ALL {
        for action in [LiftAction::GoTo, LiftAction::OpenDoor, LiftAction::CloseDoor] {
            write!(text, "\n| {state:?} | {action:?} |").expect("a string");
            for (rank, car) in columns() {
                let answer = match admits(state, action, rank, car) {
                    Ok(()) => "**yes**".to_owned(),
                    Err(reason) => format!("{reason:?}"),
                };
                write!(text, " {answer} |").expect("a string");
            }
        }
    }
    text.push('\n');
    text
}

/// The kernel's tests write no file: whoever changes the table copies it from here.
#[test]
fn the_table_of_edge_arbitration_is_printed() {
    let kept = include_str!("../../../../../public/edge-arbitration.md");
    let now = printed();
    assert!(kept == now, "public/edge-arbitration.md is to be, whole:\n{now}");
}
