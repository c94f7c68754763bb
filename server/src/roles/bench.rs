//! `hoistway bench`: how fast the product is, each time beside what the machine could do at best, in the same run.

mod command;
mod house;
mod lease;
mod node;
mod orders;
mod plc;
mod takeover;

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;

use crate::{cli, stop};

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Orders a second with durable commit, as a multiple of a bare insert and commit on the same database; and how
    /// soon a killed node's tasks are another's.
    #[command(after_help = orders::HELP)]
    Orders(orders::Args),
    /// Lift commands from the node's decision to the PLC, as multiples of a bare Modbus write.
    #[command(after_help = command::HELP)]
    Command(command::Args),
    /// Leases on a Redis, uncontended and handed over, as multiples of bare commands on it.
    #[command(after_help = lease::HELP)]
    Lease(lease::Args),
}

/// Measures what was asked for.
///
/// # Errors
/// The database cannot be used, or output cannot be written.
pub fn run(bench: Bench) -> anyhow::Result<ExitCode> {
    match bench {
        Bench::Orders(args) => stop::play(|stop| orders::run(args, stop))?,
        Bench::Command(args) => stop::play(|stop| command::run(args, stop))?,
        Bench::Lease(args) => stop::play(|stop| lease::run(args, stop))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The span below which so many of a hundred lie; none takes no time.
fn percentile(spans: &mut [Duration], percent: usize) -> Duration {
    spans.sort_unstable();
    let idx = (spans.len() * percent / 100).min(spans.len().saturating_sub(1));
    spans.get(idx).copied().unwrap_or_default()
}

/// In milliseconds.
fn shown(span: Duration) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1000.0)
}

fn say(text: &str) -> anyhow::Result<()> {
    cli::say(&mut std::io::stdout(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_span_that_was_measured() {
        let mut spans: Vec<Duration> = [3, 1, 2].map(Duration::from_secs).to_vec();
        let rows = [(0, 1), (50, 2), (99, 3), (100, 3)];
        for (percent, expected) in rows {
            assert_eq!(percentile(&mut spans, percent), Duration::from_secs(expected), "{percent}");
        }
        assert_eq!(percentile(&mut [], 50), Duration::ZERO);
    }
}
