//! When no acknowledgement comes: suspended, delivered again, at last a person.

use super::*;
use crate::task::{ResumePoint, SuspendCause};
use crate::timing::{DELIVERIES_MAX, redelivery_wait};

/// A bench whose first command never arrives, and when it left.
fn unheard() -> (Bench, TaskId, VehicleCommand, u64) {
    let mut bench = Bench::with_one_vehicle();
    let task = bench.place("A1", "A2");
    let first = bench.command();
    let left = bench.ms;
    (bench, task, first, left)
}

#[test]
fn a_missed_acknowledgement_suspends_the_task_after_the_budget() {
    let (mut bench, task, first, _) = unheard();
    let budget = bench.plant.link_budget.ack_deadline();
    bench.run(Millis(budget.0 - 500));
    assert_eq!(bench.state(&task).name(), "issued");
    assert!(bench.until(Millis::seconds(1), |it| it.state(&task).name() == "suspended"));
    let resume = ResumePoint::Command { command: first.id, attempt: 1 };
    assert_eq!(bench.state(&task), TaskState::Suspended { cause: SuspendCause::Link, resume });
    let due = bench.tasks[&task].next_delivery_at.expect("the next delivery is announced");
    assert_eq!((due - at(bench.ms).wall).num_milliseconds(), 1000);
}

#[test]
fn redelivery_waits_longer_each_time_and_then_asks_a_person() {
    let (mut bench, task, first, left) = unheard();
    let window = bench.plant.link_budget.transport_ms.times(2).0;
    let mut before = left;
    for attempt in 1..DELIVERIES_MAX {
        let missed = if attempt == 1 { bench.plant.link_budget.ack_deadline().0 } else { window };
        let expected = missed + redelivery_wait(attempt).0;
        assert!(bench.until(Millis::seconds(60), |it| !it.sent.is_empty()), "after delivery {attempt}");
        let again = bench.sent.pop_front().expect("a delivery");
        assert_eq!(again, first, "the same id, sequence and link");
        let waited = bench.ms - before;
        assert!((expected..expected + 1000).contains(&waited), "after delivery {attempt}: {waited} ms");
        before = bench.ms;
    }
    assert_eq!(bench.state(&task), TaskState::Issued { command: first.id.clone(), attempt: DELIVERIES_MAX });
    bench.run(Millis::seconds(60));
    assert!(bench.sent.is_empty());
    let resume = ResumePoint::Command { command: first.id.clone(), attempt: DELIVERIES_MAX };
    assert_eq!(bench.state(&task), TaskState::Suspended { cause: SuspendCause::Person, resume });
    assert_eq!(bench.standing(), [AlarmKind::AcknowledgementMissing]);
    // It arrived after all.
    bench.take(&first);
    bench.run(Millis::seconds(2));
    assert_eq!(bench.state(&task), TaskState::Executing { command: first.id });
    assert_eq!(bench.standing(), []);
}

#[test]
fn deliveries_are_counted_only_while_the_vehicle_is_heard() {
    let (mut bench, task, first, _) = unheard();
    bench.silent.insert(first.vehicle.clone());
    bench.run(Millis::seconds(500));
    assert!(bench.sent.is_empty());
    let resume = ResumePoint::Command { command: first.id.clone(), attempt: 1 };
    assert_eq!(bench.state(&task), TaskState::Suspended { cause: SuspendCause::Link, resume });
    bench.silent.remove(&first.vehicle);
    let again = bench.command();
    assert_eq!((&again.id, again.sequence), (&first.id, first.sequence));
}

#[test]
fn a_command_that_the_vehicle_holds_after_all_is_not_delivered_again() {
    for asked_person in [false, true] {
        let (mut bench, task, first, _) = unheard();
        let cause = if asked_person { "person" } else { "link" };
        let so = |it: &Bench| {
            let TaskState::Suspended { cause, .. } = it.state(&task) else { return false };
            (cause == SuspendCause::Person) == asked_person
        };
        assert!(bench.until(Millis::seconds(400), so), "{cause}");
        bench.sent.clear();
        bench.take_unheard(&first);
        bench.run(Millis::seconds(90));
        assert_eq!(bench.state(&task), TaskState::Executing { command: first.id }, "{cause}");
        assert!(bench.sent.is_empty(), "{cause}");
    }
}

#[test]
fn what_is_remembered_of_deliveries_ends_with_the_task() {
    let mut bench = Bench::ready();
    bench.place("A1", "A2");
    let pick = bench.command();
    bench.take(&pick);
    assert_eq!(bench.control.deliveries.len(), 1);
    bench.report(&pick, Progress::Failed { reason: "fork jammed".to_owned() });
    bench.run(Millis::seconds(1));
    assert_eq!(bench.control.deliveries.len(), 0);
}
