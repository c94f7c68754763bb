//! The PLC of the model, and what becomes of it: the truth that a gateway has to find out.

use std::collections::BTreeSet;

use kernel::gateway::CommandBlock;
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};

use crate::fixture;

/// Stops of the lift, from the lowest.
pub(super) const FLOORS: [&str; 2] = ["F1", "F2"];

/// A PLC that takes what stands in its register at its next scan, runs a number once and finishes when told to.
#[derive(Clone, Debug)]
pub(super) struct Plc {
    /// What a read shows.
    pub(super) shown: LiftStatus,
    /// The block that was written last.
    pub(super) register: Option<CommandBlock>,
    /// The block that it runs.
    running: Option<CommandBlock>,
    /// Numbers that it took since it started.
    pub(super) took: BTreeSet<u16>,
}

/// What happens to a lift without the gateway.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The PLC starts anew and has forgotten all.
    Reboot,
    /// People turn the key, or give it back.
    Mode(LiftMode),
    /// A fault comes or goes.
    Fault(u16),
    /// Something stands in the car, or no longer.
    Occupied(bool),
    /// The door moves by itself.
    Door(DoorState),
    /// The car moves by itself.
    Motion(Motion),
    /// The car stands beside the stop, or level with it.
    Levelled(bool),
    /// All of it is as a vehicle needs it.
    Calm,
}

impl Plc {
    pub(super) fn new() -> Self {
        let shown = fixture::status("F1", DoorState::Closed);
        Self { shown, register: None, running: None, took: BTreeSet::new() }
    }

    pub(super) fn scan(&mut self) {
        self.shown.heartbeat = self.shown.heartbeat.wrapping_add(1);
        if let Some(block) = self.register.filter(|it| it.number != self.shown.accepted) {
            self.shown.accepted = block.number;
            self.took.insert(block.number);
            self.running = Some(block);
        }
    }

    pub(super) fn finish(&mut self) {
        let Some(block) = self.running.take() else { return };
        self.shown.completed = block.number;
        match block.action {
            LiftAction::OpenDoor => self.shown.door = DoorState::Open,
            LiftAction::CloseDoor => self.shown.door = DoorState::Closed,
            LiftAction::GoTo => {
                self.shown.floor = fixture::floor(FLOORS.get(usize::from(block.floor) - 1).expect("a stop"));
            }
        }
    }

    /// It runs this number, or will at its next scan.
    pub(super) fn may_run(&self, number: u16) -> bool {
        let is_it = |it: CommandBlock| it.number == number;
        self.running.is_some_and(is_it) || self.register.is_some_and(is_it) && !self.took.contains(&number)
    }

    pub(super) fn change(&mut self, change: Change) {
        let shown = &mut self.shown;
        match change {
            Change::Mode(mode) => shown.mode = mode,
            Change::Fault(code) => shown.fault = code,
            Change::Occupied(occupied) => shown.occupied = occupied,
            Change::Door(door) => shown.door = door,
            Change::Motion(motion) => shown.motion = motion,
            Change::Levelled(levelled) => shown.levelled = levelled,
            Change::Calm => {
                let door = if shown.door == DoorState::Open { DoorState::Open } else { DoorState::Closed };
                let calm = fixture::status(shown.floor.as_str(), door);
                let LiftStatus { accepted, completed, boot, heartbeat, .. } = shown.clone();
                *shown = LiftStatus { accepted, completed, boot, heartbeat, ..calm };
            }
            Change::Reboot => {
                shown.boot += 1;
                (shown.accepted, shown.completed) = (0, 0);
                (self.register, self.running) = (None, None);
                self.took.clear();
            }
        }
    }
}
