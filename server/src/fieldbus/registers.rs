//! A register profile as the site file writes it, and what can be wrong with it.

use kernel::plant::Capabilities;
use kernel::time::Millis;
use kernel::timing::PLC_SETTLE;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::codes;

/// Most registers that one FC03 may read.
pub const READ_REGISTERS_MAX: u16 = 125;

/// What a lift may take to show that it does what was asked, in seconds. Less than the shortest nobody can see, at five
/// reads a second of a PLC that may be held up for a scan or two; a lift that takes longer than the longest is broken.
pub(super) const REACTION_S: std::ops::RangeInclusive<f64> = 1.0..=10.0;

/// A field, where it stands, and the values that it may hold.
pub type Field = (&'static str, u16, &'static str);

/// A profile as the site file writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Longest time from a command until the lift shows that it does it, in seconds; counts without echo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction_s: Option<f64>,
    /// Written by the gateway.
    pub command: CommandRegisters,
    /// Read by the gateway.
    pub status: StatusRegisters,
}

/// Addresses of the command block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRegisters {
    /// Of the command; only with `accepted` and `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
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
    /// Number of the last command taken; only with `number` and `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u16>,
    /// Number of the last command finished; only with `number` and `accepted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<u16>,
    /// Starts of the PLC, if it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<u16>,
    /// Scans of the PLC, if it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat: Option<u16>,
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
        "the command registers are not next to each other ({lowest} to {highest}): they are written in one request"
    )]
    CommandScattered {
        /// Lowest address.
        lowest: u16,
        /// Highest address.
        highest: u16,
    },
    /// An echo is a number that comes back twice: one part of it is worth nothing.
    #[error(
        "claims an echo that it does not map: {has} is there and {lacks} is not; map command.number, status.accepted and status.completed, or none of the three"
    )]
    HalfEcho {
        /// A part that is mapped.
        has: &'static str,
        /// One that is not.
        lacks: &'static str,
    },
    /// Nobody could see so soon what a lift does, or would wait for so long.
    #[error("reaction_s is {found}; it must lie between {} and {} s", REACTION_S.start(), REACTION_S.end())]
    Reaction {
        /// What stands there.
        found: String,
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

impl InvalidProfile {
    /// The field that it is about, if one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::HalfEcho { has, .. } => Some(has),
            Self::Shared { second, .. } => Some(second),
            Self::Reaction { .. } => Some("reaction_s"),
            Self::CommandScattered { .. } => Some("command"),
            Self::StatusTooWide { .. } => Some("status"),
        }
    }
}

impl Registers {
    /// The registers of [`super::profile::BUILT_IN`].
    pub fn built_in() -> Self {
        Self {
            reaction_s: None,
            command: CommandRegisters { number: Some(100), action: 101, floor: 102 },
            status: StatusRegisters {
                floor: 0,
                levelled: 1,
                door: 2,
                motion: 3,
                mode: 4,
                fault: 5,
                accepted: Some(6),
                completed: Some(7),
                boot: Some(8),
                heartbeat: Some(9),
                occupied: 10,
            },
        }
    }

    /// What the PLC tells, by what is mapped.
    pub fn capabilities(&self) -> Capabilities {
        let reaction_ms = self.reaction_s.map_or(PLC_SETTLE, |it| Millis((it * 1000.0).round() as u64));
        Capabilities {
            echo: self.echo_parts().iter().all(|(_, register)| register.is_some()),
            boot: self.status.boot.is_some(),
            heartbeat: self.status.heartbeat.is_some(),
            reaction_ms,
        }
    }

    fn echo_parts(&self) -> [(&'static str, Option<u16>); 3] {
        [
            ("command.number", self.command.number),
            ("status.accepted", self.status.accepted),
            ("status.completed", self.status.completed),
        ]
    }

    /// What is wrong with what it claims, wherever its registers stand.
    pub(super) fn claims(&self) -> Vec<InvalidProfile> {
        let parts = self.echo_parts();
        let part = |mapped: bool| parts.iter().find(|(_, register)| register.is_some() == mapped);
        let half = part(true).zip(part(false));
        let half = half.map(|((has, _), (lacks, _))| InvalidProfile::HalfEcho { has, lacks });
        let reaction = self.reaction_s.filter(|it| !REACTION_S.contains(it));
        let reaction = reaction.map(|it| InvalidProfile::Reaction { found: it.to_string() });
        half.into_iter().chain(reaction).collect()
    }

    /// Every mapped field of the status block.
    pub fn status_fields(&self) -> Vec<Field> {
        let at = &self.status;
        let maybe = |name, register: Option<u16>, values| register.map(|it| (name, it, values));
        [
            Some(("status.floor", at.floor, codes::STOPS)),
            Some(("status.levelled", at.levelled, codes::BOOLEANS)),
            Some(("status.door", at.door, codes::DOORS)),
            Some(("status.motion", at.motion, codes::MOTIONS)),
            Some(("status.mode", at.mode, codes::MODES)),
            Some(("status.fault", at.fault, "the maker's fault code, 0 none")),
            maybe("status.accepted", at.accepted, "number of the last command taken, 0 none since the start"),
            maybe(
                "status.completed",
                at.completed,
                "number of the last command finished, 0 none since the start",
            ),
            maybe("status.boot", at.boot, "rises by one with each start of the PLC"),
            maybe("status.heartbeat", at.heartbeat, "rises by one with each scan"),
            Some(("status.occupied", at.occupied, codes::BOOLEANS)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Every mapped field of the command block.
    pub fn command_fields(&self) -> Vec<Field> {
        let at = &self.command;
        let number = at.number.map(|it| ("command.number", it, codes::NUMBERS));
        let rest = [("command.action", at.action, codes::ACTIONS), ("command.floor", at.floor, codes::STOPS)];
        number.into_iter().chain(rest).collect()
    }
}

pub(super) fn shared(fields: &[Field]) -> Vec<InvalidProfile> {
    let mut wrong = Vec::new();
    for (idx, (second, register, _)) in fields.iter().enumerate() {
        if let Some((first, ..)) = fields[..idx].iter().find(|it| it.1 == *register) {
            wrong.push(InvalidProfile::Shared { first, second, register: *register });
        }
    }
    wrong
}
