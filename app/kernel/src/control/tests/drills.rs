//! Drills are recorded before they begin and after they end, whatever the ledger does meanwhile.

use super::house::House;
use super::*;
use crate::drill::{DrillEnd, DrillFault, DrillPlace};
use crate::ids::DrillId;
use crate::ledger::Row;

fn name(n: usize) -> DrillId {
    DrillId::try_new(&format!("D-{n}")).expect("a name")
}

fn drill(n: usize) -> Drill {
    let at = DrillPlace::Lift(fixture::lift("L1"));
    Drill { id: name(n), fault: DrillFault::DoorStuck, at, for_ms: Some(Millis::seconds(30)) }
}

fn bench(drill: bool) -> Bench {
    let mut bench = Bench::with(fixture::plant());
    bench.control = Control::new(NodeConfig { node: fixture::node("A"), drill }, bench.plant.clone());
    bench.start();
    bench
}

fn recorded(bench: &Bench) -> Vec<&Record> {
    let of_drills = |it: &&Record| matches!(it, Record::DrillStarted { .. } | Record::DrillEnded { .. });
    bench.entries.iter().map(|it| &it.record).filter(of_drills).collect()
}

#[test]
fn a_drill_that_is_told_twice_is_recorded_once() {
    let mut bench = bench(true);
    bench.ledger = Ledger::Holds;
    bench.handle(Event::DrillBegan(drill(1)));
    bench.handle(Event::DrillBegan(drill(1)));
    assert_eq!(bench.drills, []);
    bench.let_go();
    bench.handle(Event::DrillBegan(drill(1)));
    let view = bench.drills.first().expect("it is shown").clone();
    assert_eq!((bench.drills.len(), &view.id, view.end), (1, &name(1), None));
    assert_eq!(view.ends_at.map(|it| (it - view.started_at).num_seconds()), Some(30));
    for _ in 0..2 {
        bench.handle(Event::DrillOver { drill: name(1), end: DrillEnd::ByHand });
    }
    bench.run(Millis::seconds(2));
    let ended = Record::DrillEnded { drill: name(1), end: DrillEnd::ByHand };
    assert_eq!(recorded(&bench), [&Record::DrillStarted { drill: drill(1) }, &ended]);
    assert_eq!(bench.drills[0].end, Some(DrillEnd::ByHand));
    assert!(bench.node.as_ref().is_some_and(|it| it.drill));
}

#[test]
fn two_nodes_that_are_told_of_one_end_record_it_once() {
    let mut house = House::ready(&["A", "B"], 1);
    for node in &mut house.nodes {
        node.control.config.drill = true;
    }
    house.handle(0, Event::DrillBegan(drill(1)));
    house.run(Millis::seconds(1));
    // Neither has followed the other when it is told.
    for (idx, end) in [DrillEnd::ByHand, DrillEnd::RanOut].into_iter().enumerate() {
        house.handle(idx, Event::DrillOver { drill: name(1), end });
    }
    house.run(Millis::seconds(3));
    let ends = house.entries().filter(|it| matches!(it.record, Record::DrillEnded { .. })).count();
    assert_eq!((ends, &house.nodes[1].conflicts), (1, &vec![Row::Drill(name(1))]));
}

#[test]
fn a_ledger_that_is_away_gets_the_record_when_it_is_back() {
    let mut bench = bench(true);
    bench.ledger = Ledger::Fails;
    bench.handle(Event::DrillBegan(drill(1)));
    bench.handle(Event::DrillOver { drill: name(1), end: DrillEnd::RanOut });
    bench.run(Millis::seconds(5));
    assert_eq!(recorded(&bench).len(), 0);
    bench.ledger = Ledger::Writes;
    bench.run(Millis::seconds(2));
    assert_eq!(recorded(&bench).len(), 2);
    assert_eq!(bench.drills[0].end, Some(DrillEnd::RanOut));
}

#[test]
fn a_restarted_node_still_shows_what_stands() {
    let mut bench = bench(true);
    bench.handle(Event::DrillBegan(drill(1)));
    bench.drills.clear();
    bench.restart();
    assert_eq!(bench.drills.first().map(|it| (it.id.clone(), it.end)), Some((name(1), None)));
    bench.handle(Event::DrillsStand(vec![name(1)]));
    bench.run(Millis::seconds(1));
    assert_eq!(bench.drills[0].end, None);
    bench.handle(Event::DrillsStand(vec![]));
    assert_eq!(bench.drills[0].end, Some(DrillEnd::Interrupted));
}

#[test]
fn outside_a_drill_run_nothing_is_marked() {
    let mut bench = bench(false);
    bench.handle(Event::DrillBegan(drill(1)));
    bench.run(Millis::seconds(2));
    assert_eq!((recorded(&bench).len(), bench.drills.len()), (0, 0));
    let node = bench.node.as_ref().expect("shown");
    assert_eq!((node.drill, node.messages_rejected), (false, 1));
}

#[test]
fn drills_that_ended_long_ago_are_forgotten_and_those_that_stand_are_not() {
    let mut bench = bench(true);
    bench.handle(Event::DrillBegan(drill(1)));
    for n in 2..=ENDED_DRILLS_MAX + 5 {
        bench.handle(Event::DrillBegan(drill(n)));
        bench.handle(Event::DrillOver { drill: name(n), end: DrillEnd::RanOut });
    }
    assert_eq!(bench.drills.len(), ENDED_DRILLS_MAX + 1);
    assert_eq!((bench.drills[0].id.clone(), bench.drills[0].end), (name(1), None));
}
