//! How well a lift did, shift by shift, by the definitions of the first field report (L6.3).
//!
//! Two sources, kept apart. What is *recorded* comes from the ledger alone: every node tells the same, and a restart
//! loses nothing. What is *heard* is one node's own: what it asked, sent and heard since it started.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{LiftId, NodeId};
use crate::time::Millis;

/// The health of one lift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftHealth {
    /// Which lift.
    pub lift: LiftId,
    /// The node whose own figures stand under `heard`.
    pub node: NodeId,
    /// The current shift, and up to five before it, newest first. None lies wholly before the ledger's first entry.
    pub shifts: Vec<ShiftHealth>,
}

/// One lift in one shift. A shift begins at a time of the site file, by the site's own clock, and ends at the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ShiftHealth {
    /// When it begins.
    pub starts_at: DateTime<Utc>,
    /// When it ends.
    pub ends_at: DateTime<Utc>,
    /// What of it has passed, from the ledger's first entry on.
    pub elapsed_ms: Millis,
    /// Share of `elapsedMs` in which a ride held the lift: 0 to 100.
    pub utilization_pct: u8,
    /// From the ledger: the same on every node.
    pub recorded: RecordedHealth,
    /// This node's own; none of a shift that was over when the node started.
    pub heard: Option<HeardHealth>,
    /// Since when `heard` counts: when the node started, or the shift began.
    pub heard_since: Option<DateTime<Utc>>,
}

/// What the ledger tells of a lift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordedHealth {
    /// From asking for a ride, which a vehicle does at the waiting point, to standing in the car. Counted when it ends.
    pub vehicle_wait: Waits,
    /// Of that, from asking to its turn: the ride was granted the lift.
    pub turn_wait: Waits,
    /// Rides held the lift for so long, from the grant to the end.
    pub held_ms: Millis,
    /// Emergency stops, by the fault that the PLC showed with them.
    pub emergency_stops: Vec<EmergencyStops>,
    /// Times when people had to come: an alarm stood that only they can end at the lift (emergency stop, fault, PLC
    /// frozen or out of reach, maintenance needed), and none did before.
    pub fault_tickets: u64,
    /// Movements that nobody commanded, such as hall calls by people.
    pub foreign_moves: u64,
    /// Times when the gateway began to arbitrate, since no node reached the lease store.
    pub edge_spells: u64,
    /// Commands that left without a lease, by edge arbitration, of any node.
    pub edge_commands: u64,
}

/// Emergency stops of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EmergencyStops {
    /// The maker's fault code; 0 of a stop without one, such as by the button.
    pub fault: u16,
    /// How many.
    pub count: u64,
}

/// What one node asked of a lift, sent to it and heard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HeardHealth {
    /// Leases that this node asked for.
    pub leases: LeaseFigures,
    /// Commands that this node sent.
    pub commands: CommandFigures,
    /// Commands of different nodes that contradict each other.
    pub conflicts: ConflictFigures,
    /// The car travelled for so long.
    pub moving_ms: Millis,
    /// This node saw for so long whether it does.
    pub watched_ms: Millis,
}

/// How a node's requests for the lease went. What is neither granted nor refused was given up, or is awaited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseFigures {
    /// Asked for. A request that is repeated since its answer was lost counts once.
    pub asked: u64,
    /// Granted.
    pub granted: u64,
    /// Refused: somebody else held it for the whole wait.
    pub refused_held: u64,
    /// Refused: the store was away.
    pub refused_store_down: u64,
    /// Refused for another reason.
    pub refused_otherwise: u64,
    /// Lost with work in hand: it had ended, was broken, or was held for too long.
    pub lost: u64,
    /// From asking to the grant, of those that were granted.
    pub wait: Waits,
}

/// What became of a node's commands, by the word of the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandFigures {
    /// Sent.
    pub sent: u64,
    /// The PLC took them.
    pub acknowledged: u64,
    /// The gateway did not admit them.
    pub refused: u64,
    /// Of the refused ones those that a fence stopped: another node's command or another ride had overtaken them.
    pub fenced: u64,
    /// Nothing was written: they waited for too long, or never left.
    pub unwritten: u64,
    /// Not known in time what became of them; what is learned later counts above as well.
    pub unknown: u64,
    /// Not sent, since another node had made the same call and the PLC had taken it: what call records save.
    pub saved: u64,
}

/// Commands of two nodes to one lift that were heard within a PLC's longest scan, 300 ms, and ask for different things.
/// All nodes hear the same commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConflictFigures {
    /// Commands that contradict an earlier one.
    pub sent: u64,
    /// Of them those that reached the PLC beside the one that they contradict: the report's conflicts.
    pub reached: u64,
}

/// How long something was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Waits {
    /// How many waits.
    pub count: u64,
    /// All together.
    pub sum_ms: Millis,
    /// The longest.
    pub max_ms: Millis,
    /// By length, shortest first. What is missing from `count` was longer than the last bound.
    pub buckets: Vec<WaitBucket>,
}

/// Waits of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WaitBucket {
    /// At most so long, and longer than the bucket before.
    pub up_to_ms: Millis,
    /// How many.
    pub count: u64,
}

/// Bounds of the waits for a lease: about the report's 7 ms, and up to the wait after which it is refused.
const LEASE_BOUNDS_MS: [u64; 12] = [1, 2, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000];
/// Bounds of the waits for a lift; the report's 2:20 and 4:40 are among them.
const LIFT_BOUNDS_S: [u64; 12] = [10, 20, 30, 60, 90, 120, 140, 180, 240, 280, 360, 600];
/// Causes of emergency stops that are told apart; whatever a PLC shows beyond counts as one without a code.
const CAUSES_MAX: usize = 16;

impl Waits {
    fn within(bounds: impl Iterator<Item = Millis>) -> Self {
        let buckets = bounds.map(|up_to_ms| WaitBucket { up_to_ms, count: 0 }).collect();
        Self { count: 0, sum_ms: Millis(0), max_ms: Millis(0), buckets }
    }

    /// None yet, for a lease.
    pub fn for_lease() -> Self {
        Self::within(LEASE_BOUNDS_MS.into_iter().map(Millis))
    }

    /// None yet, for a lift.
    pub fn for_lift() -> Self {
        Self::within(LIFT_BOUNDS_S.into_iter().map(Millis::seconds))
    }

    /// Adds one.
    pub fn add(&mut self, wait: Millis) {
        self.count += 1;
        self.sum_ms = self.sum_ms + wait;
        self.max_ms = self.max_ms.max(wait);
        if let Some(bucket) = self.buckets.iter_mut().find(|it| wait <= it.up_to_ms) {
            bucket.count += 1;
        }
    }
}

impl RecordedHealth {
    /// Adds an emergency stop.
    pub fn add_emergency_stop(&mut self, fault: u16) {
        let known = self.emergency_stops.iter().any(|it| it.fault == fault);
        let room = self.emergency_stops.len() < CAUSES_MAX || fault == 0;
        let fault = if known || room { fault } else { 0 };
        match self.emergency_stops.iter_mut().find(|it| it.fault == fault) {
            Some(stops) => stops.count += 1,
            None => self.emergency_stops.push(EmergencyStops { fault, count: 1 }),
        }
    }
}

impl Default for RecordedHealth {
    fn default() -> Self {
        Self {
            vehicle_wait: Waits::for_lift(),
            turn_wait: Waits::for_lift(),
            held_ms: Millis(0),
            emergency_stops: Vec::new(),
            fault_tickets: 0,
            foreign_moves: 0,
            edge_spells: 0,
            edge_commands: 0,
        }
    }
}

impl Default for LeaseFigures {
    fn default() -> Self {
        Self {
            asked: 0,
            granted: 0,
            refused_held: 0,
            refused_store_down: 0,
            refused_otherwise: 0,
            lost: 0,
            wait: Waits::for_lease(),
        }
    }
}

impl Default for HeardHealth {
    fn default() -> Self {
        Self {
            leases: LeaseFigures::default(),
            commands: CommandFigures::default(),
            conflicts: ConflictFigures::default(),
            moving_ms: Millis(0),
            watched_ms: Millis(0),
        }
    }
}
