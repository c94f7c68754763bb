//! Memory against ledger, and what was shown bit by bit against what is shown at once.

use std::collections::{BTreeMap, BTreeSet};

use kernel::control::{Control, NodeConfig};
use kernel::ids::{AlarmId, LiftId, NodeId, TaskId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::ledger::Entry;
use kernel::wire::live::Change;

/// What somebody sees who has watched a node since its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    shown: BTreeMap<Thing, Change>,
}

/// What a change is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Node(NodeId),
    Vehicle(VehicleId),
    Lift(LiftId),
    Order(TaskId),
    Task(TaskId),
    Alarm(AlarmId),
    Drills,
    Peers,
}

impl Screen {
    pub(super) fn take(&mut self, change: Change) {
        let (thing, gone) = about(&change);
        if gone {
            self.shown.remove(&thing);
        } else {
            self.shown.insert(thing, change);
        }
    }

    /// The first thing that a fresh snapshot shows otherwise.
    pub(super) fn differs_from(&self, snapshot: Vec<Change>) -> Option<String> {
        let mut fresh = Self::default();
        for change in snapshot {
            fresh.take(change);
        }
        let things: BTreeSet<&Thing> = self.shown.keys().chain(fresh.shown.keys()).collect();
        let differing = things.into_iter().find(|thing| self.shown.get(*thing) != fresh.shown.get(*thing))?;
        let (watched, fresh) = (self.shown.get(differing), fresh.shown.get(differing));
        Some(format!("{differing:?}: watched {watched:?}, fresh {fresh:?}"))
    }
}

fn about(change: &Change) -> (Thing, bool) {
    match change {
        Change::Node(view) => (Thing::Node(view.id.clone()), false),
        Change::Vehicle(view) => (Thing::Vehicle(view.id.clone()), false),
        Change::Lift(view) => (Thing::Lift(view.id.clone()), false),
        Change::Order(view) => (Thing::Order(view.task.clone()), false),
        Change::Task(view) => (Thing::Task(view.id.clone()), false),
        Change::TaskForgotten(id) => (Thing::Task(id.clone()), true),
        Change::Alarm(view) => (Thing::Alarm(view.id.clone()), false),
        Change::AlarmGone(id) => (Thing::Alarm(id.clone()), true),
        Change::Drills(_) => (Thing::Drills, false),
        Change::Nodes(_) => (Thing::Peers, false),
    }
}

/// Where a node's memory differs from the ledger as far as that node has applied it.
pub(super) fn replayed(node: &Control, ledger: &[Entry], plant: &Plant) -> Option<String> {
    let name = NodeId::try_new("replay").ok()?;
    let mut fresh = Control::new(NodeConfig { node: name, drill: false }, plant.clone());
    let applied = node.book().sequence;
    for entry in ledger.iter().take_while(|it| it.sequence <= applied) {
        if let Err(reason) = fresh.restore(entry) {
            return Some(reason);
        }
    }
    (fresh.book() != node.book()).then(|| format!("the books differ after entry {applied}"))
}
