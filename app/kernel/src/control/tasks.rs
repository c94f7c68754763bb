//! Tasks: who carries them, what was reported, what is overdue.

use crate::ids::{CommandId, Generation, LedgerSequence, PointId, TaskId, VehicleId};
use crate::route::{self, Line, Pace};

use crate::safeguard::Safeguard;
use crate::task::{ResumePoint, SuspendCause, TaskEvent, TaskState};
use crate::time::{Millis, Mono, Now};
use crate::timing::{DELIVERIES_MAX, redelivery_wait};
use crate::wire::ledger::Record;
use crate::wire::vehicle::{
    AckVerdict, Instruction, Operation, Place, Progress, VehicleAck, VehicleCommand, VehicleReport, WorkState,
};
use crate::wire::view::Hearing;

use super::book::TaskBook;
use super::{Control, Effect, Lock};

/// Reports of one task that wait for the ledger. A command makes five at most.
const REPORTED_MAX: usize = 32;

/// The last delivery of a task's command by this run of the node, or the suspension after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) at: Mono,
    pub(super) link: Generation,
}

impl Control {
    pub(super) fn acknowledged(&mut self, ack: &VehicleAck) {
        let Some(task) = self.task_under(&ack.vehicle, &ack.command) else { return };
        match &ack.verdict {
            AckVerdict::Accepted => {
                self.report(&task, TaskEvent::AckReceived { command: ack.command.clone() });
            }
            // A refusal from before the link was opened anew speaks of a delivery that has been followed by another.
            AckVerdict::Refused { .. } if ack.link != self.link_of_vehicle(&ack.vehicle) => {}
            AckVerdict::Refused { reason } => self.refused(&task, ack, *reason),
        }
    }

    /// A refusal for a passing reason is answered by redelivery; any other needs a person.
    fn refused(&mut self, task: &TaskId, ack: &VehicleAck, reason: crate::wire::vehicle::VehicleRefusal) {
        use crate::wire::vehicle::VehicleRefusal as R;
        match reason {
            R::StaleLink | R::Busy => {}
            R::StaleClaim | R::BelowWindow | R::NotThere | R::UnknownPlace | R::WrongLoad => {
                let resume = ResumePoint::Command { command: ack.command.clone(), attempt: DELIVERIES_MAX };
                self.report(task, TaskEvent::Suspended { cause: SuspendCause::Fault, resume });
            }
        }
    }

    pub(super) fn vehicle_reported(&mut self, report: &VehicleReport) {
        self.note_word(report);
        let Some(task) = self.task_under(&report.vehicle, &report.command) else { return };
        let command = report.command.clone();
        let event = match &report.progress {
            Progress::Started => TaskEvent::Started { command },
            Progress::Boarded | Progress::Alighted => return,
            Progress::Done => match self.completion(&task) {
                Some(event) => event,
                None => return,
            },
            Progress::Failed { reason } => {
                TaskEvent::ExecutionFailed { reason: reason.chars().take(200).collect() }
            }
        };
        self.report(&task, event);
    }

    /// The open task of which this command of this vehicle is under way.
    fn task_under(&self, vehicle: &VehicleId, command: &CommandId) -> Option<TaskId> {
        let (id, book) = self.book.task_of(vehicle)?;
        book.under_way().is_some_and(|it| it.id == *command).then(|| id.clone())
    }

    /// What it means that the command under way is done: the last one ends the task.
    fn completion(&self, task: &TaskId) -> Option<TaskEvent> {
        let command = self.book.tasks.get(task)?.under_way()?;
        let id = command.id.clone();
        Some(match &command.instruction {
            Instruction::Drive { then: Operation::Drop { .. }, .. } => TaskEvent::Finished { command: id },
            Instruction::Drive { .. } | Instruction::Ride { .. } | Instruction::OpenLink => {
                TaskEvent::StepDone { command: id }
            }
        })
    }

    fn report(&mut self, task: &TaskId, event: TaskEvent) {
        let line = self.reported.entry(task.clone()).or_default();
        if line.back() == Some(&event) {
            return;
        }
        // Of another node's task the last words count: by them this one goes on if it has to.
        if line.len() >= REPORTED_MAX {
            line.pop_front();
        }
        line.push_back(event);
    }

    pub(super) fn drive_tasks(&mut self, now: Now) {
        self.share_out(now);
        let rank = |it: &TaskBook| (u8::MAX - it.order.priority, it.placed);
        let mut due: Vec<((u8, LedgerSequence), TaskId)> = self
            .book
            .carried_tasks()
            .filter(|(id, it)| self.is_own(it) || self.falls_to_us(id))
            .map(|(id, it)| (rank(it), id.clone()))
            .collect();
        // Thousands may wait for a vehicle; they are looked at when one is free.
        if self.vehicles.keys().any(|it| self.free_at(it, now).is_some()) {
            let waiting = self.book.open_tasks().filter(|(_, it)| it.vehicle.is_none());
            let ours = waiting.filter(|(id, it)| self.is_own(it) || self.falls_to_us(id));
            due.extend(ours.map(|(id, it)| (rank(it), id.clone())));
        }
        due.sort();
        for (_, id) in due {
            self.drive_task(&id, now);
        }
    }

    fn drive_task(&mut self, id: &TaskId, now: Now) {
        if self.is_locked(&Lock::Task(id.clone())) {
            return;
        }
        if self.book.tasks.get(id).is_some_and(|it| it.vehicle.is_some() && !self.is_own(it)) {
            self.take_over(id, now);
            return;
        }
        self.hear_task(id, now);
        let reported = self.reported_records(id);
        if !reported.is_empty() {
            self.propose(now, vec![Lock::Task(id.clone())], reported);
            return;
        }
        let Some(task) = self.book.tasks.get(id) else { return };
        let Some(vehicle) = task.vehicle.clone() else {
            self.assign(id, now);
            return;
        };
        let records = match task.under_way() {
            _ if self.wish_is_due(task, now) => self.withdrawal_records(id, task),
            Some(command) => self.overdue(id, task, command, now).into_iter().collect(),
            None => self.next_records(id, task, &vehicle, now),
        };
        self.propose(now, vec![Lock::Task(id.clone()), Lock::Vehicle(vehicle)], records);
    }

    /// Claims the task of a run that counts no more, with whatever is under way.
    fn take_over(&mut self, id: &TaskId, now: Now) {
        let Some(task) = self.book.tasks.get(id) else { return };
        let record = Record::TaskClaimed { task: id.clone(), generation: task.claim.next() };
        self.propose(now, vec![Lock::Task(id.clone())], vec![record]);
    }

    /// What its node has brought to the ledger need not be brought there by this one.
    pub(super) fn heard_by_others(&mut self, task: &TaskId, event: &TaskEvent) {
        if let Some(line) = self.reported.get_mut(task) {
            line.retain(|it| it != event);
        }
    }

    /// Takes from the heartbeat what a lost acknowledgement or result would have said (C8).
    fn hear_task(&mut self, id: &TaskId, now: Now) {
        let Some(task) = self.book.tasks.get(id) else { return };
        let (Some(vehicle), Some(command)) = (&task.vehicle, task.under_way()) else { return };
        let Some(ear) = self.vehicles.get(vehicle) else { return };
        let command_id = command.id.clone();
        if ear.hearing(now) != Hearing::Heard {
            return;
        }
        let event = if ear.finished(&command_id) && self.safeguards.holds(Safeguard::HeartbeatResults) {
            self.completion(id)
        } else if ear.heartbeat.as_ref().is_some_and(|it| it.command.as_ref() == Some(&command_id)) {
            match &task.state {
                TaskState::Issued { .. } => Some(TaskEvent::AckReceived { command: command_id }),
                TaskState::Suspended { cause: SuspendCause::Link | SuspendCause::Person, .. }
                    if ear.steady(now).is_some() =>
                {
                    Some(TaskEvent::Started { command: command_id })
                }
                TaskState::Suspended { .. }
                | TaskState::Created
                | TaskState::Acknowledged { .. }
                | TaskState::Executing { .. }
                | TaskState::Completed
                | TaskState::Failed { .. }
                | TaskState::Withdrawn { .. } => None,
            }
        } else {
            None
        };
        if let Some(event) = event {
            self.report(id, event);
        }
    }

    /// What was reported, as far as the task can still take it. The rest is a repeat or late and changes nothing.
    fn reported_records(&mut self, id: &TaskId) -> Vec<Record> {
        let Some(line) = self.reported.remove(id) else { return Vec::new() };
        // Each word was about the command that was under way when it came, and that one may be done by now.
        let under_way = self.book.tasks.get(id).filter(|it| it.under_way().is_some());
        let Some(task) = under_way else { return Vec::new() };
        let mut state = task.state.clone();
        let mut records = Vec::new();
        let mut done = false;
        for event in line {
            let Ok(next) = state.next(&event) else { continue };
            let completes = matches!(event, TaskEvent::StepDone { .. } | TaskEvent::Finished { .. });
            if next == state && !completes || done {
                continue;
            }
            if completes && matches!(state, TaskState::Issued { .. }) {
                let detail =
                    format!("the ledger had the command as {}, the vehicle had finished it", state.name());
                records.push(Record::DifferenceFound { task: id.clone(), detail });
            }
            done |= completes;
            state = next;
            records.push(Record::TaskChanged { task: id.clone(), event });
        }
        records
    }

    /// Chooses the free vehicle that is there first.
    fn assign(&mut self, id: &TaskId, now: Now) {
        let Some(task) = self.book.tasks.get(id) else { return };
        let Some(station) = self.plant.stations.get(&task.order.from) else { return };
        let line = self.line(None);
        let best = self
            .vehicles
            .keys()
            .filter_map(|vehicle| {
                let here = self.free_at(vehicle, now)?;
                let pace = Pace::of(self.plant.vehicles.get(vehicle)?);
                let cost = route::cost(&self.plant, here, &station.point, pace, &line)?;
                Some((cost, vehicle.clone()))
            })
            .min();
        let Some((_, vehicle)) = best else { return };
        let generation = task.claim.next();
        let records = vec![
            Record::TaskClaimed { task: id.clone(), generation },
            Record::VehicleAssigned { task: id.clone(), vehicle: vehicle.clone() },
        ];
        self.propose(now, vec![Lock::Task(id.clone()), Lock::Vehicle(vehicle)], records);
    }

    /// Where a vehicle stands that can take a task now.
    fn free_at(&self, vehicle: &VehicleId, now: Now) -> Option<&PointId> {
        let heartbeat = self.vehicles.get(vehicle)?.steady(now)?;
        let taken = self.book.task_of(vehicle).is_some() || self.is_locked(&Lock::Vehicle(vehicle.clone()));
        let idle =
            heartbeat.work == WorkState::Idle && heartbeat.command.is_none() && heartbeat.load.is_none();
        match &heartbeat.place {
            Place::At { point } if idle && !taken && self.link_is_open(vehicle) => Some(point),
            Place::At { .. } | Place::Unknown | Place::Between { .. } | Place::InCar { .. } => None,
        }
    }

    /// What is due about a command that left: suspension in silence or after the deadline, redelivery while heard.
    fn overdue(&self, id: &TaskId, task: &TaskBook, command: &VehicleCommand, now: Now) -> Option<Record> {
        let silent = self.silence(&command.vehicle, now).is_some();
        let change = |event| Some(Record::TaskChanged { task: id.clone(), event });
        let suspend = |cause| change(TaskEvent::Suspended { cause, resume: task.resume_point() });
        match &task.state {
            TaskState::Issued { .. } | TaskState::Acknowledged { .. } | TaskState::Executing { .. }
                if silent =>
            {
                suspend(SuspendCause::Link)
            }
            TaskState::Issued { attempt, .. } => {
                let delivery = self.deliveries.get(id);
                let other_link = delivery.is_none_or(|it| it.link != self.link_of(command));
                if self.link_is_open(&command.vehicle) && other_link {
                    // What became of a ride without its lift the vehicle's own word has to tell.
                    return if self.has_its_lift(command) {
                        change(TaskEvent::Redelivered { command: command.id.clone(), attempt: *attempt })
                    } else {
                        suspend(SuspendCause::Link)
                    };
                }
                let window = self.ack_window(*attempt);
                let overdue = delivery.is_some_and(|it| now.mono.since(it.at) >= window);
                if overdue { suspend(SuspendCause::Link) } else { None }
            }
            TaskState::Suspended {
                cause: SuspendCause::Link,
                resume: ResumePoint::Command { attempt, .. },
            } => self.redelivery(id, command, *attempt, now).and_then(change),
            TaskState::Suspended { .. }
            | TaskState::Acknowledged { .. }
            | TaskState::Executing { .. }
            | TaskState::Created
            | TaskState::Completed
            | TaskState::Failed { .. }
            | TaskState::Withdrawn { .. } => None,
        }
    }

    /// How long an acknowledgement is awaited. The budget covers whatever may hide a vehicle at its first delivery; it
    /// is delivered to again only while it is heard, and then only the way there and back counts.
    fn ack_window(&self, attempt: u8) -> Millis {
        let budget = &self.plant.link_budget;
        if attempt > 1 { budget.transport_ms.times(2) } else { budget.ack_deadline() }
    }

    /// The wait before the next delivery counts from the suspension.
    pub(super) fn begin_wait(&mut self, task: &TaskId, now: Now) {
        if let Some(delivery) = self.deliveries.get_mut(task) {
            delivery.at = now.mono;
        }
    }

    /// Redelivers while heartbeats arrive over an open link and say that the command never came (C4).
    fn redelivery(&self, id: &TaskId, command: &VehicleCommand, attempt: u8, now: Now) -> Option<TaskEvent> {
        let heartbeat = self.vehicles.get(&command.vehicle)?.steady(now)?;
        let holds = heartbeat.command.as_ref() == Some(&command.id);
        if holds || heartbeat.completions.contains(&command.id) || !self.link_is_open(&command.vehicle) {
            return None;
        }
        if !self.has_its_lift(command) {
            let resume = ResumePoint::Command { command: command.id.clone(), attempt };
            return Some(TaskEvent::Suspended { cause: SuspendCause::Person, resume });
        }
        let delivery = self.deliveries.get(id);
        let same_link = delivery.is_some_and(|it| it.link == self.link_of(command));
        let due = delivery.is_none_or(|it| now.mono.since(it.at) >= redelivery_wait(attempt));
        if same_link && !due {
            return None;
        }
        if same_link && attempt >= DELIVERIES_MAX {
            let resume = ResumePoint::Command { command: command.id.clone(), attempt };
            return Some(TaskEvent::Suspended { cause: SuspendCause::Person, resume });
        }
        let attempt = if same_link { attempt + 1 } else { attempt };
        Some(TaskEvent::Redelivered { command: command.id.clone(), attempt })
    }

    /// To a vehicle the command of a ride says that the lift is ready: nobody tells it so of a ride that is over, when the
    /// lift may be another one's.
    fn has_its_lift(&self, command: &VehicleCommand) -> bool {
        match &command.instruction {
            Instruction::Ride { session, .. } => self.book.sessions.contains_key(session),
            Instruction::Drive { .. } | Instruction::OpenLink => true,
        }
    }

    fn link_of(&self, command: &VehicleCommand) -> Generation {
        self.link_of_vehicle(&command.vehicle)
    }

    fn link_of_vehicle(&self, vehicle: &VehicleId) -> Generation {
        self.book.links.get(vehicle).copied().unwrap_or_default().generation
    }

    /// Sends the newest command of a task under the link that is open now.
    pub(super) fn deliver(&mut self, task: &TaskId, now: Now) {
        let Some(book) = self.book.tasks.get(task) else { return };
        let Some(command) = book.command.as_ref().filter(|it| self.has_its_lift(it)) else { return };
        let Some(vehicle) = self.plant.vehicles.get(&command.vehicle) else { return };
        let link = self.link_of(command);
        // Under the claim of today: a node from whom the task was taken is refused with the older one.
        let command = VehicleCommand { link, claim: book.claim, ..command.clone() };
        self.deliveries.insert(task.clone(), Delivery { at: now.mono, link });
        self.effects.push_back(Effect::SendVehicle { gateway: vehicle.gateway.clone(), command });
    }

    /// How long each lift's line is, in time; `own` does not count itself.
    pub(super) fn line(&self, own: Option<&TaskId>) -> Line {
        let mut line = Line::new();
        for session in self.book.sessions.values().filter(|it| Some(&it.task) != own) {
            if let Some(lift) = self.plant.lifts.get(&session.lift) {
                let cost = line.entry(session.lift.clone()).or_default();
                *cost = *cost + lift.one_way().times(2);
            }
        }
        line
    }
}
