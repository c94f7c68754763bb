//! The named accidents: one readable script for each, with the decisions that are expected beside it.
//!
//! Each is played twice. With all safeguards every promise holds, the expected decisions are seen in their order and
//! the orders end. With its own safeguard off its named checker catches it. In both the danger must have arisen, or the
//! run says nothing and is void. What cannot be played yet is listed with the part that is missing.

mod ledger;
mod lift;
mod play;
mod ride;
mod script;
mod task;

use std::fmt;

use kernel::safeguard::Safeguard;
use kernel::time::Millis;

pub use play::Play;
pub use script::{Orders, Script, Site};

use crate::checkers::Checker;

/// Where an accident happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// In the ledger.
    Ledger,
    /// On the way to a lift.
    Lift,
    /// In a ride.
    Ride,
    /// On the way to a vehicle.
    Task,
}

/// A named accident.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name in the requirements.
    pub name: &'static str,
    /// Where it happens.
    pub group: Group,
    /// What happens, in one sentence.
    pub what: &'static str,
    /// Whether it can be played.
    pub state: State,
}

/// Whether an accident can be played.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// It can.
    Built(Script),
    /// Something that it needs is not built.
    Pending {
        /// What.
        part: &'static str,
    },
}

/// How an accident was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every promise held, and without the safeguard the checker caught it.
    Held {
        /// The safeguard that it is about.
        safeguard: Safeguard,
        /// Who caught it without that.
        caught_by: Checker,
        /// Site time until then.
        after: Millis,
        /// What was caught.
        caught: String,
    },
    /// A promise was broken, a decision was not made, or nothing was caught.
    Failed {
        /// Which.
        reason: String,
    },
    /// The danger did not arise: the run says nothing.
    Void {
        /// What was missing.
        reason: String,
    },
    /// It cannot be played yet.
    Pending {
        /// What has yet to be built.
        part: &'static str,
    },
}

impl Outcome {
    /// Neither failed nor void. A strict judge also asks that nothing is pending; a test names what may be.
    pub fn is_good(&self) -> bool {
        match self {
            Self::Held { .. } | Self::Pending { .. } => true,
            Self::Failed { .. } | Self::Void { .. } => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held { safeguard, caught_by, after, .. } => {
                let (rule, name) = (safeguard.name(), caught_by.name());
                write!(f, "held; without {rule} caught by {name} after {} s", after.0.div_ceil(1000))
            }
            Self::Failed { reason } => write!(f, "FAILED: {reason}"),
            Self::Void { reason } => write!(f, "VOID: {reason}"),
            Self::Pending { part } => write!(f, "pending: {part}"),
        }
    }
}

impl Scenario {
    /// Plays it twice and judges.
    pub fn run(&self) -> Outcome {
        match &self.state {
            State::Built(script) => script.judge(),
            State::Pending { part } => Outcome::Pending { part },
        }
    }
}

/// All named accidents, in the order of the requirements.
pub fn all() -> Vec<Scenario> {
    [ledger::SCENARIOS, lift::SCENARIOS, ride::SCENARIOS, task::SCENARIOS].concat()
}
