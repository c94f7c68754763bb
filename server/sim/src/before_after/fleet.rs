//! The vehicles and their orders, the same for every column: who takes an order, and one command after another.
//!
//! Knows: the vehicles' protocol and the plant. Must not know the lift; it says when a vehicle asks for it and is told
//! when to ride. A vehicle drops its link in the car, and gets it opened again afterwards.

use std::collections::{BTreeMap, VecDeque};

use kernel::ids::{CommandId, FloorId, Generation, InvalidName, LiftId, PointId, SessionId, VehicleId};
use kernel::plant::Plant;
use kernel::route::{self, Line, Pace, Stretch};
use kernel::time::{Millis, Mono};
use kernel::wire::vehicle::{
    AckVerdict, Instruction, Operation, Progress, VehicleAck, VehicleCommand, VehicleReport,
};

use super::load::Order;
use super::policies::{Ask, NodeName};
use super::site;

/// What the lift costs when a vehicle is chosen for an order: one on the order's floor is taken first.
const LIFT_COST: Millis = Millis::seconds(120);

/// An order waits so long for a vehicle of its own floor.
const ORDER_PATIENCE: Millis = Millis::seconds(1800);

/// What the fleet wants done.
#[derive(Clone, Debug)]
pub(super) enum FleetEffect {
    /// Send a vehicle a command.
    Send(Box<VehicleCommand>),
    /// A vehicle stands at the waiting point.
    Asked { node: NodeName, ask: Ask },
    /// It stands in the car.
    Boarded { node: NodeName, vehicle: VehicleId },
    /// It stands outside again.
    Alighted { node: NodeName, vehicle: VehicleId },
}

/// One thing that a vehicle has to do for its order.
#[derive(Clone, Debug)]
enum Step {
    Drive { path: Vec<PointId>, then: Operation },
    Ride { ask: Ask, approach: Vec<PointId>, exit: PointId },
}

#[derive(Clone, Debug)]
struct Vehicle {
    at: PointId,
    pace: Pace,
    link: Generation,
    link_open: bool,
    sequence: u64,
    /// What was sent and is not known to be taken.
    unacknowledged: Option<VehicleCommand>,
    reported: u64,
    node: NodeName,
    summoned: bool,
    steps: VecDeque<Step>,
}

/// The fleet at its work.
#[derive(Clone, Debug)]
pub(super) struct Fleet {
    plant: Plant,
    lift: LiftId,
    session: SessionId,
    line: Line,
    vehicles: BTreeMap<VehicleId, Vehicle>,
    orders: VecDeque<(NodeName, Order)>,
    n_placed: u64,
    effects: VecDeque<FleetEffect>,
}

impl Fleet {
    /// Vehicles at home, without links.
    ///
    /// # Errors
    /// A name that is none, which a test excludes.
    pub(super) fn new(plant: Plant) -> Result<Self, InvalidName> {
        let lift = site::lift_id()?;
        let vehicle = |it: &kernel::plant::Vehicle| Vehicle {
            at: it.home.clone(),
            pace: Pace::of(it),
            link: Generation::default(),
            link_open: false,
            sequence: 0,
            unacknowledged: None,
            reported: 0,
            node: NodeName::A,
            summoned: false,
            steps: VecDeque::new(),
        };
        Ok(Self {
            vehicles: plant.vehicles.iter().map(|(id, it)| (id.clone(), vehicle(it))).collect(),
            line: [(lift.clone(), LIFT_COST)].into(),
            session: SessionId::try_new("none")?,
            lift,
            plant,
            orders: VecDeque::new(),
            n_placed: 0,
            effects: VecDeque::new(),
        })
    }

    /// The next effect, if any.
    pub(super) fn poll_effect(&mut self) -> Option<FleetEffect> {
        self.effects.pop_front()
    }

    /// Nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.orders.is_empty() && self.vehicles.values().all(|it| it.steps.is_empty())
    }

    /// An order came. The nodes share them out by turns (report, 1.2).
    pub(super) fn place(&mut self, order: Order, now: Mono) -> Result<(), InvalidName> {
        let node = if self.n_placed.is_multiple_of(2) { NodeName::A } else { NodeName::B };
        self.n_placed += 1;
        self.orders.push_back((node, order));
        self.assign(now)
    }

    /// A vehicle's session with the broker stands: its link is opened anew.
    pub(super) fn connected(&mut self, id: &VehicleId) -> Result<(), InvalidName> {
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        vehicle.link = vehicle.link.next();
        let command = vehicle.command(id, Instruction::OpenLink)?;
        self.effects.push_back(FleetEffect::Send(Box::new(command)));
        Ok(())
    }

    /// Its radio went.
    pub(super) fn disconnected(&mut self, id: &VehicleId) {
        if let Some(vehicle) = self.vehicles.get_mut(id) {
            vehicle.link_open = false;
        }
    }

    /// It answered. The first answer to a new link is that to its opening.
    pub(super) fn acknowledged(&mut self, ack: &VehicleAck) {
        let Some(vehicle) = self.vehicles.get_mut(&ack.vehicle) else { return };
        if vehicle.unacknowledged.as_ref().is_some_and(|it| it.id == ack.command) {
            vehicle.unacknowledged.take_if(|_| ack.verdict == AckVerdict::Accepted);
        } else if ack.link == vehicle.link && !vehicle.link_open {
            vehicle.link_open = true;
            if let Some(command) = &mut vehicle.unacknowledged {
                command.link = vehicle.link;
                self.effects.push_back(FleetEffect::Send(Box::new(command.clone())));
            }
        }
    }

    /// It reported; repeats after a reconnect change nothing.
    pub(super) fn reported(&mut self, report: &VehicleReport, now: Mono) -> Result<(), InvalidName> {
        let id = &report.vehicle;
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        if report.report <= vehicle.reported {
            return Ok(());
        }
        vehicle.reported = report.report;
        let node = vehicle.node;
        match report.progress {
            Progress::Started => Ok(()),
            Progress::Boarded => {
                self.effects.push_back(FleetEffect::Boarded { node, vehicle: id.clone() });
                Ok(())
            }
            Progress::Alighted => {
                self.effects.push_back(FleetEffect::Alighted { node, vehicle: id.clone() });
                Ok(())
            }
            Progress::Done => self.step_done(id, now),
            Progress::Failed { .. } => self.step_failed(id),
        }
    }

    /// A node fetches the car for this vehicle. One that is on its way already only hears it once.
    pub(super) fn summon(&mut self, id: &VehicleId) -> Result<(), InvalidName> {
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        if vehicle.summoned {
            return Ok(());
        }
        vehicle.summoned = true;
        self.ride(id)
    }

    fn step_done(&mut self, id: &VehicleId, now: Mono) -> Result<(), InvalidName> {
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        match vehicle.steps.pop_front() {
            Some(Step::Drive { path, .. }) => vehicle.at = path.last().unwrap_or(&vehicle.at).clone(),
            Some(Step::Ride { exit, .. }) => vehicle.at = exit,
            None => {}
        }
        vehicle.summoned = false;
        self.go_on(id)?;
        self.assign(now)
    }

    /// It stands at the landing and no car came: it is told to ride once more.
    fn step_failed(&mut self, id: &VehicleId) -> Result<(), InvalidName> {
        if let Some(Step::Ride { approach, .. }) =
            self.vehicles.get_mut(id).and_then(|it| it.steps.front_mut())
        {
            *approach = approach.split_off(approach.len().saturating_sub(1));
        }
        self.ride(id)
    }

    /// Sends what the next step needs; before a ride the vehicle asks for the lift.
    fn go_on(&mut self, id: &VehicleId) -> Result<(), InvalidName> {
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        match vehicle.steps.front() {
            None => Ok(()),
            Some(Step::Drive { path, then }) => {
                let instruction = Instruction::Drive { path: path.clone(), then: then.clone() };
                self.command(id, instruction)
            }
            Some(Step::Ride { ask, .. }) => {
                let effect = FleetEffect::Asked { node: vehicle.node, ask: ask.clone() };
                self.effects.push_back(effect);
                Ok(())
            }
        }
    }

    fn ride(&mut self, id: &VehicleId) -> Result<(), InvalidName> {
        let front = self.vehicles.get(id).and_then(|it| it.steps.front());
        let Some(Step::Ride { ask, approach, exit }) = front else { return Ok(()) };
        let instruction = Instruction::Ride {
            lift: self.lift.clone(),
            session: self.session.clone(),
            from: ask.from.clone(),
            to: ask.to.clone(),
            approach: approach.clone(),
            exit: exit.clone(),
        };
        self.command(id, instruction)
    }

    /// Sends a command now, or as soon as the link stands.
    fn command(&mut self, id: &VehicleId, instruction: Instruction) -> Result<(), InvalidName> {
        let Some(vehicle) = self.vehicles.get_mut(id) else { return Ok(()) };
        let command = vehicle.command(id, instruction)?;
        if vehicle.link_open {
            self.effects.push_back(FleetEffect::Send(Box::new(command.clone())));
        }
        vehicle.unacknowledged = Some(command);
        Ok(())
    }

    /// Gives waiting orders to idle vehicles, the oldest first, each to the nearest one. A vehicle comes by lift only
    /// when its floor's own vehicles did not come for long: else empty rides would fill the lift.
    fn assign(&mut self, now: Mono) -> Result<(), InvalidName> {
        for (node, order) in std::mem::take(&mut self.orders) {
            let patient = now.since(order.placed) < ORDER_PATIENCE;
            match self.nearest(&order, patient) {
                None => self.orders.push_back((node, order)),
                Some((id, steps)) => {
                    if let Some(vehicle) = self.vehicles.get_mut(&id) {
                        vehicle.node = node;
                        vehicle.steps = steps;
                    }
                    self.go_on(&id)?;
                }
            }
        }
        Ok(())
    }

    fn nearest(&self, order: &Order, same_floor: bool) -> Option<(VehicleId, VecDeque<Step>)> {
        let pick = &self.plant.stations.get(&order.from)?.point;
        let drop = &self.plant.stations.get(&order.to)?.point;
        let idle = self.vehicles.iter().filter(|(_, it)| it.steps.is_empty() && it.unacknowledged.is_none());
        let far = |it: &Vehicle| route::cost(&self.plant, &it.at, pick, it.pace, &self.line);
        let near = |it: &Vehicle| !same_floor || self.plant.floor_of(&it.at) == self.plant.floor_of(pick);
        let (id, vehicle) = idle.filter(|(_, it)| near(it)).min_by_key(|(_, it)| far(it))?;
        let mut steps = VecDeque::new();
        self.plan(&mut steps, id, (&vehicle.at, pick), Operation::Pick { order: order.id.clone() })?;
        self.plan(&mut steps, id, (pick, drop), Operation::Drop { order: order.id.clone() })?;
        Some((id.clone(), steps))
    }

    /// Adds the way between two points, with what to do at its end. Before a lift it ends at the waiting point.
    fn plan(
        &self,
        steps: &mut VecDeque<Step>,
        id: &VehicleId,
        (from, to): (&PointId, &PointId),
        last: Operation,
    ) -> Option<()> {
        let pace = self.vehicles.get(id)?.pace;
        let mut here = from.clone();
        let mut stretches = route::way(&self.plant, from, to, pace, &self.line)?.into_iter().peekable();
        while let Some(stretch) = stretches.next() {
            match stretch {
                Stretch::Drive(mut path) => {
                    if stretches.peek().is_some() {
                        path.pop();
                    }
                    here = path.last()?.clone();
                    let then = if here == *to { last.clone() } else { Operation::Stand };
                    steps.push_back(Step::Drive { path, then });
                }
                Stretch::Ride { from, to, .. } => {
                    let (step, exit) = self.ride_step(id, here, from, to)?;
                    here = exit;
                    steps.push_back(step);
                }
            }
        }
        if from == to {
            steps.push_back(Step::Drive { path: vec![here], then: last });
        }
        Some(())
    }

    fn ride_step(&self, id: &VehicleId, at: PointId, from: FloorId, to: FloorId) -> Option<(Step, PointId)> {
        let lift = self.plant.lifts.get(&self.lift)?;
        let exit = lift.stop(&to)?.landing.clone();
        let approach = vec![at, lift.stop(&from)?.landing.clone()];
        let ask = Ask { vehicle: id.clone(), from, to };
        Some((Step::Ride { ask, approach, exit: exit.clone() }, exit))
    }
}

impl Vehicle {
    fn command(&mut self, id: &VehicleId, instruction: Instruction) -> Result<VehicleCommand, InvalidName> {
        self.sequence += 1;
        Ok(VehicleCommand {
            id: CommandId::try_new(&format!("{id}-{}", self.sequence))?,
            vehicle: id.clone(),
            sequence: self.sequence,
            task: None,
            step: 0,
            claim: Generation::default(),
            link: self.link,
            valid_for_ms: Millis::seconds(30),
            instruction,
        })
    }
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (LIFT_COST, ORDER_PATIENCE))
}
