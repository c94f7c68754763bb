//! `hoistway bench`: how fast the product is, each time beside what the machine could do at best, in the same run.

mod orders;

use std::process::ExitCode;

use clap::Subcommand;

use crate::stop;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Orders a second with durable commit, as a multiple of a bare insert and commit on the same database.
    #[command(after_help = orders::HELP)]
    Orders(orders::Args),
}

/// Measures what was asked for.
///
/// # Errors
/// The database cannot be used, or output cannot be written.
pub fn run(bench: Bench) -> anyhow::Result<ExitCode> {
    match bench {
        Bench::Orders(args) => stop::play(|stop| orders::run(args, stop))?,
    }
    Ok(ExitCode::SUCCESS)
}
