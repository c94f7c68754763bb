//! What goes wrong at the plant, and switches of its makers that the lab turns.

use kernel::ids::{LiftId, VehicleId};
use kernel::safeguard::Safeguards;
use kernel::time::{Millis, Mono};

use super::SimPlant;
use crate::lift::{Intake, LiftTrouble};
use crate::vehicle::{FROZEN_MAX, RadioEffect, RadioPlace, RadioTrouble};

/// Something that goes wrong at the plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlantTrouble {
    /// At a lift.
    Lift {
        /// Which.
        lift: LiftId,
        /// What.
        trouble: LiftTrouble,
    },
    /// With the radio, by place.
    Radio {
        /// Where.
        place: RadioPlace,
        /// What.
        effect: RadioEffect,
        /// For so long.
        for_ms: Millis,
    },
    /// A trouble of the radio is over before its time.
    RadioMended {
        /// Where it was.
        place: RadioPlace,
        /// What it was.
        effect: RadioEffect,
    },
    /// A vehicle's controller that stands still goes on, before its time.
    VehicleGoesOn {
        /// Which.
        vehicle: VehicleId,
    },
    /// A vehicle's controller starts again.
    VehicleRestarted {
        /// Which.
        vehicle: VehicleId,
    },
    /// A vehicle's controller stands still, as under SIGSTOP, and with it the vehicle. Its clock runs on.
    VehicleFrozen {
        /// Which.
        vehicle: VehicleId,
        /// For so long. Longer than [`FROZEN_MAX`] counts as that: then its connection would break, as by lost radio.
        for_ms: Millis,
    },
    /// What a vehicle's car sensor sees shows late: that it is in the car, or out of it.
    VehicleSensorLate {
        /// Whose.
        vehicle: VehicleId,
        /// By so much.
        by_ms: Millis,
        /// For so long.
        for_ms: Millis,
    },
}

impl SimPlant {
    pub(super) fn suffer(&mut self, trouble: &PlantTrouble, now: Mono) {
        match trouble {
            PlantTrouble::Lift { lift, trouble } => {
                if let Some(lift) = self.lift_index.get(lift).and_then(|idx| self.lifts.get_mut(*idx)) {
                    lift.model.trouble(trouble, now);
                }
            }
            PlantTrouble::Radio { place, effect, for_ms } => {
                let trouble = RadioTrouble { place: place.clone(), effect: *effect, until: now + *for_ms };
                for idx in 0..self.vehicles.len() {
                    self.touch(idx, now, |model| model.trouble_radio(trouble.clone(), now));
                }
            }
            PlantTrouble::RadioMended { place, effect } => {
                for idx in 0..self.vehicles.len() {
                    self.touch(idx, now, |model| model.mend_radio(place, *effect, now));
                }
            }
            PlantTrouble::VehicleGoesOn { vehicle } => {
                self.with_vehicle(vehicle, now, |model| model.go_on(now));
            }
            PlantTrouble::VehicleRestarted { vehicle } => {
                self.with_vehicle(vehicle, now, |model| model.restart(now));
            }
            PlantTrouble::VehicleFrozen { vehicle, for_ms } => {
                let until = now + (*for_ms).min(FROZEN_MAX);
                self.with_vehicle(vehicle, now, |model| model.freeze(until, now));
            }
            PlantTrouble::VehicleSensorLate { vehicle, by_ms, for_ms } => {
                self.with_vehicle(vehicle, now, |model| model.trouble_sensor(*by_ms, now + *for_ms));
            }
        }
    }

    /// All PLCs treat commands within one scan in this way, and scan this often when a period is given.
    pub fn set_plcs(&mut self, intake: Intake, scan: Option<Millis>) {
        for lift in &mut self.lifts {
            lift.model.set_intake(intake);
            if let Some(scan) = scan {
                lift.model.set_scan(scan);
            }
        }
    }

    /// People reset a lift that stopped in emergency.
    pub fn reset_lift(&mut self, lift: &LiftId) {
        if let Some(lift) = self.lift_index.get(lift).and_then(|idx| self.lifts.get_mut(*idx)) {
            lift.model.reset();
        }
    }

    /// Takes safeguards away from every vehicle, for the lab.
    pub(crate) fn take_safeguards(&mut self, safeguards: Safeguards) {
        for vehicle in &mut self.vehicles {
            vehicle.model.take_safeguards(safeguards);
        }
    }
}
