//! What the browser knows of the site: a snapshot and every change since. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kernel::ids::{AlarmId, LedgerSequence, LiftId, TaskId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::drill::DrillView;
use kernel::wire::live::{Change, Delta, Snapshot, Tick};
use kernel::wire::view::{AlarmView, LiftView, NodeView, PeerView, TaskView, VehicleView};

/// The newest state of each entity.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    /// It holds everything of the ledger up to here.
    pub(crate) sequence: LedgerSequence,
    /// The server's clock at the newest frame.
    pub(crate) server_time: DateTime<Utc>,
    pub(crate) plant: Arc<Plant>,
    /// The one that serves: another one after a move.
    pub(crate) node: NodeView,
    pub(crate) vehicles: BTreeMap<VehicleId, VehicleView>,
    pub(crate) lifts: BTreeMap<LiftId, LiftView>,
    pub(crate) tasks: BTreeMap<TaskId, TaskView>,
    pub(crate) alarms: BTreeMap<AlarmId, AlarmView>,
    pub(crate) drills: Vec<DrillView>,
    pub(crate) peers: Vec<PeerView>,
}

impl Site {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self {
            sequence: snapshot.sequence,
            server_time: snapshot.server_time,
            plant: Arc::new(snapshot.plant),
            node: snapshot.node,
            vehicles: snapshot.vehicles.into_iter().map(|it| (it.id.clone(), it)).collect(),
            lifts: snapshot.lifts.into_iter().map(|it| (it.id.clone(), it)).collect(),
            tasks: snapshot.tasks.into_iter().map(|it| (it.id.clone(), it)).collect(),
            alarms: snapshot.alarms.into_iter().map(|it| (it.id.clone(), it)).collect(),
            drills: snapshot.drills,
            peers: snapshot.nodes,
        }
    }

    pub(crate) fn apply(&mut self, delta: Delta) {
        self.sequence = delta.sequence;
        self.server_time = delta.server_time;
        for change in delta.changes {
            self.change(change);
        }
    }

    pub(crate) fn tick(&mut self, tick: Tick) {
        self.sequence = tick.sequence;
        self.server_time = tick.server_time;
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Node(view) => self.node = view,
            Change::Vehicle(view) => {
                self.vehicles.insert(view.id.clone(), view);
            }
            Change::Lift(view) => {
                self.lifts.insert(view.id.clone(), view);
            }
            // The task says all that the screen shows of an order.
            Change::Order(_) => {}
            Change::Task(view) => {
                self.tasks.insert(view.id.clone(), view);
            }
            Change::TaskForgotten(id) => {
                self.tasks.remove(&id);
            }
            Change::Alarm(view) => {
                self.alarms.insert(view.id.clone(), view);
            }
            Change::AlarmGone(id) => {
                self.alarms.remove(&id);
            }
            Change::Drills(drills) => self.drills = drills,
            Change::Nodes(peers) => self.peers = peers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn delta(changes: Vec<Change>) -> Delta {
        Delta { sequence: LedgerSequence(9), server_time: sample::at(5), changes }
    }

    #[test]
    fn a_snapshot_and_its_deltas_are_the_snapshot_taken_later() {
        let mut site = Site::new(sample::snapshot());
        let mut later = sample::snapshot();
        later.sequence = LedgerSequence(9);
        later.server_time = sample::at(5);
        later.node.broker_connected = false;
        later.vehicles[0].battery_pct = Some(12);
        later.lifts[0].verifying = None;
        later.tasks.remove(0);
        later.tasks.push(sample::task("T-9"));
        later.alarms.clear();

        site.apply(delta(vec![
            Change::Node(later.node.clone()),
            Change::Vehicle(later.vehicles[0].clone()),
            Change::Lift(later.lifts[0].clone()),
            Change::TaskForgotten(sample::snapshot().tasks[0].id.clone()),
            Change::Task(sample::task("T-9")),
            Change::AlarmGone(sample::snapshot().alarms[0].id.clone()),
        ]));

        assert_eq!(site, Site::new(later));
    }

    #[test]
    fn a_site_that_goes_on_with_another_node_keeps_what_it_knows_and_names_that_node() {
        let mut site = Site::new(sample::snapshot());
        let mut moved = sample::snapshot();
        moved.sequence = LedgerSequence(9);
        moved.server_time = sample::at(5);
        moved.node.id = kernel::ids::NodeId::try_new("B").unwrap();
        moved.nodes = sample::nodes();

        site.apply(delta(vec![Change::Node(moved.node.clone()), Change::Nodes(sample::nodes())]));

        assert_eq!(site, Site::new(moved));
    }

    #[test]
    fn of_two_changes_to_one_entity_the_later_stands() {
        let mut site = Site::new(sample::snapshot());
        let mut first = sample::task("T-9");
        first.priority = 1;
        site.apply(delta(vec![Change::Task(first), Change::Task(sample::task("T-9"))]));
        assert_eq!(site.tasks[&sample::task("T-9").id], sample::task("T-9"));
    }

    #[test]
    fn forgetting_what_was_never_shown_changes_nothing() {
        let mut site = Site::new(sample::snapshot());
        let before = site.tasks.clone();
        site.apply(delta(vec![Change::TaskForgotten(sample::task("T-77").id)]));
        assert_eq!(site.tasks, before);
    }
}
