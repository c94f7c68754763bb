//! Before and after: the first field report's site, dispatched as it was, with leases only, and by Hoistway.
//!
//! The first two columns are frozen policies, no part of the product: they are the yardstick. Pure and seeded: two runs
//! with the same days and seeds give the same figures and the same page.

mod calibration;
mod day;
mod figures;
mod fleet;
mod load;
mod page;
mod plot;
mod policies;
mod record;
mod site;
mod table;

use kernel::ids::InvalidName;
use kernel::plant::Plant;
use thiserror::Error;

use calibration::KNOBS;
use day::Day;
pub use figures::Figures;
use policies::{Before, LeasesOnly, Policy};
use record::DayRecord;

/// The days and seeds with which the constants were found; other ones give other means.
pub const CALIBRATED_DAYS: u32 = 2;
/// See [`CALIBRATED_DAYS`].
pub const CALIBRATED_SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Why there is no comparison.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ComparisonError {
    /// No day or no seed was asked for.
    #[error("there is nothing to compare: ask for at least one day and one seed")]
    NothingToRun,
    /// A name in the site of the comparison is none: a mistake in this program.
    #[error("the comparison's own site has a bad name: {0}")]
    Name(#[from] InvalidName),
}

/// How far a comparison is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'a> {
    /// From 0 to 1.
    pub fraction: f64,
    /// The column that runs.
    pub column: &'a str,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Two nodes without a lease.
    pub before: Figures,
    /// The report's leases.
    pub leases_only: Figures,
    days: u32,
    n_seeds: usize,
}

/// Runs both columns, so many days with each seed, and tells `progress` now and then how far it is.
///
/// # Errors
/// [`ComparisonError::NothingToRun`] without days or seeds.
pub fn run(
    days: u32,
    seeds: &[u64],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Comparison, ComparisonError> {
    let plant = site::plant()?;
    let mut first = |share: f64| progress(Progress { fraction: share / 2.0, column: "before" });
    let before = column(&plant, days, seeds, |seed| Box::new(Before::new(seed, &KNOBS)), &mut first)?;
    let mut second = |share: f64| progress(Progress { fraction: 0.5 + share / 2.0, column: "leases only" });
    let leases = column(&plant, days, seeds, |seed| Box::new(LeasesOnly::new(seed, &KNOBS)), &mut second)?;
    let (before, leases) = (Figures::of(&before), Figures::of(&leases));
    let (Some(before), Some(leases_only)) = (before, leases) else {
        return Err(ComparisonError::NothingToRun);
    };
    Ok(Comparison { before, leases_only, days, n_seeds: seeds.len() })
}

fn column(
    plant: &Plant,
    days: u32,
    seeds: &[u64],
    policy: impl Fn(u64) -> Box<dyn Policy>,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<DayRecord>, InvalidName> {
    let n_days = figures::number(u64::from(days).saturating_mul(seeds.len() as u64));
    let mut records = Vec::new();
    for seed in seeds {
        for day in 0..days {
            let done = figures::number(records.len() as u64);
            let mut policy = policy(*seed);
            let day = Day::new(plant, policy.as_mut(), &KNOBS, (*seed, day))?;
            records.push(day.run(&mut |share| progress((done + share) / n_days))?);
        }
    }
    progress(1.0);
    Ok(records)
}

impl Comparison {
    /// The report's table for a terminal, with the report's own figures beside ours.
    pub fn table(&self) -> String {
        table::text(&self.before, &self.leases_only)
    }

    /// The same with plots, as one HTML page that needs nothing else.
    pub fn page(&self) -> String {
        page::html(&self.before, &self.leases_only, self.days, self.n_seeds)
    }
}

#[cfg(test)]
mod tests;
