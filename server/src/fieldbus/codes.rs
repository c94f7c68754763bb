//! The numbers that stand for doors, motions, modes and actions in registers, and how a person reads them.

use kernel::lift::{DoorState, LiftAction, LiftMode, Motion};

pub(super) const BOOLEANS: &str = "0 no, 1 yes";
pub(super) const DOORS: &str = "1 closed, 2 opening, 3 open, 4 closing, 5 obstructed";
pub(super) const MOTIONS: &str = "1 still, 2 up, 3 down";
pub(super) const MODES: &str = "1 vehicle, 2 human, 3 fire, 4 maintenance, 5 emergency";
pub(super) const ACTIONS: &str = "1 go to, 2 open door, 3 close door";
pub(super) const STOPS: &str = "stop number, from 1 at the lowest stop";
pub(super) const NUMBERS: &str = "1 to 65535; the PLC runs a number once";

pub(super) fn action_code(action: LiftAction) -> u16 {
    match action {
        LiftAction::GoTo => 1,
        LiftAction::OpenDoor => 2,
        LiftAction::CloseDoor => 3,
    }
}

pub(super) fn action_of(value: u16) -> Option<LiftAction> {
    use LiftAction::{CloseDoor, GoTo, OpenDoor};
    [GoTo, OpenDoor, CloseDoor].into_iter().find(|it| action_code(*it) == value)
}

pub(super) fn door_code(door: DoorState) -> u16 {
    match door {
        DoorState::Closed => 1,
        DoorState::Opening => 2,
        DoorState::Open => 3,
        DoorState::Closing => 4,
        DoorState::Obstructed => 5,
    }
}

pub(super) fn door_of(value: u16) -> Option<DoorState> {
    use DoorState::{Closed, Closing, Obstructed, Open, Opening};
    [Closed, Opening, Open, Closing, Obstructed].into_iter().find(|it| door_code(*it) == value)
}

pub(super) fn motion_code(motion: Motion) -> u16 {
    match motion {
        Motion::Still => 1,
        Motion::Up => 2,
        Motion::Down => 3,
    }
}

pub(super) fn motion_of(value: u16) -> Option<Motion> {
    [Motion::Still, Motion::Up, Motion::Down].into_iter().find(|it| motion_code(*it) == value)
}

pub(super) fn mode_code(mode: LiftMode) -> u16 {
    match mode {
        LiftMode::Vehicle => 1,
        LiftMode::Human => 2,
        LiftMode::Fire => 3,
        LiftMode::Maintenance => 4,
        LiftMode::Emergency => 5,
    }
}

pub(super) fn mode_of(value: u16) -> Option<LiftMode> {
    use LiftMode::{Emergency, Fire, Human, Maintenance, Vehicle};
    [Vehicle, Human, Fire, Maintenance, Emergency].into_iter().find(|it| mode_code(*it) == value)
}
