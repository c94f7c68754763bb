//! Orders: refused with a reason, or durable before they are answered, and once per key.

use super::super::orders::OPEN_ORDERS_MAX;
use super::*;
use crate::fixture::station;
use crate::wire::rest::TransportOrder;

#[test]
fn each_refusal_has_its_reason() {
    use OrderRefusal as R;
    let reference = |n: usize| PlaceOrder { reference: Some("参".repeat(n)), ..order("A1", "A2") };
    let rows: [(&str, PlaceOrder, Option<OrderRefusal>); 8] = [
        ("nothing wrong", order("A1", "A2"), None),
        ("highest priority", PlaceOrder { priority: 9, ..order("A1", "A2") }, None),
        ("longest reference", reference(64), None),
        ("unknown start", order("A9", "A2"), Some(R::UnknownStation(station("A9")))),
        ("unknown target", order("A1", "A9"), Some(R::UnknownStation(station("A9")))),
        ("nothing to carry", order("A1", "A1"), Some(R::SameStation(station("A1")))),
        ("priority", PlaceOrder { priority: 10, ..order("A1", "A2") }, Some(R::PriorityTooHigh(10))),
        ("reference", reference(65), Some(R::ReferenceTooLong(65))),
    ];
    for (name, order, expected) in rows {
        let mut bench = Bench::ready();
        let answer = bench.ask(order, "key").expect("an answer");
        assert_eq!(answer.err(), expected, "{name}");
        assert_eq!(bench.control.book().tasks.len(), usize::from(expected.is_none()), "{name}");
    }
}

#[test]
fn a_station_that_no_vehicle_reaches_is_refused() {
    let mut plant = fixture::plant();
    plant.lifts.clear();
    let mut bench = Bench::with(plant);
    bench.start();
    let answer = bench.ask(order("A1", "A2"), "key").expect("an answer");
    assert_eq!(answer, Err(OrderRefusal::Unreachable(station("A1"), station("A2"))));
}

#[test]
fn more_open_orders_than_are_kept_are_refused() {
    let mut bench = Bench::new();
    for number in 0..OPEN_ORDERS_MAX {
        let records = vec![Record::OrderPlaced {
            order: TransportOrder::of(number),
            task: fixture::task(&format!("T-Z{number}")),
            idempotency_key: format!("z{number}"),
            fingerprint: String::new(),
        }];
        for entry in bench.store(records) {
            bench.control.restore(&entry).expect("it fits");
        }
    }
    let answer = bench.ask(order("A1", "A2"), "key").expect("an answer");
    assert_eq!(answer, Err(OrderRefusal::TooMany(OPEN_ORDERS_MAX)));
}

impl TransportOrder {
    fn of(number: usize) -> Self {
        Self {
            id: fixture::order(&format!("O-Z{number}")),
            from: station("A1"),
            to: station("A2"),
            priority: 0,
            deadline: None,
            reference: None,
        }
    }
}

#[test]
fn an_order_is_answered_only_when_it_is_durable() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Holds;
    assert_eq!(bench.ask(order("A1", "A2"), "key"), None);
    bench.run(Millis::seconds(5));
    assert!(bench.answers.is_empty() && bench.sent.is_empty());
    bench.let_go();
    let answer = bench.answers[&RequestId(1)].clone().expect("it is accepted");
    assert!(!answer.repeated && bench.control.book().tasks.contains_key(&answer.task));
}

#[test]
fn a_repeat_gets_the_first_answer_and_another_body_is_refused() {
    let mut bench = Bench::ready();
    let first = bench.ask(order("A1", "A2"), "key").expect("an answer").expect("accepted");
    let again = bench.ask(order("A1", "A2"), "key").expect("an answer").expect("accepted");
    assert_eq!(again, Accepted { repeated: true, ..first.clone() });
    let other = bench.ask(order("A2", "A1"), "key").expect("an answer");
    assert_eq!(other, Err(OrderRefusal::KeyReused(first.order.clone())));
    assert_eq!(bench.control.book().tasks.len(), 1);
    bench.restart();
    let later = bench.ask(order("A1", "A2"), "key").expect("an answer").expect("accepted");
    assert_eq!(later, Accepted { repeated: true, ..first.clone() }, "after a restart too");
    let other = bench.ask(order("A2", "A1"), "key").expect("an answer");
    assert_eq!(other, Err(OrderRefusal::KeyReused(first.order)));
}

#[test]
fn a_repeat_of_an_order_on_its_way_waits_for_the_same_answer() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Holds;
    assert_eq!(bench.ask(order("A1", "A2"), "key"), None);
    assert_eq!(bench.ask(order("A1", "A2"), "key"), None);
    let other = bench.ask(order("A2", "A1"), "key").expect("an answer");
    assert!(matches!(other, Err(OrderRefusal::KeyReused(_))));
    bench.let_go();
    let first = bench.answers[&RequestId(1)].clone().expect("accepted");
    let second = bench.answers[&RequestId(2)].clone().expect("accepted");
    assert_eq!(second, Accepted { repeated: true, ..first });
    assert_eq!(bench.control.book().tasks.len(), 1);
}

#[test]
fn an_order_that_cannot_be_stored_is_refused_and_forgotten() {
    let mut bench = Bench::ready();
    bench.ledger = Ledger::Fails;
    let answer = bench.ask(order("A1", "A2"), "key").expect("an answer");
    assert_eq!(answer, Err(OrderRefusal::LedgerUnavailable("the disk is full".to_owned())));
    assert!(bench.control.book().tasks.is_empty());
    assert!(bench.node.as_ref().is_some_and(|it| !it.ledger_writable));
    let soon = bench.ask(order("A1", "A2"), "key").expect("an answer");
    assert!(matches!(soon, Err(OrderRefusal::LedgerUnavailable(_))), "the ledger is left alone for a second");
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(2));
    let later = bench.ask(order("A1", "A2"), "key").expect("an answer").expect("accepted");
    assert!(!later.repeated, "nothing was kept of the refused one");
    assert!(bench.node.as_ref().is_some_and(|it| it.ledger_writable));
}

/// A number that was lost with a failed proposal must not make a later run give one twice.
#[test]
fn no_name_is_given_twice_over_failures_and_restarts() {
    let mut bench = Bench::ready();
    let mut names = vec![bench.place("A1", "A2")];
    bench.ledger = Ledger::Fails;
    assert!(bench.ask(order("A1", "A2"), "lost").is_some_and(|it| it.is_err()));
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(2));
    names.push(bench.place("A1", "A2"));
    for _ in 0..3 {
        bench.restart();
        names.push(bench.place("A1", "A2"));
    }
    let unique: BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
    assert_eq!(bench.control.book().tasks.len(), names.len());
}
