//! Several nodes on one ledger: whose task is whose, who is gone, and what becomes of one that comes back.

use super::house::{House, Power, done};
use super::*;
use crate::alarm::Subject;
use crate::ids::Generation;
use crate::ledger::{Row, running};
use crate::safeguard::Safeguard;
use crate::timing::PEER_LOST_AFTER;
use crate::wire::view::NodeStanding;

/// C16: a dead node's tasks go on within so long.
const TAKEOVER_MAX: Millis = Millis::seconds(10);
/// A graceful stop hands over in less.
const HANDOVER_MAX: Millis = Millis::seconds(1);

impl House {
    /// Claims by generation: by whom, and of which task.
    fn claims(&self, wanted: u64) -> Vec<(String, String)> {
        self.found(|it| {
            if let Record::TaskClaimed { task, generation: Generation(n) } = it
                && *n == wanted
            {
                Some(task.to_string())
            } else {
                None
            }
        })
    }

    fn lost(&self) -> Vec<(String, (String, u64))> {
        self.found(|it| {
            if let Record::NodeLost { node, run } = it { Some((node.to_string(), *run)) } else { None }
        })
    }

    /// So many orders on one floor, each with a node of its own by turns.
    fn place(&mut self, orders: usize) {
        for n in 0..orders {
            self.ask(n % self.nodes.len(), order("A1", "A2"), &format!("key-{n}"));
        }
        self.run(Millis::seconds(1));
    }

    fn answer(&self, idx: usize, request: RequestId) -> Result<Accepted, OrderRefusal> {
        self.nodes[idx].answers.get(&request).cloned().expect("an answer")
    }

    /// Two nodes, the first of which has sent a task's first command.
    fn with_a_command() -> (Self, VehicleCommand) {
        let mut house = Self::ready(&["A", "B"], 1);
        house.place(1);
        let command = house.nodes[0].sent.pop().expect("A drives the task");
        (house, command)
    }
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn tasks_are_spread_evenly() {
    let rows: [(&[&str], usize, &[usize]); 4] = [
        (&["A"], 4, &[4]),
        (&["A", "B"], 4, &[2, 2]),
        (&["A", "B"], 5, &[3, 2]),
        (&["A", "B", "C"], 6, &[2, 2, 2]),
    ];
    for (nodes, orders, expected) in rows {
        let mut house = House::ready(nodes, 6);
        house.place(orders);
        let claims = house.claims(1);
        let counts: Vec<usize> =
            nodes.iter().map(|node| claims.iter().filter(|(by, _)| by == node).count()).collect();
        assert_eq!(counts, expected, "{nodes:?}: {claims:?}");
        let commands: Vec<usize> = house.nodes.iter().map(|it| it.sent.len()).collect();
        assert_eq!(commands, expected, "each drives its own");
    }
}

/// Four tasks of A, and two survivors.
#[test]
fn the_tasks_of_a_dead_node_are_shared_out_in_time_the_oldest_first() {
    let rows = [(Safeguards::ALL, true), (Safeguards::all_but(Safeguard::Takeover), false)];
    for (safeguards, taken_over) in rows {
        let mut house = House::under(safeguards, &["A"], 4);
        house.place(4);
        house.join("B");
        house.join("C");
        house.run(Millis::seconds(3));
        assert_eq!(house.claims(1).len(), 4);
        house.nodes[0].power = Power::Off;
        house.run(Millis(PEER_LOST_AFTER.0 - 1000));
        assert_eq!(house.claims(2), [], "not before it may be gone");
        house.run(Millis(TAKEOVER_MAX.0 - PEER_LOST_AFTER.0));
        let expected = pairs(&[("B", "T-A1"), ("B", "T-A3"), ("C", "T-A2"), ("C", "T-A4")]);
        assert_eq!(house.claims(2) == expected, taken_over, "{:?}", house.claims(2));
        assert_eq!(house.lost().len(), usize::from(taken_over), "by one of them");
        assert_eq!(house.nodes[1].sent.len(), if taken_over { 2 } else { 0 }, "under the new claim");
    }
}

/// A sleeps in the middle of a task. What it proposes when it wakes rests on a run that is over.
#[test]
fn a_node_that_woke_up_is_refused_and_begins_anew() {
    for conditional in [true, false] {
        let (mut house, command) = House::with_a_command();
        house.nodes[0].power = Power::Asleep;
        house.run(Millis::seconds(12));
        assert_eq!(house.lost(), [("B".to_owned(), ("A".to_owned(), 1))]);
        let claimed = Record::TaskClaimed { task: fixture::task("T-A1"), generation: Generation(2) };
        assert!(house.entries().any(|it| it.record == claimed && it.node.as_str() == "B"));
        let again = house.nodes[1].sent.pop().expect("B delivers it again");
        assert_eq!((&again.id, again.claim), (&command.id, Generation(2)));
        house.carry_out(&again);
        house.run(Millis::seconds(1));
        let next = house.nodes[1].sent.pop().expect("B goes on");
        // A wakes, and hears of the first command before it hears of anything else.
        house.conditional = conditional;
        (house.nodes[0].power, house.nodes[0].conflicts) = (Power::On, Vec::new());
        let n_entries = house.entries().count();
        house.handle(0, Event::Reported(done(&command)));
        let words: Vec<_> = house.entries().skip(n_entries).map(|it| &it.record).collect();
        assert_eq!(words.is_empty(), conditional, "what it says as if its run counted: {words:?}");
        let refused = &house.nodes[0].conflicts;
        assert_eq!(refused.is_empty(), !conditional, "{refused:?}");
        assert!(refused.iter().all(|it| *it == Row::Node(fixture::node("A"))), "{refused:?}");
        house.run(Millis::seconds(3));
        let runs = house.found(|it| if let Record::NodeStarted { run, .. } = it { Some(*run) } else { None });
        assert_eq!(runs.iter().filter(|(node, _)| node == "A").map(|it| it.1).collect::<Vec<_>>(), [1, 2]);
        house.conditional = true;
        house.carry_out(&next);
        house.run(Millis::seconds(30));
        assert!(house.nodes[0].sent.is_empty(), "the task is B's: {:?}", house.nodes[0].sent);
        assert_eq!(house.claims(3), [], "and stays B's");
    }
}

/// A holds a lease and waits for a read. It is asked to stop while something of it is still on its way.
#[test]
fn a_graceful_stop_hands_over_at_once_and_takes_no_orders() {
    let mut house = House::ready(&["A", "B"], 1);
    house.place(1);
    for _ in 0..2 {
        let command = house.nodes[0].sent.pop().expect("A drives the task");
        house.carry_out(&command);
        house.run(Millis::seconds(1));
        house.gateway_speaks = !house.nodes[0].leases.is_empty();
    }
    house.gateway_speaks = true;
    while house.nodes[0].leases != ["ask"] {
        house.run(Millis(100));
        assert!(house.ms < 60_000, "A never asks for the lift: {:?}", house.nodes[0].leases);
    }
    house.holds = true;
    let late = house.ask(0, order("A1", "A2"), "before");
    house.handle(0, Event::StopRequested);
    assert!(!house.nodes[0].left, "an order of it is on its way");
    let refused = house.ask(0, order("A1", "A2"), "after");
    assert!(matches!(house.answer(0, refused), Err(OrderRefusal::LedgerUnavailable(_))));
    house.let_go();
    assert!(house.answer(0, late).is_ok() && house.nodes[0].left);
    assert_eq!(house.nodes[0].leases, ["ask", "release"]);
    let stopped = house.found(|it| if let Record::NodeStopped { run } = it { Some(*run) } else { None });
    assert_eq!(stopped, [("A".to_owned(), 1)]);
    house.nodes[0].power = Power::Off;
    house.run(HANDOVER_MAX);
    assert_eq!(house.claims(2), pairs(&[("B", "T-A1")]));
}

#[test]
fn a_node_that_cannot_tell_the_ledger_leaves_all_the_same() {
    let (mut house, _) = House::with_a_command();
    house.ledger_away = true;
    house.handle(0, Event::StopRequested);
    assert!(house.nodes[0].left);
    assert_eq!(house.claims(2), []);
}

#[test]
fn two_nodes_asked_with_one_key_accept_one_order() {
    let same = || order("A1", "A2");
    for (other, conditional) in [(same(), true), (order("A2", "A1"), true), (same(), false)] {
        let mut house = House::ready(&["A", "B"], 2);
        house.conditional = conditional;
        let repeats = other == same();
        let (first, second) = (house.ask(0, same(), "key"), house.ask(1, other, "key"));
        house.run(Millis(300));
        let first = house.answer(0, first).expect("the first is accepted");
        let n_orders = house.found(|it| matches!(it, Record::OrderPlaced { .. }).then_some(())).len();
        assert_eq!(n_orders, if conditional { 1 } else { 2 });
        if conditional {
            let repeated = Accepted { repeated: true, ..first.clone() };
            let expected = if repeats { Ok(repeated) } else { Err(OrderRefusal::KeyReused(first.order)) };
            assert_eq!(house.answer(1, second), expected);
        }
    }
}

/// The ledger remembers the key of an order that no node knows any more.
#[test]
fn a_key_of_an_order_that_is_forgotten_is_refused() {
    let mut house = House::ready(&["A", "B"], 1);
    house.ask(0, order("A1", "A2"), "key");
    let is_order = |it: &&Entry| matches!(it.record, Record::OrderPlaced { .. });
    let placed = house.entries().find(is_order).map(|it| it.record.clone()).expect("an order");
    let Record::OrderPlaced { order: old, task, fingerprint, .. } = placed else { panic!("{placed:?}") };
    let forgotten = Record::OrderPlaced { order: old, task, idempotency_key: "old".to_owned(), fingerprint };
    house.rows.apply(&fixture::node("B"), &forgotten);
    let request = house.ask(0, order("A1", "A2"), "old");
    house.run(Millis::seconds(2));
    assert!(!house.nodes[0].answers.contains_key(&request), "following may still bring it");
    house.run(Millis::seconds(2));
    assert_eq!(house.answer(0, request), Err(OrderRefusal::KeyForgotten));
}

/// Both vehicles become free at one moment, and each node wants the first.
#[test]
fn two_nodes_choose_one_vehicle_and_one_of_them_chooses_anew() {
    for conditional in [true, false] {
        let mut house = House::ready(&["A", "B"], 2);
        house.conditional = conditional;
        for vehicle in house.fleet.values_mut() {
            vehicle.load = Some(fixture::order("O-Z1"));
        }
        house.run(Millis::seconds(1));
        house.place(2);
        assert_eq!(house.claims(1), [], "nobody is free");
        for vehicle in house.fleet.values_mut() {
            vehicle.load = None;
        }
        house.run(Millis::seconds(2));
        let chosen = house.found(|it| {
            if let Record::VehicleAssigned { vehicle, .. } = it { Some(vehicle.to_string()) } else { None }
        });
        let own = pairs(&[("A", "V1"), ("B", "V2")]);
        assert_eq!(chosen == own, conditional, "{chosen:?}");
        let conflicts = house.nodes[1].conflicts.len();
        assert_eq!(conflicts, usize::from(conditional), "B had to choose anew");
    }
}

#[test]
fn a_node_that_was_superseded_falls_silent() {
    let (mut house, command) = House::with_a_command();
    let site = fixture::plant().site;
    house.appended_elsewhere("A", Record::NodeStarted { run: 2, site });
    let (n_entries, n_words) = (house.entries().count(), house.nodes[0].n_words);
    house.nodes[1].power = Power::Off;
    house.run(Millis::seconds(1));
    assert!(house.nodes[0].superseded && house.nodes[0].left);
    house.carry_out(&command);
    house.run(Millis::seconds(20));
    assert_eq!((house.entries().count(), house.nodes[0].n_words), (n_entries, n_words));
    assert_eq!(house.rows.value(&Row::Node(fixture::node("A"))), running(2), "the other process counts");
}

#[test]
fn the_steward_alone_raises_and_clears_alarms_of_what_belongs_to_no_task() {
    let mut house = House::ready(&["A", "B"], 2);
    let raised = |house: &House| {
        house.found(
            |it| if let Record::AlarmRaised { alarm } = it { Some(alarm.subject.clone()) } else { None },
        )
    };
    let subject = |name| Subject::Vehicle(fixture::vehicle(name));
    house.silent.insert(fixture::vehicle("V1"));
    house.run(Millis::seconds(10));
    assert_eq!(raised(&house), [("A".to_owned(), subject("V1"))]);
    house.silent.clear();
    house.run(Millis::seconds(3));
    let cleared = house.found(|it| matches!(it, Record::AlarmCleared { .. }).then_some(()));
    assert_eq!(cleared, [("A".to_owned(), ())]);
    house.nodes[0].power = Power::Off;
    house.silent.insert(fixture::vehicle("V2"));
    house.run(Millis::seconds(15));
    assert_eq!(raised(&house)[1..], [("B".to_owned(), subject("V2"))]);
}

/// Whoever cannot read the others' words takes nobody for lost; and it takes somebody for lost who is.
#[test]
fn who_has_read_nothing_takes_nobody_for_lost() {
    type Trouble = fn(&mut House, bool);
    let rows: [(&str, Trouble, usize); 4] = [
        ("nothing is wrong", |_, _| {}, 0),
        ("A is deaf", |house, so| house.nodes[0].deaf = so, 0),
        ("the ledger is away for all", |house, so| house.ledger_away = so, 0),
        ("B is gone", |house, so| house.nodes[1].power = if so { Power::Off } else { Power::Asleep }, 1),
    ];
    for (name, trouble, expected) in rows {
        let mut house = House::ready(&["A", "B"], 1);
        trouble(&mut house, true);
        house.run(Millis::seconds(30));
        trouble(&mut house, false);
        house.run(Millis::seconds(10));
        assert_eq!(house.lost().len(), expected, "{name}");
    }
}

/// A standing changes by time alone, with nothing read: on the screen, too.
#[test]
fn what_is_shown_of_nodes_follows_the_clock() {
    let mut house = House::ready(&["A", "B"], 1);
    let standing = |house: &House| house.nodes[0].shown[1].standing;
    house.nodes[1].power = Power::Asleep;
    house.run(Millis(4500));
    assert_eq!(standing(&house), NodeStanding::Silent);
    house.ledger_away = true;
    house.run(Millis::seconds(10));
    assert_eq!(standing(&house), NodeStanding::Running, "nobody can tell");
    house.ledger_away = false;
    house.run(Millis::seconds(15));
    assert_eq!(standing(&house), NodeStanding::Lost);
}

/// An order of an earlier run reaches the ledger after the next run has read it.
#[test]
fn a_number_that_comes_late_from_an_earlier_run_is_not_given_twice() {
    let mut house = House::ready(&["A"], 1);
    house.holds = true;
    house.ask(0, order("A1", "A2"), "early");
    house.restart(0);
    house.let_go();
    house.run(Millis::seconds(1));
    let request = house.ask(0, order("A1", "A2"), "late");
    assert_eq!(house.answer(0, request).map(|it| it.task), Ok(fixture::task("T-A2")));
}

/// A vehicle holds a command that the ledger does not know. Its link stays closed until a person has looked.
#[test]
fn a_link_is_opened_only_where_vehicle_and_ledger_agree() {
    for (safeguards, opened) in [(Safeguards::ALL, 1), (Safeguards::all_but(Safeguard::Reconciliation), 2)] {
        let mut house = House::under(safeguards, &["A"], 1);
        let id = fixture::vehicle("V1");
        let vehicle = house.fleet.get_mut(&id).expect("a vehicle of the fleet");
        vehicle.command = Some(fixture::command_id("T-Z9.0"));
        vehicle.link_open = false;
        house.run(Millis::seconds(5));
        let link = house.nodes[0].control.book().links[&id].generation;
        assert_eq!(link, Generation(opened), "{safeguards:?}");
    }
}
