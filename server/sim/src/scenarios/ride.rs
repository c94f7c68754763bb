//! Accidents in a ride.

use kernel::lift::{DoorState, LiftMode};
use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use super::{Group, Orders, Scenario, Script, Site, State};
use crate::checkers::Checker;
use crate::lift::LiftTrouble;
use crate::vehicle::RideStage;

const fn built(name: &'static str, what: &'static str, script: Script) -> Scenario {
    Scenario { name, group: Group::Ride, what, state: State::Built(script) }
}

const fn pending(name: &'static str, what: &'static str, part: &'static str) -> Scenario {
    Scenario { name, group: Group::Ride, what, state: State::Pending { part } }
}

const WITHIN: Millis = Millis::seconds(600);

pub(super) const SCENARIOS: &[Scenario] = &[
    pending(
        "lift_waits_vehicle_never_enters",
        "A lift stands open for a vehicle that does not come.",
        "forced release: an empty car goes to the next in line",
    ),
    built(
        "sensor_late_2s",
        "The car's sensor shows what was two seconds ago, while a vehicle is on the sill.",
        SENSOR_LATE,
    ),
    built("cancel_while_queued", "An order is taken back while its vehicle is in line.", CANCELLED),
    built(
        "vehicle_reboots_in_car",
        "A vehicle starts again in the car and has forgotten its ride, and the sensor does not see it.",
        REBOOTS_IN_CAR,
    ),
    built("fire_mode_mid_ride", "The fire service takes the lift with a vehicle in the car.", FIRE_MODE),
    pending("exit_landing_full", "The landing where a ride ends is taken.", "exit reservation"),
    pending(
        "forced_release_occupied",
        "A person frees a lift whose car is not empty.",
        "forced release, decided by persons",
    ),
    built(
        "two_vehicles_one_lift",
        "Two vehicles on two floors ask for one lift at the same time.",
        TWO_VEHICLES,
    ),
    pending("estimate_slips_again", "A vehicle that asked early for its lift is late, twice.", "pre-call"),
    pending(
        "cold_start_unknown_car",
        "Everything starts after a power cut, and nobody knows who is in the car.",
        "guided inventory",
    ),
];

const SENSOR_LATE: Script = Script {
    safeguard: Safeguard::TwoChannels,
    backups: &[],
    checker: Checker::NoContradiction,
    site: Site::with(2),
    orders: Orders::Listed(&[(5, "S2", "S1")]),
    play: |play| {
        let late = LiftTrouble::SensorLate { by_ms: Millis::seconds(2), for_ms: Millis::seconds(600) };
        play.lift_suffers(late);
        play.until_seen("V2 is on the sill of a car that shows empty", |it| {
            let ride = it.vehicle("V2").and_then(|v2| v2.ride()).map(|(_, stage)| stage);
            ride == Some(RideStage::OnSill) && it.lift().is_some_and(|lift| !lift.occupied)
        });
    },
    danger: &["SessionChanged … Boarding", "V2 hears T-A1.2"],
    expects: &[
        "SessionChanged … Boarding",
        "V2 reports T-A1.2 Boarded",
        "SessionChanged … Riding",
        "→ L1 … CloseDoor F2",
        "SessionChanged … Alighting",
        "V2 reports T-A1.2 Alighted",
        "→ L1 … CloseDoor F1",
        "SessionChanged … Released",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};

/// V3 and V1 go up for their loads, and V4 and V2 come down with theirs. V3 rides, V1 is the next, and its order is
/// taken back at one node or the other.
const CANCELLED: Script = Script {
    safeguard: Safeguard::LivingTask,
    backups: &[],
    checker: Checker::WithdrawnIsOver,
    site: Site { nodes: 2, ..Site::with(4) },
    orders: Orders::Listed(&[
        (5, "S2", "S1"),
        (6, "S2", "S1"),
        (7, "S2", "S1"),
        (8, "S2", "S1"),
        (60, "S1", "S2"),
    ]),
    play: |play| {
        play.until("SessionChanged { session: S-B2.1, phase: Riding");
        play.take_back(3);
    },
    danger: &[
        "SessionRequested { session: S-A2.1, lift: L1, task: T-A2, vehicle: V1",
        "SessionRequested { session: S-B1.2, lift: L1, task: T-B1, vehicle: V4",
        "SessionChanged { session: S-B2.1, phase: Riding",
        "O-A2 is taken back, in line",
    ],
    expects: &[
        "SessionChanged { session: S-A2.1, phase: Released",
        "TaskChanged { task: T-A2, event: Withdrawn",
        "withdrawal 1: Ok",
        "SessionChanged { session: S-B2.1, phase: Released",
        "SessionChanged { session: S-B1.2, phase: Granted",
        "VehicleAssigned … vehicle: V1",
    ],
    never: &["session: S-A2.1, phase: Granted", "→ V1 T-A2.1", "AlarmRaised"],
    within: WITHIN,
};

/// The lift waits with its door open and calls people; it is not given to the next in line.
const REBOOTS_IN_CAR: Script = Script {
    safeguard: Safeguard::TwoChannels,
    backups: &[],
    checker: Checker::OneRide,
    site: Site::with(2),
    orders: Orders::Listed(&[(5, "S2", "S1"), (6, "S1", "S2")]),
    play: |play| {
        play.until("→ L1 … CloseDoor F2");
        play.until_seen("V2 is behind a shut door", |it| {
            it.vehicle("V2").is_some_and(|v2| v2.in_car().is_some())
                && it.lift().is_some_and(|lift| lift.door == DoorState::Closed)
        });
        play.lift_suffers(LiftTrouble::SensorBlind { for_ms: Millis::seconds(900) });
        play.restart_vehicle("V2");
        play.until_seen("the car is open at F1, and V2 stays in it", |it| {
            let v2 = it.vehicle("V2").is_some_and(|v2| v2.in_car().is_some() && v2.ride().is_none());
            v2 && it.lift().is_some_and(|lift| {
                lift.floor.as_str() == "F1" && lift.door == DoorState::Open && !lift.occupied
            })
        });
        play.wait(Millis::seconds(60));
    },
    danger: &[
        "SessionRequested … S-A2.2",
        "SessionChanged { session: S-A1.2, phase: Riding",
        "FAULT … SensorBlind",
        "FAULT … VehicleRestarted { vehicle: V2 }",
    ],
    expects: &[
        "FAULT … VehicleRestarted { vehicle: V2 }",
        "SessionChanged { session: S-A1.2, phase: Alighting",
        "V2 answers T-A1.2 Accepted",
        "AlarmRaised … RecordsDisagree",
        "AlarmRaised … HandoverDisagrees",
    ],
    never: &["→ L1 … CloseDoor F1", "S-A2.2, phase: Granted"],
    within: Millis::seconds(120),
};

/// With the door shut and nothing in hand, so that nothing but the mode holds commands back.
const FIRE_MODE: Script = Script {
    safeguard: Safeguard::VehicleMode,
    backups: &[],
    checker: Checker::NothingOutOfService,
    site: Site::with(1),
    orders: Orders::Listed(&[(5, "S1", "S2")]),
    play: |play| {
        play.until("→ L1 … CloseDoor F1");
        play.until_seen("V1 is behind a shut door", |it| {
            it.lift().is_some_and(|lift| lift.occupied && lift.door == DoorState::Closed)
        });
        play.lift_suffers(LiftTrouble::Mode { mode: LiftMode::Fire, for_ms: Millis::seconds(60) });
        play.until_seen("the fire service has the car with V1 in it", |it| {
            let ride = it.vehicle("V1").and_then(|v1| v1.ride()).map(|(_, stage)| stage);
            let lift = it.lift();
            ride == Some(RideStage::Inside)
                && lift.is_some_and(|lift| lift.mode == LiftMode::Fire && lift.door == DoorState::Open)
        });
    },
    danger: &["SessionChanged … Riding", "FAULT … mode: Fire"],
    expects: &[
        "FAULT … mode: Fire",
        "AlarmRaised … LiftOutOfService",
        "AlarmCleared … LiftOutOfService",
        "→ L1 … CloseDoor F1",
        "→ L1 … GoTo F2",
        "→ L1 … OpenDoor F2",
        "SessionChanged … Released",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};

const TWO_VEHICLES: Script = Script {
    safeguard: Safeguard::OneSession,
    backups: &[],
    checker: Checker::OneRide,
    site: Site::with(2),
    orders: Orders::Listed(&[(5, "S1", "S2"), (5, "S2", "S1")]),
    play: |play| play.until_seen("two rides want one lift", |it| it.rides() == 2),
    danger: &["SessionRequested … L1", "SessionRequested … L1"],
    expects: &[
        "SessionChanged … Granted, generation: Generation(1)",
        "SessionChanged … Released, generation: Generation(1)",
        "SessionChanged … Granted, generation: Generation(2)",
        "SessionChanged … Released, generation: Generation(2)",
    ],
    never: &[],
    within: WITHIN,
};
