//! A machine dies right after each single effect of a whole order over a lift, and the load is moved once (C16).

use kernel::ids::{GatewayId, NodeId};
use kernel::time::Millis;
use kernel::wire::ledger::{Record, SessionPhase};
use sim::fault::Machine;
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::config;

/// For good, as far as the order goes.
const FOR_GOOD: Millis = Millis::seconds(36_000);

fn site(n_nodes: u8) -> WorldConfig {
    let nodes = nodes(n_nodes).expect("names");
    WorldConfig { nodes, logged: false, ..config(1, 1, &[(2, "S2", "S1")]) }
}

fn node(name: &str) -> Machine {
    Machine::Node(NodeId::try_new(name).expect("a name"))
}

/// Plays the order to its end, the machine dying after this effect; says how many effects of it were counted.
fn play(config: &WorldConfig, machine: &Machine, dies: Option<(u64, Millis)>) -> u64 {
    let mut world = World::new(config.clone());
    if let Some((effect, away)) = dies {
        world.kill_after(machine, effect, away);
    }
    let ending = world.finish(Millis::seconds(1800));
    let what = format!("{machine:?} dies after {dies:?}");
    assert!(world.violations().is_empty(), "{what}: {:#?}", world.violations());
    assert_eq!((ending.planned, ending.completed), (1, 1), "{what}: {ending:?}");
    let moved: Vec<_> = world.sim().loads().iter().map(|(_, it)| (it.picked, it.dropped)).collect();
    assert_eq!(moved, [(1, 1)], "{what}");
    assert!(!world.is_to_die(machine), "{what}: it has not died");
    world.effects_of(machine)
}

#[test]
fn a_machine_dies_after_each_of_its_effects_and_the_load_is_moved_once() {
    let gateway = Machine::Gateway(GatewayId::try_new("G1").expect("a name"));
    let rows = [
        ("the only node", 1, node("A"), Millis::seconds(2), 60),
        ("the node that drives, of two", 2, node("A"), FOR_GOOD, 60),
        ("the node that took the order, of two", 2, node("B"), FOR_GOOD, 2),
        ("the gateway", 1, gateway, Millis::seconds(1), 60),
    ];
    for (name, n_nodes, machine, away, at_least) in rows {
        let config = site(n_nodes);
        let boundaries = play(&config, &machine, None);
        assert!(boundaries >= at_least, "{name}: only {boundaries} boundaries");
        for effect in 1..=boundaries {
            play(&config, &machine, Some((effect, away)));
        }
        println!("{name}: {boundaries} boundaries");
    }
}

/// Plays one order that is taken back while its vehicle rides to the load, the machine dying after this effect; says how
/// many effects of it were counted, until then and in all.
fn play_taken_back(machine: &Machine, n_passed: usize, dies: Option<(u64, Millis)>) -> (u64, u64) {
    let mut world = World::new(site(2));
    if let Some((effect, away)) = dies {
        world.kill_after(machine, effect, away);
    }
    let what = format!("{machine:?} dies after {dies:?}, {n_passed} passed over");
    let rides = |it: &World| {
        let riding = |it: &Record| matches!(it, Record::SessionChanged { phase: SessionPhase::Riding, .. });
        it.ledger().iter().any(|entry| riding(&entry.record))
    };
    assert!(world.run_until(Millis::seconds(600), rides), "{what}: nobody rides");
    let before = world.effects_of(machine);
    world.take_back_past(0, n_passed);
    let ending = world.finish(Millis::seconds(1800));
    assert!(world.violations().is_empty(), "{what}: {:#?}", world.violations());
    assert_eq!((ending.planned, ending.ended, ending.completed), (1, 1, 0), "{what}: {ending:?}");
    assert_eq!(world.sim().loads().iter().count(), 0, "{what}: something was picked");
    assert!(!world.is_to_die(machine), "{what}: it has not died");
    (before, world.effects_of(machine))
}

/// Asked at A and at B, while one or the other dies.
#[test]
fn a_node_dies_after_each_of_its_effects_and_an_order_is_taken_back_in_the_ride() {
    for (machine, away) in [(node("A"), FOR_GOOD), (node("B"), FOR_GOOD), (node("A"), Millis::seconds(2))] {
        let mut n_later = 0;
        for n_passed in [0, 1] {
            let (before, boundaries) = play_taken_back(&machine, n_passed, None);
            for effect in before + 1..=boundaries {
                play_taken_back(&machine, n_passed, Some((effect, away)));
            }
            println!("{machine:?}, {n_passed} passed over: {before} to {boundaries}");
            n_later += boundaries - before;
        }
        assert!(n_later > 0, "{machine:?} does nothing more");
    }
}

/// The count goes on over all lives, and a number that is reached already kills at once.
#[test]
fn a_machine_that_is_to_die_later_than_it_acts_lives() {
    let mut world = World::new(site(1));
    world.kill_after(&node("A"), 1_000_000, Millis::seconds(2));
    world.run_for(Millis::seconds(30));
    assert!(world.is_to_die(&node("A")) && world.effects_of(&node("A")) > 5);
    world.kill_after(&node("A"), 1, Millis::seconds(2));
    assert!(!world.is_to_die(&node("A")) && world.control(&NodeId::try_new("A").expect("a name")).is_none());
}
