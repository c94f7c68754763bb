//! The plant's process goes and comes back, at every moment of a whole order.

use kernel::ids::{GatewayId, NodeId, VehicleId};
use kernel::time::{Millis, Mono};
use kernel::wire::vehicle::Place;
use sim::fault::{Fault, FaultKind};
use sim::plant::{PlantTrouble, SimEffect, SimEvent, SimPlant};
use sim::vehicle::RideStage;
use sim::world::{World, WorldConfig};

use super::{config, with_fault};

/// So long the process is away.
const AWAY: Millis = Millis::seconds(8);

/// The order completes, whatever alarms stood meanwhile, and nothing is found.
fn completes(config: WorldConfig, what: &str) {
    let mut world = World::new(config);
    let ended = |it: &World| !it.violations().is_empty() || it.ending().completed == it.ending().planned;
    let done = world.run_until(Millis::seconds(3600), ended);
    world.compare();
    let tail = || world.log().iter().rev().take(150).rev().cloned().collect::<Vec<_>>().join("\n");
    assert!(world.violations().is_empty(), "{what}: {:#?}\n{}", world.violations(), tail());
    assert!(done, "{what}: {:?}\n{}", world.ending(), tail());
}

fn away(killed: bool) -> FaultKind {
    FaultKind::PlantAway { for_ms: AWAY, killed }
}

#[test]
fn the_plant_is_stopped_at_any_moment_and_the_load_is_moved_once() {
    for seconds in (2..120).step_by(2) {
        completes(with_fault(seconds, away(false)), &format!("stopped after {seconds} s"));
    }
}

#[test]
fn the_plant_is_killed_at_any_moment_and_the_load_is_moved_once() {
    for seconds in 2..120 {
        completes(with_fault(seconds, away(true)), &format!("killed after {seconds} s"));
    }
}

#[test]
fn the_whole_house_is_killed_at_any_moment_and_the_load_is_moved_once() {
    for seconds in 2..120 {
        let node = NodeId::try_new("A").expect("a name");
        let gateway = GatewayId::try_new("G1").expect("a name");
        let at = Millis(seconds * 1000 + 613);
        let kinds = [
            away(true),
            FaultKind::NodeKilled { node, for_ms: AWAY },
            FaultKind::GatewayKilled { gateway, for_ms: AWAY },
        ];
        let faults = kinds.map(|kind| Fault { at, kind }).into();
        let world = WorldConfig { faults, ..config(2, seconds, &[(5, "S2", "S1")]) };
        completes(world, &format!("killed after {seconds} s"));
    }
}

#[test]
fn nobody_is_started_again_by_a_thaw() {
    let mut world = World::new(with_fault(30, away(true)));
    let boots = |world: &World| {
        let (plant, sim) = (world.plant(), world.sim());
        let lifts = plant.lifts.keys().filter_map(|it| sim.lift_status(it)).map(|it| it.boot);
        let vehicles = plant.vehicles.keys().filter_map(|it| sim.vehicle(it));
        (lifts.collect::<Vec<_>>(), vehicles.map(|it| it.memory().boot()).collect::<Vec<_>>())
    };
    let before = boots(&world);
    world.run_for(Millis::seconds(60));
    assert_eq!(boots(&world), before);
}

/// What a plant does within a minute when everybody who has radio is in session and nobody commands anything.
fn future(mut sim: SimPlant, from: Mono, vehicles: &[VehicleId]) -> Vec<SimEffect> {
    let connect = |sim: &mut SimPlant, vehicle: &VehicleId, now| {
        sim.handle(SimEvent::VehicleConnected { vehicle: vehicle.clone() }, now);
    };
    for vehicle in vehicles {
        connect(&mut sim, vehicle, from);
    }
    let mut effects = Vec::new();
    for step in 1..=600 {
        let now = from + Millis(100 * step);
        sim.handle(SimEvent::Tick, now);
        while let Some(effect) = sim.poll_effect() {
            if let SimEffect::Radio { vehicle, up: true } = &effect {
                connect(&mut sim, vehicle, now);
            }
            effects.push(effect);
        }
    }
    effects
}

/// Apart from the lost sessions, time away is no time: the plant does afterwards what it would have done.
#[test]
fn a_thaw_changes_nothing_that_comes() {
    let mut world = World::new(config(2, 3, &[(5, "S2", "S1")]));
    for seconds in 1..120 {
        world.run_for(Millis(997));
        // The plant's clock began a second before the world's.
        let (now, later) = (Mono(1000) + world.elapsed(), Mono(world.elapsed().0 * 7));
        let vehicles: Vec<VehicleId> = world.plant().vehicles.keys().cloned().collect();
        let kept = serde_json::to_string(&world.sim().kept(now)).expect("it can be written");
        let kept = serde_json::from_str(&kept).expect("it can be read");
        let thawed = SimPlant::thaw(world.plant(), kept, later).expect("it fits");
        let mut unbroken = world.sim().clone();
        for vehicle in &vehicles {
            unbroken.handle(SimEvent::VehicleDisconnected { vehicle: vehicle.clone() }, now);
        }
        // Only that somebody has no radio is said anew.
        let news = |it: &SimEffect| !matches!(it, SimEffect::Radio { up: false, .. });
        let [thawed, unbroken] = [(thawed, later), (unbroken, now)]
            .map(|(sim, from)| future(sim, from, &vehicles).into_iter().filter(news).collect::<Vec<_>>());
        assert!(unbroken.len() > 400, "{seconds} s: something goes on");
        assert_eq!(thawed, unbroken, "after {seconds} s");
    }
}

/// A vehicle that forgot its ride in the car stands there without one.
#[test]
fn a_vehicle_without_a_ride_in_a_car_is_thawed() {
    let mut world = World::new(config(1, 1, &[(5, "S2", "S1")]));
    let vehicle = VehicleId::try_new("V1").expect("a name");
    let inside = |it: &World| {
        let ride = it.sim().vehicle(&vehicle).and_then(|it| it.ride());
        ride.is_some_and(|(_, stage)| stage == RideStage::Inside)
    };
    assert!(world.run_until(Millis::seconds(600), inside));
    world.inject(FaultKind::Plant(PlantTrouble::VehicleRestarted { vehicle: vehicle.clone() }));
    assert_eq!(world.sim().vehicle(&vehicle).and_then(|it| it.ride()), None);
    let now = Mono(1_000_000_000);
    let thawed = SimPlant::thaw(world.plant(), world.sim().kept(now), now).expect("it fits");
    let place = thawed.vehicle(&vehicle).map(|it| it.place(now));
    assert!(matches!(place, Some(Place::InCar { .. })), "{place:?}");
}
