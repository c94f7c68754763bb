//! A lift as the gateway reads it, and what may be asked of it.

use serde::{Deserialize, Serialize};

use crate::ids::{FloorId, NodeId};
use crate::time::Mono;
use crate::timing::PLC_SCAN_MAX;

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

/// What one node asked of a lift, and when that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Who.
    pub by: &'a NodeId,
    /// What to do.
    pub action: LiftAction,
    /// Where.
    pub floor: &'a FloorId,
    /// When.
    pub at: Mono,
}

impl Asked<'_> {
    /// They come from two nodes, ask for different things, and lie within one scan of the PLC (A1).
    pub fn contradicts(&self, other: &Self) -> bool {
        let apart = self.at.since(other.at).max(other.at.since(self.at));
        let differs = (self.action, self.floor) != (other.action, other.floor);
        self.by != other.by && differs && apart <= PLC_SCAN_MAX
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn two_nodes_contradict_each_other_within_one_scan_alone() {
        let scan = PLC_SCAN_MAX.0;
        let rows = [
            ("another node wants another thing at once", "B", LiftAction::CloseDoor, "F1", 0, true),
            ("or another floor, a scan later", "B", LiftAction::OpenDoor, "F2", scan, true),
            ("later than a scan", "B", LiftAction::CloseDoor, "F1", scan + 1, false),
            ("the same thing", "B", LiftAction::OpenDoor, "F1", 0, false),
            ("one node changes its mind", "A", LiftAction::CloseDoor, "F1", 0, false),
        ];
        let (first, here) = (fixture::node("A"), fixture::floor("F1"));
        let asked = Asked { by: &first, action: LiftAction::OpenDoor, floor: &here, at: Mono(1000) };
        for (what, by, action, floor, later, expected) in rows {
            let (by, floor) = (fixture::node(by), fixture::floor(floor));
            let other = Asked { by: &by, action, floor: &floor, at: Mono(1000 + later) };
            let both = (asked.contradicts(&other), other.contradicts(&asked));
            assert_eq!(both, (expected, expected), "{what}");
        }
    }
}
