//! What was said to a lift, as its view lists it.

use super::*;
use crate::lift::LiftAction;
use crate::timing::PLC_SCAN_MAX;
use crate::wire::view::LiftCommandView;

/// A command of some node.
fn said(id: &str, by: &str, action: LiftAction) -> LiftCommand {
    let (seen, read) = (fixture::status("F1", DoorState::Closed), ReadRef { boot: 1, tick: 1 });
    LiftCommand { holder: fixture::node(by), ..fixture::lift_command(id, action, "F1", &seen, read) }
}

fn listed(bench: &Bench) -> Vec<(String, Option<String>)> {
    let line = |it: &LiftCommandView| (it.id.to_string(), it.contradicts.as_ref().map(ToString::to_string));
    bench.lifts[&fixture::lift("L1")].commands.iter().map(line).collect()
}

#[test]
fn contradictory_commands_of_two_nodes_are_told_as_such() {
    use LiftAction::{CloseDoor, OpenDoor};
    type Row = (&'static str, u64, (&'static str, LiftAction), Option<&'static str>);
    let rows: [Row; 4] = [
        ("another node, another thing", 44, ("C", CloseDoor), Some("1")),
        ("the same thing", 44, ("C", OpenDoor), None),
        ("the same node", 44, ("B", CloseDoor), None),
        ("beyond a scan", PLC_SCAN_MAX.0 + 1, ("C", CloseDoor), None),
    ];
    for (what, later, (by, action), expected) in rows {
        let mut bench = Bench::ready();
        bench.handle(Event::Overheard(Box::new(said("1", "B", OpenDoor))));
        bench.ms += later;
        bench.handle(Event::Overheard(Box::new(said("2", by, action))));
        let expected = [("2".to_owned(), expected.map(str::to_owned)), ("1".to_owned(), None)];
        assert_eq!(listed(&bench), expected, "{what}");
    }
}

#[test]
fn a_joined_call_is_listed_once_and_shares_the_outcome() {
    let (mut house, command) = house::House::called(true);
    house.handle(0, Event::StopRequested);
    house.run(Millis::seconds(1));
    let lift = fixture::lift("L1");
    let of_b = |house: &house::House| {
        let spoken = house.nodes[1].control.spoken.get(&lift).into_iter().flatten();
        spoken.map(|(_, view)| (view.joined.clone(), view.verdict.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of_b(&house), [(Some(command.id.clone()), None)]);
    house.lift_answers(&command, Verdict::Accepted);
    house.run(Millis::seconds(2));
    assert_eq!(of_b(&house)[0], (Some(command.id.clone()), Some(Verdict::Accepted)));
    let joined = of_b(&house).into_iter().filter(|(joined, _)| joined.is_some()).count();
    assert_eq!(joined, 1, "whoever asks again joins the same call");
}

/// The record alone tells that the PLC took it.
#[test]
fn a_call_that_was_acknowledged_before_is_listed_as_joined_and_accepted() {
    let (mut house, command) = house::House::called(true);
    house.lift_answers(&command, Verdict::Accepted);
    house.handle(0, Event::StopRequested);
    house.run(Millis::seconds(2));
    let spoken = &house.nodes[1].control.spoken[&fixture::lift("L1")];
    let told: Vec<_> = spoken.iter().map(|(_, it)| (it.joined.clone(), it.verdict.clone())).collect();
    assert_eq!(told, [(Some(command.id), Some(Verdict::Accepted))]);
}
