//! An order is taken back at every moment of its way, at either of two nodes.

use kernel::time::Millis;
use sim::sites::nodes;
use sim::world::{Stage, Withdrawals, World, WorldConfig};

use super::config;

/// At that second, from here, to there.
type Order = (u64, &'static str, &'static str);

/// One vehicle rides to its load and back, and a second order waits for it; or the second vehicle has to ride to its
/// load while the first one rides with its own.
const SITES: [(u8, [Order; 2]); 2] =
    [(1, [(5, "S2", "S1"), (6, "S1", "S2")]), (2, [(5, "S1", "S2"), (20, "S1", "S2")])];

#[test]
fn an_order_is_taken_back_at_any_moment() {
    let mut tally = Withdrawals::default();
    for (seconds, (vehicles, orders)) in (0..120).flat_map(|it| SITES.map(|site| (it, site))) {
        let nodes = nodes(2).expect("names");
        let mut config = WorldConfig { nodes, ..config(vehicles, seconds, &orders) };
        let taken_back = usize::from(seconds % 3 == 2);
        for order in config.orders.iter_mut().skip(taken_back).take(1) {
            order.withdrawn_after = Some(Millis(seconds * 1000 + 137));
        }
        let mut world = World::new(config);
        let ending = world.finish(Millis::seconds(1800));
        let what = format!("after {seconds} s: {ending:?}");
        assert!(world.violations().is_empty(), "{what} {:#?}", world.violations());
        let withdrawn = world.withdrawals().withdrawn.values().sum::<u64>();
        assert_eq!(ending.ended, usize::try_from(withdrawn).expect("a few"), "{what}");
        // What was refused goes on, and the vehicle and the lift are free for the other one.
        assert_eq!(ending.completed + ending.ended, 2, "{what}");
        tally.add(world.withdrawals());
    }
    let stages = |counts: &std::collections::BTreeMap<Stage, u64>| counts.keys().copied().collect::<Vec<_>>();
    use Stage as S;
    for stage in [S::Waiting, S::Approaching, S::InLine, S::Riding] {
        assert!(stages(&tally.withdrawn).contains(&stage), "{stage:?}: {tally:?}");
    }
    for stage in [S::Approaching, S::Riding, S::Loaded, S::Over] {
        assert!(stages(&tally.refused).contains(&stage), "{stage:?}: {tally:?}");
    }
}
