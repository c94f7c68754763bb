//! The lease store away: who speaks to a lift then, and how it comes back.

use kernel::lift::DoorState;
use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use crate::checkers::Checker;
use crate::fault::{Road, RoadEffect};
use crate::scenarios::{Orders, Script, Site};

/// V2 fetches the load beside it, and the car comes up to it empty.
const DOWN: Orders = Orders::Listed(&[(5, "S2", "S1")]);
const LONG: Millis = Millis::seconds(600);

/// Thirty seconds after the first word of it the gateway decides. The store comes back as it begins to, and is away again
/// before it was steady for ten: then nobody waits for thirty seconds once more.
pub(super) const STORE_DOWN: Script = Script {
    safeguard: Safeguard::EdgeArbitration,
    checker: Checker::OrdersEnd,
    backups: &[],
    site: Site { nodes: 2, ..Site::with(2) },
    orders: Orders::Listed(&[(27, "S2", "S1")]),
    play: |play| {
        play.until_second(3);
        play.wait(Millis(200));
        play.store_down(Millis::seconds(31));
        play.until_second(37);
        play.store_down(LONG);
    },
    danger: &["FAULT Store(Stopped", "FAULT Store(Stopped", "SessionChanged … Granted"],
    expects: &[
        "edge arbitration, epoch 2",
        "ArbitrationChanged { lift: L1, arbitration: Edge, epoch: 2 }",
        "AlarmRaised … LiftOnEdge",
        "→ L1 C-A1.1 GoTo F2",
        "EdgeDecided { lift: L1, command: C-A1.1, action: GoTo, floor: F2, verdict: None }",
        "G1 tells C-A1.1 Accepted",
        "EdgeDecided … C-A1.1 … Some(Accepted)",
        "T-B1 … Finished",
    ],
    never: &["is granted to", "edge arbitration is over"],
    within: Millis::seconds(54),
};

/// A drives the order and does not reach the store; B does. A is refused, as it would be with the store healthy and the
/// road to it alone cut.
pub(super) const ONE_CUT_OFF: Script = Script {
    safeguard: Safeguard::EdgeEntry,
    checker: Checker::OneArbiter,
    backups: &[],
    site: Site { nodes: 2, ..Site::with(2) },
    orders: DOWN,
    play: |play| {
        play.until("TaskClaimed { task: T-B1, generation: Generation(1) }");
        play.cut_node_off_store(Millis::seconds(60));
        play.wait(Millis::seconds(55));
    },
    danger: &["FAULT Store(Partitioned { node: A", "A does not reach the lease store"],
    expects: &["A does not reach the lease store", "L1 is granted to A", "→ L1 … GoTo F2", "T-B1 … Finished"],
    never: &["edge arbitration"],
    within: Millis::seconds(120),
};

/// The ride is over and the lift idle when the store comes back. What was sent by edge arbitration a moment before that
/// ended is two seconds on its way.
pub(super) const EXIT_WITH_QUEUE: Script = Script {
    safeguard: Safeguard::EdgeFence,
    checker: Checker::OneArbiter,
    backups: &[],
    site: Site { nodes: 2, ..Site::with(2) },
    orders: Orders::Listed(&[(5, "S2", "S1"), (125, "S2", "S1")]),
    play: |play| {
        play.until_second(3);
        play.store_down(Millis::seconds(97));
        play.until_second(110);
        play.wait(Millis(200));
        play.road(Road::Command, RoadEffect::Delay { by_ms: Millis::seconds(2) }, Millis(100));
        play.stray_call("F2");
        play.until("edge arbitration is over; epoch 3");
    },
    danger: &[
        "edge arbitration, epoch 2",
        "Finished",
        "a stranger sends L1 to F2",
        "late on the road: Command",
        "edge arbitration is over; epoch 3",
    ],
    expects: &[
        "edge arbitration is over; epoch 3",
        "G1 tells C-stray Refused { reason: WrongArbitration }",
        "SessionChanged … Granted, generation: Generation(2)",
        "L1 is granted to",
        "→ L1",
        "Finished",
    ],
    never: &["G1 tells C-stray Accepted"],
    within: LONG,
};

/// V2 stands in the car, its door is shut, and its own travel has yet to be asked for.
pub(super) const INTO_OCCUPIED_CAR: Script = Script {
    safeguard: Safeguard::EdgeTable,
    checker: Checker::NoContradiction,
    backups: &[],
    site: Site { floors: 3, ..Site::with(2) },
    orders: DOWN,
    play: |play| {
        play.until_second(3);
        play.store_down(LONG);
        play.until("→ L1 … CloseDoor F2");
        // The node hears late that the door is shut, so that the stranger speaks first.
        let effect = RoadEffect::Delay { by_ms: Millis::seconds(1) };
        play.road(Road::Status, effect, Millis::seconds(6));
        play.until_seen("V2 is behind a shut door", |it| {
            it.lift().is_some_and(|lift| lift.occupied && lift.door == DoorState::Closed)
        });
        play.wait(Millis(500));
        play.stray_call("F3");
    },
    danger: &["edge arbitration, epoch 2", "→ L1 … CloseDoor F2", "a stranger sends L1 to F3"],
    expects: &["G1 tells C-stray Refused { reason: CarOccupied }", "→ L1 … GoTo F1", "T-A1 … Finished"],
    never: &[],
    within: LONG,
};
