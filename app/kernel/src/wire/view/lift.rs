//! A lift as people and programs see it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Hearing;
use crate::ids::{CommandId, FloorId, GatewayId, Generation, LiftId, NodeId, SessionId, TaskId, VehicleId};
use crate::lease::FencingToken;
use crate::lift::{LiftAction, LiftMode, LiftStatus};
use crate::time::Millis;
use crate::wire::gateway::{Arbitration, Connection, Verdict};
use crate::wire::ledger::SessionPhase;

/// A lift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftView {
    /// Its name.
    pub id: LiftId,
    /// Its gateway.
    pub gateway: GatewayId,
    /// Whether the gateway is heard.
    pub gateway_hearing: Hearing,
    /// How the PLC can be reached.
    pub connection: Connection,
    /// Connections to the PLC that broke since the gateway started.
    pub connections_lost: u64,
    /// The newest read.
    pub status: Option<LiftStatus>,
    /// When that was read, by this node's wall clock.
    pub read_at: Option<DateTime<Utc>>,
    /// The command that is not settled.
    pub verifying: Option<CommandId>,
    /// What settles it; none when nothing has to be, or its gateway does not say.
    pub settling: Option<SettlingView>,
    /// Who decides between nodes.
    pub arbitration: Arbitration,
    /// Of the arbitration: rises with each switch. None before the gateway was heard.
    pub epoch: Option<u32>,
    /// Who may talk to it now; of another node as far as a command of its was heard and has no outcome.
    pub lease: Option<LeaseView>,
    /// Whose ride it is.
    pub session: Option<SessionView>,
    /// Who waits, first in line first.
    pub waiting: Vec<SessionView>,
    /// The last commands, newest first, at most [`LIFT_COMMANDS_SHOWN`].
    pub commands: Vec<LiftCommandView>,
}

/// Commands that a lift's view lists.
pub const LIFT_COMMANDS_SHOWN: usize = 20;

/// A control lease, as seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseView {
    /// Who holds it.
    pub holder: NodeId,
    /// Its rank.
    pub token: FencingToken,
    /// Since when; of another node's, when the command that it spoke by was heard.
    pub since: DateTime<Utc>,
    /// When it ends unless it is given back before, or renewed. None of another node's, which alone knows.
    pub ends_at: Option<DateTime<Utc>>,
    /// When it was last renewed, which a command that takes long makes it need. None of another node's.
    pub renewed_at: Option<DateTime<Utc>>,
}

/// A ride, as seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionView {
    /// Its name.
    pub id: SessionId,
    /// Who rides.
    pub vehicle: VehicleId,
    /// For which task.
    pub task: TaskId,
    /// Where it enters.
    pub from: FloorId,
    /// Where it leaves.
    pub to: FloorId,
    /// How far it is.
    pub phase: SessionPhase,
    /// Of the session on its lift.
    pub generation: Generation,
    /// When the phase was entered.
    pub since: DateTime<Utc>,
    /// Held at most so long.
    pub hold_limit_ms: Millis,
    /// Why it does not go on.
    pub waits: LiftWait,
}

/// A command to a lift, as seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftCommandView {
    /// Its name.
    pub id: CommandId,
    /// When it was sent.
    pub at: DateTime<Utc>,
    /// Who sent it.
    pub issuer: NodeId,
    /// Its rank; none of a command by edge arbitration.
    pub token: Option<FencingToken>,
    /// What was asked.
    pub action: LiftAction,
    /// Where.
    pub floor: FloorId,
    /// What became of it; none while the answer is due.
    pub verdict: Option<Verdict>,
    /// From sending to the answer.
    pub answered_after_ms: Option<Millis>,
    /// It was not sent: the same call had been made by this command, whose outcome counts for both (A9).
    pub joined: Option<CommandId>,
    /// The newest command before it that another node sent within one scan of the PLC, and that asks for something else.
    pub contradicts: Option<CommandId>,
}

/// What settles a command of which nobody knows what became of it. Until then nothing is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SettlingView {
    /// Reads come: the first one from then on settles it, or an echo before.
    Reads {
        /// When.
        at: DateTime<Utc>,
    },
    /// Reads fail, and the time begins with the first good one.
    NoReads,
    /// The PLC is read and does not scan: the time begins when it does.
    Frozen,
    /// The PLC has started anew, so its echo says nothing: a read of the lift at rest as before settles it, or a person.
    Restarted,
    /// The PLC gives no echo, and the lift shows neither what was commanded nor what it showed before: a read that shows
    /// what was commanded settles it, or a person.
    Unclear,
    /// The gateway said nothing in time, and verifies nothing: the first read from then on settles it.
    Outcome {
        /// When.
        at: DateTime<Utc>,
    },
    /// The gateway is not heard, and nobody else reads the lift.
    GatewaySilent,
}

/// What keeps a ride, or who stands in the line, from going on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LiftWait {
    /// Another one comes before it.
    Turn {
        /// The next one before it.
        after: VehicleId,
    },
    /// The gateway is not heard.
    GatewaySilent,
    /// Its gateway does not reach the PLC.
    Unreachable,
    /// The PLC is read and does not scan.
    Frozen,
    /// The newest read is too old to decide on.
    OldRead,
    /// What a command did is not settled.
    Verifying {
        /// Which.
        command: CommandId,
    },
    /// The lift does not serve vehicles.
    Mode {
        /// Whom or what it serves.
        mode: LiftMode,
    },
    /// The lift reports a fault.
    Fault {
        /// The maker's code.
        code: u16,
    },
    /// Another node drives it and alone knows more; nobody does when there is none.
    Elsewhere {
        /// Which.
        node: Option<NodeId>,
    },
    /// It is not proven that the car is empty.
    CarOccupied,
    /// What was decided is not in the ledger yet.
    Ledger,
    /// The lift carries out a command.
    Moves,
    /// Another node has the lease.
    LeaseHeld {
        /// Which.
        holder: NodeId,
    },
    /// The lease store does not answer.
    StoreAway,
    /// The lease store came back with another life, and the ledger does not know it yet.
    StoreChanged,
    /// Too few replicas of the lease store confirmed the grant.
    NotReplicated,
    /// The lease was asked for.
    Lease,
    /// A read has to come that is new enough.
    Read,
    /// The lease store is asked whether the same call was made before.
    Record,
    /// The same call was made before, and its outcome counts.
    Joined {
        /// By this command.
        command: CommandId,
    },
    /// A command was sent, and its outcome is awaited.
    Outcome {
        /// Which.
        command: CommandId,
    },
    /// A command was sent without a lease, and the gateway decides by itself.
    Edge {
        /// Which.
        command: CommandId,
    },
    /// Edge arbitration is over, and the lease store does not have the new epoch yet.
    Returning,
    /// The vehicle has to drive in or out.
    Vehicle,
    /// The vehicle says that it is in or out, and the car's sensor does not.
    Sensor,
    /// The car's sensor shows it, and the vehicle does not say so.
    Word,
    /// The lease was lost: it had ended, or was broken.
    LeaseLost {
        /// What was sent under it, whose outcome is awaited; nothing was when there is none, and it is asked for again.
        command: Option<CommandId>,
    },
}
