//! Before and after: the first field report's site, dispatched as it was, with leases only, and by Hoistway.
//!
//! The first two columns are frozen policies, no part of the product: they are the yardstick. The third is the product:
//! its own machines in a [`crate::world::World`]. Pure and seeded: two runs with the same days and seeds give the same
//! figures and the same page.

mod calibration;
mod day;
mod figures;
mod fleet;
mod hoistway;
mod load;
mod page;
mod plot;
mod policies;
mod record;
mod site;
mod table;

use kernel::ids::InvalidName;
use kernel::plant::Plant;
use kernel::time::Mono;
use thiserror::Error;

use calibration::KNOBS;
use day::Day;
pub use figures::Figures;
use hoistway::HoistwayDay;
use policies::{Before, LeasesOnly, Policy};
use record::DayRecord;

use crate::checkers::Violation;

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
    /// A checker of the lab found something on a day of Hoistway's own column.
    #[error("a promise was broken on day {day} of Hoistway's own column: {violation}")]
    Broken {
        /// Which day, from 1.
        day: u32,
        /// What was seen.
        violation: String,
    },
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
    /// The control nodes that ship.
    pub hoistway: Figures,
    days: u32,
    n_seeds: usize,
}

/// Of the whole work, so much is done when a column begins: the machines that ship take most of it.
const LEASES_FROM: f64 = 0.1;
const HOISTWAY_FROM: f64 = 0.2;

/// Runs all columns, and tells `progress` now and then how far it is. The first two run so many days with each seed. A
/// day of the third takes as long as all of theirs: it runs so many days in all, with one seed after the other.
///
/// # Errors
/// [`ComparisonError::NothingToRun`] without days or seeds; [`ComparisonError::Broken`] when the product does not keep
/// what it promises.
pub fn run(
    days: u32,
    seeds: &[u64],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Comparison, ComparisonError> {
    run_until(Mono(load::DAY.0), days, seeds, progress)
}

/// The same, with orders in the third column until a moment of the day only.
fn run_until(
    ends: Mono,
    days: u32,
    seeds: &[u64],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Comparison, ComparisonError> {
    let plant = site::plant()?;
    let mut first = |share: f64| progress(Progress { fraction: LEASES_FROM * share, column: "before" });
    let before = column(&plant, days, seeds, |seed| Box::new(Before::new(seed, &KNOBS)), &mut first)?;
    let mut second = |share: f64| {
        let fraction = LEASES_FROM + (HOISTWAY_FROM - LEASES_FROM) * share;
        progress(Progress { fraction, column: "leases only" });
    };
    let leases = column(&plant, days, seeds, |seed| Box::new(LeasesOnly::new(seed, &KNOBS)), &mut second)?;
    let mut third = |share: f64| {
        let fraction = HOISTWAY_FROM + (1.0 - HOISTWAY_FROM) * share;
        progress(Progress { fraction, column: "Hoistway" });
    };
    let hoistway = hoistway_column(&plant, (days, ends), seeds, &mut third)?;
    let found = [&before, &leases, &hoistway].map(|it| Figures::of(it));
    let [Some(before), Some(leases_only), Some(hoistway)] = found else {
        return Err(ComparisonError::NothingToRun);
    };
    Ok(Comparison { before, leases_only, hoistway, days, n_seeds: seeds.len() })
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

fn hoistway_column(
    plant: &Plant,
    (days, ends): (u32, Mono),
    seeds: &[u64],
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<DayRecord>, ComparisonError> {
    let n_days = f64::from(days);
    let mut records = Vec::new();
    for (day, seed) in (0..days).zip(seeds.iter().cycle()) {
        let orders = load::orders(*seed, day, &KNOBS)?.into_iter().filter(|it| it.placed < ends).collect();
        let site = HoistwayDay::new(plant, &KNOBS, (*seed, day), (orders, ends))?;
        let moved = site.run(&mut |share| progress((f64::from(day) + share) / n_days));
        let broken = |it: Violation| ComparisonError::Broken { day: day + 1, violation: it.to_string() };
        records.push(moved.map_err(broken)?);
    }
    progress(1.0);
    Ok(records)
}

impl Comparison {
    /// The report's table for a terminal, with the report's own figures beside ours.
    pub fn table(&self) -> String {
        table::text(self.columns(), self.days)
    }

    /// The same with plots, as one HTML page that needs nothing else.
    pub fn page(&self) -> String {
        page::html(self.columns(), self.days, self.n_seeds)
    }

    fn columns(&self) -> [&Figures; 3] {
        [&self.before, &self.leases_only, &self.hoistway]
    }
}

#[cfg(test)]
mod tests;
