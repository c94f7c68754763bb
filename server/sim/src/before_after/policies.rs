//! The two dispatchers of the first report, frozen: as it was, and with leases only.
//!
//! Knows: what a dispatcher sees of the lift, what it may send, and when. Must not know: how vehicles find their way,
//! or what the plant really does. Each is a pure machine: events in, effects out, one next deadline.

mod before;
#[cfg(test)]
mod fixture;
mod leases_only;
mod node;

use kernel::ids::{FloorId, VehicleId};
use kernel::lift::{LiftAction, LiftStatus};
use kernel::time::{Millis, Mono};

pub(super) use before::Before;
pub(super) use leases_only::{LeasesOnly, STORE_ROUND_TRIP_US};

/// A dispatcher waits so long for the PLC's acknowledgement (report, 4.3).
const ACK_WAIT: Millis = Millis::seconds(3);

/// Which of the two active dispatch nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodeName {
    /// The first.
    A,
    /// The second.
    B,
}

impl NodeName {
    /// Both.
    pub(super) const BOTH: [Self; 2] = [Self::A, Self::B];
}

/// A vehicle stands at the waiting point and wants to ride.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) vehicle: VehicleId,
    pub(super) from: FloorId,
    pub(super) to: FloorId,
}

/// What a node asks of the lift.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wish {
    pub(super) action: LiftAction,
    pub(super) floor: FloorId,
}

/// What happens to a dispatcher.
#[derive(Clone, Debug)]
pub(super) enum LiftEvent {
    /// A vehicle of this node's task wants the lift.
    Asked { node: NodeName, ask: Ask },
    /// It stands in the car.
    Boarded { node: NodeName, vehicle: VehicleId },
    /// It stands outside again.
    Alighted { node: NodeName, vehicle: VehicleId },
    /// The periodic poll, as old as the road made it.
    Polled { node: NodeName, status: LiftStatus },
    /// The read that this node asked for.
    Read { node: NodeName, status: LiftStatus },
    /// The PLC took the command with this serial.
    Acked { node: NodeName, serial: u64 },
}

impl LiftEvent {
    /// Whom it concerns.
    fn node(&self) -> NodeName {
        match self {
            Self::Asked { node, .. }
            | Self::Boarded { node, .. }
            | Self::Alighted { node, .. }
            | Self::Polled { node, .. }
            | Self::Read { node, .. }
            | Self::Acked { node, .. } => *node,
        }
    }
}

/// What a dispatcher wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LiftEffect {
    /// Tell the vehicle to ride: it drives to the landing, enters the open car, leaves it where it is open again.
    Summon { vehicle: VehicleId },
    /// Send the PLC a command.
    Write { node: NodeName, serial: u64, wish: Wish },
    /// Read the PLC now.
    Read { node: NodeName },
}

/// How the leases went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseCounts {
    /// Requests.
    pub(super) asked: u64,
    /// Of these granted in time.
    pub(super) granted: u64,
    /// From request to grant, all together, in µs: a store answers within fractions of a millisecond.
    pub(super) waited_us: u64,
}

/// A dispatcher.
pub(super) trait Policy {
    /// Takes what happened.
    fn handle(&mut self, event: LiftEvent, now: Mono);
    /// Does what is due by now.
    fn handle_timeout(&mut self, now: Mono);
    /// The next effect, if any.
    fn poll_effect(&mut self) -> Option<LiftEffect>;
    /// The next deadline.
    fn poll_timeout(&self) -> Option<Mono>;
    /// How its leases went; none without leases.
    fn leases(&self) -> Option<LeaseCounts>;
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (ACK_WAIT, node::frozen(), leases_only::frozen()))
}
