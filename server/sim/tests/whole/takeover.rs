//! Two nodes: one that woke up too late is refused everywhere, and one that is asked to stop hands over at once.

use kernel::ids::NodeId;
use kernel::time::Millis;
use sim::fault::{FaultKind, Road, RoadEffect};
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::{claims, config};

/// A graceful stop hands over in less (C16).
const HANDOVER_MAX: Millis = Millis::seconds(1);
/// A node stands still for longer than its lease lives.
const PAUSE: Millis = Millis::seconds(35);

fn pair(seed: u64) -> World {
    let nodes = nodes(2).expect("names");
    World::new(WorldConfig { nodes, ..config(1, seed, &[(3, "S2", "S1")]) })
}

fn node() -> NodeId {
    NodeId::try_new("A").expect("a name")
}

/// The place of the first line from there on that holds all of this.
fn line(world: &World, from: usize, pieces: &[&str]) -> Option<usize> {
    let mut lines = world.log().iter().enumerate().skip(from);
    lines.find(|(_, line)| pieces.iter().all(|piece| line.contains(piece))).map(|(place, _)| place)
}

/// Goes on until such a line is there; its place.
fn until(world: &mut World, from: usize, pieces: &[&str]) -> usize {
    let found = world.run_until(Millis::seconds(300), |it| line(it, from, pieces).is_some());
    assert!(found, "it never came to {pieces:?}:\n{}", world.log().join("\n"));
    line(world, from, pieces).unwrap_or_default()
}

/// What A decides last before it stands still is late on this road, and is refused when it comes.
struct Row {
    name: &'static str,
    /// After this A says its last word.
    after: &'static [&'static str],
    /// That word.
    last: &'static [&'static str],
    road: Road,
    late: Millis,
    /// What becomes of it.
    refused: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        name: "a lift command in mid ride, by the token",
        after: &["phase: Riding"],
        last: &["→ L1", "CloseDoor"],
        road: Road::Command,
        late: Millis(33_500),
        refused: &["G1 tells C-A1.", "Refused { reason: StaleToken }"],
    },
    Row {
        name: "a vehicle command, by the claim, at the gateway",
        after: &["CommandIssued", "T-B1.0"],
        last: &["→ V1 T-B1.0"],
        road: Road::Command,
        late: Millis(20_000),
        refused: &["G1 tells T-B1.0 Refused { reason: StaleClaim }"],
    },
    Row {
        name: "a vehicle command that had passed the gateway, by the vehicle's memory",
        after: &["CommandIssued", "T-B1.0"],
        last: &["→ V1 T-B1.0"],
        road: Road::VehicleCommand,
        late: Millis(20_000),
        refused: &["V1 hears T-B1.0", "began false"],
    },
];

#[test]
fn a_node_that_slept_through_its_takeover_is_refused_everywhere() {
    for row in ROWS {
        let mut world = pair(1);
        let place = until(&mut world, 0, row.after);
        let effect = RoadEffect::Delay { by_ms: row.late };
        world.inject(FaultKind::Road { road: row.road, effect, permille: 1000, for_ms: Millis::seconds(2) });
        let place = until(&mut world, place, row.last);
        until(&mut world, place, &["late on the road"]);
        world.inject(FaultKind::NodePaused { node: node(), for_ms: PAUSE });
        let lost = until(&mut world, place, &["NodeLost { node: A, run: 1 }"]);
        let taken = until(&mut world, lost, &["TaskClaimed", "Generation(2)"]);
        until(&mut world, taken, row.refused);
        let refused = until(&mut world, taken, &["refused by the ledger: node A stands at"]);
        until(&mut world, refused, &["NodeStarted { run: 2"]);
        let ending = world.finish(Millis::seconds(1800));
        assert!(world.violations().is_empty(), "{}: {:#?}", row.name, world.violations());
        assert_eq!((ending.planned, ending.completed), (1, 1), "{}: {ending:?}", row.name);
    }
}

/// What A called the lift for is still on its way when A leaves; B wants the same, and leaves it to A's command.
#[test]
fn a_call_of_a_node_that_left_is_joined_and_not_made_again() {
    let mut world = pair(1);
    let place = until(&mut world, 0, &["L1 is granted to A"]);
    let effect = RoadEffect::Delay { by_ms: Millis(1500) };
    let for_ms = Millis(400);
    world.inject(FaultKind::Road { road: Road::Command, effect, permille: 1000, for_ms });
    let place = until(&mut world, place, &["late on the road: Command"]);
    world.inject(FaultKind::NodeStopped { node: node(), for_ms: Millis::seconds(600) });
    let granted = until(&mut world, place, &["L1 is granted to B"]);
    let joined = until(&mut world, granted, &["L1 is not called by C-B1.1", "Joined { by: C-A1.1"]);
    let told = until(&mut world, joined, &["G1 tells C-A1.1 Accepted"]);
    assert_eq!(
        line(&world, place, &["→ L1 C-B1"]).filter(|it| *it < told),
        None,
        "nothing is sent meanwhile"
    );
    until(&mut world, told, &["→ L1 C-B1"]);
    let b = world.control(&NodeId::try_new("B").expect("a name")).expect("B is up");
    assert_eq!(world.plant().lifts.keys().map(|it| b.commands_saved(it)).sum::<u64>(), 1);
    let ending = world.finish(Millis::seconds(1800));
    assert!(world.violations().is_empty(), "{:#?}", world.violations());
    assert_eq!((ending.planned, ending.completed), (1, 1), "{ending:?}");
}

#[test]
fn a_graceful_stop_hands_over_in_less_than_a_second() {
    let mut handed_over = 0;
    for seconds in (6..60).step_by(3) {
        let mut world = pair(seconds);
        world.run_for(Millis::seconds(seconds));
        let (open, before) = (world.ending().open == 1, claims(&world));
        world.inject(FaultKind::NodeStopped { node: node(), for_ms: Millis::seconds(600) });
        if open && before == 1 {
            assert!(world.run_until(HANDOVER_MAX, |it| claims(it) > before), "after {seconds} s");
            handed_over += 1;
        }
        let ending = world.finish(Millis::seconds(1800));
        assert!(world.violations().is_empty(), "after {seconds} s: {:#?}", world.violations());
        assert_eq!((ending.planned, ending.completed), (1, 1), "after {seconds} s: {ending:?}");
    }
    assert!(handed_over > 8, "only {handed_over} tasks were handed over");
}
