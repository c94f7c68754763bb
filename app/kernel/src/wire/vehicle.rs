//! What control and a vehicle tell each other, whatever protocol carries it.
//!
//! Two roads: commands, acknowledgements and results are reliable; heartbeat and telemetry are newest-wins.

use serde::{Deserialize, Serialize};

use crate::ids::{CommandId, FloorId, Generation, LiftId, OrderId, PointId, SessionId, TaskId, VehicleId};
use crate::time::Millis;

/// One instruction to a vehicle.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VehicleCommand {
    /// Globally unique; a redelivery keeps it.
    pub id: CommandId,
    /// Who is meant.
    pub vehicle: VehicleId,
    /// Rises by one with each new command to this vehicle; a redelivery keeps it.
    pub sequence: u64,
    /// The task it belongs to; an `openLink` belongs to none.
    pub task: Option<TaskId>,
    /// Which step of the task, from 0.
    pub step: u32,
    /// Generation of the sender's claim on the task.
    pub claim: Generation,
    /// Generation of the vehicle's link: older ones are refused.
    pub link: Generation,
    /// From sending; the broker drops it afterwards.
    pub valid_for_ms: Millis,
    /// What to do.
    pub instruction: Instruction,
}

/// What a vehicle is told to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Instruction {
    /// What was agreed by reconciliation holds from here; new commands of this link generation may be taken.
    OpenLink,
    /// Drive the points in order, then work.
    Drive {
        /// From the present point, which is the first; at least one.
        path: Vec<PointId>,
        /// What to do at the last point.
        then: Operation,
    },
    /// Enter the open car, stay in it until its door is open at `to`, leave it. One command, since in a dead car
    /// nobody can say "leave now".
    Ride {
        /// Which lift.
        lift: LiftId,
        /// Whose ride it is.
        session: SessionId,
        /// Where the vehicle enters.
        from: FloorId,
        /// Where it leaves.
        to: FloorId,
        /// From the present point to the landing in front of the door, over the transition zone.
        approach: Vec<PointId>,
        /// The landing where it ends.
        exit: PointId,
    },
}

/// What to do at the end of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Nothing: stand there.
    Stand,
    /// Take up the load of this order.
    Pick {
        /// Whose load.
        order: OrderId,
    },
    /// Put down the load of this order.
    Drop {
        /// Whose load.
        order: OrderId,
    },
}

/// "Received and understood", or why not. Never "done".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VehicleAck {
    /// Which command.
    pub command: CommandId,
    /// Who speaks.
    pub vehicle: VehicleId,
    /// Of the command.
    pub sequence: u64,
    /// Of the command: an acknowledgement from before a reconciliation is told apart.
    pub link: Generation,
    /// Rises by each start of the vehicle.
    pub boot: u64,
    /// Taken, or why not.
    pub verdict: AckVerdict,
}

/// What a vehicle makes of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AckVerdict {
    /// It will be done, or was already taken before (the answer to a repeat is the same).
    Accepted,
    /// It will not be done.
    Refused {
        /// Why.
        reason: VehicleRefusal,
    },
}

/// Why a vehicle refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VehicleRefusal {
    /// The link generation is not the open one, or the link is not open.
    StaleLink,
    /// A higher claim generation was seen for this task.
    StaleClaim,
    /// The id lies below the window of remembered ids.
    BelowWindow,
    /// It does something else.
    Busy,
    /// It does not stand where the command begins.
    NotThere,
    /// The instruction names a point or lift that the vehicle does not know.
    UnknownPlace,
    /// Pick with a load aboard, or drop without that load.
    WrongLoad,
}

/// Progress and result, on the reliable road.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VehicleReport {
    /// Which command.
    pub command: CommandId,
    /// Its task.
    pub task: Option<TaskId>,
    /// Who speaks.
    pub vehicle: VehicleId,
    /// Rises by each start of the vehicle.
    pub boot: u64,
    /// Rises by each report within a boot: repeats and late ones are told apart (C7).
    pub report: u64,
    /// What happened.
    pub progress: Progress,
}

/// How far a vehicle came with a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Progress {
    /// Wheels turn.
    Started,
    /// The vehicle stands in the car, clear of the sill.
    Boarded,
    /// The vehicle stands outside the car, clear of the sill.
    Alighted,
    /// All of it is done.
    Done,
    /// It cannot be done.
    Failed {
        /// What hinders it, in the vehicle's words, at most 200 characters.
        reason: String,
    },
}

/// Proof of life, with all that a reconciliation needs (C8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// Who speaks.
    pub vehicle: VehicleId,
    /// Rises by each start of the vehicle.
    pub boot: u64,
    /// Rises by each beat within a boot.
    pub beat: u64,
    /// What it does.
    pub work: WorkState,
    /// The command that it holds, if any.
    pub command: Option<CommandId>,
    /// Sequence of the last command that it acknowledged; 0 before the first.
    pub acknowledged: u64,
    /// The commands that it finished last, newest first, at most [`COMPLETIONS_MAX`]: a lost result is found here.
    pub completions: Vec<CommandId>,
    /// The lowest sequence that it still remembers.
    pub window_floor: u64,
    /// The highest link generation that it has seen; kept over a restart.
    pub link: Generation,
    /// Whether new commands of that generation are taken.
    pub link_open: bool,
    /// Where it is. A vehicle that has lost its place says so.
    pub place: Place,
    /// The load aboard.
    pub load: Option<OrderId>,
}

/// Completions that a heartbeat lists. One command is under way at a time, so this covers any silence that a
/// link generation spans.
pub const COMPLETIONS_MAX: usize = 8;

/// What a vehicle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WorkState {
    /// Nothing to do.
    Idle,
    /// Drives.
    Driving,
    /// Picks or drops.
    Handling,
    /// Waits before or in a lift.
    Waiting,
    /// Stands with a fault.
    Faulted,
}

/// Where a vehicle is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Place {
    /// It does not know.
    Unknown,
    /// At a point.
    At {
        /// Which.
        point: PointId,
    },
    /// Between two points.
    Between {
        /// The one behind.
        from: PointId,
        /// The one ahead.
        to: PointId,
        /// Of the way, 0 to 100.
        #[serde(rename = "progressPct")]
        progress_pct: u8,
    },
    /// In the car of a lift.
    InCar {
        /// Which.
        lift: LiftId,
    },
}

/// Whether a vehicle has a session with the broker: retained, and its last will. Stale until the vehicle is heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// Whose.
    pub vehicle: VehicleId,
    /// The session stands.
    pub online: bool,
}

/// High-rate state; an old one is worthless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Telemetry {
    /// Who speaks.
    pub vehicle: VehicleId,
    /// Rises by each start of the vehicle.
    pub boot: u64,
    /// Rises by each message within a boot.
    pub sample: u64,
    /// Where it is.
    pub place: Place,
    /// 0 to 100.
    pub battery_pct: u8,
    /// Signal strength, usually −30 to −95.
    pub rssi_dbm: i16,
    /// Lost of the last hundred frames.
    pub loss_pct: u8,
}
