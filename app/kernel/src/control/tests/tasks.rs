//! From an accepted order to the last command of its task.

use super::*;
use crate::wire::vehicle::{Operation, VehicleRefusal};
use crate::wire::view::{Activity, Knowledge};

#[test]
fn nothing_leaves_before_its_record_is_durable() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Holds;
    bench.ask(order("A1", "A2"), "key");
    bench.run(Millis::seconds(5));
    assert_eq!(bench.sent.len(), 0, "{:?}", bench.held);
    let issued = |it: &(BatchId, Vec<Record>)| matches!(it.1[..], [Record::CommandIssued { .. }]);
    while !bench.held.iter().any(issued) {
        bench.store_held();
        bench.run(Millis::seconds(1));
        assert!(bench.ms < 60_000, "no command is proposed");
        assert_eq!(bench.sent.len(), 0);
    }
    bench.store_held();
    assert_eq!(bench.sent.len(), 1);
}

#[test]
fn a_failed_proposal_sends_nothing_and_is_made_again() {
    let mut bench = Bench::with_one_vehicle();
    bench.silent.insert(fixture::vehicle("V1"));
    bench.run(Millis::seconds(3));
    bench.place("A1", "A2");
    bench.silent.clear();
    bench.ledger = Ledger::Fails;
    bench.run(Millis::seconds(5));
    assert_eq!(bench.sent.len(), 0);
    bench.ledger = Ledger::Writes;
    bench.command();
}

#[test]
fn an_order_on_one_floor_is_a_pick_and_a_drop() {
    let mut plant = fixture::plant();
    plant.stations.insert(fixture::station("A3"), crate::plant::Station { point: fixture::point("W1") });
    let mut bench = Bench::with(plant);
    bench.start();
    bench.run(Millis::seconds(2));
    let task = bench.place("A1", "A3");
    let pick = bench.carry_out();
    assert!(
        matches!(&pick.instruction, Instruction::Drive { path, then: Operation::Pick { .. } }
        if *path == fixture::path(&["H2", "S1"])),
        "{pick:?}"
    );
    let put = bench.carry_out();
    assert!(
        matches!(&put.instruction, Instruction::Drive { path, then: Operation::Drop { .. } }
        if *path == fixture::path(&["S1", "W1"])),
        "{put:?}"
    );
    assert_eq!((pick.step, put.step), (0, 1));
    assert_eq!(put.sequence, pick.sequence + 1);
    assert_eq!(bench.state(&task), TaskState::Completed);
    assert_eq!(bench.tasks[&task].activity, Activity::Ended);
    bench.run(Millis::seconds(60));
    assert!(bench.sent.is_empty() && bench.alarms.is_empty(), "{:?}", bench.alarms);
}

#[test]
fn the_vehicle_that_is_there_first_is_chosen() {
    // V1 starts at H1, 6 m from the load; V2 at H2, 4 m from it.
    type Change = fn(&mut Bench);
    let rows: &[(&str, Change, &str)] = &[
        ("both are free", |_| {}, "V2"),
        (
            "the nearer one is silent",
            |it| {
                it.silent.insert(fixture::vehicle("V2"));
            },
            "V1",
        ),
        (
            "the nearer one carries a load",
            |it| {
                it.vehicle(&fixture::vehicle("V2")).load = Some(fixture::order("O-9"));
            },
            "V1",
        ),
        (
            "the nearer one is at fault",
            |it| {
                it.vehicle(&fixture::vehicle("V2")).work = crate::wire::vehicle::WorkState::Faulted;
            },
            "V1",
        ),
        (
            "the nearer one has lost its place",
            |it| {
                it.vehicle(&fixture::vehicle("V2")).place = Place::Unknown;
            },
            "V1",
        ),
        (
            "the nearer one takes no new commands",
            |it| {
                it.deaf.insert(fixture::vehicle("V2"));
                it.vehicle(&fixture::vehicle("V2")).link_open = false;
            },
            "V1",
        ),
        (
            "the other one has moved up",
            |it| {
                it.vehicle(&fixture::vehicle("V1")).place = Place::At { point: fixture::point("S1") };
            },
            "V1",
        ),
    ];
    for (name, change, expected) in rows {
        let mut bench = Bench::ready();
        change(&mut bench);
        bench.run(Millis::seconds(2));
        bench.place("A1", "A2");
        assert_eq!(bench.command().vehicle, fixture::vehicle(expected), "{name}");
    }
}

#[test]
fn the_higher_priority_is_served_first_and_among_equals_the_earlier() {
    let mut bench = Bench::with_one_vehicle();
    bench.silent.insert(fixture::vehicle("V1"));
    bench.run(Millis::seconds(2));
    let placed: Vec<TaskId> = [3, 7, 7]
        .map(|priority| {
            let order = PlaceOrder { priority, ..order("A1", "A2") };
            let key = format!("key {}", bench.requests);
            bench.ask(order, &key).expect("an answer").expect("accepted").task
        })
        .into();
    assert!(placed.iter().all(|it| bench.tasks[it].activity == Activity::WaitsForVehicle));
    bench.silent.remove(&fixture::vehicle("V1"));
    assert_eq!(bench.command().task.as_ref(), Some(&placed[1]));
}

#[test]
fn one_vehicle_gets_one_task_and_two_orders_two_vehicles() {
    let mut bench = Bench::ready();
    bench.place("A1", "A2");
    bench.place("A1", "A2");
    bench.place("A1", "A2");
    let vehicles = [bench.command(), bench.command()].map(|it| it.vehicle);
    assert_eq!(vehicles, ["V2", "V1"].map(fixture::vehicle));
    bench.run(Millis::seconds(5));
    assert!(bench.sent.is_empty(), "the third one waits");
}

#[test]
fn states_follow_acknowledgement_start_and_result() {
    let mut bench = Bench::ready();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    assert_eq!(bench.state(&task).name(), "issued");
    assert_eq!(bench.tasks[&task].knowledge, Knowledge::Unknown);
    bench.take_unheard(&pick);
    bench.ack(&pick, AckVerdict::Accepted);
    assert_eq!(bench.state(&task).name(), "acknowledged");
    assert_eq!(bench.tasks[&task].knowledge, Knowledge::Confirmed);
    bench.report(&pick, Progress::Started);
    assert_eq!(bench.state(&task).name(), "executing");
    assert_eq!(bench.tasks[&task].activity, Activity::DrivesToPick);
    bench.finish(&pick);
    let picked = &bench.control.book().tasks[&task];
    assert!(picked.picked && picked.steps == 1);
    assert_eq!(bench.tasks[&task].activity, Activity::DrivesToDrop);
    let before = bench.entries.len();
    bench.report(&pick, Progress::Started);
    bench.report(&pick, Progress::Done);
    bench.ack(&pick, AckVerdict::Accepted);
    assert_eq!(bench.entries.len(), before, "late repeats change nothing");
}

#[test]
fn a_lost_acknowledgement_is_found_in_the_heartbeat() {
    let mut bench = Bench::ready();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take_unheard(&pick);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.state(&task), TaskState::Acknowledged { command: pick.id });
}

#[test]
fn a_lost_result_is_found_in_the_heartbeat() {
    // Whether the ledger knew that the vehicle had the command, and how many differences it then records.
    for (known, differences) in [(true, 0), (false, 1)] {
        let mut bench = Bench::ready();
        let task = bench.place("A1", "A2");
        let pick = bench.command();
        if known {
            bench.take(&pick);
        }
        bench.take_unheard(&pick);
        bench.finish_unheard(&pick);
        bench.run(Millis::seconds(1));
        assert_eq!(bench.control.book().tasks[&task].done, Some(pick.id.clone()));
        assert_eq!(bench.differences(), differences, "known: {known}");
        assert_ne!(bench.command().id, pick.id, "the next command follows");
    }
}

#[test]
fn a_refused_command_waits_for_a_passing_reason_and_for_a_person_otherwise() {
    use VehicleRefusal as R;
    let rows = [
        (R::StaleLink, "issued"),
        (R::Busy, "issued"),
        (R::StaleClaim, "suspended"),
        (R::BelowWindow, "suspended"),
        (R::NotThere, "suspended"),
        (R::UnknownPlace, "suspended"),
        (R::WrongLoad, "suspended"),
    ];
    for (reason, expected) in rows {
        let mut bench = Bench::ready();
        let task = bench.place("A1", "A2");
        let pick = bench.command();
        bench.ack(&pick, AckVerdict::Refused { reason });
        bench.run(Millis::seconds(2));
        assert_eq!(bench.state(&task).name(), expected, "{reason:?}");
        let person = expected == "suspended";
        assert_eq!(bench.standing().contains(&AlarmKind::CommandRefused), person, "{reason:?}");
        bench.run(Millis::seconds(120));
        assert_eq!(bench.sent.is_empty(), person, "{reason:?}: redelivered unless a person is asked");
    }
}

/// The vehicle contradicts itself while the ledger still writes that the command is done.
#[test]
fn a_word_about_a_command_that_is_done_changes_nothing() {
    for fails in [false, true] {
        let mut bench = Bench::ready();
        let task = bench.place("A1", "A2");
        let pick = bench.command();
        bench.take(&pick);
        bench.ledger = Ledger::Holds;
        bench.finish(&pick);
        if fails {
            bench.report(&pick, Progress::Failed { reason: "fork jammed".to_owned() });
        } else {
            bench.ack(&pick, AckVerdict::Refused { reason: VehicleRefusal::NotThere });
        }
        bench.let_go();
        let next = bench.command();
        assert_eq!(bench.state(&task).command(), Some(&next.id), "fails: {fails}");
    }
}

#[test]
fn a_reported_failure_ends_the_task_and_alarms_while_the_load_is_aboard() {
    let mut bench = Bench::ready();
    let task = bench.place("A1", "A2");
    bench.carry_out();
    let next = bench.command();
    bench.take(&next);
    bench.report(&next, Progress::Failed { reason: "wheel blocked".to_owned() });
    assert_eq!(bench.state(&task), TaskState::Failed { reason: "wheel blocked".to_owned() });
    let vehicle = bench.vehicle(&next.vehicle);
    vehicle.command = None;
    bench.run(Millis::seconds(2));
    assert_eq!(bench.standing(), [AlarmKind::ExecutionFailed]);
    bench.vehicle(&next.vehicle).load = None;
    bench.run(Millis::seconds(2));
    assert_eq!(bench.standing(), []);
}

#[test]
fn words_of_vehicles_and_gateways_that_the_site_does_not_have_are_dropped() {
    let mut bench = Bench::ready();
    let command = fixture::vehicle_command("C1", "V9", 1);
    bench.report(&command, Progress::Started);
    bench.ack(&command, AckVerdict::Accepted);
    bench.handle(Event::Heartbeat(fixture::heartbeat("V9", "H1")));
    let gateway = fixture::gateway("G9");
    bench.handle(Event::GatewayStatus(GatewayStatus {
        gateway,
        boot: 1,
        message: 1,
        messages_rejected: 0,
        lifts: Vec::new(),
    }));
    assert_eq!((bench.control.words.len(), bench.control.gateways.len()), (0, 1));
}
