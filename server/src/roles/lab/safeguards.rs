//! `hoistway lab safeguards`.

use std::process::ExitCode;

use clap::Args as ClapArgs;
use kernel::safeguard::Safeguard;
use sim::seeds::{RandomWorld, Reach, SPAN_DEFAULT};

use crate::cli::say;
use crate::roles::progress::Progress;
use crate::spelling;

pub(super) const HELP: &str = "\
Example:
  hoistway lab safeguards
  hoistway lab safeguards --only link-fence --count 5000
  hoistway lab safeguards --unreached

Each safeguard is taken away in turn, and random worlds run until a checker finds what it prevents. Some accidents are
out of chance's reach, because another safeguard stands before them or because they need too much at once; for these the
reason is printed. Named accidents and the kernel's own random runs prove those. With --unreached these, too, are looked
for, to see whether the reason still holds.

Exit codes: 0 each was found or has its reason, 1 one was not found or a reason does not hold, 2 the command line is
wrong.";

/// How long to look.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Worlds for each safeguard, at most.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    count: u64,
    /// One safeguard alone.
    #[arg(long, value_name = "SAFEGUARD", value_parser = safeguard)]
    only: Option<Safeguard>,
    /// Look for those alone that are said to be out of reach; takes minutes for each.
    #[arg(long)]
    unreached: bool,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let stdout = &mut std::io::stdout();
    let (mut of, mut missing) = (0, 0);
    for safeguard in Safeguard::ALL.into_iter().filter(|it| args.only.is_none_or(|only| only == *it)) {
        let reach = Reach::of(safeguard);
        if args.unreached && matches!(reach, Reach::Seed(_)) {
            continue;
        }
        of += 1;
        let looks = args.unreached || matches!(reach, Reach::Seed(_));
        let found = if looks { first(safeguard, args.count, progress)? } else { None };
        let (holds, said) = judged(reach, looks, found, args.count);
        missing += u32::from(!holds);
        progress.clear();
        say(stdout, &format!("  {:<20}{said}\n", safeguard.name()))?;
    }
    if missing == 0 {
        say(stdout, &format!("each of {of} safeguards was missed when it was away, or has its reason\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(stdout, &format!("{missing} of {of} safeguards are not as they are said to be\n"))?;
    Ok(ExitCode::FAILURE)
}

/// Whether a safeguard is as it is said to be, and what is told of it.
fn judged(reach: Reach, looks: bool, found: Option<(u64, &'static str)>, count: u64) -> (bool, String) {
    match (reach, found) {
        (Reach::Seed(_), Some((seed, checker))) => (true, format!("seed {seed:<6}{checker}")),
        (Reach::Seed(_), None) => (false, format!("NOT FOUND in {count} worlds")),
        (Reach::Out(reason), None) if looks => (true, format!("not in {count} worlds: {reason}")),
        (Reach::Out(reason), None) => (true, format!("out of reach: {reason}")),
        (Reach::Out(reason), Some((seed, checker))) => {
            (false, format!("seed {seed:<6}{checker} AFTER ALL, against its reason: {reason}"))
        }
    }
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
