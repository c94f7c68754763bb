//! A node that was killed goes on from the ledger, and does nothing twice.

use super::*;
use crate::ids::Generation;

#[test]
fn each_run_has_its_number_and_decides_nothing_before_it_is_durable() {
    let mut bench = Bench::with(fixture::plant());
    bench.ledger = Ledger::Holds;
    bench.start();
    bench.run(Millis::seconds(3));
    assert_eq!(bench.held.len(), 1, "only the start is proposed: {:?}", bench.held);
    bench.let_go();
    bench.restart();
    let runs: Vec<u64> = bench
        .entries
        .iter()
        .filter_map(|it| if let Record::NodeStarted { run, .. } = it.record { Some(run) } else { None })
        .collect();
    assert_eq!(runs, [1, 2]);
}

#[test]
fn a_start_that_could_not_be_stored_is_proposed_again() {
    let mut bench = Bench::with(fixture::plant());
    bench.ledger = Ledger::Fails;
    bench.start();
    bench.run(Millis::seconds(5));
    assert!(bench.entries.is_empty());
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(3));
    assert!(matches!(bench.entries[0].record, Record::NodeStarted { run: 1, .. }));
}

/// Nodes of two sites begin an empty ledger at once: the start rests on that it is empty, and who was second stays out.
#[test]
fn a_node_begins_no_run_in_the_ledger_of_another_site() {
    let mut bench = Bench::with(fixture::plant());
    bench.ledger = Ledger::Fails;
    bench.start();
    assert_eq!(bench.control.foreign_site(), None);
    let other = crate::ids::SiteId::try_new("elsewhere").expect("a name");
    let entry = Entry {
        sequence: crate::ids::LedgerSequence(1),
        at: at(0).wall,
        node: fixture::node("B"),
        drill: false,
        record: Record::NodeStarted { run: 1, site: other.clone() },
    };
    bench.handle(Event::Followed { entries: vec![entry] });
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(5));
    assert_eq!(bench.control.foreign_site(), Some(&other));
    assert!(bench.entries.is_empty(), "{:?}", bench.entries);
}

#[test]
fn the_restored_book_is_the_one_that_was_lost() {
    let mut bench = Bench::ready();
    bench.place("A1", "A2");
    bench.carry_out();
    bench.carry_out();
    bench.run(Millis::seconds(5));
    let before = bench.control.book().clone();
    let mut again = Control::new(NodeConfig { node: fixture::node("A"), drill: false }, fixture::plant());
    for entry in &bench.entries {
        again.restore(entry).expect("the ledger fits");
    }
    assert_eq!(again.book(), &before);
}

#[test]
fn an_issued_command_is_delivered_again_as_it_was() {
    let mut bench = Bench::with_one_vehicle();
    bench.place("A1", "A2");
    let first = bench.command();
    // The node was away for long, so the vehicle takes nothing new until its link is opened again.
    bench.ms += 10_000;
    bench.vehicle(&first.vehicle).link_open = false;
    bench.restart();
    bench.run(Millis(900));
    assert!(bench.sent.is_empty(), "not before the link is open");
    let again = bench.command();
    assert_eq!(again.link, Generation(2));
    // The new run claims the task anew, so that whatever the old one may still say is refused.
    assert_eq!(again, VehicleCommand { link: Generation(2), claim: Generation(2), ..first });
    bench.run(Millis::seconds(5));
    assert!(bench.sent.is_empty(), "once");
}

#[test]
fn what_happened_meanwhile_is_taken_from_the_vehicle() {
    // What the vehicle did while the node was away, and the step of the next command to it.
    for (finished, next) in [(false, None), (true, Some(1))] {
        let mut bench = Bench::with_one_vehicle();
        let task = bench.place("A1", "A2");
        let first = bench.command();
        bench.take_unheard(&first);
        if finished {
            bench.finish_unheard(&first);
        }
        bench.vehicle(&first.vehicle).link_open = false;
        bench.restart();
        bench.run(Millis::seconds(5));
        assert_eq!(bench.sent.pop_front().map(|it| it.step), next, "finished: {finished}");
        let done = bench.control.book().tasks[&task].done.is_some();
        assert_eq!(done, finished);
        assert_eq!(bench.differences(), usize::from(finished));
    }
}

#[test]
fn a_vehicle_that_is_not_heard_after_a_restart_suspends_its_task_and_alarms() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let first = bench.command();
    bench.take(&first);
    bench.silent.insert(first.vehicle);
    bench.restart();
    bench.run(Millis::seconds(10));
    assert_eq!(bench.state(&task).name(), "suspended");
    assert_eq!(bench.standing(), [AlarmKind::VehicleSilent]);
}

#[test]
fn a_gateway_that_is_not_heard_after_a_restart_alarms() {
    let mut bench = Bench::ready();
    bench.gateway_speaks = false;
    bench.restart();
    bench.run(Millis::seconds(5));
    assert_eq!(bench.standing(), [AlarmKind::GatewaySilent]);
    bench.gateway_speaks = true;
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), []);
}

#[test]
fn a_ledger_that_does_not_fit_is_refused() {
    let mut bench = Bench::ready();
    let task = fixture::task("T-Z9");
    let records = vec![Record::TaskClaimed { task, generation: Generation(1) }];
    let entry = bench.store(records).remove(0);
    let mut control = Control::new(NodeConfig { node: fixture::node("A"), drill: false }, fixture::plant());
    assert_eq!(control.restore(&entry), Err("there is no task T-Z9".to_owned()));
}

#[test]
fn a_ledger_of_another_site_is_refused() {
    let mut bench = Bench::with(fixture::plant());
    bench.start();
    bench.run(Millis::seconds(1));
    let mut plant = fixture::plant();
    plant.site = crate::ids::SiteId::try_new("elsewhere").expect("a name");
    let mut other = Bench::with(plant);
    other.start();
    other.run(Millis::seconds(1));
    let mut again = Control::new(NodeConfig { node: fixture::node("A"), drill: false }, fixture::plant());
    again.restore(&bench.entries[0]).expect("its own site");
    let refusal = again.restore(&other.entries[0]).expect_err("another site");
    assert!(refusal.contains("elsewhere"), "{refusal}");
}

/// Nothing is asked of the ledger while nothing happens, so the node must not wait for an answer to call it writable.
#[test]
fn an_idle_node_calls_the_ledger_writable_again() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Fails;
    let answer = bench.ask(order("A1", "A2"), "key-of-a-bad-moment").expect("an answer");
    assert!(answer.is_err(), "{answer:?}");
    assert!(!bench.node.as_ref().expect("the node is shown").ledger_writable);
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(3));
    assert!(bench.node.as_ref().expect("the node is shown").ledger_writable);
}
