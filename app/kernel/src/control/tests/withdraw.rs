//! Taking an order back, in every state of its task.

use super::*;
use crate::wire::vehicle::Operation;

impl Bench {
    /// Takes back the order of a task, and waits for the answer.
    pub(super) fn withdraw(&mut self, task: &TaskId) -> Result<TakenBack, WithdrawalRefusal> {
        let order = self.control.book().tasks[task].order.id.clone();
        self.withdraw_order(order)
    }

    fn withdraw_order(&mut self, order: crate::ids::OrderId) -> Result<TakenBack, WithdrawalRefusal> {
        self.requests += 1;
        let request = RequestId(self.requests);
        self.handle(Event::WithdrawRequested { request, order });
        assert!(self.until(Millis::seconds(6), |it| it.withdrawn.contains_key(&request)), "no answer");
        self.withdrawn[&request].clone()
    }

    fn refused_as_on_its_way(&mut self, task: &TaskId) {
        let order = self.control.book().tasks[task].order.id.clone();
        assert_eq!(self.withdraw(task), Err(WithdrawalRefusal::LoadOnItsWay(order)));
        assert!(!self.state(task).is_terminal());
    }
}

/// V1 on its way to a load on the other floor.
pub(super) fn fetching() -> (Bench, TaskId) {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A2", "A1");
    (bench, task)
}

#[test]
fn an_order_that_waits_for_a_vehicle_is_taken_back_at_once_and_told_so_again() {
    let mut bench = Bench::new();
    bench.silent.extend([fixture::vehicle("V1"), fixture::vehicle("V2")]);
    bench.run(Millis::seconds(2));
    let task = bench.place("A1", "A2");
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Withdrawn(task.clone())));
    assert_eq!(bench.state(&task).name(), "withdrawn");
    let n_entries = bench.entries.len();
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Withdrawn(task)), "again");
    assert_eq!(bench.entries.len(), n_entries, "and nothing more is recorded");
}

#[test]
fn a_vehicle_on_its_way_to_the_load_finishes_what_it_was_told_and_is_free() {
    let (mut bench, task) = fetching();
    let approach = bench.command();
    assert!(
        matches!(&approach.instruction, Instruction::Drive { then: Operation::Stand, .. }),
        "{approach:?}"
    );
    bench.take(&approach);
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Withdrawn(task.clone())));
    bench.run(Millis::seconds(3));
    assert!(bench.sent.is_empty() && bench.alarms.is_empty(), "{:?} {:?}", bench.sent, bench.alarms);
    let next = bench.place("A1", "A2");
    bench.run(Millis::seconds(2));
    assert!(bench.sent.is_empty(), "it is still at work");
    bench.finish(&approach);
    let command = bench.command();
    assert_eq!(command.task, Some(next));
    assert_eq!(bench.state(&task).name(), "withdrawn");
}

#[test]
fn a_place_in_the_line_before_a_lift_is_given_up_at_once() {
    let (mut bench, task) = fetching();
    bench.status.occupied = true;
    // So that the node has heard of it.
    bench.run(Millis(300));
    bench.carry_out();
    let queued = bench.until(Millis::seconds(2), |it| it.phase() == Some(SessionPhase::Queued));
    assert!(queued, "{:?} {:?}", bench.phase(), bench.entries.iter().rev().take(4).collect::<Vec<_>>());
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Withdrawn(task)));
    assert_eq!(bench.phase(), None);
}

#[test]
fn a_lift_that_was_granted_goes_to_the_next() {
    let (mut bench, task) = fetching();
    bench.carry_out();
    assert!(bench.until(Millis::seconds(2), |it| it.phase() == Some(SessionPhase::Granted)));
    assert_eq!(bench.withdraw(&task), Ok(TakenBack::Withdrawn(task)));
    assert!(bench.until(Millis::seconds(3), |it| it.phase().is_none()), "{:?}", bench.phase());
}

#[test]
fn a_load_that_is_aboard_or_about_to_be_is_not_taken_back() {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.refused_as_on_its_way(&task);
    bench.take(&pick);
    bench.refused_as_on_its_way(&task);
    bench.finish(&pick);
    bench.refused_as_on_its_way(&task);
    bench.carry_out();
    assert_eq!(bench.obey(), "OpenDoor F1");
    let ride = bench.command();
    bench.take(&ride);
    bench.refused_as_on_its_way(&task);
}

#[test]
fn what_is_over_or_unknown_is_not_taken_back() {
    let mut bench = Bench::with_one_vehicle();
    let order = crate::ids::OrderId::try_new("O-Z9").unwrap();
    assert_eq!(bench.withdraw_order(order.clone()), Err(WithdrawalRefusal::Unknown(order)));
    let task = bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    bench.report(&pick, Progress::Failed { reason: "the fork is bent".to_owned() });
    let order = bench.control.book().tasks[&task].order.id.clone();
    assert_eq!(bench.withdraw(&task), Err(WithdrawalRefusal::Over { order, state: "failed" }));
}

#[test]
fn without_the_ledger_nothing_is_taken_back() {
    let (mut bench, task) = fetching();
    bench.ledger = Ledger::Fails;
    let refused = bench.withdraw(&task);
    assert!(matches!(refused, Err(WithdrawalRefusal::LedgerUnavailable(_))), "{refused:?}");
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(3));
    assert!(!bench.state(&task).is_terminal(), "and not later either");
}

/// A commit that takes long may still be made, and so may one that a node leaves behind: nobody is told that the order
/// stands.
#[test]
fn a_withdrawal_whose_commit_is_under_way_is_not_refused() {
    for stops in [false, true] {
        let (mut bench, task) = fetching();
        bench.ledger = Ledger::Holds;
        bench.requests += 1;
        let request = RequestId(bench.requests);
        let order = bench.control.book().tasks[&task].order.id.clone();
        bench.handle(Event::WithdrawRequested { request, order });
        if stops {
            bench.handle(Event::StopRequested);
        }
        bench.run(Millis::seconds(30));
        assert_eq!(bench.withdrawn.get(&request), None, "stops: {stops}");
        assert!(!bench.left, "stops: {stops}");
        bench.let_go();
        bench.run(Millis::seconds(1));
        assert_eq!(bench.withdrawn.get(&request), Some(&Ok(TakenBack::Withdrawn(task))), "stops: {stops}");
        assert_eq!(bench.left, stops);
    }
}

/// What is not on its way yet when a node leaves is for another one.
#[test]
fn a_node_that_leaves_takes_nothing_back_any_more() {
    let (mut bench, task) = fetching();
    bench.handle(Event::StopRequested);
    let refused = bench.withdraw(&task);
    assert!(matches!(refused, Err(WithdrawalRefusal::LedgerUnavailable(_))), "{refused:?}");
    assert!(!bench.state(&task).is_terminal());
}

/// The node that has the task decides at the same moment: one of the two is refused by the ledger.
#[test]
fn whoever_has_the_task_cannot_send_it_on_meanwhile() {
    let (mut bench, task) = fetching();
    bench.ledger = Ledger::Holds;
    let claim = bench.control.book().tasks[&task].claim;
    bench.requests += 1;
    let order = bench.control.book().tasks[&task].order.id.clone();
    bench.handle(Event::WithdrawRequested { request: RequestId(bench.requests), order });
    bench.run(Millis(300));
    bench.let_go();
    bench.run(Millis(300));
    let mut claims = bench.entries.iter().filter_map(|it| match &it.record {
        Record::TaskClaimed { task: claimed, generation } if *claimed == task => Some(*generation),
        Record::NodeStarted { .. }
        | Record::NodeStopped { .. }
        | Record::NodeLost { .. }
        | Record::OrderPlaced { .. }
        | Record::TaskClaimed { .. }
        | Record::VehicleAssigned { .. }
        | Record::CommandIssued { .. }
        | Record::WithdrawalAsked { .. }
        | Record::TaskChanged { .. }
        | Record::LinkOpened { .. }
        | Record::SessionRequested { .. }
        | Record::SessionChanged { .. }
        | Record::AlarmRaised { .. }
        | Record::AlarmCleared { .. }
        | Record::DifferenceFound { .. }
        | Record::ArbitrationChanged { .. }
        | Record::LeaseStoreChanged { .. }
        | Record::ForeignMoved { .. }
        | Record::EdgeDecided { .. }
        | Record::DrillStarted { .. }
        | Record::DrillEnded { .. } => None,
    });
    assert!(claims.next_back().is_some_and(|it| it > claim), "the claim rose with it");
}

/// Another node has told the vehicle to take the load up, or has put it into a lift's line, and this one has not
/// followed that yet.
#[test]
fn who_does_not_know_the_last_command_takes_nothing_back() {
    for in_line in [false, true] {
        let (mut bench, task) = fetching();
        let mut command = bench.command();
        command.id = fixture::command_id("T-A1.7");
        let record = if in_line {
            Record::SessionRequested {
                session: crate::ids::SessionId::try_new("S-A1.7").unwrap(),
                lift: fixture::lift("L1"),
                task: task.clone(),
                vehicle: command.vehicle,
                from: fixture::floor("F1"),
                to: fixture::floor("F2"),
            }
        } else {
            Record::CommandIssued { command }
        };
        bench.rows.apply(&fixture::node("B"), &record);
        let refused = bench.withdraw(&task);
        assert!(matches!(refused, Err(WithdrawalRefusal::LedgerUnavailable(_))), "{refused:?}");
        assert!(!bench.state(&task).is_terminal());
    }
}
