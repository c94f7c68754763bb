//! Accidents of the ledger.

use kernel::safeguard::Safeguard;
use kernel::time::Millis;

use super::script::{Orders, Script, Site};
use super::{Group, Scenario, State};
use crate::checkers::Checker;

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "node_killed_mid_task",
    group: Group::Ledger,
    what: "A node dies with a task in hand, and another one takes it over.",
    state: State::Built(NODE_KILLED),
}];

/// The vehicle drives to its load when node A dies, for good as far as this order goes.
const NODE_KILLED: Script = Script {
    safeguard: Safeguard::Takeover,
    backups: &[],
    checker: Checker::OrdersEnd,
    site: Site { nodes: 2, ..Site::with(2) },
    orders: Orders::Listed(&[(5, "S1", "S2")]),
    play: |play| {
        play.until("V1 answers T-B1.0 Accepted");
        play.kill_node(Millis::seconds(600));
    },
    danger: &[
        "TaskClaimed { task: T-B1, generation: Generation(1) }",
        "V1 answers T-B1.0 Accepted",
        "FAULT NodeKilled",
    ],
    expects: &[
        "NodeLost { node: A, run: 1 }",
        "TaskClaimed { task: T-B1, generation: Generation(2) }",
        "CommandIssued … claim: Generation(2)",
        "Finished",
    ],
    never: &["Suspended { cause: Person"],
    within: Millis::seconds(120),
};
