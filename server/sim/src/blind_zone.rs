//! Thousands of rides through a car in which the radio is dead: how soon a vehicle is back, what is sent again, and
//! whether anything is done twice.

use std::fmt::Write as _;

use kernel::ids::{InvalidName, StationId};
use kernel::time::Millis;
use kernel::timing::{HEARTBEAT_PERIOD, HEARTBEATS_STEADY};

use crate::checkers::Violation;
use crate::figure;
use crate::sites::{SiteShape, site};
use crate::world::{PlannedOrder, World, WorldConfig};

/// Each world is one hour of this site.
const SHAPE: SiteShape = SiteShape { floors: 3, lifts: 2, vehicles: 6, gateways: 1 };
const SPAN: Millis = Millis::seconds(3600);
/// An order this often keeps both lifts busy without a growing line.
const ORDER_PERIOD: Millis = Millis::seconds(60);
/// An hour whose orders were not done by then has failed.
const SETTLE_BOUND: Millis = Millis::seconds(1800);

/// What the rides came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlindZone {
    /// Rides that were finished.
    pub rides: u64,
    /// Orders completed.
    pub orders: u64,
    /// Site time.
    pub elapsed: Millis,
    /// From coverage to the acknowledgement, sorted.
    pub gaps: Vec<Millis>,
    /// How long the radio was away, sorted.
    pub silences: Vec<Millis>,
    /// Commands sent again.
    pub redelivered: u64,
    /// Commands that reached a vehicle which had them.
    pub repeated: u64,
    /// Loads that were moved twice, or anything else that was promised not to happen.
    pub violations: Vec<Violation>,
}

/// Runs hours of the site until so many rides are done.
///
/// # Errors
/// Never for a site of the lab: its names are made here.
pub fn run(rides: u64, seed: u64, progress: &mut dyn FnMut(u64)) -> Result<BlindZone, InvalidName> {
    let mut sum = BlindZone::default();
    let mut hour = 0;
    while sum.rides < rides && sum.violations.is_empty() {
        let mut world = World::new(config(seed.wrapping_add(hour))?);
        world.run_for(SPAN);
        let ending = world.finish(SETTLE_BOUND);
        let coverage = world.coverage();
        sum.rides += coverage.rides;
        sum.orders += u64::try_from(ending.completed).unwrap_or_default();
        sum.elapsed = sum.elapsed + world.elapsed();
        sum.gaps.extend(&coverage.gaps);
        sum.silences.extend(&coverage.silences);
        sum.redelivered += coverage.redelivered;
        sum.repeated += coverage.repeated;
        sum.violations.extend_from_slice(world.violations());
        progress(sum.rides.min(rides));
        hour += 1;
    }
    sum.gaps.sort();
    sum.silences.sort();
    Ok(sum)
}

fn config(seed: u64) -> Result<WorldConfig, InvalidName> {
    let mut config = WorldConfig::new(site(SHAPE)?, seed);
    let floors = u64::from(SHAPE.floors);
    for n in 0..SPAN.0 / ORDER_PERIOD.0 {
        let station = |floor: u64| StationId::try_new(&format!("S{floor}"));
        let from = n % floors + 1;
        let to = (n + 1 + n / floors % (floors - 1)) % floors + 1;
        config.orders.push(PlannedOrder {
            at: Millis(5000 + n * ORDER_PERIOD.0),
            from: station(from)?,
            to: station(if from == to { to % floors + 1 } else { to })?,
            withdrawn_after: None,
        });
    }
    Ok(config)
}

impl BlindZone {
    /// The table for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, figure: String, note: &str| {
            // Writing into a String cannot fail.
            _ = writeln!(text, "  {name:<34}{figure:>12}  {note}");
        };
        row("rides", self.rides.to_string(), "through cars without radio");
        row("orders completed", self.orders.to_string(), "");
        row("site time", format!("{:.1} h", hours(self.elapsed)), "");
        for (name, sorted) in [("radio away", &self.silences), ("coverage to acknowledged", &self.gaps)] {
            for (rank, label) in [(50, "median"), (95, "p95"), (99, "p99"), (100, "worst")] {
                row(&format!("{name}, {label}"), percentile(sorted, rank).to_string(), "");
            }
        }
        row("commands redelivered", self.redelivered.to_string(), "");
        row("commands that arrived again", self.repeated.to_string(), "each answered, none done again");
        row("promises broken", self.violations.len().to_string(), "");
        let beats = HEARTBEAT_PERIOD.times(u64::from(HEARTBEATS_STEADY));
        _ = writeln!(
            text,
            "\nA radio finds its access point in 1 to 3 s; then a vehicle is trusted after {HEARTBEATS_STEADY} steady \
             heartbeats,\n{beats} at the most when none is lost."
        );
        text
    }
}

/// The value below which so many percent lie; zero when there are none.
pub fn percentile(sorted: &[Millis], percent: usize) -> Millis {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or_default()
}

fn hours(span: Millis) -> f64 {
    figure(span.0) / 3_600_000.0
}
