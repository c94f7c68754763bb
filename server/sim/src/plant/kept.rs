//! The whole plant as it is kept over a stop of the process, and what of it changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::ids::{LiftId, VehicleId};
use kernel::plant::Plant;
use kernel::time::Mono;

use super::{SimLift, SimPlant, SimVehicle};
use crate::kept::{KeptHeader, KeptLift, KeptMemory, KeptPlant, KeptVehicle, ThawError};
use crate::lift::LiftModel;
use crate::loads::LoadBook;
use crate::vehicle::VehicleModel;
use crate::ways::Ways;

impl SimPlant {
    /// All of it, exactly as it is: for a plant that stops.
    pub fn kept(&self, now: Mono) -> KeptPlant {
        let vehicles = || self.vehicles.iter();
        KeptPlant {
            header: KeptHeader::of(&self.site),
            lifts: self.lifts.iter().map(|it| (it.id.clone(), it.model.kept(now))).collect(),
            vehicles: vehicles().map(|it| (it.id.clone(), it.model.kept(now))).collect(),
            memories: vehicles().map(|it| (it.id.clone(), it.model.memory().kept())).collect(),
            loads: self.loads.kept(),
        }
    }

    /// The parts that changed since this was asked last in a way that others will see, all of them at first. Whoever
    /// wants to lose nothing when it is killed makes them durable, at once and together, before it polls an effect or
    /// shows a count. None when there is nothing to keep, as with a plant at rest.
    pub fn take_changes(&mut self, now: Mono) -> Option<KeptPlant> {
        let mut changes = KeptPlant::empty(&self.site);
        for lift in &mut self.lifts {
            let mark = lift.model.mark();
            if lift.kept.as_ref() != Some(&mark) {
                changes.lifts.insert(lift.id.clone(), lift.model.kept(now));
                lift.kept = Some(mark);
            }
        }
        for vehicle in &mut self.vehicles {
            let (mark, memory) = (vehicle.model.mark(), vehicle.model.memory());
            if vehicle.kept.as_ref() != Some(&mark) {
                changes.vehicles.insert(vehicle.id.clone(), vehicle.model.kept(now).reserving());
                vehicle.kept = Some(mark);
            }
            if vehicle.memory_kept != Some(memory.revision()) {
                changes.memories.insert(vehicle.id.clone(), memory.kept());
                vehicle.memory_kept = Some(memory.revision());
            }
        }
        changes.loads = self.loads.take_changes();
        (!changes.is_empty()).then_some(changes)
    }

    /// The plant as it was kept, as if time had stood still. Nobody was started again, so no boot counter rises; each
    /// vehicle has lost its session with the broker and its link, as after lost radio.
    ///
    /// # Errors
    /// What of it does not fit the plant.
    pub fn thaw(plant: &Plant, kept: KeptPlant, now: Mono) -> Result<Self, ThawError> {
        kept.header.check(plant)?;
        let KeptPlant { header: _, lifts, vehicles, memories, loads } = kept;
        let lifts = thaw_lifts(plant, lifts, now)?;
        let vehicles = thaw_vehicles(plant, vehicles, memories, now)?;
        let mut sim = Self::of(&plant.site, lifts, vehicles, LoadBook::thaw(loads));
        for idx in 0..sim.lifts.len() {
            sim.couple(idx, now);
        }
        Ok(sim)
    }
}

fn thaw_lifts(
    plant: &Plant,
    mut kept: BTreeMap<LiftId, KeptLift>,
    now: Mono,
) -> Result<Vec<SimLift>, ThawError> {
    let mut lifts = Vec::new();
    for (id, lift) in &plant.lifts {
        let model = kept.remove(id).ok_or_else(|| ThawError::MissingLift(id.clone()))?;
        lifts.push(SimLift::new(id, lift, LiftModel::thaw(id, lift, model, now)?));
    }
    kept.into_keys().next().map_or(Ok(lifts), |id| Err(ThawError::UnknownLift(id)))
}

fn thaw_vehicles(
    plant: &Plant,
    kept: BTreeMap<VehicleId, KeptVehicle>,
    mut memories: BTreeMap<VehicleId, KeptMemory>,
    now: Mono,
) -> Result<Vec<SimVehicle>, ThawError> {
    let ways = Arc::new(Ways::new(plant));
    let mut vehicles = Vec::new();
    for (id, vehicle) in kept {
        // A vehicle without its memory might do a command twice.
        let memory = memories.remove(&id).ok_or_else(|| ThawError::MissingVehicle(id.clone()))?;
        let model = VehicleModel::thaw(&id, plant, &ways, (vehicle, memory), now)?;
        vehicles.push(SimVehicle::new(&id, model));
    }
    let missing = plant.vehicles.keys().find(|id| vehicles.iter().all(|it| it.id != **id));
    missing.map_or(Ok(vehicles), |id| Err(ThawError::MissingVehicle(id.clone())))
}

#[cfg(test)]
mod tests;
