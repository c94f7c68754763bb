//! Accidents of the ledger.

use super::{Group, Scenario, State};

const fn pending(name: &'static str, what: &'static str, part: &'static str) -> Scenario {
    Scenario { name, group: Group::Ledger, what, state: State::Pending { part } }
}

pub(super) const SCENARIOS: &[Scenario] = &[pending(
    "node_killed_mid_task",
    "A node dies with a task in hand, and another one takes it over.",
    "two nodes on one ledger",
)];
