//! What a dispatcher sees and says, for tests.

use kernel::lift::{DoorState, LiftMode, LiftStatus, Motion};

use super::{Ask, LiftEffect, LiftEvent, NodeName, Policy, Wish};
use crate::fixture::{floor, vehicle};

pub(super) fn idle_at(at: &str) -> LiftStatus {
    LiftStatus {
        floor: floor(at),
        levelled: true,
        door: DoorState::Closed,
        motion: Motion::Still,
        mode: LiftMode::Vehicle,
        fault: 0,
        accepted: 0,
        completed: 0,
        boot: 1,
        heartbeat: 0,
        occupied: false,
    }
}

pub(super) fn asked(node: NodeName, name: &str, from: &str, to: &str) -> LiftEvent {
    LiftEvent::Asked { node, ask: Ask { vehicle: vehicle(name), from: floor(from), to: floor(to) } }
}

pub(super) fn polled(node: NodeName, status: LiftStatus) -> LiftEvent {
    LiftEvent::Polled { node, status }
}

pub(super) fn read(node: NodeName, status: LiftStatus) -> LiftEvent {
    LiftEvent::Read { node, status }
}

pub(super) fn drain(policy: &mut dyn Policy) -> Vec<LiftEffect> {
    std::iter::from_fn(|| policy.poll_effect()).collect()
}

/// The commands among the effects.
pub(super) fn written(policy: &mut dyn Policy) -> Vec<(NodeName, u64, Wish)> {
    let write = |effect| match effect {
        LiftEffect::Write { node, serial, wish } => Some((node, serial, wish)),
        LiftEffect::Summon { .. } | LiftEffect::Read { .. } => None,
    };
    drain(policy).into_iter().filter_map(write).collect()
}
