//! Why a ride does not go on, as its lift's view tells it.

use super::voice::asking;
use super::*;
use crate::lease::StoreLife;
use crate::lift::{LiftAction, LiftMode};
use crate::timing::{LEASE_TTL, LIFT_ACK_DEADLINE};
use crate::wire::gateway::Settling;
use crate::wire::view::{LiftWait, SettlingView};

impl Bench {
    pub(super) fn view(&self) -> &LiftView {
        &self.lifts[&fixture::lift("L1")]
    }

    /// Why the ride that holds the lift does not go on.
    fn ride_waits(&self) -> String {
        format!("{:?}", self.view().session.as_ref().expect("a ride").waits)
    }

    fn refuse(&mut self, reason: LeaseRefusal) {
        let (nonce, _) = self.asked.pop_front().expect("a request");
        self.handle(Event::LeaseRefused { nonce, lift: fixture::lift("L1"), reason });
    }

    fn say(&mut self) -> LiftCommand {
        self.grant();
        self.run(Millis(400));
        self.to_lift.pop_front().expect("a command")
    }

    /// The door is open for the rider, and its vehicle knows.
    fn let_in(&mut self) -> VehicleCommand {
        self.grants = true;
        self.grant();
        assert_eq!(self.obey(), "OpenDoor F1");
        self.command()
    }
}

type Row = (&'static str, fn(&mut Bench), &'static str);

fn check(rows: &[Row]) {
    for (what, change, expected) in rows {
        let mut bench = asking();
        change(&mut bench);
        assert_eq!(bench.ride_waits(), *expected, "{what}");
    }
}

#[test]
fn a_ride_says_what_its_node_has_begun_to_say() {
    let held = || LeaseRefusal::Held { holder: fixture::node("B"), position: 1 };
    check(&[
        ("the lease was asked for", |_| (), "Lease"),
        ("the store is away", |it| it.refuse(LeaseRefusal::StoreDown), "StoreAway"),
        ("its replicas stay silent", |it| it.refuse(LeaseRefusal::NotReplicated), "NotReplicated"),
        (
            "it came back as another",
            |it| it.refuse(LeaseRefusal::StoreChanged { life: StoreLife::default() }),
            "StoreChanged",
        ),
        (
            "no read since the grant",
            |it| {
                it.gateway_speaks = false;
                it.grant();
                it.pump();
            },
            "Read",
        ),
        (
            "the record is asked for",
            |it| {
                it.records = false;
                it.grant();
                it.run(Millis(400));
            },
            "Record",
        ),
        ("a command was sent", |it| drop(it.say()), "Outcome { command: C-A1.1 }"),
        (
            "what it did is not known",
            |it| {
                let command = it.say();
                it.lift_answers(&command, Verdict::Unknown);
            },
            "Verifying { command: C-A1.1 }",
        ),
        (
            "the lift does it",
            |it| {
                let command = it.say();
                it.accept(&command);
                it.run(Millis(400));
            },
            "Moves",
        ),
    ]);
    let mut bench = asking();
    bench.refuse(held());
    let by_b = "LeaseHeld { holder: B }";
    assert_eq!(bench.ride_waits(), by_b);
    assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()), "it is asked for again");
    assert_eq!(bench.ride_waits(), by_b, "and the last answer is still news");
}

#[test]
fn a_ride_says_what_keeps_its_lift_from_everybody() {
    check(&[
        (
            "the gateway is silent",
            |it| {
                it.gateway_speaks = false;
                it.run(Millis::seconds(4));
            },
            "GatewaySilent",
        ),
        (
            "the PLC is away",
            |it| {
                it.connection = Connection::Down;
                it.tell_state();
            },
            "Unreachable",
        ),
        (
            "the PLC does not scan",
            |it| {
                it.connection = Connection::Frozen;
                it.tell_state();
            },
            "Frozen",
        ),
        (
            "the read is old",
            |it| {
                it.read_age = Millis(2600);
                it.tell_state();
            },
            "OldRead",
        ),
        (
            "people are served",
            |it| {
                it.status.mode = LiftMode::Human;
                it.tell_state();
            },
            "Mode { mode: Human }",
        ),
        (
            "the lift has a fault",
            |it| {
                it.status.fault = 7;
                it.tell_state();
            },
            "Fault { code: 7 }",
        ),
        (
            "the new epoch is not in the store",
            |it| {
                it.arbitration = (Arbitration::Returning, 2);
                it.refuse(LeaseRefusal::StoreDown);
                it.tell_state();
            },
            "Returning",
        ),
        (
            "the gateway arbitrates",
            |it| {
                it.arbitration = (Arbitration::Edge, 2);
                it.run(Millis::seconds(1));
            },
            "Edge { command: C-A1.1 }",
        ),
    ]);
}

/// A reason is told whenever nothing may be decided: no screen says "goes on" of a lift that stands still.
#[test]
fn there_is_a_reason_whenever_no_status_is_usable() {
    let changes: [fn(&mut Bench); 6] = [
        |it| it.connection = Connection::Down,
        |it| it.connection = Connection::Unknown,
        |it| it.read_age = Millis(2600),
        |it| it.status.fault = 1,
        |it| it.status.mode = LiftMode::Fire,
        |it| it.verifying = Some(fixture::command_id("C-Z1.1")),
    ];
    for change in changes {
        let (mut bench, lift) = (asking(), fixture::lift("L1"));
        assert!(bench.control.lift_wait(&lift, at(bench.ms)).is_none(), "it serves");
        change(&mut bench);
        bench.tell_state();
        assert!(bench.control.usable(&lift, at(bench.ms)).is_none());
        assert!(bench.control.lift_wait(&lift, at(bench.ms)).is_some(), "{:?}", bench.view());
    }
}

#[test]
fn who_drives_in_waits_for_both_channels() {
    let rows: [(&str, bool, bool, &str); 3] = [
        ("neither", false, false, "Vehicle"),
        ("the sensor alone", true, false, "Word"),
        ("its word alone", false, true, "Sensor"),
    ];
    for (what, occupied, said, expected) in rows {
        let mut bench = asking();
        let ride = bench.let_in();
        bench.take(&ride);
        bench.status.occupied = occupied;
        if said {
            bench.report(&ride, Progress::Boarded);
        }
        bench.run(Millis(400));
        assert_eq!(
            (bench.ride_waits().as_str(), bench.phase()),
            (expected, Some(SessionPhase::Boarding)),
            "{what}"
        );
    }
}

#[test]
fn what_was_decided_waits_for_the_ledger() {
    let mut bench = asking();
    bench.ledger = Ledger::Holds;
    bench.status.door = DoorState::Open;
    bench.say();
    let command = bench.control.spoken[&fixture::lift("L1")][0].1.id.clone();
    bench.lift_answers(&fixture_command(&command), Verdict::Accepted);
    bench.run(Millis(400));
    assert_eq!(bench.ride_waits(), "Ledger");
}

/// Enough of a command for its outcome.
fn fixture_command(id: &crate::ids::CommandId) -> LiftCommand {
    let (seen, read) = (fixture::status("F1", DoorState::Open), ReadRef { boot: 1, tick: 1 });
    fixture::lift_command(id.as_str(), LiftAction::OpenDoor, "F1", &seen, read)
}

#[test]
fn a_line_waits_each_for_the_one_before_it() {
    let mut bench = asking();
    let first = bench.control.book.sessions.values().next().expect("a ride").clone();
    for (n, vehicle) in [(1, "V2"), (2, "V3")] {
        let id = fixture::session(&format!("S-{vehicle}"));
        let asked = crate::ids::LedgerSequence(first.asked.0 + n);
        let (vehicle, phase) = (fixture::vehicle(vehicle), SessionPhase::Queued);
        let session = SessionBook { id: id.clone(), vehicle, asked, phase, ..first.clone() };
        bench.control.book.sessions.insert(id, session);
    }
    bench.tell_state();
    let turn = |vehicle: &str| LiftWait::Turn { after: fixture::vehicle(vehicle) };
    let told: Vec<_> = bench.view().waiting.iter().map(|it| it.waits.clone()).collect();
    assert_eq!(told, [turn("V1"), turn("V2")]);
}

#[test]
fn the_first_in_line_waits_for_an_empty_car() {
    let mut bench = Bench::with_one_vehicle();
    bench.status.occupied = true;
    bench.tell_state();
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    bench.run(Millis::seconds(1));
    let told: Vec<_> = bench.view().waiting.iter().map(|it| it.waits.clone()).collect();
    assert_eq!(told, [LiftWait::CarOccupied], "{:?}", bench.control.book().sessions);
}

#[test]
fn a_lease_of_this_node_tells_when_it_ends_and_another_nodes_only_by_what_is_heard() {
    let mut bench = asking();
    bench.gateway_speaks = false;
    bench.grant();
    bench.pump();
    let lease = bench.view().lease.clone().expect("a lease");
    let left = (lease.ends_at.expect("an end") - at(bench.ms).wall).num_milliseconds();
    assert!((29_000..LEASE_TTL.0 as i64).contains(&left), "{left} ms");

    let mut bench = Bench::ready();
    let mut command = fixture_command(&fixture::command_id("C-B1.1"));
    command.holder = fixture::node("B");
    bench.handle(Event::Overheard(Box::new(command.clone())));
    let lease = bench.view().lease.clone().expect("a lease");
    assert_eq!((lease.holder, lease.ends_at), (fixture::node("B"), None));
    bench.run(LIFT_ACK_DEADLINE);
    assert_eq!(bench.view().lease, None, "by then B has given it back");
}

#[test]
fn a_ride_of_another_node_waits_there() {
    let (house, _) = house::House::called(true);
    let control = &house.nodes[1].control;
    let ride = control.book.session_of(&fixture::lift("L1")).expect("a ride");
    let node = Some(fixture::node("A"));
    assert_eq!(control.wait_of_ride(ride, at(house.ms)), LiftWait::Elsewhere { node });
}

#[test]
fn a_lift_in_doubt_says_what_settles_it() {
    let reads = Settling::Reads { left_ms: Millis(600) };
    let rows = [
        (Some(Settling::NoReads), Some(SettlingView::NoReads)),
        (Some(Settling::Frozen), Some(SettlingView::Frozen)),
        (Some(Settling::Restarted), Some(SettlingView::Restarted)),
        (Some(Settling::Unclear), Some(SettlingView::Unclear)),
        (None, None),
    ];
    for (said, expected) in rows {
        let mut bench = asking();
        (bench.verifying, bench.settling) = (Some(fixture::command_id("C-Z1.1")), said);
        bench.tell_state();
        assert_eq!(bench.view().settling, expected, "{said:?}");
    }
    let mut bench = asking();
    (bench.verifying, bench.settling) = (Some(fixture::command_id("C-Z1.1")), Some(reads));
    bench.tell_state();
    assert_eq!(bench.view().settling, Some(SettlingView::Reads { at: at(bench.ms + 600).wall }));
    bench.gateway_speaks = false;
    bench.run(Millis::seconds(4));
    assert_eq!(bench.view().settling, Some(SettlingView::GatewaySilent));
}

#[test]
fn a_missing_outcome_is_settled_at_a_told_time() {
    let mut bench = asking();
    bench.say();
    assert!(bench.until(Millis::seconds(5), |it| it.view().verifying.is_some()));
    let Some(SettlingView::Outcome { at: settled_at }) = bench.view().settling else {
        panic!("{:?}", bench.view().settling)
    };
    assert!(bench.until(Millis::seconds(9), |it| it.view().verifying.is_none()));
    let late = at(bench.ms).wall - settled_at;
    assert!((0..=500).contains(&late.num_milliseconds()), "settled {late} after it was told");
}
