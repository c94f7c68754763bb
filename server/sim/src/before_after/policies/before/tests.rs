use kernel::lift::LiftAction;

use super::super::fixture::{asked, idle_at, polled, written};
use super::*;
use crate::before_after::calibration::KNOBS;

#[test]
fn both_nodes_take_a_lift_that_looks_idle_to_both() {
    let mut before = Before::new(1, &KNOBS);
    for (node, vehicle, from) in [(NodeName::A, "V1", "F2"), (NodeName::B, "V2", "F3")] {
        before.handle(polled(node, idle_at("F1")), Mono(0));
        before.handle(asked(node, vehicle, from, "F1"), Mono(1));
    }
    let sent: Vec<_> = written(&mut before).into_iter().map(|(node, _, wish)| (node, wish.action)).collect();
    assert_eq!(sent, [(NodeName::A, LiftAction::GoTo), (NodeName::B, LiftAction::GoTo)]);
}

#[test]
fn a_command_without_acknowledgement_is_sent_again_as_a_new_one() {
    let mut before = Before::new(1, &KNOBS);
    before.handle(polled(NodeName::A, idle_at("F1")), Mono(0));
    before.handle(asked(NodeName::A, "V1", "F2", "F1"), Mono(1));
    let [(_, first, wish)] = &written(&mut before)[..] else { panic!("one command") };
    assert_eq!(before.poll_timeout(), Some(Mono(3001)));
    before.handle_timeout(Mono(3000));
    assert_eq!(written(&mut before), []);
    before.handle_timeout(Mono(3001));
    let [(_, second, again)] = &written(&mut before)[..] else { panic!("one command") };
    assert_eq!(wish, again);
    assert_ne!(first, second);
    // Once it is acknowledged nothing more is due.
    before.handle(LiftEvent::Acked { node: NodeName::A, serial: *second }, Mono(3100));
    assert_eq!(before.poll_timeout(), None);
}
