//! Conditional writes: what must still hold in the ledger for a proposal to be stored.
//!
//! Several nodes append to one ledger, each from what it has applied so far. Whatever only one of them may do rests on
//! a row: a number that rises when it is done. A proposal names the rows that it rests on and the numbers that its
//! node knows; the ledger stores it only while they are the same there. A node that was asleep is refused so.
//!
//! Every ledger (SQLite, PostgreSQL, the lab's) keeps these rows beside the entries and moves them in the same
//! transaction; [`Rows`] says how.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::ids::{DrillId, LiftId, NodeId, TaskId, VehicleId};
use crate::task::TaskEvent;
use crate::wire::ledger::{Record, SessionPhase};

/// What only one node may move at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// Whose ledger it is: 1 since the first start of a node. Who begins an empty one rests on that it is empty.
    Site,
    /// Whether a run of a node still counts; see [`running`] and [`over`].
    Node(NodeId),
    /// An idempotency key: 1 when it was used.
    Key(String),
    /// Generation of the claim on a task.
    Claim(TaskId),
    /// How often a task was told on: its commands, its places before lifts, the wish to take it back, and its end. Who
    /// takes it back rests on knowing all of them, and so does its next command.
    Step(TaskId),
    /// How often a vehicle was chosen for a task.
    Vehicle(VehicleId),
    /// Generation of a vehicle's link.
    Link(VehicleId),
    /// Generation of a lift's last session.
    Lift(LiftId),
    /// How often the store of a lift's leases changed.
    Store(LiftId),
    /// Whether a drill is over: 1 since its end.
    Drill(DrillId),
}

/// Number of a node's row while a run of it counts.
pub fn running(run: u64) -> u64 {
    run.saturating_mul(2).saturating_sub(1)
}

/// Number of a node's row after a run of it is over.
pub fn over(run: u64) -> u64 {
    run.saturating_mul(2)
}

/// What a proposal rests on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    /// Which row.
    pub row: Row,
    /// The number that the proposer knows; 0 of a row that never moved.
    pub expected: u64,
}

/// Why a proposal was not stored: the ledger has moved on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} {} stands at {found} in the ledger, this node knew {}", guard.row.kind(), guard.row.name(), guard.expected)]
pub struct Conflict {
    /// The first guard that does not hold.
    pub guard: Guard,
    /// The number in the ledger.
    pub found: u64,
}

/// What the ledger was last told of a node: outside the chain, since it changes each second and decides nothing by
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Who.
    pub node: NodeId,
    /// Which run of it.
    pub run: u64,
    /// Rises by each word within a run.
    pub beat: u64,
    /// Of its program.
    pub version: String,
    /// The broker reaches it.
    pub hears_broker: bool,
    /// By its own wall clock, for people.
    pub at: DateTime<Utc>,
}

impl Row {
    /// Its kind, as it is stored.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Node(_) => "node",
            Self::Key(_) => "key",
            Self::Claim(_) => "claim",
            Self::Step(_) => "step",
            Self::Vehicle(_) => "vehicle",
            Self::Link(_) => "link",
            Self::Lift(_) => "lift",
            Self::Store(_) => "store",
            Self::Drill(_) => "drill",
        }
    }

    /// Its name within its kind, as it is stored.
    pub fn name(&self) -> &str {
        match self {
            Self::Site => "site",
            Self::Node(id) => id.as_str(),
            Self::Key(key) => key,
            Self::Claim(id) | Self::Step(id) => id.as_str(),
            Self::Vehicle(id) | Self::Link(id) => id.as_str(),
            Self::Lift(id) | Self::Store(id) => id.as_str(),
            Self::Drill(id) => id.as_str(),
        }
    }
}

/// How a record moves a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To this number.
    To(u64),
    /// One further.
    Next,
}

/// Which rows a record of `author` moves.
pub fn steps(author: &NodeId, record: &Record) -> impl Iterator<Item = (Row, Step)> {
    let begins = matches!(record, Record::NodeStarted { .. });
    step(author, record).into_iter().chain(begins.then_some((Row::Site, Step::To(1))))
}

fn step(author: &NodeId, record: &Record) -> Option<(Row, Step)> {
    Some(match record {
        Record::NodeStarted { run, .. } => (Row::Node(author.clone()), Step::To(running(*run))),
        Record::NodeStopped { run } => (Row::Node(author.clone()), Step::To(over(*run))),
        Record::NodeLost { node, run } => (Row::Node(node.clone()), Step::To(over(*run))),
        Record::OrderPlaced { idempotency_key, .. } => (Row::Key(idempotency_key.clone()), Step::To(1)),
        Record::TaskClaimed { task, generation } => (Row::Claim(task.clone()), Step::To(generation.0)),
        Record::VehicleAssigned { vehicle, .. } => (Row::Vehicle(vehicle.clone()), Step::Next),
        Record::LinkOpened { vehicle, generation } => (Row::Link(vehicle.clone()), Step::To(generation.0)),
        Record::SessionChanged { phase: SessionPhase::Granted, generation, lift, .. } => {
            (Row::Lift(lift.clone()), Step::To(generation.0))
        }
        Record::CommandIssued { command } => (Row::Step(command.task.clone()?), Step::Next),
        Record::SessionRequested { task, .. } | Record::WithdrawalAsked { task } => {
            (Row::Step(task.clone()), Step::Next)
        }
        Record::TaskChanged {
            task,
            event:
                TaskEvent::Finished { .. } | TaskEvent::ExecutionFailed { .. } | TaskEvent::Withdrawn { .. },
        } => (Row::Step(task.clone()), Step::Next),
        Record::LeaseStoreChanged { lift, generation, .. } => {
            (Row::Store(lift.clone()), Step::To(*generation))
        }
        Record::DrillEnded { drill, .. } => (Row::Drill(drill.clone()), Step::To(1)),
        Record::TaskChanged { .. }
        | Record::SessionChanged { .. }
        | Record::AlarmRaised { .. }
        | Record::AlarmCleared { .. }
        | Record::DifferenceFound { .. }
        | Record::ArbitrationChanged { .. }
        | Record::ForeignMoved { .. }
        | Record::EdgeDecided { .. }
        | Record::DrillStarted { .. } => return None,
    })
}

/// The rows as they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(BTreeMap<Row, u64>);

impl Rows {
    /// The number of a row; 0 of one that never moved.
    pub fn value(&self, row: &Row) -> u64 {
        self.0.get(row).copied().unwrap_or_default()
    }

    /// Whether all guards hold.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self, guards: &[Guard]) -> Result<(), Conflict> {
        guards.iter().try_for_each(|guard| {
            let found = self.value(&guard.row);
            let holds = found == guard.expected;
            if holds { Ok(()) } else { Err(Conflict { guard: guard.clone(), found }) }
        })
    }

    /// Moves the rows that a record moves.
    pub fn apply(&mut self, author: &NodeId, record: &Record) {
        for (row, step) in steps(author, record) {
            let number = match step {
                Step::To(number) => number,
                Step::Next => self.value(&row) + 1,
            };
            self.0.insert(row, number);
        }
    }

    /// Every row that has moved, with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&Row, u64)> {
        self.0.iter().map(|(row, number)| (row, *number))
    }

    /// Forgets a row that nobody will ask for again.
    pub fn forget(&mut self, row: &Row) {
        self.0.remove(row);
    }
}

impl FromIterator<(Row, u64)> for Rows {
    fn from_iter<I: IntoIterator<Item = (Row, u64)>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{task, vehicle};
    use crate::ids::Generation;

    fn node(name: &str) -> NodeId {
        NodeId::try_new(name).unwrap()
    }

    #[test]
    fn a_proposal_that_rests_on_what_has_moved_is_refused() {
        let mut rows = Rows::default();
        let claim =
            |generation| Record::TaskClaimed { task: task("T-A1"), generation: Generation(generation) };
        let guard = |expected| Guard { row: Row::Claim(task("T-A1")), expected };
        assert_eq!(rows.check(&[guard(0)]), Ok(()));
        rows.apply(&node("A"), &claim(1));
        let conflict = rows.check(&[guard(0)]).unwrap_err();
        assert_eq!(conflict, Conflict { guard: guard(0), found: 1 });
        assert_eq!(conflict.to_string(), "claim T-A1 stands at 1 in the ledger, this node knew 0");
        assert_eq!(rows.check(&[guard(1)]), Ok(()));
    }

    #[test]
    fn a_run_that_was_taken_for_lost_never_counts_again() {
        let mut rows = Rows::default();
        let started = |run| Record::NodeStarted { run, site: crate::ids::SiteId::try_new("s").unwrap() };
        let counts = |rows: &Rows, run| rows.value(&Row::Node(node("A"))) == running(run);
        rows.apply(&node("A"), &started(1));
        assert!(counts(&rows, 1));
        rows.apply(&node("B"), &Record::NodeLost { node: node("A"), run: 1 });
        assert!(!counts(&rows, 1) && !counts(&rows, 2));
        rows.apply(&node("A"), &started(2));
        assert!(counts(&rows, 2));
        rows.apply(&node("A"), &Record::NodeStopped { run: 2 });
        assert!(!counts(&rows, 2));
    }

    #[test]
    fn a_vehicle_counts_how_often_it_was_chosen() {
        let mut rows = Rows::default();
        let chosen = Record::VehicleAssigned { task: task("T-A1"), vehicle: vehicle("V1") };
        rows.apply(&node("A"), &chosen);
        rows.apply(&node("B"), &chosen);
        assert_eq!(rows.value(&Row::Vehicle(vehicle("V1"))), 2);
    }
}
