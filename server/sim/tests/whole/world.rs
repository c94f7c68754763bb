//! A whole site in virtual time: one control node, one gateway, the simulated plant, a broker that delays, a ledger
//! that is a list. One thread, no sleeping.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use kernel::control::{Accepted, Control, Effect, Event, NodeConfig, RequestId};
use kernel::gateway::{self, Gateway, Marks, WriteResult};
use kernel::ids::{GatewayId, LedgerSequence, LiftId, NodeId, StationId, VehicleId};
use kernel::lease::{FencingToken, HeldLease};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono, Now};
use kernel::wire::gateway::GatewayCommand;
use kernel::wire::ledger::Entry;
use kernel::wire::rest::{OrderRefusal, PlaceOrder};
use kernel::wire::vehicle::VehicleCommand;
use sim::plant::{SimEffect, SimEvent, SimPlant, SimSeed};
use sim::vehicle::VehicleMessage;

/// One way over the broker.
const BROKER_DELAY: Millis = Millis(5);
/// To the disk and back.
const LEDGER_DELAY: Millis = Millis(3);

/// Something on its way.
#[derive(Clone, Debug)]
enum Parcel {
    ToControl(Event),
    ToGateway(GatewayCommand),
    ToVehicle(VehicleCommand),
    Beat,
    Read(LiftId),
    Written { lift: LiftId, number: u16, block: gateway::CommandBlock },
    Connected(VehicleId),
}

/// The site.
pub(crate) struct World {
    pub(crate) now: Mono,
    pub(crate) plant: Plant,
    pub(crate) control: Option<Control>,
    pub(crate) gateway: Gateway,
    pub(crate) marks: Marks,
    pub(crate) sim: SimPlant,
    pub(crate) ledger: Vec<Entry>,
    pub(crate) answers: BTreeMap<RequestId, Result<Accepted, OrderRefusal>>,
    pub(crate) log: Vec<String>,
    parcels: BTreeMap<(Mono, u64), Parcel>,
    n_parcels: u64,
    connected: BTreeSet<VehicleId>,
    stored: BTreeMap<VehicleId, VecDeque<(Mono, VehicleCommand)>>,
    serial: u64,
    requests: u64,
}

impl World {
    pub(crate) fn new(plant: Plant, seed: u64) -> Self {
        let now = Mono(1000);
        let sim = SimPlant::new(&plant, SimSeed { seed, boot: 0 }, now);
        let gateway = Gateway::new(name(GatewayId::try_new, "G1"), &plant, Marks::default(), stamp(now));
        let mut world = Self {
            now,
            sim,
            gateway,
            marks: Marks::default(),
            control: None,
            ledger: Vec::new(),
            answers: BTreeMap::new(),
            log: Vec::new(),
            parcels: BTreeMap::new(),
            n_parcels: 0,
            connected: BTreeSet::new(),
            stored: BTreeMap::new(),
            serial: 0,
            requests: 0,
            plant,
        };
        for lift in world.plant.lifts.keys().cloned().collect::<Vec<_>>() {
            world.send(Millis(0), Parcel::Read(lift));
        }
        for vehicle in world.plant.vehicles.keys().cloned().collect::<Vec<_>>() {
            world.send(Millis(100), Parcel::Connected(vehicle));
        }
        world.start_control();
        world
    }

    /// Starts a control node from what the ledger holds.
    pub(crate) fn start_control(&mut self) {
        let node = name(NodeId::try_new, "A");
        let mut control = Control::new(NodeConfig { node }, self.plant.clone());
        for entry in &self.ledger {
            control.restore(entry).expect("the ledger fits");
        }
        control.start(stamp(self.now));
        self.control = Some(control);
        self.drain_control();
    }

    /// The control node is gone, with everything that was on its way to it.
    pub(crate) fn kill_control(&mut self) {
        self.control = None;
        self.parcels.retain(|_, parcel| !matches!(parcel, Parcel::ToControl(_)));
    }

    pub(crate) fn restart_gateway(&mut self) {
        let id = name(GatewayId::try_new, "G1");
        self.gateway = Gateway::new(id, &self.plant, self.marks.clone(), stamp(self.now));
        self.drain_gateway();
    }

    pub(crate) fn place(&mut self, from: &str, to: &str, key: &str) -> RequestId {
        self.requests += 1;
        let request = RequestId(self.requests);
        let order = PlaceOrder {
            from: name(StationId::try_new, from),
            to: name(StationId::try_new, to),
            priority: 5,
            deadline: None,
            reference: None,
        };
        let fingerprint = format!("{from}-{to}");
        let event = Event::OrderRequested { request, order, idempotency_key: key.to_owned(), fingerprint };
        self.with_control(event);
        request
    }

    /// Runs until the predicate holds; false when it does not within the bound.
    pub(crate) fn run_until(&mut self, bound: Millis, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + bound;
        while !holds(self) {
            if self.now >= end {
                return false;
            }
            self.step();
        }
        true
    }

    /// Every order has ended as completed.
    pub(crate) fn all_completed(&self) -> bool {
        self.control.as_ref().is_some_and(|control| {
            let tasks = &control.book().tasks;
            !tasks.is_empty() && tasks.values().all(|it| it.state == kernel::task::TaskState::Completed)
        })
    }

    /// The earliest thing that is due.
    fn step(&mut self) {
        let timers = [
            self.parcels.keys().next().map(|(at, _)| *at),
            self.control.as_ref().and_then(|it| it.poll_timeout()).map(|(at, _)| at),
            self.gateway.poll_timeout().map(|(at, _)| at),
            self.sim.poll_timeout().map(|(at, _)| at),
        ];
        let due = timers.into_iter().flatten().min().expect("something is always due");
        self.now = self.now.max(due);
        if let Some((key, _)) = self.parcels.first_key_value()
            && key.0 <= self.now
            && let Some((_, parcel)) = self.parcels.pop_first()
        {
            self.deliver(parcel);
        }
        if let Some(control) = &mut self.control
            && control.poll_timeout().is_some_and(|(at, _)| at <= self.now)
        {
            control.handle_timeout(stamp(self.now));
        }
        if self.gateway.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            self.gateway.handle_timeout(stamp(self.now));
        }
        if self.sim.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            self.sim.handle(SimEvent::Tick, self.now);
        }
        self.drain_sim();
        self.drain_gateway();
        self.drain_control();
    }

    fn send(&mut self, delay: Millis, parcel: Parcel) {
        self.n_parcels += 1;
        self.parcels.insert((self.now + delay, self.n_parcels), parcel);
    }

    fn deliver(&mut self, parcel: Parcel) {
        match parcel {
            Parcel::ToControl(event) => self.with_control(event),
            Parcel::ToGateway(command) => {
                self.gateway.handle(gateway::Event::Commanded(Box::new(command)), stamp(self.now));
            }
            Parcel::ToVehicle(command) => self.hand_to_vehicle(command),
            Parcel::Beat => {
                for vehicle in self.connected.clone() {
                    self.sim.handle(SimEvent::ControlBeat { vehicle }, self.now);
                }
            }
            Parcel::Read(lift) => {
                if let Some(status) = self.sim.lift_status(&lift) {
                    let event = gateway::Event::Read { lift: lift.clone(), status };
                    self.gateway.handle(event, stamp(self.now));
                }
                self.send(Millis(200), Parcel::Read(lift));
            }
            Parcel::Written { lift, number, block } => {
                self.sim.handle(SimEvent::CommandBlock { lift: lift.clone(), block }, self.now);
                let result = WriteResult::Confirmed;
                self.gateway.handle(gateway::Event::Written { lift, number, result }, stamp(self.now));
            }
            Parcel::Connected(vehicle) => self.connect(vehicle),
        }
    }

    fn connect(&mut self, vehicle: VehicleId) {
        self.connected.insert(vehicle.clone());
        self.sim.handle(SimEvent::VehicleConnected { vehicle: vehicle.clone() }, self.now);
        for (expires, command) in self.stored.remove(&vehicle).unwrap_or_default() {
            if expires > self.now {
                self.sim.handle(SimEvent::VehicleCommand(Box::new(command)), self.now);
            }
        }
    }

    fn hand_to_vehicle(&mut self, command: VehicleCommand) {
        if self.connected.contains(&command.vehicle) {
            self.sim.handle(SimEvent::VehicleCommand(Box::new(command)), self.now);
        } else {
            let expires = self.now + command.valid_for_ms;
            self.stored.entry(command.vehicle.clone()).or_default().push_back((expires, command));
        }
    }

    fn with_control(&mut self, event: Event) {
        if let Some(control) = &mut self.control {
            control.handle(event, stamp(self.now));
            self.drain_control();
        }
    }

    fn drain_control(&mut self) {
        while let Some(effect) = self.control.as_mut().and_then(Control::poll_effect) {
            match effect {
                Effect::Append { batch, records } => {
                    let first = self.ledger.len();
                    for record in records {
                        self.log.push(format!("{:>8} {record:?}", self.now.0));
                        let sequence = LedgerSequence(self.ledger.len() as u64 + 1);
                        let node = name(NodeId::try_new, "A");
                        self.ledger.push(Entry { sequence, at: stamp(self.now).wall, node, record });
                    }
                    let entries = self.ledger[first..].to_vec();
                    self.send(LEDGER_DELAY, Parcel::ToControl(Event::Appended { batch, entries }));
                }
                Effect::Answer { request, answer } => {
                    self.answers.insert(request, answer);
                }
                Effect::AcquireLease { lift, nonce, epoch } => {
                    self.serial += 1;
                    let token = FencingToken { epoch, serial: self.serial };
                    let lease = HeldLease::granted(lift, nonce, token, self.now);
                    self.send(Millis(1), Parcel::ToControl(Event::LeaseGranted { nonce, lease }));
                }
                Effect::ReleaseLease { .. } | Effect::Show(_) => {}
                Effect::SendVehicle { command, .. } => {
                    self.send(BROKER_DELAY, Parcel::ToGateway(GatewayCommand::Vehicle(command)));
                }
                Effect::SendLift { command, .. } => {
                    self.log.push(format!(
                        "{:>8} {:?} {} {}",
                        self.now.0, command.action, command.floor, command.id
                    ));
                    self.send(BROKER_DELAY, Parcel::ToGateway(GatewayCommand::Lift(command)));
                }
                Effect::Beat(_) => self.send(BROKER_DELAY, Parcel::Beat),
            }
        }
    }

    fn drain_gateway(&mut self) {
        while let Some(effect) = self.gateway.poll_effect() {
            match effect {
                gateway::Effect::Persist(marks) => self.marks = marks,
                gateway::Effect::Write { lift, block } => {
                    self.send(Millis(4), Parcel::Written { lift, number: block.number, block });
                }
                gateway::Effect::Tell(outcome) => {
                    self.log.push(format!("{:>8} {} {:?}", self.now.0, outcome.command, outcome.verdict));
                    self.send(BROKER_DELAY, Parcel::ToControl(Event::Outcome(outcome)));
                }
                gateway::Effect::Forward { command, .. } => {
                    self.send(BROKER_DELAY, Parcel::ToVehicle(command))
                }
                gateway::Effect::Status(status) => {
                    self.send(BROKER_DELAY, Parcel::ToControl(Event::GatewayStatus(status)));
                }
                gateway::Effect::Log { lift, text } => {
                    self.log.push(format!("{:>8} {lift}: {text}", self.now.0))
                }
            }
        }
    }

    fn drain_sim(&mut self) {
        while let Some(effect) = self.sim.poll_effect() {
            match effect {
                SimEffect::LiftStatus { .. } => {}
                SimEffect::Radio { vehicle, up: true } => self.send(Millis(50), Parcel::Connected(vehicle)),
                SimEffect::Radio { vehicle, up: false } => {
                    self.log.push(format!("{:>8} {vehicle} is out of reach", self.now.0));
                    self.connected.remove(&vehicle);
                    self.sim.handle(SimEvent::VehicleDisconnected { vehicle: vehicle.clone() }, self.now);
                    let event = Event::Presence { vehicle, online: false };
                    self.send(Millis(7500), Parcel::ToControl(event));
                }
                SimEffect::VehicleSend { vehicle, message } => self.hear_vehicle(vehicle, message),
            }
        }
    }

    fn hear_vehicle(&mut self, vehicle: VehicleId, message: VehicleMessage) {
        if !self.connected.contains(&vehicle) {
            return;
        }
        let event = match message {
            VehicleMessage::Ack(ack) => Event::Acknowledged(ack),
            VehicleMessage::Report(report) => {
                let number = report.report;
                self.sim.handle(SimEvent::ReportDelivered { vehicle, report: number }, self.now);
                Event::Reported(report)
            }
            VehicleMessage::Heartbeat(heartbeat) => Event::Heartbeat(*heartbeat),
            VehicleMessage::Telemetry(telemetry) => Event::Telemetry(telemetry),
        };
        self.send(BROKER_DELAY, Parcel::ToControl(event));
    }
}

fn stamp(mono: Mono) -> Now {
    let wall =
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::milliseconds(i64::try_from(mono.0).unwrap_or_default());
    Now { mono, wall }
}

fn name<T, E: std::fmt::Debug>(make: impl Fn(&str) -> Result<T, E>, text: &str) -> T {
    make(text).expect("a name")
}
