//! Lift sessions: whose ride it is, and what the lift has to do for it next.
//!
//! Boarding and alighting need both channels: the plant's sensor and the vehicle's word. One without the other
//! waits; nobody is told to stop across the sill.

use crate::ids::{CommandId, FloorId, Generation, LiftId, VehicleId};
use crate::lease::LeasePriority;
use crate::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use crate::safeguard::Safeguard;
use crate::time::{Mono, Now};
use crate::timing::LIFT_READ_AGE_MAX;
use crate::wire::gateway::{Connection, GatewayStatus, Verdict};
use crate::wire::ledger::{Record, SessionPhase};
use crate::wire::vehicle::{Place, Progress, VehicleReport};

use super::book::{SessionBook, Touched};
use super::ears::{GatewayEar, LiftEar};
use super::{Control, Lock};

/// What a vehicle said about the ride of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    command: CommandId,
    boarded: bool,
    alighted: bool,
}

/// Since when a ride holds its lift, since when it is in its phase, and what its gateway knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watch {
    pub(super) phase: SessionPhase,
    pub(super) held_since: Mono,
    pub(super) phase_since: Mono,
    /// The last command that left for it.
    pub(super) said: Option<CommandId>,
    /// The gateway has taken a command for it, so it knows whose the lift is.
    pub(super) is_told: bool,
}

/// What a lift has to do next for a ride.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) action: LiftAction,
    pub(super) floor: FloorId,
}

impl Control {
    pub(super) fn gateway_heard(&mut self, status: GatewayStatus, now: Now) {
        if !self.plant.gateways.contains(&status.gateway) {
            return;
        }
        let last = self.gateways.get(&status.gateway);
        let newer = last.is_none_or(|it| (status.boot, status.message) > (it.boot, it.message));
        if !newer {
            return;
        }
        if last.is_none_or(|it| it.messages_rejected != status.messages_rejected) {
            self.touched.insert(Touched::Node);
        }
        let ear = GatewayEar {
            boot: status.boot,
            message: status.message,
            messages_rejected: status.messages_rejected,
            at: now.mono,
            silence_shown: false,
        };
        for reading in status.lifts {
            let ours = self.plant.lifts.get(&reading.lift).is_some_and(|it| it.gateway == status.gateway);
            if !ours {
                continue;
            }
            let age = chrono::TimeDelta::milliseconds(i64::try_from(reading.age_ms.0).unwrap_or(i64::MAX));
            let read_at = now.wall.checked_sub_signed(age).unwrap_or(now.wall);
            self.touched.insert(Touched::Lift(reading.lift.clone()));
            self.lifts.insert(reading.lift.clone(), LiftEar { reading, at: now.mono, read_at });
        }
        self.gateways.insert(status.gateway, ear);
    }

    pub(super) fn note_word(&mut self, report: &VehicleReport) {
        if !self.vehicles.contains_key(&report.vehicle) {
            return;
        }
        let words = self.words.entry(report.vehicle.clone()).or_insert_with(|| Words::of(&report.command));
        if words.command != report.command {
            *words = Words::of(&report.command);
        }
        match report.progress {
            Progress::Boarded => words.boarded = true,
            Progress::Alighted | Progress::Done => words.alighted = true,
            Progress::Started | Progress::Failed { .. } => {}
        }
    }

    pub(super) fn drive_lifts(&mut self, now: Now) {
        self.watch_sessions(now);
        let lifts: Vec<LiftId> = self.plant.lifts.keys().cloned().collect();
        for lift in lifts {
            self.drive_session(&lift, now);
            self.drive_voice(&lift, now);
        }
    }

    /// Times each ride on this machine's own clock; after a restart its times are armed in full.
    fn watch_sessions(&mut self, now: Now) {
        self.watches.retain(|id, _| self.book.sessions.contains_key(id));
        for session in self.book.sessions.values().filter(|it| it.holds_lift()) {
            let fresh = Watch {
                phase: session.phase,
                held_since: now.mono,
                phase_since: now.mono,
                said: None,
                is_told: false,
            };
            let watch = self.watches.entry(session.id.clone()).or_insert(fresh);
            if watch.phase != session.phase {
                watch.phase = session.phase;
                watch.phase_since = now.mono;
            }
        }
    }

    fn drive_session(&mut self, lift: &LiftId, now: Now) {
        if self.is_locked(&Lock::Lift(lift.clone())) {
            return;
        }
        let change = match self.book.session_of(lift) {
            Some(session) => {
                let next = self.next_phase(session, now).map(|phase| (session, phase, session.generation));
                let exclusive = self.safeguards.holds(Safeguard::OneSession);
                if exclusive { next } else { next.or_else(|| self.next_in_line(lift, now)) }
            }
            None => self.next_in_line(lift, now),
        };
        let Some((session, phase, generation)) = change else { return };
        let record =
            Record::SessionChanged { session: session.id.clone(), phase, generation, lift: lift.clone() };
        self.propose(now, vec![Lock::Lift(lift.clone())], vec![record]);
    }

    /// First come, first served, and only into a car that is seen to be empty. Who has no living task leaves the line.
    fn next_in_line(&self, lift: &LiftId, now: Now) -> Option<(&SessionBook, SessionPhase, Generation)> {
        let first = self.book.waiting_for(lift).into_iter().next()?;
        if !self.drives_session(first, now) {
            return None;
        }
        if !self.task_lives(first) {
            return Some((first, SessionPhase::Released, first.generation));
        }
        let status = self.usable(lift, now)?;
        let generation = self.book.lift_generations.get(lift).copied().unwrap_or_default().next();
        (!status.occupied).then_some((first, SessionPhase::Granted, generation))
    }

    /// The phase that the ride has reached by what the lift shows and the vehicle says.
    fn next_phase(&self, session: &SessionBook, now: Now) -> Option<SessionPhase> {
        if !self.drives_session(session, now) {
            return None;
        }
        let status = self.usable(&session.lift, now)?;
        let open_at = |floor| status.stands_at(floor) && status.door == DoorState::Open;
        match session.phase {
            SessionPhase::Granted | SessionPhase::Boarding
                if !self.task_lives(session) && !status.occupied && self.is_clear(session, now) =>
            {
                Some(SessionPhase::Released)
            }
            SessionPhase::Granted => {
                let ready = open_at(&session.from) && !status.occupied && self.is_told(session);
                ready.then_some(SessionPhase::Boarding)
            }
            SessionPhase::Boarding => {
                (status.occupied && self.says_in(session)).then_some(SessionPhase::Riding)
            }
            SessionPhase::Riding => open_at(&session.to).then_some(SessionPhase::Alighting),
            SessionPhase::Alighting => {
                let shut = status.door == DoorState::Closed && status.motion == Motion::Still;
                (shut && !status.occupied && self.says_out(session)).then_some(SessionPhase::Released)
            }
            SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => None,
        }
    }

    /// What the lift has to do next for the ride that holds it.
    pub(super) fn wanted(&self, lift: &LiftId, now: Now) -> Option<Wanted> {
        let session = self.book.session_of(lift).filter(|it| self.drives_session(it, now))?;
        let status = self.usable(lift, now)?;
        if is_at_work(status) {
            return None;
        }
        let shut = status.door == DoorState::Closed;
        let here = |action| Some(Wanted { action, floor: status.floor.clone() });
        match session.phase {
            SessionPhase::Granted if status.occupied => None,
            SessionPhase::Granted => bring(status, &session.from).or_else(|| self.tell(session)),
            SessionPhase::Boarding if shut && status.floor == session.from => here(LiftAction::OpenDoor),
            // The sensor has lost the rider before the door is shut: it may be on the sill.
            SessionPhase::Riding if !status.occupied && !shut && status.floor != session.to => None,
            SessionPhase::Riding => bring(status, &session.to),
            SessionPhase::Alighting => {
                let clear = !status.occupied && self.says_out(session);
                match (clear, shut) {
                    (true, false) => here(LiftAction::CloseDoor),
                    (false, true) => here(LiftAction::OpenDoor),
                    (true, true) | (false, false) => None,
                }
            }
            SessionPhase::Boarding
            | SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => None,
        }
    }

    /// How much hangs on the next command to a lift, by how far its ride is: the nearer a vehicle is to the car, the
    /// less it can wait.
    pub(super) fn lease_priority(&self, lift: &LiftId) -> LeasePriority {
        let Some(session) = self.book.session_of(lift) else { return LeasePriority::default() };
        match session.phase {
            SessionPhase::Riding | SessionPhase::Alighting => LeasePriority::Aboard,
            SessionPhase::Boarding => LeasePriority::OpenDoor,
            SessionPhase::Granted if self.stands_before(session) => LeasePriority::Landing,
            SessionPhase::Granted
            | SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => LeasePriority::Ahead,
        }
    }

    /// By what the vehicle said last.
    fn stands_before(&self, session: &SessionBook) -> bool {
        let stop = self.plant.lifts.get(&session.lift).and_then(|it| it.stop(&session.from));
        let place =
            self.vehicles.get(&session.vehicle).and_then(|ear| ear.heartbeat.as_ref()).map(|it| &it.place);
        matches!((place, stop), (Some(Place::At { point }), Some(stop)) if *point == stop.landing)
    }

    /// The lift's status, if it is fresh and the lift serves vehicles.
    pub(super) fn usable(&self, lift: &LiftId, now: Now) -> Option<&LiftStatus> {
        let ear = self.lifts.get(lift)?;
        let age = now.mono.since(ear.at) + ear.reading.age_ms;
        let fresh = age <= LIFT_READ_AGE_MAX && ear.reading.connection == Connection::Up;
        let quiet = ear.reading.verifying.is_none() && !self.is_verifying(lift);
        let status = ear.reading.status.as_ref()?;
        let serves = status.mode == LiftMode::Vehicle || !self.safeguards.holds(Safeguard::VehicleMode);
        (fresh && quiet && serves && status.fault == 0).then_some(status)
    }

    /// Whether the gateway knows that the lift is this ride's. It must, before the rider enters: from an occupied car it
    /// takes nothing for a ride that it has not heard of.
    fn is_told(&self, session: &SessionBook) -> bool {
        self.watches.get(&session.id).is_some_and(|it| it.is_told)
    }

    /// A door that stands open already, since an order was taken back or people called the car, is opened once more.
    fn tell(&self, session: &SessionBook) -> Option<Wanted> {
        let open = Wanted { action: LiftAction::OpenDoor, floor: session.from.clone() };
        (!self.is_told(session)).then_some(open)
    }

    /// A gateway has said what became of a command.
    pub(super) fn note_told(&mut self, command: &CommandId, verdict: &Verdict) {
        let taken = match verdict {
            Verdict::Accepted | Verdict::Ran => true,
            Verdict::Forwarded
            | Verdict::Unknown
            | Verdict::Expired
            | Verdict::NotSent
            | Verdict::Refused { .. } => false,
        };
        for watch in self.watches.values_mut().filter(|it| taken && it.said.as_ref() == Some(command)) {
            watch.is_told = true;
        }
    }

    /// The vehicle's own word that it is in the car, clear of the sill.
    pub(super) fn says_in(&self, session: &SessionBook) -> bool {
        let Some(ride) = &session.ride else { return false };
        if !self.safeguards.holds(Safeguard::TwoChannels) {
            return true;
        }
        let word = self.words.get(&session.vehicle).is_some_and(|it| it.command == *ride && it.boarded);
        word || self.heard_in_car(&session.vehicle, &session.lift)
    }

    /// The vehicle's own word that it is out of the car, clear of the sill.
    pub(super) fn says_out(&self, session: &SessionBook) -> bool {
        let Some(ride) = &session.ride else { return false };
        if !self.safeguards.holds(Safeguard::TwoChannels) {
            return true;
        }
        let word = self.words.get(&session.vehicle).is_some_and(|it| it.command == *ride && it.alighted);
        word || session.ride_done || self.vehicles.get(&session.vehicle).is_some_and(|ear| ear.finished(ride))
    }

    fn heard_in_car(&self, vehicle: &VehicleId, lift: &LiftId) -> bool {
        let place = self.vehicles.get(vehicle).and_then(|ear| ear.heartbeat.as_ref()).map(|it| &it.place);
        matches!(place, Some(Place::InCar { lift: in_car }) if in_car == lift)
    }

    /// The rider of a ride that comes to nothing was never let in, or says that it stands elsewhere than before the
    /// door. An empty car alone says too little: its sensor lags by seconds.
    fn is_clear(&self, session: &SessionBook, now: Now) -> bool {
        if session.ride.is_none() {
            return true;
        }
        self.is_away(&session.vehicle, &session.lift, &session.from, now)
    }

    /// A vehicle says that it stands elsewhere than before this door or behind it.
    pub(super) fn is_away(&self, vehicle: &VehicleId, lift: &LiftId, floor: &FloorId, now: Now) -> bool {
        let stop = self.plant.lifts.get(lift).and_then(|it| it.stop(floor));
        let heartbeat = self.vehicles.get(vehicle).and_then(|ear| ear.steady(now));
        match (heartbeat.map(|it| &it.place), stop) {
            (Some(Place::At { point }), Some(stop)) => *point != stop.landing,
            (
                Some(Place::At { .. } | Place::Unknown | Place::Between { .. } | Place::InCar { .. }) | None,
                _,
            ) => false,
        }
    }

    fn task_lives(&self, session: &SessionBook) -> bool {
        if !self.safeguards.holds(Safeguard::LivingTask) {
            return true;
        }
        self.book.tasks.get(&session.task).is_some_and(|it| !it.state.is_terminal())
    }
}

impl Words {
    fn of(command: &CommandId) -> Self {
        Self { command: command.clone(), boarded: false, alighted: false }
    }
}

/// It moves, or has not finished what it took.
pub(super) fn is_at_work(status: &LiftStatus) -> bool {
    status.motion != Motion::Still
        || !status.levelled
        || matches!(status.door, DoorState::Opening | DoorState::Closing)
        || status.accepted != status.completed
}

/// Shut the door, travel, open it: whatever of it is still missing at `floor`.
fn bring(status: &LiftStatus, floor: &FloorId) -> Option<Wanted> {
    let shut = status.door == DoorState::Closed;
    let (action, floor) = match (status.stands_at(floor), shut) {
        (true, true) => (LiftAction::OpenDoor, floor),
        // Nothing moves the door, and it is neither open nor shut: it was left so.
        (true, false) if status.door == DoorState::Obstructed => (LiftAction::OpenDoor, floor),
        (true, false) => return None,
        (false, true) => (LiftAction::GoTo, floor),
        (false, false) => (LiftAction::CloseDoor, &status.floor),
    };
    Some(Wanted { action, floor: floor.clone() })
}
