//! A lease that is held for long: it is renewed, or lost with work in hand.

use kernel::ids::{GatewayId, NodeId};
use kernel::time::Millis;
use sim::fault::{FaultKind, Road, RoadEffect, StoreFault};
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::config;

const PATIENCE: Millis = Millis::seconds(600);

fn node() -> NodeId {
    NodeId::try_new("A").expect("a name")
}

/// Goes on until the log says it `n` times.
fn until(world: &mut World, says: &str, n: usize) {
    let found = |it: &World| it.log().iter().filter(|it| it.contains(says)).count() >= n;
    assert!(
        world.run_until(PATIENCE, found),
        "{says}: {:#?}",
        world.log().iter().rev().take(60).collect::<Vec<_>>()
    );
}

fn count(world: &World, says: &str) -> usize {
    world.log().iter().filter(|it| it.contains(says)).count()
}

/// The read comes late, and so does the acknowledgement: more than five seconds after the lease was asked for.
fn acknowledged_late() -> World {
    let mut world = World::new(config(1, 1, &[(5, "S2", "S1")]));
    until(&mut world, "L1 is granted to A", 1);
    let gateway = GatewayId::try_new("G1").expect("a name");
    world.inject(FaultKind::GatewayPaused { gateway, for_ms: Millis(2500) });
    until(&mut world, "→ L1 C-A1.1", 1);
    let effect = RoadEffect::Delay { by_ms: Millis(2700) };
    world.inject(FaultKind::Road { road: Road::Outcome, effect, permille: 1000, for_ms: Millis::seconds(1) });
    world
}

fn completes(mut world: World) -> World {
    let ending = world.finish(Millis::seconds(3600));
    assert!(world.violations().is_empty(), "{:#?}", world.violations());
    assert_eq!((ending.planned, ending.completed), (1, 1), "{ending:?}");
    world
}

#[test]
fn a_lease_is_renewed_while_its_command_is_under_way() {
    let mut world = acknowledged_late();
    let asked_at = world.elapsed();
    until(&mut world, "A renews L1", 1);
    assert!(world.elapsed().0 - asked_at.0 < 3000, "{:?}", world.elapsed());
    assert_eq!(count(&world, "L1 is granted to A"), 1, "it is the same lease");
    let world = completes(world);
    assert_eq!(
        (count(&world, "does not renew"), count(&world, "A renews L1")),
        (0, 1),
        "no other takes so long"
    );
}

/// The store forgets it in the middle of the command.
#[test]
fn what_was_sent_under_a_lost_lease_is_awaited() {
    let mut world = acknowledged_late();
    world.inject(FaultKind::Store(StoreFault::Emptied));
    until(&mut world, "A does not renew L1: Lost", 1);
    let lift = world.plant().lifts.keys().next().cloned().expect("a lift");
    world.run_for(Millis(10));
    assert_eq!(world.control(&node()).map(|it| it.leases_lost(&lift)), Some(1));
    let world = completes(world);
    assert_eq!(count(&world, "gives L1 back"), 0, "what is another's is not asked back");
}

/// A, which does not know that B drives its ride by now, sleeps on a grant until B has broken it: what A would send is
/// given up before it asks for anything else.
#[test]
fn what_was_not_sent_under_a_broken_lease_is_given_up() {
    let two = WorldConfig { nodes: nodes(2).expect("names"), ..config(2, 1, &[(5, "S1", "S2")]) };
    let mut world = World::new(two);
    until(&mut world, "→ L1 C-A1.1", 1);
    world.inject(FaultKind::LedgerCutOff { node: node(), for_ms: Millis::seconds(60) });
    until(&mut world, "TaskClaimed", 2);
    let before = count(&world, "L1 is granted to A");
    until(&mut world, "L1 is granted to A", before + 1);
    world.inject(FaultKind::NodePaused { node: node(), for_ms: Millis(6500) });
    let (sent, by_b) = (count(&world, "→ L1 C-A1."), count(&world, "L1 is granted to B"));
    until(&mut world, "L1 is granted to B", by_b + 1);
    until(&mut world, "A does not renew L1: Lost", 1);
    world.run_for(Millis(400));
    let said = (count(&world, "→ L1 C-A1."), count(&world, "is not called by C-A1"));
    assert_eq!(said, (sent, 0), "{:#?}", world.log().iter().rev().take(40).collect::<Vec<_>>());
    completes(world);
}
