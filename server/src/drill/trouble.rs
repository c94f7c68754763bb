//! Faults of the plant, as the simulated plant takes them.

use kernel::drill::{Drill, DrillFault as F, DrillPlace};
use kernel::ids::{FloorId, LiftId, PointId, VehicleId};
use kernel::lift::LiftMode;
use kernel::plant::Plant;
use kernel::time::Millis;
use sim::lift::LiftTrouble;
use sim::plant::PlantTrouble;
use sim::vehicle::{RadioEffect, RadioPlace};

/// Frames of a thousand that a thin or disturbed radio loses: the second field report's worst before lift doors.
const LOSS_PERMILLE: u16 = 300;
/// How late a slow radio brings a frame: half of the lab's worst.
const RADIO_SLOW: Millis = Millis(1500);
/// How much longer a slow PLC scans.
const SLOW_FACTOR: u8 = 5;
/// How late a late sensor shows.
const SENSOR_LATE: Millis = Millis::seconds(3);

/// The trouble of the plant that a fault is, if it is one.
pub(super) fn of(
    drill: &Drill,
    site: &Plant,
    for_ms: Millis,
    car_at: Option<&FloorId>,
) -> Option<PlantTrouble> {
    match &drill.at {
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleRestarted => {
            Some(PlantTrouble::VehicleRestarted { vehicle: vehicle.clone() })
        }
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleFrozen => {
            Some(PlantTrouble::VehicleFrozen { vehicle: vehicle.clone(), for_ms })
        }
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleSensorLate => {
            Some(vehicle_sensor_late(vehicle, for_ms))
        }
        DrillPlace::Lift(lift) if radio_effect(drill.fault).is_none() => {
            let stop = farthest_stop(site, lift, car_at);
            let trouble = lift_trouble(drill.fault, for_ms, stop)?;
            Some(PlantTrouble::Lift { lift: lift.clone(), trouble })
        }
        place @ (DrillPlace::Site
        | DrillPlace::Lift(_)
        | DrillPlace::Vehicle(_)
        | DrillPlace::Floor(_)
        | DrillPlace::Gateway(_)
        | DrillPlace::Node(_)
        | DrillPlace::Road(_)) => {
            let (place, effect) = (radio_place(place, site)?, radio_effect(drill.fault)?);
            Some(PlantTrouble::Radio { place, effect, for_ms })
        }
    }
}

/// What undoes a trouble of the plant before its time, if the fault is one.
pub(super) fn mended(drill: &Drill, site: &Plant) -> Option<PlantTrouble> {
    if let Some(effect) = radio_effect(drill.fault) {
        return Some(PlantTrouble::RadioMended { place: radio_place(&drill.at, site)?, effect });
    }
    // The same trouble for no time at all takes the place of the one that stands.
    match &drill.at {
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleSensorLate => {
            Some(vehicle_sensor_late(vehicle, Millis(0)))
        }
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleFrozen => {
            Some(PlantTrouble::VehicleGoesOn { vehicle: vehicle.clone() })
        }
        DrillPlace::Lift(lift) => {
            let trouble = lift_trouble(drill.fault, Millis(0), 1)?;
            Some(PlantTrouble::Lift { lift: lift.clone(), trouble })
        }
        DrillPlace::Site
        | DrillPlace::Vehicle(_)
        | DrillPlace::Floor(_)
        | DrillPlace::Gateway(_)
        | DrillPlace::Node(_)
        | DrillPlace::Road(_) => None,
    }
}

fn vehicle_sensor_late(vehicle: &VehicleId, for_ms: Millis) -> PlantTrouble {
    PlantTrouble::VehicleSensorLate { vehicle: vehicle.clone(), by_ms: SENSOR_LATE, for_ms }
}

fn lift_trouble(fault: F, for_ms: Millis, stop: u16) -> Option<LiftTrouble> {
    let mode = |mode| LiftTrouble::Mode { mode, for_ms };
    match fault {
        F::DoorStuck => Some(LiftTrouble::DoorStuck { for_ms }),
        F::SillBlocked => Some(LiftTrouble::SillBlocked { for_ms }),
        F::PlcFrozen => Some(LiftTrouble::Frozen { for_ms }),
        F::PlcSlow => Some(LiftTrouble::Slow { factor: SLOW_FACTOR, for_ms }),
        F::SensorLate => Some(LiftTrouble::SensorLate { by_ms: SENSOR_LATE, for_ms }),
        F::SensorBlind => Some(LiftTrouble::SensorBlind { for_ms }),
        F::PeopleMode => Some(mode(LiftMode::Human)),
        F::MaintenanceMode => Some(mode(LiftMode::Maintenance)),
        F::FireMode => Some(mode(LiftMode::Fire)),
        F::EmergencyMode => Some(mode(LiftMode::Emergency)),
        F::PlcRebooted => Some(LiftTrouble::Rebooted),
        F::CarCalled => Some(LiftTrouble::CalledByPeople { stop }),
        F::StrayCall
        | F::RadioCut
        | F::RadioThin
        | F::RadioInterference
        | F::RadioSlow
        | F::VehicleRestarted
        | F::VehicleFrozen
        | F::VehicleSensorLate
        | F::AnswerLost
        | F::ClosesInWrite
        | F::PlcLinkDown
        | F::MessagesDropped
        | F::MessagesDoubled
        | F::MessagesDelayed
        | F::NodePaused
        | F::NodeStopped
        | F::NodeKilled
        | F::NodeCutOff
        | F::LedgerCutOff
        | F::GatewayPaused
        | F::GatewayKilled
        | F::GatewayCutOff
        | F::ClockAhead
        | F::ClockBehind
        | F::BrokerPaused
        | F::BrokerAway
        | F::BrokerForgets
        | F::LedgerAway
        | F::LeasesStopped
        | F::LeasesPartitioned
        | F::LeasesEmptied
        | F::LeasesOldCopy
        | F::LeasesClockAhead
        | F::LeasesClockBehind => None,
    }
}

fn radio_effect(fault: F) -> Option<RadioEffect> {
    if fault == F::RadioCut {
        Some(RadioEffect::Cut)
    } else if fault == F::RadioThin {
        Some(RadioEffect::Thin { loss_permille: LOSS_PERMILLE })
    } else if fault == F::RadioInterference {
        Some(RadioEffect::Interference { loss_permille: LOSS_PERMILLE })
    } else if fault == F::RadioSlow {
        Some(RadioEffect::Slow { by_ms: RADIO_SLOW })
    } else {
        None
    }
}

fn radio_place(place: &DrillPlace, site: &Plant) -> Option<RadioPlace> {
    match place {
        DrillPlace::Site => Some(RadioPlace::Everywhere),
        DrillPlace::Floor(floor) => Some(RadioPlace::Floor(floor.clone())),
        DrillPlace::Vehicle(vehicle) => Some(RadioPlace::Vehicle(vehicle.clone())),
        DrillPlace::Lift(lift) => {
            let stops = &site.lifts.get(lift)?.stops;
            let points = stops.iter().flat_map(|it| it.waiting.iter().chain([&it.landing]).cloned());
            Some(RadioPlace::Points(points.collect::<Vec<PointId>>()))
        }
        DrillPlace::Gateway(_) | DrillPlace::Node(_) | DrillPlace::Road(_) => None,
    }
}

/// The stop farthest from the car, from 1 at the lowest; the lowest when nobody knows where the car is.
pub(super) fn farthest_stop(site: &Plant, lift: &LiftId, car_at: Option<&FloorId>) -> u16 {
    let stops = site.lifts.get(lift).map(|it| it.stops.as_slice()).unwrap_or_default();
    let at = car_at.and_then(|floor| stops.iter().position(|it| it.floor == *floor));
    match at {
        Some(idx) if 2 * idx < stops.len() => u16::try_from(stops.len()).unwrap_or(1),
        Some(_) | None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    #[test]
    fn a_drill_of_a_vehicle_that_stands_still_is_over_before_its_connection_breaks() {
        assert!(F::VehicleFrozen.longest() <= sim::vehicle::FROZEN_MAX);
    }

    #[test]
    fn people_call_the_car_to_where_it_is_not() {
        let site = site::parse(site::DEMO, "demo").unwrap().plant;
        let (lift, model) = site.lifts.iter().find(|(_, it)| it.stops.len() == 3).unwrap();
        let rows = [(None, 1), (Some(0), 3), (Some(1), 3), (Some(2), 1)];
        for (at, expected) in rows {
            let floor = at.map(|idx: usize| &model.stops[idx].floor);
            assert_eq!(farthest_stop(&site, lift, floor), expected, "{at:?}");
        }
    }
}
