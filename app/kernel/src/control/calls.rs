//! Call records as a node takes part in them: it opens one between its decision and the send, waits where the same call
//! was made before, and says what became of a call.
//!
//! By edge arbitration there are none, as there are no leases: the gateway's admission judges.

use crate::ids::{CommandId, LiftId};
use crate::lease::{Call, CallAnswer, CallOutcome, CallRequest, LeaseRefusal, SettledCall};
use crate::time::{Millis, Mono, Now};
use crate::timing::LIFT_ACK_DEADLINE;
use crate::wire::gateway::{Arbitration, LiftCommand, Verdict};

use super::doubt::Doubt;
use super::hold::{Hold, Under};
use super::nodes::Leaving;
use super::voice::{AFTER_REFUSAL, READ_WAIT_MAX, Voice};
use super::{Control, Effect};

/// A store that does not answer is known to be away after 600 ms (A6); a little later its answer is taken for lost.
const CALL_ANSWER_MAX: Millis = Millis(1000);

/// What was decided under a lease, and is sent if it is the first call of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Calling {
    pub(super) hold: Hold,
    pub(super) command: LiftCommand,
    /// Since when the lease is held.
    pub(super) since: Mono,
    asked: Mono,
    accepted_before: u16,
}

/// Commands that were not sent because the same call had been made.
#[derive(Clone, Debug, Default)]
pub(super) struct Spared {
    commands: u64,
    /// Of the call that saved the last of them, so that waiting for one counts once.
    by: Option<CommandId>,
}

impl Control {
    /// Commands to a lift that this node did not send since its start, because the same call had been made and was
    /// taken (A9, A17).
    pub fn commands_saved(&self, lift: &LiftId) -> u64 {
        self.spared.get(lift).map_or(0, |it| it.commands)
    }

    /// Asks for the record of what was decided.
    pub(super) fn open_call(
        &mut self,
        hold: Hold,
        command: LiftCommand,
        since: Mono,
        accepted_before: u16,
        now: Now,
    ) {
        let (lift, nonce, token) = (hold.lease.lift().clone(), hold.lease.nonce(), hold.lease.token());
        let call = Call { floor: command.floor.clone(), action: command.action };
        let (id, accepted) = (command.id.clone(), accepted_before);
        let request = CallRequest { lift: lift.clone(), nonce, token, call, command: id, accepted };
        self.effects.push_back(Effect::OpenCall(request));
        let calling = Calling { hold, command, since, asked: now.mono, accepted_before };
        self.set_voice(&lift, Voice::Calling(Box::new(calling)));
    }

    /// An answer that does not come leaves the call unmade.
    pub(super) fn wait_for_record(&mut self, lift: &LiftId, calling: &Calling, now: Now) {
        if now.mono.since(calling.asked) >= CALL_ANSWER_MAX {
            self.unmake_call(calling);
            self.fall_quiet(lift, now, AFTER_REFUSAL);
        }
    }

    /// The lease goes back, and the record with it, if there is one.
    pub(super) fn unmake_call(&mut self, calling: &Calling) {
        let settled = SettledCall { command: calling.command.id.clone(), outcome: CallOutcome::NotRun };
        self.release(&calling.hold.lease, Some(settled));
    }

    pub(super) fn call_answered(
        &mut self,
        lift: &LiftId,
        command: &CommandId,
        answer: Result<CallAnswer, LeaseRefusal>,
        now: Now,
    ) {
        let Some(Voice::Calling(calling)) = self.voices.get(lift).cloned() else { return };
        if calling.command.id != *command {
            return;
        }
        if let Ok(
            CallAnswer::Joined { by, .. } | CallAnswer::Acknowledged { by } | CallAnswer::Unknown { by },
        ) = &answer
        {
            self.note_joined(&calling.command, by, now);
        }
        match answer {
            // Records save commands and keep nothing safe: a store that went away meanwhile keeps none.
            Ok(CallAnswer::Opened)
            | Err(LeaseRefusal::StoreDown | LeaseRefusal::Unknown | LeaseRefusal::NotReplicated) => {
                self.make_call(lift, *calling, now);
            }
            Ok(CallAnswer::Joined { by, .. }) => {
                self.release(&calling.hold.lease, None);
                let (since, accepted_before) = (now.mono, calling.accepted_before);
                self.set_voice(lift, Voice::Joined { command: by, since, accepted_before });
            }
            Ok(CallAnswer::Acknowledged { by }) => {
                self.release(&calling.hold.lease, None);
                self.note_acknowledged(lift, &by);
                self.spare(lift, by);
                self.fall_quiet(lift, now, AFTER_REFUSAL);
            }
            Ok(CallAnswer::Unknown { by }) => {
                self.release(&calling.hold.lease, None);
                let accepted_before = calling.accepted_before;
                let doubt = Doubt { command: by, since: now.mono, accepted_before, joined: true };
                self.doubt(lift, doubt, now);
            }
            Err(
                reason @ (LeaseRefusal::Held { .. }
                | LeaseRefusal::StoreChanged { .. }
                | LeaseRefusal::Lost
                | LeaseRefusal::HeldTooLong),
            ) => self.lose_lease(lift, &reason, now),
        }
    }

    /// Sends what was decided, unless it is not wanted any more, or the answer took so long that the acknowledgement
    /// might not come under the lease.
    fn make_call(&mut self, lift: &LiftId, calling: Calling, now: Now) {
        let in_time = now.mono.since(calling.since) <= READ_WAIT_MAX;
        let stands = in_time && self.is_still_wanted(lift, &calling.command, now);
        let (Ok(permit), true) = (self.permit(&calling.hold.lease, now), stands) else {
            self.unmake_call(&calling);
            self.fall_quiet(lift, now, Millis(0));
            return;
        };
        let command = LiftCommand { authority: permit.authority(), ..calling.command };
        self.send_decided(lift, command, Under::Lease(calling.hold), calling.accepted_before, now);
    }

    /// The ride may be over since the decision, the lift elsewhere, or this node about to leave.
    fn is_still_wanted(&self, lift: &LiftId, command: &LiftCommand, now: Now) -> bool {
        let same =
            self.wanted(lift, now).is_some_and(|it| it.action == command.action && it.floor == command.floor);
        let rides = self.book.session_of(lift).is_some_and(|it| {
            it.id == command.session.session && it.generation == command.session.generation
        });
        self.leaving == Leaving::No && self.run > 0 && same && rides
    }

    /// No outcome came in time of the call that was joined: what became of it is not known.
    pub(super) fn wait_for_joined(
        &mut self,
        lift: &LiftId,
        command: CommandId,
        since: Mono,
        accepted: u16,
        now: Now,
    ) {
        if now.mono.since(since) >= LIFT_ACK_DEADLINE {
            self.doubt(lift, Doubt { command, since, accepted_before: accepted, joined: true }, now);
        }
    }

    /// What became of a call is known, whosever it was.
    pub(super) fn settle_call(&mut self, lift: &LiftId, command: &CommandId, verdict: &Verdict) {
        if self.arbitration(lift) == Arbitration::Lease {
            let (lift, settled) = (lift.clone(), settled(command, verdict));
            self.effects.push_back(Effect::SettleCall { lift, settled });
        }
    }

    /// The call that was waited for has run, and so the same needed not be sent again.
    pub(super) fn spare_if_ran(&mut self, lift: &LiftId, command: &CommandId, verdict: &Verdict) {
        if outcome(verdict) == CallOutcome::Acknowledged {
            self.spare(lift, command.clone());
        }
    }

    fn spare(&mut self, lift: &LiftId, by: CommandId) {
        let spared = self.spared.entry(lift.clone()).or_default();
        if spared.by.as_ref() != Some(&by) {
            spared.commands += 1;
            spared.by = Some(by);
        }
    }
}

/// What a record says of a command of which the gateway says this.
pub(super) fn settled(command: &CommandId, verdict: &Verdict) -> SettledCall {
    SettledCall { command: command.clone(), outcome: outcome(verdict) }
}

fn outcome(verdict: &Verdict) -> CallOutcome {
    match verdict {
        Verdict::Accepted | Verdict::Ran => CallOutcome::Acknowledged,
        Verdict::Refused { .. } | Verdict::Expired | Verdict::NotSent => CallOutcome::NotRun,
        // Of a lift nothing is said by "forwarded".
        Verdict::Unknown | Verdict::Forwarded => CallOutcome::Unknown,
    }
}
