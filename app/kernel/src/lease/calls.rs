//! Call records: what became of the last call of each lift, so that nobody makes the same call twice (A9).
//!
//! A node opens the record of its call under its lease, between the read on which it decided and the send. A second call
//! of the same kind is a duplicate as long as the read behind it shows no more than the first one's did: it joins the one
//! that is pending, is told of the acknowledged one, and waits for the one whose outcome is not known.
//!
//! A lift has one record at most, since each opened call voids the one before: whether the gateway takes the later one is
//! not known yet, and a record that is void too early costs a command, one that is void too late would say "done" for
//! what was undone. For the same reason a record is void when the read shows that the PLC took something since, and when
//! the epoch has changed: what a gateway admitted while it arbitrated by itself stands in no record.
//!
//! Nothing expires before it is settled, and nobody is kept for good all the same: whoever waits hears the gateway's
//! outcome, or reads, once the command can no longer be on its way, whether the PLC took it. Either settles the record,
//! whosever call it was; so the record of a node that died is settled by the next one that wants the same.
//!
//! Records save commands and keep nothing safe: a store that forgot has none, and then the fresh read and the gateway's
//! fence decide, as they do in any case.

use std::collections::BTreeMap;

use super::{FencingToken, LeaseNonce, LeaseTiming};
use crate::ids::{CommandId, FloorId, LiftId};
use crate::lift::LiftAction;
use crate::time::{Millis, Mono};

/// What a lift is called for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Where.
    pub floor: FloorId,
    /// What to do there.
    pub action: LiftAction,
}

/// A holder of a lease is about to make a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallRequest {
    /// Of which lift.
    pub lift: LiftId,
    /// The request by which the lease is held.
    pub nonce: LeaseNonce,
    /// Its rank.
    pub token: FencingToken,
    /// For what.
    pub call: Call,
    /// The command that would be sent. The same one is answered the same again.
    pub command: CommandId,
    /// The last number that the PLC had taken by the read on which the decision rests.
    pub accepted: u16,
}

/// How a call stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallAnswer {
    /// It is the first of its kind: its command may be sent.
    Opened,
    /// The same was called and its outcome is on its way: nothing is sent.
    Joined {
        /// By this command.
        by: CommandId,
        /// So long ago.
        since: Millis,
    },
    /// The same was called and the PLC took it: nothing is sent, a later read shows it.
    Acknowledged {
        /// By this command.
        by: CommandId,
    },
    /// The same was called and nobody knows what became of it: nothing is sent before that is found out.
    Unknown {
        /// By this command.
        by: CommandId,
    },
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// The PLC took it.
    Acknowledged,
    /// It came to nothing: there is no such call any more.
    NotRun,
    /// It may have been taken. Unknown is not failed.
    Unknown,
}

/// What became of the call of one command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SettledCall {
    /// Which.
    pub command: CommandId,
    /// What became of it.
    pub outcome: CallOutcome,
}

/// The record of each lift that has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallTable {
    records: BTreeMap<LiftId, CallRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallRecord {
    call: Call,
    command: CommandId,
    epoch: u32,
    accepted: u16,
    opened: Mono,
    state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CallState {
    Pending,
    Unknown,
    Acknowledged { until: Mono },
}

impl CallTable {
    /// Opens the record of a call, or tells how the same call stands. The caller has made sure that the lease is held.
    pub fn open(&mut self, request: &CallRequest, timing: &LeaseTiming, now: Mono) -> CallAnswer {
        if let Some(record) = self.records.get_mut(&request.lift) {
            record.mind_clock(timing, now);
            if record.stands_against(request, now) {
                return record.answer(&request.command, timing, now);
            }
        }
        let CallRequest { lift, token, call, command, accepted, .. } = request.clone();
        let (epoch, state) = (token.epoch, CallState::Pending);
        self.records.insert(lift, CallRecord { call, command, epoch, accepted, opened: now, state });
        CallAnswer::Opened
    }

    /// Notes what became of a call; of one that has no record any more, nothing. What is known does not become unknown.
    pub fn settle(&mut self, lift: &LiftId, settled: &SettledCall, timing: &LeaseTiming, now: Mono) {
        let Some(record) = self.records.get_mut(lift).filter(|it| it.command == settled.command) else {
            return;
        };
        match (settled.outcome, record.state) {
            (CallOutcome::NotRun, _) => drop(self.records.remove(lift)),
            (CallOutcome::Acknowledged, CallState::Pending | CallState::Unknown) => {
                record.state = CallState::Acknowledged { until: now + timing.record };
            }
            (CallOutcome::Unknown, CallState::Pending | CallState::Unknown) => {
                record.state = CallState::Unknown;
            }
            (CallOutcome::Acknowledged | CallOutcome::Unknown, CallState::Acknowledged { .. }) => {}
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.records.clear();
    }
}

impl CallRecord {
    /// The store's clock was set back: what was acknowledged is told for no longer than ever.
    fn mind_clock(&mut self, timing: &LeaseTiming, now: Mono) {
        if let CallState::Acknowledged { until } = &mut self.state {
            *until = (*until).min(now + timing.record);
        }
    }

    fn stands_against(&self, request: &CallRequest, now: Mono) -> bool {
        let over = match self.state {
            CallState::Acknowledged { until } => until <= now,
            CallState::Pending | CallState::Unknown => false,
        };
        let same = self.call == request.call && self.epoch == request.token.epoch;
        same && self.accepted == request.accepted && !over
    }

    fn answer(&self, asked: &CommandId, timing: &LeaseTiming, now: Mono) -> CallAnswer {
        let (by, since) = (self.command.clone(), now.since(self.opened));
        match self.state {
            CallState::Acknowledged { .. } => CallAnswer::Acknowledged { by },
            CallState::Pending | CallState::Unknown if by == *asked => CallAnswer::Opened,
            CallState::Pending if since < timing.outcome => CallAnswer::Joined { by, since },
            // Its sender would have heard by now, and has died, or has not said so yet.
            CallState::Pending | CallState::Unknown => CallAnswer::Unknown { by },
        }
    }
}
