//! The process of the simulated plant ends and goes on, while everybody else runs.

use kernel::ids::VehicleId;
use kernel::time::Millis;

use super::post::Parcel;
use super::{CONNECT_TIME, World, WorldConfig};
use crate::checkers::Checker;
use crate::fault::FaultKind;
use crate::kept::KeptPlant;
use crate::plant::{SimEffect, SimPlant};
use crate::vehicle::VehicleModel;

/// The disk of a plant that is killed; others are not worth the writing.
pub(super) fn plant_disk(config: &WorldConfig) -> Option<KeptPlant> {
    let kills = config.faults.iter().any(|it| matches!(it.kind, FaultKind::PlantAway { killed: true, .. }));
    kills.then(|| KeptPlant::empty(&config.plant.site))
}

impl World {
    /// What the plant wants done next: nothing while it is away, and nothing of what is not durable yet.
    pub(super) fn next_of_plant(&mut self) -> Option<SimEffect> {
        if self.plant_away {
            return None;
        }
        if let Some(disk) = &mut self.plant_disk
            && let Some(changes) = self.sim.take_changes(self.now)
        {
            disk.lifts.extend(changes.lifts);
            disk.vehicles.extend(changes.vehicles);
            disk.memories.extend(changes.memories);
            disk.loads.extend(changes.loads);
        }
        self.sim.poll_effect()
    }

    pub(super) fn lose_plant(&mut self, for_ms: Millis, killed: bool) {
        if self.plant_away {
            return;
        }
        if !killed || self.plant_disk.is_none() {
            self.plant_disk = Some(self.sim.kept(self.now));
        }
        self.plant_away = true;
        let until = self.now + for_ms;
        for vehicle in self.config.plant.vehicles.keys().cloned().collect::<Vec<VehicleId>>() {
            self.disconnect(&vehicle);
        }
        self.post.send(until, Parcel::PlantBack);
    }

    pub(super) fn plant_back(&mut self) {
        let Some(disk) = self.plant_disk.clone() else { return };
        match SimPlant::thaw(&self.config.plant, disk, self.now) {
            Ok(sim) => self.sim = sim,
            Err(misfit) => self.checkers.report(Checker::OrdersEnd, self.now, misfit.to_string()),
        }
        self.sim.set_plcs(self.config.intake, self.config.scan);
        self.sim.take_safeguards(self.config.safeguards);
        self.plant_away = false;
        for vehicle in self.config.plant.vehicles.keys().cloned().collect::<Vec<VehicleId>>() {
            if self.sim.vehicle(&vehicle).is_some_and(VehicleModel::radio_is_up) {
                self.post.send(self.now + CONNECT_TIME, Parcel::Connect { vehicle });
            }
        }
    }
}
