//! Admission of a lift command: one total function, asked when a command is queued and again when it is taken.

use std::collections::VecDeque;

use crate::ids::{Generation, TaskId};
use crate::lease::{FencingToken, LeaseNonce};
use crate::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use crate::plant::Lift;
use crate::safeguard::{Safeguard, Safeguards};
use crate::time::{Millis, Mono, Now};
use crate::timing::LIFT_READ_AGE_MAX;
use crate::wire::gateway::{Arbitration, Authority, Connection, GatewayRefusal, LiftCommand};

use super::edge::{self, Car, LiftState, SessionRank};
use super::marks::{LiftMarks, highest_claim};

/// What admission sees of a lift.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The installation.
    pub lift: &'a Lift,
    /// Start of the gateway.
    pub boot: u64,
    /// The newest read and when it came.
    pub newest: Option<(&'a LiftStatus, Mono)>,
    /// When recent reads came, by tick.
    pub ticks: &'a VecDeque<(u64, Mono)>,
    /// How the PLC can be reached.
    pub connection: Connection,
    /// What an earlier command did is not settled.
    pub verifying: bool,
    /// Which rules hold; all of them, outside the lab.
    pub safeguards: Safeguards,
}

/// Whether a command may be written now, or why not. The order of the questions is the order of the answers' weight:
/// first whether anything may be sent at all, then whether this sender may, then whether this command fits.
///
/// # Errors
/// The first reason against it.
pub fn admit(
    command: &LiftCommand,
    marks: &LiftMarks,
    claims: &VecDeque<(TaskId, Generation)>,
    view: &View<'_>,
    now: Now,
) -> Result<(), GatewayRefusal> {
    if view.lift.stop(&command.floor).is_none() {
        return Err(GatewayRefusal::UnknownTarget);
    }
    let status = reachable(view, now)?;
    if view.verifying {
        return Err(GatewayRefusal::Verifying);
    }
    let holds = |safeguard| view.safeguards.holds(safeguard);
    let elsewhere = status.mode != LiftMode::Vehicle && holds(Safeguard::VehicleMode);
    if elsewhere || status.fault != 0 {
        return Err(GatewayRefusal::OutOfService);
    }
    fenced(command, marks, claims, status, view.safeguards)?;
    if holds(Safeguard::ReadAge) && !named_read_is_fresh(command, view, now) {
        return Err(GatewayRefusal::StaleRead);
    }
    if holds(Safeguard::Expectation) && status.expectation() != command.expects {
        return Err(GatewayRefusal::ExpectationMissed { found: status.expectation() });
    }
    if holds(Safeguard::Interlock) && !fits(command, status) {
        return Err(GatewayRefusal::NotNow);
    }
    Ok(())
}

fn reachable<'a>(view: &View<'a>, now: Now) -> Result<&'a LiftStatus, GatewayRefusal> {
    match (view.connection, view.newest) {
        (Connection::Up, Some((status, at))) if now.mono.since(at) <= LIFT_READ_AGE_MAX => Ok(status),
        (Connection::Up | Connection::Unknown | Connection::Down | Connection::Frozen, _) => {
            Err(GatewayRefusal::Unreachable)
        }
    }
}

/// The two fences: the token of the lease, or the gateway's own arbitration; the generations of session and claim.
fn fenced(
    command: &LiftCommand,
    marks: &LiftMarks,
    claims: &VecDeque<(TaskId, Generation)>,
    status: &LiftStatus,
    safeguards: Safeguards,
) -> Result<(), GatewayRefusal> {
    match command.authority {
        Authority::Lease { token, nonce } => {
            if safeguards.holds(Safeguard::EdgeFence) && marks.arbitration != Arbitration::Lease {
                return Err(GatewayRefusal::WrongArbitration);
            }
            leased(command, (token, nonce), marks, status, safeguards)?;
        }
        Authority::Edge { epoch } => {
            let current = marks.arbitration == Arbitration::Edge && marks.epoch == epoch;
            if safeguards.holds(Safeguard::EdgeFence) && !current {
                return Err(GatewayRefusal::WrongArbitration);
            }
            if safeguards.holds(Safeguard::EdgeTable) {
                let session = SessionRank::of(command.session.generation, marks.session);
                edge::admits(LiftState::of(status), command.action, session, Car::of(status))?;
            }
        }
    }
    if !safeguards.holds(Safeguard::ClaimFence) {
        return Ok(());
    }
    if highest_claim(claims, &command.session.task).is_some_and(|highest| command.session.claim < highest) {
        return Err(GatewayRefusal::StaleClaim);
    }
    Ok(())
}

/// What counts of a command by a lease: its rank, and the generation of its session.
fn leased(
    command: &LiftCommand,
    (token, nonce): (FencingToken, LeaseNonce),
    marks: &LiftMarks,
    status: &LiftStatus,
    safeguards: Safeguards,
) -> Result<(), GatewayRefusal> {
    let same_request =
        marks.holder.as_ref().is_some_and(|(node, held)| *node == command.holder && *held == nonce);
    let is_lower = token.epoch != marks.epoch || token < marks.token;
    let is_anothers = token == marks.token && !same_request;
    if (is_lower && safeguards.holds(Safeguard::TokenFence))
        || (is_anothers && safeguards.holds(Safeguard::TokenOwner))
    {
        return Err(GatewayRefusal::StaleToken);
    }
    if safeguards.holds(Safeguard::SessionFence) {
        if command.session.generation < marks.session {
            return Err(GatewayRefusal::StaleSession);
        }
        if command.session.generation > marks.session && status.occupied {
            return Err(GatewayRefusal::CarOccupied);
        }
    }
    Ok(())
}

/// By this gateway's own clock: the sender's does not count.
fn named_read_is_fresh(command: &LiftCommand, view: &View<'_>, now: Now) -> bool {
    let read_at = view.ticks.iter().find(|(tick, _)| *tick == command.read.tick).map(|(_, at)| *at);
    let age = read_at.map(|at| now.mono.since(at));
    command.read.boot == view.boot && age.is_some_and(|age: Millis| age <= LIFT_READ_AGE_MAX)
}

/// The movement is possible from where the lift stands, and contradicts nothing that it is doing.
fn fits(command: &LiftCommand, status: &LiftStatus) -> bool {
    let busy = status.accepted != status.completed || status.motion != Motion::Still;
    let here = status.stands_at(&command.floor);
    let moving_door = match status.door {
        DoorState::Opening | DoorState::Closing => true,
        DoorState::Closed | DoorState::Open | DoorState::Obstructed => false,
    };
    match command.action {
        LiftAction::GoTo => !busy && status.levelled && status.door == DoorState::Closed,
        LiftAction::OpenDoor | LiftAction::CloseDoor => !busy && here && !moving_door,
    }
}
