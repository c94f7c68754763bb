//! What the PLC did, and what its gateway can know of it.

use kernel::lift::Motion;
use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use crate::checkers::Checker;
use crate::fault::{PlcLinkEffect, Road, RoadEffect};
use crate::lift::LiftTrouble;
use crate::scenarios::{Orders, Script, Site};

/// V2 fetches the load beside it; the car comes up to it empty (C-A1.1), and opens (C-A1.2).
const DOWN: Orders = Orders::Listed(&[(5, "S2", "S1")]);
const WITHIN: Millis = Millis::seconds(600);

pub(super) const ACK_LOST: Script = Script {
    safeguard: Safeguard::Verifying,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until("→ L1 C-A1.1 GoTo F2");
        play.plc_link(PlcLinkEffect::AnswerLost, Millis(100));
        play.until("L1 is written … number: 1");
        play.plc_link(PlcLinkEffect::Down, Millis::seconds(4));
        play.until_seen("the car moves", |it| it.lift().is_some_and(|lift| lift.motion == Motion::Up));
    },
    danger: &["L1 is written … number: 1 … Unknown", "L1 takes number 1"],
    expects: &[
        "G1 tells C-A1.1 Unknown",
        "AlarmRaised … LiftUnverified",
        "G1 tells C-A1.1 Ran",
        "→ L1 C-A1.2 OpenDoor F2",
        "T-A1 … Finished",
    ],
    never: &["number: 2, action: GoTo, floor: 2"],
    within: WITHIN,
};

/// The connection is back when the car is on its way, which might be a PLC's own way to its nearest stop, and settled
/// once it has arrived.
pub(super) const WITHOUT_ECHO: Script = Script {
    safeguard: Safeguard::Verifying,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site { mute: true, travel: Millis(6000), ..Site::with(2) },
    orders: DOWN,
    play: |play| {
        play.until("→ L1 C-A1.1 GoTo F2");
        play.plc_link(PlcLinkEffect::ClosesInWrite, Millis(100));
        play.until("L1 is written … number: 1");
        play.until_seen("the car moves", |it| it.lift().is_some_and(|lift| lift.motion == Motion::Up));
    },
    danger: &["L1 is written … number: 1 … Unknown", "L1 takes number 1"],
    expects: &[
        "G1 tells C-A1.1 Unknown",
        "G1 tells C-A1.1 Ran",
        "→ L1 C-A1.2 OpenDoor F2",
        "T-A1 … Finished",
    ],
    never: &["number: 2, action: GoTo, floor: 2", "ForeignMoved"],
    within: WITHIN,
};

pub(super) const GATEWAY_RESTART: Script = Script {
    safeguard: Safeguard::FlightRecord,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until("L1 is granted to A");
        play.road(Road::Command, RoadEffect::Duplicate { after_ms: Millis::seconds(1) }, Millis(400));
        play.until("L1 is written … number: 1");
        play.kill_gateway(Millis(400));
        play.until("gateway G1 starts");
        play.until("G1 tells C-A1.1");
    },
    danger: &[
        "→ L1 C-A1.1 GoTo F2",
        "twice on the road: Command",
        "L1 is written … number: 1",
        "FAULT GatewayKilled",
        "L1 takes number 1",
        "gateway G1 starts",
    ],
    expects: &[
        "gateway G1 starts",
        "G1 tells C-A1.1 Ran",
        "G1 tells C-A1.1 Ran",
        "→ L1 C-A1.2 OpenDoor F2",
        "T-A1 … Finished",
    ],
    never: &["number: 2, action: GoTo, floor: 2"],
    within: WITHIN,
};

pub(super) const CLOSES: Script = Script {
    safeguard: Safeguard::Verifying,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until("→ L1 C-A1.2 OpenDoor F2");
        play.plc_link(PlcLinkEffect::ClosesInWrite, Millis(100));
        play.until("L1 takes number 2");
    },
    danger: &["L1 is written … number: 2 … Unknown", "L1 takes number 2"],
    expects: &[
        "L1 is written … number: 2 … Unknown",
        "G1 tells C-A1.2 Unknown",
        "G1 tells C-A1.2 Ran",
        "SessionChanged … Boarding",
        "T-A1 … Finished",
    ],
    never: &["number: 3, action: OpenDoor, floor: 2"],
    within: WITHIN,
};

/// The door had begun to move, so that nobody can say any more whether the command is still to come: a person looks.
pub(super) const REBOOT: Script = Script {
    safeguard: Safeguard::BootCounter,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until("→ L1 C-A1.2 OpenDoor F2");
        play.until("L1 takes number 2");
        play.lift_suffers(LiftTrouble::Rebooted);
        play.until_seen("the PLC shows the number 0", |it| it.lift().is_some_and(|lift| lift.accepted == 0));
        play.wait(Millis::seconds(60));
    },
    danger: &["L1 takes number 2", "FAULT … Rebooted", "the PLC has restarted"],
    expects: &["the PLC has restarted", "G1 tells C-A1.2 Unknown", "AlarmRaised … LiftUnverified"],
    never: &["G1 tells C-A1.2 Accepted", "G1 tells C-A1.2 Ran", "G1 tells C-A1.2 NotSent", "number: 3"],
    within: Millis::seconds(120),
};

/// People call the car away from the floor where it was to open: it is told, and called again.
pub(super) const FOREIGN: Script = Script {
    safeguard: Safeguard::ForeignMoves,
    backups: &[],
    checker: Checker::ForeignTold,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until("G1 tells C-A1.1 Accepted");
        play.until_seen("the car is there", |it| {
            it.lift().is_some_and(|lift| lift.levelled && lift.completed == 1)
        });
        play.lift_suffers(LiftTrouble::CalledByPeople { stop: 1 });
        play.until_seen("the car leaves", |it| it.lift().is_some_and(|lift| lift.motion == Motion::Down));
    },
    danger: &["G1 tells C-A1.1 Accepted", "FAULT … CalledByPeople"],
    expects: &[
        "FAULT … CalledByPeople",
        "ForeignMoved … Car",
        "AlarmRaised … LiftForeignCommand",
        "GoTo F2",
        "T-A1 … Finished",
    ],
    never: &["number: 2, action: OpenDoor"],
    within: WITHIN,
};

pub(super) const FROZEN: Script = Script {
    safeguard: Safeguard::FrozenRegisters,
    backups: &[],
    checker: Checker::NothingOutOfService,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        play.until_second(10);
        play.lift_suffers(LiftTrouble::Frozen { for_ms: Millis::seconds(25) });
        play.until("SessionRequested");
    },
    danger: &["FAULT … Frozen", "SessionRequested … L1"],
    expects: &[
        "AlarmRaised … LiftFrozen",
        "SessionRequested … L1",
        "AlarmCleared … LiftFrozen",
        "→ L1 C-A1.1 GoTo F2",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};
