//! The PLC of the model: it takes what stands in its register at a scan, and finishes it at the next.

use kernel::gateway::CommandBlock;
use kernel::lift::{DoorState, LiftAction, LiftStatus, Motion};

use crate::fixture;

/// Stops of the lift, from the lowest.
const FLOORS: [&str; 2] = ["F1", "F2"];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plc {
    /// What a read shows.
    pub(super) shown: LiftStatus,
    /// The block that was written last, and for which command.
    register: Option<(CommandBlock, usize)>,
    running: Option<CommandBlock>,
    /// Numbers that ran, with their command.
    pub(super) ran: Vec<(u16, usize)>,
}

impl Plc {
    pub(super) fn new(occupied: bool) -> Self {
        let shown = LiftStatus { occupied, ..fixture::status("F1", DoorState::Closed) };
        Self { shown, register: None, running: None, ran: Vec::new() }
    }

    /// Takes a block into its register; false when one that differs stood there and was not taken yet.
    pub(super) fn write(&mut self, block: CommandBlock, command: usize) -> bool {
        let waits = self.register.filter(|(it, _)| it.number != self.shown.accepted);
        self.register = Some((block, command));
        waits.is_none_or(|(it, _)| (it.action, it.floor) == (block.action, block.floor))
    }

    /// False when it took a command that contradicts the one that it is doing.
    pub(super) fn scan(&mut self) -> bool {
        self.shown.heartbeat += 1;
        let taken = self.register.filter(|(it, _)| it.number != self.shown.accepted);
        let agrees = match (self.running, taken) {
            (Some(running), Some((block, _))) => {
                (running.action, running.floor) == (block.action, block.floor)
            }
            (Some(_), None) | (None, _) => true,
        };
        if let Some(block) = self.running.take() {
            self.finish(block);
        }
        if let Some((block, command)) = taken {
            self.shown.accepted = block.number;
            self.ran.push((block.number, command));
            self.begin(block);
        }
        agrees
    }

    fn begin(&mut self, block: CommandBlock) {
        let shown = &mut self.shown;
        let there = shown.floor == floor_of(block);
        match block.action {
            LiftAction::OpenDoor if there && shown.door != DoorState::Open => shown.door = DoorState::Opening,
            LiftAction::CloseDoor if there && shown.door != DoorState::Closed => {
                shown.door = DoorState::Closing
            }
            LiftAction::GoTo if !there => {
                shown.motion = if block.floor == 1 { Motion::Down } else { Motion::Up };
                shown.levelled = false;
            }
            LiftAction::OpenDoor | LiftAction::CloseDoor | LiftAction::GoTo => {
                self.finish(block);
                return;
            }
        }
        self.running = Some(block);
    }

    fn finish(&mut self, block: CommandBlock) {
        let shown = &mut self.shown;
        shown.completed = block.number;
        match block.action {
            LiftAction::OpenDoor => shown.door = DoorState::Open,
            LiftAction::CloseDoor => shown.door = DoorState::Closed,
            LiftAction::GoTo => {
                (shown.floor, shown.motion, shown.levelled) = (floor_of(block), Motion::Still, true);
            }
        }
    }
}

fn floor_of(block: CommandBlock) -> kernel::ids::FloorId {
    fixture::floor(FLOORS[usize::from(block.floor) - 1])
}

/// What a node wants of a lift that it sees so. The two want different things, and either turns a movement round.
pub(super) fn wish(node: usize, seen: &LiftStatus) -> (LiftAction, &'static str) {
    let [low, high] = FLOORS;
    let (here, there) = if seen.floor.as_str() == low { (low, high) } else { (high, low) };
    match (seen.motion, seen.door) {
        (Motion::Up, _) => (LiftAction::GoTo, low),
        (Motion::Down, _) => (LiftAction::GoTo, high),
        (Motion::Still, DoorState::Closed) if node == 1 => (LiftAction::GoTo, there),
        (Motion::Still, DoorState::Open) if node == 0 => (LiftAction::OpenDoor, here),
        (Motion::Still, DoorState::Closed | DoorState::Closing) => (LiftAction::OpenDoor, here),
        (Motion::Still, DoorState::Opening | DoorState::Open | DoorState::Obstructed) => {
            (LiftAction::CloseDoor, here)
        }
    }
}
