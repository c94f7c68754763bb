//! Alarms stand as long as their condition does, and what is shown follows.

use super::*;
use crate::alarm::Subject;
use crate::timing::LIFT_READ_AGE_MAX;
use crate::wire::vehicle::Telemetry;
use crate::wire::view::Hearing;

#[test]
fn an_alarm_is_raised_once_and_cleared_when_its_condition_is_gone() {
    let mut bench = Bench::ready();
    bench.status.fault = 7;
    bench.run(Millis::seconds(10));
    assert_eq!(bench.standing(), [AlarmKind::LiftFaulted]);
    let alarm = bench.alarms.values().next().expect("an alarm");
    assert_eq!((alarm.priority, &alarm.subject), (2, &Subject::Lift(fixture::lift("L1"))));
    assert_eq!(alarm.detail, "#7");
    bench.status.fault = 0;
    bench.run(Millis::seconds(1));
    assert_eq!((bench.standing(), bench.raised(AlarmKind::LiftFaulted)), (vec![], 1));
    bench.status.fault = 7;
    bench.run(Millis::seconds(1));
    assert_eq!((bench.standing(), bench.raised(AlarmKind::LiftFaulted)), (vec![AlarmKind::LiftFaulted], 2));
}

#[test]
fn an_emergency_stop_is_an_alarm_of_its_own_and_names_the_fault() {
    use AlarmKind::{LiftEmergencyStopped, LiftFaulted};
    for (fault, standing, detail) in
        [(0, vec![LiftEmergencyStopped], ""), (2, vec![LiftEmergencyStopped, LiftFaulted], "#2")]
    {
        let mut bench = Bench::ready();
        (bench.status.mode, bench.status.fault) = (crate::lift::LiftMode::Emergency, fault);
        bench.run(Millis::seconds(1));
        assert_eq!(bench.standing(), standing);
        let alarm = bench.alarms.values().find(|it| it.kind == LiftEmergencyStopped).expect("an alarm");
        assert_eq!((alarm.detail.as_str(), alarm.priority), (detail, 2));
    }
}

#[test]
fn a_standing_alarm_survives_a_restart_and_is_not_raised_again() {
    let mut bench = Bench::ready();
    bench.status.fault = 7;
    bench.run(Millis::seconds(1));
    bench.alarms.clear();
    bench.restart();
    bench.run(Millis::seconds(3));
    assert_eq!((bench.standing(), bench.raised(AlarmKind::LiftFaulted)), (vec![AlarmKind::LiftFaulted], 1));
}

#[test]
fn an_alarm_is_proposed_once_while_the_ledger_is_slow() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Holds;
    bench.status.fault = 7;
    bench.run(Millis::seconds(10));
    assert_eq!(bench.held.len(), 1);
}

#[test]
fn a_silent_vehicle_alarms_after_the_margin_for_roaming() {
    let mut bench = Bench::ready();
    let margin = bench.plant.link_budget.roaming_ms;
    bench.silent.insert(fixture::vehicle("V1"));
    bench.run(Millis(margin.0 - 500));
    assert_eq!(bench.standing(), []);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), [AlarmKind::VehicleSilent]);
    bench.silent.clear();
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), []);
}

/// The bench's own gateway says more than this one message, so it comes between two of them.
#[test]
fn what_a_gateway_does_not_understand_is_shown() {
    let mut bench = Bench::ready();
    let gateway = fixture::gateway("G1");
    let (boot, message, messages_rejected) = (2, 1, 3);
    let status = GatewayStatus { gateway, boot, message, messages_rejected, lifts: Vec::new() };
    bench.handle(Event::GatewayStatus(status));
    assert_eq!(bench.node.as_ref().map(|it| it.messages_rejected), Some(3));
}

#[test]
fn messages_that_are_not_understood_are_counted_and_alarm_when_many() {
    let mut bench = Bench::ready();
    let reject = |bench: &mut Bench| {
        bench.handle(Event::MessageRejected { topic: "vehicle/V9/ack".into(), reason: "not JSON".into() });
    };
    for _ in 0..9 {
        reject(&mut bench);
    }
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), []);
    reject(&mut bench);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), [AlarmKind::MessagesRejected]);
    bench.run(Millis::seconds(1300));
    assert!(!bench.standing().contains(&AlarmKind::MessagesRejected), "it goes when no more come");
    let node = bench.node.as_ref().expect("the node is shown");
    assert_eq!(node.messages_rejected, 10);
    assert_eq!(node.last_rejection.as_deref(), Some("vehicle/V9/ack: not JSON"));
}

#[test]
fn everything_is_shown_at_the_start_and_follows() {
    let mut bench = Bench::new();
    assert_eq!((bench.vehicles.len(), bench.lifts.len()), (2, 1));
    let node = bench.node.clone().expect("the node is shown");
    assert!(!node.broker_connected && node.ledger_writable);
    assert_eq!(bench.vehicles[&fixture::vehicle("V1")].hearing, Hearing::Never);
    assert_eq!(bench.lifts[&fixture::lift("L1")].status, None);
    bench.handle(Event::Broker { connected: true });
    assert!(bench.node.as_ref().is_some_and(|it| it.broker_connected));
    bench.run(Millis::seconds(2));
    assert_eq!(bench.lifts[&fixture::lift("L1")].status.as_ref(), Some(&bench.status));
    let telemetry = Telemetry {
        vehicle: fixture::vehicle("V1"),
        boot: 1,
        sample: 1,
        place: Place::At { point: fixture::point("H2") },
        battery_pct: 81,
        rssi_dbm: -60,
        loss_pct: 0,
    };
    bench.handle(Event::Telemetry(telemetry.clone()));
    bench.handle(Event::Telemetry(Telemetry { battery_pct: 3, ..telemetry }));
    let view = &bench.vehicles[&fixture::vehicle("V1")];
    assert_eq!((view.battery_pct, view.rssi_dbm), (Some(81), Some(-60)), "a repeat changes nothing");
    assert_eq!(view.place, Place::At { point: fixture::point("H2") });
}

#[test]
fn what_a_gateway_told_ages_on_the_screen() {
    let mut bench = Bench::ready();
    bench.read_age = Millis(400);
    bench.tell_state();
    let read_at = bench.lifts[&fixture::lift("L1")].read_at.expect("a read");
    assert_eq!((at(bench.ms).wall - read_at).num_milliseconds(), 400);
    bench.gateway_speaks = false;
    bench.run(Millis(LIFT_READ_AGE_MAX.0 + 1500));
    assert_eq!(bench.lifts[&fixture::lift("L1")].read_at, Some(read_at));
    assert_eq!(bench.lifts[&fixture::lift("L1")].gateway_hearing, Hearing::Silent);
}

#[test]
fn an_overtaken_state_of_a_gateway_changes_nothing() {
    let mut bench = Bench::ready();
    let before = bench.tick;
    bench.status.fault = 7;
    bench.tick = 0;
    bench.tell_state();
    bench.tick = before;
    assert_eq!(bench.standing(), []);
}

#[test]
fn the_node_says_each_second_that_it_lives() {
    let mut bench = Bench::ready();
    bench.beats = 0;
    bench.run(Millis::seconds(10));
    assert_eq!(bench.beats, 10);
    let (due, _) = bench.control.poll_timeout().expect("a deadline");
    assert!(due.0 > bench.ms && due.0 <= bench.ms + 250);
}
