//! All lifts and vehicles of a site with what couples them: doors, cars, sills, radio, loads.
//!
//! Each model acts at its own deadlines; [`SimPlant`] runs them in the order of time, lifts before vehicles, by
//! name. So a run depends on the seed and the events alone, not on how often its owner looks.

mod events;
mod kept;
mod trouble;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use kernel::ids::{FloorId, LiftId, SiteId, VehicleId};
use kernel::lift::LiftStatus;
use kernel::plant::{Lift, Plant};
use kernel::time::Mono;

pub use events::{SimEffect, SimEvent, SimSeed};
pub use trouble::PlantTrouble;

use crate::lift::{LiftCounters, LiftMark, LiftModel};
use crate::loads::LoadBook;
use crate::vehicle::{
    CarView, RideStage, VehicleEffect, VehicleMark, VehicleMemory, VehicleModel, VehicleStart,
};
use crate::ways::Ways;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Actor {
    Lift(usize),
    Vehicle(usize),
}

#[derive(Clone, Debug)]
struct SimLift {
    id: LiftId,
    model: LiftModel,
    floors: Vec<FloorId>,
    capacity: u8,
    /// As it was kept last.
    kept: Option<LiftMark>,
}

#[derive(Clone, Debug)]
struct SimVehicle {
    id: VehicleId,
    model: VehicleModel,
    due: Mono,
    /// As it was kept last, and the revision of its memory.
    kept: Option<VehicleMark>,
    memory_kept: Option<u64>,
}

/// A whole simulated site.
#[derive(Clone, Debug)]
pub struct SimPlant {
    site: SiteId,
    lifts: Vec<SimLift>,
    lift_index: BTreeMap<LiftId, usize>,
    vehicles: Vec<SimVehicle>,
    vehicle_index: BTreeMap<VehicleId, usize>,
    agenda: BTreeSet<(Mono, Actor)>,
    loads: LoadBook,
    effects: VecDeque<SimEffect>,
}

impl SimPlant {
    /// The site at rest: cars at their lowest stops, vehicles at home without loads, nobody connected.
    pub fn new(plant: &Plant, seed: SimSeed, now: Mono) -> Self {
        let ways = Arc::new(Ways::new(plant));
        let lifts: Vec<SimLift> =
            plant.lifts.iter().filter_map(|(id, lift)| sim_lift(id, lift, seed, now)).collect();
        let vehicles: Vec<SimVehicle> = plant
            .vehicles
            .iter()
            .map(|(id, vehicle)| {
                let start = VehicleStart {
                    id: id.clone(),
                    vehicle: vehicle.clone(),
                    point: vehicle.home.clone(),
                    load: None,
                    memory: VehicleMemory::empty(seed.boot),
                };
                let model = VehicleModel::new(start, Arc::clone(&ways), seed.seed, now);
                SimVehicle::new(id, model)
            })
            .collect();
        Self::of(&plant.site, lifts, vehicles, LoadBook::default())
    }

    fn of(site: &SiteId, lifts: Vec<SimLift>, vehicles: Vec<SimVehicle>, loads: LoadBook) -> Self {
        let mut sim = Self {
            site: site.clone(),
            lift_index: lifts.iter().enumerate().map(|(idx, it)| (it.id.clone(), idx)).collect(),
            vehicle_index: vehicles.iter().enumerate().map(|(idx, it)| (it.id.clone(), idx)).collect(),
            agenda: BTreeSet::new(),
            loads,
            effects: VecDeque::new(),
            lifts,
            vehicles,
        };
        sim.agenda
            .extend(sim.lifts.iter().enumerate().map(|(idx, it)| (it.model.scan_due(), Actor::Lift(idx))));
        sim.agenda.extend(sim.vehicles.iter().enumerate().map(|(idx, it)| (it.due, Actor::Vehicle(idx))));
        for idx in 0..sim.vehicles.len() {
            sim.drain(idx);
        }
        sim
    }

    /// Takes what happened, after everything that was due before.
    pub fn handle(&mut self, event: SimEvent, now: Mono) {
        self.advance(now);
        match event {
            SimEvent::CommandBlock { lift, block } => {
                if let Some(lift) = self.lift_index.get(&lift).and_then(|idx| self.lifts.get_mut(*idx)) {
                    lift.model.write(block);
                }
            }
            SimEvent::VehicleCommand(command) => {
                self.with_vehicle(&command.vehicle, now, |model| model.command(&command, now));
            }
            SimEvent::ControlBeat { vehicle } => {
                self.with_vehicle(&vehicle, now, |model| model.hear_beat(now));
            }
            SimEvent::VehicleConnected { vehicle } => {
                self.with_vehicle(&vehicle, now, VehicleModel::connect);
            }
            SimEvent::VehicleDisconnected { vehicle } => {
                self.with_vehicle(&vehicle, now, VehicleModel::disconnect);
            }
            SimEvent::ReportDelivered { vehicle, report } => {
                self.with_vehicle(&vehicle, now, |model| model.deliver(report));
            }
            SimEvent::Troubled(trouble) => self.suffer(&trouble, now),
            SimEvent::Tick => {}
        }
    }

    /// The next effect, if any.
    pub fn poll_effect(&mut self) -> Option<SimEffect> {
        self.effects.pop_front()
    }

    /// The next deadline and what it is for.
    pub fn poll_timeout(&self) -> Option<(Mono, &'static str)> {
        self.agenda.first().map(|(due, actor)| match actor {
            Actor::Lift(_) => (*due, "lift scan"),
            Actor::Vehicle(_) => (*due, "vehicle"),
        })
    }

    /// Loads as they were moved.
    pub fn loads(&self) -> &LoadBook {
        &self.loads
    }

    /// Loads, for a test that moves them once more.
    #[cfg(test)]
    pub(crate) fn loads_mut(&mut self) -> &mut LoadBook {
        &mut self.loads
    }

    /// What a lift's PLC shows at this moment.
    pub fn lift_status(&self, lift: &LiftId) -> Option<LiftStatus> {
        self.lift(lift).map(LiftModel::status)
    }

    /// What was counted at each lift.
    pub fn lift_counters(&self) -> impl Iterator<Item = (&LiftId, LiftCounters)> {
        self.lifts.iter().map(|it| (&it.id, it.model.counters()))
    }

    /// The model of a lift.
    pub fn lift(&self, lift: &LiftId) -> Option<&LiftModel> {
        self.lift_index.get(lift).and_then(|idx| self.lifts.get(*idx)).map(|it| &it.model)
    }

    /// The model of a vehicle.
    pub fn vehicle(&self, vehicle: &VehicleId) -> Option<&VehicleModel> {
        self.vehicle_index.get(vehicle).and_then(|idx| self.vehicles.get(*idx)).map(|it| &it.model)
    }

    /// Vehicles that stand in the car of a lift.
    pub fn in_car<'a>(&'a self, lift: &'a LiftId) -> impl Iterator<Item = &'a VehicleId> {
        self.vehicles.iter().filter(|it| it.model.in_car() == Some(lift)).map(|it| &it.id)
    }

    fn advance(&mut self, now: Mono) {
        while let Some((due, actor)) = self.agenda.first().copied()
            && due <= now
        {
            match actor {
                Actor::Lift(idx) => self.scan_lift(idx, due),
                Actor::Vehicle(idx) => self.touch(idx, due, |model| model.step(due)),
            }
        }
    }

    fn scan_lift(&mut self, idx: usize, due: Mono) {
        let Some(lift) = self.lifts.get_mut(idx) else { return };
        let view = |model: &LiftModel| {
            let status = model.status();
            (status.door, status.levelled, status.motion, status.floor)
        };
        let before = view(&lift.model);
        self.agenda.remove(&(due, Actor::Lift(idx)));
        lift.model.scan(due);
        self.agenda.insert((lift.model.scan_due(), Actor::Lift(idx)));
        let changed = before != view(&lift.model);
        let (lift, status) = (lift.id.clone(), lift.model.status());
        self.effects.push_back(SimEffect::LiftStatus { lift, status });
        if changed {
            self.couple(idx, due);
        }
    }

    fn with_vehicle(&mut self, vehicle: &VehicleId, now: Mono, act: impl FnOnce(&mut VehicleModel)) {
        if let Some(idx) = self.vehicle_index.get(vehicle).copied() {
            self.touch(idx, now, act);
        }
    }

    /// Lets a vehicle act, then the lift that it rides or rode, then keeps its next deadline.
    fn touch(&mut self, idx: usize, now: Mono, act: impl FnOnce(&mut VehicleModel)) {
        let froze =
            |it: &Self| it.vehicles.get(idx).is_some_and(|it| it.model.stands_still_until().is_some());
        let (before, stood) = (self.ride_of(idx), froze(self));
        if let Some(vehicle) = self.vehicles.get_mut(idx) {
            act(&mut vehicle.model);
        }
        let after = self.ride_of(idx);
        self.settle(idx);
        // Who goes on after a standstill has yet to see what its car did meanwhile.
        if before != after || stood && !froze(self) {
            let lifts: BTreeSet<usize> =
                [before, after].into_iter().flatten().map(|(lift, _)| lift).collect();
            for lift in lifts {
                self.couple(lift, now);
            }
        }
    }

    /// Who has forgotten its ride in the car is in the car all the same.
    fn ride_of(&self, idx: usize) -> Option<(usize, RideStage)> {
        let model = &self.vehicles.get(idx)?.model;
        let forgotten = model.in_car().map(|lift| (lift, RideStage::Inside));
        let (lift, stage) = model.ride().or(forgotten)?;
        Some((*self.lift_index.get(lift)?, stage))
    }

    /// Lets every vehicle at a lift see its car, and the lift feel its vehicles.
    fn couple(&mut self, lift_idx: usize, now: Mono) {
        for idx in 0..self.vehicles.len() {
            if self.ride_of(idx).is_some_and(|(lift, _)| lift == lift_idx)
                && let Some(view) = self.view(lift_idx)
                && let Some(vehicle) = self.vehicles.get_mut(idx)
            {
                vehicle.model.see_car(&view, now);
                self.settle(idx);
            }
        }
        let (n_vehicles, n_on_sill) = self.load_of(lift_idx);
        if let Some(lift) = self.lifts.get_mut(lift_idx) {
            lift.model.sense(n_vehicles, n_on_sill > 0);
        }
    }

    fn view(&self, lift_idx: usize) -> Option<CarView> {
        let lift = self.lifts.get(lift_idx)?;
        let (n_vehicles, n_on_sill) = self.load_of(lift_idx);
        Some(CarView {
            open_at: lift.floors.iter().find(|floor| lift.model.open_at(floor)).cloned(),
            radio_passes: lift.model.lets_radio_pass(),
            has_room: n_vehicles < lift.capacity,
            sill_free: n_on_sill == 0,
        })
    }

    /// Vehicles in the car or on its sill, and those on the sill.
    fn load_of(&self, lift_idx: usize) -> (u8, u8) {
        let mut counts = (0_u8, 0_u8);
        for idx in 0..self.vehicles.len() {
            match self.ride_of(idx) {
                Some((lift, RideStage::OnSill)) if lift == lift_idx => counts = (counts.0 + 1, counts.1 + 1),
                Some((lift, RideStage::Unsure | RideStage::Inside)) if lift == lift_idx => counts.0 += 1,
                Some(_) | None => {}
            }
        }
        counts
    }

    fn settle(&mut self, idx: usize) {
        self.drain(idx);
        let Some(vehicle) = self.vehicles.get_mut(idx) else { return };
        let due = vehicle.model.due();
        if due != vehicle.due {
            self.agenda.remove(&(vehicle.due, Actor::Vehicle(idx)));
            self.agenda.insert((due, Actor::Vehicle(idx)));
            vehicle.due = due;
        }
    }

    fn drain(&mut self, idx: usize) {
        let Some(vehicle) = self.vehicles.get_mut(idx) else { return };
        while let Some(effect) = vehicle.model.poll_effect() {
            let id = vehicle.id.clone();
            match effect {
                VehicleEffect::Heard { command, began } => {
                    self.effects.push_back(SimEffect::VehicleHeard { command, began });
                }
                VehicleEffect::Send(message) => {
                    self.effects.push_back(SimEffect::VehicleSend { vehicle: id, message });
                }
                VehicleEffect::Radio { up } => self.effects.push_back(SimEffect::Radio { vehicle: id, up }),
                VehicleEffect::Picked { order, at } => self.loads.picked(order, at),
                VehicleEffect::Dropped { order, at } => self.loads.dropped(order, at),
            }
        }
    }
}

fn sim_lift(id: &LiftId, lift: &Lift, seed: SimSeed, now: Mono) -> Option<SimLift> {
    // The register has 16 bits and wraps, as a PLC's does.
    let boot = u16::try_from((seed.boot + 1) % (1 << 16)).unwrap_or_default();
    Some(SimLift::new(id, lift, LiftModel::new(id, lift, boot, seed.seed, now)?))
}

impl SimLift {
    fn new(id: &LiftId, lift: &Lift, model: LiftModel) -> Self {
        Self {
            id: id.clone(),
            model,
            floors: lift.stops.iter().map(|stop| stop.floor.clone()).collect(),
            capacity: lift.capacity_vehicles,
            kept: None,
        }
    }
}

impl SimVehicle {
    fn new(id: &VehicleId, model: VehicleModel) -> Self {
        Self { id: id.clone(), due: model.due(), model, kept: None, memory_kept: None }
    }
}

#[cfg(test)]
mod tests;
