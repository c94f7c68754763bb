//! The road to the ledger loses what is said on it, or doubles it, at any moment of a whole order.

use kernel::safeguard::{Safeguard, Safeguards};
use kernel::time::Millis;
use sim::checkers::Checker;
use sim::fault::{FaultKind, Road, RoadEffect};
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::{config, with_fault};

const COPIES: RoadEffect = RoadEffect::Duplicate { after_ms: Millis::seconds(3) };

fn trouble(effect: RoadEffect, permille: u16) -> FaultKind {
    FaultKind::Road { road: Road::Ledger, effect, permille, for_ms: Millis::seconds(20) }
}

fn count(world: &World, says: &str) -> usize {
    world.log().iter().filter(|it| it.contains(says)).count()
}

/// Both of the two things that may have become of a lost proposal come to light, and the order is done once.
#[test]
fn what_is_lost_on_the_way_is_asked_after() {
    let (mut stored, mut not_stored) = (0, 0);
    for seconds in (2..60).step_by(2) {
        for permille in [300, 1000] {
            let config = WorldConfig {
                nodes: nodes(2).expect("names"),
                ..with_fault(seconds, trouble(RoadEffect::Drop, permille))
            };
            let mut world = World::new(config);
            let ending = world.finish(Millis::seconds(3600));
            assert!(world.violations().is_empty(), "{seconds}: {:#?}", world.violations());
            assert_eq!((ending.planned, ending.completed), (1, 1), "{seconds}: {ending:?}");
            stored += count(&world, "asked after a proposal: stored true");
            not_stored += count(&world, "asked after a proposal: stored false");
        }
    }
    assert!(stored > 20 && not_stored > 20, "{stored} of {} were stored", stored + not_stored);
}

/// Everything that is proposed comes to the ledger twice.
fn doubled(safeguards: Safeguards) -> World {
    let mut world = World::new(WorldConfig { safeguards, ..config(1, 1, &[(5, "S2", "S1")]) });
    world.run_for(Millis::seconds(3));
    world.inject(trouble(COPIES, 1000));
    world.run_for(Millis::seconds(60));
    world
}

#[test]
fn a_copy_of_a_proposal_is_not_stored() {
    let world = doubled(Safeguards::ALL);
    assert!(count(&world, "refused by the ledger: a copy") > 3, "{:#?}", world.log());
    assert!(world.violations().is_empty(), "{:#?}", world.violations());
    let world = doubled(Safeguards::all_but(Safeguard::ConditionalWrites));
    let found = world.violations().first().map(|it| it.checker);
    assert_eq!(found, Some(Checker::OneOwner), "its one order was placed twice");
}
