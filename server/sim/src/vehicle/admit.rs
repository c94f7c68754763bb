//! Whether a command is taken. Every command is answered; a repeat gets the answer that it got before.

use kernel::ids::PointId;
use kernel::safeguard::Safeguard;
use kernel::time::Mono;
use kernel::wire::vehicle::{AckVerdict, Instruction, Operation, VehicleAck, VehicleCommand, VehicleRefusal};

use super::work::Work;
use super::{Position, VehicleEffect, VehicleMessage, VehicleModel};

/// So many reports may wait for the broker. One command gives at most four, and none is taken while the link is
/// closed, so this is reached only if a broker takes nothing for long; then nothing new is taken.
const UNDELIVERED_MAX: usize = 64;

impl VehicleModel {
    pub(super) fn hear_command(&mut self, command: &VehicleCommand, now: Mono) {
        if !self.connected || command.vehicle != self.id {
            return;
        }
        let hand = |it: &Self| (it.working_on() == Some(&command.id), it.has_completed(&command.id));
        let (before, n_said) = (hand(self), self.effects.len());
        self.answer(command, now);
        let after = hand(self);
        let began = !before.0 && after.0 || !before.1 && after.1;
        let heard = VehicleEffect::Heard { command: Box::new(command.clone()), began };
        self.effects.insert(n_said, heard);
    }

    fn answer(&mut self, command: &VehicleCommand, now: Mono) {
        let remembered = self.memory.answer(command);
        if let Some(verdict) = remembered.filter(|_| self.safeguards.holds(Safeguard::CommandMemory)) {
            // A later claim may ask for the same command; it fences the earlier one all the same.
            self.memory.remember(command, verdict.clone());
            self.say_ack(command, verdict);
            return;
        }
        match self.judge(command) {
            Err(VehicleRefusal::BelowWindow) => {
                // Not remembered: it would push out a command that still matters.
                self.say_ack(command, AckVerdict::Refused { reason: VehicleRefusal::BelowWindow });
            }
            Err(reason) => {
                let verdict = AckVerdict::Refused { reason };
                self.memory.remember(command, verdict.clone());
                self.say_ack(command, verdict);
            }
            Ok(()) => {
                self.memory.remember(command, AckVerdict::Accepted);
                self.say_ack(command, AckVerdict::Accepted);
                self.take(command, now);
            }
        }
    }

    fn take(&mut self, command: &VehicleCommand, now: Mono) {
        match Work::new(command) {
            None => {
                self.memory.open_link(command.link);
                self.link_open = true;
                self.beat_heard = now;
                // Whoever opened it waits for this word.
                self.say_heartbeat(now);
            }
            Some(work) => self.begin(work, now),
        }
    }

    fn say_ack(&mut self, command: &VehicleCommand, verdict: AckVerdict) {
        self.acknowledged = self.acknowledged.max(command.sequence);
        self.effects.push_back(VehicleEffect::Send(VehicleMessage::Ack(VehicleAck {
            command: command.id.clone(),
            vehicle: self.id.clone(),
            sequence: command.sequence,
            link: command.link,
            boot: self.memory.boot(),
            verdict,
        })));
    }

    fn judge(&self, command: &VehicleCommand) -> Result<(), VehicleRefusal> {
        let holds = |safeguard| self.safeguards.holds(safeguard);
        if holds(Safeguard::MemoryWindow) && self.memory.is_below_window(command.sequence) {
            return Err(VehicleRefusal::BelowWindow);
        }
        self.judge_link(command)?;
        if let Some(task) = &command.task
            && command.claim < self.memory.claim(task)
            && holds(Safeguard::ClaimFence)
        {
            return Err(VehicleRefusal::StaleClaim);
        }
        match &command.instruction {
            Instruction::OpenLink => Ok(()),
            Instruction::Drive { path, then } => {
                self.judge_start(path)?;
                self.judge_operation(path, then)
            }
            Instruction::Ride { lift, from, to, approach, exit, .. } => {
                self.judge_start(approach)?;
                let enters = self.ways.landing(lift, from);
                let leaves = self.ways.landing(lift, to);
                let known =
                    enters.is_some() && enters == approach.last() && leaves == Some(exit) && from != to;
                if known { Ok(()) } else { Err(VehicleRefusal::UnknownPlace) }
            }
        }
    }

    fn judge_link(&self, command: &VehicleCommand) -> Result<(), VehicleRefusal> {
        let current = match command.instruction {
            Instruction::OpenLink => command.link > self.memory.link(),
            Instruction::Drive { .. } | Instruction::Ride { .. } => {
                let fenced = self.safeguards.holds(Safeguard::LinkFence);
                !fenced || self.link_open && command.link == self.memory.link()
            }
        };
        if current { Ok(()) } else { Err(VehicleRefusal::StaleLink) }
    }

    fn judge_start(&self, path: &[PointId]) -> Result<(), VehicleRefusal> {
        if self.work.is_some() || self.undelivered.len() >= UNDELIVERED_MAX {
            return Err(VehicleRefusal::Busy);
        }
        if path.is_empty() || !self.ways.lead_along(path) {
            return Err(VehicleRefusal::UnknownPlace);
        }
        match &self.position {
            Position::At(point) if path.first() == Some(point) => Ok(()),
            Position::At(_) | Position::InCar(_) => Err(VehicleRefusal::NotThere),
        }
    }

    fn judge_operation(&self, path: &[PointId], then: &Operation) -> Result<(), VehicleRefusal> {
        let at_station = path.last().is_some_and(|point| self.ways.is_station(point));
        match then {
            Operation::Stand => Ok(()),
            Operation::Pick { .. } | Operation::Drop { .. } if !at_station => {
                Err(VehicleRefusal::UnknownPlace)
            }
            Operation::Pick { .. } if self.load.is_some() => Err(VehicleRefusal::WrongLoad),
            Operation::Drop { order } if self.load.as_ref() != Some(order) => Err(VehicleRefusal::WrongLoad),
            Operation::Pick { .. } | Operation::Drop { .. } => Ok(()),
        }
    }
}
