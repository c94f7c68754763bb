//! The machines that programs run on: each has clocks of its own, may stand still, and may be gone.

use std::collections::BTreeMap;

use kernel::control::Control;
use kernel::gateway::{Gateway, Marks};
use kernel::ids::{GatewayId, LiftId, NodeId};
use kernel::lease::FencingToken;
use kernel::time::{Millis, Mono, Now};
use kernel::wire::gateway::GatewayStatus;

/// The clocks of one machine.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// Its own clock began so long before the world: readings of two machines cannot be compared.
    origin: u64,
    wall_step_ms: i64,
    /// Its spans run on a clock that nobody sets; otherwise on the wall clock, as programs do that know no better.
    steady: bool,
    paused_until: Option<Mono>,
}

/// Every machine had been up for so long before the world began, so that a clock set back still shows a time.
pub(super) const UPTIME_MS: u64 = 10_000_000;

/// The wall clocks of a world begin on 1 January 2026.
const WALL_START_MS: i64 = 1_767_225_600_000;

impl Clock {
    pub(super) fn new(origin: u64, wall_offset_ms: i64, steady: bool) -> Self {
        Self { origin: UPTIME_MS + origin, wall_step_ms: wall_offset_ms, steady, paused_until: None }
    }

    pub(super) fn stamp(&self, world: Mono) -> Now {
        let passed = i64::try_from(world.0).unwrap_or(i64::MAX);
        let wall = WALL_START_MS.saturating_add(passed).saturating_add(self.wall_step_ms);
        Now::of(self.mono(world), wall)
    }

    pub(super) fn mono(&self, world: Mono) -> Mono {
        Mono(world.0.saturating_add(self.lead()))
    }

    /// How far it is ahead of the world's clock.
    fn lead(&self) -> u64 {
        if self.steady { self.origin } else { self.origin.saturating_add_signed(self.wall_step_ms) }
    }

    /// The world's time when this machine's clock shows `mono`, but not while it stands still.
    pub(super) fn due(&self, mono: Mono) -> Mono {
        let due = Mono(mono.0.saturating_sub(self.lead()));
        self.paused_until.map_or(due, |until| due.max(until))
    }

    pub(super) fn step(&mut self, by_ms: i64) {
        self.wall_step_ms = self.wall_step_ms.saturating_add(by_ms);
    }

    pub(super) fn pause(&mut self, until: Mono) {
        self.paused_until = Some(self.paused_until.map_or(until, |it| it.max(until)));
    }

    /// Whoever stood still on it is gone.
    pub(super) fn wake(&mut self) {
        self.paused_until = None;
    }

    /// Until when it stands still, if it does.
    pub(super) fn paused(&mut self, world: Mono) -> Option<Mono> {
        self.paused_until.take_if(|until| *until <= world);
        self.paused_until
    }
}

/// A machine with a control node.
#[derive(Clone, Debug)]
pub(super) struct NodeMachine {
    pub(super) id: NodeId,
    pub(super) clock: Clock,
    /// None while it is down.
    pub(super) control: Option<Control>,
    /// The broker does not reach it until then.
    pub(super) cut_off: Option<Mono>,
    /// The ledger does not reach it until then.
    pub(super) ledger_cut: Option<Mono>,
    /// It never starts again.
    pub(super) gone: bool,
    /// Rises by each start: what was on its way to an earlier run is lost.
    pub(super) life: u32,
    /// Batches of the ledger that it has taken in, or that were there when it started.
    pub(super) n_followed: usize,
    /// Nothing of it reaches the ledger before this: its shell asks for one thing after the other.
    pub(super) ledger_free: Mono,
    /// What the statuses that reached it in this life showed as admitted, the highest of each lift.
    pub(super) admitted: BTreeMap<LiftId, FencingToken>,
    /// Its shell finds out what became of a proposal.
    pub(super) asks_ledger: bool,
    /// It was asked to stop, and is to be away for so long.
    pub(super) leaves_for: Option<Millis>,
    pub(super) fuse: Fuse,
}

impl NodeMachine {
    /// A gateway's status reaches it.
    pub(super) fn hears(&mut self, status: &GatewayStatus) {
        for reading in &status.lifts {
            let highest = self.admitted.entry(reading.lift.clone()).or_default();
            *highest = reading.token.max(*highest);
        }
    }

    /// In this life, and it takes in what the ledger holds.
    pub(super) fn follows(&self, life: u32) -> bool {
        self.life == life && !self.asks_ledger
    }
}

/// A machine with a gateway.
#[derive(Clone, Debug)]
pub(super) struct GatewayMachine {
    pub(super) id: GatewayId,
    pub(super) clock: Clock,
    /// On its disk.
    pub(super) marks: Marks,
    /// What it told last.
    pub(super) told: Option<GatewayStatus>,
    /// None while it is down.
    pub(super) gateway: Option<Gateway>,
    /// The broker does not reach it until then.
    pub(super) cut_off: Option<Mono>,
    pub(super) life: u32,
    pub(super) fuse: Fuse,
}

/// Counts the effects of a machine by which something leaves it, over all its lives, and kills it after one of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fuse {
    pub(super) n_effects: u64,
    /// After which effect, and how long it is away then.
    pub(super) armed: Option<(u64, Millis)>,
}

impl Fuse {
    /// How long the machine is away that dies now.
    pub(super) fn blows(&mut self) -> Option<Millis> {
        self.armed.take_if(|(n, _)| *n <= self.n_effects).map(|(_, away)| away)
    }
}
