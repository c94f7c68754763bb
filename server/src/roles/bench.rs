//! `hoistway bench`: how fast the product is, each time beside what the machine could do at best, in the same run.

mod house;
mod lease;
mod orders;
mod takeover;

use std::process::ExitCode;

use clap::Subcommand;

use crate::{cli, stop};

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Orders a second with durable commit, as a multiple of a bare insert and commit on the same database; and how
    /// soon a killed node's tasks are another's.
    #[command(after_help = orders::HELP)]
    Orders(orders::Args),
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
        Bench::Lease(args) => stop::play(|stop| lease::run(args, stop))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> anyhow::Result<()> {
    cli::say(&mut std::io::stdout(), text)
}
