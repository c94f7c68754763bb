//! Whole orders across floors, in virtual time, through the machines that ship.

#![expect(clippy::expect_used, reason = "a test whose site cannot be built has failed")]

mod accidents;
mod boundaries;
mod cut_off;
mod held;
mod ledger_road;
mod seeds;
mod standstill;
mod takeover;
mod thaw;
mod two_in_car;
mod withdraw;

use kernel::ids::{GatewayId, NodeId, StationId};
use kernel::time::Millis;
use kernel::wire::ledger::Record;
use sim::fault::{Fault, FaultKind};
use sim::sites::{SiteShape, site};
use sim::world::{PlannedOrder, World, WorldConfig};

/// Claims that the ledger holds.
fn claims(world: &World) -> usize {
    world.ledger().iter().filter(|it| matches!(it.record, Record::TaskClaimed { .. })).count()
}

fn config(vehicles: u8, seed: u64, orders: &[(u64, &str, &str)]) -> WorldConfig {
    let plant = site(SiteShape { floors: 2, lifts: 1, vehicles, gateways: 1 }).expect("a site");
    let station = |name: &str| StationId::try_new(name).expect("a name");
    let orders = orders
        .iter()
        .map(|(at, from, to)| PlannedOrder {
            at: Millis::seconds(*at),
            from: station(from),
            to: station(to),
            withdrawn_after: None,
        })
        .collect();
    WorldConfig { orders, logged: true, ..WorldConfig::new(plant, seed) }
}

/// Every order completed, nothing found.
fn holds(config: WorldConfig, what: &str) {
    let mut world = World::new(config);
    let ending = world.finish(Millis::seconds(3600));
    let tail = world.log().iter().rev().take(150).rev().cloned().collect::<Vec<_>>().join("\n");
    assert!(world.violations().is_empty(), "{what}: {:#?}\n{tail}", world.violations());
    assert_eq!(ending.completed, ending.planned, "{what}: {ending:?}\n{tail}");
}

fn with_fault(seconds: u64, kind: FaultKind) -> WorldConfig {
    let at = Millis(seconds * 1000 + 137);
    WorldConfig { faults: vec![Fault { at, kind }], ..config(2, seconds, &[(5, "S2", "S1")]) }
}

#[test]
fn one_order_goes_from_the_upper_floor_to_the_lower() {
    holds(config(2, 1, &[(5, "S2", "S1")]), "one order");
}

#[test]
fn many_orders_share_one_lift() {
    let orders: Vec<_> =
        (0..8).map(|n| if n % 2 == 0 { (n * 5, "S2", "S1") } else { (n * 5, "S1", "S2") }).collect();
    for seed in 1..=5 {
        holds(config(4, seed, &orders), &format!("seed {seed}"));
    }
}

#[test]
fn control_is_killed_at_any_moment_and_the_load_is_moved_once() {
    let node = NodeId::try_new("A").expect("a name");
    for seconds in (2..120).step_by(3) {
        let kind = FaultKind::NodeKilled { node: node.clone(), for_ms: Millis::seconds(8) };
        holds(with_fault(seconds, kind), &format!("killed after {seconds} s"));
    }
}

#[test]
fn the_gateway_is_restarted_at_any_moment_and_the_load_is_moved_once() {
    let gateway = GatewayId::try_new("G1").expect("a name");
    for seconds in (2..120).step_by(3) {
        let kind = FaultKind::GatewayKilled { gateway: gateway.clone(), for_ms: Millis(500) };
        holds(with_fault(seconds, kind), &format!("restarted after {seconds} s"));
    }
}
