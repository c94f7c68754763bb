//! A vehicle: takes commands, drives, rides, handles loads, and tells what it did.
//!
//! Three rules come before everything else. A command is done once, however often it arrives. After a start, a
//! reconnect or [`CONTROL_BEATS_MISSED_MAX`] missed control beats it finishes what it accepted and takes nothing new
//! until its link is opened with a higher generation. What happened is reported until the broker has it.

mod admit;
mod arrivals;
mod kept;
mod memory;
mod say;
mod trouble;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::ids::{CommandId, FloorId, LiftId, OrderId, PointId, VehicleId};
use kernel::plant::Vehicle;
use kernel::safeguard::Safeguards;
use kernel::time::{Millis, Mono};
use kernel::timing::{CONTROL_BEAT_PERIOD, CONTROL_BEATS_MISSED_MAX, HEARTBEAT_PERIOD};
use kernel::wire::vehicle::{Heartbeat, Telemetry, VehicleAck, VehicleCommand, VehicleReport};

pub use kept::KeptVehicle;
pub(crate) use kept::VehicleMark;
pub use memory::{KeptMemory, VehicleMemory};
pub use trouble::{FROZEN_MAX, RadioEffect, RadioPlace, RadioRoad, RadioTrouble};

use crate::radio::{Cover, Radio, Signal};
use crate::rng::Rng;
use crate::ways::Ways;
use arrivals::Arrival;
use work::Work;

/// Period of telemetry.
pub const TELEMETRY_PERIOD: Millis = Millis::seconds(1);
/// A link without a control beat for so long is closed.
const LINK_SILENCE: Millis = CONTROL_BEAT_PERIOD.times(CONTROL_BEATS_MISSED_MAX);

/// What a vehicle wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VehicleEffect {
    /// Its controller has read a command. Said for those who watch, before what follows from it.
    Heard {
        /// Which.
        command: Box<VehicleCommand>,
        /// It began to work on it by that.
        began: bool,
    },
    /// Send this. Acknowledgements and reports go by the reliable road.
    Send(VehicleMessage),
    /// The radio came or went.
    Radio {
        /// It came.
        up: bool,
    },
    /// A load was taken up.
    Picked {
        /// Whose.
        order: OrderId,
        /// Where.
        at: PointId,
    },
    /// A load was put down.
    Dropped {
        /// Whose.
        order: OrderId,
        /// Where.
        at: PointId,
    },
}

/// What a vehicle says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VehicleMessage {
    /// To a command.
    Ack(VehicleAck),
    /// Progress or result; kept until it is delivered.
    Report(VehicleReport),
    /// Proof of life.
    Heartbeat(Box<Heartbeat>),
    /// Place, battery, signal.
    Telemetry(Telemetry),
}

/// What a vehicle before or in a car sees of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarView {
    /// The floor where the car stands level with its door fully open.
    pub open_at: Option<FloorId>,
    /// Radio passes the door.
    pub radio_passes: bool,
    /// The car holds fewer vehicles than it may.
    pub has_room: bool,
    /// Nobody is on the sill.
    pub sill_free: bool,
}

/// How far a vehicle is with its ride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RideStage {
    /// On its way to the landing.
    Approaching,
    /// Before the door, on its way in or out.
    Waiting,
    /// On the sill, inwards or outwards.
    OnSill,
    /// In the car, which its late sensor does not say yet.
    Unsure,
    /// In the car.
    Inside,
}

/// Where a vehicle stands, or which point it left last.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    At(PointId),
    InCar(LiftId),
}

/// A vehicle at the start of the simulation.
#[derive(Clone, Debug)]
pub struct VehicleStart {
    /// Its name.
    pub id: VehicleId,
    /// Speeds and home.
    pub vehicle: Vehicle,
    /// Where it stands.
    pub point: PointId,
    /// The load aboard.
    pub load: Option<OrderId>,
    /// What it kept over its last stop; its boot is one higher.
    pub memory: VehicleMemory,
}

/// One simulated vehicle.
#[derive(Clone, Debug)]
pub struct VehicleModel {
    id: VehicleId,
    vehicle: Vehicle,
    ways: Arc<Ways>,
    memory: VehicleMemory,
    position: Position,
    load: Option<OrderId>,
    work: Option<Work>,
    completions: VecDeque<CommandId>,
    link_open: bool,
    beat_heard: Mono,
    connected: bool,
    car_passes_radio: bool,
    radio: Radio,
    radio_troubles: Vec<RadioTrouble>,
    /// What its car sensor sees shows late by so much, until a moment.
    sensor_late: Option<(Millis, Mono)>,
    /// Its controller stands still since then, until then.
    frozen: Option<(Mono, Mono)>,
    /// What reached it meanwhile.
    waiting: VecDeque<Arrival>,
    acknowledged: u64,
    beat: u64,
    heartbeat_due: Mono,
    sample: u64,
    telemetry_due: Mono,
    report: u64,
    undelivered: VecDeque<VehicleReport>,
    /// In hundredths of a percent.
    battery: u16,
    safeguards: Safeguards,
    effects: VecDeque<VehicleEffect>,
}

impl VehicleModel {
    /// A vehicle that has just started: not connected, its link closed. Phases of its beats come from the seed.
    pub fn new(start: VehicleStart, ways: Arc<Ways>, seed: u64, now: Mono) -> Self {
        let mut rng = Rng::new(seed, start.id.as_str());
        let cover = ways.cover_at(&start.point);
        let mut model = Self {
            heartbeat_due: now + Millis(rng.within(1..=HEARTBEAT_PERIOD.0)),
            telemetry_due: now + Millis(rng.within(1..=TELEMETRY_PERIOD.0)),
            battery: u16::try_from(rng.within(7000..=10_000)).unwrap_or(7000),
            radio: Radio::new(cover, rng),
            radio_troubles: Vec::new(),
            sensor_late: None,
            frozen: None,
            waiting: VecDeque::new(),
            id: start.id,
            vehicle: start.vehicle,
            ways,
            memory: start.memory.started(),
            position: Position::At(start.point),
            load: start.load,
            work: None,
            completions: VecDeque::new(),
            link_open: false,
            beat_heard: now,
            connected: false,
            car_passes_radio: true,
            acknowledged: 0,
            beat: 0,
            sample: 0,
            report: 0,
            undelivered: VecDeque::new(),
            safeguards: Safeguards::ALL,
            effects: VecDeque::new(),
        };
        if !model.radio.is_up() {
            model.effects.push_back(VehicleEffect::Radio { up: false });
        }
        model
    }

    /// What it keeps over a stop.
    pub fn memory(&self) -> &VehicleMemory {
        &self.memory
    }

    /// Whether its radio is up.
    pub fn radio_is_up(&self) -> bool {
        self.radio.is_up()
    }

    /// When it last came back to where radio covers.
    pub fn covered_at(&self) -> Option<Mono> {
        self.radio.covered_at()
    }

    /// Where it stands with nothing in hand.
    pub fn idles_at(&self) -> Option<&PointId> {
        match &self.position {
            Position::At(point) if self.work.is_none() => Some(point),
            Position::At(_) | Position::InCar(_) => None,
        }
    }

    /// The earliest moment at which it has to act on its own.
    pub fn due(&self) -> Mono {
        if let Some((_, until)) = self.frozen {
            return until;
        }
        let mut due = self.heartbeat_due.min(self.telemetry_due);
        let link = self.link_open.then(|| self.beat_heard + LINK_SILENCE);
        let work = self.work.as_ref().and_then(Work::due);
        let (trouble, sensor) = (self.radio_trouble_ends(), self.sensor_late.map(|(_, until)| until));
        for moment in [link, work, trouble, sensor, self.radio.returns_at()].into_iter().flatten() {
            due = due.min(moment);
        }
        due
    }

    /// Does what is due by now.
    pub fn step(&mut self, now: Mono) {
        if !self.is_awake(now) {
            return;
        }
        if self.link_open && now >= self.beat_heard + LINK_SILENCE {
            self.link_open = false;
        }
        self.end_radio_troubles(now);
        self.sensor_late.take_if(|(_, until)| *until <= now);
        if self.radio.step(now) {
            self.effects.push_back(VehicleEffect::Radio { up: true });
        }
        self.step_work(now);
        while self.heartbeat_due <= now {
            self.heartbeat_due = self.heartbeat_due + HEARTBEAT_PERIOD;
            self.say_heartbeat(now);
        }
        while self.telemetry_due <= now {
            self.telemetry_due = self.telemetry_due + TELEMETRY_PERIOD;
            self.say_telemetry(now);
        }
        self.read_what_waited(now);
    }

    /// The next effect, if any.
    pub fn poll_effect(&mut self) -> Option<VehicleEffect> {
        self.effects.pop_front()
    }

    /// Takes safeguards away, for the lab.
    pub(crate) fn take_safeguards(&mut self, safeguards: Safeguards) {
        self.safeguards = safeguards;
    }

    fn cover(&self) -> Cover {
        if self.is_cut_off() {
            return Cover::Dead;
        }
        match (&self.position, self.work.as_ref().and_then(Work::driving)) {
            (Position::InCar(_), _) if !self.car_passes_radio => Cover::Dead,
            (Position::InCar(_), _) => Cover::Weak,
            (Position::At(_), Some((from, to))) => self.ways.cover_between(from, to),
            (Position::At(point), None) => self.ways.cover_at(point),
        }
    }

    fn tune_radio(&mut self, now: Mono) {
        if let Some(up) = self.radio.enter(self.cover(), now) {
            self.connected &= up;
            self.effects.push_back(VehicleEffect::Radio { up });
        }
    }

    fn measure(&mut self) -> Signal {
        let measured = self.radio.measure();
        match self.interference() {
            Some((rssi_dbm, loss_pct)) if self.radio.is_up() => Signal { rssi_dbm, loss_pct },
            Some(_) | None => measured,
        }
    }
}

#[cfg(test)]
mod tests;
