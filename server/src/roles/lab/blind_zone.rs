//! `hoistway lab blind-zone`.

use std::process::ExitCode;

use clap::Args as ClapArgs;

use crate::cli::say;
use crate::roles::progress::Progress;

pub(super) const HELP: &str = "\
Example:
  hoistway lab blind-zone --rides 5000

Vehicles lose their radio in the car and are back 1 to 3 s after the door lets it through. Measured: how long the
radio was away, how soon after coverage a vehicle has acknowledged its new link, what was sent again, and that nothing
was done twice.

Exit codes: 0 every promise was kept, 1 one was broken, 2 the command line is wrong.";

/// How many rides.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Rides at least.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rides: u64,
    /// Of all chance.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let measured = sim::blind_zone::run(args.rides, args.seed, &mut |done| {
        progress.tell(done, args.rides, "rides");
    })?;
    progress.clear();
    let stdout = &mut std::io::stdout();
    say(stdout, &measured.table())?;
    for violation in &measured.violations {
        say(stdout, &format!("broken: {violation}\n"))?;
    }
    if measured.violations.is_empty() {
        say(stdout, "every vehicle came back and every load was moved once\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    say(stdout, "a promise was broken\n")?;
    Ok(ExitCode::FAILURE)
}
