//! A lift as it is kept over a stop of the process.

use kernel::gateway::CommandBlock;
use kernel::ids::{FloorId, LiftId};
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::plant::Lift;
use kernel::time::{Millis, Mono};
use serde::{Deserialize, Serialize};

use super::trouble::Troubles;
use super::{DoorMove, Intake, LiftCounters, LiftModel, Travel};
use crate::kept::{ThawError, before};

/// PLC, car and door. Who stands in the car is not kept here: the vehicles know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLift {
    floors: Vec<FloorId>,
    span_ms: u64,
    door_ms: u64,
    scan_ms: Millis,
    scan_in_ms: Millis,
    written: Vec<KeptBlock>,
    fresh: Option<KeptBlock>,
    travel: Option<KeptTravel>,
    door_move: Option<KeptDoorMove>,
    height_ms: u64,
    motion: Motion,
    levelled: bool,
    door: DoorState,
    gap_ms: u64,
    mode: LiftMode,
    fault: u16,
    accepted: u16,
    completed: u16,
    boot: u16,
    heartbeat: u16,
    reversed_ago_ms: Vec<Millis>,
    troubles: KeptTroubles,
    counters: KeptCounters,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptBlock {
    number: u16,
    action: LiftAction,
    floor: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptTravel {
    number: Option<u16>,
    stop: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptDoorMove {
    number: Option<u16>,
    open: bool,
    stop: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptCounters {
    writes: u64,
    taken: u64,
    rejected: u64,
    contradictions: u64,
    door_reversals: u64,
    obstructions: u64,
    e_stops: u64,
    door_reversals_most: u64,
    called_by_people: u64,
    vehicles_max: u8,
}

/// Troubles that stand, each for so long yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptTroubles {
    stuck_in_ms: Option<Millis>,
    blocked_in_ms: Option<Millis>,
    frozen_in_ms: Option<Millis>,
    slow: Option<(u8, Millis)>,
    mode_in_ms: Option<Millis>,
    late: Option<(Millis, Millis)>,
    seen: (bool, Millis),
    shown: bool,
}

/// What others see of a lift, apart from its heartbeat, and what troubles it: when it changes, the lift is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiftMark {
    status: LiftStatus,
    counters: LiftCounters,
    troubles: Troubles,
}

impl LiftModel {
    /// What others see of it at this moment.
    pub(crate) fn mark(&self) -> LiftMark {
        LiftMark {
            status: LiftStatus { heartbeat: 0, ..self.status() },
            counters: self.counters,
            troubles: self.troubles.clone(),
        }
    }

    /// All of it. Every field is named, so that a new one is not forgotten.
    pub(crate) fn kept(&self, now: Mono) -> KeptLift {
        let Self {
            floors,
            lowest: _,
            span_ms,
            door_ms,
            scan,
            scan_due,
            // The lab sets it anew.
            intake: _,
            written,
            fresh,
            travel,
            door_move,
            height_ms,
            motion,
            levelled,
            door,
            gap_ms,
            mode,
            fault,
            accepted,
            completed,
            boot,
            heartbeat,
            vehicles: _,
            sill_blocked: _,
            reversed_at,
            troubles,
            counters,
        } = self;
        KeptLift {
            floors: floors.clone(),
            span_ms: *span_ms,
            door_ms: *door_ms,
            scan_ms: *scan,
            scan_in_ms: scan_due.since(now),
            written: written.iter().copied().map(KeptBlock::of).collect(),
            fresh: fresh.map(KeptBlock::of),
            travel: travel.map(|it| KeptTravel { number: it.number, stop: it.stop }),
            door_move: door_move.map(|it| KeptDoorMove { number: it.number, open: it.open, stop: it.stop }),
            height_ms: *height_ms,
            motion: *motion,
            levelled: *levelled,
            door: *door,
            gap_ms: *gap_ms,
            mode: *mode,
            fault: *fault,
            accepted: *accepted,
            completed: *completed,
            boot: *boot,
            heartbeat: *heartbeat,
            reversed_ago_ms: reversed_at.iter().map(|at| now.since(*at)).collect(),
            troubles: KeptTroubles::of(troubles, now),
            counters: KeptCounters::of(*counters),
        }
    }

    /// The lift as it was kept, with an empty car: whoever stands in it is sensed next.
    pub(crate) fn thaw(id: &LiftId, lift: &Lift, kept: KeptLift, now: Mono) -> Result<Self, ThawError> {
        let floors: Vec<FloorId> = lift.stops.iter().map(|stop| stop.floor.clone()).collect();
        let lowest = floors.first().filter(|_| floors == kept.floors);
        let lowest = lowest.cloned().ok_or_else(|| ThawError::OtherStops(id.clone()))?;
        let (span_ms, door_ms) = (lift.travel_per_floor_ms.0.max(1), lift.door_ms.0.max(1));
        if (span_ms, door_ms) != (kept.span_ms, kept.door_ms) {
            return Err(ThawError::OtherTimes(id.clone()));
        }
        let door_move = |it: KeptDoorMove| DoorMove { number: it.number, open: it.open, stop: it.stop };
        Ok(Self {
            floors,
            lowest,
            span_ms,
            door_ms,
            scan: kept.scan_ms,
            scan_due: now + kept.scan_in_ms,
            intake: Intake::default(),
            written: kept.written.into_iter().map(KeptBlock::thaw).collect(),
            fresh: kept.fresh.map(KeptBlock::thaw),
            travel: kept.travel.map(|it| Travel { number: it.number, stop: it.stop }),
            door_move: kept.door_move.map(door_move),
            height_ms: kept.height_ms,
            motion: kept.motion,
            levelled: kept.levelled,
            door: kept.door,
            gap_ms: kept.gap_ms,
            mode: kept.mode,
            fault: kept.fault,
            accepted: kept.accepted,
            completed: kept.completed,
            boot: kept.boot,
            heartbeat: kept.heartbeat,
            vehicles: 0,
            sill_blocked: false,
            reversed_at: kept.reversed_ago_ms.into_iter().map(|span| before(now, span)).collect(),
            troubles: kept.troubles.thaw(now),
            counters: kept.counters.thaw(),
        })
    }
}

impl KeptBlock {
    fn of(block: CommandBlock) -> Self {
        Self { number: block.number, action: block.action, floor: block.floor }
    }

    fn thaw(self) -> CommandBlock {
        CommandBlock { number: self.number, action: self.action, floor: self.floor }
    }
}

impl KeptTroubles {
    fn of(troubles: &Troubles, now: Mono) -> Self {
        let Troubles { stuck_until, blocked_until, frozen_until, slow, mode_until, late, seen, shown } =
            troubles;
        let left = |until: &Mono| until.since(now);
        Self {
            stuck_in_ms: stuck_until.as_ref().map(left),
            blocked_in_ms: blocked_until.as_ref().map(left),
            frozen_in_ms: frozen_until.as_ref().map(left),
            slow: slow.map(|(factor, until)| (factor, left(&until))),
            mode_in_ms: mode_until.as_ref().map(left),
            late: late.map(|(by, until)| (by, left(&until))),
            seen: (seen.0, now.since(seen.1)),
            shown: *shown,
        }
    }

    fn thaw(self, now: Mono) -> Troubles {
        let until = |left: Millis| now + left;
        Troubles {
            stuck_until: self.stuck_in_ms.map(until),
            blocked_until: self.blocked_in_ms.map(until),
            frozen_until: self.frozen_in_ms.map(until),
            slow: self.slow.map(|(factor, left)| (factor, until(left))),
            mode_until: self.mode_in_ms.map(until),
            late: self.late.map(|(by, left)| (by, until(left))),
            seen: (self.seen.0, before(now, self.seen.1)),
            shown: self.shown,
        }
    }
}

impl KeptCounters {
    fn of(counters: LiftCounters) -> Self {
        let LiftCounters {
            writes,
            taken,
            rejected,
            contradictions,
            door_reversals,
            obstructions,
            e_stops,
            door_reversals_most,
            called_by_people,
            vehicles_max,
        } = counters;
        Self {
            writes,
            taken,
            rejected,
            contradictions,
            door_reversals,
            obstructions,
            e_stops,
            door_reversals_most,
            called_by_people,
            vehicles_max,
        }
    }

    fn thaw(self) -> LiftCounters {
        LiftCounters {
            writes: self.writes,
            taken: self.taken,
            rejected: self.rejected,
            contradictions: self.contradictions,
            door_reversals: self.door_reversals,
            obstructions: self.obstructions,
            e_stops: self.e_stops,
            door_reversals_most: self.door_reversals_most,
            called_by_people: self.called_by_people,
            vehicles_max: self.vehicles_max,
        }
    }
}
