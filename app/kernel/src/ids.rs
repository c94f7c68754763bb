//! Names of things. Each kind has its own type, so that a lift is never taken for a vehicle.
//!
//! Names come from the site file, from the wire and from REST, so each is validated where it enters: 1 to 64
//! characters, first a letter or digit, then letters, digits, `_`, `-` or `.`.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest name, in bytes. Long enough for a command id, short enough for a log line.
pub const NAME_LENGTH_MAX: usize = 64;

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidName {
    /// Nothing stood there.
    #[error("a name is empty")]
    Empty,
    /// More than [`NAME_LENGTH_MAX`] bytes.
    #[error("a name is {0} bytes long, at most {NAME_LENGTH_MAX} are allowed")]
    TooLong(usize),
    /// A character that a topic, a URL or a screen could trip over.
    #[error(
        "`{0}` is not allowed here in a name: use letters, digits, `_`, `-`, `.`, and start with a letter or digit"
    )]
    Character(char),
}

fn check(text: &str) -> Result<(), InvalidName> {
    if text.is_empty() {
        return Err(InvalidName::Empty);
    }
    if text.len() > NAME_LENGTH_MAX {
        return Err(InvalidName::TooLong(text.len()));
    }
    for (idx, character) in text.char_indices() {
        let inner = matches!(character, '_' | '-' | '.') && idx > 0;
        if !(character.is_ascii_alphanumeric() || inner) {
            return Err(InvalidName::Character(character));
        }
    }
    Ok(())
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 64))]
        pub struct $name(Arc<str>);

        impl $name {
            /// Validates a name.
            ///
            /// # Errors
            /// What is wrong with the text.
            pub fn try_new(text: &str) -> Result<Self, InvalidName> {
                check(text).map(|()| Self(Arc::from(text)))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::try_new(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }
    )*};
}

names! {
    /// The site: one plant with its lifts and vehicles.
    SiteId;
    /// A floor.
    FloorId;
    /// A place where a vehicle may stand.
    PointId;
    /// A place where a load is picked or dropped.
    StationId;
    /// A lift installation.
    LiftId;
    /// A vehicle.
    VehicleId;
    /// An edge gateway, beside the PLCs.
    GatewayId;
    /// A control node.
    NodeId;
    /// What the WMS asked for.
    OrderId;
    /// The tracked execution of one order.
    TaskId;
    /// One instruction to a vehicle or a lift, globally unique. A redelivery keeps it.
    CommandId;
    /// One ride of one task in one lift.
    SessionId;
    /// A condition that a person has to act on.
    AlarmId;
    /// A fault that is injected on purpose.
    DrillId;
}

/// A claim on a task, or a lift session, or a vehicle's link: each rises by one whenever the right passes on, and
/// whoever receives a command refuses one that is lower than the highest it has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Generation(pub u64);

impl Generation {
    /// The generation after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Place in the ledger, from 1. Also the sequence of the live stream, so a browser may resume on any node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LedgerSequence(pub u64);

impl fmt::Display for LedgerSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_where_they_enter() {
        let long = "x".repeat(65);
        let rows: &[(&str, Result<(), InvalidName>)] = &[
            ("V07", Ok(())),
            ("T-A1042.3", Ok(())),
            ("", Err(InvalidName::Empty)),
            ("-V07", Err(InvalidName::Character('-'))),
            ("a b", Err(InvalidName::Character(' '))),
            ("a+b", Err(InvalidName::Character('+'))),
            ("升降机", Err(InvalidName::Character('升'))),
            (&long, Err(InvalidName::TooLong(65))),
        ];
        for (text, expected) in rows {
            assert_eq!(VehicleId::try_new(text).map(|_| ()), *expected, "{text}");
        }
    }
}
