//! Links: closed after a silence, opened when both records go together, under a higher generation each time.

use super::*;
use crate::ids::Generation;
use crate::safeguard::{Safeguard, Safeguards};
use crate::task::{ResumePoint, SuspendCause};
use crate::wire::view::{Hearing, Knowledge};

#[test]
fn a_link_is_opened_after_two_steady_heartbeats() {
    let mut bench = Bench::new();
    assert!(bench.until(Millis::seconds(2), |it| !it.links_opened.is_empty()));
    assert_eq!(bench.fleet[&fixture::vehicle("V1")].beat, 2);
    let opened = &bench.links_opened[0];
    assert_eq!((opened.link, opened.sequence, &opened.task), (Generation(1), 1, &None));
    bench.run(Millis::seconds(10));
    assert_eq!(bench.links_opened.len(), 2, "once for each vehicle");
    assert!(bench.vehicles.values().all(|it| it.link_open && it.hearing == Hearing::Heard));
}

#[test]
fn an_opening_that_is_not_followed_is_sent_again() {
    let mut bench = Bench::new();
    bench.deaf = ["V1", "V2"].map(fixture::vehicle).into();
    bench.run(Millis::seconds(10));
    let of_v1 = bench.links_opened.iter().filter(|it| it.vehicle == fixture::vehicle("V1"));
    let generations: Vec<u64> = of_v1.map(|it| it.link.0).collect();
    assert!((3..=6).contains(&generations.len()), "{generations:?}");
    assert!(generations.iter().all(|it| *it == 1), "the ledger has it once: {generations:?}");
}

#[test]
fn a_vehicle_that_knows_a_higher_generation_is_outbid() {
    let mut bench = Bench::new();
    bench.vehicle(&fixture::vehicle("V1")).link = Generation(7);
    bench.run(Millis::seconds(3));
    let opened = bench.links_opened.iter().find(|it| it.vehicle == fixture::vehicle("V1"));
    assert_eq!(opened.map(|it| it.link), Some(Generation(8)));
}

#[test]
fn silence_suspends_and_a_vehicle_in_step_goes_on() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    bench.silent.insert(pick.vehicle.clone());
    assert!(bench.until(Millis::seconds(3), |it| it.state(&task).name() == "suspended"));
    let resume = ResumePoint::Command { command: pick.id.clone(), attempt: 1 };
    assert_eq!(bench.state(&task), TaskState::Suspended { cause: SuspendCause::Link, resume });
    assert_eq!(bench.vehicles[&pick.vehicle].hearing, Hearing::Silent);
    assert_eq!(bench.tasks[&task].knowledge, Knowledge::Unknown);
    bench.vehicle(&pick.vehicle).link_open = false;
    bench.silent.remove(&pick.vehicle);
    bench.links_opened.clear();
    bench.run(Millis::seconds(3));
    assert_eq!(bench.state(&task), TaskState::Executing { command: pick.id });
    assert_eq!(bench.links_opened.iter().map(|it| it.link.0).collect::<Vec<_>>(), [2]);
    assert!(bench.sent.is_empty(), "what it holds is not delivered again");
}

#[test]
fn one_heartbeat_after_a_silence_resumes_nothing() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    bench.silent.insert(pick.vehicle.clone());
    bench.run(Millis::seconds(5));
    bench.silent.remove(&pick.vehicle);
    bench.until(Millis::seconds(1), |it| it.ms.is_multiple_of(500));
    bench.silent.insert(pick.vehicle.clone());
    bench.run(Millis::seconds(3));
    assert_eq!(bench.state(&task).name(), "suspended");
}

#[test]
fn a_vehicle_that_finished_in_the_silence_goes_on_with_the_next_command() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    bench.silent.insert(pick.vehicle.clone());
    bench.run(Millis::seconds(5));
    bench.finish_unheard(&pick);
    bench.vehicle(&pick.vehicle).link_open = false;
    bench.silent.remove(&pick.vehicle);
    let next = bench.command();
    assert_eq!((next.step, next.link), (1, Generation(2)));
    assert_eq!(bench.control.book().tasks[&task].done, Some(pick.id));
}

#[test]
fn a_vehicle_with_an_unknown_command_keeps_its_link_closed() {
    let mut bench = Bench::new();
    let stranger = fixture::vehicle("V1");
    bench.vehicle(&stranger).command = Some(fixture::command_id("T-Z9.0"));
    bench.run(Millis::seconds(10));
    assert!(bench.links_opened.iter().all(|it| it.vehicle != stranger));
    assert_eq!(bench.standing(), [AlarmKind::RecordsDisagree]);
    assert!(bench.alarms.values().all(|it| it.detail.contains("T-Z9.0")), "{:?}", bench.alarms);
    bench.vehicle(&stranger).command = None;
    bench.run(Millis::seconds(3));
    assert!(bench.links_opened.iter().any(|it| it.vehicle == stranger));
    assert_eq!(bench.standing(), []);
}

#[test]
fn a_vehicle_that_lost_what_it_had_begun_moves_no_more() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    bench.vehicle(&pick.vehicle).command = None;
    bench.run(Millis::seconds(120));
    assert_eq!(bench.standing(), [AlarmKind::RecordsDisagree]);
    assert_eq!(bench.tasks[&task].knowledge, Knowledge::Contradicted);
    assert!(bench.sent.is_empty());
}

#[test]
fn a_vehicle_that_left_the_broker_has_to_be_steady_again() {
    let mut bench = Bench::ready();
    for vehicle in ["V1", "V2"].map(fixture::vehicle) {
        bench.handle(Event::Presence { vehicle, online: false });
    }
    bench.place("A1", "A2");
    assert!(bench.sent.is_empty());
    bench.command();
}

/// A node starts, and the broker has the vehicle as online from before.
#[test]
fn what_a_broker_retained_proves_nothing() {
    let rows =
        [(Safeguards::ALL, Hearing::Never), (Safeguards::all_but(Safeguard::ProvenLive), Hearing::Heard)];
    for (safeguards, hearing) in rows {
        let mut bench = Bench::with_one_vehicle();
        bench.control.safeguards = safeguards;
        let vehicle = fixture::vehicle("V2");
        bench.handle(Event::Presence { vehicle: vehicle.clone(), online: true });
        assert_eq!(bench.vehicles[&vehicle].hearing, hearing);
    }
}
