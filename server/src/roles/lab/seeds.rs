//! `hoistway lab seeds`.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use kernel::safeguard::Safeguard;
use kernel::time::Millis;
use sim::fault::FaultFamily;
use sim::seeds::{RandomWorld, Tally, shrink};

use super::safeguards::safeguard;
use crate::cli::say;
use crate::roles::progress::Progress;

pub(super) const HELP: &str = "\
Example:
  hoistway lab seeds --count 1000
  hoistway lab replay 17

One seed gives one world, the same on every machine: a site of two to four floors, orders, and faults of some of nine
kinds. Each world runs until every order has ended or stands with an alarm. The first world that breaks a promise is
shrunk to the faults and orders that it needs.

Exit codes: 0 every promise was kept, 1 one was broken, 2 the command line is wrong.";

/// Worlds in one go; the last seed stays a number with the highest first one.
const COUNT_MAX: u64 = 10_000_000;
/// Failing seeds that are named; the first is shown whole.
const FAILURES_SHOWN: usize = 20;
/// Lines of the log that are shown of a failure.
const LOG_SHOWN: usize = 60;

/// Which worlds.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// How many worlds.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=COUNT_MAX))]
    count: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(..=u64::MAX - COUNT_MAX))]
    from: u64,
    /// Minutes of site time in which faults happen; then each world runs on until its orders are settled.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Take one safeguard away, as `link-fence`; the lab alone can.
    #[arg(long, value_name = "SAFEGUARD", value_parser = safeguard)]
    without: Option<Safeguard>,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let mut tally = Tally::default();
    let span = Millis::seconds(args.minutes * 60);
    let last = args.from.saturating_add(args.count - 1);
    for seed in args.from..=last {
        tally.add(&draw(seed, span, args.without)?.run().1);
        progress.tell(tally.worlds, args.count, "worlds");
    }
    progress.clear();
    let stdout = &mut std::io::stdout();
    say(stdout, &table(&tally, progress.elapsed().as_secs_f64()))?;
    let Some((seed, _)) = tally.failed.first() else {
        say(stdout, &format!("every promise was kept in {} worlds\n", tally.worlds))?;
        return Ok(ExitCode::SUCCESS);
    };
    for (seed, violation) in tally.failed.iter().take(FAILURES_SHOWN) {
        say(stdout, &format!("  seed {seed}: {violation}\n"))?;
    }
    say(stdout, &failure(&draw(*seed, span, args.without)?, args)?)?;
    let (broken, of) = (tally.failed.len(), tally.worlds);
    say(stdout, &format!("a promise was broken in {broken} of {of} worlds\n"))?;
    Ok(ExitCode::FAILURE)
}

pub(super) fn draw(seed: u64, span: Millis, without: Option<Safeguard>) -> anyhow::Result<RandomWorld> {
    let mut world = RandomWorld::draw(seed, span).context("a world cannot be drawn")?;
    if let Some(safeguard) = without {
        world = world.without(safeguard);
    }
    Ok(world)
}

fn table(tally: &Tally, seconds: f64) -> String {
    let mut text = String::new();
    let percent = |n: u64| n * 100 / tally.worlds.max(1);
    for family in FaultFamily::ALL {
        let n = tally.families.get(&family).copied().unwrap_or_default();
        // Writing into a String cannot fail.
        _ = writeln!(text, "  {:<10}{n:>8} worlds {:>4} %", format!("{family:?}").to_lowercase(), percent(n));
    }
    let [planned, completed, ended, alarmed] = tally.orders;
    _ = writeln!(
        text,
        "{planned} orders: {completed} completed, {ended} ended otherwise, {alarmed} stand with an alarm"
    );
    let site = tally.elapsed;
    let site_s = sim::figure(site.0 / 1000);
    let events = sim::figure(tally.events);
    _ = writeln!(
        text,
        "{site} of site time in {seconds:.1} s: {:.0} times as fast, {:.0} events a second",
        site_s / seconds,
        events / seconds
    );
    text
}

fn failure(world: &RandomWorld, args: &Args) -> anyhow::Result<String> {
    let seed = world.config.seed;
    let shrunk = shrink(world).context("a world that failed did not fail again")?;
    let (replayed, _) = shrunk.world.clone().logged().run();
    let mut text = format!("\nseed {seed}: {}\n", shrunk.violation);
    _ = writeln!(text, "needs, after {} tries:", shrunk.tries);
    for fault in &shrunk.world.config.faults {
        _ = writeln!(text, "  {fault}");
    }
    for order in &shrunk.world.config.orders {
        let withdrawn =
            order.withdrawn_after.map(|after| format!(", taken back after {after}")).unwrap_or_default();
        _ = writeln!(text, "  at {}: an order from {} to {}{withdrawn}", order.at, order.from, order.to);
    }
    let skipped = replayed.log().len().saturating_sub(LOG_SHOWN);
    _ = writeln!(text, "the last of {} lines:", replayed.log().len());
    for line in replayed.log().iter().skip(skipped) {
        _ = writeln!(text, "  {line}");
    }
    let minutes = if args.minutes == 2 { String::new() } else { format!(" --minutes {}", args.minutes) };
    let without = args.without.map(|it| format!(" --without {}", it.name())).unwrap_or_default();
    _ = writeln!(text, "step through it: hoistway lab replay {seed} --shrunk{minutes}{without}\n");
    Ok(text)
}
