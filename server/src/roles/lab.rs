//! `hoistway lab`: whole sites in virtual time, from the command line. The lab itself is the crate `sim`; here are
//! only words, progress and exit codes.

mod accidents;
mod before_after;
mod blind_zone;
mod replay;
mod safeguards;
mod seeds;
mod speed;

use std::process::ExitCode;

use clap::Subcommand;

use super::progress::Progress;

/// What the lab can be asked.
#[derive(Debug, Subcommand)]
pub enum Lab {
    /// Play the named accidents, each with all safeguards and without its own.
    #[command(after_help = accidents::HELP)]
    Accidents(accidents::Args),
    /// Random worlds with random faults under the checkers; a failure is shrunk and told with its seed.
    #[command(after_help = seeds::HELP)]
    Seeds(seeds::Args),
    /// Step through one random world, line by line.
    #[command(after_help = replay::HELP)]
    Replay(replay::Args),
    /// Take each safeguard away in turn and show how soon chance finds the accident that it prevents.
    #[command(after_help = safeguards::HELP)]
    Safeguards(safeguards::Args),
    /// Thousands of rides through cars without radio: how soon vehicles are back, what is sent again.
    #[command(after_help = blind_zone::HELP)]
    BlindZone(blind_zone::Args),
    /// The first field report's site as it was, with leases only, and by Hoistway; writes a page with plots.
    #[command(after_help = before_after::HELP)]
    BeforeAfter(before_after::Args),
    /// How many times faster than the clock virtual time goes.
    #[command(after_help = speed::HELP)]
    Speed(speed::Args),
}

/// Does what was asked.
///
/// # Errors
/// Output that cannot be written.
pub fn run(lab: Lab) -> anyhow::Result<ExitCode> {
    let mut progress = Progress::new();
    match lab {
        Lab::Accidents(args) => accidents::run(&args, &mut progress),
        Lab::Seeds(args) => seeds::run(&args, &mut progress),
        Lab::Replay(args) => replay::run(&args),
        Lab::Safeguards(args) => safeguards::run(&args, &mut progress),
        Lab::BlindZone(args) => blind_zone::run(&args, &mut progress),
        Lab::BeforeAfter(args) => before_after::run(&args, &mut progress),
        Lab::Speed(args) => speed::run(&args, &mut progress),
    }
}
