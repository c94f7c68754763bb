//! A lift PLC with its doors and its car.
//!
//! It acts once in each scan: it takes the command block that stands in its registers, moves door and car by one
//! scan, and shows the result. A number runs once and 0 never; `accepted` is echoed when a command is taken,
//! `completed` when the car stands level at the target or the door stands fully open or shut. Interlocks hold a
//! command back without refusing it: no travel before the door is shut, no door before the car stands level at the
//! commanded floor.

mod kept;
mod trouble;

use std::collections::VecDeque;

use kernel::gateway::CommandBlock;
use kernel::ids::{FloorId, LiftId};
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::plant::Lift;
use kernel::time::{Millis, Mono};
use kernel::timing::PLC_SCAN_MAX;

pub use kept::KeptLift;
pub(crate) use kept::LiftMark;
pub use trouble::{Intake, LiftTrouble};

use crate::rng::Rng;
use trouble::Troubles;

/// Scans that PLCs of this kind need (A1).
const SCAN_MIN_MS: u64 = 100;
const SCAN_MAX_MS: u64 = PLC_SCAN_MAX.0;

/// So many reversals of a moving door within [`REVERSAL_WINDOW`] trip the emergency stop, as the first field report
/// saw it.
const REVERSALS_MAX: usize = 3;
const REVERSAL_WINDOW: Millis = Millis::seconds(40);

/// Fault code of an emergency stop that door reversals tripped.
pub const FAULT_DOOR_REVERSALS: u16 = 1;
/// Fault code of an emergency stop that another target in mid-travel tripped.
pub const FAULT_CONTRADICTION: u16 = 2;
/// Commands that a PLC which queues them holds; what comes beyond is lost, as in its short memory.
const INTAKE_MAX: usize = 8;

/// What is counted outside the system, since the start of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiftCounters {
    /// Command blocks that arrived, taken or not.
    pub writes: u64,
    /// Commands that the PLC took.
    pub taken: u64,
    /// Commands that it did not take: an unknown stop, or a mode in which nobody is served.
    pub rejected: u64,
    /// Commands that contradict the one in progress, or another one of the same scan (A1).
    pub contradictions: u64,
    /// Moving doors that a command turned round.
    pub door_reversals: u64,
    /// Closing doors that met something on the sill.
    pub obstructions: u64,
    /// Emergency stops that commands tripped.
    pub e_stops: u64,
    /// Most doors that commands turned round within 40 s.
    pub door_reversals_most: u64,
    /// Calls by people that moved the car.
    pub called_by_people: u64,
    /// Most vehicles that were in the car at once.
    pub vehicles_max: u8,
}

/// A travel that is not finished; without a number nobody commanded it.
#[derive(Clone, Copy, Debug)]
struct Travel {
    number: Option<u16>,
    stop: usize,
}

/// A door movement that is not finished.
#[derive(Clone, Copy, Debug)]
struct DoorMove {
    number: Option<u16>,
    open: bool,
    stop: usize,
}

/// One simulated lift.
#[derive(Clone, Debug)]
pub struct LiftModel {
    floors: Vec<FloorId>,
    lowest: FloorId,
    span_ms: u64,
    door_ms: u64,
    scan: Millis,
    scan_due: Mono,
    intake: Intake,
    /// What was written and not taken yet.
    written: VecDeque<CommandBlock>,
    /// Written since the last scan.
    fresh: Option<CommandBlock>,
    travel: Option<Travel>,
    door_move: Option<DoorMove>,
    /// Height above the lowest stop, in milliseconds of travel.
    height_ms: u64,
    motion: Motion,
    levelled: bool,
    door: DoorState,
    /// How far the door is open, in milliseconds of its movement.
    gap_ms: u64,
    mode: LiftMode,
    fault: u16,
    accepted: u16,
    completed: u16,
    boot: u16,
    heartbeat: u16,
    vehicles: u8,
    sill_blocked: bool,
    reversed_at: Vec<Mono>,
    troubles: Troubles,
    counters: LiftCounters,
}

impl LiftModel {
    /// A lift at its lowest stop with a shut door. `boot` is what its boot counter shows; scan period and phase come
    /// from the seed. None for a lift without stops, which no valid plant has.
    pub fn new(id: &LiftId, lift: &Lift, boot: u16, seed: u64, now: Mono) -> Option<Self> {
        let lowest = lift.stops.first()?.floor.clone();
        let mut rng = Rng::new(seed, id.as_str());
        let scan = Millis(rng.within(SCAN_MIN_MS..=SCAN_MAX_MS));
        Some(Self {
            floors: lift.stops.iter().map(|stop| stop.floor.clone()).collect(),
            lowest,
            span_ms: lift.travel_per_floor_ms.0.max(1),
            door_ms: lift.door_ms.0.max(1),
            scan,
            scan_due: now + Millis(rng.within(1..=scan.0)),
            intake: Intake::Overwrites,
            written: VecDeque::new(),
            fresh: None,
            troubles: Troubles::default(),
            travel: None,
            door_move: None,
            height_ms: 0,
            motion: Motion::Still,
            levelled: true,
            door: DoorState::Closed,
            gap_ms: 0,
            mode: LiftMode::Vehicle,
            fault: 0,
            accepted: 0,
            completed: 0,
            boot,
            heartbeat: 0,
            vehicles: 0,
            sill_blocked: false,
            reversed_at: Vec::new(),
            counters: LiftCounters::default(),
        })
    }

    /// Period of the scan, 100 to 300 ms.
    pub fn scan_ms(&self) -> Millis {
        self.scan
    }

    /// When the next scan is due.
    pub fn scan_due(&self) -> Mono {
        self.scan_due
    }

    /// What was counted so far.
    pub fn counters(&self) -> LiftCounters {
        self.counters
    }

    /// Writes the command block, at any time; the next scan takes it.
    pub fn write(&mut self, block: CommandBlock) {
        self.counters.writes += 1;
        let same = |it: CommandBlock| it.action == block.action && it.floor == block.floor;
        if self.fresh.is_some_and(|earlier| earlier.number != 0 && !same(earlier)) {
            self.counters.contradictions += 1;
        }
        self.fresh = Some(block);
        if self.intake == Intake::Overwrites {
            self.written.clear();
        }
        if self.written.len() < INTAKE_MAX {
            self.written.push_back(block);
        }
    }

    /// Switches how it treats commands within one scan.
    pub fn set_intake(&mut self, intake: Intake) {
        self.intake = intake;
    }

    /// Makes it scan this often, from the next scan on.
    pub fn set_scan(&mut self, scan: Millis) {
        self.scan = scan;
    }

    /// What its sensors see: how many vehicles are in the car or on its sill, and whether one is on the sill.
    pub fn sense(&mut self, vehicles: u8, sill_blocked: bool) {
        self.vehicles = vehicles;
        self.sill_blocked = sill_blocked;
        self.counters.vehicles_max = self.counters.vehicles_max.max(vehicles);
    }

    /// Runs the scan that is due; does nothing before [`Self::scan_due`].
    pub fn scan(&mut self, now: Mono) {
        if now < self.scan_due {
            return;
        }
        let factor = self.troubles.slow.map_or(1, |(factor, _)| u64::from(factor));
        self.scan_due = self.scan_due + self.scan.times(factor);
        if self.suffer(now) {
            return;
        }
        self.heartbeat = self.heartbeat.wrapping_add(1);
        self.fresh = None;
        if let Some(block) = self.written.pop_front() {
            self.take(block, now);
        }
        if self.may_move() {
            self.move_door();
            self.move_car();
        }
    }

    /// Starts the PLC again: it forgets every command, and its boot counter rises. The door stays as it is, and a car
    /// between two stops creeps to the nearest. A PLC that hung scans again.
    pub fn reboot(&mut self) {
        self.boot = self.boot.wrapping_add(1);
        self.accepted = 0;
        self.completed = 0;
        self.written.clear();
        (self.troubles.frozen_until, self.troubles.slow) = (None, None);
        self.halt();
        if !self.levelled {
            self.travel = Some(Travel { number: None, stop: self.nearest() });
        }
    }

    /// What its registers show.
    pub fn status(&self) -> LiftStatus {
        LiftStatus {
            floor: self.floors.get(self.nearest()).unwrap_or(&self.lowest).clone(),
            levelled: self.levelled,
            door: self.door,
            motion: self.motion,
            mode: self.mode,
            fault: self.fault,
            accepted: self.accepted,
            completed: self.completed,
            boot: self.boot,
            heartbeat: self.heartbeat,
            occupied: self.occupied(),
        }
    }

    /// The car travels, and no command said so.
    pub(crate) fn travels_unbidden(&self) -> bool {
        let unbidden = self.travel.is_some_and(|it| it.number.is_none());
        unbidden && self.motion != Motion::Still && self.mode == LiftMode::Vehicle
    }

    /// Whether the car stands level at the floor with its door fully open: what a vehicle before it sees.
    pub fn open_at(&self, floor: &FloorId) -> bool {
        self.door == DoorState::Open && self.stands_level() && self.floors.get(self.nearest()) == Some(floor)
    }

    /// Whether radio passes the door.
    pub fn lets_radio_pass(&self) -> bool {
        matches!(self.door, DoorState::Open | DoorState::Obstructed)
    }

    fn nearest(&self) -> usize {
        usize::try_from((self.height_ms + self.span_ms / 2) / self.span_ms).unwrap_or(0)
    }

    fn stands_level(&self) -> bool {
        self.levelled && self.motion == Motion::Still
    }

    fn take(&mut self, block: CommandBlock, now: Mono) {
        if block.number == 0 || block.number == self.accepted {
            return;
        }
        let stop = usize::from(block.floor).wrapping_sub(1);
        if stop >= self.floors.len() || self.mode != LiftMode::Vehicle {
            self.counters.rejected += 1;
            return;
        }
        self.accepted = block.number;
        self.counters.taken += 1;
        let number = Some(block.number);
        match block.action {
            LiftAction::GoTo => self.take_travel(Travel { number, stop }),
            LiftAction::OpenDoor => self.take_door(DoorMove { number, open: true, stop }, now),
            LiftAction::CloseDoor => self.take_door(DoorMove { number, open: false, stop }, now),
        }
    }

    fn take_travel(&mut self, travel: Travel) {
        if self.motion != Motion::Still && self.travel.is_some_and(|it| it.stop != travel.stop) {
            self.counters.contradictions += 1;
            self.stop_in_emergency(FAULT_CONTRADICTION);
            return;
        }
        self.travel = Some(travel);
    }

    fn take_door(&mut self, door_move: DoorMove, now: Mono) {
        let turns = match self.door {
            DoorState::Opening => !door_move.open,
            DoorState::Closing => door_move.open,
            DoorState::Closed | DoorState::Open | DoorState::Obstructed => false,
        };
        self.door_move = Some(door_move);
        if turns {
            self.counters.contradictions += 1;
            self.counters.door_reversals += 1;
            self.reversed_at.retain(|at| now.since(*at) < REVERSAL_WINDOW);
            self.reversed_at.push(now);
            let recent = u64::try_from(self.reversed_at.len()).unwrap_or(u64::MAX);
            self.counters.door_reversals_most = self.counters.door_reversals_most.max(recent);
        }
        if self.reversed_at.len() >= REVERSALS_MAX {
            self.stop_in_emergency(FAULT_DOOR_REVERSALS);
        }
    }

    fn stop_in_emergency(&mut self, fault: u16) {
        self.mode = LiftMode::Emergency;
        self.fault = fault;
        self.counters.e_stops += 1;
        self.reversed_at.clear();
        self.halt();
    }

    fn halt(&mut self) {
        self.travel = None;
        self.door_move = None;
        self.motion = Motion::Still;
        if matches!(self.door, DoorState::Opening | DoorState::Closing) {
            self.door = DoorState::Obstructed;
        }
    }

    fn move_door(&mut self) {
        if self.troubles.stuck_until.is_some() {
            return;
        }
        let Some(door_move) = self.door_move.or_else(|| self.shut_for_people()) else { return };
        if !self.stands_level() || self.nearest() != door_move.stop {
            return;
        }
        if door_move.open {
            self.open_further(DoorState::Opening);
        } else if self.sill_blocked || self.troubles.blocked_until.is_some() {
            self.give_way();
        } else {
            self.gap_ms = self.gap_ms.saturating_sub(self.scan.0);
            self.door = if self.gap_ms == 0 { DoorState::Closed } else { DoorState::Closing };
        }
        let end = if door_move.open { DoorState::Open } else { DoorState::Closed };
        if self.door == end {
            self.completed = door_move.number.unwrap_or(self.completed);
            self.door_move = None;
        }
    }

    /// A call by people shuts the door by itself before the car leaves.
    fn shut_for_people(&self) -> Option<DoorMove> {
        let travel = self.travel.filter(|it| it.number.is_none() && it.stop != self.nearest())?;
        let open = self.door != DoorState::Closed;
        open.then_some(DoorMove { number: travel.number, open: false, stop: self.nearest() })
    }

    fn open_further(&mut self, shown: DoorState) {
        self.gap_ms = (self.gap_ms + self.scan.0).min(self.door_ms);
        self.door = if self.gap_ms == self.door_ms { DoorState::Open } else { shown };
    }

    /// The command to close stays in force: the door opens again and closes once the sill is free.
    fn give_way(&mut self) {
        if self.door == DoorState::Closing {
            self.counters.obstructions += 1;
        }
        if self.door != DoorState::Closed {
            self.open_further(DoorState::Obstructed);
            self.door = DoorState::Obstructed;
        }
    }

    fn move_car(&mut self) {
        let Some(travel) = self.travel else { return };
        let target_ms = travel.stop as u64 * self.span_ms;
        if self.height_ms == target_ms {
            // Levelling took one scan after the wheels stopped.
            self.motion = Motion::Still;
            self.levelled = true;
            self.completed = travel.number.unwrap_or(self.completed);
            self.travel = None;
        } else if self.door == DoorState::Closed {
            self.levelled = false;
            if self.height_ms < target_ms {
                self.height_ms = (self.height_ms + self.scan.0).min(target_ms);
                self.motion = Motion::Up;
            } else {
                self.height_ms = self.height_ms.saturating_sub(self.scan.0).max(target_ms);
                self.motion = Motion::Down;
            }
        }
    }
}

#[cfg(test)]
mod tests;
