//! `hoistway lab before-after`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args as ClapArgs;
use sim::before_after::{self, CALIBRATED_DAYS, CALIBRATED_SEEDS};

use crate::cli::say;
use crate::roles::progress::Progress;

pub(super) const HELP: &str = "\
Example:
  hoistway lab before-after
  hoistway lab before-after --days 5 --page week.html

The first field report's site: twelve vehicles, one lift, two active dispatch nodes, an afternoon peak. Once as it was,
without a lease; once with leases alone, as the report built it; once by Hoistway's own control nodes and gateway. The
page with plots is one file that needs nothing else.

Exit codes: 0 done, 1 a promise was broken meanwhile or the page cannot be written, 2 the command line is wrong.";

/// How much to run.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Days with each of the five seeds, and for Hoistway's own column in all; the constants were found with two.
    #[arg(long, default_value_t = CALIBRATED_DAYS, value_parser = clap::value_parser!(u32).range(1..=60))]
    days: u32,
    /// Where the page is written; a file that is there already is replaced.
    #[arg(long, value_name = "FILE", default_value = "before-after.html")]
    page: PathBuf,
}

pub(super) fn run(args: &Args, progress: &mut Progress) -> anyhow::Result<ExitCode> {
    // Before the work, so that nobody waits for a page that cannot be written.
    let mut page = std::fs::File::create(&args.page)
        .with_context(|| format!("cannot write the page to {}", args.page.display()))?;
    let comparison = before_after::run(args.days, &CALIBRATED_SEEDS, &mut |at| {
        // A share between 0 and 1, told in whole percent.
        let percent = (0..=100_u32).rev().find(|it| f64::from(*it) <= at.fraction * 100.0).unwrap_or(0);
        progress.tell(u64::from(percent), 100, &format!("percent, {}", at.column));
    })?;
    progress.clear();
    let stdout = &mut std::io::stdout();
    say(stdout, &comparison.table())?;
    page.write_all(comparison.page().as_bytes())
        .with_context(|| format!("cannot write the page to {}", args.page.display()))?;
    let seconds = progress.elapsed().as_secs_f64();
    say(stdout, &format!("the page is {}, made in {seconds:.1} s\n", args.page.display()))?;
    Ok(ExitCode::SUCCESS)
}
