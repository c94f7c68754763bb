//! A ride that a person has ended: the lift is the next one's, and the ended ride has no say any more.

use super::*;
use crate::gateway::{self, Gateway, Marks, WriteResult};
use crate::ids::Generation;
use crate::task::SuspendCause;
use crate::wire::gateway::{Authority, GatewayCommand, GatewayRefusal};

/// The gateway that ships, beside the bench's lift.
struct AtTheGateway {
    gateway: Gateway,
    tick: u64,
    number: u16,
}

impl AtTheGateway {
    fn new() -> Self {
        let gateway = Gateway::new(fixture::gateway("G1"), &fixture::plant(), Marks::default(), at(0));
        Self { gateway, tick: 0, number: 0 }
    }

    fn read(&mut self, status: &LiftStatus, now: Now) {
        self.tick += 1;
        let heartbeat = u16::try_from(self.tick).expect("a few");
        let (accepted, completed) = (self.number, self.number);
        let status = LiftStatus { heartbeat, accepted, completed, ..status.clone() };
        self.gateway.handle(gateway::Event::Read { lift: fixture::lift("L1"), status }, now);
    }

    /// What becomes of a command that rests on the newest read, when the lift stands as it expects.
    fn answer(&mut self, command: &LiftCommand, bench: &Bench) -> Verdict {
        let now = at(bench.ms);
        let expects = &command.expects;
        let status = LiftStatus { door: expects.door, floor: expects.floor.clone(), ..bench.status.clone() };
        self.read(&status, now);
        let read = ReadRef { boot: 1, tick: self.tick };
        let command = LiftCommand { read, ..command.clone() };
        self.gateway.handle(gateway::Event::Commanded(Box::new(GatewayCommand::Lift(command))), now);
        let mut told = None;
        while let Some(effect) = self.gateway.poll_effect() {
            match effect {
                gateway::Effect::Write { lift, block } => {
                    self.number = block.number;
                    let (number, result) = (block.number, WriteResult::Confirmed);
                    self.gateway.handle(gateway::Event::Written { lift, number, result }, now);
                    self.read(&status, now);
                }
                gateway::Effect::Tell(outcome) => told = Some(outcome.verdict),
                gateway::Effect::Persist(_)
                | gateway::Effect::Forward { .. }
                | gateway::Effect::Status(_)
                | gateway::Effect::Log { .. } => {}
            }
        }
        told.expect("a verdict")
    }
}

/// Two tasks at the lift, the first of which has it, with the door open.
fn two_in_line() -> (Bench, [TaskId; 2], LiftCommand) {
    let mut bench = Bench::ready();
    let tasks = [bench.place("A1", "A2"), bench.place("A1", "A2")];
    for _ in 0..2 {
        let commands = [bench.command(), bench.command()];
        for command in &commands {
            bench.take(command);
            bench.finish(command);
        }
    }
    bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty());
    let opens = bench.to_lift.front().cloned().expect("a command to the lift");
    assert_eq!(bench.obey(), "OpenDoor F1");
    assert_eq!(bench.command().task.as_ref(), Some(&tasks[0]));
    assert_eq!(bench.phase(), Some(SessionPhase::Boarding));
    (bench, tasks, opens)
}

/// As a person's intervention will write it.
fn ended_by_a_person(bench: &mut Bench) {
    let session = bench.control.book().session_of(&fixture::lift("L1")).cloned().expect("a ride");
    let (phase, generation, lift) = (SessionPhase::Forced, session.generation, session.lift);
    let record = Record::SessionChanged { session: session.id, phase, generation, lift };
    let entries = bench.store(vec![record]);
    bench.handle(Event::Followed { entries });
}

/// V1 was told that the lift is ready, and nothing came back. To be told so again would send it into the lift of V2.
#[test]
fn a_ride_that_a_person_ended_is_not_told_again() {
    // Whether it opens its link anew, and whether the node is started anew.
    for (new_link, restarts) in [(false, false), (true, false), (false, true)] {
        let (mut bench, tasks, _) = two_in_line();
        let rider = bench.control.book().tasks[&tasks[0]].vehicle.clone().expect("a vehicle");
        ended_by_a_person(&mut bench);
        if new_link {
            bench.vehicle(&rider).link_open = false;
        }
        if restarts {
            bench.restart();
        }
        let waits = |it: &Bench| {
            matches!(it.state(&tasks[0]), TaskState::Suspended { cause: SuspendCause::Person, .. })
        };
        let what = format!("new link {new_link}, restarts {restarts}");
        assert!(bench.until(Millis::seconds(90), waits), "{what}: {:?}", bench.state(&tasks[0]));
        bench.run(Millis::seconds(90));
        let told: Vec<_> = bench.sent.iter().filter(|it| it.vehicle == rider).collect();
        assert!(told.is_empty(), "{what}: {told:?}");
    }
}

#[test]
fn a_ride_that_a_person_ended_frees_the_lift_for_the_next_in_line() {
    let (mut bench, tasks, opens) = two_in_line();
    ended_by_a_person(&mut bench);
    let next = |it: &Bench| it.control.book().session_of(&fixture::lift("L1")).map(|it| it.task.clone());
    assert!(bench.until(Millis::seconds(2), |it| next(it) == Some(tasks[1].clone())), "{:?}", next(&bench));
    assert_eq!(bench.control.book().lift_generations[&fixture::lift("L1")], opens.session.generation.next());
    assert_eq!(bench.obey(), "OpenDoor F1");
    assert_eq!(bench.command().task.as_ref(), Some(&tasks[1]));
}

#[test]
fn a_ride_that_a_person_ended_commands_the_lift_no_more() {
    let (mut bench, tasks, opens) = two_in_line();
    let mut gateway = AtTheGateway::new();
    assert_eq!(gateway.answer(&opens, &bench), Verdict::Accepted);
    ended_by_a_person(&mut bench);
    assert!(bench.until(Millis::seconds(3), |it| !it.to_lift.is_empty()));
    let next = bench.to_lift.pop_front().expect("a command");
    assert_eq!((&next.session.task, next.session.generation), (&tasks[1], Generation(2)));
    assert_eq!(gateway.answer(&next, &bench), Verdict::Accepted);
    // By whoever still takes the ended ride for the lift's, under a lease that is as good as any.
    let nonce = LeaseNonce(4711);
    let authority = Authority::Lease { token: FencingToken { epoch: 1, serial: 4711 }, nonce };
    let late = LiftCommand { id: fixture::command_id("C-B1.1"), authority, ..opens };
    assert_eq!(gateway.answer(&late, &bench), Verdict::Refused { reason: GatewayRefusal::StaleSession });
}
