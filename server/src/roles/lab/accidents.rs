//! `hoistway lab accidents`.

use std::process::ExitCode;

use clap::Args as ClapArgs;
use sim::scenarios::{self, Outcome, Scenario};

use crate::cli::say;
use crate::roles::progress::Progress;
use crate::spelling;

pub(super) const HELP: &str = "\
Example:
  hoistway lab accidents
  hoistway lab accidents --only ack_lost_after_move

Each accident is played twice: with all safeguards every promise holds; without its own safeguard its own checker
catches it. In both the danger must have arisen, else the run is void. An accident whose machinery is still to be built
is listed with the part that is missing.

Exit codes: 0 all that can be played held, 1 one did not (with --strict also: one is pending), 2 the command line is
wrong.";

/// Which accidents.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// One accident alone.
    #[arg(long, value_name = "NAME", value_parser = accident)]
    only: Option<Scenario>,
    /// Fail on accidents that cannot be played yet.
    #[arg(long)]
    strict: bool,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let chosen = args.only.map_or_else(scenarios::all, |only| vec![only]);
    let stdout = &mut std::io::stdout();
    let of = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
    let (mut held, mut pending, mut bad) = (0_u64, 0_u64, 0_u64);
    for (done, scenario) in (0..).zip(&chosen) {
        progress.tell(done, of, scenario.name);
        let outcome = scenario.run();
        match &outcome {
            Outcome::Held { .. } => held += 1,
            Outcome::Pending { .. } => pending += 1,
            Outcome::Failed { .. } | Outcome::Void { .. } => bad += 1,
        }
        progress.clear();
        say(stdout, &format!("  {:<36}{outcome}\n", scenario.name))?;
        if args.only.is_some() {
            say(stdout, &format!("    {}\n", scenario.what))?;
        }
    }
    let seconds = progress.elapsed().as_secs_f64();
    say(stdout, &format!("{held} held, {bad} failed, {pending} pending, in {seconds:.1} s\n"))?;
    let good = bad == 0 && (pending == 0 || !args.strict);
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An accident by its name on the command line.
fn accident(text: &str) -> Result<Scenario, String> {
    let all = scenarios::all();
    if let Some(found) = all.iter().find(|it| it.name == text) {
        return Ok(*found);
    }
    Err(match spelling::nearest(text, all.iter().map(|it| it.name)) {
        Some(near) => format!("there is no accident of this name, did you mean `{near}`?"),
        None => "there is no accident of this name; `hoistway lab accidents` lists them".to_owned(),
    })
}
