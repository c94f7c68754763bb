//! The nodes: lease, look, decide, send, outcome, as `control::voice` does it, but with any delay between, and on
//! whatever was heard last.

use kernel::ids::Generation;
use kernel::lease::{HeldLease, LeaseAnswer, LeaseNonce, LeasePriority, LeaseRequest, StoreLife};
use kernel::safeguard::Safeguard;
use kernel::time::{Millis, Mono, Now};
use kernel::timing::{LIFT_ACK_DEADLINE, LIFT_READ_AGE_MAX, PLC_SETTLE};

use super::lab::Lab;
use super::plc::wish;
use super::promises::Promise;
use super::sent::{Sent, Word};
use super::world::World;
use crate::fixture::{self, at};

/// What a node has in hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mind {
    Quiet,
    Asking {
        nonce: LeaseNonce,
    },
    /// It may decide and send; by the store's word the lease ends then.
    Holding {
        lease: HeldLease,
        ends: Mono,
    },
    /// A command left; its outcome is awaited.
    Sent {
        lease: HeldLease,
        command: usize,
        since: Mono,
        accepted_before: u16,
    },
    /// No outcome came, or an unknown one.
    Doubting {
        command: usize,
        since: Mono,
        accepted_before: u16,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) mind: Mind,
    pub(super) asleep: Option<Mono>,
    /// By so much its clock is behind; only a clock that does not count suspend ever is.
    behind: Millis,
    nonces: u64,
}

impl Node {
    pub(super) fn new() -> Self {
        Self { mind: Mind::Quiet, asleep: None, behind: Millis(0), nonces: 0 }
    }

    pub(super) fn is_holding(&self) -> bool {
        matches!(self.mind, Mind::Holding { .. })
    }

    fn clock(&self, now: Mono) -> Now {
        at(now.since(Mono(self.behind.0)).0)
    }
}

impl Mind {
    pub(super) fn lease(&self) -> Option<&HeldLease> {
        match self {
            Self::Holding { lease, .. } | Self::Sent { lease, .. } => Some(lease),
            Self::Quiet | Self::Asking { .. } | Self::Doubting { .. } => None,
        }
    }

    /// The command whose outcome it waits for.
    pub(super) fn command(&self) -> Option<usize> {
        match self {
            Self::Sent { command, .. } | Self::Doubting { command, .. } => Some(*command),
            Self::Quiet | Self::Asking { .. } | Self::Holding { .. } => None,
        }
    }
}

impl World {
    /// Asks for the lift, or asks again how it stands. When it is granted, the node sleeps, or decides at once; the
    /// store may have forgotten all before.
    pub(super) fn ask(&mut self, lab: &Lab, idx: usize, sleeps: bool, forgets: bool) -> bool {
        if forgets {
            self.store_forgets();
        }
        let node = &mut self.nodes[idx];
        let nonce = match node.mind {
            Mind::Quiet if node.nonces < lab.bounds.asks && self.sent.len() < lab.bounds.commands => {
                node.nonces += 1;
                LeaseNonce(node.nonces)
            }
            Mind::Asking { nonce } => nonce,
            Mind::Quiet | Mind::Holding { .. } | Mind::Sent { .. } | Mind::Doubting { .. } => return false,
        };
        let asked_at = node.clock(self.now).mono;
        let request = LeaseRequest {
            lift: lab.lift.clone(),
            holder: lab.nodes[idx].clone(),
            nonce,
            epoch: self.heard.epoch,
            floor: self.heard.token.serial,
            // The ledger is no part of this: what it knows of the store's life, every node knows at once.
            life: StoreLife::default(),
            priority: LeasePriority::default(),
        };
        let answer = self.store.ask(&request, true, self.now);
        while self.store.poll_woken().is_some() {}
        self.nodes[idx].mind = match answer {
            LeaseAnswer::Granted { token, left } => {
                if token.serial <= self.granted {
                    self.broken.insert(Promise::TokensRise);
                }
                self.granted = token.serial;
                let lease = HeldLease::granted_for(lab.lift.clone(), nonce, token, asked_at, left);
                Mind::Holding { lease, ends: self.now + left }
            }
            LeaseAnswer::Waits { .. } => Mind::Asking { nonce },
            LeaseAnswer::Refused { .. } | LeaseAnswer::Changed { .. } => Mind::Quiet,
        };
        match self.nodes[idx].is_holding() {
            true if sleeps => self.sleep(idx),
            true => self.decide(lab, idx),
            false => !sleeps,
        }
    }

    /// Decides on what was heard last and sends, if the lease gives leave; else gives it back.
    fn decide(&mut self, lab: &Lab, idx: usize) -> bool {
        let Mind::Holding { lease, ends } = self.nodes[idx].mind.clone() else { return false };
        let Some(seen) = self.heard.status.clone().filter(|_| self.sent.len() < lab.bounds.commands) else {
            return false;
        };
        let Ok(permit) = lease.permit(self.nodes[idx].clock(self.now)) else {
            self.release(lab, idx, &lease);
            self.nodes[idx].mind = Mind::Quiet;
            return true;
        };
        if self.now + LIFT_ACK_DEADLINE > ends {
            self.broken.insert(Promise::LeaveEndsBeforeTheLease);
        }
        let (action, to) = wish(idx, &seen);
        let number = self.sent.len();
        let mut command = fixture::lift_command(&format!("C{number}"), action, to, &seen, self.heard.read);
        command.holder = lab.nodes[idx].clone();
        command.authority = permit.authority();
        let (session, task, claim) = self.right.of(idx);
        command.session.generation = Generation(session);
        command.session.task = fixture::task(task);
        command.session.claim = Generation(claim);
        let read_at = Mono(self.heard_at.since(Mono(self.heard.age_ms.0)).0);
        self.sent.push(Sent::new(command, read_at));
        self.nodes[idx].mind =
            Mind::Sent { lease, command: number, since: self.now, accepted_before: seen.accepted };
        true
    }

    /// Hears what became of the command that it sent; true when it waits for that.
    pub(super) fn hear(&mut self, lab: &Lab, idx: usize, about: usize, word: Word) -> bool {
        let (lease, accepted_before) = match self.nodes[idx].mind.clone() {
            Mind::Sent { command, lease, accepted_before, .. } if command == about => {
                (Some(lease), accepted_before)
            }
            Mind::Doubting { command, accepted_before, .. } if command == about => (None, accepted_before),
            Mind::Quiet
            | Mind::Asking { .. }
            | Mind::Holding { .. }
            | Mind::Sent { .. }
            | Mind::Doubting { .. } => {
                return false;
            }
        };
        if word != Word::Unknown {
            self.nodes[idx].mind = Mind::Quiet;
        } else if lease.is_some() {
            self.nodes[idx].mind = Mind::Doubting { command: about, since: self.now, accepted_before };
        }
        if let Some(lease) = lease {
            self.release(lab, idx, &lease);
        }
        true
    }

    /// What time brings to a node that waits: doubt, then a conclusion from the echo.
    pub(super) fn wait(&mut self, lab: &Lab, idx: usize) {
        if let Mind::Sent { lease, command, since, accepted_before } = self.nodes[idx].mind.clone()
            && self.now.since(since) >= LIFT_ACK_DEADLINE
        {
            self.release(lab, idx, &lease);
            self.nodes[idx].mind =
                Mind::Doubting { command, since: since + LIFT_ACK_DEADLINE, accepted_before };
        }
        let Mind::Doubting { command, since, accepted_before } = self.nodes[idx].mind else { return };
        // By now no gateway would still run the command.
        let void = self.now.since(since) >= LIFT_READ_AGE_MAX + PLC_SETTLE;
        let fresh = self.now.since(self.heard_at) + self.heard.age_ms <= LIFT_READ_AGE_MAX;
        if let (true, true, None, Some(status)) = (void, fresh, &self.heard.verifying, &self.heard.status) {
            self.sent[command].given_up = status.accepted == accepted_before;
            self.nodes[idx].mind = Mind::Quiet;
        }
    }

    fn release(&mut self, lab: &Lab, idx: usize, lease: &HeldLease) {
        // One try: what is not held any more is left alone.
        let _ = self.store.release(&lab.lift, (&lab.nodes[idx], lease.nonce()), lease.token(), self.now);
        while self.store.poll_woken().is_some() {}
    }

    fn sleep(&mut self, idx: usize) -> bool {
        self.left.pauses -= 1;
        self.nodes[idx].asleep = Some(self.now);
        true
    }

    /// A sleeper wakes and goes on where it was.
    pub(super) fn wake(&mut self, lab: &Lab, idx: usize) -> bool {
        let node = &mut self.nodes[idx];
        let Some(since) = node.asleep.take() else { return false };
        if !lab.rules.holds(Safeguard::SteadyClock) {
            node.behind = node.behind + self.now.since(since);
        }
        since < self.now && self.decide(lab, idx)
    }
}
