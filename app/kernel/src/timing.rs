//! Every duration that a decision rests on, with where it comes from. No bare number stands anywhere else.

use serde::{Deserialize, Serialize};

use crate::plant::Lift;
use crate::time::Millis;

/// What an acknowledgement may take, in its four parts (C3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LinkBudget {
    /// One way over the radio; counted twice, for the command and its acknowledgement.
    pub transport_ms: Millis,
    /// From a command understood to wheels turning, at worst with a fork movement before.
    pub execution_ms: Millis,
    /// Worst two floors of travel and the doors.
    pub lift_ms: Millis,
    /// Change of access point and what the car hides.
    pub roaming_ms: Millis,
}

impl LinkBudget {
    /// The second field report's figures: 2 × 1.5 s + 10 s + 10 s + 5 s = 28 s.
    pub const REPORTED: Self = Self {
        transport_ms: Millis(1500),
        execution_ms: Millis::seconds(10),
        lift_ms: Millis::seconds(10),
        roaming_ms: Millis::seconds(5),
    };

    /// After this long without an acknowledgement the task is suspended.
    pub fn ack_deadline(&self) -> Millis {
        self.transport_ms.times(2) + self.execution_ms + self.lift_ms + self.roaming_ms
    }
}

/// Redelivery waits 1, 2, 4 s, then doubles to [`REDELIVERY_WAIT_MAX`] (C4).
pub const REDELIVERY_WAIT_FIRST: Millis = Millis::seconds(1);
/// Longest wait between two deliveries (C4).
pub const REDELIVERY_WAIT_MAX: Millis = Millis::seconds(30);
/// After so many deliveries without an acknowledgement a person decides (C4: 8 to 10).
pub const DELIVERIES_MAX: u8 = 9;

/// How long to wait after the `attempt`-th delivery, counted from 1.
pub fn redelivery_wait(attempt: u8) -> Millis {
    let doubled = REDELIVERY_WAIT_FIRST.times(1 << u64::from(attempt.saturating_sub(1).min(16)));
    doubled.min(REDELIVERY_WAIT_MAX)
}

/// A node whose word in the ledger did not change for so long is shown as silent: three words.
pub const PEER_SILENT_AFTER: Millis = Millis::seconds(3);
/// After so long it is taken for lost, so that its tasks go on within 10 s (C16): two words more, since a commit may
/// take seconds on a busy disk.
pub const PEER_LOST_AFTER: Millis = Millis::seconds(5);
/// A node that has not read the others' words for so long cannot tell who is silent, and begins to count anew.
pub const PEER_READ_GAP_MAX: Millis = Millis::seconds(3);
/// A node that the broker does not reach for so long, while it reaches another one, leaves its share to that. As long as
/// a vehicle waits for a control beat, and longer than clients come back apart from each other when a broker was started
/// again; with a word to say so, and a claim, its tasks still go on within 10 s.
pub const BROKER_CUT_OFF_AFTER: Millis = CONTROL_BEAT_PERIOD.times(CONTROL_BEATS_MISSED_MAX);
/// After a conflict nothing that rests on the same knowledge is proposed before the ledger was followed, at most so
/// long: the poll behind its notifications.
pub const FOLLOW_POLL: Millis = Millis(250);

/// Period of a vehicle's heartbeat (C8: 0.5 to 2 s).
pub const HEARTBEAT_PERIOD: Millis = Millis(500);
/// So many missing heartbeats make a vehicle silent (C9).
pub const HEARTBEATS_MISSED_MAX: u64 = 3;
/// So many steady heartbeats make it heard again (C10).
pub const HEARTBEATS_STEADY: u8 = 2;
/// How long a task may stay frozen by silence before a person is asked (C9).
pub const SILENCE_LIMIT: Millis = Millis::seconds(600);
/// Ids a vehicle remembers (C6).
pub const COMMAND_MEMORY: usize = 500;

/// Period of a control node's beat to gateways and vehicles.
pub const CONTROL_BEAT_PERIOD: Millis = Millis::seconds(1);
/// After so many missed control beats a vehicle takes nothing new until its link is opened again.
pub const CONTROL_BEATS_MISSED_MAX: u64 = 3;

/// The gateway reads each lift this often (A10).
pub const LIFT_POLL_PERIOD: Millis = Millis(200);
/// A read older than this is no ground for a command (A10).
pub const LIFT_READ_AGE_MAX: Millis = Millis(2500);
/// The gateway waits this long for the PLC to echo a command as accepted (A12).
pub const PLC_ACK_DEADLINE: Millis = Millis(2500);
/// Control waits this long for the gateway's outcome: longer than the gateway waits, so the gateway speaks first (A12).
pub const LIFT_ACK_DEADLINE: Millis = Millis::seconds(3);
/// How long a lift command may be queued before it is void.
pub const LIFT_COMMAND_VALIDITY: Millis = Millis(2500);
/// Two of the slowest PLC scans (300 ms) and a poll: a write that the PLC took shows in its echo by then.
pub const PLC_SETTLE: Millis = Millis(1000);
/// The longest scan of a PLC (A1): two commands within it may meet in any order.
pub const PLC_SCAN_MAX: Millis = Millis(300);
/// A heartbeat register that stands still this long means a frozen PLC (A16).
pub const PLC_FROZEN: Millis = Millis::seconds(1);

/// The epoch that every lift begins with.
pub const EPOCH_FIRST: u32 = 1;

/// Life of a control lease without renewal (A2).
pub const LEASE_TTL: Millis = Millis::seconds(30);
/// A lease that is held is renewed this often (A2).
pub const LEASE_RENEWAL: Millis = Millis::seconds(5);
/// A renewal that found no store, or brought no answer, is tried again after so long, until the lease ends.
pub const LEASE_RENEWAL_RETRY: Millis = Millis(500);
/// The record of a call outlives its acknowledgement by so much (A9): by then a read shows what it did.
pub const CALL_RECORD_LIFE: Millis = Millis::seconds(5);
/// Longest a lease is held for one command: a wait for a fresh read and the call record, then the acknowledgement (A3).
pub const LEASE_HOLD_MAX: Millis = Millis::seconds(6);
/// How long a request waits for its turn before it is refused with the holder (A2).
pub const LEASE_WAIT: Millis = Millis::seconds(2);

/// A node that was not heard for so long does not count as alive: three beats.
pub const NODE_SILENT_AFTER: Millis = CONTROL_BEAT_PERIOD.times(CONTROL_BEATS_MISSED_MAX);
/// No node reached the lease store for so long: the gateway arbitrates (A15). Every lease that was granted before has
/// ended by then.
pub const STORE_OUTAGE: Millis = LEASE_TTL;
/// A node has reached the lease store for so long without a break: the gateway gives arbitration back (A15).
pub const STORE_STEADY: Millis = Millis::seconds(10);

/// From "lift ready" or an open door until both channels must agree that the vehicle is in or out.
pub const HANDOVER_MARGIN: Millis = Millis::seconds(20);

/// How long a session may hold a lift before a person is asked: two one-way trips, one of them empty to fetch the
/// rider, and the handovers in and out (B6).
pub fn hold_limit(lift: &Lift) -> Millis {
    lift.one_way().times(2) + HANDOVER_MARGIN.times(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_budget_is_28_seconds() {
        assert_eq!(LinkBudget::REPORTED.ack_deadline(), Millis::seconds(28));
    }

    #[test]
    fn redelivery_doubles_up_to_half_a_minute() {
        let waits: Vec<u64> = (1..=DELIVERIES_MAX).map(|n| redelivery_wait(n).0 / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30, 30]);
    }
}
