//! `hoistway lab speed`.

use std::process::ExitCode;

use clap::Args as ClapArgs;
use kernel::time::Millis;

use crate::cli::say;
use crate::roles::progress::Progress;

pub(super) const HELP: &str = "\
Example:
  hoistway lab speed

One lift, twelve vehicles, heartbeats at 2 Hz, a PLC scan of 100 ms, every checker on, one core.

Exit codes: 0 measured, 1 a promise was broken meanwhile, 2 the command line is wrong.";

/// Site time between two words of progress.
const STRIDE: Millis = Millis::seconds(60);

/// How long.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Minutes of site time.
    #[arg(long, default_value_t = 240, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: u64,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    let mut world = sim::speed::world(Millis::seconds(args.minutes * 60))?;
    for minute in 1..=args.minutes {
        world.run_for(STRIDE);
        progress.tell(minute, args.minutes, "minutes of site time");
    }
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    // Outside the time that is measured: what can only be said at the end.
    world.compare();
    let site_s = sim::figure(world.elapsed().0 / 1000);
    let events = sim::figure(world.events());
    let stdout = &mut std::io::stdout();
    say(
        stdout,
        &format!(
            "{site_s:.0} s of site time in {seconds:.1} s: {:.0} times as fast, {:.0} events a second, {} orders completed\n",
            site_s / seconds,
            events / seconds,
            world.ending().completed
        ),
    )?;
    for violation in world.violations() {
        say(stdout, &format!("broken: {violation}\n"))?;
    }
    Ok(if world.violations().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
