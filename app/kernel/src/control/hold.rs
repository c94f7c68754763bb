//! The lease of a command under way: how it is kept, and what its loss does to the work in hand (A3, A6).
//!
//! Its renewal belongs to the lease and to nothing else: who gives a lease back, or has lost it, has none to renew. And
//! nobody renews for long: the store lets a lease live on only while a command can be under way.

use crate::ids::{CommandId, LiftId};
use crate::lease::{HeldLease, LeaseNonce, LeaseRefusal};
use crate::safeguard::Safeguard;
use crate::time::{Millis, Mono, Now};
use crate::timing::LEASE_RENEWAL_RETRY;
use crate::wire::gateway::Verdict;

use super::book::Touched;
use super::calls::settled;
use super::voice::{AFTER_REFUSAL, Voice};
use super::{Control, Effect};

/// A lease that this node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) lease: HeldLease,
    /// When the store is asked to let it live on.
    renew_at: Mono,
    /// When the store last did.
    pub(super) renewed_at: Option<Mono>,
}

/// By what right a command is out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Under {
    /// By a lease.
    Lease(Hold),
    /// By a lease that was lost meanwhile. The command may have run all the same: its outcome is awaited, and the lift is
    /// another's.
    Lost,
    /// By edge arbitration, where there are no leases.
    Edge,
}

impl From<HeldLease> for Hold {
    fn from(lease: HeldLease) -> Self {
        Self { renew_at: lease.renew_at(), lease, renewed_at: None }
    }
}

impl Voice {
    pub(super) fn hold(&self) -> Option<&Hold> {
        match self {
            Self::Deciding { hold, .. } | Self::Sent { under: Under::Lease(hold), .. } => Some(hold),
            Self::Calling(calling) => Some(&calling.hold),
            Self::Quiet { .. }
            | Self::Asking { .. }
            | Self::Joined { .. }
            | Self::Sent { under: Under::Lost | Under::Edge, .. }
            | Self::Verifying(_) => None,
        }
    }

    fn hold_mut(&mut self) -> Option<&mut Hold> {
        match self {
            Self::Deciding { hold, .. } | Self::Sent { under: Under::Lease(hold), .. } => Some(hold),
            Self::Calling(calling) => Some(&mut calling.hold),
            Self::Quiet { .. }
            | Self::Asking { .. }
            | Self::Joined { .. }
            | Self::Sent { under: Under::Lost | Under::Edge, .. }
            | Self::Verifying(_) => None,
        }
    }
}

impl Control {
    /// Leases of a lift that this node lost since its start, with work in hand under them (A6).
    pub fn leases_lost(&self, lift: &LiftId) -> u64 {
        self.leases_lost.get(lift).copied().unwrap_or_default()
    }

    /// What is over by this node's own clock is lost, and no store need say so: it may be away.
    pub(super) fn note_lease_end(&mut self, lift: &LiftId, now: Now) {
        // Without the rule nobody looks at the clock.
        let looks = self.safeguards.holds(Safeguard::LiveGrant);
        let hold = self.voices.get(lift).and_then(Voice::hold);
        if looks && hold.is_some_and(|it| it.lease.ends_at() <= now.mono) {
            self.lose_lease(lift, &LeaseRefusal::Lost, now);
        }
    }

    /// Asks once more when no answer has come by then.
    pub(super) fn renew_when_due(&mut self, lift: &LiftId, now: Now) {
        let hold = self.voices.get_mut(lift).and_then(Voice::hold_mut);
        if let Some(hold) = hold.filter(|it| it.renew_at <= now.mono) {
            hold.renew_at = now.mono + LEASE_RENEWAL_RETRY;
            self.effects.push_back(Effect::RenewLease(hold.lease.clone()));
        }
    }

    pub(super) fn lease_renewed(&mut self, renewed: &HeldLease, now: Now) {
        let hold = self.voices.get_mut(renewed.lift()).and_then(Voice::hold_mut);
        if let Some(hold) = hold.filter(|it| it.lease.nonce() == renewed.nonce()) {
            hold.lease = hold.lease.renewed(renewed);
            (hold.renew_at, hold.renewed_at) = (hold.lease.renew_at(), Some(now.mono));
            self.touched.insert(Touched::Lift(renewed.lift().clone()));
        }
    }

    pub(super) fn renewal_refused(
        &mut self,
        lift: &LiftId,
        nonce: LeaseNonce,
        reason: &LeaseRefusal,
        now: Now,
    ) {
        let hold = self.voices.get(lift).and_then(Voice::hold);
        if hold.is_none_or(|it| it.lease.nonce() != nonce) {
            return;
        }
        match reason {
            // It is asked again, as long as the lease lives by this node's own clock.
            LeaseRefusal::StoreDown | LeaseRefusal::Unknown | LeaseRefusal::NotReplicated => {}
            LeaseRefusal::Lost
            | LeaseRefusal::HeldTooLong
            | LeaseRefusal::Held { .. }
            | LeaseRefusal::StoreChanged { .. } => self.lose_lease(lift, reason, now),
        }
    }

    /// The ledger knows another life of the store: what was asked of the one before, or is held by it, counts no more.
    pub(super) fn store_changed(&mut self, lift: &LiftId, now: Now) {
        match self.voices.get(lift) {
            Some(Voice::Asking { .. }) => self.fall_quiet(lift, now, Millis(0)),
            Some(
                Voice::Deciding { .. }
                | Voice::Calling(_)
                | Voice::Sent { .. }
                | Voice::Quiet { .. }
                | Voice::Joined { .. }
                | Voice::Verifying(_),
            )
            | None => self.lose_lease(lift, &LeaseRefusal::Lost, now),
        }
    }

    /// What was not sent is given up; what was sent is awaited by no right. The lift is another's, or free, and left so.
    pub(super) fn lose_lease(&mut self, lift: &LiftId, reason: &LeaseRefusal, now: Now) {
        let Some(voice) = self.voices.get(lift).cloned() else { return };
        let Some(hold) = voice.hold() else { return };
        if *reason == LeaseRefusal::HeldTooLong {
            // It is this node's until somebody breaks it, who need not come to that.
            self.release(&hold.lease, None);
        }
        *self.leases_lost.entry(lift.clone()).or_default() += 1;
        match voice {
            Voice::Sent { command, since, accepted_before, .. } => {
                self.set_voice(lift, Voice::Sent { under: Under::Lost, command, since, accepted_before });
                return;
            }
            Voice::Calling(calling) => self.settle_call(lift, &calling.command.id, &Verdict::NotSent),
            Voice::Deciding { .. }
            | Voice::Quiet { .. }
            | Voice::Asking { .. }
            | Voice::Joined { .. }
            | Voice::Verifying(_) => {}
        }
        self.lease_denied.insert(lift.clone(), (reason.clone(), now.mono));
        self.fall_quiet(lift, now, AFTER_REFUSAL);
    }

    /// What became of a command is told, and the lease given back if it is held: the next holder finds both.
    pub(super) fn conclude(&mut self, lift: &LiftId, under: &Under, command: &CommandId, verdict: &Verdict) {
        match under {
            Under::Lease(hold) => self.release(&hold.lease, Some(settled(command, verdict))),
            Under::Lost | Under::Edge => self.settle_call(lift, command, verdict),
        }
    }
}
