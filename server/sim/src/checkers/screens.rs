//! Memory against ledger, and what was shown bit by bit against what is shown at once.

use std::collections::BTreeMap;

use kernel::control::{Control, NodeConfig};
use kernel::ids::NodeId;
use kernel::plant::Plant;
use kernel::wire::ledger::Entry;
use kernel::wire::live::Change;

/// What somebody sees who has watched a node since its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    shown: BTreeMap<String, Change>,
}

impl Screen {
    pub(super) fn take(&mut self, change: Change) {
        let (key, gone) = key(&change);
        if gone {
            self.shown.remove(&key);
        } else {
            self.shown.insert(key, change);
        }
    }

    /// The first thing that a fresh snapshot shows otherwise.
    pub(super) fn differs_from(&self, snapshot: Vec<Change>) -> Option<String> {
        let mut fresh = Self::default();
        for change in snapshot {
            fresh.take(change);
        }
        let names: std::collections::BTreeSet<&String> =
            self.shown.keys().chain(fresh.shown.keys()).collect();
        let mut differing = names.into_iter().filter(|name| self.shown.get(*name) != fresh.shown.get(*name));
        differing.next().map(|name| {
            format!("{name}: watched {:?}, fresh {:?}", self.shown.get(name), fresh.shown.get(name))
        })
    }
}

fn key(change: &Change) -> (String, bool) {
    match change {
        Change::Node(view) => (format!("node {}", view.id), false),
        Change::Vehicle(view) => (format!("vehicle {}", view.id), false),
        Change::Lift(view) => (format!("lift {}", view.id), false),
        Change::Order(view) => (format!("order {}", view.task), false),
        Change::Task(view) => (format!("task {}", view.id), false),
        Change::TaskForgotten(id) => (format!("task {id}"), true),
        Change::Alarm(view) => (format!("alarm {}", view.id), false),
        Change::AlarmGone(id) => (format!("alarm {id}"), true),
    }
}

/// Where a node's memory differs from the ledger as far as that node has applied it.
pub(super) fn replayed(node: &Control, ledger: &[Entry], plant: &Plant) -> Option<String> {
    let name = NodeId::try_new("replay").ok()?;
    let mut fresh = Control::new(NodeConfig { node: name }, plant.clone());
    let applied = node.book().sequence;
    for entry in ledger.iter().take_while(|it| it.sequence <= applied) {
        if let Err(reason) = fresh.restore(entry) {
            return Some(reason);
        }
    }
    (fresh.book() != node.book()).then(|| format!("the books differ after entry {applied}"))
}
