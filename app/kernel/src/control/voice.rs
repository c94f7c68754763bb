//! One voice to each lift: lease, fresh read, decide, call record, send, outcome, release.
//!
//! The lease spans exactly this. Travel and doors are watched outside it.

use crate::ids::{CommandId, LiftId};
use crate::lease::{HeldLease, LeaseLost, LeaseNonce, LeaseRefusal, SendPermit, SettledCall, StoreLife};
use crate::lift::LiftStatus;
use crate::safeguard::Safeguard;
use crate::time::{Millis, Mono, Now};
use crate::timing::{LEASE_HOLD_MAX, LEASE_WAIT, LIFT_ACK_DEADLINE, LIFT_COMMAND_VALIDITY};
use crate::wire::gateway::{Authority, GatewayRefusal, LiftCommand, Outcome, SessionRef, Verdict};
use crate::wire::ledger::Record;

use super::book::Touched;
use super::calls::Calling;
use super::doubt::Doubt;
use super::hold::{Hold, Under};
use super::names::name_stem;
use super::rides::Wanted;
use super::{Control, Effect, Lock};

/// After a refusal nothing is asked of the lift for so long: two polls of the gateway, so that what it saw arrives.
pub(super) const AFTER_REFUSAL: Millis = Millis(500);
/// A refusal that no waiting mends (a target that the gateway does not know) is tried again this seldom.
const AFTER_HARD_REFUSAL: Millis = Millis::seconds(30);
/// A read is awaited so long that the acknowledgement of a command still fits into the longest hold.
pub(super) const READ_WAIT_MAX: Millis = Millis(LEASE_HOLD_MAX.0 - LIFT_ACK_DEADLINE.0);
/// The store answers within [`LEASE_WAIT`]; a second later its answer is taken for lost.
pub(super) const LEASE_ANSWER_MAX: Millis = Millis(LEASE_WAIT.0 + 1000);

/// How far this node is with commanding a lift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// Nothing is being said; not before a read from after `until`.
    Quiet { until: Mono },
    /// The lease was asked for.
    Asking { nonce: LeaseNonce, since: Mono },
    /// The lease is held; a read from after the grant is awaited.
    Deciding { hold: Hold, since: Mono },
    /// The call record was asked for; what was decided waits for it.
    Calling(Box<Calling>),
    /// The same call was made by this command, which another node sent, or an earlier run of this one; its outcome is
    /// awaited.
    Joined { command: CommandId, since: Mono, accepted_before: u16 },
    /// A command left; its outcome is awaited.
    Sent { under: Under, command: CommandId, since: Mono, accepted_before: u16 },
    /// The outcome is not known. Nothing is said until it is.
    Verifying(Doubt),
}

impl Default for Voice {
    fn default() -> Self {
        Self::Quiet { until: Mono(0) }
    }
}

impl Control {
    /// Work that has ended gives its lease back; what is held beyond it is renewed, and so nothing is that was given back.
    pub(super) fn drive_voice(&mut self, lift: &LiftId, now: Now) {
        self.note_lease_end(lift, now);
        self.go_on(lift, now);
        self.renew_when_due(lift, now);
    }

    fn go_on(&mut self, lift: &LiftId, now: Now) {
        let Some(voice) = self.voices.get(lift).cloned() else { return };
        if self.leases_are_void(lift, &voice) {
            self.give_up_voice(lift);
            self.fall_quiet(lift, now, Millis(0));
            return;
        }
        match voice {
            Voice::Quiet { until } => {
                // What the last command did shows in a later read; an earlier one still looks as if it had to be said.
                let later = self.lifts.get(lift).is_some_and(|ear| ear.read_after(until));
                if later {
                    self.begin_to_speak(lift, now);
                }
            }
            Voice::Asking { nonce, since } => {
                if now.mono.since(since) >= LEASE_ANSWER_MAX {
                    self.request_lease(lift, nonce, now);
                }
            }
            Voice::Deciding { hold, since } => self.decide(lift, hold, since, now),
            Voice::Sent { under, command, since, accepted_before } => {
                if now.mono.since(since) >= LIFT_ACK_DEADLINE {
                    self.conclude(lift, &under, &command, &Verdict::Unknown);
                    self.note_verdict(lift, &command, Verdict::Unknown, now);
                    self.doubt(lift, Doubt { command, since: now.mono, accepted_before, joined: false }, now);
                }
            }
            Voice::Calling(calling) => self.wait_for_record(lift, &calling, now),
            Voice::Joined { command, since, accepted_before } => {
                self.wait_for_joined(lift, command, since, accepted_before, now);
            }
            Voice::Verifying(doubt) => self.settle(lift, &doubt, now),
        }
    }

    pub(super) fn ask_for_lease(&mut self, lift: &LiftId, now: Now) {
        self.nonces += 1;
        // The run makes it unique over restarts, and rising.
        let nonce = LeaseNonce((self.run << 32) | self.nonces);
        self.request_lease(lift, nonce, now);
    }

    /// Asks by this nonce, for the first time or because the answer was lost: the store may have granted, and then
    /// grants the same again.
    fn request_lease(&mut self, lift: &LiftId, nonce: LeaseNonce, now: Now) {
        let Some(ear) = self.lifts.get(lift) else { return };
        let (epoch, admitted) = (ear.reading.epoch, ear.reading.token);
        let (life, changes) = self.book.stores.get(lift).cloned().unwrap_or_default();
        // Each start of any node, and each change of the store, lifts it by more than can ever be granted between.
        let runs = self.book.nodes.values().map(|it| it.run).sum::<u64>() + changes;
        let admitted = if admitted.epoch == epoch { admitted.serial } else { 0 };
        let floor = if self.safeguards.holds(Safeguard::SerialFloor) { admitted.max(runs << 32) } else { 0 };
        let (lift, priority) = (lift.clone(), self.lease_priority(lift));
        self.effects.push_back(Effect::AcquireLease {
            lift: lift.clone(),
            nonce,
            epoch,
            floor,
            life,
            priority,
        });
        self.set_voice(&lift, Voice::Asking { nonce, since: now.mono });
    }

    pub(super) fn lease_granted(&mut self, nonce: LeaseNonce, lease: HeldLease, now: Now) {
        let lift = lease.lift().clone();
        self.lease_denied.remove(&lift);
        let awaited =
            matches!(self.voices.get(&lift), Some(Voice::Asking { nonce: ours, .. }) if *ours == nonce);
        if awaited && self.keeps_epoch(&lift, &lease) {
            self.release(&lease, None);
            self.fall_quiet(&lift, now, Millis(0));
        } else if awaited {
            self.set_voice(&lift, Voice::Deciding { hold: Hold::from(lease), since: now.mono });
        } else {
            self.release(&lease, None);
        }
    }

    pub(super) fn lease_refused(
        &mut self,
        nonce: LeaseNonce,
        lift: &LiftId,
        reason: &LeaseRefusal,
        now: Now,
    ) {
        let awaited =
            matches!(self.voices.get(lift), Some(Voice::Asking { nonce: ours, .. }) if *ours == nonce);
        match reason {
            _ if !awaited => {}
            LeaseRefusal::Unknown => self.request_lease(lift, nonce, now),
            LeaseRefusal::StoreChanged { life } => {
                self.lease_denied.insert(lift.clone(), (reason.clone(), now.mono));
                self.record_store(lift, life, now);
                self.fall_quiet(lift, now, Millis(0));
            }
            LeaseRefusal::Held { .. }
            | LeaseRefusal::StoreDown
            | LeaseRefusal::NotReplicated
            | LeaseRefusal::Lost
            | LeaseRefusal::HeldTooLong => {
                self.lease_denied.insert(lift.clone(), (reason.clone(), now.mono));
                self.fall_quiet(lift, now, AFTER_REFUSAL);
            }
        }
    }

    /// Has the ledger take the store's new life, and with it the number that lifts the floor above all that was granted
    /// before. Only one node's proposal is stored; the others find it there when they ask again.
    fn record_store(&mut self, lift: &LiftId, life: &StoreLife, now: Now) {
        let (known, changes) = self.book.stores.get(lift).cloned().unwrap_or_default();
        if known != *life {
            let (lift, life, generation) = (lift.clone(), life.clone(), changes + 1);
            let record = Record::LeaseStoreChanged { lift: lift.clone(), life, generation };
            self.propose(now, vec![Lock::Store(lift)], vec![record]);
        }
    }

    /// Decides on the first read from after the grant; a wish that has gone meanwhile gives the lease back.
    fn decide(&mut self, lift: &LiftId, hold: Hold, since: Mono, now: Now) {
        let fresh = self.lifts.get(lift).is_some_and(|ear| ear.read_after(since));
        if !fresh {
            if now.mono.since(since) >= READ_WAIT_MAX {
                self.release(&hold.lease, None);
                self.fall_quiet(lift, now, AFTER_REFUSAL);
            }
            return;
        }
        let decided =
            self.wanted(lift, now).and_then(|wanted| Some((wanted, self.usable(lift, now)?.clone())));
        let (Some((wanted, status)), Ok(permit)) = (decided, self.permit(&hold.lease, now)) else {
            self.release(&hold.lease, None);
            self.fall_quiet(lift, now, Millis(0));
            return;
        };
        match self.lift_command(lift, wanted, &status, permit.authority()) {
            Some(command) => self.open_call(hold, command, since, status.accepted, now),
            None => {
                self.release(&hold.lease, None);
                self.fall_quiet(lift, now, AFTER_REFUSAL);
            }
        }
    }

    /// Leave to send, if the lease is alive.
    pub(super) fn permit(&self, lease: &HeldLease, now: Now) -> Result<SendPermit, LeaseLost> {
        // Without the rule nobody looks at the clock.
        let looks = self.safeguards.holds(Safeguard::LiveGrant);
        lease.permit(if looks { now } else { Now { mono: Mono(0), ..now } })
    }

    pub(super) fn send_decided(
        &mut self,
        lift: &LiftId,
        command: LiftCommand,
        under: Under,
        accepted_before: u16,
        now: Now,
    ) {
        let id = command.id.clone();
        self.note_command(&command, now);
        if let Some(watch) = self.watches.get_mut(&command.session.session) {
            watch.said = Some(id.clone());
        }
        self.send_lift(lift, command);
        self.set_voice(lift, Voice::Sent { under, command: id, since: now.mono, accepted_before });
    }

    /// The command as it leaves. A rank comes from a permit, and so from a live lease alone.
    pub(super) fn lift_command(
        &mut self,
        lift: &LiftId,
        wanted: Wanted,
        status: &LiftStatus,
        authority: Authority,
    ) -> Option<LiftCommand> {
        let session = self.book.session_of(lift)?;
        let task = self.book.tasks.get(&session.task)?;
        let link = self.book.links.get(&session.vehicle).copied().unwrap_or_default().generation;
        let reference = SessionRef {
            session: session.id.clone(),
            generation: session.generation,
            task: session.task.clone(),
            claim: task.claim,
            link,
            vehicle: session.vehicle.clone(),
        };
        let read = self.lifts.get(lift)?.reading.read;
        self.lift_commands += 1;
        let name = format!("{}{}.{}", name_stem("C", &self.config.node), self.run, self.lift_commands);
        Some(LiftCommand {
            id: CommandId::try_new(&name).ok()?,
            lift: lift.clone(),
            action: wanted.action,
            floor: wanted.floor,
            holder: self.config.node.clone(),
            sequence: self.lift_commands,
            authority,
            session: reference,
            read,
            expects: status.expectation(),
            valid_for_ms: LIFT_COMMAND_VALIDITY,
        })
    }

    fn send_lift(&mut self, lift: &LiftId, command: LiftCommand) {
        let Some(gateway) = self.plant.lifts.get(lift).map(|it| it.gateway.clone()) else { return };
        self.effects.push_back(Effect::SendLift { gateway, command });
    }

    /// What was asked of the lease store, or granted, is given back; what was said stays said, and its record pending.
    pub(super) fn give_up_voice(&mut self, lift: &LiftId) {
        match self.voices.get(lift).cloned() {
            Some(Voice::Deciding { hold, .. } | Voice::Sent { under: Under::Lease(hold), .. }) => {
                self.release(&hold.lease, None);
            }
            Some(Voice::Calling(calling)) => self.unmake_call(&calling),
            // A grant that comes now is given back by itself.
            Some(
                Voice::Asking { .. }
                | Voice::Quiet { .. }
                | Voice::Sent { under: Under::Lost | Under::Edge, .. }
                | Voice::Joined { .. }
                | Voice::Verifying(_),
            )
            | None => {}
        }
        self.set_voice(lift, Voice::default());
    }

    pub(super) fn outcome_heard(&mut self, outcome: &Outcome, now: Now) {
        let Some(lift) = outcome.lift.clone() else {
            self.vehicle_command_refused(outcome);
            return;
        };
        let Some(voice) = self.voices.get(&lift).cloned() else { return };
        self.note_verdict(&lift, &outcome.command, outcome.verdict.clone(), now);
        self.note_told(&outcome.command, &outcome.verdict);
        let (doubt, under) = match voice {
            Voice::Sent { under, command, accepted_before, since } => {
                (Doubt { command, since, accepted_before, joined: false }, under)
            }
            Voice::Joined { command, since, accepted_before } => {
                (Doubt { command, since, accepted_before, joined: true }, Under::Edge)
            }
            Voice::Verifying(doubt) => (doubt, Under::Edge),
            Voice::Quiet { .. } | Voice::Asking { .. } | Voice::Deciding { .. } | Voice::Calling(_) => return,
        };
        if doubt.command != outcome.command {
            return;
        }
        self.conclude(&lift, &under, &outcome.command, &outcome.verdict);
        if doubt.joined {
            self.spare_if_ran(&lift, &outcome.command, &outcome.verdict);
        }
        let pause = match &outcome.verdict {
            Verdict::Unknown => {
                self.doubt(&lift, Doubt { since: now.mono, ..doubt }, now);
                return;
            }
            Verdict::Accepted | Verdict::Ran | Verdict::Forwarded => Millis(0),
            Verdict::Refused { reason: GatewayRefusal::UnknownTarget } => AFTER_HARD_REFUSAL,
            Verdict::Refused { .. } | Verdict::Expired | Verdict::NotSent => AFTER_REFUSAL,
        };
        self.fall_quiet(&lift, now, pause);
    }

    pub(super) fn release(&mut self, lease: &HeldLease, settled: Option<SettledCall>) {
        let (lift, nonce, token) = (lease.lift().clone(), lease.nonce(), lease.token());
        self.effects.push_back(Effect::ReleaseLease { lift, nonce, token, settled });
    }

    pub(super) fn fall_quiet(&mut self, lift: &LiftId, now: Now, pause: Millis) {
        self.set_voice(lift, Voice::Quiet { until: now.mono + pause });
    }

    pub(super) fn set_voice(&mut self, lift: &LiftId, voice: Voice) {
        self.voices.insert(lift.clone(), voice);
        self.touched.insert(Touched::Lift(lift.clone()));
    }
}
