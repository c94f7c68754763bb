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
    /// Waits until its cause is gone; it has not failed.
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
        /// From where it goes on.
        resume: ResumePoint,
    },
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

    /// The one transition function: what the task is after an event, or why there is no such transition.
    ///
    /// Reports may overtake acknowledgements and arrive after a silence, so each names its command, and what was
    /// reported later implies what was reported before. A report about another command than the one under way is
    /// refused.
    ///
    /// # Errors
    /// The names of the state and of the event that do not go together.
    pub fn next(&self, event: &TaskEvent) -> Result<Self, IllegalTransition> {
        use TaskEvent as E;
        let ours = |command: &CommandId| self.command() == Some(command);
        match (self, event) {
            (Self::Created, E::CommandIssued { command })
            | (Self::Suspended { resume: ResumePoint::NextCommand, .. }, E::CommandIssued { command }) => {
                Ok(Self::Issued { command: command.clone(), attempt: 1 })
            }
            // The step before is done; its last report may have been the only one that arrived.
            (Self::Executing { command: before }, E::CommandIssued { command }) if before != command => {
                Ok(Self::Issued { command: command.clone(), attempt: 1 })
            }
            (
                Self::Issued { .. } | Self::Suspended { resume: ResumePoint::Command { .. }, .. },
                E::Redelivered { command, attempt },
            ) if ours(command) => Ok(Self::Issued { command: command.clone(), attempt: *attempt }),
            (
                Self::Issued { .. } | Self::Suspended { resume: ResumePoint::Command { .. }, .. },
                E::AckReceived { command },
            ) if ours(command) => Ok(Self::Acknowledged { command: command.clone() }),
            (
                Self::Issued { .. }
                | Self::Acknowledged { .. }
                | Self::Suspended { resume: ResumePoint::Command { .. }, .. },
                E::Started { command },
            ) if ours(command) => Ok(Self::Executing { command: command.clone() }),
            (
                Self::Issued { .. }
                | Self::Acknowledged { .. }
                | Self::Executing { .. }
                | Self::Suspended { resume: ResumePoint::Command { .. }, .. },
                E::StepDone { command },
            ) if ours(command) => Ok(Self::Executing { command: command.clone() }),
            (
                Self::Issued { .. }
                | Self::Acknowledged { .. }
                | Self::Executing { .. }
                | Self::Suspended { resume: ResumePoint::Command { .. }, .. },
                E::Finished { command },
            ) if ours(command) => Ok(Self::Completed),
            (open, E::Suspended { cause, resume }) if !open.is_terminal() => {
                Ok(Self::Suspended { cause: cause.clone(), resume: resume.clone() })
            }
            (
                Self::Issued { .. }
                | Self::Acknowledged { .. }
                | Self::Executing { .. }
                | Self::Suspended { .. },
                E::ExecutionFailed { reason },
            ) => Ok(Self::Failed { reason: reason.clone() }),
            // Which of them may be taken back control decides, by where the load is.
            (open, E::Withdrawn { reason }) if !open.is_terminal() => {
                Ok(Self::Withdrawn { reason: reason.clone() })
            }
            (
                Self::Created
                | Self::Issued { .. }
                | Self::Acknowledged { .. }
                | Self::Executing { .. }
                | Self::Suspended { .. }
                | Self::Completed
                | Self::Failed { .. }
                | Self::Withdrawn { .. },
                _,
            ) => Err(IllegalTransition { state: self.name(), event: event.name() }),
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

impl TaskEvent {
    /// Its name in logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CommandIssued { .. } => "commandIssued",
            Self::Redelivered { .. } => "redelivered",
            Self::AckReceived { .. } => "ackReceived",
            Self::Started { .. } => "started",
            Self::StepDone { .. } => "stepDone",
            Self::Finished { .. } => "finished",
            Self::Suspended { .. } => "suspended",
            Self::ExecutionFailed { .. } => "executionFailed",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect;

    use super::*;

    fn id(text: &str) -> CommandId {
        CommandId::try_new(text).unwrap()
    }

    fn states() -> Vec<TaskState> {
        let command = id("T-A1.0");
        let lift = LiftId::try_new("L1").unwrap();
        vec![
            TaskState::Created,
            TaskState::Issued { command: command.clone(), attempt: 1 },
            TaskState::Acknowledged { command: command.clone() },
            TaskState::Executing { command: command.clone() },
            TaskState::Suspended {
                cause: SuspendCause::Link,
                resume: ResumePoint::Command { command, attempt: 1 },
            },
            TaskState::Suspended { cause: SuspendCause::Lift { lift }, resume: ResumePoint::NextCommand },
            TaskState::Completed,
            TaskState::Failed { reason: "no".into() },
            TaskState::Withdrawn { reason: "no".into() },
        ]
    }

    fn events(command: &CommandId) -> Vec<TaskEvent> {
        let command = command.clone();
        vec![
            TaskEvent::CommandIssued { command: id("T-A1.9") },
            TaskEvent::Redelivered { command: command.clone(), attempt: 2 },
            TaskEvent::AckReceived { command: command.clone() },
            TaskEvent::Started { command: command.clone() },
            TaskEvent::StepDone { command: command.clone() },
            TaskEvent::Finished { command },
            TaskEvent::Suspended { cause: SuspendCause::Person, resume: ResumePoint::NextCommand },
            TaskEvent::ExecutionFailed { reason: "fork jammed".into() },
            TaskEvent::Withdrawn { reason: "not needed".into() },
        ]
    }

    fn table(command: &CommandId) -> String {
        let mut out = String::new();
        for state in states() {
            let between = matches!(state, TaskState::Suspended { resume: ResumePoint::NextCommand, .. });
            let suffix = if between { " between commands" } else { "" };
            writeln!(out, "{}{suffix}", state.name()).unwrap();
            for event in events(command) {
                if let Ok(next) = state.next(&event) {
                    writeln!(out, "  {:<16} {}", event.name(), next.name()).unwrap();
                }
            }
        }
        out
    }

    #[test]
    fn the_whole_table_of_transitions() {
        expect![[r#"
            created
              commandIssued    issued
              suspended        suspended
              withdrawn        withdrawn
            issued
              redelivered      issued
              ackReceived      acknowledged
              started          executing
              stepDone         executing
              finished         completed
              suspended        suspended
              executionFailed  failed
              withdrawn        withdrawn
            acknowledged
              started          executing
              stepDone         executing
              finished         completed
              suspended        suspended
              executionFailed  failed
              withdrawn        withdrawn
            executing
              commandIssued    issued
              stepDone         executing
              finished         completed
              suspended        suspended
              executionFailed  failed
              withdrawn        withdrawn
            suspended
              redelivered      issued
              ackReceived      acknowledged
              started          executing
              stepDone         executing
              finished         completed
              suspended        suspended
              executionFailed  failed
              withdrawn        withdrawn
            suspended between commands
              commandIssued    issued
              suspended        suspended
              executionFailed  failed
              withdrawn        withdrawn
            completed
            failed
            withdrawn
        "#]]
        .assert_eq(&table(&id("T-A1.0")));
    }

    #[test]
    fn a_report_about_another_command_changes_nothing() {
        let other = id("T-A1.7");
        for state in states() {
            for event in events(&other).into_iter().skip(1).take(5) {
                assert!(state.next(&event).is_err(), "{} took {}", state.name(), event.name());
            }
        }
    }
}
