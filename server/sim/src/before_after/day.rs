//! One working day of one column: the plant, its fleet, a dispatcher, and the roads between them.
//!
//! Knows: delays and losses of the roads. Must not know how a dispatcher decides. Each day begins with an idle site, so
//! days are independent of each other; it ends when everything is moved, or at [`CLOSING`].

use std::collections::BTreeMap;

use kernel::gateway::CommandBlock;
use kernel::ids::{InvalidName, LiftId, VehicleId};
use kernel::lift::{LiftMode, LiftStatus};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};
use kernel::timing::LIFT_POLL_PERIOD;
use kernel::wire::vehicle::VehicleCommand;

use super::calibration::Knobs;
use super::fleet::{Fleet, FleetEffect};
use super::load::{self, Order};
use super::policies::{LiftEffect, LiftEvent, NodeName, Policy, Wish};
use super::record::DayRecord;
use super::site;
use crate::plant::{SimEffect, SimEvent, SimPlant, SimSeed};
use crate::rng::Rng;
use crate::vehicle::VehicleMessage;

/// One exchange with the PLC over a serial bus of 9600 baud, in ms.
pub(super) const BUS_MS: std::ops::RangeInclusive<u64> = 46..=101;
/// One way to a vehicle, in ms.
pub(super) const RADIO_MS: std::ops::RangeInclusive<u64> = 20..=60;
/// A vehicle's session with the broker after its radio came.
const SESSION: Millis = Millis(50);
/// Acknowledgements that the road back loses: between the free hall's 0.1 % and the 5 % before lift doors.
pub(super) const ACK_LOSS_PERMILLE: u64 = 10;
/// Vehicles close their links after 3 s without a beat; more beats would change nothing.
const BEAT_PERIOD: Millis = Millis(2500);
/// What is not moved two hours after the last order stays.
pub(super) const CLOSING: Mono = Mono(load::DAY.0 + 2 * 3600 * 1000);

/// Something on its way.
#[derive(Clone, Debug)]
enum Parcel {
    Order(Order),
    Poll(NodeName),
    Policy(LiftEvent),
    Write { node: NodeName, serial: u64, wish: Wish },
    ToVehicle(Box<VehicleCommand>),
    Beat,
    Connected(VehicleId),
    Released,
}

/// A day under way.
pub(super) struct Day<'a> {
    now: Mono,
    lift: LiftId,
    plant: &'a Plant,
    sim: SimPlant,
    fleet: Fleet,
    policy: &'a mut dyn Policy,
    knobs: &'a Knobs,
    rng: Rng,
    parcels: BTreeMap<(Mono, u64), Parcel>,
    n_parcels: u64,
    connected: BTreeMap<VehicleId, bool>,
    number: u16,
    /// Written and not yet echoed, by number.
    written: BTreeMap<u16, (NodeName, u64)>,
    emergency: bool,
    read_at: Mono,
    asked: BTreeMap<VehicleId, Mono>,
    record: DayRecord,
}

impl<'a> Day<'a> {
    /// The site in the morning.
    ///
    /// # Errors
    /// A name that is none, which a test excludes.
    pub(super) fn new(
        plant: &'a Plant,
        policy: &'a mut dyn Policy,
        knobs: &'a Knobs,
        (seed, day): (u64, u32),
    ) -> Result<Self, InvalidName> {
        let now = Mono(0);
        let mut rng = Rng::new(seed, &format!("roads of day {day}"));
        let sim = SimPlant::new(plant, SimSeed { seed: rng.draw(), boot: u64::from(day) }, now);
        let mut site = Self {
            now,
            lift: site::lift_id()?,
            sim,
            fleet: Fleet::new(plant.clone())?,
            policy,
            knobs,
            rng,
            parcels: BTreeMap::new(),
            n_parcels: 0,
            connected: plant.vehicles.keys().map(|id| (id.clone(), false)).collect(),
            number: 0,
            written: BTreeMap::new(),
            emergency: false,
            read_at: now,
            asked: BTreeMap::new(),
            record: DayRecord::default(),
            plant,
        };
        for order in load::orders(seed, day, knobs)? {
            site.post(order.placed, Parcel::Order(order));
        }
        for id in plant.vehicles.keys() {
            site.post(now, Parcel::Connected(id.clone()));
        }
        for node in NodeName::BOTH {
            let phase = Millis(site.rng.within(1..=LIFT_POLL_PERIOD.0));
            site.post(now + phase, Parcel::Poll(node));
        }
        site.post(now, Parcel::Beat);
        Ok(site)
    }

    /// Runs until the day is over; `progress` hears how far it is, from 0 to 1, now and then.
    pub(super) fn run(mut self, progress: &mut dyn FnMut(f64)) -> Result<DayRecord, InvalidName> {
        let mut told = Mono(0);
        while self.now < CLOSING && !(self.now >= Mono(load::DAY.0) && self.fleet.is_done()) {
            self.step()?;
            if self.now.since(told) >= Millis::seconds(1800) {
                told = self.now;
                progress(share(self.now));
            }
        }
        for (_, load) in self.sim.loads().iter() {
            self.record.picked += u64::from(load.picked);
            self.record.dropped += u64::from(load.dropped);
        }
        self.record.unserved = self.asked.len() as u64;
        self.record.leases = self.policy.leases();
        Ok(self.record)
    }

    /// The earliest thing that is due.
    fn step(&mut self) -> Result<(), InvalidName> {
        let parcel = self.parcels.first_key_value().map(|(key, _)| key.0);
        let sim = self.sim.poll_timeout().map(|(at, _)| at);
        let policy = self.policy.poll_timeout();
        let due = [parcel, sim, policy].into_iter().flatten().min().unwrap_or(CLOSING);
        self.now = self.now.max(due);
        if parcel.is_some_and(|at| at <= self.now)
            && let Some((_, parcel)) = self.parcels.pop_first()
        {
            self.deliver(parcel)?;
        }
        if policy.is_some_and(|at| at <= self.now) {
            self.policy.handle_timeout(self.now);
        }
        if sim.is_some_and(|at| at <= self.now) {
            self.sim.handle(SimEvent::Tick, self.now);
        }
        self.drain()
    }

    fn post(&mut self, at: Mono, parcel: Parcel) {
        self.n_parcels += 1;
        self.parcels.insert((at, self.n_parcels), parcel);
    }

    fn post_after(&mut self, delay_ms: std::ops::RangeInclusive<u64>, parcel: Parcel) {
        let at = self.now + Millis(self.rng.within(delay_ms));
        self.post(at, parcel);
    }

    fn deliver(&mut self, parcel: Parcel) -> Result<(), InvalidName> {
        match parcel {
            Parcel::Order(order) => self.fleet.place(order, self.now)?,
            Parcel::Poll(node) => {
                self.read(|status| LiftEvent::Polled { node, status });
                self.post(self.now + LIFT_POLL_PERIOD, Parcel::Poll(node));
            }
            Parcel::Policy(event) => self.policy.handle(event, self.now),
            Parcel::Write { node, serial, wish } => self.write(node, serial, &wish),
            Parcel::ToVehicle(command) => self.sim.handle(SimEvent::VehicleCommand(command), self.now),
            Parcel::Beat => {
                for id in self.connected.iter().filter(|(_, up)| **up).map(|(id, _)| id) {
                    self.sim.handle(SimEvent::ControlBeat { vehicle: id.clone() }, self.now);
                }
                self.post(self.now + BEAT_PERIOD, Parcel::Beat);
            }
            Parcel::Connected(vehicle) => {
                self.sim.handle(SimEvent::VehicleConnected { vehicle: vehicle.clone() }, self.now);
                self.fleet.connected(&vehicle)?;
                self.connected.insert(vehicle, true);
            }
            Parcel::Released => {
                self.emergency = false;
                self.sim.reset_lift(&self.lift);
            }
        }
        Ok(())
    }

    fn read(&mut self, event: impl FnOnce(LiftStatus) -> LiftEvent) {
        if let Some(status) = self.sim.lift_status(&self.lift) {
            self.post_after(BUS_MS, Parcel::Policy(event(status)));
        }
    }

    fn write(&mut self, node: NodeName, serial: u64, wish: &Wish) {
        let floor = self.plant.lifts.get(&self.lift).and_then(|it| it.stop_number(&wish.floor));
        let Some(floor) = floor else { return };
        // 0 is reserved.
        self.number = self.number.checked_add(1).unwrap_or(1);
        self.written.insert(self.number, (node, serial));
        let block = CommandBlock { number: self.number, action: wish.action, floor };
        self.sim.handle(SimEvent::CommandBlock { lift: self.lift.clone(), block }, self.now);
        self.record.commands += 1;
    }

    fn drain(&mut self) -> Result<(), InvalidName> {
        while let Some(effect) = self.sim.poll_effect() {
            match effect {
                SimEffect::LiftStatus { status, .. } => self.scanned(&status),
                SimEffect::Radio { vehicle, up: true } => {
                    self.post(self.now + SESSION, Parcel::Connected(vehicle));
                }
                SimEffect::Radio { vehicle, up: false } => {
                    self.sim.handle(SimEvent::VehicleDisconnected { vehicle: vehicle.clone() }, self.now);
                    self.fleet.disconnected(&vehicle);
                    self.connected.insert(vehicle, false);
                }
                SimEffect::VehicleSend { vehicle, message } => self.hear(vehicle, message)?,
                SimEffect::VehicleHeard { .. } => {}
            }
        }
        while let Some(effect) = self.policy.poll_effect() {
            match effect {
                LiftEffect::Summon { vehicle } => self.fleet.summon(&vehicle)?,
                LiftEffect::Write { node, serial, wish } => {
                    self.post_after(BUS_MS, Parcel::Write { node, serial, wish });
                }
                LiftEffect::Read { node } => self.read(|status| LiftEvent::Read { node, status }),
            }
        }
        while let Some(effect) = self.fleet.poll_effect() {
            self.act_on(effect);
        }
        Ok(())
    }

    fn act_on(&mut self, effect: FleetEffect) {
        match effect {
            FleetEffect::Send(command) => self.post_after(RADIO_MS, Parcel::ToVehicle(command)),
            FleetEffect::Asked { node, ask } => {
                self.asked.insert(ask.vehicle.clone(), self.now);
                self.post(self.now, Parcel::Policy(LiftEvent::Asked { node, ask }));
            }
            FleetEffect::Boarded { node, vehicle } => {
                if let Some(asked) = self.asked.remove(&vehicle) {
                    self.record.waits.push((asked, self.now.since(asked)));
                }
                self.post(self.now, Parcel::Policy(LiftEvent::Boarded { node, vehicle }));
            }
            FleetEffect::Alighted { node, vehicle } => {
                self.post(self.now, Parcel::Policy(LiftEvent::Alighted { node, vehicle }));
            }
        }
    }

    fn hear(&mut self, vehicle: VehicleId, message: VehicleMessage) -> Result<(), InvalidName> {
        match message {
            VehicleMessage::Ack(ack) => self.fleet.acknowledged(&ack),
            VehicleMessage::Report(report) => {
                let number = report.report;
                self.sim.handle(SimEvent::ReportDelivered { vehicle, report: number }, self.now);
                self.fleet.reported(&report, self.now)?;
            }
            VehicleMessage::Heartbeat(_) | VehicleMessage::Telemetry(_) => {}
        }
        Ok(())
    }

    /// A scan of the PLC ended: echoes become acknowledgements, which the road back may lose.
    fn scanned(&mut self, status: &LiftStatus) {
        if let Some((node, serial)) = self.written.remove(&status.accepted) {
            // Numbers before it were overwritten and are never echoed.
            self.written.retain(|number, _| *number > status.accepted);
            if self.rng.within(1..=1000) > ACK_LOSS_PERMILLE {
                self.post_after(BUS_MS, Parcel::Policy(LiftEvent::Acked { node, serial }));
            }
        }
        let stopped = status.mode == LiftMode::Emergency;
        if stopped && !self.emergency {
            self.emergency = true;
            self.post(self.now + self.knobs.release_ms, Parcel::Released);
        }
        if let Some(counters) = self.sim.lift(&self.lift).map(|it| it.counters()) {
            self.record.count(&counters, self.now);
        }
        let span = self.now.since(self.read_at);
        self.read_at = self.now;
        let wanted = status.occupied || !self.asked.is_empty();
        self.record.spend(span, wanted, status.occupied && !stopped);
    }
}

/// How much of a day is over, from 0 to 1.
pub(super) fn share(now: Mono) -> f64 {
    let percent = u32::try_from(now.0.min(load::DAY.0).saturating_mul(100) / load::DAY.0).unwrap_or(100);
    f64::from(percent) / 100.0
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (BUS_MS, RADIO_MS, ACK_LOSS_PERMILLE, SESSION, BEAT_PERIOD, CLOSING))
}
