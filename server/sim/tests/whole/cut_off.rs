//! A node that the broker does not reach, or the ledger, leaves its tasks to one that is reached.

use kernel::ids::NodeId;
use kernel::time::Millis;
use kernel::wire::ledger::Record;
use sim::fault::FaultKind;
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::{claims, config};

/// C16.
const HANDOVER_MAX: Millis = Millis::seconds(10);

#[test]
fn a_node_that_is_cut_off_at_any_moment_leaves_its_order_to_the_other() {
    let mut handed_over = 0;
    for seconds in 1..60 {
        let nodes = nodes(2).expect("names");
        let mut world = World::new(WorldConfig { nodes, ..config(1, seconds, &[(3, "S2", "S1")]) });
        world.run_for(Millis::seconds(seconds));
        let (open, before) = (world.ending().open == 1, claims(&world));
        let node = NodeId::try_new("A").expect("a name");
        world.inject(FaultKind::NodeCutOff { node, for_ms: Millis::seconds(36_000) });
        if open && before == 1 {
            assert!(world.run_until(HANDOVER_MAX, |it| claims(it) > before), "after {seconds} s");
            handed_over += 1;
        }
        let ending = world.finish(Millis::seconds(1800));
        assert!(world.violations().is_empty(), "after {seconds} s: {:#?}", world.violations());
        assert_eq!((ending.planned, ending.completed), (1, 1), "after {seconds} s: {ending:?}");
        let lost = world.ledger().iter().any(|it| matches!(it.record, Record::NodeLost { .. }));
        assert!(!lost, "after {seconds} s: it lives");
    }
    assert!(handed_over > 25, "only {handed_over} tasks were handed over");
}

/// It goes on as if nothing had happened, and whatever it still says of what it lost is refused.
#[test]
fn a_node_that_alone_does_not_reach_the_ledger_is_taken_for_lost_and_its_order_goes_on() {
    let mut handed_over = 0;
    for seconds in 1..60 {
        let nodes = nodes(2).expect("names");
        let mut world = World::new(WorldConfig { nodes, ..config(1, seconds, &[(3, "S2", "S1")]) });
        world.run_for(Millis::seconds(seconds));
        let (open, before) = (world.ending().open == 1, claims(&world));
        let node = NodeId::try_new("A").expect("a name");
        world.inject(FaultKind::LedgerCutOff { node: node.clone(), for_ms: Millis::seconds(90) });
        let entries_of_a = |it: &World| it.ledger().iter().filter(|entry| entry.node == node).count();
        let said = entries_of_a(&world);
        if open && before == 1 {
            assert!(world.run_until(HANDOVER_MAX, |it| claims(it) > before), "after {seconds} s");
            handed_over += 1;
        }
        world.run_for(Millis::seconds(60));
        assert_eq!(entries_of_a(&world), said, "after {seconds} s: nothing of it arrives");
        let ending = world.finish(Millis::seconds(1800));
        assert!(world.violations().is_empty(), "after {seconds} s: {:#?}", world.violations());
        assert_eq!((ending.planned, ending.completed), (1, 1), "after {seconds} s: {ending:?}");
        world.run_for(Millis::seconds(90));
        assert!(entries_of_a(&world) > said, "after {seconds} s: it begins anew");
    }
    assert!(handed_over > 25, "only {handed_over} tasks were handed over");
}
