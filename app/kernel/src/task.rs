//! The task: the tracked execution of one order. Six live states, two terminals more, one total transition function.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::{CommandId, LiftId};

/// Where a task stands (C1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TaskState {
    /// In the ledger; no command has left yet.
    Created,
    /// A command is on its way; whether it arrived is unknown.
    Issued {
        /// Which.
        command: CommandId,
        /// How often it was delivered, from 1.
        attempt: u8,
    },
    /// The vehicle has it and knows what to do.
    Acknowledged {
        /// Which.
        command: CommandId,
    },
    /// The vehicle does it.
    Executing {
        /// Which.
        command: CommandId,
    },
    /// Cannot go on for now, and has not failed.
    Suspended {
        /// Why.
        cause: SuspendCause,
        /// From where it goes on.
        resume: ResumePoint,
    },
    /// The load is where it was asked to be.
    Completed,
    /// Ended by a reported failure or by a person.
    Failed {
        /// What was reported.
        reason: String,
    },
    /// Taken back.
    Withdrawn {
        /// By whom and why.
        reason: String,
    },
}

/// Why a task is suspended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SuspendCause {
    /// The vehicle is silent or did not acknowledge: what it did is unknown.
    Link,
    /// It waits for a lift. Nothing is redelivered meanwhile.
    Lift {
        /// Which.
        lift: LiftId,
    },
    /// No vehicle is free.
    NoVehicle,
    /// A person has to decide.
    Person,
    /// The vehicle or a lift reported a fault.
    Fault,
}

/// From where a suspended task goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ResumePoint {
    /// Between two commands: the next one is issued.
    NextCommand,
    /// This command left; what became of it has to be learnt first.
    Command {
        /// Which.
        command: CommandId,
        /// How often it was delivered.
        attempt: u8,
    },
}

/// What happens to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskEvent {
    /// A command leaves for the first time.
    CommandIssued {
        /// Which.
        command: CommandId,
    },
    /// The same command leaves once more.
    Redelivered {
        /// Which.
        command: CommandId,
        /// How often by now.
        attempt: u8,
    },
    /// The vehicle has it.
    AckReceived {
        /// Which.
        command: CommandId,
    },
    /// The vehicle began.
    Started {
        /// Which.
        command: CommandId,
    },
    /// The vehicle finished this command, and it was not the last.
    StepDone {
        /// Which.
        command: CommandId,
    },
    /// The last command is finished.
    Finished {
        /// Which.
        command: CommandId,
    },
    /// It cannot go on.
    Suspended {
        /// Why.
        cause: SuspendCause,
    },
    /// It may go on from where it was suspended.
    Resumed,
    /// The vehicle reported that it could not.
    ExecutionFailed {
        /// What it reported.
        reason: String,
    },
    /// Taken back before the load was moved.
    Withdrawn {
        /// By whom and why.
        reason: String,
    },
}

/// A transition that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a task that is {state} takes no {event}")]
pub struct IllegalTransition {
    /// Name of the state.
    pub state: &'static str,
    /// Name of the event.
    pub event: &'static str,
}

impl TaskState {
    /// The command that is under way, if any.
    pub fn command(&self) -> Option<&CommandId> {
        match self {
            Self::Issued { command, .. } | Self::Acknowledged { command } | Self::Executing { command } => {
                Some(command)
            }
            Self::Suspended { resume: ResumePoint::Command { command, .. }, .. } => Some(command),
            Self::Suspended { resume: ResumePoint::NextCommand, .. }
            | Self::Created
            | Self::Completed
            | Self::Failed { .. }
            | Self::Withdrawn { .. } => None,
        }
    }

    /// Nothing more happens to it.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed { .. } | Self::Withdrawn { .. } => true,
            Self::Created
            | Self::Issued { .. }
            | Self::Acknowledged { .. }
            | Self::Executing { .. }
            | Self::Suspended { .. } => false,
        }
    }

    /// Its name in REST, logs and on screen.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Issued { .. } => "issued",
            Self::Acknowledged { .. } => "acknowledged",
            Self::Executing { .. } => "executing",
            Self::Suspended { .. } => "suspended",
            Self::Completed => "completed",
            Self::Failed { .. } => "failed",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}
