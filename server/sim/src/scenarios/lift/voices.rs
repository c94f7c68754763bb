//! Two nodes and one lift: who speaks with a lease that is not theirs any more, or on behalf of a task that is not.

use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use crate::checkers::Checker;
use crate::fault::{Road, RoadEffect};
use crate::scenarios::{Orders, Play, Script, Site};

const WITHIN: Millis = Millis::seconds(600);
const TWO_NODES: Site = Site { nodes: 2, ..Site::with(2) };
/// A takes the order, and its vehicle comes to the lift beside it.
const UP: Orders = Orders::Listed(&[(5, "S1", "S2")]);

/// A stands still between its last look at the lease and the send, for so long.
fn sleeps_before_the_send(play: &mut Play, span: Millis) {
    play.until("L1 is granted to A");
    play.road(Road::Command, RoadEffect::Delay { by_ms: span }, Millis(400));
    play.until("late on the road: Command");
    play.pause_node(span);
}

/// What was decided under the first lease reaches the gateway when another node has spoken under the next.
pub(super) const PAUSE_35S: Script = Script {
    safeguard: Safeguard::TokenFence,
    backups: &[Safeguard::ReadAge, Safeguard::ClaimFence, Safeguard::Expectation, Safeguard::Interlock],
    checker: Checker::NothingStale,
    site: TWO_NODES,
    orders: UP,
    play: |play| {
        sleeps_before_the_send(play, Millis::seconds(35));
        play.until("L1 is granted to B");
    },
    danger: &["L1 is granted to A", "FAULT NodePaused", "NodeLost { node: A", "L1 is granted to B"],
    expects: &["L1 is granted to B", "G1 tells C-A1.1 Refused { reason: StaleToken }", "Finished"],
    never: &[],
    within: WITHIN,
};

/// The copy that takes over was made before the grant to A. It would give its serial again, if it granted by what it
/// remembers.
pub(super) const EQUAL_TOKENS: Script = Script {
    safeguard: Safeguard::TokenOwner,
    backups: &[
        Safeguard::StoreLife,
        Safeguard::ReadAge,
        Safeguard::ClaimFence,
        Safeguard::Expectation,
        Safeguard::Interlock,
    ],
    checker: Checker::NothingStale,
    site: TWO_NODES,
    orders: UP,
    play: |play| {
        sleeps_before_the_send(play, Millis::seconds(8));
        play.promote_old_copy();
        play.until("L1 is granted to B");
    },
    danger: &[
        "L1 is granted to A … serial: 8589934593",
        "FAULT … OldCopyPromoted",
        "L1 is granted to B … serial:",
    ],
    expects: &["L1 is granted to B", "G1 tells C-A1.1 Refused { reason: StaleToken }", "Finished"],
    never: &[],
    within: WITHIN,
};

/// Its serials begin again, below what the gateway has admitted.
pub(super) const RESTART_EMPTY: Script = Script {
    safeguard: Safeguard::SerialFloor,
    backups: &[],
    checker: Checker::TokensRise,
    site: TWO_NODES,
    orders: UP,
    play: |play| {
        play.until("L1 takes number 2");
        play.empty_store();
    },
    danger: &["L1 takes number 2", "FAULT … Emptied", "L1 is granted to A"],
    expects: &["FAULT … Emptied", "L1 is granted to A", "L1 takes number 3", "Finished"],
    never: &["StaleToken"],
    within: Millis::seconds(120),
};

/// A does not learn that its run is over: in its book the ride has yet to begin, when B has brought it to its end. So A
/// calls the car back, by a lease that was never another's.
pub(super) const FRESH_TOKEN: Script = Script {
    safeguard: Safeguard::ClaimFence,
    backups: &[],
    checker: Checker::NothingStale,
    site: TWO_NODES,
    orders: UP,
    play: |play| {
        play.until("→ L1 C-A1.1 OpenDoor F1");
        play.cut_node_off_ledger(Millis::seconds(90));
        play.until("TaskClaimed … Generation(2)");
        play.until("L1 is granted to B");
        play.until("L1 takes number");
        play.until("L1 is granted to A");
    },
    danger: &[
        "SessionChanged … Granted",
        "→ L1 C-A1.1 OpenDoor F1",
        "FAULT LedgerCutOff { node: A",
        "NodeLost { node: A",
        "TaskClaimed … Generation(2)",
        "L1 is granted to B",
        "L1 is granted to A",
        "→ L1 C-A1.",
    ],
    expects: &[
        "NodeLost { node: A",
        "L1 is granted to A",
        "→ L1 C-A1.",
        "Refused { reason: StaleClaim }",
        "Finished",
    ],
    never: &[],
    within: WITHIN,
};

/// A outsleeps its grant, and wakes cut off from the store, which has granted the lift to B meanwhile, and from the
/// ledger, which has given the task to B. The read on which A would decide is fresh.
pub(super) const PARTITION_BELIEF: Script = Script {
    safeguard: Safeguard::LiveGrant,
    backups: &[Safeguard::TokenFence, Safeguard::ClaimFence],
    checker: Checker::NothingStale,
    site: TWO_NODES,
    orders: UP,
    play: |play| {
        play.until("L1 is granted to A");
        play.cut_node_off_store(Millis::seconds(200));
        play.cut_node_off_ledger(Millis::seconds(200));
        play.pause_node(Millis::seconds(45));
        play.until("L1 is granted to B");
        play.wait(Millis::seconds(60));
    },
    danger: &[
        "L1 is granted to A",
        "FAULT Store(Partitioned { node: A",
        "FAULT LedgerCutOff { node: A",
        "FAULT NodePaused { node: A",
        "L1 is granted to B",
    ],
    expects: &["L1 is granted to B", "A does not reach the lease store"],
    never: &["→ L1 C-A1"],
    within: WITHIN,
};

/// The store has granted and A does not know it. By the same request it is told again; otherwise A would have to wait
/// until the life of a lease is over that nobody uses.
pub(super) const LOST_REPLY: Script = Script {
    safeguard: Safeguard::SameGrant,
    backups: &[Safeguard::NewerRequest, Safeguard::HoldLimit],
    checker: Checker::OrdersEnd,
    site: Site::with(2),
    orders: UP,
    play: |play| {
        play.until("SessionChanged … Granted");
        // The node has it by now, and has asked.
        play.wait(Millis(2));
        play.road(Road::Store, RoadEffect::Drop, Millis(100));
        play.until_second(30);
    },
    danger: &[
        "SessionChanged … Granted",
        "L1 is granted to A … serial: 4294967297",
        "lost on the road: Store",
    ],
    expects: &[
        "lost on the road: Store",
        "L1 is granted to A … serial: 4294967297",
        "→ L1 C-A1.1",
        "L1 is granted to A … serial: 4294967298",
        "Finished",
    ],
    never: &[],
    within: Millis::seconds(40),
};

/// A drives a ride that B has taken over, and does not know it: when that ride has left the lift on F2, A wants it for
/// the ride, on F1, and B for the next one, on F3. Both decide on the same read.
pub(super) const DOUBLE_DISPATCH: Script = Script {
    safeguard: Safeguard::OneHolder,
    backups: &[
        Safeguard::ClaimFence,
        Safeguard::TokenFence,
        Safeguard::SessionFence,
        Safeguard::Expectation,
        Safeguard::Interlock,
    ],
    checker: Checker::NoContradiction,
    site: Site { floors: 3, nodes: 2, ..Site::with(3) },
    orders: Orders::Listed(&[(5, "S1", "S2"), (8, "S3", "S1")]),
    play: |play| {
        play.until("→ L1 C-A1.1 OpenDoor F1");
        play.cut_node_off_ledger(Millis::seconds(100));
        play.until("TaskClaimed … Generation(2)");
        play.until("SessionChanged … Released");
        play.until("B asks for L1");
        play.wait(Millis::seconds(20));
    },
    danger: &[
        "→ L1 C-A1.1 OpenDoor F1",
        "FAULT LedgerCutOff { node: A",
        "TaskClaimed … Generation(2)",
        "A asks for L1",
        "SessionChanged … Released",
        "B asks for L1",
    ],
    expects: &["SessionChanged … Released", "L1 is granted to B", "→ L1 C-B1 … GoTo F3", "T-A1 … Finished"],
    never: &[],
    within: WITHIN,
};

/// A's word that it has done with the lift is longer on its way than anybody may hold it; B holds it by then, and waits
/// for its command to be acknowledged.
pub(super) const FOREIGN_UNLOCK: Script = Script {
    safeguard: Safeguard::OwnRelease,
    backups: &[],
    checker: Checker::NobodyFreesAnothers,
    site: TWO_NODES,
    orders: Orders::Listed(&[(5, "S1", "S2"), (5, "S2", "S1")]),
    play: |play| {
        play.until("→ L1 C-A1 … CloseDoor F2");
        play.road(Road::Store, RoadEffect::Delay { by_ms: Millis(6500) }, Millis(600));
        play.until("L1 is granted to B");
        play.road(Road::Command, RoadEffect::Delay { by_ms: Millis(1500) }, Millis(400));
        play.until("A gives L1 back, and B holds it");
    },
    danger: &[
        "L1 is granted to A",
        "late on the road: Store",
        "L1 is granted to B",
        "A gives L1 back, and B holds it",
    ],
    expects: &["A gives L1 back, and B holds it", "G1 tells C-B1 … Accepted", "Finished", "Finished"],
    never: &[],
    within: WITHIN,
};
