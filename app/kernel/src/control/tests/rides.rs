//! A ride from the waiting point to the other floor: two channels at the sill, one lift command at a time.

use super::house::{House, Power};
use super::*;
use crate::ids::Generation;
use crate::ledger::Row;
use crate::lift::{LiftMode, Motion};
use crate::timing::{HANDOVER_MARGIN, hold_limit};
use crate::wire::vehicle::Operation;
use crate::wire::view::{Activity, Knowledge};

impl Bench {
    /// As far as the ride command, with the door open at F1.
    fn boarding() -> (Self, TaskId, VehicleCommand) {
        let (mut bench, task) = Self::at_the_lift();
        assert_eq!(bench.obey(), "OpenDoor F1");
        let ride = bench.command();
        bench.take(&ride);
        assert_eq!(bench.phase(), Some(SessionPhase::Boarding));
        (bench, task, ride)
    }

    /// In the car by both channels, the door still open.
    fn riding() -> (Self, TaskId, VehicleCommand) {
        let (mut bench, task, ride) = Self::boarding();
        bench.status.occupied = true;
        bench.report(&ride, Progress::Boarded);
        bench.run(Millis(300));
        assert_eq!(bench.phase(), Some(SessionPhase::Riding));
        (bench, task, ride)
    }

    /// At the target with the door open.
    fn alighting() -> (Self, TaskId, VehicleCommand) {
        let (mut bench, task, ride) = Self::riding();
        assert_eq!([bench.obey(), bench.obey(), bench.obey()], ["CloseDoor F1", "GoTo F2", "OpenDoor F2"]);
        bench.run(Millis(300));
        assert_eq!(bench.phase(), Some(SessionPhase::Alighting));
        (bench, task, ride)
    }

    fn quiet_for(&mut self, span: Millis) {
        self.run(span);
        assert!(self.to_lift.is_empty(), "{:?}", self.to_lift);
        assert!(self.sent.is_empty(), "{:?}", self.sent);
    }
}

#[test]
fn one_order_across_floors() {
    let (mut bench, task) = Bench::at_the_lift();
    assert!(bench.until(Millis::seconds(1), |it| it.phase() == Some(SessionPhase::Granted)));
    assert_eq!(bench.tasks[&task].activity, Activity::WaitsForLift { lift: fixture::lift("L1") });
    assert_eq!(bench.state(&task).name(), "suspended");
    assert_eq!(bench.obey(), "OpenDoor F1");
    let ride = bench.command();
    let Instruction::Ride { session, from, to, approach, exit, .. } = &ride.instruction else {
        panic!("{ride:?}");
    };
    assert_eq!((session.as_str(), from.as_str(), to.as_str()), ("S-A1.2", "F1", "F2"));
    assert_eq!((approach, exit), (&fixture::path(&["W1", "D1"]), &fixture::point("D2")));
    bench.take(&ride);
    assert_eq!(bench.tasks[&task].activity, Activity::Boards { lift: fixture::lift("L1") });
    bench.status.occupied = true;
    bench.report(&ride, Progress::Boarded);
    // The car is radio-dead: the vehicle is silent as expected.
    bench.silent.insert(ride.vehicle.clone());
    assert_eq!([bench.obey(), bench.obey(), bench.obey()], ["CloseDoor F1", "GoTo F2", "OpenDoor F2"]);
    assert_eq!(bench.tasks[&task].knowledge, Knowledge::Assumed);
    assert_eq!(bench.standing(), []);
    bench.silent.remove(&ride.vehicle);
    bench.status.occupied = false;
    bench.finish(&ride);
    assert_eq!(bench.obey(), "CloseDoor F2");
    bench.run(Millis::seconds(1));
    assert_eq!(bench.phase(), None, "released");
    let put = bench.carry_out();
    assert!(matches!(put.instruction, Instruction::Drive { then: Operation::Drop { .. }, .. }));
    assert_eq!(bench.state(&task), TaskState::Completed);
    bench.quiet_for(Millis::seconds(60));
    assert!(bench.alarms.is_empty(), "{:?}", bench.alarms);
    let asked = bench.leases.iter().filter(|it| *it == "ask").count();
    assert_eq!((asked, bench.leases.len()), (5, 10), "one lease for each command: {:?}", bench.leases);
    use LeasePriority::{Aboard, Ahead};
    assert_eq!(bench.priorities, [Ahead, Aboard, Aboard, Aboard, Aboard]);
}

/// A lift is called ahead for a vehicle that is on its way; the nearer that is to the car, the less it can wait.
#[test]
fn the_priority_of_a_command_is_that_of_its_ride() {
    use LeasePriority::{Aboard, Ahead, Landing, OpenDoor};
    let rows: [(&str, SessionPhase, LeasePriority); 8] = [
        ("W1", SessionPhase::Granted, Ahead),
        ("D1", SessionPhase::Granted, Landing),
        ("D2", SessionPhase::Granted, Ahead),
        ("W1", SessionPhase::Boarding, OpenDoor),
        ("D1", SessionPhase::Boarding, OpenDoor),
        ("D1", SessionPhase::Riding, Aboard),
        ("D2", SessionPhase::Alighting, Aboard),
        ("W1", SessionPhase::Forced, Ahead),
    ];
    for (point, phase, expected) in rows {
        let (mut bench, _) = Bench::at_the_lift();
        assert!(bench.until(Millis::seconds(1), |it| it.phase() == Some(SessionPhase::Granted)));
        let lift = fixture::lift("L1");
        let ride = bench.control.book().session_of(&lift).expect("a ride").clone();
        bench.control.book.sessions.get_mut(&ride.id).expect("a ride").phase = phase;
        let place = Place::At { point: fixture::point(point) };
        bench.fleet.get_mut(&ride.vehicle).expect("its vehicle").place = place;
        bench.beat_all();
        bench.control.book.sessions.get_mut(&ride.id).expect("a ride").phase = phase;
        assert_eq!(bench.control.lease_priority(&lift), expected, "{point} {phase:?}");
    }
}

#[test]
fn a_lift_elsewhere_is_brought_to_the_landing() {
    // Where the lift stands, its door, and what it is told.
    let rows: [(&str, DoorState, &[&str]); 5] = [
        ("F1", DoorState::Closed, &["OpenDoor F1"]),
        ("F1", DoorState::Obstructed, &["OpenDoor F1"]),
        // So that the gateway knows whose the lift is, before it is occupied.
        ("F1", DoorState::Open, &["OpenDoor F1"]),
        ("F2", DoorState::Closed, &["GoTo F1", "OpenDoor F1"]),
        ("F2", DoorState::Open, &["CloseDoor F2", "GoTo F1", "OpenDoor F1"]),
    ];
    for (floor, door, expected) in rows {
        let mut bench = Bench::with_one_vehicle();
        bench.status = fixture::status(floor, door);
        bench.place("A1", "A2");
        bench.carry_out();
        bench.carry_out();
        let told: Vec<String> = expected.iter().map(|_| bench.obey()).collect();
        assert_eq!(told, expected, "from {floor} with its door {door:?}");
        assert!(matches!(bench.command().instruction, Instruction::Ride { .. }));
    }
}

#[test]
fn boarding_needs_both_channels() {
    // What the sensor sees, what the vehicle says, and whether the ride goes on.
    for (sensor, word, rides) in
        [(false, false, false), (true, false, false), (false, true, false), (true, true, true)]
    {
        let (mut bench, _, ride) = Bench::boarding();
        bench.status.occupied = sensor;
        if word {
            bench.report(&ride, Progress::Boarded);
        }
        bench.run(Millis::seconds(3));
        assert_eq!(bench.phase() == Some(SessionPhase::Riding), rides, "sensor {sensor}, word {word}");
        assert_eq!(bench.to_lift.is_empty(), !rides, "sensor {sensor}, word {word}");
        bench.to_lift.clear();
        bench.run(HANDOVER_MARGIN);
        let alarms = bench.standing().contains(&AlarmKind::HandoverDisagrees);
        assert_eq!(alarms, sensor != word, "sensor {sensor}, word {word}: {:?}", bench.alarms);
    }
}

#[test]
fn the_place_in_a_heartbeat_is_a_word_too() {
    let (mut bench, _, ride) = Bench::boarding();
    bench.status.occupied = true;
    bench.vehicle(&ride.vehicle).place = Place::InCar { lift: fixture::lift("L1") };
    bench.run(Millis::seconds(1));
    assert_eq!(bench.phase(), Some(SessionPhase::Riding));
}

#[test]
fn a_word_about_another_command_is_no_word() {
    let (mut bench, _, ride) = Bench::boarding();
    bench.status.occupied = true;
    let other = VehicleCommand { id: fixture::command_id("T-A1.0"), ..ride };
    bench.report(&other, Progress::Boarded);
    bench.run(Millis::seconds(3));
    assert_eq!(bench.phase(), Some(SessionPhase::Boarding));
}

#[test]
fn the_door_stays_open_while_the_sensor_loses_the_rider() {
    let (mut bench, ..) = Bench::riding();
    bench.to_lift.clear();
    bench.status.occupied = false;
    let command = bench.control.voices[&fixture::lift("L1")].clone();
    // What was sent before the sensor fell is answered.
    if let Voice::Sent { command, .. } = command {
        let lift = Some(fixture::lift("L1"));
        let verdict = Verdict::Refused { reason: crate::wire::gateway::GatewayRefusal::NotNow };
        let gateway = fixture::gateway("G1");
        bench.handle(Event::Outcome(Outcome { gateway, boot: 1, command, lift, number: None, verdict }));
    }
    bench.quiet_for(Millis::seconds(5));
    bench.run(HANDOVER_MARGIN);
    assert!(bench.standing().contains(&AlarmKind::HandoverDisagrees));
    bench.status.occupied = true;
    assert_eq!(bench.obey(), "CloseDoor F1");
}

#[test]
fn alighting_needs_both_channels() {
    for (sensor, word, closes) in
        [(true, false, false), (false, false, false), (true, true, false), (false, true, true)]
    {
        let (mut bench, _, ride) = Bench::alighting();
        bench.status.occupied = sensor;
        if word {
            bench.report(&ride, Progress::Alighted);
        }
        bench.run(Millis::seconds(3));
        assert_eq!(!bench.to_lift.is_empty(), closes, "sensor {sensor}, word {word}");
        if !closes {
            bench.run(HANDOVER_MARGIN);
            let alarms = bench.standing().contains(&AlarmKind::HandoverDisagrees);
            assert_eq!(alarms, sensor == word, "sensor {sensor}, word {word}: {:?}", bench.alarms);
        }
    }
}

#[test]
fn an_occupied_car_is_granted_to_nobody_and_alarms() {
    let mut bench = Bench::with_one_vehicle();
    bench.status.occupied = true;
    bench.run(Millis(500));
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    bench.quiet_for(Millis::seconds(10));
    assert_eq!(bench.phase(), Some(SessionPhase::Queued));
    assert_eq!(bench.standing(), [AlarmKind::HandoverDisagrees]);
    bench.status.occupied = false;
    assert_eq!(bench.obey(), "OpenDoor F1");
    assert_eq!(bench.standing(), []);
}

#[test]
fn a_car_that_fills_after_the_grant_is_not_moved() {
    let mut bench = Bench::with_one_vehicle();
    bench.status = fixture::status("F2", DoorState::Closed);
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    assert_eq!(bench.obey(), "GoTo F1");
    bench.status.occupied = true;
    bench.quiet_for(Millis::seconds(3));
    assert_eq!(bench.standing(), [AlarmKind::HandoverDisagrees]);
}

#[test]
fn nothing_is_asked_of_a_lift_that_is_not_fit_for_it() {
    type Change = fn(&mut Bench);
    let rows: &[(&str, Change, Option<AlarmKind>)] = &[
        ("the PLC is at work", |it| it.status.accepted = 5, None),
        ("it travels", |it| it.status.motion = Motion::Up, None),
        ("it is not level", |it| it.status.levelled = false, None),
        ("its door moves", |it| it.status.door = DoorState::Closing, None),
        ("fire", |it| it.status.mode = LiftMode::Fire, Some(AlarmKind::LiftOutOfService)),
        ("emergency stop", |it| it.status.mode = LiftMode::Emergency, Some(AlarmKind::LiftEmergencyStopped)),
        ("a fault", |it| it.status.fault = 4, Some(AlarmKind::LiftFaulted)),
        ("frozen", |it| it.connection = Connection::Frozen, Some(AlarmKind::LiftFrozen)),
        ("unreachable", |it| it.connection = Connection::Down, Some(AlarmKind::LiftUnreachable)),
        ("reads too old", |it| it.read_age = Millis(2600), Some(AlarmKind::LiftUnreachable)),
        ("the gateway is silent", |it| it.gateway_speaks = false, Some(AlarmKind::GatewaySilent)),
        (
            "the gateway verifies",
            |it| it.verifying = Some(fixture::command_id("C-Z1.1")),
            Some(AlarmKind::LiftUnverified),
        ),
    ];
    for (name, change, alarm) in rows {
        let mut bench = Bench::with_one_vehicle();
        change(&mut bench);
        bench.run(Millis::seconds(4));
        bench.place("A1", "A2");
        bench.carry_out();
        bench.carry_out();
        bench.quiet_for(Millis::seconds(10));
        assert_eq!(bench.leases, Vec::<String>::new(), "{name}");
        assert_eq!(bench.standing(), Vec::from_iter(*alarm), "{name}");
    }
}

#[test]
fn a_lift_held_too_long_alarms() {
    let (mut bench, ..) = Bench::boarding();
    let limit = hold_limit(&bench.plant.lifts[&fixture::lift("L1")]);
    bench.run(Millis(limit.0 - 5000));
    assert_eq!(bench.standing(), []);
    bench.run(Millis::seconds(6));
    assert_eq!(bench.standing(), [AlarmKind::LiftHeldTooLong]);
}

/// The sensor lags by seconds, so an empty car says nothing about a vehicle that stood before it a moment ago.
#[test]
fn a_ride_that_failed_at_the_sill_keeps_the_lift() {
    let rows = [
        ("on its way over the sill", Place::At { point: fixture::point("D1") }, true),
        ("unknown", Place::Unknown, true),
        ("in the car", Place::InCar { lift: fixture::lift("L1") }, true),
        ("back at the waiting point", Place::At { point: fixture::point("W1") }, false),
    ];
    for (name, place, kept) in rows {
        let (mut bench, _, ride) = Bench::boarding();
        let vehicle = bench.vehicle(&ride.vehicle);
        vehicle.place = place;
        vehicle.command = None;
        bench.run(Millis::seconds(1));
        bench.report(&ride, Progress::Failed { reason: "wheel blocked".to_owned() });
        bench.run(Millis::seconds(2));
        assert_eq!(bench.phase() == Some(SessionPhase::Boarding), kept, "{name}");
    }
}

#[test]
fn the_next_in_line_is_served_when_the_lift_is_released() {
    let mut bench = Bench::ready();
    let tasks = [bench.place("A1", "A2"), bench.place("A1", "A2")];
    for _ in 0..2 {
        let picks = [bench.command(), bench.command()];
        for pick in &picks {
            bench.take(pick);
            bench.finish(pick);
        }
    }
    assert_eq!(bench.obey(), "OpenDoor F1");
    let ride = bench.command();
    assert_eq!(ride.task.as_ref(), Some(&tasks[0]));
    bench.run(Millis::seconds(3));
    assert!(bench.sent.is_empty(), "one at a time");
    let view = &bench.lifts[&fixture::lift("L1")];
    assert_eq!(view.session.as_ref().map(|it| &it.task), Some(&tasks[0]));
    assert_eq!(view.waiting.iter().map(|it| &it.task).collect::<Vec<_>>(), [&tasks[1]]);
    bench.take(&ride);
    bench.status.occupied = true;
    bench.report(&ride, Progress::Boarded);
    for _ in 0..3 {
        bench.obey();
    }
    bench.status.occupied = false;
    bench.finish(&ride);
    assert_eq!([bench.obey(), bench.obey(), bench.obey()], ["CloseDoor F2", "GoTo F1", "OpenDoor F1"]);
    bench.run(Millis::seconds(1));
    let rides: Vec<_> = std::mem::take(&mut bench.sent)
        .into_iter()
        .filter(|it| matches!(it.instruction, Instruction::Ride { .. }))
        .collect();
    assert_eq!(rides.iter().map(|it| it.task.as_ref()).collect::<Vec<_>>(), [Some(&tasks[1])]);
    let generation = bench.control.book().lift_generations[&fixture::lift("L1")];
    assert_eq!(generation, crate::ids::Generation(2));
}

/// B's ride is the first in line for all it knows; another process of A's name has just granted the lift to A's.
#[test]
fn who_has_not_heard_of_a_grant_grants_the_lift_to_nobody() {
    for conditional in [true, false] {
        let mut house = House::ready(&["A", "B"], 2);
        house.status.occupied = true;
        for key in ["one", "two"] {
            house.ask(0, order("A2", "A1"), key);
        }
        house.run(Millis::seconds(2));
        let mut sessions = Vec::new();
        for idx in [1, 0] {
            let approach = house.nodes[idx].sent.pop().expect("the way to the lift");
            house.carry_out(&approach);
            house.run(Millis::seconds(2));
            sessions = house.found(|it| {
                let Record::SessionRequested { session, .. } = it else { return None };
                Some(session.clone())
            });
        }
        let (_, session) = sessions.pop().expect("A's ride is the last in line");
        house.nodes[0].power = Power::Asleep;
        let (lift, generation, phase) = (fixture::lift("L1"), Generation(1), SessionPhase::Granted);
        let granted = Record::SessionChanged { session, phase, generation, lift: lift.clone() };
        house.appended_elsewhere("A", granted);
        (house.conditional, house.status.occupied) = (conditional, false);
        house.tell_state();
        let grants = house.found(|it| {
            let Record::SessionChanged { phase: SessionPhase::Granted, generation, .. } = it else {
                return None;
            };
            Some(generation.0)
        });
        let by = |node: &str| (node.to_owned(), 1);
        let expected = if conditional { vec![by("A")] } else { vec![by("A"), by("B")] };
        assert_eq!(grants, expected, "conditional {conditional}");
        assert_eq!(house.nodes[1].conflicts.contains(&Row::Lift(lift)), conditional);
    }
}
