//! What both dispatchers have in common: a line of vehicles, one ride at a time, and what the ride needs next.
//!
//! Knows: the lift as the node was last told. Must not know how a wish becomes a command. A node takes a lift that
//! looks idle for its own; nothing tells it whose ride is under way, and that is the report's site.

use std::collections::VecDeque;

use kernel::ids::VehicleId;
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::time::{Millis, Mono};

use super::{ACK_WAIT, Ask, Wish};
use crate::before_after::calibration::Knobs;
use crate::rng::Rng;

/// A vehicle that has not boarded so long after its door was asked for does not come; the report's longest door
/// cycle (4.2).
const BOARDING_PATIENCE: Millis = Millis::seconds(15);
/// A car that stands with an open door and changes nothing for so long was left behind: twice that cycle.
const ABANDONED_AFTER: Millis = Millis::seconds(30);

/// How far the ride is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The car is on its way to the vehicle.
    Fetching,
    /// The door is to be open until the vehicle is in.
    Boarding { since: Mono },
    /// The car brings the vehicle.
    Carrying,
    /// The door is to be open until the vehicle is out.
    Leaving,
    /// The door is to be shut.
    Clearing,
}

#[derive(Clone, Debug)]
struct Ride {
    ask: Ask,
    stage: Stage,
    sent: Option<(Wish, Mono)>,
}

/// One dispatch node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    asks: VecDeque<Ask>,
    ride: Option<Ride>,
    view: Option<LiftStatus>,
    view_since: Mono,
    look_at: Mono,
    retry: Millis,
    sees_occupancy: bool,
    rng: Rng,
}

impl Node {
    /// A node that looks again after about `retry` when it found the lift busy.
    pub(super) fn new(knobs: &Knobs, sees_occupancy: bool, rng: Rng) -> Self {
        Self {
            asks: VecDeque::new(),
            ride: None,
            view: None,
            view_since: Mono(0),
            look_at: Mono(0),
            retry: knobs.retry_ms,
            sees_occupancy,
            rng,
        }
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        self.asks.push_back(ask);
    }

    /// The vehicle is in, in a car that this node fetched or that another one opened.
    pub(super) fn boarded(&mut self, vehicle: &VehicleId) {
        if let Some(ride) = self.ride.as_mut().filter(|it| it.ask.vehicle == *vehicle) {
            ride.stage = Stage::Carrying;
            ride.sent = None;
            return;
        }
        let Some(idx) = self.asks.iter().position(|it| it.vehicle == *vehicle) else { return };
        if let Some(ask) = self.asks.remove(idx) {
            self.give_back();
            self.ride = Some(Ride { ask, stage: Stage::Carrying, sent: None });
        }
    }

    /// The vehicle is out.
    pub(super) fn alighted(&mut self, vehicle: &VehicleId) {
        if let Some(ride) = self.ride.as_mut().filter(|it| it.ask.vehicle == *vehicle) {
            ride.stage = Stage::Clearing;
            ride.sent = None;
        }
    }

    /// Takes a reading of the lift, and lets the ride follow it.
    pub(super) fn see(&mut self, mut status: LiftStatus, now: Mono) {
        status.occupied &= self.sees_occupancy;
        let same = |it: &LiftStatus| {
            (it.door, it.motion, &it.floor, it.occupied)
                == (status.door, status.motion, &status.floor, status.occupied)
        };
        if !self.view.as_ref().is_some_and(same) {
            self.view_since = now;
        }
        self.view = Some(status);
        self.follow(now);
    }

    /// Whether the line's head should try for the lift now.
    pub(super) fn looks(&self, now: Mono) -> bool {
        self.ride.is_none() && !self.asks.is_empty() && now >= self.look_at
    }

    /// The lift was busy, or its lease was: the task goes back to its queue.
    pub(super) fn look_later(&mut self, now: Mono) {
        let half = self.retry.0 / 2;
        self.look_at = now + Millis(self.rng.within(half..=self.retry.0 + half));
    }

    /// Takes the lift for the head of the line if it looks idle; says which vehicle is to come.
    pub(super) fn begin(&mut self, now: Mono) -> Option<VehicleId> {
        if !self.lift_looks_idle(now) {
            self.look_later(now);
            return None;
        }
        let ask = self.asks.pop_front()?;
        let vehicle = ask.vehicle.clone();
        self.ride = Some(Ride { ask, stage: Stage::Fetching, sent: None });
        self.follow(now);
        Some(vehicle)
    }

    /// What the ride needs next and does not see under way. The same is wished again after
    /// [`ACK_WAIT`].
    pub(super) fn wish(&self, now: Mono) -> Option<Wish> {
        let (ride, view) = (self.ride.as_ref()?, self.view.as_ref()?);
        if view.mode != LiftMode::Vehicle {
            return None;
        }
        let wish = match ride.stage {
            Stage::Fetching => travel(view, Wish { action: LiftAction::GoTo, floor: ride.ask.from.clone() }),
            Stage::Boarding { .. } => open(view),
            Stage::Carrying => travel(view, Wish { action: LiftAction::GoTo, floor: ride.ask.to.clone() }),
            Stage::Leaving => open(view),
            Stage::Clearing => close(view),
        }?;
        let fresh =
            ride.sent.as_ref().is_some_and(|(earlier, at)| *earlier == wish && now.since(*at) < ACK_WAIT);
        (!fresh).then_some(wish)
    }

    /// The wish was sent, or holds as sent.
    pub(super) fn sent(&mut self, wish: Wish, now: Mono) {
        if let Some(ride) = &mut self.ride {
            ride.sent = Some((wish, now));
        }
    }

    /// What became of it is not known: it may be wished again at once.
    pub(super) fn unsent(&mut self) {
        if let Some(ride) = &mut self.ride {
            ride.sent = None;
        }
    }

    /// Whether the PLC, as last read, executes nothing.
    pub(super) fn lift_is_at_rest(&self) -> bool {
        self.view.as_ref().is_some_and(|it| {
            it.motion == Motion::Still && !matches!(it.door, DoorState::Opening | DoorState::Closing)
        })
    }

    fn left_behind(&self, now: Mono) -> bool {
        now.since(self.view_since) >= ABANDONED_AFTER
    }

    fn lift_looks_idle(&self, now: Mono) -> bool {
        let left = self.left_behind(now);
        self.view.as_ref().is_some_and(|it| {
            let shut = it.door == DoorState::Closed && it.levelled;
            it.mode == LiftMode::Vehicle && it.motion == Motion::Still && !it.occupied && (shut || left)
        })
    }

    /// The ride loses its car: its vehicle is first in line again.
    fn give_back(&mut self) {
        if let Some(ride) = self.ride.take()
            && ride.stage != Stage::Clearing
        {
            self.asks.push_front(ride.ask);
        }
    }

    fn follow(&mut self, now: Mono) {
        let left = self.left_behind(now);
        let (Some(ride), Some(view)) = (&mut self.ride, &self.view) else { return };
        if view.mode != LiftMode::Vehicle {
            // Whoever is not in the car begins anew when the lift serves again.
            if !matches!(ride.stage, Stage::Carrying | Stage::Leaving) {
                self.give_back();
                self.look_later(now);
            }
            return;
        }
        let at_from = view.stands_at(&ride.ask.from);
        let at_to = view.stands_at(&ride.ask.to);
        let next = match ride.stage {
            Stage::Fetching if at_from => Some(Stage::Boarding { since: now }),
            Stage::Boarding { since } if at_from && now.since(since) >= BOARDING_PATIENCE => {
                self.asks.push_back(ride.ask.clone());
                Some(Stage::Clearing)
            }
            Stage::Carrying if at_to => Some(Stage::Leaving),
            Stage::Leaving if !at_to => Some(Stage::Carrying),
            Stage::Fetching | Stage::Boarding { .. } | Stage::Carrying | Stage::Leaving | Stage::Clearing => {
                None
            }
        };
        if let Some(stage) = next {
            ride.stage = stage;
            ride.sent = None;
            return;
        }
        let taken = match ride.stage {
            Stage::Fetching => view.occupied || (view.door != DoorState::Closed && !left),
            Stage::Boarding { .. } => !at_from || (view.occupied && view.door == DoorState::Closed),
            Stage::Clearing => view.door == DoorState::Closed,
            Stage::Carrying | Stage::Leaving => false,
        };
        if taken {
            self.give_back();
            self.look_later(now);
        }
    }
}

/// To a floor: first the door, then the way, each unless it is under way.
fn travel(view: &LiftStatus, wish: Wish) -> Option<Wish> {
    match (view.motion, view.door) {
        (Motion::Up | Motion::Down, _) | (Motion::Still, DoorState::Closing) => None,
        (Motion::Still, DoorState::Closed) => Some(wish),
        (Motion::Still, DoorState::Opening | DoorState::Open | DoorState::Obstructed) => close(view),
    }
}

fn open(view: &LiftStatus) -> Option<Wish> {
    let needed = matches!(view.door, DoorState::Closed | DoorState::Closing | DoorState::Obstructed);
    needed.then(|| Wish { action: LiftAction::OpenDoor, floor: view.floor.clone() })
}

fn close(view: &LiftStatus) -> Option<Wish> {
    let needed = matches!(view.door, DoorState::Opening | DoorState::Open | DoorState::Obstructed);
    needed.then(|| Wish { action: LiftAction::CloseDoor, floor: view.floor.clone() })
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (BOARDING_PATIENCE, ABANDONED_AFTER))
}
