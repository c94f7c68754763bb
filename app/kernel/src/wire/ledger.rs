//! The ledger: what every node applies in the same order. Each entry carries the hash of the one before (C15).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::alarm::Alarm;
use crate::drill::{Drill, DrillEnd};
use crate::ids::{
    AlarmId, CommandId, DrillId, FloorId, Generation, LedgerSequence, LiftId, NodeId, SessionId, SiteId,
    TaskId, VehicleId,
};
use crate::lease::StoreLife;
use crate::lift::LiftAction;
use crate::task::TaskEvent;
use crate::wire::gateway::{Arbitration, ForeignPart, Verdict};
use crate::wire::rest::TransportOrder;
use crate::wire::vehicle::VehicleCommand;

/// One entry as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Place in the ledger, from 1, without gaps.
    pub sequence: LedgerSequence,
    /// When it was appended, for people.
    pub at: DateTime<Utc>,
    /// Who appended it.
    pub node: NodeId,
    /// What happened.
    pub record: Record,
    /// It was recorded in a drill run: absent otherwise, and the hash covers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drill: bool,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Record {
    /// A node starts: its number of the run, from 1.
    NodeStarted {
        /// Which run of the node.
        run: u64,
        /// For which site: a ledger belongs to one.
        site: SiteId,
    },
    /// A node ends in good order: its tasks are free for others at once.
    NodeStopped {
        /// Which run of the node.
        run: u64,
    },
    /// Another node has not been heard of for too long. That run of it counts no more: whatever it still proposes is
    /// refused, and its tasks are free for others.
    NodeLost {
        /// Who.
        node: NodeId,
        /// Which run of it.
        run: u64,
    },
    /// An order is accepted; its task begins in `created`.
    OrderPlaced {
        /// As accepted.
        order: TransportOrder,
        /// Its task.
        task: TaskId,
        /// From the request, so that a repeat finds it.
        #[serde(rename = "idempotencyKey")]
        idempotency_key: String,
        /// Of the request's body, so that a key used for something else is noticed.
        fingerprint: String,
    },
    /// A node takes a task.
    TaskClaimed {
        /// Which.
        task: TaskId,
        /// Rises by each claim.
        generation: Generation,
    },
    /// A vehicle is chosen.
    VehicleAssigned {
        /// For which task.
        task: TaskId,
        /// Which vehicle.
        vehicle: VehicleId,
    },
    /// A command is about to leave for the first time. Nothing is sent before this is durable.
    CommandIssued {
        /// All of it: a redelivery after a restart sends the same.
        command: VehicleCommand,
    },
    /// The task made a transition.
    TaskChanged {
        /// Which.
        task: TaskId,
        /// What happened to it.
        event: TaskEvent,
    },
    /// A task is to be taken back, and its vehicle rides a lift to the load: it is withdrawn when that is out, before
    /// anything else of it leaves.
    WithdrawalAsked {
        /// Which.
        task: TaskId,
    },
    /// A vehicle's link was opened after reconciliation.
    LinkOpened {
        /// Whose.
        vehicle: VehicleId,
        /// Rises by each opening.
        generation: Generation,
    },
    /// A task asks for a ride.
    SessionRequested {
        /// The ride.
        session: SessionId,
        /// In which lift.
        lift: LiftId,
        /// For which task.
        task: TaskId,
        /// Who rides.
        vehicle: VehicleId,
        /// Where it enters.
        from: FloorId,
        /// Where it leaves.
        to: FloorId,
    },
    /// A ride made a transition.
    SessionChanged {
        /// Which.
        session: SessionId,
        /// What it is after.
        phase: SessionPhase,
        /// Of the session on its lift, set when granted.
        generation: Generation,
        /// Its lift: a grant moves the lift's row.
        lift: LiftId,
    },
    /// A person has to act.
    AlarmRaised {
        /// On what.
        alarm: Alarm,
    },
    /// The condition is gone.
    AlarmCleared {
        /// Which.
        alarm: AlarmId,
    },
    /// Somebody else arbitrates between nodes at a lift from now on: the gateway says so.
    ArbitrationChanged {
        /// At which.
        lift: LiftId,
        /// Who.
        arbitration: Arbitration,
        /// Under which epoch.
        epoch: u32,
    },
    /// The store of a lift's leases has forgotten, or fell back to what it once knew: it goes by another life from now
    /// on, and every serial by it lies above all that were granted before.
    LeaseStoreChanged {
        /// Of which lift.
        lift: LiftId,
        /// By which life it goes.
        life: StoreLife,
        /// How often that changed.
        generation: u64,
    },
    /// A command that a node decided on without a lease, by edge arbitration: once when it leaves, once when it is
    /// known what became of it.
    EdgeDecided {
        /// To which lift.
        lift: LiftId,
        /// Which.
        command: CommandId,
        /// What was asked.
        action: LiftAction,
        /// Where.
        floor: FloorId,
        /// What became of it; none of one that leaves.
        verdict: Option<Verdict>,
    },
    /// A lift moved, or its door did, and nobody had commanded it: its gateway saw that.
    ForeignMoved {
        /// Which lift.
        lift: LiftId,
        /// In which run of the gateway.
        boot: u64,
        /// How many it had seen at this lift in that run, this one included.
        nth: u64,
        /// What moved.
        part: ForeignPart,
        /// Where the car was when it was seen.
        floor: FloorId,
    },
    /// What a vehicle did differs from what the ledger says; the vehicle's act is the truth.
    DifferenceFound {
        /// Which task.
        task: TaskId,
        /// What the ledger said and what the vehicle did, at most 300 characters.
        detail: String,
    },
    /// A fault is about to be injected.
    DrillStarted {
        /// What, where and for how long.
        drill: Drill,
    },
    /// It is over.
    DrillEnded {
        /// Which.
        drill: DrillId,
        /// Why.
        end: DrillEnd,
    },
}

/// How far a ride is (B1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SessionPhase {
    /// Asked for.
    Requested,
    /// In the line.
    Queued,
    /// The lift is this ride's; it is being brought to the landing.
    Granted,
    /// Door open, "lift ready" given.
    Boarding,
    /// In the car.
    Riding,
    /// Door open at the target.
    Alighting,
    /// Over.
    Released,
    /// Ended by a person.
    Forced,
}
