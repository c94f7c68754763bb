//! What a task's vehicle is told next. Derived anew at each step from where the vehicle stands and what is still to
//! do, so that a restart needs no plan.

use crate::ids::{CommandId, FloorId, LiftId, PointId, SessionId, TaskId, VehicleId};
use crate::plant::LiftStop;
use crate::route::{self, Line, Pace, Stretch};
use crate::task::{ResumePoint, SuspendCause, TaskEvent, TaskState};
use crate::time::Now;
use crate::wire::ledger::{Record, SessionPhase};
use crate::wire::vehicle::{Instruction, Operation, Place, VehicleCommand};

use super::book::{SessionBook, TaskBook};
use super::{Control, Lock};

impl Control {
    /// The records that begin the next step; none while something has to come first.
    pub(super) fn next_records(
        &self,
        id: &TaskId,
        task: &TaskBook,
        vehicle: &VehicleId,
        now: Now,
    ) -> Vec<Record> {
        let Some(here) = self.stands_at(task, vehicle) else { return Vec::new() };
        if let Some(session) = self.book.session_for(id).filter(|it| !rode(task, it)) {
            return self.records_in_line(id, task, session, &here, now);
        }
        let (goal, operation) = task.goal();
        let Some(pace) = self.plant.vehicles.get(vehicle).map(Pace::of) else { return Vec::new() };
        let Some(target) = self.plant.stations.get(goal).map(|it| it.point.clone()) else {
            return Vec::new();
        };
        let line = self.line(Some(id));
        let way = route::way(&self.plant, &here, &target, pace, &line).unwrap_or_default();
        let mut way = way.into_iter();
        match (way.next(), way.next()) {
            (None, _) if here == target => {
                self.issue(id, task, vehicle, Instruction::Drive { path: vec![here], then: operation }, now)
            }
            (Some(Stretch::Drive(path)), None) => {
                self.issue(id, task, vehicle, Instruction::Drive { path, then: operation }, now)
            }
            (Some(Stretch::Drive(_)), Some(Stretch::Ride { lift, from, to }))
            | (Some(Stretch::Ride { lift, from, to }), _) => {
                self.approach(id, task, vehicle, &here, (&lift, &from, &to), now)
            }
            (None, _) | (Some(Stretch::Drive(_)), Some(Stretch::Drive(_))) => Vec::new(),
        }
    }

    /// To a waiting point of the lift, or, standing on one, into its line.
    fn approach(
        &self,
        id: &TaskId,
        task: &TaskBook,
        vehicle: &VehicleId,
        here: &PointId,
        (lift, from, to): (&LiftId, &FloorId, &FloorId),
        now: Now,
    ) -> Vec<Record> {
        let Some(stop) = self.plant.lifts.get(lift).and_then(|it| it.stop(from)) else { return Vec::new() };
        if stop.waiting.contains(here) {
            return self.ask_for_ride(id, task, vehicle, (lift, from, to));
        }
        let Some(waiting) = self.waiting_point(stop, vehicle) else { return Vec::new() };
        let Some(path) = self.on_floor(vehicle, here, waiting) else { return Vec::new() };
        self.issue(id, task, vehicle, Instruction::Drive { path, then: Operation::Stand }, now)
    }

    /// The best waiting point where nobody stands and to which nobody drives; else the best.
    fn waiting_point<'a>(&self, stop: &'a LiftStop, own: &VehicleId) -> Option<&'a PointId> {
        let taken = |point: &PointId| {
            let others = self.book.open_tasks().filter(|(_, it)| it.vehicle.as_ref() != Some(own));
            others.filter_map(|(_, it)| it.command.as_ref()).any(|it| end_of(&it.instruction) == Some(point))
                || self.vehicles.iter().any(|(id, ear)| {
                    id != own && matches!(&ear.place, Some((Place::At { point: at }, _)) if at == point)
                })
        };
        stop.waiting.iter().find(|point| !taken(point)).or(stop.waiting.first())
    }

    fn ask_for_ride(
        &self,
        id: &TaskId,
        task: &TaskBook,
        vehicle: &VehicleId,
        (lift, from, to): (&LiftId, &FloorId, &FloorId),
    ) -> Vec<Record> {
        // The generation of the task's steps makes the name unique: a task asks once per step.
        let Ok(session) =
            SessionId::try_new(&format!("S-{}.{}", id.as_str().trim_start_matches("T-"), task.steps))
        else {
            return Vec::new();
        };
        let cause = SuspendCause::Lift { lift: lift.clone() };
        vec![
            Record::SessionRequested {
                session,
                lift: lift.clone(),
                task: id.clone(),
                vehicle: vehicle.clone(),
                from: from.clone(),
                to: to.clone(),
            },
            Record::TaskChanged {
                task: id.clone(),
                event: TaskEvent::Suspended { cause, resume: ResumePoint::NextCommand },
            },
        ]
    }

    /// A task in a lift's line goes on when the door is open for it: that command is the "lift ready".
    fn records_in_line(
        &self,
        id: &TaskId,
        task: &TaskBook,
        session: &SessionBook,
        here: &PointId,
        now: Now,
    ) -> Vec<Record> {
        if session.phase != SessionPhase::Boarding {
            return Vec::new();
        }
        let stops = self
            .plant
            .lifts
            .get(&session.lift)
            .and_then(|lift| Some((lift.stop(&session.from)?, lift.stop(&session.to)?)));
        let Some((enter, leave)) = stops else { return Vec::new() };
        let Some(approach) = self.on_floor(&session.vehicle, here, &enter.landing) else { return Vec::new() };
        let instruction = Instruction::Ride {
            lift: session.lift.clone(),
            session: session.id.clone(),
            from: session.from.clone(),
            to: session.to.clone(),
            approach,
            exit: leave.landing.clone(),
        };
        self.issue(id, task, &session.vehicle, instruction, now)
    }

    /// The record of a new command, if the vehicle takes one now.
    fn issue(
        &self,
        id: &TaskId,
        task: &TaskBook,
        vehicle: &VehicleId,
        instruction: Instruction,
        now: Now,
    ) -> Vec<Record> {
        let steady = self.vehicles.get(vehicle).and_then(|ear| ear.steady(now)).is_some();
        if !steady || !self.link_is_open(vehicle) || self.is_locked(&Lock::Vehicle(vehicle.clone())) {
            return Vec::new();
        }
        let Ok(name) = CommandId::try_new(&format!("{id}.{}", task.steps)) else { return Vec::new() };
        let link = self.book.links.get(vehicle).copied().unwrap_or_default();
        let command = VehicleCommand {
            id: name,
            vehicle: vehicle.clone(),
            sequence: link.sequence + 1,
            task: Some(id.clone()),
            step: task.steps,
            claim: task.claim,
            link: link.generation,
            valid_for_ms: self.plant.link_budget.ack_deadline(),
            instruction,
        };
        vec![Record::CommandIssued { command }]
    }

    /// Where the vehicle stands between two commands: at the end of the last one, else where it says.
    fn stands_at(&self, task: &TaskBook, vehicle: &VehicleId) -> Option<PointId> {
        if matches!(&task.state, TaskState::Suspended { cause, .. } if !matches!(cause, SuspendCause::Lift { .. } | SuspendCause::Link))
        {
            return None;
        }
        if let Some(command) = &task.command {
            return end_of(&command.instruction).cloned();
        }
        match &self.vehicles.get(vehicle)?.heartbeat.as_ref()?.place {
            Place::At { point } => Some(point.clone()),
            Place::Unknown | Place::Between { .. } | Place::InCar { .. } => None,
        }
    }

    /// The way on one floor, the present point first.
    fn on_floor(&self, vehicle: &VehicleId, here: &PointId, to: &PointId) -> Option<Vec<PointId>> {
        let pace = Pace::of(self.plant.vehicles.get(vehicle)?);
        let mut way = route::way(&self.plant, here, to, pace, &Line::new())?.into_iter();
        match (way.next(), way.next()) {
            (None, _) => Some(vec![here.clone()]),
            (Some(Stretch::Drive(path)), None) => Some(path),
            (Some(Stretch::Drive(_)), Some(_)) | (Some(Stretch::Ride { .. }), _) => None,
        }
    }
}

/// The ride of this session is done, although the lift still shuts its door behind it.
fn rode(task: &TaskBook, session: &SessionBook) -> bool {
    let last = task.command.as_ref().map(|it| &it.instruction);
    let same = matches!(last, Some(Instruction::Ride { session: ridden, .. }) if *ridden == session.id);
    same && task.under_way().is_none()
}

/// Where a vehicle stands after it has done this.
fn end_of(instruction: &Instruction) -> Option<&PointId> {
    match instruction {
        Instruction::Drive { path, .. } => path.last(),
        Instruction::Ride { exit, .. } => Some(exit),
        Instruction::OpenLink => None,
    }
}
