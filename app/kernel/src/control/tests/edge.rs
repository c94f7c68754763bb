//! Edge arbitration as a node takes part in it: what it says of the store, what it sends without a lease, what it
//! brings to the ledger.

use super::*;
use crate::timing::{CONTROL_BEAT_PERIOD, LEASE_WAIT};
use crate::wire::gateway::{Authority, GatewayRefusal, StoredEpoch};

/// A bench whose ride wants the door opened, and whose gateway arbitrates.
fn at_the_edge() -> Bench {
    let mut bench = Bench::with_one_vehicle();
    (bench.arbitration, bench.store) = ((Arbitration::Edge, 2), Some(false));
    bench.run(Millis(400));
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    bench
}

fn recorded(bench: &Bench) -> Vec<String> {
    let line = |record: &Record| {
        if let Record::ArbitrationChanged { arbitration, epoch, .. } = record {
            return Some(format!("{arbitration:?} {epoch}"));
        }
        let Record::EdgeDecided { command, verdict, .. } = record else { return None };
        Some(format!("{command} {verdict:?}"))
    };
    bench.entries.iter().filter_map(|it| line(&it.record)).collect()
}

#[test]
fn a_beat_says_what_the_store_last_answered() {
    let mut bench = Bench::ready();
    let said = |bench: &Bench| bench.beat.as_ref().expect("a beat").reaches_store;
    assert_eq!(said(&bench), None, "the shell has not said anything");
    for reached in [true, false] {
        bench.store = Some(reached);
        bench.run(CONTROL_BEAT_PERIOD.times(2));
        assert_eq!(said(&bench), Some(reached));
    }
}

#[test]
fn at_the_edge_a_command_carries_no_lease_and_is_recorded_with_its_outcome() {
    let mut bench = at_the_edge();
    assert!(bench.until(Millis::seconds(5), |it| !it.to_lift.is_empty()));
    let command = bench.to_lift.pop_front().expect("a command");
    assert_eq!(command.authority, Authority::Edge { epoch: 2 });
    assert_eq!(bench.leases, [""; 0], "the store is not asked");
    bench.lift_answers(&command, Verdict::Unknown);
    bench.lift_answers(&command, Verdict::Ran);
    bench.lift_answers(&command, Verdict::Ran);
    let lines = ["Edge 2".to_owned(), format!("{} None", command.id), format!("{} Some(Ran)", command.id)];
    assert_eq!(recorded(&bench), lines);
    assert_eq!(bench.standing(), [AlarmKind::LiftOnEdge]);
    let view = &bench.lifts[&fixture::lift("L1")];
    assert_eq!((view.arbitration, view.epoch), (Arbitration::Edge, Some(2)));
    assert_eq!(view.commands[0].token, None);
}

#[test]
fn a_refused_edge_command_is_decided_anew_under_the_epoch_that_counts_by_then() {
    let mut bench = at_the_edge();
    assert!(bench.until(Millis::seconds(5), |it| !it.to_lift.is_empty()));
    let command = bench.to_lift.pop_front().expect("a command");
    bench.arbitration = (Arbitration::Edge, 4);
    bench.lift_answers(&command, Verdict::Refused { reason: GatewayRefusal::WrongArbitration });
    assert!(bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()));
    let again = bench.to_lift.pop_front().expect("a command");
    assert_eq!(again.authority, Authority::Edge { epoch: 4 });
}

#[test]
fn what_was_asked_of_the_store_is_void_when_the_gateway_arbitrates() {
    for granted in [false, true] {
        let mut bench = super::voice::asking();
        bench.arbitration = (Arbitration::Edge, 2);
        if granted {
            bench.gateway_speaks = false;
            bench.grant();
            bench.gateway_speaks = true;
        }
        assert!(bench.until(LEASE_WAIT, |it| !it.to_lift.is_empty()), "granted {granted}");
        let command = bench.to_lift.pop_front().expect("a command");
        assert_eq!(command.authority, Authority::Edge { epoch: 2 });
        assert_eq!(bench.leases.contains(&"release 1".to_owned()), granted);
    }
}

#[test]
fn the_store_is_brought_under_the_new_epoch_and_that_is_said_until_leases_count() {
    let mut bench = Bench::ready();
    (bench.arbitration, bench.store) = ((Arbitration::Returning, 3), Some(false));
    bench.run(CONTROL_BEAT_PERIOD.times(2));
    assert_eq!(bench.leases, [""; 0], "it does not reach the store");
    bench.store = Some(true);
    bench.run(CONTROL_BEAT_PERIOD.times(3));
    assert_eq!(bench.leases, ["ask", "release 1"], "once");
    let epochs = |bench: &Bench| bench.beat.clone().expect("a beat").epochs;
    assert_eq!(epochs(&bench), [StoredEpoch { lift: fixture::lift("L1"), epoch: 3 }]);
    bench.arbitration = (Arbitration::Lease, 3);
    bench.run(CONTROL_BEAT_PERIOD.times(2));
    assert_eq!(epochs(&bench), []);
    assert_eq!(recorded(&bench), ["Returning 3", "Lease 3"]);
    assert_eq!(bench.standing(), []);
}

#[test]
fn a_lift_in_error_at_the_edge_calls_for_maintenance() {
    let mut bench = Bench::ready();
    bench.status.levelled = false;
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), []);
    bench.arbitration = (Arbitration::Edge, 2);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), [AlarmKind::LiftNeedsMaintenance, AlarmKind::LiftOnEdge]);
}

#[test]
fn what_cannot_be_recorded_is_not_done() {
    let mut bench = at_the_edge();
    bench.run(Millis::seconds(1));
    bench.ledger = Ledger::Holds;
    let mut sent = 0;
    // Each refusal makes two notes.
    while bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()) {
        let command = bench.to_lift.pop_front().expect("a command");
        bench.lift_answers(&command, Verdict::Refused { reason: GatewayRefusal::StaleRead });
        sent += 1;
        assert!(sent <= 40, "without end");
    }
    assert!(sent >= 30, "{sent}");
    bench.let_go();
    assert!(bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()), "it goes on");
}
