//! Accidents on the way to a vehicle: what comes late, twice, or not at all.

use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use super::{Group, Orders, Play, Scenario, Script, Site, State};
use crate::checkers::Checker;
use crate::fault::{Road, RoadEffect};
use crate::lift::LiftTrouble;

const fn built(name: &'static str, what: &'static str, script: Script) -> Scenario {
    Scenario { name, group: Group::Task, what, state: State::Built(script) }
}

const fn pending(name: &'static str, what: &'static str, part: &'static str) -> Scenario {
    Scenario { name, group: Group::Task, what, state: State::Pending { part } }
}

/// One hall in use: a station at the home of V1 and one beside it, so that it can be where it was before.
const SHUTTLE: Site = Site { home_station: true, ..Site::with(1) };
const WITHIN: Millis = Millis::seconds(600);

pub(super) const SCENARIOS: &[Scenario] = &[
    built(
        "vehicle_repeats_after_reconnect",
        "A command redelivered after a reconnect comes twice, the second time when the vehicle could do it again.",
        VEHICLE_REPEATS,
    ),
    built(
        "late_command_after_reconnect",
        "A broker kept a command for a silent vehicle and hands it over before anything was reconciled.",
        LATE_COMMAND,
    ),
    built(
        "id_older_than_window",
        "A copy of a command turns up when the vehicle has long forgotten its id.",
        ID_OLDER,
    ),
    built("result_lost_vehicle_parked", "A vehicle finishes and parks, and its result is lost.", RESULT_LOST),
    built(
        "offline_but_finished",
        "A vehicle finishes out of reach, and what it says on its return is lost.",
        OFFLINE,
    ),
    built(
        "blackout_two_floors_5min",
        "Two floors have no radio for five minutes, and the node is down when it comes back.",
        BLACKOUT,
    ),
    built(
        "flapping_coverage",
        "The radio goes with each command, so that each arrives when its link is no longer the open one.",
        FLAPPING,
    ),
    built(
        "reconnect_flood",
        "Twelve vehicles come back at once, each to a command that was kept for it.",
        FLOOD,
    ),
    built(
        "retained_stale_status",
        "A node starts and hears first what a broker retained from before.",
        RETAINED,
    ),
    built(
        "uplink_lost_queue_drains",
        "A gateway loses its uplink with commands in its queue, and works on.",
        UPLINK_LOST,
    ),
    pending(
        "vehicle_crosses_gateways",
        "A vehicle vanishes at one gateway and emerges at another.",
        "gateway stash",
    ),
];

/// V1 is silent when its order comes; the command is kept for it.
fn miss_the_command(play: &mut Play) {
    play.wait(Millis(4500));
    play.cut_off("V1", Millis::seconds(6));
    play.until("CommandIssued … T-A1.0");
}

const VEHICLE_REPEATS: Script = Script {
    safeguard: Safeguard::CommandMemory,
    backups: &[],
    checker: Checker::NothingTwice,
    site: SHUTTLE,
    orders: Orders::Listed(&[(5, "B1", "S1"), (20, "S1", "B1")]),
    play: |play| {
        miss_the_command(play);
        play.until("Redelivered { command: T-A1.0");
        let copy = RoadEffect::Duplicate { after_ms: Millis::seconds(45) };
        play.road(Road::VehicleCommand, copy, Millis(200));
        // V1 is back at B1 without a load: it could take up the first load once more.
        play.until("V1 reports T-A2.1 Done");
        play.until("V1 hears T-A1.0 link 2");
        play.wait(Millis::seconds(10));
    },
    danger: &["V1 connects, 1 commands wait for it", "V1 reports T-A2.1 Done", "V1 hears T-A1.0 link 2"],
    expects: &[
        "T-A1 … Suspended { cause: Link",
        "LinkOpened { vehicle: V1, generation: Generation(2) }",
        "T-A1 … Redelivered { command: T-A1.0",
        "V1 hears T-A1.0 link 2 began true",
        "T-A1 … Finished",
        "T-A2 … Finished",
        "V1 hears T-A1.0 link 2 began false",
        "V1 answers T-A1.0 Accepted",
    ],
    never: &[],
    within: WITHIN,
};

const LATE_COMMAND: Script = Script {
    safeguard: Safeguard::LinkFence,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site::with(1),
    orders: Orders::Listed(&[(5, "S1", "S2")]),
    play: |play| {
        miss_the_command(play);
        play.until("V1 hears T-A1.0 link 1");
    },
    danger: &["V1 connects, 1 commands wait for it", "V1 hears T-A1.0 link 1"],
    expects: &[
        "CommandIssued … T-A1.0",
        "T-A1 … Suspended { cause: Link",
        "V1 hears T-A1.0 link 1 began false",
        "V1 answers T-A1.0 Refused { reason: StaleLink }",
        "LinkOpened { vehicle: V1, generation: Generation(2) }",
        "T-A1 … Redelivered { command: T-A1.0",
        "V1 hears T-A1.0 link 2 began true",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};

/// Each order takes two commands, so that the first one leaves the memory of 500 before the last order.
const ID_OLDER: Script = Script {
    safeguard: Safeguard::MemoryWindow,
    backups: &[],
    checker: Checker::NothingTwice,
    site: SHUTTLE,
    orders: Orders::Shuttle { count: 254, every: 15, between: ("B1", "S1") },
    play: |play| {
        play.until("CommandIssued … T-A1.0");
        let copy = RoadEffect::Duplicate { after_ms: Millis::seconds(3900) };
        play.road(Road::VehicleCommand, copy, Millis(200));
        play.until_second(3850);
        play.until("V1 hears T-A1.0 link 1");
        play.wait(Millis::seconds(10));
    },
    danger: &["V1 hears T-A1.0 link 1", "V1 reports T-A254.1 Done", "V1 hears T-A1.0 link 1"],
    expects: &[
        "V1 hears T-A1.0 link 1 began true",
        "T-A254 … Finished",
        "V1 hears T-A1.0 link 1 began false",
        "V1 answers T-A1.0 Refused { reason: BelowWindow }",
    ],
    never: &[],
    within: WITHIN,
};

const RESULT_LOST: Script = Script {
    safeguard: Safeguard::HeartbeatResults,
    backups: &[],
    checker: Checker::OrdersEnd,
    site: SHUTTLE,
    orders: Orders::Listed(&[(5, "B1", "S1")]),
    play: |play| {
        play.until("→ V1 T-A1.1");
        play.road(Road::VehicleAnswer, RoadEffect::Drop, Millis::seconds(20));
        play.until("V1 reports T-A1.1 Done");
        play.until("lost on the road: VehicleAnswer");
    },
    danger: &["V1 reports T-A1.1 Done", "lost on the road: VehicleAnswer"],
    expects: &[
        "T-A1 … AckReceived { command: T-A1.1 }",
        "lost on the road: VehicleAnswer",
        "T-A1 … Finished { command: T-A1.1 }",
    ],
    never: &["Redelivered"],
    within: Millis::seconds(120),
};

const OFFLINE: Script = Script {
    safeguard: Safeguard::HeartbeatResults,
    backups: &[],
    checker: Checker::OrdersEnd,
    site: SHUTTLE,
    orders: Orders::Listed(&[(5, "B1", "S1")]),
    play: |play| {
        play.until("V1 reports T-A1.1 Started");
        play.cut_off("V1", Millis::seconds(30));
        play.until_seen("V1 has put the load down out of reach", |it| {
            it.vehicle("V1").is_some_and(|v1| v1.working_on().is_none() && !v1.radio_is_up())
        });
        play.until("V1 connects");
        play.road(Road::VehicleAnswer, RoadEffect::Drop, Millis::seconds(5));
        play.until("V1 reports T-A1.1 Done");
    },
    danger: &[
        "V1 is out of reach",
        "V1 connects",
        "V1 reports T-A1.1 Done",
        "lost on the road: VehicleAnswer",
    ],
    expects: &[
        "T-A1 … Suspended { cause: Link",
        "V1 connects",
        "lost on the road: VehicleAnswer",
        "T-A1 … Finished { command: T-A1.1 }",
    ],
    never: &["Redelivered"],
    within: Millis::seconds(120),
};

const BLACKOUT: Script = Script {
    safeguard: Safeguard::HeartbeatResults,
    backups: &[],
    checker: Checker::OrdersEnd,
    site: Site::with(2),
    orders: Orders::Listed(&[(5, "S1", "S2"), (5, "S2", "S1")]),
    play: |play| {
        // Both are on their way to their loads.
        play.until_second(8);
        play.cut_off_floors(Millis::seconds(300));
        play.wait(Millis::seconds(299));
        play.kill_node(Millis::seconds(6));
        play.until("V1 reports … Done");
        play.until("node A starts");
    },
    danger: &[
        "V1 is out of reach",
        "V2 is out of reach",
        "FAULT NodeKilled",
        "V1 reports … Done",
        "node A starts",
    ],
    expects: &[
        "Suspended { cause: Link",
        "Suspended { cause: Link",
        "AlarmRaised … VehicleSilent",
        "node A starts",
        "StepDone { command: T-A1.0 }",
        "Finished",
        "Finished",
    ],
    never: &["Suspended { cause: Person"],
    within: WITHIN,
};

const FLAPPING: Script = Script {
    safeguard: Safeguard::LinkFence,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site::with(1),
    orders: Orders::Listed(&[(5, "S1", "S2")]),
    play: |play| {
        for _ in 0..4 {
            play.until("→ V1 T-A1.0");
            play.cut_off("V1", Millis::seconds(2));
            play.until("V1 connects, 1 commands wait for it");
        }
    },
    danger: &["V1 is out of reach", "V1 connects, 1 commands wait for it", "V1 hears T-A1.0 link 1"],
    expects: &[
        "V1 answers T-A1.0 Refused { reason: StaleLink }",
        "LinkOpened { vehicle: V1, generation: Generation(2) }",
        "V1 answers T-A1.0 Refused { reason: StaleLink }",
        "LinkOpened { vehicle: V1, generation: Generation(3) }",
        "V1 answers T-A1.0 Refused { reason: StaleLink }",
        "LinkOpened { vehicle: V1, generation: Generation(4) }",
        "V1 answers T-A1.0 Refused { reason: StaleLink }",
        "LinkOpened { vehicle: V1, generation: Generation(5) }",
        "V1 hears T-A1.0 link 5 began true",
        "T-A1 … Finished",
    ],
    never: &["Suspended { cause: Person"],
    within: WITHIN,
};

const FLOOD: Script = Script {
    safeguard: Safeguard::LinkFence,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site::with(12),
    orders: Orders::Shuttle { count: 12, every: 0, between: ("S1", "S2") },
    play: |play| {
        play.wait(Millis(4500));
        play.cut_off_everywhere(Millis::seconds(6));
        for _ in 0..12 {
            play.until("connects, 1 commands wait for it");
        }
    },
    danger: &["is out of reach", "connects, 1 commands wait for it", "link 1 began"],
    expects: &[
        "Suspended { cause: Link",
        "answers … Refused { reason: StaleLink }",
        "LinkOpened … Generation(2)",
        "Redelivered",
        "Finished",
    ],
    never: &["Suspended { cause: Person"],
    within: Millis::seconds(3600),
};

/// The broker starts again before it misses V1, so that it has it as online for good. By that word the alarm would be
/// taken back, and nobody called for as long as V1 has to be silent until it counts as silent.
const RETAINED: Script = Script {
    safeguard: Safeguard::ProvenLive,
    backups: &[],
    checker: Checker::OrdersEnd,
    site: SHUTTLE,
    orders: Orders::Listed(&[(5, "B1", "S1")]),
    play: |play| {
        play.until("V1 hears T-A1.0");
        play.cut_off("V1", Millis::seconds(600));
        play.wait(Millis::seconds(1));
        play.restart_broker(Millis::seconds(2));
        play.until("AlarmRaised … VehicleSilent");
        play.wait(Millis::seconds(60));
        play.kill_node(Millis::seconds(2));
        play.until("the broker has V1 retained as online true");
    },
    danger: &[
        "V1 is out of reach",
        "FAULT BrokerAway",
        "AlarmRaised … VehicleSilent",
        "node A starts",
        "the broker has V1 retained as online true",
    ],
    expects: &["AlarmRaised … VehicleSilent", "the broker has V1 retained as online true"],
    never: &["AlarmCleared"],
    within: Millis::seconds(3),
};

/// The PLC stands still with one command in its registers and another in the gateway's queue behind it. Cut off from
/// everybody the gateway finishes the first; the second is void by then, and would send the car off beneath its ride.
const UPLINK_LOST: Script = Script {
    safeguard: Safeguard::Validity,
    backups: &[Safeguard::ReadAge, Safeguard::Expectation, Safeguard::Interlock, Safeguard::EdgeTable],
    checker: Checker::NothingStale,
    site: Site { floors: 3, ..Site::with(2) },
    orders: Orders::Listed(&[(40, "S2", "S1")]),
    play: |play| {
        play.until_second(3);
        play.store_down(WITHIN);
        play.until("→ L1 C-A1.1 GoTo F2");
        play.lift_suffers(LiftTrouble::Frozen { for_ms: Millis::seconds(4) });
        play.until("L1 is written … number: 1");
        play.stray_call_for_the_ride("F3");
        play.wait(Millis(100));
        play.cut_gateway_off(Millis::seconds(8));
        play.until("L1 takes number 1");
        play.wait(Millis::seconds(2));
    },
    danger: &[
        "edge arbitration, epoch 2",
        "L1 is written … number: 1",
        "a stranger sends L1 to F3",
        "FAULT GatewayCutOff",
        "L1 takes number 1",
    ],
    expects: &[
        "FAULT GatewayCutOff",
        "G1 tells C-A1.1 Ran",
        "G1 tells C-stray Expired",
        "→ L1 C-A1.2 OpenDoor F2",
        "T-A1 … Finished",
    ],
    never: &["G1 tells C-stray Refused"],
    within: WITHIN,
};
