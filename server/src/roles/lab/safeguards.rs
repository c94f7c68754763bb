//! `hoistway lab safeguards`.

use std::process::ExitCode;

use clap::Args as ClapArgs;
use kernel::safeguard::Safeguard;
use sim::seeds::{RandomWorld, Reach, SPAN_DEFAULT};

use super::progress::Progress;
use crate::cli::say;
use crate::spelling;

pub(super) const HELP: &str = "\
Example:
  hoistway lab safeguards
  hoistway lab safeguards --only link-fence --count 5000

Each safeguard is taken away in turn, and random worlds run until a checker finds what it prevents. Some accidents are
out of chance's reach, because another safeguard stands before them or because they need too much at once; for these the
reason is printed. Named accidents and the kernel's own random runs prove those.

Exit codes: 0 each was found or has its reason, 1 one was not found, 2 the command line is wrong.";

/// How long to look.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Worlds for each safeguard, at most.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    count: u64,
    /// One safeguard alone.
    #[arg(long, value_name = "SAFEGUARD", value_parser = safeguard)]
    only: Option<Safeguard>,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let stdout = &mut std::io::stdout();
    let mut missing = 0;
    for safeguard in Safeguard::ALL.into_iter().filter(|it| args.only.is_none_or(|only| only == *it)) {
        let name = safeguard.name();
        let line = match Reach::of(safeguard) {
            Reach::Out(reason) => format!("  {name:<20}out of reach: {reason}\n"),
            Reach::Seed(_) => match first(safeguard, args.count, progress)? {
                Some((seed, checker)) => format!("  {name:<20}seed {seed:<6}{checker}\n"),
                None => {
                    missing += 1;
                    format!("  {name:<20}NOT FOUND in {} worlds\n", args.count)
                }
            },
        };
        progress.clear();
        say(stdout, &line)?;
    }
    if missing == 0 {
        say(stdout, "each safeguard that chance can reach was missed when it was away\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    say(stdout, &format!("{missing} safeguards were not missed\n"))?;
    Ok(ExitCode::FAILURE)
}

fn first(
    safeguard: Safeguard,
    count: u64,
    progress: &mut Progress,
) -> anyhow::Result<Option<(u64, &'static str)>> {
    for seed in 1..=count {
        let world = RandomWorld::draw(seed, SPAN_DEFAULT)?;
        let found = world.clone().without(safeguard).run().1.violation;
        // Only what its absence brings counts.
        if let Some(violation) = found.filter(|_| world.run().1.violation.is_none()) {
            return Ok(Some((seed, violation.checker.name())));
        }
        progress.tell(seed, count, &format!("worlds without {}", safeguard.name()));
    }
    Ok(None)
}

/// A safeguard by its name on the command line.
pub(super) fn safeguard(text: &str) -> Result<Safeguard, String> {
    Safeguard::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| {
        let names = Safeguard::ALL.map(Safeguard::name);
        match spelling::nearest(text, names) {
            Some(near) => format!("there is no safeguard of this name, did you mean `{near}`?"),
            None => format!("there is no safeguard of this name; there are: {}", names.join(", ")),
        }
    })
}
