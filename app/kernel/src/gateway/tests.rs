//! What a gateway admits, in which order it acts, and what it still knows after a restart.

mod admit;
mod capable;
mod commands;
mod edge;
mod foreign;
mod settle;
mod vehicles;

use super::*;
use crate::fixture::{self, at};
use crate::lift::{DoorState, LiftStatus};
use crate::time::Millis;
use crate::wire::gateway::{LiftReading, ReadRef};

/// Steps one gateway with one lift. Each read moves the PLC's heartbeat on unless the test holds it.
struct Bench {
    gateway: Gateway,
    ms: u64,
    status: LiftStatus,
    tick: u64,
    /// Everything but states and log lines, as text, since the last look.
    told: Vec<String>,
    states: Vec<GatewayStatus>,
    marks: Marks,
}

impl Bench {
    fn new() -> Self {
        Self::restarted(Marks::default(), 0)
    }

    /// A gateway that starts with these marks, beside an idle lift with its door shut at F1.
    fn restarted(marks: Marks, ms: u64) -> Self {
        Self::on(&fixture::plant(), marks, ms)
    }

    fn on(plant: &Plant, marks: Marks, ms: u64) -> Self {
        let gateway = Gateway::new(fixture::gateway("G1"), plant, marks, at(ms));
        let mut bench = Self {
            gateway,
            ms,
            status: fixture::status("F1", DoorState::Closed),
            tick: 0,
            told: Vec::new(),
            states: Vec::new(),
            marks: Marks::default(),
        };
        bench.collect();
        bench
    }

    /// A gateway that has read its lift once.
    fn ready() -> Self {
        let mut bench = Self::new();
        bench.read();
        bench.look();
        bench
    }

    fn collect(&mut self) {
        while let Some(effect) = self.gateway.poll_effect() {
            match effect {
                Effect::Persist(marks) => {
                    let kept = &marks.lifts[&fixture::lift("L1")];
                    let flight = kept.in_flight.as_ref().map_or("-".to_owned(), |it| it.command.to_string());
                    let serial = kept.token.serial;
                    self.told.push(format!("persist number {} flight {flight} serial {serial}", kept.number));
                    self.marks = marks;
                }
                Effect::Write { block, .. } => {
                    self.told.push(format!("write {} {:?} {}", block.number, block.action, block.floor));
                }
                Effect::Tell(it) => self.told.push(format!("tell {} {:?}", it.command, it.verdict)),
                Effect::Forward { vehicle, command } => {
                    self.told.push(format!("forward {} to {vehicle}", command.id));
                }
                Effect::Status(state) => self.states.push(state),
                Effect::Log { .. } => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        self.gateway.handle(event, at(self.ms));
        self.collect();
    }

    /// What was done since the last look.
    fn look(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// What was told and written since the last look, without what was persisted.
    fn news(&mut self) -> Vec<String> {
        self.look().into_iter().filter(|it| !it.starts_with("persist")).collect()
    }

    fn read(&mut self) {
        self.status.heartbeat = self.status.heartbeat.wrapping_add(1);
        self.read_frozen();
    }

    fn read_frozen(&mut self) {
        self.tick += 1;
        let status = self.status.clone();
        self.handle(Event::Read { lift: fixture::lift("L1"), status });
    }

    fn read_failed(&mut self) {
        self.handle(Event::ReadFailed { lift: fixture::lift("L1"), reason: "timed out".to_owned() });
    }

    /// Time passes, with a read in each poll period.
    fn run(&mut self, span: Millis) {
        let end = self.ms + span.0;
        while self.ms + LIFT_POLL_PERIOD.0 <= end {
            self.ms += LIFT_POLL_PERIOD.0;
            self.read();
        }
        self.ms = end;
    }

    /// Time passes in one leap, and nothing is heard.
    fn sleep(&mut self, span: Millis) {
        self.ms += span.0;
        self.gateway.handle_timeout(at(self.ms));
        self.collect();
    }

    fn command(&self, id: &str, action: LiftAction, to: &str) -> LiftCommand {
        let read = ReadRef { boot: self.gateway.marks.boot, tick: self.tick };
        fixture::lift_command(id, action, to, &self.status, read)
    }

    fn send(&mut self, command: LiftCommand) {
        self.handle(Event::Commanded(Box::new(GatewayCommand::Lift(command))));
    }

    fn open(&mut self, id: &str) {
        let command = self.command(id, LiftAction::OpenDoor, "F1");
        self.send(command);
    }

    fn written(&mut self, number: u16, result: WriteResult) {
        self.handle(Event::Written { lift: fixture::lift("L1"), number, result });
    }

    /// The PLC takes this number, has finished it, and is read.
    fn echo(&mut self, number: u16) {
        self.status.accepted = number;
        self.status.completed = number;
        self.read();
    }

    fn reading(&mut self) -> LiftReading {
        let reading =
            self.gateway.channels[&fixture::lift("L1")].reading(1, &LiftMarks::default(), at(self.ms));
        assert_eq!(reading.lift, fixture::lift("L1"));
        reading
    }
}
