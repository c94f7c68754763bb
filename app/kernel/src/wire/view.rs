//! What people and programs see of the site: the same shapes in REST and in the live stream.
//!
//! Postcard carries them too, so no field is skipped, flattened or tagged from inside.

mod lift;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::alarm::{AlarmKind, Subject};
use crate::ids::{AlarmId, FloorId, Generation, LiftId, NodeId, OrderId, StationId, TaskId, VehicleId};
use crate::task::TaskState;
use crate::time::Millis;
use crate::wire::rest::TransportOrder;
use crate::wire::vehicle::{Place, WorkState};

pub use self::lift::{
    LIFT_COMMANDS_SHOWN, LeaseView, LiftCommandView, LiftView, LiftWait, SessionView, SettlingView,
};

/// A control node as the ledger tells of it: the same on every node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PeerView {
    /// Its name.
    pub id: NodeId,
    /// Its last run, from 1.
    pub run: u64,
    /// Whether that run counts.
    pub standing: NodeStanding,
    /// Version of its program, as it last said.
    pub version: Option<String>,
    /// When it began or ended, or has been silent.
    pub since: DateTime<Utc>,
    /// When it last said in the ledger that it lives, by its own wall clock.
    pub heard_at: Option<DateTime<Utc>>,
    /// Whether the broker reaches it, as it last said. One that it does not reach hands its tasks over.
    pub hears_broker: Option<bool>,
    /// Open tasks that it drives.
    pub tasks: u32,
}

/// Whether a control node counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum NodeStanding {
    /// It takes part.
    Running,
    /// It was not heard of lately; when that lasts, its tasks are taken over.
    Silent,
    /// It ended in good order and handed its tasks over.
    Stopped,
    /// It was taken for dead; its tasks are taken over.
    Lost,
}

/// An order and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OrderView {
    /// As accepted.
    pub order: TransportOrder,
    /// Its task.
    pub task: TaskId,
    /// Where the task stands.
    pub state: TaskState,
    /// It is to be taken back, and is when its vehicle is out of the lift.
    pub withdrawal_asked: bool,
    /// When it was accepted.
    pub placed_at: DateTime<Utc>,
    /// When the task ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskView {
    /// Its name.
    pub id: TaskId,
    /// Its order.
    pub order: OrderId,
    /// Where the load is picked.
    pub from: StationId,
    /// Where it is dropped.
    pub to: StationId,
    /// 0 to 9.
    pub priority: u8,
    /// Where it stands.
    pub state: TaskState,
    /// It is to be taken back, and is when its vehicle is out of the lift.
    pub withdrawal_asked: bool,
    /// How sure that is.
    pub knowledge: Knowledge,
    /// What goes on.
    pub activity: Activity,
    /// Who carries it.
    pub vehicle: Option<VehicleId>,
    /// Who claims it.
    pub claimed_by: Option<NodeId>,
    /// Of the claim.
    pub claim: Generation,
    /// When `state` was entered.
    pub since: DateTime<Utc>,
    /// Against which an acknowledgement is measured.
    pub ack_budget_ms: Millis,
    /// When the next delivery is due.
    pub next_delivery_at: Option<DateTime<Utc>>,
}

/// How sure a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Knowledge {
    /// The vehicle said so, and is heard.
    Confirmed,
    /// The vehicle is silent as expected, in a car.
    Assumed,
    /// Nobody knows.
    Unknown,
    /// Two records differ.
    Contradicted,
}

/// What goes on with a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Activity {
    /// Waits for a free vehicle.
    WaitsForVehicle,
    /// The vehicle goes to fetch the load.
    DrivesToPick,
    /// Takes it up.
    Picks,
    /// The vehicle carries the load.
    DrivesToDrop,
    /// Puts it down.
    Drops,
    /// Waits for a lift to come.
    WaitsForLift {
        /// Which.
        lift: LiftId,
    },
    /// Enters the car.
    Boards {
        /// Which.
        lift: LiftId,
    },
    /// In the car.
    Rides {
        /// Which.
        lift: LiftId,
        /// Where to.
        to: FloorId,
    },
    /// Leaves the car.
    Alights {
        /// Which.
        lift: LiftId,
    },
    /// Nothing more.
    Ended,
}

/// A vehicle at its last reported place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VehicleView {
    /// Its name.
    pub id: VehicleId,
    /// As last reported; never guessed on.
    pub place: Place,
    /// When that was reported.
    pub placed_at: Option<DateTime<Utc>>,
    /// Whether it is heard.
    pub hearing: Hearing,
    /// When anything was last heard from it.
    pub heard_at: Option<DateTime<Utc>>,
    /// What it does.
    pub work: WorkState,
    /// What it carries.
    pub load: Option<OrderId>,
    /// Its task.
    pub task: Option<TaskId>,
    /// 0 to 100.
    pub battery_pct: Option<u8>,
    /// Signal strength.
    pub rssi_dbm: Option<i16>,
    /// Of its link.
    pub link: Generation,
    /// New commands are taken.
    pub link_open: bool,
}

/// Whether a vehicle or gateway is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Hearing {
    /// Not since this node started.
    Never,
    /// In time.
    Heard,
    /// Three beats are missing.
    Silent,
}

/// An alarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AlarmView {
    /// Its name.
    pub id: AlarmId,
    /// What is wrong.
    pub kind: AlarmKind,
    /// With whom.
    pub subject: Subject,
    /// 1 to 4.
    pub priority: u8,
    /// What was seen.
    pub detail: String,
    /// When it was raised.
    pub raised_at: DateTime<Utc>,
}

/// A control node and what it is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeView {
    /// Its name.
    pub id: NodeId,
    /// The broker answers.
    pub broker_connected: bool,
    /// The ledger takes entries.
    pub ledger_writable: bool,
    /// Messages that could not be understood: by this node since it started, and by each gateway since that started.
    pub messages_rejected: u64,
    /// Why the last one could not.
    pub last_rejection: Option<String>,
    /// Everything here is a drill: faults are injected on purpose.
    pub drill: bool,
}
