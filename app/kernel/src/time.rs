//! Time as an argument. Two clocks: decisions use [`Mono`], people and the audit trail use the wall clock.

use std::fmt;
use std::ops::Add;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Milliseconds on this machine's own clock, which never steps and counts suspend. Never leaves the process: two
/// machines' readings cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub u64);

impl Mono {
    /// Time since `earlier`; zero if that lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Millis> for Mono {
    type Output = Self;
    fn add(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Millis(pub u64);

impl Millis {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(n: u64) -> Self {
        Self(n * 1000)
    }

    /// The span `n` times over.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add for Millis {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Seconds with one decimal, as people read them.
impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} s", self.0 / 1000, self.0 % 1000 / 100)
    }
}

/// One reading of both clocks, taken by the owner of a machine just before it steps the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For every deadline and order of events.
    pub mono: Mono,
    /// For people, the audit trail and order deadlines; it may step, so no decision about safety reads it.
    pub wall: DateTime<Utc>,
}

impl Now {
    /// Both readings, the wall clock in milliseconds since 1970; beyond the calendar it stands at its beginning.
    pub fn of(mono: Mono, unix_ms: i64) -> Self {
        Self { mono, wall: DateTime::from_timestamp_millis(unix_ms).unwrap_or(DateTime::UNIX_EPOCH) }
    }
}
