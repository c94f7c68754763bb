//! Hoistway: one executable, many roles. See `hoistway --help`.

use std::process::ExitCode;

use clap::Parser as _;
use server::cli::{self, Cli};

fn main() -> ExitCode {
    cli::run(Cli::parse()).unwrap_or_else(|error| cli::fail(&error))
}
