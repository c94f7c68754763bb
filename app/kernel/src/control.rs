//! The control node: which vehicle carries which order, what it is told next, whose turn a lift is.
//!
//! Level-triggered: after each event the node looks at the whole of what it knows and decides what is due. Nothing
//! changes in memory before the ledger has it: a decision is proposed with [`Effect::Append`], and takes effect when
//! [`Event::Appended`] brings it back. A restart therefore finds exactly what was decided.

use crate::ids::{GatewayId, LiftId, NodeId, OrderId, TaskId, VehicleId};
use crate::lease::{FencingToken, HeldLease, LeaseNonce, LeaseRefusal};
use crate::vehicle::{Heartbeat, Telemetry, VehicleAck, VehicleCommand, VehicleReport};
use crate::wire::gateway::{ControlBeat, GatewayStatus, LiftCommand, Outcome};
use crate::wire::ledger::{Entry, Record};
use crate::wire::live::Change;
use crate::wire::rest::{OrderRefusal, PlaceOrder};

/// Names a request of the shell that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Names a proposal to the ledger, from 1 within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchId(pub u64);

/// What happens to a control node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A WMS places an order.
    OrderRequested {
        /// Answered by [`Effect::Answer`].
        request: RequestId,
        /// What is asked.
        order: PlaceOrder,
        /// From the request's header.
        idempotency_key: String,
        /// SHA-256 of the canonical body, in hexadecimal.
        fingerprint: String,
    },
    /// A proposal is durable. The entries are in ledger order and follow what was applied before.
    Appended {
        /// Whose proposal it was.
        batch: BatchId,
        /// As stored.
        entries: Vec<Entry>,
    },
    /// A proposal was not stored, and never will be.
    AppendFailed {
        /// Which.
        batch: BatchId,
        /// Why.
        reason: String,
    },
    /// The lease store granted.
    LeaseGranted {
        /// Which request.
        nonce: LeaseNonce,
        /// The grant; its deadline counts from before the request left.
        lease: HeldLease,
    },
    /// The lease store granted nothing.
    LeaseRefused {
        /// Which request.
        nonce: LeaseNonce,
        /// For which lift.
        lift: LiftId,
        /// Why.
        reason: LeaseRefusal,
    },
    /// A vehicle acknowledged.
    Acknowledged(VehicleAck),
    /// A vehicle reported progress.
    Reported(VehicleReport),
    /// A vehicle's heartbeat.
    Heartbeat(Heartbeat),
    /// A vehicle's telemetry.
    Telemetry(Telemetry),
    /// The broker says whether a vehicle is connected (its last will). Stale until the vehicle is heard.
    Presence {
        /// Who.
        vehicle: VehicleId,
        /// Connected.
        online: bool,
    },
    /// A gateway tells what became of a command.
    Outcome(Outcome),
    /// A gateway tells its state.
    GatewayStatus(GatewayStatus),
    /// The connection to the broker came or went.
    Broker {
        /// It stands.
        connected: bool,
    },
    /// A message could not be understood.
    MessageRejected {
        /// Where it came from.
        topic: String,
        /// Why.
        reason: String,
    },
}

/// What a control node wants done. The shell performs them in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make these durable together, then bring them back.
    Append {
        /// Names the proposal.
        batch: BatchId,
        /// What happened, in order.
        records: Vec<Record>,
    },
    /// Answer a request.
    Answer {
        /// Which.
        request: RequestId,
        /// The order and its task, or why not.
        answer: Result<Accepted, OrderRefusal>,
    },
    /// Ask the lease store for a lift.
    AcquireLease {
        /// Which.
        lift: LiftId,
        /// Names the request.
        nonce: LeaseNonce,
    },
    /// Give a lease back.
    ReleaseLease {
        /// Which lift.
        lift: LiftId,
        /// Whose request it was.
        nonce: LeaseNonce,
        /// Its rank.
        token: FencingToken,
    },
    /// Send a command to a vehicle, by its gateway.
    SendVehicle {
        /// By whom.
        gateway: GatewayId,
        /// What.
        command: VehicleCommand,
    },
    /// Send a command to a lift. Made from a live lease alone.
    SendLift {
        /// To whom.
        gateway: GatewayId,
        /// What.
        command: LiftCommand,
    },
    /// Say that this node lives.
    Beat(ControlBeat),
    /// Show what changed.
    Show(Change),
}

/// An order that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name.
    pub order: OrderId,
    /// Its task.
    pub task: TaskId,
    /// It was accepted before, under the same key and body.
    pub repeated: bool,
}

/// What a node is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name, unique on the site; order and task numbers carry it.
    pub node: NodeId,
}
