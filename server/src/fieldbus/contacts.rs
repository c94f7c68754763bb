//! Contact profiles: a lift that is called by dry contacts and tells what it does by others.
//!
//! `[profiles.NAME]` with `kind = "contacts"`. Coils are pulse outputs: the PLC, or the remote I/O module before the
//! lift's own controller, resets each by itself, as a pressed button comes back. All of them are written in one request
//! (FC15), the one that is asked for set and all others not: one request is one command. All inputs are read in one
//! request (FC02).
//!
//! | coil | set for |
//! |---|---|
//! | coils.call, one for each stop, from the lowest | go to that stop |
//! | coils.open | open door |
//! | coils.close | close door |
//!
//! | input | on while |
//! |---|---|
//! | inputs.at_stop, one for each stop, from the lowest | the car stands level with it, or passes it |
//! | inputs.closed, inputs.opened | the door is at this limit |
//! | inputs.up, inputs.down | the car travels |
//! | inputs.vehicle | vehicles are served |
//! | inputs.fire, inputs.maintenance, inputs.emergency | one of these is in force |
//! | inputs.fault | the lift reports a fault |
//! | inputs.occupied | something stands in the car |
//!
//! Between two contacts the last one counts: a car between stops is near the one that it left, a door between its limits
//! opens when it was shut and shuts when it was open, and is stopped by something when that takes longer than it may.
//! Contacts that contradict each other are no read. There is no echo, no boot counter and no heartbeat.

mod table;

use std::time::Duration;

use kernel::gateway::CommandBlock;
use kernel::ids::FloorId;
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::plant::{Capabilities, Lift};
use kernel::time::Millis;
use kernel::timing::PLC_SETTLE;
use thiserror::Error;
use tokio::time::Instant;

use super::profile::Window;
use super::registers::REACTION_S;
pub use table::{Coils, Contacts, Inputs, InvalidContacts};
use table::{READ_INPUTS_MAX, bounds, shared};

/// A door may take so many times its own span between its limits before something holds it.
const DOOR_SPANS_MAX: u32 = 2;

/// Why inputs are no read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unbelievable {
    /// Fewer than were asked for.
    #[error("{found} inputs were given, {expected} are needed")]
    Few {
        /// How many came.
        found: usize,
        /// How many were asked for.
        expected: u16,
    },
    /// The car is at two places.
    #[error("the car is at stop {first} and at stop {second} at once")]
    TwoStops {
        /// One, from 1.
        first: usize,
        /// The other.
        second: usize,
    },
    /// The door is shut and open.
    #[error("the door is at both of its limits at once")]
    BothLimits,
    /// The car travels up and down.
    #[error("the car travels up and down at once")]
    BothWays,
    /// It is between two stops, and nobody saw which it left.
    #[error("the car is at no stop, and was not seen at one since the gateway began")]
    Nowhere,
    /// The lift has fewer stops.
    #[error("the car is at stop {stop}, the lift has stops 1 to {stops}")]
    NoSuchStop {
        /// Which, from 1.
        stop: usize,
        /// How many there are.
        stops: usize,
    },
}

/// The last contacts that were seen of a lift.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    floor: Option<FloorId>,
    limit: Option<DoorState>,
    between_since: Option<Instant>,
}

/// A validated contact profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactProfile {
    contacts: Contacts,
    coils: Window,
    inputs: Window,
}

impl ContactProfile {
    /// Validates a table of the site file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn try_new(contacts: Contacts) -> Result<Self, Vec<InvalidContacts>> {
        let (coils, inputs) = (contacts.coils.fields(), contacts.inputs.fields());
        let mut wrong: Vec<_> = shared(&coils).into_iter().chain(shared(&inputs)).collect();
        let (calls, stops) = (contacts.coils.call.len(), contacts.inputs.at_stop.len());
        if calls != stops || calls < 2 {
            wrong.push(InvalidContacts::Stops { calls, stops });
        }
        let (lowest, highest) = bounds(&coils);
        let coil_window = Window::over(lowest, highest);
        if usize::from(coil_window.count) != coils.len() {
            wrong.push(InvalidContacts::CoilsScattered { lowest, highest });
        }
        let (lowest, highest) = bounds(&inputs);
        let span = u32::from(highest - lowest) + 1;
        if span > READ_INPUTS_MAX {
            wrong.push(InvalidContacts::InputsTooWide { span, lowest, highest });
        }
        let reaction = contacts.reaction_s.filter(|it| !REACTION_S.contains(it));
        wrong.extend(reaction.map(|it| InvalidContacts::Reaction { found: it.to_string() }));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self { contacts, coils: coil_window, inputs: Window::over(lowest, highest) })
    }

    /// How many stops it has contacts for.
    pub fn n_stops(&self) -> usize {
        self.contacts.inputs.at_stop.len()
    }

    /// Contacts count nothing and echo nothing.
    pub fn capabilities(&self) -> Capabilities {
        let reaction = self.contacts.reaction_s.map(|it| Millis((it * 1000.0).round() as u64));
        let reaction_ms = reaction.unwrap_or(PLC_SETTLE);
        Capabilities { echo: false, boot: false, heartbeat: false, reaction_ms }
    }

    /// What is written in one request.
    pub fn coil_window(&self) -> Window {
        self.coils
    }

    /// What is read in one request.
    pub fn input_window(&self) -> Window {
        self.inputs
    }

    /// The coils of a command, for [`Self::coil_window`].
    pub fn encode_coils(&self, block: &CommandBlock) -> Vec<bool> {
        let coils = &self.contacts.coils;
        let set = match block.action {
            LiftAction::GoTo => coils.call.get(usize::from(block.floor.saturating_sub(1))).copied(),
            LiftAction::OpenDoor => Some(coils.open),
            LiftAction::CloseDoor => Some(coils.close),
        };
        (0..self.coils.count).map(|it| Some(self.coils.start + it) == set).collect()
    }

    /// The command in coils that were written: the PLC's side. Neither its number is told, nor, of a door, the stop: both
    /// are 0. None unless exactly one coil is set.
    pub fn decode_coils(&self, bits: &[bool]) -> Option<CommandBlock> {
        let mut set = (self.coils.start..).zip(bits).filter(|(_, set)| **set).map(|(at, _)| at);
        let (coil, None) = (set.next()?, set.next()) else { return None };
        let coils = &self.contacts.coils;
        let call = coils.call.iter().position(|it| *it == coil).and_then(|it| u16::try_from(it + 1).ok());
        let (action, floor) = match call {
            Some(floor) => (LiftAction::GoTo, floor),
            None if coil == coils.open => (LiftAction::OpenDoor, 0),
            None => (LiftAction::CloseDoor, 0),
        };
        Some(CommandBlock { number: 0, action, floor })
    }

    /// The inputs of a status, for [`Self::input_window`]: the PLC's side.
    pub fn encode_inputs(&self, lift: &Lift, status: &LiftStatus) -> Vec<bool> {
        let at = &self.contacts.inputs;
        let stop = lift.stop_number(&status.floor).filter(|_| status.levelled);
        let stop = stop.and_then(|it| at.at_stop.get(usize::from(it - 1)).copied());
        let told = [
            (at.closed, status.door == DoorState::Closed),
            (at.opened, status.door == DoorState::Open),
            (at.up, status.motion == Motion::Up),
            (at.down, status.motion == Motion::Down),
            (at.vehicle, status.mode == LiftMode::Vehicle),
            (at.fire, status.mode == LiftMode::Fire),
            (at.maintenance, status.mode == LiftMode::Maintenance),
            (at.emergency, status.mode == LiftMode::Emergency),
            (at.fault, status.fault != 0),
            (at.occupied, status.occupied),
        ];
        let on = |it| stop == Some(it) || told.contains(&(it, true));
        (0..self.inputs.count).map(|it| on(self.inputs.start + it)).collect()
    }

    /// The status in the inputs of [`Self::input_window`]; bits behind them fill the last byte of the answer.
    ///
    /// # Errors
    /// Why they are no read.
    pub fn decode_inputs(
        &self,
        lift: &Lift,
        bits: &[bool],
        memory: &mut Memory,
        now: Instant,
    ) -> Result<LiftStatus, Unbelievable> {
        if bits.len() < usize::from(self.inputs.count) {
            return Err(Unbelievable::Few { found: bits.len(), expected: self.inputs.count });
        }
        let at = &self.contacts.inputs;
        let on = |contact: u16| bits.get(usize::from(contact - self.inputs.start)).copied().unwrap_or(false);
        let motion = match (on(at.up), on(at.down)) {
            (true, true) => return Err(Unbelievable::BothWays),
            (true, false) => Motion::Up,
            (false, true) => Motion::Down,
            (false, false) => Motion::Still,
        };
        let limit = match (on(at.closed), on(at.opened)) {
            (true, true) => return Err(Unbelievable::BothLimits),
            (true, false) => Some(DoorState::Closed),
            (false, true) => Some(DoorState::Open),
            (false, false) => None,
        };
        let stop = self.stop(lift, on)?;
        let (floor, at_stop) = memory.place(stop).ok_or(Unbelievable::Nowhere)?;
        let mode = match (on(at.emergency), on(at.fire), on(at.maintenance), on(at.vehicle)) {
            (true, _, _, _) => LiftMode::Emergency,
            (_, true, _, _) => LiftMode::Fire,
            (_, _, true, _) => LiftMode::Maintenance,
            (_, _, _, true) => LiftMode::Vehicle,
            (_, _, _, false) => LiftMode::Human,
        };
        Ok(LiftStatus {
            floor,
            levelled: at_stop && motion == Motion::Still,
            door: memory.door(limit, lift.door_ms, now),
            motion,
            mode,
            fault: u16::from(on(at.fault)),
            accepted: 0,
            completed: 0,
            boot: 0,
            heartbeat: 0,
            occupied: on(at.occupied),
        })
    }

    fn stop(&self, lift: &Lift, on: impl Fn(u16) -> bool) -> Result<Option<FloorId>, Unbelievable> {
        let contacts = self.contacts.inputs.at_stop.iter().enumerate();
        let mut there = contacts.filter(|(_, contact)| on(**contact)).map(|(idx, _)| idx);
        match (there.next(), there.next()) {
            (Some(first), Some(second)) => {
                Err(Unbelievable::TwoStops { first: first + 1, second: second + 1 })
            }
            (Some(idx), None) => {
                let missing = Unbelievable::NoSuchStop { stop: idx + 1, stops: lift.stops.len() };
                lift.stops.get(idx).map(|it| Some(it.floor.clone())).ok_or(missing)
            }
            (None, _) => Ok(None),
        }
    }
}

impl Memory {
    /// Where the car is, and whether it is at that stop.
    fn place(&mut self, stop: Option<FloorId>) -> Option<(FloorId, bool)> {
        let at_stop = stop.is_some();
        self.floor = stop.or(self.floor.take());
        self.floor.clone().map(|floor| (floor, at_stop))
    }

    fn door(&mut self, limit: Option<DoorState>, door: Millis, now: Instant) -> DoorState {
        if let Some(limit) = limit {
            (self.limit, self.between_since) = (Some(limit), None);
            return limit;
        }
        let since = *self.between_since.get_or_insert(now);
        let held = now.duration_since(since) > Duration::from_millis(door.0) * DOOR_SPANS_MAX;
        match self.limit {
            Some(DoorState::Closed) if !held => DoorState::Opening,
            Some(DoorState::Open) if !held => DoorState::Closing,
            Some(
                DoorState::Closed
                | DoorState::Open
                | DoorState::Opening
                | DoorState::Closing
                | DoorState::Obstructed,
            )
            | None => DoorState::Obstructed,
        }
    }
}

#[cfg(test)]
mod tests;
