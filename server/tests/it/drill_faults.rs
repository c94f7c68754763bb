//! Every fault that the lab knows is a drill, too, or the README says why it is none.

use kernel::drill::DrillFault as D;
use kernel::ids::{FloorId, LiftId, NodeId};
use kernel::time::Millis;
use sim::fault::{FaultKind as K, Machine, PlcLinkEffect, Road, RoadEffect, StoreFault};
use sim::lift::LiftTrouble as L;
use sim::plant::PlantTrouble as P;
use sim::vehicle::RadioEffect;

/// The drill of a fault, or the words with which the README begins to say why there is none. A new kind of fault does
/// not compile here until one of the two is given.
fn drill_of(kind: &K) -> Result<D, &'static str> {
    Ok(match kind {
        K::NodePaused { .. } => D::NodePaused,
        K::GatewayPaused { .. } => D::GatewayPaused,
        K::BrokerPaused { .. } => D::BrokerPaused,
        K::NodeKilled { .. } => D::NodeKilled,
        K::NodeGone { .. } => return Err("- a node that is gone for good: "),
        K::NodeStopped { .. } => D::NodeStopped,
        K::GatewayKilled { .. } => D::GatewayKilled,
        K::PlantAway { .. } => return Err("- a plant whose process goes away: "),
        K::ClockStepped { machine: Machine::Node(_) | Machine::Gateway(_), .. } => D::ClockAhead,
        K::ClockStepped { machine: Machine::Store, .. } => D::LeasesClockAhead,
        K::ClockStepped { machine: Machine::Broker, .. } => return Err("- the broker's clock: "),
        K::Store(StoreFault::Stopped { .. }) => D::LeasesStopped,
        K::Store(StoreFault::Partitioned { .. }) => D::LeasesPartitioned,
        K::Store(StoreFault::Emptied) => D::LeasesEmptied,
        K::Store(StoreFault::OldCopyPromoted) => D::LeasesOldCopy,
        K::LedgerAway { .. } => D::LedgerAway,
        K::LedgerCutOff { .. } => D::LedgerCutOff,
        K::BrokerAway { forgets: false, .. } => D::BrokerAway,
        K::BrokerAway { forgets: true, .. } => D::BrokerForgets,
        K::NodeCutOff { .. } => D::NodeCutOff,
        K::GatewayCutOff { .. } => D::GatewayCutOff,
        K::Road { effect: RoadEffect::Delay { .. }, .. } => D::MessagesDelayed,
        K::Road { road: Road::Ledger, .. } => return Err("- losses and doublings between node and ledger: "),
        K::Road { effect: RoadEffect::Drop, .. } => D::MessagesDropped,
        K::Road { effect: RoadEffect::Duplicate { .. }, .. } => D::MessagesDoubled,
        K::StrayCall { .. } => D::StrayCall,
        K::PlcLink { effect: PlcLinkEffect::AnswerLost, .. } => D::AnswerLost,
        K::PlcLink { effect: PlcLinkEffect::ClosesInWrite, .. } => D::ClosesInWrite,
        K::PlcLink { effect: PlcLinkEffect::Down, .. } => D::PlcLinkDown,
        K::Plant(trouble) => drill_of_plant(trouble),
    })
}

fn drill_of_plant(trouble: &P) -> D {
    match trouble {
        P::Lift { trouble, .. } => match trouble {
            L::DoorStuck { .. } => D::DoorStuck,
            L::SillBlocked { .. } => D::SillBlocked,
            L::Frozen { .. } => D::PlcFrozen,
            L::Slow { .. } => D::PlcSlow,
            L::Mode { .. } => D::PeopleMode,
            L::Rebooted => D::PlcRebooted,
            L::CalledByPeople { .. } => D::CarCalled,
            L::SensorLate { .. } => D::SensorLate,
            L::SensorBlind { .. } => D::SensorBlind,
        },
        P::Radio { effect, .. } | P::RadioMended { effect, .. } => match effect {
            RadioEffect::Cut => D::RadioCut,
            RadioEffect::Thin { .. } => D::RadioThin,
            RadioEffect::Interference { .. } => D::RadioInterference,
            RadioEffect::Slow { .. } => D::RadioSlow,
        },
        P::VehicleRestarted { .. } => D::VehicleRestarted,
        P::VehicleFrozen { .. } | P::VehicleGoesOn { .. } => D::VehicleFrozen,
        P::VehicleSensorLate { .. } => D::VehicleSensorLate,
    }
}

#[test]
fn what_the_lab_injects_is_a_drill_or_the_readme_says_why_not() {
    let readme = include_str!("../../../README.md");
    let (node, for_ms) = (NodeId::try_new("A").unwrap(), Millis::seconds(1));
    let ledger = K::Road { road: Road::Ledger, effect: RoadEffect::Drop, permille: 1, for_ms };
    let rows = [
        (K::NodeGone { node: node.clone() }, None),
        (K::PlantAway { for_ms, killed: true }, None),
        (K::ClockStepped { machine: Machine::Broker, by_ms: 1 }, None),
        (ledger, None),
        (K::LedgerCutOff { node, for_ms }, Some(D::LedgerCutOff)),
        (
            K::StrayCall {
                lift: LiftId::try_new("L1").unwrap(),
                floor: FloorId::try_new("1F").unwrap(),
                poses: false,
            },
            Some(D::StrayCall),
        ),
    ];
    for (kind, expected) in rows {
        match (drill_of(&kind), expected) {
            (Ok(drill), Some(expected)) => assert_eq!(drill, expected),
            (Err(why), None) => assert!(readme.contains(&format!("\n{why}")), "{why}"),
            (other, _) => panic!("{kind:?}: {other:?}"),
        }
    }
}
