//! What a book is made of.

use chrono::{DateTime, Utc};

use crate::ids::{
    AlarmId, CommandId, FloorId, Generation, LedgerSequence, LiftId, NodeId, OrderId, SessionId, StationId,
    TaskId, VehicleId,
};
use crate::task::{ResumePoint, TaskState};
use crate::wire::ledger::SessionPhase;
use crate::wire::rest::TransportOrder;
use crate::wire::vehicle::{Operation, VehicleCommand};

/// A task as the ledger has it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskBook {
    /// Its order.
    pub order: TransportOrder,
    /// From the request.
    pub idempotency_key: String,
    /// Where it stands.
    pub state: TaskState,
    /// Who carries it.
    pub vehicle: Option<VehicleId>,
    /// Who claims it.
    pub claimed_by: Option<NodeId>,
    /// In which run of that node. The claim counts while that run does.
    pub claimed_in: u64,
    /// Of the claim.
    pub claim: Generation,
    /// The newest command of it.
    pub command: Option<VehicleCommand>,
    /// The newest command that is done.
    pub done: Option<CommandId>,
    /// Commands that are done.
    pub steps: u32,
    /// The load is aboard, or was.
    pub picked: bool,
    /// It is to be taken back when its vehicle is out of the lift; void when it ends.
    pub withdrawal_asked: bool,
    /// Place in the ledger: among equals the earlier one is served first.
    pub placed: LedgerSequence,
    /// When it was accepted, for people.
    pub placed_at: DateTime<Utc>,
    /// When `state` was entered.
    pub since: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// For what an idempotency key was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The order.
    pub order: OrderId,
    /// Its task.
    pub task: TaskId,
    /// Of the request's body.
    pub fingerprint: String,
}

/// A vehicle's link as the ledger has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkBook {
    /// The last that was opened.
    pub generation: Generation,
    /// Of the last command, an `openLink` included.
    pub sequence: u64,
}

/// A ride as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBook {
    /// Its name.
    pub id: SessionId,
    /// Place in the ledger: the order of arrival.
    pub asked: LedgerSequence,
    /// In which lift.
    pub lift: LiftId,
    /// For which task.
    pub task: TaskId,
    /// Who rides.
    pub vehicle: VehicleId,
    /// Where it enters.
    pub from: FloorId,
    /// Where it leaves.
    pub to: FloorId,
    /// How far it is.
    pub phase: SessionPhase,
    /// Of the session on its lift; 0 before it is granted.
    pub generation: Generation,
    /// The vehicle's command for it, once issued.
    pub ride: Option<CommandId>,
    /// That command is done.
    pub ride_done: bool,
    /// When the phase was entered.
    pub since: DateTime<Utc>,
}

/// What an entry touched, for the screen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    /// A task and its order.
    Task(TaskId),
    /// A vehicle.
    Vehicle(VehicleId),
    /// A lift.
    Lift(LiftId),
    /// An alarm.
    Alarm(AlarmId),
    /// The node itself.
    Node,
    /// The drills.
    Drills,
    /// Who takes part.
    Nodes,
}

impl TaskBook {
    /// A command left and is not done.
    pub fn under_way(&self) -> Option<&VehicleCommand> {
        let command = self.command.as_ref()?;
        (self.done.as_ref() != Some(&command.id) && !self.state.is_terminal()).then_some(command)
    }

    /// The station that it goes to next, and what is done there.
    pub fn goal(&self) -> (&StationId, Operation) {
        let order = self.order.id.clone();
        if self.picked {
            (&self.order.to, Operation::Drop { order })
        } else {
            (&self.order.from, Operation::Pick { order })
        }
    }

    /// Where it goes on after a suspension.
    pub fn resume_point(&self) -> ResumePoint {
        let Some(command) = self.under_way() else {
            return ResumePoint::NextCommand;
        };
        match &self.state {
            TaskState::Suspended { resume, .. } => resume.clone(),
            TaskState::Issued { attempt, .. } => {
                ResumePoint::Command { command: command.id.clone(), attempt: *attempt }
            }
            TaskState::Created
            | TaskState::Acknowledged { .. }
            | TaskState::Executing { .. }
            | TaskState::Completed
            | TaskState::Failed { .. }
            | TaskState::Withdrawn { .. } => ResumePoint::Command { command: command.id.clone(), attempt: 1 },
        }
    }
}

impl SessionBook {
    /// The lift is this ride's.
    pub fn holds_lift(&self) -> bool {
        match self.phase {
            SessionPhase::Granted
            | SessionPhase::Boarding
            | SessionPhase::Riding
            | SessionPhase::Alighting => true,
            SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => false,
        }
    }
}
