//! The hub: fed by the control loop, read by REST, followed by browsers.
//!
//! It holds every vehicle, lift and standing alarm, all open orders and tasks, and [`ENDED_ORDERS_KEPT`] ended ones.
//! Older ones are in the ledger alone. Nothing here decides anything.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::ids::{DrillId, LedgerSequence, LiftId, OrderId, TaskId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::drill::DrillView;
use kernel::wire::live::{Change, Delta, ENDED_TASKS_SHOWN, Snapshot};
use kernel::wire::view::{AlarmView, LiftView, NodeView, OrderView, TaskView, VehicleView};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::kept::Kept;
use super::shown::{Pace, Revision, Shown};

pub use super::kept::{ENDED_ORDERS_KEPT, Listed};

/// Browsers at once: a control room has a dozen screens. More are asked to come later.
pub const CLIENTS_MAX: usize = 64;

/// Vehicles and lifts are sent at most this often.
pub const PACED_PERIOD: Duration = Duration::from_millis(250);

/// Newest first: by when it was placed, and by name among those of one instant.
pub type OrderKey = (DateTime<Utc>, OrderId);
/// Newest first: by when it entered its state at first sight, and by name among those of one instant.
pub type TaskKey = (DateTime<Utc>, TaskId);

/// The state of the site, shared by whoever asks. Clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    plant: Arc<Plant>,
    state: Mutex<State>,
    changed: watch::Sender<Revision>,
    clients: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    sequence: LedgerSequence,
    shown: Shown,
    orders: Kept<OrderId, OrderView>,
    tasks: Kept<TaskId, TaskView>,
    /// Ended tasks that browsers still show, the oldest first.
    shown_ended: BTreeSet<(DateTime<Utc>, TaskId)>,
}

impl Hub {
    /// A hub that knows the plant and nothing of its state.
    pub fn new(plant: Arc<Plant>, node: NodeView) -> Self {
        let state = State {
            sequence: LedgerSequence(0),
            shown: Shown::new(node),
            orders: Kept::new(),
            tasks: Kept::new(),
            shown_ended: BTreeSet::new(),
        };
        let (changed, _) = watch::channel(0);
        let clients = Arc::new(Semaphore::new(CLIENTS_MAX));
        Self { inner: Arc::new(Inner { plant, state: Mutex::new(state), changed, clients }) }
    }

    /// Takes the newest state of one entity.
    pub fn show(&self, change: Change) {
        let mut state = self.state();
        state.show(change);
        let revision = state.shown.revision();
        drop(state);
        self.inner.changed.send_replace(revision);
    }

    /// The ledger stands here.
    pub fn ledger_at(&self, sequence: LedgerSequence) {
        self.state().sequence = sequence;
    }

    /// A lock that is never held across an await. A panic while it was held leaves views, each whole by itself.
    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plant.
    pub fn plant(&self) -> &Arc<Plant> {
        &self.inner.plant
    }

    /// Where the ledger stands.
    pub fn sequence(&self) -> LedgerSequence {
        self.state().sequence
    }

    /// The node that serves.
    pub fn node(&self) -> NodeView {
        self.state().shown.node.clone()
    }

    /// All vehicles, by name.
    pub fn vehicles(&self) -> Vec<VehicleView> {
        self.state().shown.vehicles.values().cloned().collect()
    }

    /// A vehicle.
    pub fn vehicle(&self, id: &VehicleId) -> Option<VehicleView> {
        self.state().shown.vehicles.get(id).cloned()
    }

    /// All lifts, by name.
    pub fn lifts(&self) -> Vec<LiftView> {
        self.state().shown.lifts.values().cloned().collect()
    }

    /// A lift.
    pub fn lift(&self, id: &LiftId) -> Option<LiftView> {
        self.state().shown.lifts.get(id).cloned()
    }

    /// The standing alarms, most urgent first, then the oldest first.
    pub fn alarms(&self) -> Vec<AlarmView> {
        self.state().alarms()
    }

    /// Drills that stand and those that ended last, the oldest first.
    pub fn drills(&self) -> Vec<DrillView> {
        self.state().shown.drills.clone()
    }

    /// Waits until a drill is shown as wanted, at most `bound`.
    pub async fn drill_shown(
        &self,
        id: &DrillId,
        bound: Duration,
        fits: impl Fn(&DrillView) -> bool,
    ) -> Option<DrillView> {
        self.shown_within(bound, |hub| hub.drills().into_iter().find(|it| it.id == *id && fits(it))).await
    }

    /// An order; none when it never was or ended too long ago.
    pub fn order(&self, id: &OrderId) -> Option<OrderView> {
        self.state().orders.get(id)
    }

    /// Orders older than `before`, newest first, at most `limit` of those that match.
    pub fn orders(
        &self,
        before: Option<&OrderKey>,
        limit: usize,
        matches: impl Fn(&OrderView) -> bool,
    ) -> Listed<OrderKey, OrderView> {
        self.state().orders.page(before, limit, matches)
    }

    /// A task; none when it never was or ended too long ago.
    pub fn task(&self, id: &TaskId) -> Option<TaskView> {
        self.state().tasks.get(id)
    }

    /// Tasks older than `before`, newest first, at most `limit` of those that match.
    pub fn tasks(
        &self,
        before: Option<&TaskKey>,
        limit: usize,
        matches: impl Fn(&TaskView) -> bool,
    ) -> Listed<TaskKey, TaskView> {
        self.state().tasks.page(before, limit, matches)
    }

    /// Waits until an order is shown, at most `bound`.
    pub async fn order_shown(&self, id: &OrderId, bound: Duration) -> Option<OrderView> {
        self.shown_within(bound, |hub| hub.order(id)).await
    }

    async fn shown_within<V>(&self, bound: Duration, look: impl Fn(&Self) -> Option<V>) -> Option<V> {
        let mut changed = self.inner.changed.subscribe();
        let shown = async {
            loop {
                if let Some(view) = look(self) {
                    return Some(view);
                }
                if changed.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(bound, shown).await.ok().flatten()
    }

    /// Everything that a browser shows.
    pub fn snapshot(&self, server_time: DateTime<Utc>) -> Snapshot {
        self.state().snapshot(&self.inner.plant, server_time)
    }

    /// Lets a browser follow; none when [`CLIENTS_MAX`] do already.
    pub fn follow(&self) -> Option<Follower> {
        let permit = Arc::clone(&self.inner.clients).try_acquire_owned().ok()?;
        let changed = self.inner.changed.subscribe();
        Some(Follower { hub: self.clone(), changed, seen: 0, seen_paced: 0, _permit: permit })
    }
}

impl State {
    fn show(&mut self, change: Change) {
        match change {
            Change::Node(view) => self.shown.put_node(view),
            Change::Vehicle(view) => self.shown.put_vehicle(view),
            Change::Lift(view) => self.shown.put_lift(view),
            Change::Order(view) => {
                let (id, placed_at, ended_at) = (view.order.id.clone(), view.placed_at, view.ended_at);
                self.orders.put(id, view, placed_at, ended_at);
            }
            Change::Task(view) => self.show_task(view),
            Change::TaskForgotten(id) => self.forget_task(&id),
            Change::Alarm(view) => self.shown.put_alarm(view),
            Change::AlarmGone(id) => self.shown.remove_alarm(&id),
            Change::Drills(drills) => self.shown.put_drills(drills),
            Change::Nodes(nodes) => self.shown.put_nodes(nodes),
        }
    }

    fn show_task(&mut self, view: TaskView) {
        let (id, since) = (view.id.clone(), view.since);
        let ended = view.state.is_terminal();
        self.tasks.put(id.clone(), view.clone(), since, ended.then_some(since));
        self.shown.put_task(view);
        self.shown_ended.retain(|(_, shown)| *shown != id);
        if ended {
            self.shown_ended.insert((since, id));
        }
        while self.shown_ended.len() > ENDED_TASKS_SHOWN {
            if let Some((_, oldest)) = self.shown_ended.pop_first() {
                self.shown.remove_task(&oldest);
            }
        }
    }

    /// Browsers forget it; REST keeps it within its own bound.
    fn forget_task(&mut self, id: &TaskId) {
        self.shown_ended.retain(|(_, shown)| shown != id);
        self.shown.remove_task(id);
    }

    fn alarms(&self) -> Vec<AlarmView> {
        let mut alarms: Vec<AlarmView> = self.shown.alarms.values().cloned().collect();
        alarms.sort_by_key(|alarm| (alarm.priority, alarm.raised_at));
        alarms
    }

    fn snapshot(&self, plant: &Plant, server_time: DateTime<Utc>) -> Snapshot {
        let mut tasks: Vec<TaskView> = self.shown.tasks.values().cloned().collect();
        tasks.sort_by(|a, b| (b.since, &b.id).cmp(&(a.since, &a.id)));
        Snapshot {
            sequence: self.sequence,
            server_time,
            plant: plant.clone(),
            node: self.shown.node.clone(),
            vehicles: self.shown.vehicles.values().cloned().collect(),
            lifts: self.shown.lifts.values().cloned().collect(),
            tasks,
            alarms: self.alarms(),
            drills: self.shown.drills.clone(),
            nodes: self.shown.nodes.clone(),
        }
    }
}

/// One browser's place in the stream of changes.
#[derive(Debug)]
pub struct Follower {
    hub: Hub,
    changed: watch::Receiver<Revision>,
    seen: Revision,
    seen_paced: Revision,
    _permit: OwnedSemaphorePermit,
}

/// What a browser needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The newest state of each entity that changed.
    Delta(Delta),
    /// It was away for too long: everything.
    Snapshot(Box<Snapshot>),
}

/// Which changes are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Alarms, tasks, the node.
    AtOnce,
    /// Vehicles and lifts too.
    All,
}

impl Follower {
    /// Everything, from which deltas go on.
    pub fn snapshot(&mut self, server_time: DateTime<Utc>) -> Snapshot {
        let state = self.hub.state();
        self.seen = state.shown.revision();
        self.seen_paced = self.seen;
        state.snapshot(&self.hub.inner.plant, server_time)
    }

    /// Waits until something changed that was not taken yet.
    pub async fn changed(&mut self, due: Due) {
        loop {
            // Marked as seen before the look, so that a change in between is not missed.
            self.changed.borrow_and_update();
            if self.is_behind(due) {
                return;
            }
            if self.changed.changed().await.is_err() {
                // The hub lives as long as this follower does.
                std::future::pending::<()>().await;
            }
        }
    }

    fn is_behind(&self, due: Due) -> bool {
        let state = self.hub.state();
        let at_once = state.shown.has_since(Pace::AtOnce, self.seen);
        let paced = due == Due::All && state.shown.has_since(Pace::Paced, self.seen_paced);
        at_once || paced
    }

    /// Takes what is due; none when nothing changed.
    pub fn take(&mut self, due: Due, server_time: DateTime<Utc>) -> Option<Update> {
        let state = self.hub.state();
        let at_once = state.shown.since(Pace::AtOnce, self.seen);
        let paced = match due {
            Due::AtOnce => Some(Vec::new()),
            Due::All => state.shown.since(Pace::Paced, self.seen_paced),
        };
        let (Some(mut changes), Some(paced)) = (at_once, paced) else {
            drop(state);
            return Some(Update::Snapshot(Box::new(self.snapshot(server_time))));
        };
        self.seen = state.shown.revision();
        if due == Due::All {
            self.seen_paced = self.seen;
        }
        changes.extend(paced);
        let sequence = state.sequence;
        (!changes.is_empty()).then_some(Update::Delta(Delta { sequence, server_time, changes }))
    }
}

#[cfg(test)]
mod tests;
