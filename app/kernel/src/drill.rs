//! Drills: faults that a running demonstration is made to suffer, so that people and screens meet them beforehand.
//!
//! Knows: what can be injected, where and for how long. Must not know: how it is done.

mod fault;

use serde::{Deserialize, Serialize};

use crate::ids::{DrillId, FloorId, GatewayId, LiftId, NodeId, VehicleId};
use crate::time::Millis;

pub use self::fault::DrillFault;

/// The shortest drill.
pub const DRILL_MIN: Millis = Millis::seconds(1);
/// The longest drill: after ten minutes everything that a site does about a fault has been seen.
pub const DRILL_MAX: Millis = Millis::seconds(600);
/// The longest drill of a vehicle that stands still: later the broker would give its connection up, and then it is a
/// vehicle that lost the radio, which is another drill.
pub const VEHICLE_FROZEN_MAX: Millis = Millis::seconds(29);
/// The control nodes of a demonstration.
const NODES: [&str; 2] = ["A", "B"];

/// Names of the control nodes of a demonstration: a site's plant has none, since nodes come and go.
pub fn node_names() -> impl Iterator<Item = NodeId> {
    NODES.into_iter().filter_map(|it| NodeId::try_new(it).ok())
}

/// Of which part a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DrillGroup {
    /// Doors, sensors, modes and PLCs of lifts.
    Lift,
    /// Radio by place.
    Radio,
    /// Vehicles.
    Vehicle,
    /// Between gateway and PLC.
    PlcLink,
    /// Messages between programs and vehicles.
    Roads,
    /// Control nodes and gateways.
    Programs,
    /// What they stand on: broker, ledger, lease store.
    Services,
}

/// Where a fault is injected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DrillPlace {
    /// All over the site, or the one program of its kind.
    Site,
    /// A lift; for the radio its landings and waiting points.
    Lift(LiftId),
    /// A vehicle; for the radio wherever it is.
    Vehicle(VehicleId),
    /// A floor.
    Floor(FloorId),
    /// A gateway.
    Gateway(GatewayId),
    /// A control node.
    Node(NodeId),
    /// A road.
    Road(DrillRoad),
}

/// A way that messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DrillRoad {
    /// Commands from control to gateways.
    Command,
    /// What became of them, from gateways to control.
    Outcome,
    /// State of lifts, from gateways to control.
    Status,
    /// Commands from gateways to vehicles.
    VehicleCommand,
    /// Acknowledgements and results of vehicles.
    VehicleAnswer,
    /// Heartbeats and telemetry of vehicles.
    VehicleState,
    /// Control beats to vehicles.
    Beat,
    /// Control beats to gateways.
    GatewayBeat,
    /// Questions of control nodes to the lease store, and its answers.
    Store,
    /// Proposals of control nodes to the ledger. They can only be late.
    Ledger,
}

/// A drill as it is begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drill {
    /// Its name.
    pub id: DrillId,
    /// What is injected.
    pub fault: DrillFault,
    /// Where.
    pub at: DrillPlace,
    /// For so long; none for what happens at once.
    pub for_ms: Option<Millis>,
}

/// Why a drill is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DrillEnd {
    /// Its time was over, or it happened at once.
    RanOut,
    /// Somebody ended it.
    ByHand,
    /// The demonstration ended, or the fault could not be injected.
    Interrupted,
}

impl DrillRoad {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Command,
        Self::Outcome,
        Self::Status,
        Self::VehicleCommand,
        Self::VehicleAnswer,
        Self::VehicleState,
        Self::Beat,
        Self::GatewayBeat,
        Self::Store,
        Self::Ledger,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_fault_is_listed_once_and_has_a_place() {
        let plant = fixture::plant();
        for (idx, fault) in DrillFault::ALL.into_iter().enumerate() {
            assert!(!DrillFault::ALL[..idx].contains(&fault), "{fault:?}");
            assert!(!fault.places(&plant).is_empty(), "{fault:?}");
        }
        // Declared in the same order, so the last one's number tells how many there are.
        assert_eq!(DrillFault::LeasesClockBehind as usize + 1, DrillFault::ALL.len());
    }

    #[test]
    fn faults_that_turn_one_switch_exclude_each_other() {
        use DrillFault as F;
        let rows = [
            (F::DoorStuck, F::DoorStuck, true),
            (F::DoorStuck, F::SillBlocked, false),
            (F::FireMode, F::PeopleMode, true),
            (F::BrokerAway, F::BrokerForgets, true),
            (F::BrokerPaused, F::BrokerAway, true),
            (F::LedgerCutOff, F::NodeKilled, true),
            (F::LedgerCutOff, F::NodeCutOff, false),
            (F::GatewayCutOff, F::GatewayKilled, false),
            (F::VehicleFrozen, F::VehicleRestarted, false),
            (F::SensorLate, F::SensorBlind, true),
            (F::ClockAhead, F::ClockBehind, true),
            (F::LeasesClockAhead, F::LeasesClockBehind, true),
            (F::ClockAhead, F::LeasesClockAhead, false),
            (F::AnswerLost, F::PlcLinkDown, true),
            (F::MessagesDropped, F::MessagesDelayed, true),
            (F::NodePaused, F::NodeKilled, true),
            (F::NodeStopped, F::NodeKilled, true),
            (F::GatewayPaused, F::GatewayKilled, true),
            (F::NodePaused, F::BrokerAway, false),
            (F::RadioCut, F::RadioThin, false),
        ];
        for (one, other, expected) in rows {
            assert_eq!((one.excludes(other), other.excludes(one)), (expected, expected), "{one:?} {other:?}");
        }
    }
}
