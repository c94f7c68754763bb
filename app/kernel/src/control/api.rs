//! What happens to a control node, and what it wants done.

use crate::drill::{Drill, DrillEnd};
use crate::ids::{CommandId, DrillId, GatewayId, LiftId, OrderId, TaskId, VehicleId};
use crate::lease::{
    CallAnswer, CallRequest, FencingToken, HeldLease, LeaseNonce, LeasePriority, LeaseRefusal, SettledCall,
    StoreLife,
};
use crate::ledger::{Conflict, Guard, Presence};
use crate::wire::gateway::{ControlBeat, GatewayStatus, LiftCommand, Outcome};
use crate::wire::ledger::{Entry, Record};
use crate::wire::live::Change;
use crate::wire::rest::{OrderRefusal, PlaceOrder, WithdrawalRefusal};
use crate::wire::vehicle::{Heartbeat, Telemetry, VehicleAck, VehicleCommand, VehicleReport};

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
    /// Somebody takes an order back.
    WithdrawRequested {
        /// Answered by [`Effect::AnswerWithdrawal`].
        request: RequestId,
        /// Which.
        order: OrderId,
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
    /// A proposal was not stored, since the ledger has moved on. What it rests on comes as [`Event::Followed`].
    Conflicted {
        /// Which.
        batch: BatchId,
        /// The first guard that did not hold.
        conflict: Conflict,
    },
    /// Other nodes appended. With [`Event::Appended`] every entry comes once, in ledger order.
    Followed {
        /// As stored.
        entries: Vec<Entry>,
    },
    /// The ledger was read: what each node last said of itself. Each second, as long as the ledger answers.
    Peers(Vec<Presence>),
    /// The node is to end: it hands its tasks over. Answered by [`Effect::Left`].
    StopRequested,
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
    /// The lease store lets a lease live on; answers [`Effect::RenewLease`].
    LeaseRenewed(HeldLease),
    /// The lease store did not let a lease live on; answers [`Effect::RenewLease`].
    RenewalRefused {
        /// Of which lift.
        lift: LiftId,
        /// Whose request it was.
        nonce: LeaseNonce,
        /// Why.
        reason: LeaseRefusal,
    },
    /// How a call stands; answers [`Effect::OpenCall`].
    CallAnswered {
        /// Of which lift.
        lift: LiftId,
        /// The command that would be sent.
        command: CommandId,
        /// What the store said, or why it said nothing.
        answer: Result<CallAnswer, LeaseRefusal>,
    },
    /// Whether the lease store was reached; answers [`Effect::ProbeStore`].
    StoreProbed {
        /// It was.
        reached: bool,
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
    /// A command that some node sent to a lift, this one included, as it was heard on the gateway's road.
    Overheard(Box<LiftCommand>),
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
    /// A drill is about to begin. May be told again.
    DrillBegan(Drill),
    /// A drill is over. May be told again.
    DrillOver {
        /// Which.
        drill: DrillId,
        /// Why.
        end: DrillEnd,
    },
    /// These drills stand, and no other: what the ledger has beyond them was interrupted.
    DrillsStand(Vec<DrillId>),
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
        /// What must still hold in the ledger: otherwise nothing of it is stored.
        guards: Vec<Guard>,
    },
    /// Say in the ledger that this node lives, and bring back who else says so.
    Attend {
        /// Which run.
        run: u64,
        /// Rises by each word.
        beat: u64,
        /// The broker reaches it.
        hears_broker: bool,
    },
    /// This node's run is over: the process may end.
    Left,
    /// Another process has started under this node's name.
    Superseded,
    /// Answer a request.
    Answer {
        /// Which.
        request: RequestId,
        /// The order and its task, or why not.
        answer: Result<Accepted, OrderRefusal>,
    },
    /// Answer a withdrawal.
    AnswerWithdrawal {
        /// Which.
        request: RequestId,
        /// What came of it, or why nothing is taken back.
        answer: Result<TakenBack, WithdrawalRefusal>,
    },
    /// Ask the lease store for a lift.
    AcquireLease {
        /// Which.
        lift: LiftId,
        /// Names the request.
        nonce: LeaseNonce,
        /// The gateway's epoch, which the grant carries.
        epoch: u32,
        /// The grant's serial lies above it, whatever the store has forgotten: above all that the gateway has admitted,
        /// and above all that earlier runs of any node may still have on its way.
        floor: u64,
        /// The store's, as the ledger has it; one with another grants nothing.
        life: StoreLife,
        /// How much hangs on it.
        priority: LeasePriority,
    },
    /// Ask the lease store to let a lease live on. Answered by [`Event::LeaseRenewed`] or [`Event::RenewalRefused`].
    RenewLease(HeldLease),
    /// Open the record of a call, under a lease. Answered by [`Event::CallAnswered`].
    OpenCall(CallRequest),
    /// Note in its record what became of a call, whosever it was.
    SettleCall {
        /// Of which lift.
        lift: LiftId,
        /// What became of it.
        settled: SettledCall,
    },
    /// Give a lease back.
    ReleaseLease {
        /// Which lift.
        lift: LiftId,
        /// Whose request it was.
        nonce: LeaseNonce,
        /// Its rank.
        token: FencingToken,
        /// What became of the call that was made under it, in the same step: the next holder finds it settled.
        settled: Option<SettledCall>,
    },
    /// Send a command to a vehicle, by its gateway.
    SendVehicle {
        /// By whom.
        gateway: GatewayId,
        /// What.
        command: VehicleCommand,
    },
    /// Send a command to a lift: by a live lease, or by edge arbitration where the gateway has it.
    SendLift {
        /// To whom.
        gateway: GatewayId,
        /// What.
        command: LiftCommand,
    },
    /// Say that this node lives.
    Beat(ControlBeat),
    /// Find out whether the lease store is reached. Answered by [`Event::StoreProbed`], within a second.
    ProbeStore,
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

/// What came of a withdrawal. The ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// This task is withdrawn.
    Withdrawn(TaskId),
    /// The vehicle of this task rides a lift to the load: it is withdrawn when that is out.
    Asked(TaskId),
}
