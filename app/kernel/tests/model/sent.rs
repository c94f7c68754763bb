//! A command on its way, and what was said about it.

use std::collections::BTreeSet;

use kernel::time::Mono;
use kernel::wire::gateway::{GatewayRefusal, LiftCommand, Verdict};

/// What a gateway said about a command, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Word {
    Accepted,
    Ran,
    NotSent,
    Unknown,
    Expired,
    StaleToken,
    StaleSession,
    StaleClaim,
    CarOccupied,
    StaleRead,
    ExpectationMissed,
    NotNow,
    Verifying,
    OtherRefusal,
}

/// A command that left its node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sent {
    pub(super) command: LiftCommand,
    /// When the lift was read as it was decided on.
    pub(super) read_at: Mono,
    /// Copies that may still arrive.
    pub(super) on_the_way: u8,
    pub(super) told: BTreeSet<Word>,
    /// So often the PLC took it.
    pub(super) runs: usize,
    pub(super) given_up: bool,
}

impl Sent {
    pub(super) fn new(command: LiftCommand, read_at: Mono) -> Self {
        Self { command, read_at, on_the_way: 1, told: BTreeSet::new(), runs: 0, given_up: false }
    }
}

pub(super) fn word(verdict: &Verdict) -> Word {
    match verdict {
        Verdict::Accepted | Verdict::Forwarded => Word::Accepted,
        Verdict::Expired => Word::Expired,
        Verdict::Unknown => Word::Unknown,
        Verdict::Ran => Word::Ran,
        Verdict::NotSent => Word::NotSent,
        Verdict::Refused { reason } => match reason {
            GatewayRefusal::StaleToken => Word::StaleToken,
            GatewayRefusal::StaleSession => Word::StaleSession,
            GatewayRefusal::StaleClaim => Word::StaleClaim,
            GatewayRefusal::CarOccupied => Word::CarOccupied,
            GatewayRefusal::StaleRead => Word::StaleRead,
            GatewayRefusal::ExpectationMissed { .. } => Word::ExpectationMissed,
            GatewayRefusal::NotNow => Word::NotNow,
            GatewayRefusal::Verifying => Word::Verifying,
            GatewayRefusal::UnknownTarget
            | GatewayRefusal::Unreachable
            | GatewayRefusal::OutOfService
            | GatewayRefusal::WrongArbitration
            | GatewayRefusal::QueueFull => Word::OtherRefusal,
        },
    }
}
