//! What became of a command is not known: nothing is said to its lift before it is.

use crate::ids::{CommandId, LiftId};
use crate::safeguard::Safeguard;
use crate::time::{Millis, Mono, Now};
use crate::timing::{LIFT_READ_AGE_MAX, PLC_SETTLE};
use crate::wire::gateway::Verdict;

use super::Control;
use super::voice::Voice;

/// A command of which nobody knows what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    pub(super) command: CommandId,
    /// It left before; from here on it only grows older.
    pub(super) since: Mono,
    pub(super) accepted_before: u16,
    /// It is not this run's own: the same would have been sent.
    pub(super) joined: bool,
}

impl Control {
    pub(super) fn is_verifying(&self, lift: &LiftId) -> bool {
        matches!(self.voices.get(lift), Some(Voice::Verifying(_)))
    }

    /// What a command did is not known: nothing is said before it is.
    pub(super) fn doubt(&mut self, lift: &LiftId, doubt: Doubt, now: Now) {
        if self.safeguards.holds(Safeguard::Verifying) {
            self.set_voice(lift, Voice::Verifying(doubt));
        } else {
            // As programs do that take unknown for failed.
            self.settle_call(lift, &doubt.command, &Verdict::NotSent);
            self.fall_quiet(lift, now, Millis(0));
        }
    }

    /// No outcome came. By now no gateway would still run the command: the read that it names is too old, and the
    /// PLC has settled. So the echo tells: another number than before means that it ran.
    pub(super) fn settle(&mut self, lift: &LiftId, doubt: &Doubt, now: Now) {
        let void = now.mono.since(doubt.since) >= LIFT_READ_AGE_MAX + PLC_SETTLE;
        let Some(ear) = self.lifts.get(lift) else { return };
        let fresh = now.mono.since(ear.at) + ear.reading.age_ms <= LIFT_READ_AGE_MAX;
        let (true, true, None, Some(status)) = (void, fresh, &ear.reading.verifying, &ear.reading.status)
        else {
            return;
        };
        let ran = status.accepted != doubt.accepted_before;
        let verdict = if ran { Verdict::Ran } else { Verdict::NotSent };
        self.note_told(&doubt.command, &verdict);
        self.settle_call(lift, &doubt.command, &verdict);
        if doubt.joined {
            self.spare_if_ran(lift, &doubt.command, &verdict);
        }
        self.note_verdict(lift, &doubt.command, verdict, now);
        self.fall_quiet(lift, now, Millis(0));
    }
}
