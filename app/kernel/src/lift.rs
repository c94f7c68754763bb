//! A lift as the gateway reads it, and what may be asked of it.

use serde::{Deserialize, Serialize};

use crate::ids::FloorId;

/// One reading of a PLC, its floor numbers translated to floors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftStatus {
    /// Nearest stop.
    pub floor: FloorId,
    /// The car stands level with that stop.
    pub levelled: bool,
    /// The car door.
    pub door: DoorState,
    /// Whether it travels.
    pub motion: Motion,
    /// Who is served.
    pub mode: LiftMode,
    /// The maker's fault code; 0 means none.
    pub fault: u16,
    /// Number of the last command that the PLC took.
    pub accepted: u16,
    /// Number of the last command that the PLC finished.
    pub completed: u16,
    /// Rises by each start of the PLC.
    pub boot: u16,
    /// Rises by each scan; standing still means frozen.
    pub heartbeat: u16,
    /// Something stands in the car.
    pub occupied: bool,
}

/// The car door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DoorState {
    /// Shut and locked.
    Closed,
    /// On its way open.
    Opening,
    /// Fully open.
    Open,
    /// On its way shut.
    Closing,
    /// Stopped by something in its way.
    Obstructed,
}

/// Whether the car travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Motion {
    /// Stands.
    Still,
    /// Travels up.
    Up,
    /// Travels down.
    Down,
}

/// Who is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LiftMode {
    /// Vehicles, by commands.
    Vehicle,
    /// People, by key switch.
    Human,
    /// The fire service.
    Fire,
    /// Maintenance.
    Maintenance,
    /// Emergency stop.
    Emergency,
}

/// What may be asked of a lift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LiftAction {
    /// Travel to a floor with the door shut.
    GoTo,
    /// Open the door at the floor where the car stands, and keep it open.
    OpenDoor,
    /// Shut the door at the floor where the car stands.
    CloseDoor,
}

/// What a decision took for true; the gateway compares it with its newest read before it writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Expectation {
    /// Where the car stood.
    pub floor: FloorId,
    /// How the door stood.
    pub door: DoorState,
    /// How it moved.
    pub motion: Motion,
    /// Who was served.
    pub mode: LiftMode,
}

impl LiftStatus {
    /// What a command decided on this reading expects.
    pub fn expectation(&self) -> Expectation {
        Expectation { floor: self.floor.clone(), door: self.door, motion: self.motion, mode: self.mode }
    }

    /// The car stands level at the floor and does not move.
    pub fn stands_at(&self, floor: &FloorId) -> bool {
        self.levelled && self.motion == Motion::Still && self.floor == *floor
    }
}
