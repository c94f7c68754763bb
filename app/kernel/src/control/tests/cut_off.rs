//! A node that the broker does not reach, and the ledger does: it leaves its share to the others.

use super::house::House;
use super::*;
use crate::alarm::Subject;
use crate::ids::Generation;

/// C16: the tasks of a node that cannot drive them go on within so long.
const HANDOVER_MAX: Millis = Millis::seconds(10);

impl House {
    /// Two nodes that hear the broker, and an order for each.
    fn with_two_orders() -> Self {
        let mut house = Self::ready(&["A", "B"], 4);
        house.reach(0, true);
        house.reach(1, true);
        house.run(Millis::seconds(2));
        house.ask(0, order("A1", "A2"), "key-0");
        house.ask(1, order("A1", "A2"), "key-1");
        house.run(Millis::seconds(1));
        assert_eq!(house.claimed(), [("A".to_owned(), 1), ("B".to_owned(), 1)]);
        house
    }

    /// By whom tasks were claimed, and under which generation, in order.
    fn claimed(&self) -> Vec<(String, u64)> {
        self.found(|it| {
            if let Record::TaskClaimed { generation: Generation(n), .. } = it { Some(*n) } else { None }
        })
    }

    fn hears(&self, viewer: usize) -> Vec<Option<bool>> {
        self.nodes[viewer].shown.iter().map(|it| it.hears_broker).collect()
    }
}

/// Each row: whom the broker does not reach, for how long, and who has both tasks in the end, if it is one node.
#[test]
fn who_is_cut_off_from_the_broker_hands_its_tasks_over() {
    let rows: [(&str, &[usize], Millis, Option<&str>); 5] = [
        ("A, who is first by name", &[0], HANDOVER_MAX, Some("B")),
        ("B", &[1], HANDOVER_MAX, Some("A")),
        ("A, for a moment", &[0], Millis::seconds(2), None),
        ("everybody: nobody could do better", &[0, 1], HANDOVER_MAX, None),
        ("nobody", &[], HANDOVER_MAX, None),
    ];
    for (name, cut_off, span, heir) in rows {
        let mut house = House::with_two_orders();
        for idx in cut_off {
            house.reach(*idx, false);
        }
        house.run(span);
        let claims = house.claimed();
        let expected: Vec<_> = heir.map(|it| (it.to_owned(), 2)).into_iter().collect();
        assert_eq!(claims[2..], expected, "{name}");
        let lost = house.found(|it| matches!(it, Record::NodeLost { .. }).then_some(()));
        assert_eq!(lost, [], "{name}: it lives");
        for idx in cut_off {
            house.reach(*idx, true);
        }
        house.run(HANDOVER_MAX);
        assert_eq!(house.claimed().len(), claims.len(), "{name}: what is claimed stays where it is");
    }
}

/// A is told of the order, B drives it, and A drives again when it is reached again.
#[test]
fn who_is_cut_off_takes_orders_and_drives_none_until_it_is_reached_again() {
    let mut house = House::with_two_orders();
    house.reach(0, false);
    house.run(HANDOVER_MAX);
    house.nodes[0].sent.clear();
    let request = house.ask(0, order("A1", "A2"), "meanwhile");
    house.run(Millis::seconds(1));
    assert!(house.nodes[0].answers.get(&request).is_some_and(Result::is_ok));
    assert_eq!(house.claimed()[3..], [("B".to_owned(), 1)]);
    assert!(house.nodes[0].sent.is_empty(), "{:?}", house.nodes[0].sent);
    house.reach(0, true);
    house.run(Millis::seconds(2));
    house.ask(1, order("A1", "A2"), "afterwards");
    house.run(Millis::seconds(1));
    assert_eq!(house.claimed()[4..], [("A".to_owned(), 1)]);
}

/// A holds or awaits a lease when the broker does not reach it any more.
#[test]
fn who_is_cut_off_gives_its_lifts_back() {
    let mut house = House::ready(&["A", "B"], 1);
    house.reach(0, true);
    house.reach(1, true);
    house.ask(0, order("A1", "A2"), "key");
    house.run(Millis::seconds(1));
    while house.nodes[0].leases.is_empty() {
        house.gateway_speaks = false;
        if let Some(command) = house.nodes[0].sent.pop() {
            house.carry_out(&command);
        }
        house.run(Millis(100));
        house.gateway_speaks = true;
        house.run(Millis(200));
        assert!(house.ms < 60_000, "A never asks for the lift");
    }
    house.reach(0, false);
    house.run(HANDOVER_MAX);
    assert_eq!(house.nodes[0].leases.last(), Some(&"release"), "{:?}", house.nodes[0].leases);
    assert_eq!(house.claimed().last(), Some(&("B".to_owned(), 2)));
}

#[test]
fn the_next_by_name_is_steward_while_the_first_is_cut_off() {
    let mut house = House::with_two_orders();
    house.reach(0, false);
    house.run(HANDOVER_MAX);
    house.silent.insert(fixture::vehicle("V4"));
    house.run(Millis::seconds(10));
    let subject = Subject::Vehicle(fixture::vehicle("V4"));
    let raised = house
        .found(|it| if let Record::AlarmRaised { alarm } = it { Some(alarm.subject.clone()) } else { None });
    assert!(raised.contains(&("B".to_owned(), subject)), "{raised:?}");
}

#[test]
fn every_node_shows_whom_the_broker_does_not_reach() {
    let mut house = House::with_two_orders();
    assert_eq!([house.hears(0), house.hears(1)], [[Some(true); 2]; 2]);
    house.reach(0, false);
    house.run(Millis::seconds(2));
    assert_eq!([house.hears(0), house.hears(1)], [[Some(false), Some(true)]; 2]);
}
