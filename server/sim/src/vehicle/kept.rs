//! A vehicle as it is kept over a stop of the process.

mod trouble;

use std::sync::Arc;

use kernel::ids::{CommandId, LiftId, OrderId, PointId, VehicleId};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};
use kernel::wire::vehicle::VehicleReport;
use serde::{Deserialize, Serialize};

use super::memory::KeptMemory;
use super::work::{KeptWork, Work, WorkMark};
use super::{Position, RadioTrouble, VehicleEffect, VehicleMemory, VehicleModel};
use crate::kept::ThawError;
use crate::radio::{Cover, KeptRadio, Radio};
use crate::ways::Ways;
use kernel::safeguard::Safeguards;
use trouble::KeptRadioTrouble;

/// Heartbeats and samples are numbered, and whoever heard one ignores the lower ones. So that not each of them has to
/// be written down, so many numbers are reserved at a time; a vehicle that was killed goes on above all of them.
/// Half an hour of heartbeats.
const RESERVED: u64 = 4096;

/// A vehicle, apart from its memory. Its session with the broker does not outlive the process, nor does its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptVehicle {
    position: KeptPosition,
    load: Option<OrderId>,
    work: Option<KeptWork>,
    completions: Vec<CommandId>,
    car_passes_radio: bool,
    radio: KeptRadio,
    radio_troubles: Vec<KeptRadioTrouble>,
    /// By how much its car sensor is late, and for how long yet.
    sensor_late: Option<(Millis, Millis)>,
    acknowledged: u64,
    beat: u64,
    heartbeat_in_ms: Millis,
    sample: u64,
    telemetry_in_ms: Millis,
    report: u64,
    undelivered: Vec<VehicleReport>,
    battery: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptPosition {
    At(PointId),
    InCar(LiftId),
}

impl KeptVehicle {
    /// With numbers that were certainly not used before.
    pub(crate) fn reserving(mut self) -> Self {
        let above = |number: u64| (number / RESERVED + 1) * RESERVED;
        (self.beat, self.sample) = (above(self.beat), above(self.sample));
        self
    }
}

/// What others are told by a vehicle on the reliable road, the numbers that it reserved, and what troubles it: when it
/// changes, the vehicle is to be kept. Places and loads change with the work alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VehicleMark {
    boot: u64,
    report: u64,
    acknowledged: u64,
    work: Option<WorkMark>,
    reserved: (u64, u64),
    radio_troubles: Vec<RadioTrouble>,
    sensor_late: Option<(Millis, Mono)>,
}

impl VehicleModel {
    /// What others are told at this moment.
    pub(crate) fn mark(&self) -> VehicleMark {
        VehicleMark {
            boot: self.memory.boot(),
            report: self.report,
            acknowledged: self.acknowledged,
            work: self.work.as_ref().map(Work::mark),
            reserved: (self.beat / RESERVED, self.sample / RESERVED),
            radio_troubles: self.radio_troubles.clone(),
            sensor_late: self.sensor_late,
        }
    }

    /// All but the memory. Every field is named, so that a new one is not forgotten.
    pub(crate) fn kept(&self, now: Mono) -> KeptVehicle {
        let Self {
            id: _,
            vehicle: _,
            ways: _,
            memory: _,
            position,
            load,
            work,
            completions,
            link_open: _,
            beat_heard: _,
            connected: _,
            car_passes_radio,
            radio,
            radio_troubles,
            sensor_late,
            // A standstill ends with the process, and what waits in its sockets.
            frozen,
            waiting: _,
            acknowledged,
            beat,
            heartbeat_due,
            sample,
            telemetry_due,
            report,
            undelivered,
            battery,
            // The lab takes them away anew.
            safeguards: _,
            effects: _,
        } = self;
        KeptVehicle {
            position: match position.clone() {
                Position::At(point) => KeptPosition::At(point),
                Position::InCar(lift) => KeptPosition::InCar(lift),
            },
            load: load.clone(),
            work: work.as_ref().map(|it| it.kept(frozen.map_or(now, |(since, _)| since))),
            completions: completions.iter().cloned().collect(),
            car_passes_radio: *car_passes_radio,
            radio: radio.kept(now),
            radio_troubles: radio_troubles.iter().map(|it| KeptRadioTrouble::of(it, now)).collect(),
            sensor_late: sensor_late.map(|(by_ms, until)| (by_ms, until.since(now))),
            acknowledged: *acknowledged,
            beat: *beat,
            heartbeat_in_ms: heartbeat_due.since(now),
            sample: *sample,
            telemetry_in_ms: telemetry_due.since(now),
            report: *report,
            undelivered: undelivered.iter().cloned().collect(),
            battery: *battery,
        }
    }

    /// The vehicle as it was kept, out of session, its link closed.
    pub(crate) fn thaw(
        id: &VehicleId,
        plant: &Plant,
        ways: &Arc<Ways>,
        (kept, memory): (KeptVehicle, KeptMemory),
        now: Mono,
    ) -> Result<Self, ThawError> {
        let vehicle = plant.vehicles.get(id).ok_or_else(|| ThawError::UnknownVehicle(id.clone()))?;
        let position = kept.position.thaw(id, ways)?;
        let work = kept.work.map(|it| Work::thaw(it, id, ways, now)).transpose()?;
        let mut model = Self {
            id: id.clone(),
            vehicle: vehicle.clone(),
            ways: Arc::clone(ways),
            memory: VehicleMemory::thaw(memory),
            position,
            load: kept.load,
            work,
            completions: kept.completions.into(),
            link_open: false,
            beat_heard: now,
            connected: false,
            car_passes_radio: kept.car_passes_radio,
            // Tuned below to where it stands.
            radio: Radio::thaw(Cover::Normal, &kept.radio, now),
            radio_troubles: kept.radio_troubles.into_iter().map(|it| it.thaw(now)).collect(),
            sensor_late: kept.sensor_late.map(|(by_ms, in_ms)| (by_ms, now + in_ms)),
            frozen: None,
            waiting: [].into(),
            acknowledged: kept.acknowledged,
            beat: kept.beat,
            heartbeat_due: now + kept.heartbeat_in_ms,
            sample: kept.sample,
            telemetry_due: now + kept.telemetry_in_ms,
            report: kept.report,
            undelivered: kept.undelivered.into(),
            battery: kept.battery,
            safeguards: Safeguards::ALL,
            effects: [].into(),
        };
        if !model.radio.is_up() {
            model.effects.push_back(VehicleEffect::Radio { up: false });
        }
        model.tune_radio(now);
        Ok(model)
    }
}

impl KeptPosition {
    /// A vehicle that has forgotten its work may stand in a car without a ride.
    fn thaw(self, id: &VehicleId, ways: &Ways) -> Result<Position, ThawError> {
        match self {
            Self::At(point) if ways.lead_along(std::slice::from_ref(&point)) => Ok(Position::At(point)),
            Self::At(point) => Err(ThawError::UnknownPoint { vehicle: id.clone(), point }),
            Self::InCar(lift) if ways.has_lift(&lift) => Ok(Position::InCar(lift)),
            Self::InCar(lift) => Err(ThawError::UnknownCar { vehicle: id.clone(), lift }),
        }
    }
}
