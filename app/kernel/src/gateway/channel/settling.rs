//! What settles a command in doubt, for whoever watches: no decision reads it.

use crate::safeguard::Safeguard;
use crate::time::{Millis, Now};
use crate::timing::PLC_SETTLE;
use crate::wire::gateway::{Connection, Settling};

use super::{Channel, Phase, stands_as_before};

impl Channel {
    pub(super) fn settling(&self, now: Now) -> Option<Settling> {
        let Phase::Verifying { flight, good_since } = &self.phase else { return None };
        match self.connection_at(now) {
            Connection::Frozen => return Some(Settling::Frozen),
            Connection::Up | Connection::Unknown | Connection::Down => {}
        }
        let (Some(since), Some((status, _))) = (good_since, &self.newest) else {
            return Some(Settling::NoReads);
        };
        let left_ms = Millis(PLC_SETTLE.0.saturating_sub(now.mono.since(*since).0));
        let restarted = status.boot != flight.plc_boot && self.safeguards.holds(Safeguard::BootCounter);
        let bound = restarted && left_ms == Millis(0) && !stands_as_before(flight, status);
        Some(if bound { Settling::Restarted } else { Settling::Reads { left_ms } })
    }
}
