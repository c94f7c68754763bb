//! What one node asks of the lifts, sends to them and hears of them. Nothing of it is in the ledger, and nothing of it
//! survives a restart.

use std::collections::VecDeque;

use chrono::TimeZone;

use crate::control::{Effect, Event};
use crate::ids::{CommandId, FloorId, LiftId, NodeId};
use crate::lease::{LeaseNonce, LeaseRefusal};
use crate::lift::{Asked, LiftAction, Motion};
use crate::time::{Mono, Now};
use crate::timing::{LIFT_ACK_DEADLINE, LIFT_READ_AGE_MAX};
use crate::wire::gateway::{Connection, GatewayRefusal, LiftCommand, LiftReading, Outcome, Verdict};

use super::Health;

/// Commands of one lift that are remembered: many more than nodes can send between a command and its outcome.
const COMMANDS_MAX: usize = 32;

/// What is heard of one lift.
#[derive(Clone, Debug, Default)]
pub(super) struct Ear {
    /// The lease that was asked for, and since when it is awaited.
    asking: Option<(LeaseNonce, Mono)>,
    sent: Option<Sent>,
    /// Commands that were not sent, as told last.
    saved: u64,
    /// Leases that were lost, as told last.
    lost: u64,
    /// Of any node, the oldest first.
    said: VecDeque<Said>,
    /// Whether the car travelled at the last read.
    moved: Option<(Mono, bool)>,
}

/// The last command of this node, until it is known what became of it.
#[derive(Clone, Debug)]
struct Sent {
    command: CommandId,
    at: Mono,
    is_doubted: bool,
}

/// A command of any node.
#[derive(Clone, Debug)]
struct Said {
    command: CommandId,
    holder: NodeId,
    wish: (LiftAction, FloorId),
    at: Mono,
    has_reached: bool,
}

#[cfg(test)]
impl Ear {
    pub(super) fn said_count(&self) -> usize {
        self.said.len()
    }
}

impl Said {
    fn asked(&self) -> Asked<'_> {
        let (action, floor) = &self.wish;
        Asked { by: &self.holder, action: *action, floor, at: self.at }
    }

    fn contradicts(&self, other: &Self) -> bool {
        self.asked().contradicts(&other.asked())
    }
}

impl<Z: TimeZone> Health<Z> {
    /// Takes what happens to the node, before its machine does.
    pub fn hear(&mut self, event: &Event, now: Now) {
        self.listening_since.get_or_insert(now.wall);
        match event {
            Event::LeaseGranted { nonce, lease } => self.lease_granted(lease.lift(), *nonce, now),
            Event::LeaseRefused { nonce, lift, reason } => self.lease_refused(lift, *nonce, reason, now),
            Event::Overheard(command) if command.holder != self.node => self.said(command, now),
            Event::Outcome(outcome) => self.outcome(outcome, now),
            Event::GatewayStatus(status) => {
                for reading in &status.lifts {
                    self.read(reading, now);
                }
            }
            // The node's own beat: each second, whatever else is silent.
            Event::StoreProbed { .. } => self.doubt_overdue(now),
            Event::Overheard(_)
            | Event::LeaseRenewed(_)
            | Event::RenewalRefused { .. }
            | Event::CallAnswered { .. }
            | Event::OrderRequested { .. }
            | Event::WithdrawRequested { .. }
            | Event::Appended { .. }
            | Event::AppendFailed { .. }
            | Event::Conflicted { .. }
            | Event::Followed { .. }
            | Event::Peers(_)
            | Event::StopRequested
            | Event::Acknowledged(_)
            | Event::Reported(_)
            | Event::Heartbeat(_)
            | Event::Telemetry(_)
            | Event::Presence { .. }
            | Event::Broker { .. }
            | Event::MessageRejected { .. }
            | Event::DrillBegan(_)
            | Event::DrillOver { .. }
            | Event::DrillsStand(_) => {}
        }
    }

    /// Takes what the node's machine wants done.
    pub fn see(&mut self, effect: &Effect, now: Now) {
        match effect {
            Effect::AcquireLease { lift, nonce, .. } => self.asked(lift, *nonce, now),
            Effect::SendLift { command, .. } => {
                self.said(command, now);
                self.sent(command, now);
            }
            Effect::Append { .. }
            | Effect::Attend { .. }
            | Effect::Left
            | Effect::Superseded
            | Effect::Answer { .. }
            | Effect::AnswerWithdrawal { .. }
            | Effect::RenewLease(_)
            | Effect::ReleaseLease { .. }
            | Effect::OpenCall(_)
            | Effect::SettleCall { .. }
            | Effect::SendVehicle { .. }
            | Effect::Beat(_)
            | Effect::ProbeStore
            | Effect::Show(_) => {}
        }
    }

    /// The node's machine counts what it did not send, since its start.
    pub fn saved(&mut self, lift: &LiftId, total: u64, now: Now) {
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        let more = total.saturating_sub(std::mem::replace(&mut tally.ear.saved, total));
        if more > 0 {
            self.count(lift, now.wall, |it| it.heard.commands.saved += more);
        }
    }

    /// The node's machine counts the leases that it lost, since its start. Gives how many are new.
    pub fn lost(&mut self, lift: &LiftId, total: u64, now: Now) -> u64 {
        let Some(tally) = self.lifts.get_mut(lift) else { return 0 };
        let more = total.saturating_sub(std::mem::replace(&mut tally.ear.lost, total));
        if more > 0 {
            self.count(lift, now.wall, |it| it.heard.leases.lost += more);
        }
        more
    }

    fn asked(&mut self, lift: &LiftId, nonce: LeaseNonce, now: Now) {
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        // The same request again, since its answer was lost: the wait goes on.
        if tally.ear.asking.is_some_and(|(asked, _)| asked == nonce) {
            return;
        }
        tally.ear.asking = Some((nonce, now.mono));
        self.count(lift, now.wall, |it| it.heard.leases.asked += 1);
    }

    /// Since when this request was awaited; none of one that was given up.
    fn answered(&mut self, lift: &LiftId, nonce: LeaseNonce) -> Option<Mono> {
        let asking = &mut self.lifts.get_mut(lift)?.ear.asking;
        asking.take_if(|(asked, _)| *asked == nonce).map(|(_, at)| at)
    }

    fn lease_granted(&mut self, lift: &LiftId, nonce: LeaseNonce, now: Now) {
        let Some(asked_at) = self.answered(lift, nonce) else { return };
        let waited = now.mono.since(asked_at);
        self.count(lift, now.wall, |it| {
            it.heard.leases.granted += 1;
            it.heard.leases.wait.add(waited);
        });
    }

    fn lease_refused(&mut self, lift: &LiftId, nonce: LeaseNonce, reason: &LeaseRefusal, now: Now) {
        // The store may have granted: the node asks again by the same nonce.
        if *reason == LeaseRefusal::Unknown || self.answered(lift, nonce).is_none() {
            return;
        }
        self.count(lift, now.wall, |it| {
            let leases = &mut it.heard.leases;
            let counter = match reason {
                LeaseRefusal::Held { .. } => &mut leases.refused_held,
                LeaseRefusal::StoreDown => &mut leases.refused_store_down,
                LeaseRefusal::Unknown
                | LeaseRefusal::NotReplicated
                | LeaseRefusal::StoreChanged { .. }
                | LeaseRefusal::Lost
                | LeaseRefusal::HeldTooLong => &mut leases.refused_otherwise,
            };
            *counter += 1;
        });
    }

    fn sent(&mut self, command: &LiftCommand, now: Now) {
        let Some(tally) = self.lifts.get_mut(&command.lift) else { return };
        let sent = Sent { command: command.id.clone(), at: now.mono, is_doubted: false };
        let unanswered = tally.ear.sent.replace(sent).is_some_and(|it| !it.is_doubted);
        self.count(&command.lift, now.wall, |it| {
            it.heard.commands.sent += 1;
            it.heard.commands.unknown += u64::from(unanswered);
        });
    }

    fn said(&mut self, command: &LiftCommand, now: Now) {
        let Some(tally) = self.lifts.get_mut(&command.lift) else { return };
        let said = Said {
            command: command.id.clone(),
            holder: command.holder.clone(),
            wish: (command.action, command.floor.clone()),
            at: now.mono,
            has_reached: false,
        };
        if tally.ear.said.iter().any(|it| it.command == said.command) {
            return;
        }
        let contradicts = tally.ear.said.iter().any(|it| it.contradicts(&said));
        tally.ear.said.push_back(said);
        if tally.ear.said.len() > COMMANDS_MAX {
            tally.ear.said.pop_front();
        }
        if contradicts {
            self.count(&command.lift, now.wall, |it| it.heard.conflicts.sent += 1);
        }
    }

    fn outcome(&mut self, outcome: &Outcome, now: Now) {
        let Some(lift) = &outcome.lift else { return };
        if matches!(outcome.verdict, Verdict::Accepted | Verdict::Ran) {
            self.reached(lift, &outcome.command, now);
        }
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        let Some(sent) = tally.ear.sent.as_mut().filter(|it| it.command == outcome.command) else { return };
        let is_news = !std::mem::replace(&mut sent.is_doubted, true);
        if outcome.verdict != Verdict::Unknown {
            tally.ear.sent = None;
        }
        self.count(lift, now.wall, |it| {
            let commands = &mut it.heard.commands;
            match &outcome.verdict {
                Verdict::Accepted | Verdict::Ran => commands.acknowledged += 1,
                Verdict::Refused { reason } => {
                    commands.refused += 1;
                    commands.fenced += u64::from(is_fence(reason));
                }
                Verdict::Expired | Verdict::NotSent => commands.unwritten += 1,
                Verdict::Unknown => commands.unknown += u64::from(is_news),
                // Of vehicles' commands alone.
                Verdict::Forwarded => {}
            }
        });
    }

    /// A command of any node reached the PLC.
    fn reached(&mut self, lift: &LiftId, command: &CommandId, now: Now) {
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        let fresh = |it: &&mut Said| it.command == *command && !it.has_reached;
        let Some(said) = tally.ear.said.iter_mut().find(fresh) else { return };
        said.has_reached = true;
        let said = said.clone();
        if tally.ear.said.iter().any(|it| it.has_reached && it.contradicts(&said)) {
            self.count(lift, now.wall, |it| it.heard.conflicts.reached += 1);
        }
    }

    fn doubt_overdue(&mut self, now: Now) {
        let overdue = |sent: &mut Sent| {
            let is_news = !sent.is_doubted && now.mono.since(sent.at) >= LIFT_ACK_DEADLINE;
            sent.is_doubted |= is_news;
            is_news
        };
        let lifts = self
            .lifts
            .iter_mut()
            .filter_map(|(id, tally)| tally.ear.sent.as_mut().is_some_and(overdue).then(|| id.clone()));
        for lift in lifts.collect::<Vec<_>>() {
            self.count(&lift, now.wall, |it| it.heard.commands.unknown += 1);
        }
    }

    fn read(&mut self, reading: &LiftReading, now: Now) {
        let Some(tally) = self.lifts.get_mut(&reading.lift) else { return };
        let fresh = reading.connection == Connection::Up && reading.age_ms <= LIFT_READ_AGE_MAX;
        let status = reading.status.as_ref().filter(|_| fresh);
        let seen = status.map(|it| (now.mono, it.motion != Motion::Still));
        let before = std::mem::replace(&mut tally.ear.moved, seen);
        let (Some((at, was_moving)), Some(_)) = (before, seen) else { return };
        let span = now.mono.since(at);
        if span > LIFT_READ_AGE_MAX {
            return;
        }
        self.count(&reading.lift, now.wall, |it| {
            it.heard.watched_ms = it.heard.watched_ms + span;
            if was_moving {
                it.heard.moving_ms = it.heard.moving_ms + span;
            }
        });
    }
}

/// Whether it stops what another node or another ride has overtaken.
fn is_fence(reason: &GatewayRefusal) -> bool {
    match reason {
        GatewayRefusal::StaleToken
        | GatewayRefusal::WrongArbitration
        | GatewayRefusal::StaleSession
        | GatewayRefusal::StaleClaim
        | GatewayRefusal::CarOccupied => true,
        GatewayRefusal::UnknownTarget
        | GatewayRefusal::StaleRead
        | GatewayRefusal::ExpectationMissed { .. }
        | GatewayRefusal::Verifying
        | GatewayRefusal::Unreachable
        | GatewayRefusal::OutOfService
        | GatewayRefusal::NotNow
        | GatewayRefusal::QueueFull => false,
    }
}
