//! The gateway road: `hoistway/v1/{site}/gateway/{id}/{command,outcome,status}`, and the control beat.
//!
//! Lift commands use no persistent session and expire after [`LiftCommand::valid_for_ms`]; vehicle commands pass
//! the vehicle's gateway on the same road.

use serde::{Deserialize, Serialize};

use crate::ids::{CommandId, FloorId, GatewayId, Generation, LiftId, NodeId, SessionId, TaskId, VehicleId};
use crate::lease::{FencingToken, LeaseNonce};
use crate::lift::{Expectation, LiftAction, LiftStatus};
use crate::time::Millis;
use crate::wire::vehicle::VehicleCommand;

/// What control sends to a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GatewayCommand {
    /// For a lift of the gateway.
    Lift(LiftCommand),
    /// For a vehicle of the gateway, to be passed on.
    Vehicle(VehicleCommand),
}

/// One command to a lift, with everything that lets the gateway refuse it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiftCommand {
    /// Globally unique.
    pub id: CommandId,
    /// Which lift.
    pub lift: LiftId,
    /// What to do.
    pub action: LiftAction,
    /// Where: the target of a travel, the place of the car for a door.
    pub floor: FloorId,
    /// Who sends.
    pub holder: NodeId,
    /// Rises with each lift command of the sender within its run.
    pub sequence: u64,
    /// By what the sender may speak.
    pub authority: Authority,
    /// Whose ride it serves.
    pub session: SessionRef,
    /// The read on which the decision rests.
    pub read: ReadRef,
    /// What that read showed.
    pub expects: Expectation,
    /// From arrival at the gateway, on its clock.
    pub valid_for_ms: Millis,
}

/// By what a sender may speak to a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Authority {
    /// A lease that the store granted.
    Lease {
        /// Its rank.
        token: FencingToken,
        /// The sender's request of it: tells two holders of one rank apart.
        nonce: LeaseNonce,
    },
    /// The gateway's own arbitration, while no node reaches the lease store. There is no rank: the gateway gives the
    /// serial when it admits.
    Edge {
        /// Under which the gateway arbitrates, as the sender last heard.
        epoch: u32,
    },
}

impl Authority {
    /// The rank that the sender brings; none where the gateway gives it.
    pub fn token(self) -> Option<FencingToken> {
        match self {
            Self::Lease { token, .. } => Some(token),
            Self::Edge { .. } => None,
        }
    }
}

/// Who decides between the nodes that may speak to a lift (A14, A15). Each switch into `edge` and out of it raises the
/// epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Arbitration {
    /// The lease store.
    #[default]
    Lease,
    /// The gateway itself: no node reaches the lease store.
    Edge,
    /// Nobody yet: the store is back, and does not have the new epoch.
    Returning,
}

/// Whose ride a lift command serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    /// The session.
    pub session: SessionId,
    /// Of the session on this lift; the gateway refuses lower ones.
    pub generation: Generation,
    /// Its task.
    pub task: TaskId,
    /// Of the sender's claim on the task.
    pub claim: Generation,
    /// Of the vehicle's link.
    pub link: Generation,
    /// Who rides.
    pub vehicle: VehicleId,
}

/// Names one read of a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReadRef {
    /// Start of the gateway, rising, persisted.
    pub boot: u64,
    /// Rises by each read of this lift within a boot.
    pub tick: u64,
}

/// What became of a command at the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Who speaks.
    pub gateway: GatewayId,
    /// Start of the gateway.
    pub boot: u64,
    /// Which command.
    pub command: CommandId,
    /// The lift, for a lift command.
    pub lift: Option<LiftId>,
    /// Number that the PLC command carried, when one was written.
    pub number: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a command at the gateway. Unknown is not failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Verdict {
    /// The PLC echoed the number as accepted.
    Accepted,
    /// Passed on to the vehicle's road.
    Forwarded,
    /// Not admitted: nothing was written.
    Refused {
        /// Why.
        reason: GatewayRefusal,
    },
    /// Its validity ended while it was queued: nothing was written.
    Expired,
    /// Written, and no echo came in time. The gateway keeps reading and settles it.
    Unknown,
    /// Settled: the PLC took it after all.
    Ran,
    /// Settled: the PLC never took it.
    NotSent,
}

/// Why the gateway does not admit a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum GatewayRefusal {
    /// A higher token was seen, or this one from another request.
    StaleToken,
    /// It speaks by a lease while leases do not count, or by edge arbitration that is over.
    WrongArbitration,
    /// A higher generation of the session was seen.
    StaleSession,
    /// A higher claim generation was seen for the task.
    StaleClaim,
    /// The session is new, and the car is not proven empty of the earlier one.
    CarOccupied,
    /// The lift is not this gateway's, or it does not serve the floor.
    UnknownTarget,
    /// The named read is too old or of another boot.
    StaleRead,
    /// The newest read shows something else than the command expects.
    ExpectationMissed {
        /// What it shows.
        found: Expectation,
    },
    /// What an earlier command did is not settled.
    Verifying,
    /// The PLC is out of reach, or its registers stand still.
    Unreachable,
    /// The lift is in a mode or a fault in which nothing may be sent.
    OutOfService,
    /// A travel with the door open, a door command away from the floor, or anything while the car moves.
    NotNow,
    /// The queue of the lift is full.
    QueueFull,
}

/// State of a gateway, five times a second.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatus {
    /// Who speaks.
    pub gateway: GatewayId,
    /// Start of the gateway.
    pub boot: u64,
    /// Rises by each message within a boot.
    pub message: u64,
    /// Messages that it could not understand since its start; 0 of a gateway that does not say.
    #[serde(default)]
    pub messages_rejected: u64,
    /// Each of its lifts.
    pub lifts: Vec<LiftReading>,
}

/// What a gateway knows of a lift.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiftReading {
    /// Which lift.
    pub lift: LiftId,
    /// Names the read.
    pub read: ReadRef,
    /// The newest read; none before the first.
    pub status: Option<LiftStatus>,
    /// How old it was when the message left.
    pub age_ms: Millis,
    /// How the PLC can be reached.
    pub connection: Connection,
    /// Who decides between nodes; leases, of a gateway that does not say.
    #[serde(default)]
    pub arbitration: Arbitration,
    /// Owned and persisted by the gateway; tokens of other epochs are void.
    pub epoch: u32,
    /// The highest token that was admitted: a lease store that forgot its serials goes on above it.
    #[serde(default)]
    pub token: FencingToken,
    /// The command that is not settled.
    pub verifying: Option<CommandId>,
    /// What settles that; none when nothing has to be settled, or of a gateway that does not say.
    #[serde(default)]
    pub settling: Option<Settling>,
    /// Connections that broke since the gateway started.
    pub connections_lost: u64,
    /// The newest movement that nobody commanded; none was seen since the gateway started, or it does not say.
    #[serde(default)]
    pub foreign: Option<ForeignMove>,
}

/// What settles a command whose echo did not come (A12). An echo settles it at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Settling {
    /// Reads come: the first one that shows a new scan, once this time is over.
    #[serde(rename_all = "camelCase")]
    Reads {
        /// What is left of it when the message left.
        left_ms: Millis,
    },
    /// Reads fail: the time begins with the first good one.
    NoReads,
    /// The PLC does not scan: the time begins when it does.
    Frozen,
    /// The PLC has started anew and its lift does not rest as before: a read that shows that it does, or a person.
    Restarted,
    /// The PLC gives no echo, and its lift shows neither what was commanded nor what it showed before: a read that shows
    /// what was commanded, or a person.
    Unclear,
}

/// A movement that nobody commanded (A16).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignMove {
    /// How many the gateway has seen at this lift since it started, this one included.
    pub nth: u64,
    /// What moved.
    pub part: ForeignPart,
    /// Where the car was when it was seen.
    pub floor: FloorId,
    /// How long ago it was seen when the message left.
    pub age_ms: Millis,
    /// The lift rests again, or does what it was commanded.
    pub over: bool,
}

/// What moved without a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ForeignPart {
    /// The car.
    Car,
    /// The door.
    Door,
    /// The PLC took a command that its gateway did not send: a second master speaks to it.
    Command,
}

impl ForeignPart {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Car => "car",
            Self::Door => "door",
            Self::Command => "command",
        }
    }
}

/// How a PLC can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Connection {
    /// No read yet.
    Unknown,
    /// Reads come.
    Up,
    /// Reads fail.
    Down,
    /// Reads come, and the heartbeat register stands still.
    Frozen,
}

/// Proof that a control node lives: `hoistway/v1/{site}/control/{node}/beat`, each second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlBeat {
    /// Who speaks.
    pub node: NodeId,
    /// Rises by each beat within a run.
    pub beat: u64,
    /// Whether it reaches the lease store; none before it knows, or of a node that does not say.
    #[serde(default)]
    pub reaches_store: Option<bool>,
    /// The lease store grants under these epochs, each that of a lift whose edge arbitration is over.
    #[serde(default)]
    pub epochs: Vec<StoredEpoch>,
}

/// An epoch under which the lease store has granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredEpoch {
    /// Of which lift.
    pub lift: LiftId,
    /// Which.
    pub epoch: u32,
}
