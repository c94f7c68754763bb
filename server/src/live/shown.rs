//! The newest state of each entity, and in which order they changed last.
//!
//! Each change gets the next revision, and an entity stands in the change log once, under its last revision. A
//! browser remembers the revision up to which it was served; what it lacks is the rest of the log. So conflation
//! needs no queue per browser: a slow one costs nothing but its two numbers, and gets the newest states whenever
//! it comes back. Of entities that are gone the log keeps [`GONE_KEPT`]; whoever is further behind gets everything.

use std::collections::BTreeMap;

use kernel::ids::{AlarmId, LiftId, TaskId, VehicleId};
use kernel::wire::drill::DrillView;
use kernel::wire::live::Change;
use kernel::wire::view::{AlarmView, LiftView, NodeView, PeerView, TaskView, VehicleView};

/// Tombstones that the log keeps. At ten ended tasks a second a browser may be away for more than a minute.
pub(super) const GONE_KEPT: usize = 1024;

/// Rises by one with each change.
pub(super) type Revision = u64;

/// Names one entity that a browser shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Node,
    Vehicle(VehicleId),
    Lift(LiftId),
    Task(TaskId),
    Alarm(AlarmId),
    Drills,
    Nodes,
}

/// How soon a change is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Alarms, tasks, the node: at once.
    AtOnce,
    /// Vehicles and lifts, which change all the time: a few times a second.
    Paced,
}

/// The states and the log.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) node: NodeView,
    pub(super) vehicles: BTreeMap<VehicleId, VehicleView>,
    pub(super) lifts: BTreeMap<LiftId, LiftView>,
    pub(super) tasks: BTreeMap<TaskId, TaskView>,
    pub(super) alarms: BTreeMap<AlarmId, AlarmView>,
    pub(super) drills: Vec<DrillView>,
    pub(super) nodes: Vec<PeerView>,
    revision: Revision,
    at_once: Log,
    paced: Log,
}

/// Entities by the revision of their last change.
#[derive(Debug, Default)]
struct Log {
    by_revision: BTreeMap<Revision, (Key, Presence)>,
    by_key: BTreeMap<Key, Revision>,
    gone: usize,
    /// Tombstones up to here were dropped.
    horizon: Revision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Stands,
    Gone,
}

impl Shown {
    pub(super) fn new(node: NodeView) -> Self {
        Self {
            node,
            vehicles: BTreeMap::new(),
            lifts: BTreeMap::new(),
            tasks: BTreeMap::new(),
            alarms: BTreeMap::new(),
            drills: Vec::new(),
            nodes: Vec::new(),
            revision: 0,
            at_once: Log::default(),
            paced: Log::default(),
        }
    }

    /// The last revision.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn put_node(&mut self, view: NodeView) {
        if self.node != view {
            self.node = view;
            self.note(Pace::AtOnce, Key::Node, Presence::Stands);
        }
    }

    pub(super) fn put_vehicle(&mut self, view: VehicleView) {
        let key = Key::Vehicle(view.id.clone());
        if put(&mut self.vehicles, view.id.clone(), view) {
            self.note(Pace::Paced, key, Presence::Stands);
        }
    }

    pub(super) fn put_lift(&mut self, view: LiftView) {
        let key = Key::Lift(view.id.clone());
        if put(&mut self.lifts, view.id.clone(), view) {
            self.note(Pace::Paced, key, Presence::Stands);
        }
    }

    pub(super) fn put_task(&mut self, view: TaskView) {
        let key = Key::Task(view.id.clone());
        if put(&mut self.tasks, view.id.clone(), view) {
            self.note(Pace::AtOnce, key, Presence::Stands);
        }
    }

    pub(super) fn put_alarm(&mut self, view: AlarmView) {
        let key = Key::Alarm(view.id.clone());
        if put(&mut self.alarms, view.id.clone(), view) {
            self.note(Pace::AtOnce, key, Presence::Stands);
        }
    }

    pub(super) fn put_drills(&mut self, drills: Vec<DrillView>) {
        if self.drills != drills {
            self.drills = drills;
            self.note(Pace::AtOnce, Key::Drills, Presence::Stands);
        }
    }

    pub(super) fn put_nodes(&mut self, nodes: Vec<PeerView>) {
        if self.nodes != nodes {
            self.nodes = nodes;
            self.note(Pace::AtOnce, Key::Nodes, Presence::Stands);
        }
    }

    pub(super) fn remove_task(&mut self, id: &TaskId) {
        if self.tasks.remove(id).is_some() {
            self.note(Pace::AtOnce, Key::Task(id.clone()), Presence::Gone);
        }
    }

    pub(super) fn remove_alarm(&mut self, id: &AlarmId) {
        if self.alarms.remove(id).is_some() {
            self.note(Pace::AtOnce, Key::Alarm(id.clone()), Presence::Gone);
        }
    }

    fn note(&mut self, pace: Pace, key: Key, presence: Presence) {
        self.revision += 1;
        let revision = self.revision;
        self.log_mut(pace).note(revision, key, presence);
    }

    fn log_mut(&mut self, pace: Pace) -> &mut Log {
        match pace {
            Pace::AtOnce => &mut self.at_once,
            Pace::Paced => &mut self.paced,
        }
    }

    fn log(&self, pace: Pace) -> &Log {
        match pace {
            Pace::AtOnce => &self.at_once,
            Pace::Paced => &self.paced,
        }
    }

    /// The newest state of what changed after `seen`, oldest change first; none when tombstones are missing, so
    /// that only everything helps.
    pub(super) fn since(&self, pace: Pace, seen: Revision) -> Option<Vec<Change>> {
        let log = self.log(pace);
        if seen < log.horizon {
            return None;
        }
        let newer = log.by_revision.range(seen.saturating_add(1)..);
        Some(newer.filter_map(|(_, (key, presence))| self.change(key, *presence)).collect())
    }

    /// Whether something changed after `seen`.
    pub(super) fn has_since(&self, pace: Pace, seen: Revision) -> bool {
        self.log(pace).by_revision.last_key_value().is_some_and(|(last, _)| *last > seen)
    }

    fn change(&self, key: &Key, presence: Presence) -> Option<Change> {
        match (key, presence) {
            (Key::Task(id), Presence::Gone) => Some(Change::TaskForgotten(id.clone())),
            (Key::Alarm(id), Presence::Gone) => Some(Change::AlarmGone(id.clone())),
            (Key::Node, _) => Some(Change::Node(self.node.clone())),
            (Key::Drills, _) => Some(Change::Drills(self.drills.clone())),
            (Key::Nodes, _) => Some(Change::Nodes(self.nodes.clone())),
            (Key::Vehicle(id), _) => self.vehicles.get(id).cloned().map(Change::Vehicle),
            (Key::Lift(id), _) => self.lifts.get(id).cloned().map(Change::Lift),
            (Key::Task(id), Presence::Stands) => self.tasks.get(id).cloned().map(Change::Task),
            (Key::Alarm(id), Presence::Stands) => self.alarms.get(id).cloned().map(Change::Alarm),
        }
    }
}

/// Stores the newest state and tells whether it differs.
fn put<K: Ord, V: PartialEq>(map: &mut BTreeMap<K, V>, key: K, view: V) -> bool {
    if map.get(&key) == Some(&view) {
        return false;
    }
    map.insert(key, view);
    true
}

impl Log {
    fn note(&mut self, revision: Revision, key: Key, presence: Presence) {
        if let Some(earlier) = self.by_key.insert(key.clone(), revision)
            && let Some((_, Presence::Gone)) = self.by_revision.remove(&earlier)
        {
            self.gone -= 1;
        }
        self.by_revision.insert(revision, (key, presence));
        if presence == Presence::Gone {
            self.gone += 1;
            self.drop_oldest_gone();
        }
    }

    fn drop_oldest_gone(&mut self) {
        if self.gone <= GONE_KEPT {
            return;
        }
        let oldest = self.by_revision.iter().find(|(_, (_, presence))| *presence == Presence::Gone);
        if let Some((revision, (key, _))) = oldest.map(|(revision, it)| (*revision, it.clone())) {
            self.by_revision.remove(&revision);
            self.by_key.remove(&key);
            self.gone -= 1;
            self.horizon = revision;
        }
    }
}
