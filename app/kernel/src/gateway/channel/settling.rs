//! What settles a command in doubt: its own echo, else where the lift is seen; and the same for whoever watches.

use crate::lift::LiftStatus;
use crate::safeguard::Safeguard;
use crate::time::{Millis, Now};
use crate::timing::PLC_SETTLE;
use crate::wire::gateway::{Connection, Settling};

use super::inferred::is_done;
use super::{Channel, InFlight, Phase};

impl Channel {
    /// So long a lift is watched that shows nothing of a command, before that was not sent. Where an echo would tell of
    /// it, a scan that was held up is what must be waited for; without one, the lift itself.
    pub(super) fn settles_after(&self) -> Millis {
        let can = &self.lift.capabilities;
        if can.echo { PLC_SETTLE } else { PLC_SETTLE.max(can.reaction_ms) }
    }

    /// The PLC has started anew since the write, or, where it counts no starts, may have.
    pub(super) fn restarted(&self, flight: &InFlight, status: &LiftStatus) -> bool {
        status.boot != flight.plc_boot && self.safeguards.holds(Safeguard::BootCounter)
    }

    /// The echo is the command's. After what may have been a restart the lift must have arrived at what was asked, too:
    /// what has begun might be the PLC's own way to its nearest stop.
    pub(super) fn has_run(&self, flight: &InFlight, status: &LiftStatus) -> bool {
        let arrived = || flight.aim.as_ref().is_some_and(|aim| is_done(aim, status));
        let counts = !self.restarted(flight, status) || !self.lift.capabilities.boot && arrived();
        status.accepted == flight.number && counts
    }

    /// The command did nothing. After a restart of the PLC, and without an echo, only a lift that stands as before, that
    /// has nothing under way and that was never seen otherwise did not move and will not. Without an echo not even that
    /// one, where the PLC has taken the write: something may hold the lift. Only a counted start voids it.
    pub(super) fn is_untouched(&self, flight: &InFlight, status: &LiftStatus) -> bool {
        let rests = status.levelled && status.accepted == status.completed;
        let stands = rests && status.expectation() == flight.expects && !self.inferred.strayed();
        let can = &self.lift.capabilities;
        let restarted = self.restarted(flight, status);
        let in_force = flight.confirmed && !(restarted && can.boot);
        can.echo && !restarted || stands && !in_force
    }

    pub(super) fn settling(&self, now: Now) -> Option<Settling> {
        let Phase::Verifying { flight, good_since } = &self.phase else { return None };
        match self.connection_at(now) {
            Connection::Frozen => return Some(Settling::Frozen),
            Connection::Up | Connection::Unknown | Connection::Down => {}
        }
        let (Some(since), Some((status, _))) = (good_since, &self.newest) else {
            return Some(Settling::NoReads);
        };
        let left_ms = Millis(self.settles_after().0.saturating_sub(now.mono.since(*since).0));
        if left_ms > Millis(0) || self.is_untouched(flight, status) {
            return Some(Settling::Reads { left_ms });
        }
        let counted = self.lift.capabilities.boot && self.restarted(flight, status);
        Some(if counted { Settling::Restarted } else { Settling::Unclear })
    }
}
