//! Movements that nobody commanded, as a hall call by people or a second master makes them (A16).
//!
//! Judged from one read to the next: what moves is explained by a command that the PLC took from this gateway and has
//! not finished. A car that levels itself with its door open, as vehicles roll in, was not commanded and is no news.
//! Knows nothing of who moved it; a PLC that serves people, or was not seen at rest since it started, may move as it likes.

use crate::ids::FloorId;
use crate::lift::{DoorState, LiftMode, LiftStatus, Motion};
use crate::time::{Mono, Now};
use crate::timing::{LIFT_POLL_PERIOD, PLC_SETTLE};
use crate::wire::gateway::{ForeignMove, ForeignPart};

/// Numbers that this gateway gave last. A PLC that took one of them late still took it from this gateway.
const NUMBERS_OWN: u16 = 64;

/// A PLC may say that it has finished before its door or its motion does: so many reads later at the latest, all rests.
const ENDING_READS: u8 = (PLC_SETTLE.0 / LIFT_POLL_PERIOD.0) as u8;

/// How the movement stands that is seen now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Standing {
    /// The lift was not seen at rest since the gateway or the PLC began, or since people were served.
    #[default]
    Open,
    /// It rests, or does what it was commanded.
    Explained,
    /// It has finished what it was commanded and is not at rest yet; reads that are left until it has to be.
    Ending(u8),
    /// It moves, and nobody commanded that.
    Foreign,
}

/// The newest movement that nobody commanded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    part: ForeignPart,
    floor: FloorId,
    at: Mono,
}

/// One lift, watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ForeignWatch {
    standing: Standing,
    nth: u64,
    newest: Option<Seen>,
}

impl ForeignWatch {
    /// Takes a read. `before` is the one before it, `number` the last that this gateway gave. True when something began
    /// to move that nobody commanded. A command that is on its way explains nothing before the PLC shows its number.
    pub(super) fn read(
        &mut self,
        before: Option<&LiftStatus>,
        after: &LiftStatus,
        number: u16,
        now: Now,
    ) -> bool {
        let before =
            before.filter(|it| it.boot == after.boot && serves_vehicles(it) && serves_vehicles(after));
        let at_rest = rests(after, number);
        let Some(before) = before else {
            self.standing = if at_rest { Standing::Explained } else { Standing::Open };
            return false;
        };
        let finishing = |it: &LiftStatus| it.accepted != it.completed && is_own(it.accepted, number);
        let own = finishing(before) || finishing(after) || took_own(before, after, number);
        let ends = finishing(before) && !finishing(after) && !at_rest;
        let moved = moved(before, after, number, own);
        let (standing, found) = match (self.standing, moved) {
            (Standing::Open, _) if !at_rest => (Standing::Open, None),
            (Standing::Explained, None) if ends => (Standing::Ending(ENDING_READS), None),
            (Standing::Ending(left @ 1..), Some(ForeignPart::Car | ForeignPart::Door) | None) if !own => {
                (if at_rest { Standing::Explained } else { Standing::Ending(left - 1) }, None)
            }
            (Standing::Foreign, _) if !at_rest && !own => (Standing::Foreign, None),
            // What it did on its way here was told when it began.
            (Standing::Open | Standing::Foreign, _) => (Standing::Explained, None),
            (Standing::Explained | Standing::Ending(_), Some(part)) => {
                (if at_rest { Standing::Explained } else { Standing::Foreign }, Some(part))
            }
            (Standing::Explained | Standing::Ending(_), None) => (Standing::Explained, None),
        };
        self.standing = standing;
        if let Some(part) = found {
            self.nth += 1;
            self.newest = Some(Seen { part, floor: after.floor.clone(), at: now.mono });
        }
        found.is_some()
    }

    /// The newest one, for the state that the gateway tells.
    pub(super) fn newest(&self, now: Now) -> Option<ForeignMove> {
        let Seen { part, floor, at } = self.newest.clone()?;
        let over = self.standing != Standing::Foreign;
        Some(ForeignMove { nth: self.nth, part, floor, age_ms: now.mono.since(at), over })
    }
}

/// What changed between two reads, or is under way, without a command of this gateway.
fn moved(before: &LiftStatus, after: &LiftStatus, number: u16, own: bool) -> Option<ForeignPart> {
    if before.accepted != after.accepted && !took_own(before, after, number) {
        return Some(ForeignPart::Command);
    }
    if own {
        return None;
    }
    let levels = is_open(after) && after.floor == before.floor;
    let travels = after.motion != Motion::Still || after.floor != before.floor;
    if !levels && (travels || before.levelled && !after.levelled) {
        return Some(ForeignPart::Car);
    }
    let same_door = before.door == after.door || is_open(before) && is_open(after);
    (!same_door).then_some(ForeignPart::Door)
}

/// A door that stands open may be shown as obstructed while somebody crosses the sill.
fn is_open(status: &LiftStatus) -> bool {
    match status.door {
        DoorState::Open | DoorState::Obstructed => true,
        DoorState::Closed | DoorState::Opening | DoorState::Closing => false,
    }
}

/// The PLC took a number of this gateway: one that it gave not long ago, and after the one that was shown before.
fn took_own(before: &LiftStatus, after: &LiftStatus, number: u16) -> bool {
    let back = |it: &LiftStatus| number.wrapping_sub(it.accepted);
    before.accepted != after.accepted && is_own(after.accepted, number) && back(after) < back(before)
}

fn is_own(accepted: u16, number: u16) -> bool {
    number.wrapping_sub(accepted) < NUMBERS_OWN
}

fn serves_vehicles(status: &LiftStatus) -> bool {
    status.mode == LiftMode::Vehicle && status.fault == 0
}

/// Nothing moves, and nobody else's command is under way.
fn rests(status: &LiftStatus, number: u16) -> bool {
    let door_stands = match status.door {
        DoorState::Open | DoorState::Closed => true,
        DoorState::Opening | DoorState::Closing | DoorState::Obstructed => false,
    };
    let theirs = status.accepted != status.completed && !is_own(status.accepted, number);
    status.levelled && status.motion == Motion::Still && door_stands && !theirs
}
