//! Taking an order back while its vehicle rides to the load.

use super::house::{House, Power};
use super::withdraw::fetching;
use super::*;
use crate::lift::LiftAction;
use crate::safeguard::Safeguard;
use crate::task::{SuspendCause, TaskEvent};
use crate::wire::vehicle::VehicleRefusal;

/// V1 was told to ride to its load, and has begun.
fn riding() -> (Bench, TaskId, VehicleCommand) {
    let (mut bench, task) = fetching();
    bench.carry_out();
    assert_eq!(bench.obey(), "OpenDoor F1");
    let ride = bench.command();
    bench.take(&ride);
    (bench, task, ride)
}

impl Bench {
    /// It enters, rides and leaves; the car has no radio.
    fn ride(&mut self, ride: &VehicleCommand) {
        self.status.occupied = true;
        self.report(ride, Progress::Boarded);
        self.silent.insert(ride.vehicle.clone());
        assert_eq!([self.obey(), self.obey(), self.obey()], ["CloseDoor F1", "GoTo F2", "OpenDoor F2"]);
        self.silent.remove(&ride.vehicle);
        self.status.occupied = false;
        self.run(Millis::seconds(2));
        self.finish(ride);
    }
}

#[test]
fn during_a_ride_the_wish_is_recorded_and_nothing_leaves_after_it() {
    for (safeguards, withdrawn) in
        [(Safeguards::ALL, true), (Safeguards::all_but(Safeguard::AskedWithdrawal), false)]
    {
        let (mut bench, task, ride) = riding();
        bench.control.safeguards = safeguards;
        let state = bench.state(&task);
        assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())));
        assert_eq!((bench.state(&task), bench.tasks[&task].withdrawal_asked), (state, true));
        let n_entries = bench.entries.len();
        assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())), "again");
        assert_eq!(bench.entries.len(), n_entries, "and nothing more is recorded");
        bench.ride(&ride);
        assert_eq!(bench.obey(), "CloseDoor F2", "the ride ends as any other");
        assert!(bench.until(Millis::seconds(2), |it| it.phase().is_none()));
        assert_eq!(bench.state(&task).name() == "withdrawn", withdrawn);
        assert_eq!(bench.sent.is_empty(), withdrawn, "{:?}", bench.sent);
        assert_eq!(bench.tasks[&task].withdrawal_asked, !withdrawn, "the wish is over with the task");
    }
}

#[test]
fn a_wish_lasts_over_a_silence_and_a_restart() {
    let (mut bench, task, ride) = riding();
    bench.status.occupied = true;
    bench.report(&ride, Progress::Boarded);
    bench.silent.insert(ride.vehicle.clone());
    bench.run(Millis::seconds(5));
    assert_eq!(bench.state(&task).name(), "suspended");
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())));
    bench.restart();
    bench.run(Millis::seconds(2));
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())), "again, by the next run");
    bench.silent.remove(&ride.vehicle);
    bench.status = fixture::status("F2", DoorState::Open);
    bench.finish_unheard(&ride);
    bench.run(Millis::seconds(5));
    assert_eq!(bench.state(&task).name(), "withdrawn");
    assert!(bench.sent.is_empty(), "{:?}", bench.sent);
}

/// V1 was told to ride to its load, stands like this now, and refuses, or never answers until a person has to decide.
fn given_up(refuses: bool, wished: bool, stands: fn(&mut Heartbeat, &VehicleCommand)) -> (Bench, TaskId) {
    let (mut bench, task) = fetching();
    bench.carry_out();
    assert_eq!(bench.obey(), "OpenDoor F1");
    let ride = bench.command();
    if wished {
        assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())));
    }
    stands(bench.vehicle(&ride.vehicle), &ride);
    // So that the node has heard of it.
    bench.run(Millis::seconds(2));
    if refuses {
        bench.ack(&ride, AckVerdict::Refused { reason: VehicleRefusal::NotThere });
    }
    let is_over = |it: &Bench| {
        let given_up = matches!(
            it.state(&task),
            TaskState::Suspended { cause: SuspendCause::Fault | SuspendCause::Person, .. }
        );
        given_up || it.state(&task).is_terminal()
    };
    assert!(bench.until(Millis::seconds(400), is_over), "{:?}", bench.state(&task));
    bench.sent.clear();
    (bench, task)
}

#[test]
fn a_ride_that_the_vehicle_never_began_is_taken_back_if_it_stands_clear() {
    let clear: fn(&mut Heartbeat, &VehicleCommand) = |_, _| ();
    // Whether it refuses, where it stands, and whether it is withdrawn.
    type Row = (bool, fn(&mut Heartbeat, &VehicleCommand), bool);
    let rows: [Row; 6] = [
        (true, clear, true),
        (false, clear, true),
        (true, |it, _| it.place = Place::At { point: fixture::point("D1") }, false),
        (false, |it, _| it.place = Place::At { point: fixture::point("D1") }, false),
        (true, |it, _| it.place = Place::Unknown, false),
        (true, |it, ride| it.command = Some(ride.id.clone()), false),
    ];
    for (n, (refuses, stands, withdrawn)) in rows.into_iter().enumerate() {
        let (mut bench, task) = given_up(refuses, false, stands);
        let order = bench.control.book().tasks[&task].order.id.clone();
        let refused = Err(WithdrawalRefusal::NeedsPerson(order));
        let expected = if withdrawn { Ok(TakenBack::Withdrawn(task.clone())) } else { refused };
        assert_eq!(bench.withdraw(&task), expected, "row {n}");

        let (mut bench, task) = given_up(refuses, true, stands);
        bench.run(Millis::seconds(3));
        assert_eq!(bench.state(&task).name() == "withdrawn", withdrawn, "row {n}, wished");
        let vehicle = bench.vehicle(&fixture::vehicle("V1"));
        (vehicle.place, vehicle.command) = (Place::At { point: fixture::point("W1") }, None);
        bench.run(Millis::seconds(3));
        assert_eq!(bench.state(&task).name(), "withdrawn", "row {n}: somebody has moved it away");
        assert_eq!(bench.phase(), None, "row {n}: the lift is free");
        assert!(bench.sent.is_empty(), "row {n}: {:?}", bench.sent);
    }
}

#[test]
fn a_wish_is_void_when_the_ride_fails() {
    let (mut bench, task, ride) = riding();
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Asked(task.clone())));
    bench.report(&ride, Progress::Failed { reason: "wheel blocked".to_owned() });
    let order = bench.control.book().tasks[&task].order.id.clone();
    assert_eq!(bench.withdraw(&task), Err(WithdrawalRefusal::Over { order, state: "failed" }));
    assert!(!bench.tasks[&task].withdrawal_asked);
}

/// Another node has recorded the wish, and the one that has the task has not followed that yet.
#[test]
fn who_has_not_heard_of_the_wish_sends_nothing_on() {
    let (mut bench, task, ride) = riding();
    let entries = bench.store(vec![Record::WithdrawalAsked { task: task.clone() }]);
    bench.ride(&ride);
    bench.run(Millis::seconds(3));
    assert!(bench.sent.is_empty(), "{:?}", bench.sent);
    bench.handle(Event::Followed { entries });
    bench.run(Millis::seconds(3));
    assert_eq!(bench.state(&task).name(), "withdrawn");
    assert!(bench.sent.is_empty(), "{:?}", bench.sent);
}

/// The same, when the next thing would be a place before a lift.
#[test]
fn who_has_not_heard_of_the_wish_joins_no_line() {
    let (mut bench, task) = fetching();
    let approach = bench.command();
    bench.take(&approach);
    let entries = bench.store(vec![Record::WithdrawalAsked { task: task.clone() }]);
    bench.finish(&approach);
    bench.run(Millis::seconds(3));
    assert_eq!(bench.phase(), None);
    bench.handle(Event::Followed { entries });
    bench.run(Millis::seconds(3));
    assert_eq!((bench.state(&task).name(), bench.phase()), ("withdrawn", None));
}

impl House {
    /// Until A tells the vehicle to ride; the lift does what it is told.
    fn ride_begins(&mut self) -> VehicleCommand {
        for _ in 0..600 {
            self.run(Millis(100));
            let commands = std::mem::take(&mut self.nodes[0].sent);
            for command in commands {
                if matches!(command.instruction, Instruction::Ride { .. }) {
                    return command;
                }
                self.carry_out(&command);
            }
            for command in std::mem::take(&mut self.nodes[0].to_lift) {
                self.lift_answers(&command, Verdict::Accepted);
                (self.status.floor, self.status.door) = match command.action {
                    LiftAction::GoTo => (command.floor, DoorState::Closed),
                    LiftAction::OpenDoor => (command.floor, DoorState::Open),
                    LiftAction::CloseDoor => (command.floor, DoorState::Closed),
                };
            }
        }
        panic!("nobody rides");
    }
}

/// B is asked while A has the task.
#[test]
fn whoever_has_the_task_after_the_ride_takes_it_back() {
    for (is_gone, by) in [(false, "A"), (true, "B")] {
        let mut house = House::ready(&["A", "B"], 1);
        let request = house.ask(0, order("A2", "A1"), "key");
        let ride = house.ride_begins();
        let order = house.nodes[0].answers[&request].clone().expect("an order").order;
        house.handle(1, Event::WithdrawRequested { request: RequestId(77), order });
        house.run(Millis::seconds(1));
        let asked = house.found(|it| matches!(it, Record::WithdrawalAsked { .. }).then_some(()));
        assert_eq!(asked, [("B".to_owned(), ())]);
        if is_gone {
            house.nodes[0].power = Power::Off;
            house.run(Millis::seconds(10));
        }
        house.carry_out(&ride);
        house.run(Millis::seconds(3));
        let withdrawn = |it: &Record| {
            matches!(it, Record::TaskChanged { event: TaskEvent::Withdrawn { .. }, .. }).then_some(())
        };
        assert_eq!(house.found(withdrawn), [(by.to_owned(), ())]);
        // The ride itself may be told again.
        let left: Vec<_> = house.nodes.iter().flat_map(|it| &it.sent).filter(|it| it.id != ride.id).collect();
        assert!(left.is_empty(), "{by}: {left:?}");
    }
}
