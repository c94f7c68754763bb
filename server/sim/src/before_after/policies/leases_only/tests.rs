use kernel::lift::{DoorState, LiftAction};

use super::super::fixture::{asked, drain, idle_at, polled, read, written};
use super::*;
use crate::before_after::calibration::KNOBS;
use crate::fixture::vehicle;

/// Both nodes have a vehicle and want the lease at the same moment.
fn two_ask() -> LeasesOnly {
    let mut leases = LeasesOnly::new(1, &KNOBS);
    leases.handle(asked(NodeName::A, "V1", "F2", "F1"), Mono(0));
    leases.handle(asked(NodeName::B, "V2", "F3", "F1"), Mono(0));
    leases
}

#[test]
fn the_second_node_gets_the_lease_when_the_first_has_its_acknowledgement() {
    let mut leases = two_ask();
    assert_eq!(drain(&mut leases), [LiftEffect::Read { node: NodeName::A }]);
    leases.handle(read(NodeName::A, idle_at("F1")), Mono(70));
    let [(_, serial, _)] = &written(&mut leases)[..] else { panic!("one command") };
    leases.handle(LiftEvent::Acked { node: NodeName::A, serial: *serial }, Mono(300));
    assert_eq!(drain(&mut leases), [LiftEffect::Read { node: NodeName::B }]);
    // It reads a lift that moves by now, and sends nothing.
    let mut moving = idle_at("F1");
    moving.motion = kernel::lift::Motion::Up;
    leases.handle(read(NodeName::B, moving), Mono(370));
    assert_eq!(written(&mut leases), []);
    let counts = leases.leases().expect("it counts leases");
    assert_eq!((counts.asked, counts.granted, counts.waited_us), (2, 2, 302_000));
}

#[test]
fn a_node_waits_two_seconds_for_the_lease_and_no_longer() {
    let mut leases = two_ask();
    leases.handle(read(NodeName::A, idle_at("F1")), Mono(70));
    drain(&mut leases);
    assert_eq!(leases.poll_timeout(), Some(Mono(2000)));
    leases.handle_timeout(Mono(2000));
    // A's acknowledgement is lost: its lease ends, and B is in no line.
    leases.handle_timeout(Mono(3070));
    assert_eq!(drain(&mut leases), []);
    let counts = leases.leases().expect("it counts leases");
    assert_eq!((counts.asked, counts.granted), (2, 1));
}

#[test]
fn a_repeat_within_five_seconds_is_not_sent() {
    for (after, n_sent) in [(Mono(3600), 0), (Mono(5100), 1)] {
        let mut leases = LeasesOnly::new(1, &KNOBS);
        leases.handle(asked(NodeName::A, "V1", "F1", "F2"), Mono(0));
        leases.handle(read(NodeName::A, idle_at("F1")), Mono(70));
        let [(_, serial, wish)] = &written(&mut leases)[..] else { panic!("one command") };
        assert_eq!(wish.action, LiftAction::OpenDoor);
        leases.handle(LiftEvent::Acked { node: NodeName::A, serial: *serial }, Mono(300));
        // The door is shut all the same: after 3 s the node wants it open once more.
        leases.handle(polled(NodeName::A, idle_at("F1")), after);
        leases.handle(read(NodeName::A, idle_at("F1")), after);
        assert_eq!(written(&mut leases).len(), n_sent, "{after:?}");
    }
}

#[test]
fn nothing_is_sent_while_the_door_moves() {
    let mut leases = LeasesOnly::new(1, &KNOBS);
    leases.handle(asked(NodeName::A, "V1", "F1", "F2"), Mono(0));
    leases.handle(read(NodeName::A, idle_at("F1")), Mono(70));
    let [(_, serial, _)] = &written(&mut leases)[..] else { panic!("one command") };
    leases.handle(LiftEvent::Acked { node: NodeName::A, serial: *serial }, Mono(300));
    let mut status = idle_at("F1");
    status.door = DoorState::Opening;
    leases.handle(polled(NodeName::A, status.clone()), Mono(9000));
    leases.handle(LiftEvent::Boarded { node: NodeName::A, vehicle: vehicle("V1") }, Mono(9100));
    assert_eq!(drain(&mut leases), []);
    status.door = DoorState::Open;
    leases.handle(polled(NodeName::A, status), Mono(9300));
    assert_eq!(drain(&mut leases), [LiftEffect::Read { node: NodeName::A }]);
}
