//! What may happen next, within the bounds.

use kernel::ids::{GatewayId, LiftId, NodeId};
use kernel::lease::{LeaseTable, LeaseTiming};
use kernel::plant::Plant;
use kernel::safeguard::Safeguards;
use kernel::time::Millis;
use stateright::{Model, Property};

use super::promises::properties;
use super::world::{Right, World};
use crate::fixture;

/// How often each thing may happen on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bounds {
    pub(super) commands: usize,
    /// Leases that each node asks for.
    pub(super) asks: u64,
    /// A node that holds a lease sleeps.
    pub(super) pauses: u8,
    /// The store forgets.
    pub(super) losses: u8,
    /// The gateway starts anew.
    pub(super) restarts: u8,
    /// A message comes twice.
    pub(super) duplicates: u8,
    /// A write or its answer is lost, a read fails, a scan is held up.
    pub(super) troubles: u8,
    /// Scans of the PLC.
    pub(super) scans: u8,
    /// Longer spans, and which.
    pub(super) spans: u8,
    pub(super) lengths: &'static [Span],
}

impl Bounds {
    /// Two nodes, three commands, two pauses, one loss of the store, one restart, two messages that come twice.
    pub(super) const STATED: Self = Self {
        commands: 3,
        asks: 2,
        pauses: 2,
        losses: 1,
        restarts: 1,
        duplicates: 2,
        troubles: 0,
        scans: 1,
        spans: 2,
        lengths: &[Span::Hold, Span::Life],
    };
    /// The same dangers with fewer repeats.
    pub(super) const FEW: Self =
        Self { commands: 2, pauses: 1, duplicates: 1, scans: 2, spans: 1, ..Self::STATED };
    /// Only delays.
    pub(super) const CALM: Self = Self { pauses: 0, losses: 0, restarts: 0, duplicates: 0, ..Self::FEW };
    pub(super) const ASLEEP: Self = Self { pauses: 1, ..Self::CALM };
    pub(super) const FORGOTTEN: Self = Self { losses: 1, ..Self::ASLEEP };
    pub(super) const REPEATED: Self = Self { duplicates: 1, ..Self::CALM };
    pub(super) const RESTARTED: Self = Self { restarts: 1, ..Self::CALM };
    /// A write, an answer, a word, a read or a scan is lost, and what that comes to.
    pub(super) const TROUBLED: Self = Self {
        asks: 1,
        restarts: 1,
        duplicates: 1,
        troubles: 1,
        spans: 2,
        lengths: &[Span::Validity],
        ..Self::CALM
    };
}

/// The spans that make a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Span {
    /// A scan and a read.
    Scan,
    /// Beyond the age of a read, the validity of a command and the wait for an echo.
    Validity,
    /// Beyond the longest hold of a lease, within its life.
    Hold,
    /// Beyond the life of a lease.
    Life,
}

impl Span {
    pub(super) fn millis(self) -> Millis {
        match self {
            Self::Scan => Millis(300),
            Self::Validity => Millis(2600),
            Self::Hold => Millis(7000),
            Self::Life => Millis(31_000),
        }
    }
}

/// What goes wrong in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    Well,
    /// The gateway dies after so many of the effects of this step, and starts again.
    DiesAfter(u8),
    /// The write never reaches the PLC, and nobody knows.
    WriteLost,
    /// The write reaches the PLC, and its answer is lost.
    AnswerLost,
    /// What the gateway tells is lost.
    WordLost,
    /// The PLC scans and is not read.
    ReadFails,
    /// The PLC does not scan and is read.
    ScanHeld,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    /// A node asks for the lift. When it is granted it sleeps, or sends. The store may have forgotten before.
    Ask {
        node: usize,
        sleeps: bool,
        forgets: bool,
    },
    /// A sleeper wakes and sends.
    Wake(usize),
    /// A command arrives; a copy may stay on the way.
    Arrive {
        command: usize,
        stays: bool,
        fate: Fate,
    },
    Pass(Span, Fate),
}

/// Most effects of one step; beyond them there is nothing to die after.
const EFFECTS_MAX: u8 = 6;

/// How a gateway's disk keeps what it is told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    /// Before whatever comes after, as `Effect` asks.
    InOrder,
    /// After all else.
    Late,
    /// Until the gateway starts again.
    Forgetful,
}

pub(super) struct Lab {
    pub(super) rules: Safeguards,
    pub(super) disk: Disk,
    pub(super) bounds: Bounds,
    pub(super) plant: Plant,
    pub(super) lift: LiftId,
    pub(super) gateway: GatewayId,
    pub(super) nodes: [NodeId; 2],
}

impl Lab {
    pub(super) fn new(rules: Safeguards, bounds: Bounds) -> Self {
        Self {
            rules,
            disk: Disk::InOrder,
            bounds,
            plant: fixture::plant(),
            lift: fixture::lift("L1"),
            gateway: fixture::gateway("G1"),
            nodes: ["A", "B"].map(fixture::node),
        }
    }

    pub(super) fn empty_store(&self) -> LeaseTable {
        LeaseTable::new(LeaseTiming::default())
    }
}

impl Model for Lab {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        Right::ALL.into_iter().map(|right| World::new(self, right)).collect()
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        for (node, state) in world.nodes.iter().enumerate() {
            if state.asleep.is_some() {
                acts.push(Act::Wake(node));
            } else {
                let ways = [(false, false), (false, true), (true, false), (true, true)];
                acts.extend(ways.map(|(sleeps, forgets)| Act::Ask { node, sleeps, forgets }));
            }
        }
        let fates = [Fate::Well, Fate::WriteLost, Fate::AnswerLost, Fate::WordLost];
        let fates = fates.into_iter().chain((0..EFFECTS_MAX).map(Fate::DiesAfter));
        for (command, _) in world.sent.iter().enumerate().filter(|(_, it)| it.on_the_way > 0) {
            for fate in fates.clone() {
                acts.extend([false, true].map(|stays| Act::Arrive { command, stays, fate }));
            }
        }
        let fates = fates.chain([Fate::ReadFails, Fate::ScanHeld]);
        for span in [&[Span::Scan], self.bounds.lengths].into_iter().flatten().copied() {
            acts.extend(fates.clone().map(|fate| Act::Pass(span, fate)));
        }
    }

    fn next_state(&self, before: &World, act: Act) -> Option<World> {
        if !before.may(act) {
            return None;
        }
        let mut world = before.clone();
        let happened = match act {
            Act::Ask { node, sleeps, forgets } => world.ask(self, node, sleeps, forgets),
            Act::Wake(idx) => world.wake(self, idx),
            Act::Arrive { command, stays, fate } => world.arrive(self, command, stays, fate),
            Act::Pass(span, fate) => world.pass(self, span, fate),
        };
        happened.then(|| {
            world.judge();
            world
        })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties()
    }
}
