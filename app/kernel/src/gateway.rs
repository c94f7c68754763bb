//! The edge gateway: the one voice that a PLC hears, and the road of its vehicles.
//!
//! A command is admitted when it arrives and again when it is taken from the queue: token, generations, age,
//! expectation. Its PLC number is durable before it is written. Whatever was written is known to have run, known
//! not to have run, or being found out; nothing is sent meanwhile.

mod admission;
mod channel;
mod edge;
mod foreign;
mod marks;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ids::{CommandId, GatewayId, LiftId, VehicleId};
use crate::lift::{LiftAction, LiftStatus};
use crate::plant::Plant;
use crate::safeguard::{Safeguard, Safeguards};
use crate::time::{Mono, Now};
use crate::timing::LIFT_POLL_PERIOD;
use crate::wire::gateway::{
    ControlBeat, GatewayCommand, GatewayRefusal, GatewayStatus, LiftCommand, Outcome, Verdict,
};
use crate::wire::vehicle::VehicleCommand;

use self::channel::Channel;
use self::edge::Nodes;

pub use self::admission::{View, admit};
pub use self::edge::{Car, LiftState, SessionRank, admits};
pub use self::marks::{Aim, CLAIMS_MAX, InFlight, LiftMarks, Marks, OUTCOMES_MAX};

/// What happens to a gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Control sent a command.
    Commanded(Box<GatewayCommand>),
    /// A node says that it lives, and whether it reaches the lease store.
    Beat(ControlBeat),
    /// A lift was read.
    Read {
        /// Which.
        lift: LiftId,
        /// What it showed.
        status: LiftStatus,
    },
    /// A lift could not be read, or its connection broke.
    ReadFailed {
        /// Which.
        lift: LiftId,
        /// Why.
        reason: String,
    },
    /// A message could not be understood.
    MessageRejected,
    /// What became of a write.
    Written {
        /// Which lift.
        lift: LiftId,
        /// The number that it carried.
        number: u16,
        /// How it went on the wire.
        result: WriteResult,
    },
}

/// How a write went on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// The PLC confirmed the write. Whether it runs shows in the echo.
    Confirmed,
    /// It certainly never reached the PLC.
    NotSent,
    /// It may have.
    Unknown,
}

/// What a gateway wants done. The shell performs them in order, and each persisting before anything after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Make this durable before going on.
    Persist(Marks),
    /// Write one command block to a PLC, in one request.
    Write {
        /// Which lift.
        lift: LiftId,
        /// The block.
        block: CommandBlock,
    },
    /// Tell control what became of a command.
    Tell(Outcome),
    /// Pass a command on to a vehicle.
    Forward {
        /// To whom.
        vehicle: VehicleId,
        /// What.
        command: VehicleCommand,
    },
    /// Tell control the state.
    Status(GatewayStatus),
    /// Worth a line in the log: once per cause, not once per try.
    Log {
        /// About which lift.
        lift: LiftId,
        /// What.
        text: String,
    },
}

/// What is written to a PLC in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandBlock {
    /// 1 to 65535; the PLC runs a number once. 0 is reserved.
    pub number: u16,
    /// What to do.
    pub action: LiftAction,
    /// Stop number, from 1 at the lowest stop.
    pub floor: u16,
}

/// One edge gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gateway {
    id: GatewayId,
    marks: Marks,
    channels: BTreeMap<LiftId, Channel>,
    vehicles: BTreeSet<VehicleId>,
    nodes: Nodes,
    messages: u64,
    messages_rejected: u64,
    next_status: Mono,
    safeguards: Safeguards,
    effects: VecDeque<Effect>,
}

impl Gateway {
    /// A gateway that starts with what it kept. The first effect persists that it started: its boot number rises
    /// before anything is told under it. A command that was in flight is verified before anything else is sent; one
    /// that waited in the queue was not sent, and its sender is told so.
    pub fn new(id: GatewayId, plant: &Plant, mut marks: Marks, now: Now) -> Self {
        marks.boot += 1;
        let given_up = marks.give_up_queued();
        let mut channels = BTreeMap::new();
        for (lift, model) in plant.lifts.iter().filter(|(_, it)| it.gateway == id) {
            let kept = marks.lifts.entry(lift.clone()).or_default();
            channels.insert(lift.clone(), Channel::new(lift.clone(), model.clone(), kept, now));
        }
        let vehicles =
            plant.vehicles.iter().filter(|(_, it)| it.gateway == id).map(|(v, _)| v.clone()).collect();
        let effects = VecDeque::from([Effect::Persist(marks.clone())]);
        let safeguards = Safeguards::ALL;
        let mut gateway = Self {
            id,
            marks,
            channels,
            vehicles,
            nodes: Nodes::default(),
            messages: 0,
            messages_rejected: 0,
            next_status: now.mono,
            safeguards,
            effects,
        };
        for (lift, id) in given_up {
            gateway.tell(&id, Some(lift), None, Verdict::NotSent);
        }
        gateway
    }

    /// The same gateway under other safeguards than all, for the lab; called right after [`Gateway::new`].
    #[must_use]
    pub fn under(mut self, safeguards: Safeguards) -> Self {
        self.safeguards = safeguards;
        for channel in self.channels.values_mut() {
            channel.take_safeguards(safeguards);
        }
        self
    }

    /// Takes what happened.
    pub fn handle(&mut self, event: Event, now: Now) {
        match event {
            Event::Commanded(command) => match *command {
                GatewayCommand::Lift(command) => self.lift_commanded(command, now),
                GatewayCommand::Vehicle(command) => self.vehicle_commanded(command),
            },
            Event::Beat(beat) => self.beat_heard(&beat, now),
            Event::Read { lift, status } => {
                let number = self.marks.lifts.get(&lift).map_or(0, |it| it.number);
                self.with_channel(&lift, |channel| channel.read(status, number, now));
            }
            Event::ReadFailed { lift, reason } => {
                self.with_channel(&lift, |channel| channel.read_failed(&reason));
            }
            Event::MessageRejected => self.messages_rejected += 1,
            Event::Written { lift, number, result } => {
                self.written(&lift, number, result, now);
            }
        }
        self.step(now);
    }

    /// A deadline named by [`Gateway::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Now) {
        self.step(now);
    }

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When to call [`Gateway::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Mono, &'static str)> {
        let echo = self.channels.values().filter_map(Channel::deadline).min();
        match echo {
            Some(due) if due < self.next_status => Some((due, "an echo is overdue")),
            Some(_) | None => Some((self.next_status, "the status is due")),
        }
    }

    fn written(&mut self, lift: &LiftId, number: u16, result: WriteResult, now: Now) {
        let Some(channel) = self.channels.get_mut(lift) else { return };
        channel.written(number, result, now);
        let kept = self.marks.lifts.get_mut(lift).and_then(|it| it.in_flight.as_mut());
        if let Some(kept) = kept.filter(|it| !it.confirmed && channel.rests_on_the_write_of(&it.command)) {
            kept.confirmed = true;
            self.effects.push_back(Effect::Persist(self.marks.clone()));
        }
    }

    fn with_channel(&mut self, lift: &LiftId, change: impl FnOnce(&mut Channel)) {
        if let Some(channel) = self.channels.get_mut(lift) {
            change(channel);
        }
    }

    /// Moves each lift on as far as it goes, then tells the state when it is due.
    fn step(&mut self, now: Now) {
        self.arbitrate(now);
        let lifts: Vec<LiftId> = self.channels.keys().cloned().collect();
        for lift in lifts {
            self.advance(&lift, now);
        }
        if self.next_status <= now.mono {
            self.next_status = now.mono + LIFT_POLL_PERIOD;
            self.messages += 1;
            let boot = self.marks.boot;
            let fresh = LiftMarks::default();
            let marks = |lift: &LiftId| self.marks.lifts.get(lift).unwrap_or(&fresh);
            let lifts = self.channels.iter().map(|(id, it)| it.reading(boot, marks(id), now)).collect();
            let (message, messages_rejected) = (self.messages, self.messages_rejected);
            let status = GatewayStatus { gateway: self.id.clone(), boot, message, messages_rejected, lifts };
            self.effects.push_back(Effect::Status(status));
        }
    }

    fn lift_commanded(&mut self, command: LiftCommand, now: Now) {
        let lift = command.lift.clone();
        let Some(channel) = self.channels.get_mut(&lift) else {
            let verdict = Verdict::Refused { reason: GatewayRefusal::UnknownTarget };
            self.tell(&command.id, Some(lift), None, verdict);
            return;
        };
        let kept = self.marks.lifts.entry(lift.clone()).or_default();
        if self.safeguards.holds(Safeguard::OutcomeMemory) {
            if let Some(verdict) = kept.outcome(&command.id) {
                self.tell(&command.id, Some(lift), None, verdict);
                return;
            }
            if channel.knows(&command.id) {
                return;
            }
        }
        let admitted = admit(&command, kept, &self.marks.claims, &channel.view(self.marks.boot, now), now);
        match admitted.and_then(|()| channel.enqueue(command.clone(), now)) {
            Ok(()) => {
                kept.adopt(&command);
                kept.queued.push_back(command.id.clone());
                self.marks.adopt_claim(&command.session.task, command.session.claim);
                self.effects.push_back(Effect::Persist(self.marks.clone()));
            }
            Err(reason) => self.conclude(&lift, &command.id, None, Verdict::Refused { reason }),
        }
    }

    fn vehicle_commanded(&mut self, command: VehicleCommand) {
        if !self.vehicles.contains(&command.vehicle) {
            let verdict = Verdict::Refused { reason: GatewayRefusal::UnknownTarget };
            self.tell(&command.id, None, None, verdict);
            return;
        }
        if let Some(task) = &command.task {
            let stale = self.marks.claim_of(task).is_some_and(|highest| command.claim < highest);
            if stale && self.safeguards.holds(Safeguard::ClaimFence) {
                let verdict = Verdict::Refused { reason: GatewayRefusal::StaleClaim };
                self.tell(&command.id, None, None, verdict);
                return;
            }
            if self.marks.adopt_claim(task, command.claim) {
                self.effects.push_back(Effect::Persist(self.marks.clone()));
            }
        }
        let id = command.id.clone();
        self.effects.push_back(Effect::Forward { vehicle: command.vehicle.clone(), command });
        self.tell(&id, None, None, Verdict::Forwarded);
    }

    /// Takes what the lift's channel concluded, and the next command from its queue.
    fn advance(&mut self, lift: &LiftId, now: Now) {
        loop {
            let Some(channel) = self.channels.get_mut(lift) else { return };
            channel.watch(now);
            let log = channel.take_log();
            let concluded = channel.take_conclusion();
            let idle = concluded.is_none();
            self.effects.extend(log.into_iter().map(|text| Effect::Log { lift: lift.clone(), text }));
            if let Some((command, number, verdict)) = concluded {
                self.conclude(lift, &command, number, verdict);
            }
            if idle && !self.take_next(lift, now) {
                return;
            }
        }
    }

    /// Takes one command from the queue: admits it once more, persists its number, writes it. False when none was
    /// taken.
    fn take_next(&mut self, lift: &LiftId, now: Now) -> bool {
        let Some(channel) = self.channels.get_mut(lift) else { return false };
        let Some((command, expired)) = channel.dequeue(now) else { return false };
        let kept = self.marks.lifts.entry(lift.clone()).or_default();
        let admitted = admit(&command, kept, &self.marks.claims, &channel.view(self.marks.boot, now), now);
        let verdict = match admitted {
            _ if expired && self.safeguards.holds(Safeguard::Validity) => Verdict::Expired,
            Err(reason) => Verdict::Refused { reason },
            Ok(()) => match channel.begin(&command, kept.number, now) {
                Some((in_flight, block)) => {
                    kept.unqueue(&command.id);
                    kept.number = block.number;
                    kept.in_flight = Some(in_flight);
                    self.effects.push_back(Effect::Persist(self.marks.clone()));
                    self.effects.push_back(Effect::Write { lift: lift.clone(), block });
                    return true;
                }
                None => Verdict::Refused { reason: GatewayRefusal::UnknownTarget },
            },
        };
        self.conclude(lift, &command.id, None, verdict);
        true
    }

    /// Tells what became of a command and keeps it, so that a repeat is told the same. `Unknown` is not the end: the
    /// command stays in flight until it is settled.
    fn conclude(&mut self, lift: &LiftId, id: &CommandId, number: Option<u16>, verdict: Verdict) {
        let kept = self.marks.lifts.entry(lift.clone()).or_default();
        if verdict != Verdict::Unknown {
            let was_in_flight = kept.in_flight.take_if(|it| it.command == *id).is_some();
            let has_waited = kept.unqueue(id);
            kept.remember(id, &verdict);
            if let (Some(number), Verdict::Accepted | Verdict::Ran) = (number, &verdict) {
                kept.shown = number;
            }
            if was_in_flight || has_waited {
                self.effects.push_back(Effect::Persist(self.marks.clone()));
            }
        }
        self.tell(id, Some(lift.clone()), number, verdict);
    }

    fn tell(&mut self, id: &CommandId, lift: Option<LiftId>, number: Option<u16>, verdict: Verdict) {
        let outcome = Outcome {
            gateway: self.id.clone(),
            boot: self.marks.boot,
            command: id.clone(),
            lift,
            number,
            verdict,
        };
        self.effects.push_back(Effect::Tell(outcome));
    }
}
