//! An order is taken back at every moment of its way, at either of two nodes.

use kernel::ids::NodeId;
use kernel::safeguard::{Safeguard, Safeguards};
use kernel::task::TaskEvent;
use kernel::time::Millis;
use kernel::wire::ledger::Record;
use sim::checkers::Checker;
use sim::fault::FaultKind;
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
        let answers = world.withdrawals();
        let withdrawn = answers.withdrawn.values().chain(answers.asked.values()).sum::<u64>();
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
    assert!(stages(&tally.asked).contains(&S::Riding), "{tally:?}");
    for stage in [S::Approaching, S::Loaded, S::Over] {
        assert!(stages(&tally.refused).contains(&stage), "{stage:?}: {tally:?}");
    }
}

/// The vehicle is in the car, on its way to the load, when its order is taken back; then the node that has its task is
/// killed.
#[test]
fn an_order_is_taken_back_after_the_ride_although_its_node_is_killed_meanwhile() {
    for (safeguards, withdrawn) in
        [(Safeguards::ALL, true), (Safeguards::all_but(Safeguard::AskedWithdrawal), false)]
    {
        let nodes = nodes(2).expect("names");
        let config = WorldConfig { nodes, safeguards, ..config(1, 1, &[(5, "S2", "S1")]) };
        let mut world = World::new(config);
        let is_in = |it: &World, text: &str| it.log().iter().any(|line| line.contains(text));
        assert!(world.run_until(Millis::seconds(300), |it| is_in(it, "phase: Riding")), "nobody rides");
        let owner = |it: &World| {
            let book = it.control(&NodeId::try_new("B").expect("a name")).expect("B is up").book();
            book.tasks.values().next().and_then(|task| task.claimed_by.clone()).expect("an owner")
        };
        let killed = owner(&world);
        world.take_back(0);
        assert!(world.run_until(Millis::seconds(5), |it| is_in(it, "WithdrawalAsked")), "not asked for");
        assert!(world.run_until(Millis::seconds(5), |it| is_in(it, "withdrawal 1: Ok(Asked")), "not told");
        world.inject(FaultKind::NodeKilled { node: killed.clone(), for_ms: Millis::seconds(600) });
        let ending = world.finish(Millis::seconds(1800));
        let found: Vec<_> = world.violations().iter().map(|it| it.checker).collect();
        if !withdrawn {
            assert_eq!(found, [Checker::WithdrawnIsOver]);
            continue;
        }
        assert_eq!((found, ending.ended, ending.completed), (vec![], 1, 0), "{ending:?}");
        let by: Vec<_> = world
            .ledger()
            .iter()
            .filter(|it| matches!(it.record, Record::TaskChanged { event: TaskEvent::Withdrawn { .. }, .. }))
            .map(|it| it.node.clone())
            .collect();
        assert_eq!(by.len(), 1, "once");
        assert_ne!(by[0], killed);
    }
}
