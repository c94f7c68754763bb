//! A contact profile as the site file writes it, and what can be wrong with it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fieldbus::registers::REACTION_S;

/// Most inputs that one FC02 may read.
pub(super) const READ_INPUTS_MAX: u32 = 2000;

/// A profile as the site file writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contacts {
    /// Longest time from a command until the lift shows that it does it, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaction_s: Option<f64>,
    /// Written by the gateway.
    pub coils: Coils,
    /// Read by the gateway.
    pub inputs: Inputs,
}

/// Addresses of the coils.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coils {
    /// Calls the car to a stop; from the lowest.
    pub call: Vec<u16>,
    /// Opens the door.
    pub open: u16,
    /// Shuts the door.
    pub close: u16,
}

/// Addresses of the discrete inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The car is level with a stop; from the lowest.
    pub at_stop: Vec<u16>,
    /// The door is shut.
    pub closed: u16,
    /// The door is fully open.
    pub opened: u16,
    /// The car travels up.
    pub up: u16,
    /// The car travels down.
    pub down: u16,
    /// Vehicles are served.
    pub vehicle: u16,
    /// The fire service has the lift.
    pub fire: u16,
    /// Maintenance has the lift.
    pub maintenance: u16,
    /// Emergency stop.
    pub emergency: u16,
    /// A fault.
    pub fault: u16,
    /// Something stands in the car.
    pub occupied: u16,
}

/// What is wrong with a contact profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidContacts {
    /// Two things share a contact.
    #[error("{first} and {second} stand on one contact, {contact}")]
    Shared {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Where both stand.
        contact: u16,
    },
    /// The coils cannot be one request.
    #[error("the coils are not next to each other ({lowest} to {highest}): they are written in one request")]
    CoilsScattered {
        /// Lowest address.
        lowest: u16,
        /// Highest address.
        highest: u16,
    },
    /// The inputs cannot be one request.
    #[error(
        "the inputs span {span} ({lowest} to {highest}), at most {READ_INPUTS_MAX} are read in one request"
    )]
    InputsTooWide {
        /// How many.
        span: u32,
        /// Lowest address.
        lowest: u16,
        /// Highest address.
        highest: u16,
    },
    /// A stop without a call, or a call without a stop.
    #[error(
        "there are {calls} calls and {stops} stops; each stop has one of both, and a lift has at least two"
    )]
    Stops {
        /// Calls.
        calls: usize,
        /// Stops.
        stops: usize,
    },
    /// Nobody could see so soon what a lift does, or would wait for so long.
    #[error("reaction_s is {found}; it must lie between {} and {} s", REACTION_S.start(), REACTION_S.end())]
    Reaction {
        /// What stands there.
        found: String,
    },
}

impl InvalidContacts {
    /// The key that it is about.
    pub fn field(&self) -> Option<&'static str> {
        Some(match self {
            Self::Shared { second, .. } => second,
            Self::CoilsScattered { .. } => "coils",
            Self::InputsTooWide { .. } => "inputs",
            Self::Stops { .. } => "coils.call",
            Self::Reaction { .. } => "reaction_s",
        })
    }
}

impl Coils {
    pub(super) fn fields(&self) -> Vec<(&'static str, u16)> {
        let calls = self.call.iter().map(|it| ("coils.call", *it));
        calls.chain([("coils.open", self.open), ("coils.close", self.close)]).collect()
    }
}

impl Inputs {
    pub(super) fn fields(&self) -> Vec<(&'static str, u16)> {
        let stops = self.at_stop.iter().map(|it| ("inputs.at_stop", *it));
        let rest = [
            ("inputs.closed", self.closed),
            ("inputs.opened", self.opened),
            ("inputs.up", self.up),
            ("inputs.down", self.down),
            ("inputs.vehicle", self.vehicle),
            ("inputs.fire", self.fire),
            ("inputs.maintenance", self.maintenance),
            ("inputs.emergency", self.emergency),
            ("inputs.fault", self.fault),
            ("inputs.occupied", self.occupied),
        ];
        stops.chain(rest).collect()
    }
}

pub(super) fn bounds(fields: &[(&'static str, u16)]) -> (u16, u16) {
    let addresses = fields.iter().map(|it| it.1);
    (addresses.clone().min().unwrap_or(0), addresses.max().unwrap_or(0))
}

pub(super) fn shared(fields: &[(&'static str, u16)]) -> Vec<InvalidContacts> {
    let mut wrong = Vec::new();
    for (idx, (second, contact)) in fields.iter().enumerate() {
        if let Some((first, _)) = fields[..idx].iter().find(|it| it.1 == *contact) {
            wrong.push(InvalidContacts::Shared { first, second, contact: *contact });
        }
    }
    wrong
}
