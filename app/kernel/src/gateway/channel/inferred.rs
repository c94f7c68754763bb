//! What a PLC does not tell, made up for from what its lift shows (A18), here alone: every other rule reads the result
//! like the words of a PLC that tells everything.
//!
//! Without echo a command counts as taken once the lift is seen to do it, or to have done it, in a read after the write;
//! and as finished once the lift rests. A lift that showed it before the write has to show it for as long as it may take
//! to react: by then the PLC has taken what it took. Without boot counter each loss of the connection counts as a start. Without
//! heartbeat each read counts as a scan.

use crate::lift::{DoorState, Expectation, LiftAction, LiftStatus, Motion};
use crate::plant::Lift;
use crate::time::Now;

use super::super::marks::{Aim, LiftMarks};
use super::{Channel, Phase};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Inferred {
    losses: u16,
    reads: u16,
    accepted: u16,
    completed: u16,
    /// Since the last write the lift was seen to do neither what was asked nor nothing.
    strayed: bool,
}

impl Inferred {
    /// At a start of the gateway, which is a loss of the connection, too.
    pub(super) fn begin(kept: &LiftMarks) -> Self {
        let losses = kept.in_flight.as_ref().map_or(0, |it| it.plc_boot.wrapping_add(1));
        Self { losses, accepted: kept.shown, completed: kept.shown, ..Self::default() }
    }

    pub(super) fn note_loss(&mut self) {
        self.losses = self.losses.wrapping_add(1);
    }

    pub(super) fn forget_strays(&mut self) {
        self.strayed = false;
    }

    pub(super) fn strayed(&self) -> bool {
        self.strayed
    }
}

impl Channel {
    /// What was read, and what can be said in place of the rest.
    pub(super) fn with_what_is_not_told(&mut self, mut status: LiftStatus, now: Now) -> LiftStatus {
        let can = self.lift.capabilities;
        if !can.heartbeat {
            self.inferred.reads = self.inferred.reads.wrapping_add(1);
            status.heartbeat = self.inferred.reads;
        }
        if !can.boot {
            status.boot = self.inferred.losses;
        }
        if !can.echo {
            self.infer_echo(&status, now);
            (status.accepted, status.completed) = (self.inferred.accepted, self.inferred.completed);
        }
        status
    }

    fn infer_echo(&mut self, status: &LiftStatus, now: Now) {
        let flight = match &self.phase {
            Phase::Awaiting { flight, wrote, .. } => wrote.map(|since| (flight, since)),
            Phase::Verifying { flight, good_since } => Some((flight, good_since.unwrap_or(now.mono))),
            Phase::Idle => None,
        };
        // A read from before the write shows nothing of the command.
        if let Some((flight, since, aim)) = flight.and_then(|(it, since)| Some((it, since, it.aim.as_ref()?)))
        {
            let same_boot = status.boot == flight.plc_boot;
            let counted = !same_boot && self.lift.capabilities.boot;
            let reacted = !was_done(aim, &flight.expects) || now.mono.since(since) >= self.settles_after();
            let done = !counted && reacted && is_done(aim, status);
            if done || same_boot && has_begun(aim, &flight.expects, status, &self.lift) {
                self.inferred.accepted = flight.number;
            } else if !status.levelled || status.expectation() != flight.expects {
                self.inferred.strayed = true;
            }
        }
        if rests(status) {
            self.inferred.completed = self.inferred.accepted;
        }
    }
}

/// The lift shows what was asked of it.
pub(super) fn is_done(aim: &Aim, status: &LiftStatus) -> bool {
    status.stands_at(&aim.floor)
        && match aim.action {
            LiftAction::GoTo => true,
            LiftAction::OpenDoor => status.door == DoorState::Open,
            LiftAction::CloseDoor => status.door == DoorState::Closed,
        }
}

/// The lift showed what was asked of it before it was asked.
fn was_done(aim: &Aim, before: &Expectation) -> bool {
    let stood = before.motion == Motion::Still && before.floor == aim.floor;
    stood
        && match aim.action {
            LiftAction::GoTo => true,
            LiftAction::OpenDoor => before.door == DoorState::Open,
            LiftAction::CloseDoor => before.door == DoorState::Closed,
        }
}

/// The lift is on its way to what was asked of it.
fn has_begun(aim: &Aim, before: &Expectation, status: &LiftStatus, lift: &Lift) -> bool {
    let stands = status.stands_at(&aim.floor);
    match aim.action {
        LiftAction::GoTo => match status.motion {
            Motion::Still => false,
            Motion::Up => lift.stop_number(&before.floor) < lift.stop_number(&aim.floor),
            Motion::Down => lift.stop_number(&before.floor) > lift.stop_number(&aim.floor),
        },
        LiftAction::OpenDoor => stands && status.door == DoorState::Opening,
        LiftAction::CloseDoor => stands && status.door == DoorState::Closing,
    }
}

fn rests(status: &LiftStatus) -> bool {
    let door_stands = match status.door {
        DoorState::Open | DoorState::Closed => true,
        DoorState::Opening | DoorState::Closing | DoorState::Obstructed => false,
    };
    status.levelled && status.motion == Motion::Still && door_stands
}
