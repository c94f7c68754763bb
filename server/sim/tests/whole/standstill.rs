//! A vehicle or the broker stands still, and clocks are set, at any moment of a whole order.

use kernel::ids::{GatewayId, NodeId, VehicleId};
use kernel::time::Millis;
use sim::fault::{FaultKind, Machine};
use sim::plant::PlantTrouble;
use sim::vehicle::{RadioEffect, RadioPlace};
use sim::world::World;

use super::{config, holds, with_fault};

const SPAN: Millis = Millis::seconds(12);

fn vehicle(name: &str) -> VehicleId {
    VehicleId::try_new(name).expect("a name")
}

fn frozen(name: &str) -> FaultKind {
    FaultKind::Plant(PlantTrouble::VehicleFrozen { vehicle: vehicle(name), for_ms: SPAN })
}

#[test]
fn the_vehicle_stands_still_at_any_moment_and_the_load_is_moved_once() {
    for seconds in 2..120 {
        holds(with_fault(seconds, frozen("V2")), &format!("frozen after {seconds} s"));
    }
}

#[test]
fn the_broker_stands_still_at_any_moment_and_the_load_is_moved_once() {
    for seconds in 2..120 {
        let kind = FaultKind::BrokerPaused { for_ms: SPAN };
        holds(with_fault(seconds, kind), &format!("paused after {seconds} s"));
    }
}

/// Nothing is ordered and nothing is safe by a wall clock, so it does not matter which way it goes (A5).
#[test]
fn clocks_are_set_either_way_at_any_moment_and_the_load_is_moved_once() {
    let node = NodeId::try_new("A").expect("a name");
    let gateway = GatewayId::try_new("G1").expect("a name");
    for machine in [Machine::Node(node), Machine::Gateway(gateway), Machine::Store, Machine::Broker] {
        for by_ms in [-60_000, -3000, 3000, 60_000] {
            for seconds in (2..120).step_by(7) {
                let kind = FaultKind::ClockStepped { machine: machine.clone(), by_ms };
                holds(with_fault(seconds, kind), &format!("{machine:?} by {by_ms} after {seconds} s"));
            }
        }
    }
}

/// Lines of the log that say this, from now on for so long.
fn lines(world: &mut World, span: Millis, says: &str) -> usize {
    let from = world.log().len();
    world.run_for(span);
    world.log().iter().skip(from).filter(|it| it.contains(says)).count()
}

/// The order comes, and nobody is told before the standstill is over.
#[test]
fn what_is_sent_to_whom_stands_still_arrives_afterwards() {
    for (what, kind) in
        [("the vehicle", frozen("V2")), ("the broker", FaultKind::BrokerPaused { for_ms: SPAN })]
    {
        let mut world = World::new(config(2, 1, &[(5, "S2", "S1")]));
        world.run_for(Millis(4900));
        world.inject(kind);
        assert_eq!(lines(&mut world, Millis(11_500), "V2 hears T-A1.0"), 0, "{what}");
        assert!(lines(&mut world, Millis(600), "V2 hears T-A1.0") > 0, "{what}");
    }
}

/// The command is on its way to V1 when the broker goes. One that forgets has nothing for V1 when it comes back.
#[test]
fn what_was_on_its_way_is_forgotten_with_the_rest() {
    for (forgets, kept) in [(false, 1), (true, 0)] {
        let mut world = World::new(config(1, 1, &[(5, "S1", "S2")]));
        world.run_for(Millis(4500));
        let (place, effect) =
            (RadioPlace::Vehicle(vehicle("V1")), RadioEffect::Slow { by_ms: Millis::seconds(2) });
        let for_ms = Millis::seconds(1);
        world.inject(FaultKind::Plant(PlantTrouble::Radio { place, effect, for_ms }));
        assert_eq!(lines(&mut world, Millis(900), "→ V1 T-A1.0"), 1);
        world.inject(FaultKind::BrokerAway { for_ms: Millis::seconds(4), forgets });
        let says = format!("V1 connects, {kept} commands wait for it");
        assert_eq!(lines(&mut world, Millis::seconds(10), &says), 1, "forgets: {forgets}");
        let ending = world.finish(Millis::seconds(3600));
        assert!(world.violations().is_empty(), "forgets: {forgets}: {:#?}", world.violations());
        assert_eq!(ending.completed, 1, "forgets: {forgets}: {ending:?}");
    }
}

/// A broker keeps a command for a vehicle that is away as long as its own clock says. Whatever it then hands over, the
/// vehicle does nothing of an older link.
#[test]
fn what_a_broker_keeps_ends_by_its_own_clock() {
    let rows = [
        ("back in time", 6, 0, true),
        ("back in time, by a clock that was put on", 6, 60_000, false),
        ("back too late", 45, 0, false),
        ("back too late, by a clock that was put back", 45, -60_000, true),
    ];
    for (what, away, by_ms, handed_over) in rows {
        let mut world = World::new(config(1, 1, &[(5, "S1", "S2")]));
        world.run_for(Millis(4500));
        let (place, effect) = (RadioPlace::Vehicle(vehicle("V1")), RadioEffect::Cut);
        let for_ms = Millis::seconds(away);
        world.inject(FaultKind::Plant(PlantTrouble::Radio { place, effect, for_ms }));
        world.run_for(Millis::seconds(1));
        world.inject(FaultKind::ClockStepped { machine: Machine::Broker, by_ms });
        assert_eq!(
            lines(&mut world, Millis::seconds(60), "V1 hears T-A1.0 link 1") > 0,
            handed_over,
            "{what}"
        );
        let ending = world.finish(Millis::seconds(3600));
        assert!(world.violations().is_empty(), "{what}: {:#?}", world.violations());
        assert_eq!(ending.completed, 1, "{what}: {ending:?}");
    }
}
