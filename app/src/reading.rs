//! How far a reading of a lift can be believed. Pure.

use kernel::timing::LIFT_READ_AGE_MAX;
use kernel::wire::gateway::Connection;
use kernel::wire::view::{Hearing, LiftView};

/// How a lift is drawn: what is not known never looks known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing was ever read.
    NeverRead,
    /// The PLC or its gateway is out of reach: the last reading is history.
    Unreachable,
    /// What the last command did is not settled.
    Verifying,
    /// The reading is older than a command may rest on.
    Stale,
    /// Newly read.
    Fresh,
}

impl Trust {
    /// Judges a view; `age_ms` is the age of its reading, none where no clock runs.
    pub(crate) fn of(view: &LiftView, age_ms: Option<u64>) -> Self {
        let reachable = match view.connection {
            Connection::Up | Connection::Unknown => view.gateway_hearing != Hearing::Silent,
            Connection::Down | Connection::Frozen => false,
        };
        if view.status.is_none() {
            return if reachable { Self::NeverRead } else { Self::Unreachable };
        }
        if !reachable {
            return Self::Unreachable;
        }
        if view.verifying.is_some() {
            return Self::Verifying;
        }
        if age_ms.is_some_and(|age| age > LIFT_READ_AGE_MAX.0) { Self::Stale } else { Self::Fresh }
    }

    /// Class of the drawing.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::NeverRead => "never-read",
            Self::Unreachable => "unreachable",
            Self::Verifying => "verifying",
            Self::Stale => "stale",
            Self::Fresh => "fresh",
        }
    }

    /// The drawing is hatched.
    pub(crate) fn is_old(self) -> bool {
        match self {
            Self::NeverRead | Self::Unreachable | Self::Stale => true,
            Self::Verifying | Self::Fresh => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_lift_is_fresh_only_when_everything_says_so() {
        let good = || {
            let mut view = sample::snapshot().lifts[0].clone();
            view.verifying = None;
            view
        };
        let with = |change: fn(&mut LiftView)| {
            let mut view = good();
            change(&mut view);
            view
        };
        let verifying = sample::snapshot().lifts[0].clone();
        let rows = [
            (good(), Some(2_500), Trust::Fresh),
            (good(), None, Trust::Fresh),
            (good(), Some(2_501), Trust::Stale),
            (verifying.clone(), Some(100), Trust::Verifying),
            (with(|it| it.connection = Connection::Down), Some(0), Trust::Unreachable),
            (with(|it| it.connection = Connection::Frozen), Some(0), Trust::Unreachable),
            (with(|it| it.gateway_hearing = Hearing::Silent), Some(0), Trust::Unreachable),
            (with(|it| it.status = None), None, Trust::NeverRead),
        ];
        for (view, age_ms, expected) in rows {
            assert_eq!(Trust::of(&view, age_ms), expected, "{view:?} at {age_ms:?}");
        }
    }
}
