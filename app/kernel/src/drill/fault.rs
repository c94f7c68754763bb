//! What can be injected.

use serde::{Deserialize, Serialize};

use super::{DRILL_MAX, DrillGroup, DrillPlace, DrillRoad, VEHICLE_FROZEN_MAX, node_names};
use crate::plant::Plant;
use crate::time::Millis;

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
    /// The car's occupancy sensor shows an empty car, whoever is in it.
    SensorBlind,
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
    /// A program without a place in the ledger calls the car to the stop farthest from it. At once.
    StrayCall,
    /// Nothing passes the radio.
    RadioCut,
    /// The signal is weak and three of ten frames are lost.
    RadioThin,
    /// The signal is strong and three of ten frames are lost all the same.
    RadioInterference,
    /// Frames come a second and a half late.
    RadioSlow,
    /// The vehicle's controller starts again. At once.
    VehicleRestarted,
    /// The vehicle's controller stands still, and the vehicle with it; then it takes everything at once.
    VehicleFrozen,
    /// The vehicle's car sensor shows three seconds late that it is in the car, or out of it.
    VehicleSensorLate,
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
    /// The control node is asked to stop, hands over and ends; it is started again at the end.
    NodeStopped,
    /// The control node dies without a farewell and is started again at the end.
    NodeKilled,
    /// The control node and the broker do not reach each other; the ledger and the lease store are reached.
    NodeCutOff,
    /// The control node and the ledger do not reach each other; the broker and the lease store are reached.
    LedgerCutOff,
    /// The gateway's loop stands still; then it does everything at once.
    GatewayPaused,
    /// The gateway dies without a farewell and is started again at the end.
    GatewayKilled,
    /// The gateway and the broker do not reach each other; its PLCs are reached.
    GatewayCutOff,
    /// The wall clock of the program is set a minute ahead, and back at the end.
    ClockAhead,
    /// The wall clock of the program is set a minute back, and ahead at the end.
    ClockBehind,
    /// The broker stands still: what is sent over it waits, and then comes at once.
    BrokerPaused,
    /// The broker breaks every connection and takes none.
    BrokerAway,
    /// The broker breaks every connection and takes none; it comes back without the sessions and messages that it kept.
    BrokerForgets,
    /// The ledger takes no entry.
    LedgerAway,
    /// The lease store does not answer; what it had it keeps.
    LeasesStopped,
    /// The control node does not reach the lease store; the others do.
    LeasesPartitioned,
    /// The lease store forgets everything. At once.
    LeasesEmptied,
    /// A copy of the lease store takes over, with what was true some ten seconds ago. At once.
    LeasesOldCopy,
    /// The lease store's clock is set a minute ahead, so that what was granted is over; and back at the end.
    LeasesClockAhead,
    /// The lease store's clock is set a minute back, so that what was granted lasts longer; and ahead at the end.
    LeasesClockBehind,
}

impl DrillFault {
    /// All of them, in the order of their groups.
    pub const ALL: [Self; 46] = [
        Self::DoorStuck,
        Self::SillBlocked,
        Self::PlcFrozen,
        Self::PlcSlow,
        Self::SensorLate,
        Self::SensorBlind,
        Self::PeopleMode,
        Self::MaintenanceMode,
        Self::FireMode,
        Self::EmergencyMode,
        Self::PlcRebooted,
        Self::CarCalled,
        Self::StrayCall,
        Self::RadioCut,
        Self::RadioThin,
        Self::RadioInterference,
        Self::RadioSlow,
        Self::VehicleRestarted,
        Self::VehicleFrozen,
        Self::VehicleSensorLate,
        Self::AnswerLost,
        Self::ClosesInWrite,
        Self::PlcLinkDown,
        Self::MessagesDropped,
        Self::MessagesDoubled,
        Self::MessagesDelayed,
        Self::NodePaused,
        Self::NodeStopped,
        Self::NodeKilled,
        Self::NodeCutOff,
        Self::LedgerCutOff,
        Self::GatewayPaused,
        Self::GatewayKilled,
        Self::GatewayCutOff,
        Self::ClockAhead,
        Self::ClockBehind,
        Self::BrokerPaused,
        Self::BrokerAway,
        Self::BrokerForgets,
        Self::LedgerAway,
        Self::LeasesStopped,
        Self::LeasesPartitioned,
        Self::LeasesEmptied,
        Self::LeasesOldCopy,
        Self::LeasesClockAhead,
        Self::LeasesClockBehind,
    ];

    /// Of which part it is.
    pub fn group(self) -> DrillGroup {
        match self {
            Self::DoorStuck
            | Self::SillBlocked
            | Self::PlcFrozen
            | Self::PlcSlow
            | Self::SensorLate
            | Self::SensorBlind
            | Self::PeopleMode
            | Self::MaintenanceMode
            | Self::FireMode
            | Self::EmergencyMode
            | Self::PlcRebooted
            | Self::CarCalled
            | Self::StrayCall => DrillGroup::Lift,
            Self::RadioCut | Self::RadioThin | Self::RadioInterference | Self::RadioSlow => DrillGroup::Radio,
            Self::VehicleRestarted | Self::VehicleFrozen | Self::VehicleSensorLate => DrillGroup::Vehicle,
            Self::AnswerLost | Self::ClosesInWrite | Self::PlcLinkDown => DrillGroup::PlcLink,
            Self::MessagesDropped | Self::MessagesDoubled | Self::MessagesDelayed => DrillGroup::Roads,
            Self::NodePaused
            | Self::NodeStopped
            | Self::NodeKilled
            | Self::NodeCutOff
            | Self::LedgerCutOff
            | Self::GatewayPaused
            | Self::GatewayKilled
            | Self::GatewayCutOff
            | Self::ClockAhead
            | Self::ClockBehind => DrillGroup::Programs,
            Self::BrokerPaused
            | Self::BrokerAway
            | Self::BrokerForgets
            | Self::LedgerAway
            | Self::LeasesStopped
            | Self::LeasesPartitioned
            | Self::LeasesEmptied
            | Self::LeasesOldCopy
            | Self::LeasesClockAhead
            | Self::LeasesClockBehind => DrillGroup::Services,
        }
    }

    /// It stands for a time; otherwise it happens at once.
    pub fn lasts(self) -> bool {
        !matches!(
            self,
            Self::PlcRebooted
                | Self::CarCalled
                | Self::StrayCall
                | Self::VehicleRestarted
                | Self::LeasesEmptied
                | Self::LeasesOldCopy
        )
    }

    /// How long it stands at most.
    pub fn longest(self) -> Millis {
        if self == Self::VehicleFrozen { VEHICLE_FROZEN_MAX } else { DRILL_MAX }
    }

    /// Both turn the same switch, so that they cannot stand at one place at once.
    pub fn excludes(self, other: Self) -> bool {
        let is_mode: fn(Self) -> bool = |it| {
            matches!(it, Self::PeopleMode | Self::MaintenanceMode | Self::FireMode | Self::EmergencyMode)
        };
        // One that starts asks the ledger for its turn, and one that does not reach it records as little as one that stands.
        let stops_node =
            |it| matches!(it, Self::NodePaused | Self::NodeStopped | Self::NodeKilled | Self::LedgerCutOff);
        let stops_gateway = |it| matches!(it, Self::GatewayPaused | Self::GatewayKilled);
        let is_sensor = |it| matches!(it, Self::SensorLate | Self::SensorBlind);
        let is_broker = |it| matches!(it, Self::BrokerPaused | Self::BrokerAway | Self::BrokerForgets);
        let sets_leases_clock = |it| matches!(it, Self::LeasesClockAhead | Self::LeasesClockBehind);
        let one_at_a_time = matches!(self.group(), DrillGroup::PlcLink | DrillGroup::Roads);
        let alike = [
            is_mode,
            is_broker,
            is_sensor,
            stops_node,
            stops_gateway,
            Self::is_of_a_clock,
            sets_leases_clock,
        ];
        self == other
            || alike.iter().any(|is| is(self) && is(other))
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
            DrillGroup::Roads => {
                // A node asks until it knows what the ledger has: what is lost or doubled there is late.
                let suffers = |it: &DrillRoad| *it != DrillRoad::Ledger || self == Self::MessagesDelayed;
                DrillRoad::ALL.into_iter().filter(suffers).map(DrillPlace::Road).collect()
            }
            DrillGroup::Programs | DrillGroup::Services => {
                let nodes = node_names().map(DrillPlace::Node);
                let gateways = plant.gateways.iter().cloned().map(DrillPlace::Gateway);
                match (self.is_of_a_node(), self.is_of_a_gateway()) {
                    (true, true) => nodes.chain(gateways).collect(),
                    (true, false) => nodes.collect(),
                    (false, true) => gateways.collect(),
                    (false, false) => vec![DrillPlace::Site],
                }
            }
        }
    }

    fn is_of_a_node(self) -> bool {
        self.is_of_a_clock()
            || matches!(
                self,
                Self::NodePaused
                    | Self::NodeStopped
                    | Self::NodeKilled
                    | Self::NodeCutOff
                    | Self::LedgerCutOff
                    | Self::LeasesPartitioned
            )
    }

    fn is_of_a_gateway(self) -> bool {
        self.is_of_a_clock()
            || matches!(self, Self::GatewayPaused | Self::GatewayKilled | Self::GatewayCutOff)
    }

    fn is_of_a_clock(self) -> bool {
        matches!(self, Self::ClockAhead | Self::ClockBehind)
    }
}
