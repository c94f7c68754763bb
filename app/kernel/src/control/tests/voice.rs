//! One command to a lift: lease, fresh read, decide, send, outcome, release.

use super::*;
use crate::timing::{LEASE_HOLD_MAX, LIFT_ACK_DEADLINE, LIFT_READ_AGE_MAX, PLC_SETTLE};
use crate::wire::gateway::GatewayRefusal;

/// A bench whose ride wants the door opened, with the lease asked for and not granted.
pub(super) fn asking() -> Bench {
    let mut bench = Bench::with_one_vehicle();
    bench.grants = false;
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    assert!(bench.until(Millis::seconds(5), |it| !it.asked.is_empty()));
    bench
}

/// A command was sent; no outcome yet.
fn waiting() -> (Bench, LiftCommand) {
    let (mut bench, _) = Bench::at_the_lift();
    assert!(bench.until(Millis::seconds(5), |it| !it.to_lift.is_empty()));
    let command = bench.to_lift.pop_front().expect("a command");
    (bench, command)
}

impl Bench {
    fn verdict(&self, command: &LiftCommand) -> Option<Verdict> {
        let view = &self.lifts[&fixture::lift("L1")];
        view.commands.iter().find(|it| it.id == command.id)?.verdict.clone()
    }
}

#[test]
fn nothing_is_sent_without_a_lease() {
    let mut bench = asking();
    bench.run(Millis::seconds(2));
    assert!(bench.to_lift.is_empty());
    assert_eq!(bench.leases, ["ask"]);
}

#[test]
fn a_command_rests_on_a_read_from_after_the_grant() {
    let mut bench = asking();
    bench.gateway_speaks = false;
    bench.grant();
    bench.run(Millis(400));
    assert!(bench.to_lift.is_empty(), "what was read before the grant is no ground");
    bench.read_age = Millis(700);
    bench.tell_state();
    assert!(bench.to_lift.is_empty(), "nor is a read that was made before it and came after it");
    bench.run(Millis(400));
    bench.read_age = Millis(100);
    bench.tell_state();
    let command = bench.to_lift.pop_front().expect("a command");
    assert_eq!(command.read, ReadRef { boot: 1, tick: bench.tick });
    assert_eq!(command.authority.token(), Some(FencingToken { epoch: 1, serial: 1 }));
    assert_eq!(command.expects, bench.status.expectation());
    assert_eq!(command.session.generation, crate::ids::Generation(1));
}

#[test]
fn a_wish_that_has_gone_gives_the_lease_back() {
    let mut bench = asking();
    bench.status.occupied = true;
    bench.grant();
    bench.run(Millis::seconds(2));
    assert_eq!(bench.leases, ["ask", "release 1"]);
    assert!(bench.to_lift.is_empty());
}

#[test]
fn a_lease_is_never_held_beyond_the_longest_hold() {
    let mut bench = asking();
    // The read comes at the last moment, and then no outcome.
    bench.gateway_speaks = false;
    bench.grant();
    let granted = bench.ms;
    for wait in [0, 2900] {
        bench.run(Millis(wait));
    }
    bench.gateway_speaks = true;
    assert!(bench.until(Millis::seconds(20), |it| it.leases.len() > 1));
    let held = bench.ms - granted;
    assert!(held <= LEASE_HOLD_MAX.0, "held for {held} ms");
}

#[test]
fn a_lease_without_a_read_is_given_back_in_time() {
    let mut bench = asking();
    bench.gateway_speaks = false;
    bench.grant();
    let granted = bench.ms;
    assert!(bench.until(Millis::seconds(20), |it| it.leases.len() > 1));
    assert_eq!(bench.leases, ["ask", "release 1"]);
    assert!(bench.ms - granted + LIFT_ACK_DEADLINE.0 <= LEASE_HOLD_MAX.0 + 500);
}

#[test]
fn a_grant_that_nobody_awaits_is_given_back() {
    let mut bench = asking();
    let (nonce, lift) = (bench.asked[0].0, fixture::lift("L1"));
    bench.handle(Event::LeaseRefused { nonce, lift, reason: LeaseRefusal::StoreDown });
    bench.leases.clear();
    bench.grant();
    bench.pump();
    assert_eq!(bench.leases, ["release 1"]);
}

#[test]
fn a_refused_lease_is_asked_for_again() {
    let mut bench = asking();
    let (nonce, _) = bench.asked.pop_front().expect("a request");
    let lift = fixture::lift("L1");
    bench.handle(Event::LeaseRefused { nonce, lift, reason: LeaseRefusal::StoreDown });
    assert!(bench.asked.is_empty(), "not at once");
    assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
    assert!(bench.asked[0].0 > nonce, "under a new nonce");
}

/// Above all that may ever have been granted by what the store has forgotten: nobody knows how much that is.
#[test]
fn a_store_that_changed_is_asked_by_its_new_life_once_the_ledger_lifted_the_floor() {
    let mut bench = asking();
    let (before, unnamed) = bench.asked_by.clone();
    assert_eq!(unnamed, StoreLife::default());
    for (nth, name) in [(1, "second"), (2, "third"), (3, "second")] {
        let life = StoreLife::try_new(name).unwrap();
        let (nonce, _) = bench.asked.pop_front().expect("a request");
        let reason = LeaseRefusal::StoreChanged { life: life.clone() };
        bench.handle(Event::LeaseRefused { nonce, lift: fixture::lift("L1"), reason: reason.clone() });
        assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
        assert_eq!(bench.asked_by, (before + (nth << 32), life), "{name}");
        // Who asked before it knew is told the same, and lifts nothing twice.
        let (nonce, _) = bench.asked.pop_front().expect("a request");
        bench.handle(Event::LeaseRefused { nonce, lift: fixture::lift("L1"), reason });
        assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
        assert_eq!(bench.asked_by.0, before + (nth << 32), "{name}");
    }
}

#[test]
fn a_store_that_changed_is_asked_by_its_old_life_as_long_as_the_ledger_does_not_know() {
    let mut bench = asking();
    bench.ledger = Ledger::Holds;
    let before = bench.asked_by.clone();
    let (nonce, _) = bench.asked.pop_front().expect("a request");
    let reason = LeaseRefusal::StoreChanged { life: StoreLife::try_new("second").unwrap() };
    bench.handle(Event::LeaseRefused { nonce, lift: fixture::lift("L1"), reason });
    assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
    assert_eq!(bench.asked_by, before);
}

/// The answer is lost on its way, or the shell itself cannot tell whether the store granted.
#[test]
fn a_lost_answer_is_asked_for_again_by_the_same_nonce() {
    for told in [true, false] {
        let mut bench = asking();
        let (nonce, _) = bench.asked.pop_front().expect("a request");
        if told {
            let lift = fixture::lift("L1");
            bench.handle(Event::LeaseRefused { nonce, lift, reason: LeaseRefusal::Unknown });
        } else {
            assert!(bench.until(Millis::seconds(4), |it| !it.asked.is_empty()));
        }
        assert_eq!(bench.asked.pop_front().map(|it| it.0), Some(nonce), "told {told}");
    }
}

#[test]
fn the_lease_ends_with_the_outcome() {
    let verdicts = [
        Verdict::Accepted,
        Verdict::Refused { reason: GatewayRefusal::NotNow },
        Verdict::Refused { reason: GatewayRefusal::UnknownTarget },
        Verdict::Expired,
        Verdict::NotSent,
        Verdict::Unknown,
    ];
    for verdict in verdicts {
        let (mut bench, command) = waiting();
        assert_eq!(bench.leases, ["ask"], "{verdict:?}");
        bench.lift_answers(&command, verdict.clone());
        assert_eq!(bench.leases, ["ask", "release 1"], "{verdict:?}");
        assert_eq!(bench.verdict(&command), Some(verdict));
    }
}

#[test]
fn after_an_accepted_command_nothing_is_asked_before_a_newer_read() {
    let (mut bench, command) = waiting();
    bench.gateway_speaks = false;
    bench.lift_answers(&command, Verdict::Accepted);
    bench.run(Millis::seconds(1));
    assert_eq!(
        bench.leases,
        ["ask", "release 1"],
        "the read from before the command is no ground for a lease"
    );
}

#[test]
fn a_refused_command_is_decided_anew() {
    let (mut bench, command) = waiting();
    bench.lift_answers(&command, Verdict::Refused { reason: GatewayRefusal::StaleRead });
    assert!(bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()));
    let again = bench.to_lift.pop_front().expect("a command");
    assert_ne!(again.id, command.id);
    assert!(
        again.authority.token() > command.authority.token()
            && again.sequence > command.sequence
            && again.read.tick > command.read.tick
    );
}

#[test]
fn without_an_outcome_the_lift_is_verified_before_anything_is_sent() {
    // Whether the echo moved, and what that says.
    for (echo, expected) in [(true, Verdict::Ran), (false, Verdict::NotSent)] {
        let (mut bench, command) = waiting();
        assert!(bench.until(Millis(LIFT_ACK_DEADLINE.0 + 300), |it| it.leases.len() == 2), "released");
        assert_eq!(bench.verdict(&command), Some(Verdict::Unknown));
        bench.run(Millis(500));
        assert_eq!(bench.standing(), [AlarmKind::LiftUnverified]);
        assert_eq!(bench.lifts[&fixture::lift("L1")].verifying, Some(command.id.clone()));
        if echo {
            bench.status.accepted += 1;
            bench.complete(&command);
        }
        bench.run(Millis(LIFT_READ_AGE_MAX.0 + PLC_SETTLE.0 - 1000));
        assert!(bench.to_lift.is_empty());
        bench.run(Millis::seconds(2));
        assert_eq!(bench.verdict(&command), Some(expected));
        assert_eq!(bench.standing(), []);
        assert_eq!(bench.to_lift.is_empty(), echo, "what did not run is decided anew");
    }
}

#[test]
fn a_late_outcome_settles_it_too() {
    let (mut bench, command) = waiting();
    bench.lift_answers(&command, Verdict::Unknown);
    bench.verifying = Some(command.id.clone());
    bench.run(Millis::seconds(30));
    assert!(bench.to_lift.is_empty(), "as long as the gateway verifies, nothing is sent");
    bench.verifying = None;
    bench.lift_answers(&command, Verdict::NotSent);
    assert!(bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()));
}

#[test]
fn the_outcome_of_another_command_changes_nothing() {
    let (mut bench, command) = waiting();
    let other = LiftCommand { id: fixture::command_id("C-Z1.1"), ..command.clone() };
    bench.lift_answers(&other, Verdict::Accepted);
    assert_eq!((bench.leases.len(), bench.verdict(&command)), (1, None));
}
