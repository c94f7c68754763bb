//! What the scripted plant does, and what a test asks about it.

use super::*;
use crate::lift::LiftAction;
use crate::wire::vehicle::{Operation, WorkState};

impl Bench {
    /// Asks for an order; the answer, if it came.
    pub(super) fn ask(&mut self, order: PlaceOrder, key: &str) -> Option<Result<Accepted, OrderRefusal>> {
        self.requests += 1;
        let request = RequestId(self.requests);
        let fingerprint = format!("{order:?}");
        let idempotency_key = key.to_owned();
        self.handle(Event::OrderRequested { request, order, idempotency_key, fingerprint });
        self.answers.get(&request).cloned()
    }

    pub(super) fn place(&mut self, from: &str, to: &str) -> TaskId {
        let key = format!("key-{}", self.requests);
        self.ask(order(from, to), &key).expect("an answer").expect("the order is accepted").task
    }

    /// The next command to any vehicle, within a few seconds.
    pub(super) fn command(&mut self) -> VehicleCommand {
        self.until(Millis::seconds(5), |it| !it.sent.is_empty());
        self.sent.pop_front().expect("a command leaves")
    }

    pub(super) fn state(&self, task: &TaskId) -> TaskState {
        self.control.book().tasks[task].state.clone()
    }

    pub(super) fn vehicle(&mut self, id: &VehicleId) -> &mut Heartbeat {
        self.fleet.get_mut(id).expect("a vehicle of the fleet")
    }

    /// The vehicle takes a command; no acknowledgement gets through.
    pub(super) fn take_unheard(&mut self, command: &VehicleCommand) {
        let vehicle = self.vehicle(&command.vehicle);
        vehicle.command = Some(command.id.clone());
        vehicle.acknowledged = command.sequence;
        vehicle.work = WorkState::Driving;
    }

    pub(super) fn ack(&mut self, command: &VehicleCommand, verdict: AckVerdict) {
        let ack = VehicleAck {
            command: command.id.clone(),
            vehicle: command.vehicle.clone(),
            sequence: command.sequence,
            link: command.link,
            boot: 1,
            verdict,
        };
        self.handle(Event::Acknowledged(ack));
    }

    pub(super) fn take(&mut self, command: &VehicleCommand) {
        self.take_unheard(command);
        self.ack(command, AckVerdict::Accepted);
        self.report(command, Progress::Started);
    }

    /// The vehicle finishes a command; no result gets through.
    pub(super) fn finish_unheard(&mut self, command: &VehicleCommand) {
        let vehicle = self.vehicle(&command.vehicle);
        vehicle.command = None;
        vehicle.work = WorkState::Idle;
        vehicle.completions.insert(0, command.id.clone());
        match &command.instruction {
            Instruction::Drive { path, then } => {
                vehicle.place = Place::At { point: path.last().expect("a path").clone() };
                match then {
                    Operation::Pick { order } => vehicle.load = Some(order.clone()),
                    Operation::Drop { .. } => vehicle.load = None,
                    Operation::Stand => {}
                }
            }
            Instruction::Ride { exit, .. } => vehicle.place = Place::At { point: exit.clone() },
            Instruction::OpenLink => {}
        }
    }

    pub(super) fn finish(&mut self, command: &VehicleCommand) {
        self.finish_unheard(command);
        self.report(command, Progress::Done);
    }

    pub(super) fn report(&mut self, command: &VehicleCommand, progress: Progress) {
        self.reports += 1;
        let report = VehicleReport {
            command: command.id.clone(),
            task: command.task.clone(),
            vehicle: command.vehicle.clone(),
            boot: 1,
            report: self.reports,
            progress,
        };
        self.handle(Event::Reported(report));
    }

    /// Takes and finishes the next command; which it was.
    pub(super) fn carry_out(&mut self) -> VehicleCommand {
        let command = self.command();
        self.take(&command);
        self.finish(&command);
        command
    }

    pub(super) fn differences(&self) -> usize {
        self.entries.iter().filter(|it| matches!(it.record, Record::DifferenceFound { .. })).count()
    }

    pub(super) fn standing(&self) -> Vec<AlarmKind> {
        self.alarms.values().map(|it| it.kind).collect()
    }

    pub(super) fn raised(&self, kind: AlarmKind) -> usize {
        let is = |it: &&Entry| matches!(&it.record, Record::AlarmRaised { alarm } if alarm.kind == kind);
        self.entries.iter().filter(is).count()
    }

    pub(super) fn phase(&self) -> Option<SessionPhase> {
        self.control.book().sessions.values().next().map(|it| it.phase)
    }

    pub(super) fn lift_answers(&mut self, command: &LiftCommand, verdict: Verdict) {
        let outcome = Outcome {
            gateway: fixture::gateway("G1"),
            boot: 1,
            command: command.id.clone(),
            lift: Some(command.lift.clone()),
            number: None,
            verdict,
        };
        self.handle(Event::Outcome(outcome));
    }

    /// A task whose vehicle, with its load aboard, stands at the waiting point and is in the lift's line.
    pub(super) fn at_the_lift() -> (Self, TaskId) {
        let mut bench = Self::with_one_vehicle();
        let task = bench.place("A1", "A2");
        bench.carry_out();
        let approach = bench.carry_out();
        assert!(
            matches!(&approach.instruction, Instruction::Drive { path, then: Operation::Stand }
            if *path == fixture::path(&["S1", "W1"])),
            "{approach:?}"
        );
        (bench, task)
    }

    /// The lift takes its next command and carries it out; what it was.
    pub(super) fn obey(&mut self) -> String {
        assert!(self.until(Millis::seconds(5), |it| !it.to_lift.is_empty()), "no command to the lift");
        let command = self.to_lift.pop_front().expect("a command");
        self.accept(&command);
        self.run(Millis::seconds(1));
        assert!(self.to_lift.is_empty(), "nothing is sent while the lift is at work");
        self.complete(&command);
        format!("{:?} {}", command.action, command.floor)
    }

    pub(super) fn accept(&mut self, command: &LiftCommand) {
        self.status.accepted += 1;
        self.lift_answers(command, Verdict::Accepted);
    }

    pub(super) fn complete(&mut self, command: &LiftCommand) {
        self.status.completed = self.status.accepted;
        match command.action {
            LiftAction::GoTo => self.status.floor = command.floor.clone(),
            LiftAction::OpenDoor => self.status.door = DoorState::Open,
            LiftAction::CloseDoor => self.status.door = DoorState::Closed,
        }
    }
}
