//! Drills: faults that a running demonstration is made to suffer, so that people and screens meet them beforehand.
//!
//! Knows: what can be injected, where and for how long. Must not know: how it is done.

use serde::{Deserialize, Serialize};

use crate::ids::{DrillId, FloorId, GatewayId, LiftId, VehicleId};
use crate::plant::Plant;
use crate::time::Millis;

/// The shortest drill.
pub const DRILL_MIN: Millis = Millis::seconds(1);
/// The longest drill: after ten minutes everything that a site does about a fault has been seen.
pub const DRILL_MAX: Millis = Millis::seconds(600);

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DrillFault {
    /// The lift's door does not move.
    DoorStuck,
    /// Something that is no vehicle stands on the lift's sill.
    SillBlocked,
    /// The PLC does not scan: its registers stand still.
    PlcFrozen,
    /// Each scan of the PLC takes five times as long.
    PlcSlow,
    /// The car's occupancy sensor shows three seconds late what it sees.
    SensorLate,
    /// The key switch gives the lift to people.
    PeopleMode,
    /// Somebody works on the lift.
    MaintenanceMode,
    /// The fire service recalls the car.
    FireMode,
    /// An emergency button stops the lift.
    EmergencyMode,
    /// The PLC starts again. At once.
    PlcRebooted,
    /// Somebody in the hall calls the car to the stop farthest from it. At once.
    CarCalled,
    /// Nothing passes the radio.
    RadioCut,
    /// The signal is weak and three of ten frames are lost.
    RadioThin,
    /// The signal is strong and three of ten frames are lost all the same.
    RadioInterference,
    /// The vehicle's controller starts again. At once.
    VehicleRestarted,
    /// The PLC acts, and its answer to a write is lost.
    AnswerLost,
    /// The PLC takes a write and closes the connection without an answer.
    ClosesInWrite,
    /// The PLC refuses every connection.
    PlcLinkDown,
    /// Half of a road's messages are lost.
    MessagesDropped,
    /// Half of a road's messages come a second time, a second later.
    MessagesDoubled,
    /// Half of a road's messages come three seconds late, and others overtake them.
    MessagesDelayed,
    /// The control node's loop stands still; then it does everything at once.
    NodePaused,
    /// The control node dies without a farewell and is started again at the end.
    NodeKilled,
    /// The gateway dies without a farewell and is started again at the end.
    GatewayKilled,
    /// The broker breaks every connection and takes none.
    BrokerAway,
    /// The ledger takes no entry.
    LedgerAway,
    /// The lease store does not answer; what it had it keeps.
    LeasesStopped,
    /// The lease store forgets everything. At once.
    LeasesEmptied,
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
    /// The programs themselves, and what they stand on.
    Programs,
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
    pub const ALL: [Self; 7] = [
        Self::Command,
        Self::Outcome,
        Self::Status,
        Self::VehicleCommand,
        Self::VehicleAnswer,
        Self::VehicleState,
        Self::Beat,
    ];
}

impl DrillFault {
    /// All of them, in the order of their groups.
    pub const ALL: [Self; 28] = [
        Self::DoorStuck,
        Self::SillBlocked,
        Self::PlcFrozen,
        Self::PlcSlow,
        Self::SensorLate,
        Self::PeopleMode,
        Self::MaintenanceMode,
        Self::FireMode,
        Self::EmergencyMode,
        Self::PlcRebooted,
        Self::CarCalled,
        Self::RadioCut,
        Self::RadioThin,
        Self::RadioInterference,
        Self::VehicleRestarted,
        Self::AnswerLost,
        Self::ClosesInWrite,
        Self::PlcLinkDown,
        Self::MessagesDropped,
        Self::MessagesDoubled,
        Self::MessagesDelayed,
        Self::NodePaused,
        Self::NodeKilled,
        Self::GatewayKilled,
        Self::BrokerAway,
        Self::LedgerAway,
        Self::LeasesStopped,
        Self::LeasesEmptied,
    ];

    /// Of which part it is.
    pub fn group(self) -> DrillGroup {
        match self {
            Self::DoorStuck
            | Self::SillBlocked
            | Self::PlcFrozen
            | Self::PlcSlow
            | Self::SensorLate
            | Self::PeopleMode
            | Self::MaintenanceMode
            | Self::FireMode
            | Self::EmergencyMode
            | Self::PlcRebooted
            | Self::CarCalled => DrillGroup::Lift,
            Self::RadioCut | Self::RadioThin | Self::RadioInterference => DrillGroup::Radio,
            Self::VehicleRestarted => DrillGroup::Vehicle,
            Self::AnswerLost | Self::ClosesInWrite | Self::PlcLinkDown => DrillGroup::PlcLink,
            Self::MessagesDropped | Self::MessagesDoubled | Self::MessagesDelayed => DrillGroup::Roads,
            Self::NodePaused
            | Self::NodeKilled
            | Self::GatewayKilled
            | Self::BrokerAway
            | Self::LedgerAway
            | Self::LeasesStopped
            | Self::LeasesEmptied => DrillGroup::Programs,
        }
    }

    /// It stands for a time; otherwise it happens at once.
    pub fn lasts(self) -> bool {
        !matches!(self, Self::PlcRebooted | Self::CarCalled | Self::VehicleRestarted | Self::LeasesEmptied)
    }

    /// Both turn the same switch, so that they cannot stand at one place at once.
    pub fn excludes(self, other: Self) -> bool {
        let is_mode = |it| {
            matches!(it, Self::PeopleMode | Self::MaintenanceMode | Self::FireMode | Self::EmergencyMode)
        };
        let stops_node = |it| matches!(it, Self::NodePaused | Self::NodeKilled);
        let one_at_a_time = matches!(self.group(), DrillGroup::PlcLink | DrillGroup::Roads);
        self == other
            || is_mode(self) && is_mode(other)
            || stops_node(self) && stops_node(other)
            || one_at_a_time && self.group() == other.group()
    }

    /// Where it can be injected on a site.
    pub fn places(self, plant: &Plant) -> Vec<DrillPlace> {
        let lifts = plant.lifts.keys().cloned().map(DrillPlace::Lift);
        let vehicles = plant.vehicles.keys().cloned().map(DrillPlace::Vehicle);
        match self.group() {
            DrillGroup::Lift | DrillGroup::PlcLink => lifts.collect(),
            DrillGroup::Radio => {
                let floors = plant.floors.iter().map(|it| DrillPlace::Floor(it.id.clone()));
                [DrillPlace::Site].into_iter().chain(floors).chain(lifts).chain(vehicles).collect()
            }
            DrillGroup::Vehicle => vehicles.collect(),
            DrillGroup::Roads => DrillRoad::ALL.map(DrillPlace::Road).to_vec(),
            DrillGroup::Programs if self == Self::GatewayKilled => {
                plant.gateways.iter().cloned().map(DrillPlace::Gateway).collect()
            }
            DrillGroup::Programs => vec![DrillPlace::Site],
        }
    }
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
        assert_eq!(DrillFault::LeasesEmptied as usize + 1, DrillFault::ALL.len());
    }

    #[test]
    fn faults_that_turn_one_switch_exclude_each_other() {
        use DrillFault as F;
        let rows = [
            (F::DoorStuck, F::DoorStuck, true),
            (F::DoorStuck, F::SillBlocked, false),
            (F::FireMode, F::PeopleMode, true),
            (F::AnswerLost, F::PlcLinkDown, true),
            (F::MessagesDropped, F::MessagesDelayed, true),
            (F::NodePaused, F::NodeKilled, true),
            (F::NodePaused, F::BrokerAway, false),
            (F::RadioCut, F::RadioThin, false),
        ];
        for (one, other, expected) in rows {
            assert_eq!((one.excludes(other), other.excludes(one)), (expected, expected), "{one:?} {other:?}");
        }
    }
}
