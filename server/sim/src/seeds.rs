//! Random worlds: a site, orders and faults drawn from a seed, run under the checkers; a failure is shrunk.

mod draw;
mod reach;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use kernel::ids::InvalidName;
use kernel::safeguard::{Safeguard, Safeguards};
use kernel::time::Millis;

pub use reach::Reach;
pub use shrink::{Shrunk, shrink};

use crate::checkers::Violation;
use crate::fault::FaultFamily;
use crate::world::{Ending, Withdrawals, World, WorldConfig};

/// Site time of a random world unless told otherwise.
pub const SPAN_DEFAULT: Millis = Millis::seconds(120);
/// When its faults are over, a world runs on until its orders are settled, for so long at most: the longest freeze by
/// silence that the kernel allows, a car that is waited for as long, and the work itself.
pub const SETTLE_BOUND: Millis = Millis::seconds(3600);

/// A random world before its first event.
#[derive(Clone, Debug)]
pub struct RandomWorld {
    /// What it is made of.
    pub config: WorldConfig,
    /// Kinds of faults that it has.
    pub families: BTreeSet<FaultFamily>,
    /// Faults happen within this span.
    pub span: Millis,
}

/// How a random world went.
#[derive(Clone, Debug)]
pub struct SeedOutcome {
    /// Which.
    pub seed: u64,
    /// Kinds of faults that it had.
    pub families: BTreeSet<FaultFamily>,
    /// How its orders ended.
    pub ending: Ending,
    /// What became of those that were taken back.
    pub withdrawals: Withdrawals,
    /// The first broken promise.
    pub violation: Option<Violation>,
    /// Site time that went by.
    pub elapsed: Millis,
    /// Parcels and deadlines.
    pub events: u64,
}

impl RandomWorld {
    /// Draws a world; `span` is its time of faults.
    ///
    /// # Errors
    /// Never for a site of the lab: its names are made here.
    pub fn draw(seed: u64, span: Millis) -> Result<Self, InvalidName> {
        draw::world(seed, span)
    }

    /// The same world without one safeguard.
    #[must_use]
    pub fn without(mut self, safeguard: Safeguard) -> Self {
        self.config.safeguards = Safeguards::all_but(safeguard);
        self
    }

    /// The same world with a log.
    #[must_use]
    pub fn logged(mut self) -> Self {
        self.config.logged = true;
        self
    }

    /// Runs it to its end. A panic in it is a broken promise like others, and found by its seed like them.
    pub fn run(&self) -> (World, SeedOutcome) {
        self.run_by(|world| {
            world.run_for(self.span);
            world.finish(SETTLE_BOUND)
        })
    }

    fn run_by(&self, run: impl FnOnce(&mut World) -> Ending) -> (World, SeedOutcome) {
        let mut world = World::new(self.config.clone());
        // Whatever a panic left half done is only shown.
        let ending = catch_unwind(AssertUnwindSafe(|| run(&mut world))).unwrap_or_else(|panic| {
            world.panicked(panic.as_ref());
            Ending { planned: self.config.orders.len(), ..Ending::default() }
        });
        let outcome = SeedOutcome {
            seed: self.config.seed,
            families: self.families.clone(),
            ending,
            withdrawals: world.withdrawals().clone(),
            violation: world.violations().first().cloned(),
            elapsed: world.elapsed(),
            events: world.events(),
        };
        (world, outcome)
    }
}

/// What many random worlds came to.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Worlds that were run.
    pub worlds: u64,
    /// In how many worlds each kind of fault was.
    pub families: BTreeMap<FaultFamily, u64>,
    /// Orders planned, completed, ended otherwise, standing with an alarm.
    pub orders: [u64; 4],
    /// What became of those that were taken back.
    pub withdrawals: Withdrawals,
    /// Site time.
    pub elapsed: Millis,
    /// Parcels and deadlines.
    pub events: u64,
    /// Seeds that broke a promise.
    pub failed: Vec<(u64, Violation)>,
}

impl Tally {
    /// Counts one world in.
    pub fn add(&mut self, outcome: &SeedOutcome) {
        self.worlds += 1;
        for family in &outcome.families {
            *self.families.entry(*family).or_default() += 1;
        }
        let ending = &outcome.ending;
        let counts = [ending.planned, ending.completed, ending.ended, ending.alarmed];
        for (sum, count) in self.orders.iter_mut().zip(counts) {
            *sum += u64::try_from(count).unwrap_or_default();
        }
        self.withdrawals.add(&outcome.withdrawals);
        self.elapsed = self.elapsed + outcome.elapsed;
        self.events += outcome.events;
        if let Some(violation) = &outcome.violation {
            self.failed.push((outcome.seed, violation.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkers::Checker;

    #[test]
    fn a_panic_is_found_by_its_seed() {
        let world = RandomWorld::draw(7, SPAN_DEFAULT).expect("a world").logged();
        let (ran, outcome) = world.run_by(|world| {
            world.run_for(Millis::seconds(3));
            panic!("of row {}", 9)
        });
        let mut tally = Tally::default();
        tally.add(&outcome);
        let found: Vec<_> = tally.failed.iter().map(|(seed, it)| (*seed, it.to_string())).collect();
        assert_eq!(found, [(7, "nothing_panics: of row 9".to_owned())]);
        assert_eq!(outcome.violation.map(|it| it.checker), Some(Checker::NothingPanics));
        assert!(
            ran.elapsed() >= Millis::seconds(3) && !ran.log().is_empty(),
            "what was seen until then is kept"
        );
    }
}
