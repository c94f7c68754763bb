//! A register profile as the site file writes it, and what can be wrong with it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::codes;

/// Most registers that one FC03 may read.
pub const READ_REGISTERS_MAX: u16 = 125;

/// Words of the command block.
pub const COMMAND_WORDS: u16 = 3;

/// A profile as the site file writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Written by the gateway.
    pub command: CommandRegisters,
    /// Read by the gateway.
    pub status: StatusRegisters,
}

/// Addresses of the command block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRegisters {
    /// Of the command.
    pub number: u16,
    /// What to do.
    pub action: u16,
    /// Target of a travel, place of the car for a door.
    pub floor: u16,
}

/// Addresses of the status block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusRegisters {
    /// Nearest stop.
    pub floor: u16,
    /// Level with that stop.
    pub levelled: u16,
    /// The car door.
    pub door: u16,
    /// Whether the car travels.
    pub motion: u16,
    /// Who is served.
    pub mode: u16,
    /// The maker's fault code.
    pub fault: u16,
    /// Number of the last command taken.
    pub accepted: u16,
    /// Number of the last command finished.
    pub completed: u16,
    /// Starts of the PLC.
    pub boot: u16,
    /// Scans of the PLC.
    pub heartbeat: u16,
    /// Something stands in the car.
    pub occupied: u16,
}

/// What is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidProfile {
    /// Two fields share a register.
    #[error("{first} and {second} stand on one register, {register}")]
    Shared {
        /// A field.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Where both stand.
        register: u16,
    },
    /// The command block cannot be one request.
    #[error(
        "the three command registers are not next to each other ({lowest} to {highest}): they are written in one request"
    )]
    CommandScattered {
        /// Lowest address.
        lowest: u16,
        /// Highest address.
        highest: u16,
    },
    /// The status block cannot be one request.
    #[error(
        "the status registers span {span} ({lowest} to {highest}), at most {READ_REGISTERS_MAX} are read in one request"
    )]
    StatusTooWide {
        /// How many registers.
        span: u32,
        /// Lowest address.
        lowest: u16,
        /// Highest address.
        highest: u16,
    },
}

impl Registers {
    /// The registers of [`super::profile::BUILT_IN`].
    pub fn built_in() -> Self {
        Self {
            command: CommandRegisters { number: 100, action: 101, floor: 102 },
            status: StatusRegisters {
                floor: 0,
                levelled: 1,
                door: 2,
                motion: 3,
                mode: 4,
                fault: 5,
                accepted: 6,
                completed: 7,
                boot: 8,
                heartbeat: 9,
                occupied: 10,
            },
        }
    }

    /// Every field with its address and the values that it may hold.
    pub fn fields(&self) -> [(&'static str, u16, &'static str); 14] {
        let (status, command) = (&self.status, &self.command);
        [
            ("status.floor", status.floor, codes::STOPS),
            ("status.levelled", status.levelled, codes::BOOLEANS),
            ("status.door", status.door, codes::DOORS),
            ("status.motion", status.motion, codes::MOTIONS),
            ("status.mode", status.mode, codes::MODES),
            ("status.fault", status.fault, "the maker's fault code, 0 none"),
            ("status.accepted", status.accepted, "number of the last command taken, 0 none since the start"),
            (
                "status.completed",
                status.completed,
                "number of the last command finished, 0 none since the start",
            ),
            ("status.boot", status.boot, "rises by one with each start of the PLC"),
            ("status.heartbeat", status.heartbeat, "rises by one with each scan"),
            ("status.occupied", status.occupied, codes::BOOLEANS),
            ("command.number", command.number, codes::NUMBERS),
            ("command.action", command.action, codes::ACTIONS),
            ("command.floor", command.floor, codes::STOPS),
        ]
    }
}

pub(super) fn shared(fields: &[(&'static str, u16, &'static str)]) -> Vec<InvalidProfile> {
    let mut wrong = Vec::new();
    for (idx, (second, register, _)) in fields.iter().enumerate() {
        if let Some((first, ..)) = fields[..idx].iter().find(|it| it.1 == *register) {
            wrong.push(InvalidProfile::Shared { first, second, register: *register });
        }
    }
    wrong
}
