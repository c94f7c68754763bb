//! Alarms: conditions that a person has to act on. Anything without an action is an event, not an alarm.

use serde::{Deserialize, Serialize};

use crate::ids::{AlarmId, GatewayId, LiftId, TaskId, VehicleId};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AlarmKind {
    /// What a lift made of a command is not known; nothing is sent to it.
    LiftUnverified,
    /// The PLC of a lift cannot be reached.
    LiftUnreachable,
    /// The PLC of a lift answers with registers that stand still.
    LiftFrozen,
    /// A lift reports a fault.
    LiftFaulted,
    /// A lift is not in vehicle mode: fire, maintenance, people.
    LiftOutOfService,
    /// A lift stands in emergency stop.
    LiftEmergencyStopped,
    /// A lift moved or its door did, and nobody commanded it.
    LiftForeignCommand,
    /// No node reaches the lease store: the gateway of a lift arbitrates.
    LiftOnEdge,
    /// A lift stands in error while its gateway arbitrates: nothing is sent to it before maintenance has seen it.
    LiftNeedsMaintenance,
    /// A session holds a lift for longer than its hold limit.
    LiftHeldTooLong,
    /// One channel says in or out of the car, the other does not.
    HandoverDisagrees,
    /// A vehicle is silent for longer than silence is expected.
    VehicleSilent,
    /// A vehicle did not acknowledge after the last delivery.
    AcknowledgementMissing,
    /// A vehicle reported that it cannot do a command.
    ExecutionFailed,
    /// A vehicle refused a command.
    CommandRefused,
    /// Two records of one task contradict each other.
    RecordsDisagree,
    /// A gateway is silent.
    GatewaySilent,
    /// Messages arrive that cannot be understood.
    MessagesRejected,
}

/// Who or what an alarm is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Subject {
    /// The whole site.
    Site,
    /// A lift.
    Lift(LiftId),
    /// A vehicle.
    Vehicle(VehicleId),
    /// A task.
    Task(TaskId),
    /// A gateway.
    Gateway(GatewayId),
}

/// An alarm as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alarm {
    /// Its own name.
    pub id: AlarmId,
    /// What is wrong.
    pub kind: AlarmKind,
    /// With whom.
    pub subject: Subject,
    /// What was seen: names and figures, or a vehicle's own words, at most 300 characters. Whoever shows the alarm has
    /// the sentence for its kind, in the reader's language.
    pub detail: String,
}

impl AlarmKind {
    /// 1 is the most urgent, 4 the least (ISA-18.2 ranks by consequence and time to respond).
    pub fn priority(self) -> u8 {
        match self {
            Self::HandoverDisagrees | Self::LiftForeignCommand => 1,
            Self::LiftUnverified
            | Self::LiftFaulted
            | Self::LiftEmergencyStopped
            | Self::LiftOnEdge
            | Self::LiftNeedsMaintenance
            | Self::LiftFrozen
            | Self::LiftHeldTooLong
            | Self::RecordsDisagree
            | Self::GatewaySilent => 2,
            Self::LiftUnreachable
            | Self::LiftOutOfService
            | Self::AcknowledgementMissing
            | Self::ExecutionFailed
            | Self::CommandRefused
            | Self::VehicleSilent => 3,
            Self::MessagesRejected => 4,
        }
    }
}
