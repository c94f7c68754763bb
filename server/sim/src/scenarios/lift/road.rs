//! Commands that come late, twice, or to a lift that is no longer as they saw it.

use kernel::lift::Motion;
use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use crate::checkers::Checker;
use crate::fault::{Road, RoadEffect};
use crate::lift::LiftTrouble;
use crate::scenarios::{Orders, Play, Script, Site};

const WITHIN: Millis = Millis::seconds(600);
/// V2 fetches the load beside it; the car comes up to it empty (C-A1.1), and opens (C-A1.2).
const DOWN: Orders = Orders::Listed(&[(5, "S2", "S1")]);

/// What leaves under the first lease suffers.
fn trouble_the_first_command(play: &mut Play, effect: RoadEffect) {
    play.until("L1 is granted to A");
    play.road(Road::Command, effect, Millis(400));
}

pub(super) const DUPLICATE_CALL: Script = Script {
    safeguard: Safeguard::OutcomeMemory,
    backups: &[],
    checker: Checker::VerdictTrue,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        trouble_the_first_command(play, RoadEffect::Duplicate { after_ms: Millis(50) });
        play.until("twice on the road: Command");
    },
    danger: &["→ L1 C-A1.1 GoTo F2", "twice on the road: Command", "L1 takes number 1"],
    expects: &["G1 tells C-A1.1 Accepted", "→ L1 C-A1.2 OpenDoor F2", "T-A1 … Finished"],
    never: &["G1 tells C-A1.1 Refused", "number: 2, action: GoTo, floor: 2"],
    within: WITHIN,
};

/// The view is young enough; only it is no longer true.
pub(super) const STALE_READ: Script = Script {
    safeguard: Safeguard::Expectation,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site { floors: 3, travel: Millis(800), ..Site::with(3) },
    orders: Orders::Listed(&[(5, "S3", "S1")]),
    play: |play| {
        trouble_the_first_command(play, RoadEffect::Delay { by_ms: Millis(2200) });
        play.until("→ L1 C-A1.1 GoTo F3");
        play.lift_suffers(LiftTrouble::CalledByPeople { stop: 2 });
        play.until_seen("the car stands on F2", |it| {
            it.lift().is_some_and(|lift| {
                lift.floor.as_str() == "F2" && lift.levelled && lift.motion == Motion::Still
            })
        });
    },
    danger: &["→ L1 C-A1.1 GoTo F3", "late on the road: Command", "FAULT … CalledByPeople"],
    expects: &[
        "G1 tells C-A1.1 Refused { reason: ExpectationMissed",
        "→ L1 C-A1.2 GoTo F3",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};

/// Those of node and gateway back, that of the lease store ahead.
fn set_clocks_while_a_command_is_late(play: &mut Play, by_ms: i64) {
    trouble_the_first_command(play, RoadEffect::Delay { by_ms: Millis::seconds(4) });
    play.until("late on the road: Command");
    play.step_clocks(-by_ms, -by_ms, by_ms);
}

pub(super) const LATE_COMMAND: Script = Script {
    safeguard: Safeguard::ReadAge,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site::with(2),
    orders: DOWN,
    play: |play| {
        trouble_the_first_command(play, RoadEffect::Delay { by_ms: Millis::seconds(5) });
        play.until("late on the road: Command");
    },
    danger: &["→ L1 C-A1.1 GoTo F2", "late on the road: Command"],
    expects: &[
        "AlarmRaised … LiftUnverified",
        "G1 tells C-A1.1 Refused { reason: StaleRead }",
        "→ L1 C-A1.2 GoTo F2",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};

/// As far as a time server that was away sets a clock: it still makes what is four seconds old look fresh.
pub(super) const CLOCK_STEP_3S: Script =
    Script { play: |play| set_clocks_while_a_command_is_late(play, 3000), ..CLOCK_STEP };

/// By a clock that was set back, what was read four seconds ago is from the future, and fresh.
pub(super) const CLOCK_STEP: Script = Script {
    safeguard: Safeguard::SteadyClock,
    backups: &[],
    checker: Checker::NothingStale,
    site: Site::with(2),
    orders: DOWN,
    play: |play| set_clocks_while_a_command_is_late(play, 60_000),
    danger: &["late on the road: Command", "FAULT ClockStepped … A", "FAULT ClockStepped … G1"],
    expects: &[
        "FAULT ClockStepped … G1",
        "G1 tells C-A1.1 Refused { reason: StaleRead }",
        "→ L1 C-A1.2 GoTo F2",
        "T-A1 … Finished",
    ],
    never: &[],
    within: WITHIN,
};
