use kernel::gateway::CommandBlock;
use kernel::ids::{Generation, PointId};
use kernel::lift::{DoorState, LiftAction};
use kernel::time::Millis;
use kernel::wire::vehicle::{Instruction, Place, Progress, VehicleCommand};

use super::*;
use crate::fixture::{command, floor, lift, order, pick, plant, point, put, ride, vehicle};
use crate::vehicle::VehicleMessage;

/// Runs the small site and plays broker: sessions follow the radio, reports are delivered at once, control beats.
struct Bench {
    sim: SimPlant,
    now: Mono,
    seen: Vec<(Mono, SimEffect)>,
}

impl Bench {
    fn new(seed: u64) -> Self {
        Self::with_homes(seed, "H1", "H2", 1)
    }

    fn with_homes(seed: u64, home_1: &str, home_2: &str, capacity: u8) -> Self {
        let mut plant = plant();
        for (name, home) in [("V1", home_1), ("V2", home_2)] {
            plant.vehicles.get_mut(&vehicle(name)).expect("in the plant").home = point(home);
        }
        plant.lifts.get_mut(&lift("L1")).expect("in the plant").capacity_vehicles = capacity;
        let sim = SimPlant::new(&plant, SimSeed { seed, boot: 0 }, Mono(0));
        let mut bench = Self { sim, now: Mono(0), seen: Vec::new() };
        for name in ["V1", "V2"] {
            bench.event(SimEvent::VehicleConnected { vehicle: vehicle(name) });
            bench.tell(name, 1, Instruction::OpenLink);
        }
        bench
    }

    fn event(&mut self, event: SimEvent) {
        self.sim.handle(event, self.now);
        while let Some(effect) = self.sim.poll_effect() {
            self.seen.push((self.now, effect.clone()));
            match effect {
                SimEffect::Radio { vehicle, up: true } => self.event(SimEvent::VehicleConnected { vehicle }),
                SimEffect::Radio { vehicle, up: false } => {
                    self.event(SimEvent::VehicleDisconnected { vehicle })
                }
                SimEffect::VehicleSend { vehicle, message: VehicleMessage::Report(it) } => {
                    self.event(SimEvent::ReportDelivered { vehicle, report: it.report });
                }
                SimEffect::VehicleSend { .. }
                | SimEffect::VehicleHeard { .. }
                | SimEffect::LiftStatus { .. } => {}
            }
        }
    }

    fn tell(&mut self, name: &str, sequence: u64, instruction: Instruction) {
        self.event(SimEvent::VehicleCommand(Box::new(command(name, sequence, instruction))));
    }

    fn write(&mut self, number: u16, action: LiftAction, floor: u16) {
        let block = CommandBlock { number, action, floor };
        self.event(SimEvent::CommandBlock { lift: lift("L1"), block });
    }

    fn run(&mut self, span: Millis) {
        let end = self.now + span;
        while self.now < end {
            self.now = Mono(self.now.0 + 500).min(end);
            for name in ["V1", "V2"] {
                self.event(SimEvent::ControlBeat { vehicle: vehicle(name) });
            }
            self.event(SimEvent::Tick);
        }
    }

    /// Writes and runs until the PLC finished it.
    fn finish(&mut self, number: u16, action: LiftAction, floor: u16) {
        self.write(number, action, floor);
        for _ in 0..60 {
            self.run(Millis(500));
            if self.status().completed == number {
                return;
            }
        }
        panic!("the PLC never finished {number}: {:?}", self.status());
    }

    fn status(&self) -> LiftStatus {
        self.sim.lift_status(&lift("L1")).expect("in the plant")
    }

    fn counters(&self) -> LiftCounters {
        self.sim.lift(&lift("L1")).expect("in the plant").counters()
    }

    fn place(&self, name: &str) -> Place {
        self.sim.vehicle(&vehicle(name)).expect("in the plant").place(self.now)
    }

    fn progress(&self, name: &str) -> Vec<Progress> {
        let of = |effect: &SimEffect| {
            let SimEffect::VehicleSend { vehicle: who, message: VehicleMessage::Report(it) } = effect else {
                return None;
            };
            (*who == vehicle(name)).then(|| it.progress.clone())
        };
        self.seen.iter().filter_map(|(_, effect)| of(effect)).collect()
    }
}

fn in_car() -> Place {
    Place::InCar { lift: lift("L1") }
}

fn at(name: &str) -> Place {
    Place::At { point: point(name) }
}

/// One order from A1 on floor F1 to A2 on floor F2, as control would command it.
fn carry(bench: &mut Bench) {
    bench.tell("V1", 2, pick(&["H1", "S1"], "O1"));
    bench.run(Millis::seconds(11));
    bench.tell("V1", 3, ride(&["S1", "W1", "D1"]));
    bench.finish(1, LiftAction::OpenDoor, 1);
    bench.run(Millis::seconds(20));
    assert_eq!(bench.place("V1"), in_car());
    bench.finish(2, LiftAction::CloseDoor, 1);
    bench.finish(3, LiftAction::GoTo, 2);
    bench.finish(4, LiftAction::OpenDoor, 2);
    bench.run(Millis::seconds(9));
    assert_eq!(bench.place("V1"), at("D2"));
    let open = command("V1", 4, Instruction::OpenLink);
    let open = VehicleCommand { link: Generation(2), ..open };
    bench.event(SimEvent::VehicleCommand(Box::new(open)));
    let last = VehicleCommand { link: Generation(2), ..command("V1", 5, put(&["D2", "W2", "S2"], "O1")) };
    bench.event(SimEvent::VehicleCommand(Box::new(last.clone())));
    bench.run(Millis::seconds(20));
    bench.event(SimEvent::VehicleCommand(Box::new(last)));
    bench.run(Millis::seconds(5));
}

#[test]
fn a_load_is_carried_across_floors_and_counted_once() {
    let mut bench = Bench::new(1);
    carry(&mut bench);
    let count = bench.sim.loads().get(&order("O1")).expect("moved");
    assert_eq!((count.picked, count.dropped, count.at.as_ref().map(PointId::as_str)), (1, 1, Some("S2")));
    use Progress::{Alighted, Boarded, Done, Started};
    let drive = [Started, Done];
    assert_eq!(bench.progress("V1"), [&drive[..], &[Started, Boarded, Alighted, Done], &drive].concat());
    let counters = bench.counters();
    assert_eq!(
        (counters.writes, counters.contradictions, counters.e_stops, counters.vehicles_max),
        (4, 0, 0, 1)
    );
}

#[test]
fn one_seed_gives_one_run() {
    let log = |seed| {
        let mut bench = Bench::new(seed);
        carry(&mut bench);
        bench.seen
    };
    assert_eq!(log(1), log(1));
    assert_ne!(log(1), log(2));
}

#[test]
fn how_often_the_owner_looks_changes_nothing() {
    let log = |period: u64| {
        let mut sim = SimPlant::new(&plant(), SimSeed { seed: 3, boot: 0 }, Mono(0));
        sim.handle(SimEvent::VehicleConnected { vehicle: vehicle("V1") }, Mono(0));
        for n in 1..=20_000 / period {
            sim.handle(SimEvent::Tick, Mono(n * period));
        }
        std::iter::from_fn(move || sim.poll_effect()).collect::<Vec<_>>()
    };
    assert_eq!(log(10), log(1000));
    assert!(log(10).len() > 100);
}

#[test]
fn a_door_does_not_close_on_a_vehicle_and_radio_dies_behind_it() {
    let mut bench = Bench::with_homes(1, "D1", "H2", 1);
    bench.finish(1, LiftAction::OpenDoor, 1);
    bench.tell("V1", 2, ride(&["D1"]));
    bench.run(Millis(500));
    bench.write(2, LiftAction::CloseDoor, 1);
    bench.run(Millis::seconds(2));
    assert_eq!((bench.status().door, bench.status().completed), (DoorState::Obstructed, 1));
    assert!(bench.status().occupied);
    bench.run(Millis::seconds(8));
    assert_eq!((bench.status().door, bench.status().completed), (DoorState::Closed, 2));
    assert_eq!(bench.place("V1"), in_car());
    let radio = |up| SimEffect::Radio { vehicle: vehicle("V1"), up };
    assert!(bench.seen.iter().any(|(_, it)| *it == radio(false)));
    assert!(!bench.sim.vehicle(&vehicle("V1")).expect("in the plant").radio_is_up());
    bench.finish(3, LiftAction::GoTo, 2);
    bench.finish(4, LiftAction::OpenDoor, 2);
    bench.run(Millis::seconds(9));
    assert!(bench.seen.iter().any(|(_, it)| *it == radio(true)));
    assert!(!bench.status().occupied);
    assert_eq!(bench.progress("V1").last(), Some(&Progress::Done));
}

#[test]
fn a_car_takes_no_more_vehicles_than_it_holds() {
    for (capacity, second) in [(1, at("D1")), (2, in_car())] {
        let mut bench = Bench::with_homes(1, "D1", "W1", capacity);
        bench.finish(1, LiftAction::OpenDoor, 1);
        bench.tell("V1", 2, ride(&["D1"]));
        bench.tell("V2", 2, ride(&["W1", "D1"]));
        bench.run(Millis::seconds(30));
        assert_eq!((bench.place("V1"), bench.place("V2")), (in_car(), second), "capacity {capacity}");
        assert_eq!(bench.counters().vehicles_max, capacity);
    }
}

#[test]
fn counters_of_a_restarted_simulation_rise() {
    let sim = SimPlant::new(&plant(), SimSeed { seed: 1, boot: 70_000 }, Mono(0));
    assert_eq!(sim.lift_status(&lift("L1")).map(|it| it.boot), Some(4465), "wraps at 16 bits");
    assert_eq!(sim.vehicle(&vehicle("V1")).map(|it| it.memory().boot()), Some(70_001));
}

#[test]
fn unknown_names_reach_nobody() {
    let mut bench = Bench::new(1);
    let before = bench.sim.lift_status(&lift("L1"));
    let block = CommandBlock { number: 1, action: LiftAction::GoTo, floor: 2 };
    bench.event(SimEvent::CommandBlock { lift: lift("L9"), block });
    bench.event(SimEvent::ControlBeat { vehicle: vehicle("V9") });
    bench.tell("V9", 2, Instruction::OpenLink);
    assert_eq!(bench.sim.lift_status(&lift("L1")), before);
    assert!(bench.sim.poll_timeout().is_some());
    assert!(bench.status().stands_at(&floor("F1")));
}

#[test]
fn a_radio_that_is_mended_before_its_time_comes_back_alone() {
    let mut bench = Bench::new(1);
    let place = crate::vehicle::RadioPlace::Everywhere;
    let (cut, thin) =
        (crate::vehicle::RadioEffect::Cut, crate::vehicle::RadioEffect::Thin { loss_permille: 300 });
    for effect in [cut, thin] {
        let for_ms = Millis::seconds(600);
        bench.event(SimEvent::Troubled(PlantTrouble::Radio { place: place.clone(), effect, for_ms }));
    }
    let road = |bench: &Bench| bench.sim.vehicle(&vehicle("V1")).map(|it| it.troubled_road().loss_permille);
    assert_eq!(road(&bench), Some(1000));
    bench.event(SimEvent::Troubled(PlantTrouble::RadioMended { place: place.clone(), effect: cut }));
    assert_eq!(road(&bench), Some(300), "the other trouble stands");
    bench.event(SimEvent::Troubled(PlantTrouble::RadioMended { place, effect: thin }));
    assert_eq!(road(&bench), Some(0));
    bench.now = bench.now + Millis::seconds(5);
    bench.event(SimEvent::Tick);
    let radio = bench.seen.iter().filter_map(|(_, it)| match it {
        SimEffect::Radio { vehicle: who, up } if *who == vehicle("V1") => Some(*up),
        SimEffect::Radio { .. }
        | SimEffect::VehicleHeard { .. }
        | SimEffect::VehicleSend { .. }
        | SimEffect::LiftStatus { .. } => None,
    });
    assert_eq!(radio.collect::<Vec<_>>(), [false, true]);
}
