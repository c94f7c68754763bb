//! `hoistway lab replay`.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use kernel::safeguard::Safeguard;
use kernel::time::Millis;
use sim::seeds::shrink;

use super::safeguards::safeguard;
use super::seeds::draw;
use crate::cli::say;

pub(super) const HELP: &str = "\
Example:
  hoistway lab replay 17
  hoistway lab replay 17 | grep L1

On a terminal Enter goes on by a screen and `q` ends; elsewhere all of it is written. Two replays of one seed are the
same to the byte.

Exit codes: 0 every promise was kept, 1 one was broken, 2 the command line is wrong.";

/// Lines between two questions on a terminal.
const SCREEN: usize = 40;

/// Which world.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Its seed.
    seed: u64,
    /// Only what the failure needs.
    #[arg(long)]
    shrunk: bool,
    /// Minutes of site time in which faults happen, as given to `seeds`.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Take one safeguard away, as given to `seeds`.
    #[arg(long, value_name = "SAFEGUARD", value_parser = safeguard)]
    without: Option<Safeguard>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut world = draw(args.seed, Millis::seconds(args.minutes * 60), args.without)?;
    if args.shrunk {
        match shrink(&world) {
            Some(shrunk) => world = shrunk.world,
            None => say(&mut std::io::stdout(), "it breaks no promise, so nothing is left out\n")?,
        }
    }
    let (replayed, outcome) = world.logged().run();
    let mut ending = format!("{} after {}\n", told(&outcome.ending), outcome.elapsed);
    if let Some(violation) = &outcome.violation {
        ending = format!("{ending}broken: {violation}\n");
    }
    let stdout = &mut std::io::stdout();
    let asks = std::io::stdin().is_terminal() && stdout.is_terminal();
    for (idx, line) in replayed.log().iter().enumerate() {
        say(stdout, &format!("{line}\n"))?;
        if asks && (idx + 1) % SCREEN == 0 && wants_to_end()? {
            break;
        }
    }
    say(stdout, &ending)?;
    Ok(if outcome.violation.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told(ending: &sim::world::Ending) -> String {
    format!(
        "{} orders: {} completed, {} ended otherwise, {} stand with an alarm, {} open",
        ending.planned, ending.completed, ending.ended, ending.alarmed, ending.open
    )
}

fn wants_to_end() -> anyhow::Result<bool> {
    let mut line = String::new();
    let n_bytes = std::io::stdin().lock().read_line(&mut line).context("cannot read from the terminal")?;
    Ok(n_bytes == 0 || line.trim().eq_ignore_ascii_case("q"))
}
