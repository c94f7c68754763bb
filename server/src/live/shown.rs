//! The newest state of each entity, and in which order they changed last.
//!
//! Each change gets the next revision, and an entity stands in the change log once, under its last revision. A
//! browser remembers the revision up to which it was served; what it lacks is the rest of the log. So conflation
//! needs no queue per browser: a slow one costs nothing but its two numbers, and gets the newest states whenever
//! it comes back. Of entities that are gone the log keeps [`GONE_KEPT`]; whoever is further behind gets everything.
//!
//! Revisions are this node's own. For browsers that come from another node each change is noted with the ledger's
//! sequence at which it was shown, at or after the entry that caused it: what was noted later than a sequence is all
//! that can have changed in the ledger since, and at worst a little more.

use std::collections::BTreeMap;

use kernel::ids::{AlarmId, LedgerSequence, LiftId, TaskId, VehicleId};
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
    /// The ledger is applied up to here.
    sequence: LedgerSequence,
    /// Where the ledger stood when this began: what changed before is not known one by one. None before the first.
    begun: Option<LedgerSequence>,
    revision: Revision,
    at_once: Log,
    paced: Log,
}

/// Entities by the revision of their last change.
#[derive(Debug, Default)]
struct Log {
    by_revision: BTreeMap<Revision, Noted>,
    by_key: BTreeMap<Key, Revision>,
    gone: usize,
    /// Tombstones up to here were dropped.
    horizon: (Revision, LedgerSequence),
}

#[derive(Clone, Debug)]
struct Noted {
    key: Key,
    presence: Presence,
    /// Where the ledger stood.
    sequence: LedgerSequence,
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
            sequence: LedgerSequence(0),
            begun: None,
            revision: 0,
            at_once: Log::default(),
            paced: Log::default(),
        }
    }

    /// The last revision.
    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    /// The ledger is applied up to here: what is put from now on is of then.
    pub(super) fn ledger_at(&mut self, sequence: LedgerSequence) {
        self.sequence = sequence;
        self.begun.get_or_insert(sequence);
    }

    /// Where the ledger stands.
    pub(super) fn sequence(&self) -> LedgerSequence {
        self.sequence
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
        let (revision, sequence) = (self.revision, self.sequence);
        self.log_mut(pace).note(revision, Noted { key, presence, sequence });
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
        if seen < log.horizon.0 {
            return None;
        }
        let newer = log.by_revision.range(seen.saturating_add(1)..);
        Some(newer.filter_map(|(_, noted)| self.change(noted)).collect())
    }

    /// What a browser lacks that holds everything of the ledger up to `after`, and knows nothing of what this node
    /// hears; none when that cannot be told.
    pub(super) fn after(&self, after: LedgerSequence) -> Option<Vec<Change>> {
        let known_from = self.begun?.max(self.at_once.horizon.1);
        if after < known_from || after > self.sequence {
            return None;
        }
        let is_due = |noted: &&Noted| match &noted.key {
            // They follow whole.
            Key::Node | Key::Nodes | Key::Vehicle(_) | Key::Lift(_) => false,
            Key::Task(id) => noted.sequence > after || self.tasks.get(id).is_some_and(is_heard),
            Key::Alarm(_) | Key::Drills => noted.sequence > after,
        };
        let mut changes = vec![Change::Node(self.node.clone()), Change::Nodes(self.nodes.clone())];
        changes.extend(self.at_once.by_revision.values().filter(is_due).filter_map(|it| self.change(it)));
        changes.extend(self.vehicles.values().cloned().map(Change::Vehicle));
        changes.extend(self.lifts.values().cloned().map(Change::Lift));
        Some(changes)
    }

    /// Whether something changed after `seen`.
    pub(super) fn has_since(&self, pace: Pace, seen: Revision) -> bool {
        self.log(pace).by_revision.last_key_value().is_some_and(|(last, _)| *last > seen)
    }

    fn change(&self, noted: &Noted) -> Option<Change> {
        match (&noted.key, noted.presence) {
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

/// Whether a task's view rests on what a node hears of its vehicle, beside the ledger.
fn is_heard(task: &TaskView) -> bool {
    task.vehicle.is_some() && !task.state.is_terminal()
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
    fn note(&mut self, revision: Revision, noted: Noted) {
        if let Some(earlier) = self.by_key.insert(noted.key.clone(), revision)
            && let Some(Noted { presence: Presence::Gone, .. }) = self.by_revision.remove(&earlier)
        {
            self.gone -= 1;
        }
        if noted.presence == Presence::Gone {
            self.gone += 1;
        }
        self.by_revision.insert(revision, noted);
        self.drop_oldest_gone();
    }

    fn drop_oldest_gone(&mut self) {
        if self.gone <= GONE_KEPT {
            return;
        }
        let oldest = self.by_revision.iter().find(|(_, noted)| noted.presence == Presence::Gone);
        if let Some((revision, noted)) = oldest.map(|(revision, it)| (*revision, it.clone())) {
            self.by_revision.remove(&revision);
            self.by_key.remove(&noted.key);
            self.gone -= 1;
            self.horizon = (revision, noted.sequence);
        }
    }
}
