use kernel::gateway::CommandBlock;
use kernel::ids::SiteId;
use kernel::lift::LiftAction;
use kernel::time::Millis;
use kernel::wire::vehicle::Instruction;

use super::*;
use crate::fixture::{command, lift, pick, plant, point, ride, vehicle};
use crate::kept::KEPT_VERSION;
use crate::lift::LiftTrouble;
use crate::plant::{PlantTrouble, SimEffect, SimEvent, SimSeed};
use crate::vehicle::{RadioEffect, RadioPlace, VehicleMessage};

/// The small site with everybody in session and every link open.
fn small() -> SimPlant {
    let mut sim = SimPlant::new(&plant(), SimSeed { seed: 1, boot: 0 }, Mono(0));
    for name in ["V1", "V2"] {
        sim.handle(SimEvent::VehicleConnected { vehicle: vehicle(name) }, Mono(0));
        tell(&mut sim, name, 1, Instruction::OpenLink, Mono(0));
    }
    sim
}

fn tell(sim: &mut SimPlant, name: &str, sequence: u64, instruction: Instruction, now: Mono) {
    sim.handle(SimEvent::VehicleCommand(Box::new(command(name, sequence, instruction))), now);
}

fn beats(sim: &mut SimPlant) -> Vec<u64> {
    let mut beats = Vec::new();
    while let Some(effect) = sim.poll_effect() {
        if let SimEffect::VehicleSend { message: VehicleMessage::Heartbeat(it), .. } = effect {
            beats.push(it.beat);
        }
    }
    beats
}

/// V1 drives to its pick, V2 stands in the open car and lift L1 has not served it yet.
fn busy() -> SimPlant {
    let mut sim = small();
    tell(&mut sim, "V1", 2, pick(&["H1", "S1"], "O1"), Mono(0));
    let block = CommandBlock { number: 1, action: LiftAction::OpenDoor, floor: 1 };
    sim.handle(SimEvent::CommandBlock { lift: lift("L1"), block }, Mono(0));
    tell(&mut sim, "V2", 2, ride(&["H2", "S1", "W1", "D1"]), Mono(0));
    sim.handle(SimEvent::Tick, Mono(4000));
    sim
}

#[test]
fn a_kept_plant_of_another_site_is_refused() {
    type Change = fn(&mut Plant);
    let rows: &[(&str, Change)] = &[
        ("it was kept for site test, and the site file describes other", |it| {
            it.site = SiteId::try_new("other").expect("a name");
        }),
        ("lift L1 was kept, and the site file has no such lift", |it| _ = it.lifts.remove(&lift("L1"))),
        ("the site file has lift L2, and it was not kept", |it| {
            let model = it.lifts[&lift("L1")].clone();
            it.lifts.insert(lift("L2"), model);
        }),
        ("lift L1 was kept with other stops than the site file gives it", |it| {
            it.lifts.get_mut(&lift("L1")).expect("there").stops.reverse();
        }),
        ("lift L1 was kept with other travel or door times than the site file gives it", |it| {
            it.lifts.get_mut(&lift("L1")).expect("there").door_ms = Millis(1);
        }),
        ("vehicle V1 was kept, and the site file has no such vehicle", |it| {
            it.vehicles.remove(&vehicle("V1"));
        }),
        ("the site file has vehicle V3, and it was not kept", |it| {
            let model = it.vehicles[&vehicle("V1")].clone();
            it.vehicles.insert(vehicle("V3"), model);
        }),
        ("vehicle V1 was kept at point H1, and the site file has no such point", |it| {
            it.points.remove(&point("H1"));
        }),
        ("vehicle V1 was kept on its way to S1, and the site file has no such way", |it| {
            it.edges.retain(|edge| edge.from != point("H1"));
        }),
        (
            "vehicle V2 was kept on a ride in lift L1 from floor F1 to floor F2, and the site file has no such ride",
            |it| {
                let stops = &mut it.lifts.get_mut(&lift("L1")).expect("there").stops;
                stops[1].landing = point("W2");
            },
        ),
    ];
    let kept = busy().kept(Mono(4000));
    assert!(SimPlant::thaw(&plant(), kept.clone(), Mono(0)).is_ok(), "the same site");
    for (expected, change) in rows {
        let mut other = plant();
        change(&mut other);
        let refused = SimPlant::thaw(&other, kept.clone(), Mono(0)).map(|_| ());
        assert_eq!(refused.map_err(|it| it.to_string()), Err((*expected).to_owned()));
    }
    let mut newer = kept;
    newer.header.version = KEPT_VERSION + 1;
    let refused = SimPlant::thaw(&plant(), newer, Mono(0)).map(|_| ());
    assert_eq!(refused, Err(ThawError::Version { found: KEPT_VERSION + 1 }));
}

#[test]
fn a_vehicle_without_its_memory_is_refused() {
    let mut kept = busy().kept(Mono(4000));
    kept.memories.remove(&vehicle("V1"));
    let refused = SimPlant::thaw(&plant(), kept, Mono(0)).map(|_| ());
    assert_eq!(refused, Err(ThawError::MissingVehicle(vehicle("V1"))));
}

#[test]
fn a_plant_at_rest_keeps_nothing() {
    let mut sim = small();
    let all = sim.take_changes(Mono(0)).expect("all of it at first");
    assert_eq!((all.lifts.len(), all.vehicles.len(), all.memories.len()), (1, 2, 2));
    for step in 1..=6000 {
        sim.handle(SimEvent::Tick, Mono(step * 100));
        assert_eq!(sim.take_changes(Mono(step * 100)), None, "after {step} steps");
    }
}

#[test]
fn what_others_see_is_kept_and_nothing_else() {
    let mut sim = small();
    sim.take_changes(Mono(0));
    tell(&mut sim, "V1", 2, pick(&["H1", "S1"], "O1"), Mono(10));
    let changes = sim.take_changes(Mono(10)).expect("a command was taken");
    assert_eq!((changes.vehicles.len(), changes.memories.len(), changes.lifts.len()), (1, 1, 0));
    let block = CommandBlock { number: 1, action: LiftAction::OpenDoor, floor: 1 };
    sim.handle(SimEvent::CommandBlock { lift: lift("L1"), block }, Mono(20));
    let changes = sim.take_changes(Mono(20)).expect("a block was written");
    assert_eq!((changes.vehicles.len(), changes.lifts.len()), (0, 1));
    // H1 to S1 takes 6 s, the pick 4 s.
    sim.handle(SimEvent::Tick, Mono(9000));
    assert!(sim.take_changes(Mono(9000)).expect("it stands at the station").loads.is_empty());
    sim.handle(SimEvent::Tick, Mono(11_000));
    let changes = sim.take_changes(Mono(11_000)).expect("the load is aboard");
    assert_eq!((changes.vehicles.len(), changes.loads.len()), (1, 1), "together");
}

#[test]
fn a_killed_vehicle_says_no_number_twice() {
    let mut sim = small();
    let kept = sim.take_changes(Mono(0)).expect("all of it at first");
    sim.handle(SimEvent::Tick, Mono(60_000));
    assert_eq!(sim.take_changes(Mono(60_000)), None);
    let highest = beats(&mut sim).into_iter().max().expect("it beats");
    let mut sim = SimPlant::thaw(&plant(), kept, Mono(0)).expect("it fits");
    sim.handle(SimEvent::VehicleConnected { vehicle: vehicle("V1") }, Mono(0));
    sim.handle(SimEvent::Tick, Mono(1000));
    let lowest = beats(&mut sim).into_iter().min().expect("it beats");
    assert!(lowest > highest, "{lowest} after {highest}");
}

#[test]
fn troubles_stand_for_as_long_as_they_would_have() {
    let mut sim = busy();
    sim.take_changes(Mono(4000));
    let for_ms = Millis::seconds(20);
    let troubles = [
        PlantTrouble::Lift { lift: lift("L1"), trouble: LiftTrouble::Frozen { for_ms } },
        PlantTrouble::Radio {
            place: RadioPlace::Vehicle(vehicle("V1")),
            effect: RadioEffect::Thin { loss_permille: 300 },
            for_ms,
        },
        PlantTrouble::VehicleSensorLate { vehicle: vehicle("V1"), by_ms: Millis(2000), for_ms },
    ];
    for trouble in troubles {
        sim.handle(SimEvent::Troubled(trouble), Mono(4000));
    }
    let changes = sim.take_changes(Mono(4000)).expect("troubles are kept");
    assert_eq!((changes.lifts.len(), changes.vehicles.len()), (1, 2));
    let (kept, later) = (sim.kept(Mono(10_000)), Mono(20_000));
    let again = SimPlant::thaw(&plant(), kept.clone(), later).map(|it| it.kept(later));
    assert_eq!(again.as_ref(), Ok(&kept), "with all that troubles it");
    let mut sim = SimPlant::thaw(&plant(), kept, Mono(0)).expect("it fits");
    let loss = |sim: &SimPlant| sim.vehicle(&vehicle("V1")).map(|it| it.radio_road().loss_permille);
    let beat = |sim: &SimPlant| sim.lift_status(&lift("L1")).map(|it| it.heartbeat);
    let frozen = beat(&sim);
    for (at, stands) in [(13_900, true), (14_500, false)] {
        sim.handle(SimEvent::Tick, Mono(at));
        assert_eq!((beat(&sim) == frozen, loss(&sim) == Some(300)), (stands, stands), "after {at} ms");
    }
}
