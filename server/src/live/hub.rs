//! The hub: fed by the control loop, read by REST, followed by browsers.
//!
//! It holds every vehicle, lift and standing alarm, all open orders and tasks, and [`ENDED_ORDERS_KEPT`] ended ones.
//! Older ones are in the ledger alone. Nothing here decides anything.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use kernel::health::{Health, Shifts};
use kernel::ids::{DrillId, LedgerSequence, LiftId, NodeId, OrderId, TaskId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::drill::DrillView;
use kernel::wire::ledger::Entry;
use kernel::wire::live::{Change, ENDED_TASKS_SHOWN, Snapshot};
use kernel::wire::view::{AlarmView, LiftView, NodeView, OrderView, PeerView, TaskView, VehicleView};
use tokio::sync::{Semaphore, watch};

use super::follower::{Cursor, Follower};
use super::kept::Kept;
use super::shown::{Revision, Shown};
use super::site_id;

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
    health: Mutex<Health<Tz>>,
    changed: watch::Sender<Revision>,
    clients: Arc<Semaphore>,
    /// The ledger is not taken in yet.
    opening: AtomicBool,
}

#[derive(Debug)]
pub(super) struct State {
    /// Names the site, its plant and its ledger; none before the ledger's first entry is known.
    site_id: Option<String>,
    pub(super) shown: Shown,
    orders: Kept<OrderId, OrderView>,
    tasks: Kept<TaskId, TaskView>,
    /// Ended tasks that browsers still show, the oldest first.
    shown_ended: BTreeSet<(DateTime<Utc>, TaskId)>,
}

impl Hub {
    /// A hub that knows the plant and nothing of its state.
    pub fn new(plant: Arc<Plant>, node: NodeView) -> Self {
        let state = State {
            site_id: None,
            shown: Shown::new(node),
            orders: Kept::new(),
            tasks: Kept::new(),
            shown_ended: BTreeSet::new(),
        };
        let health = Mutex::new(uncounted(&plant, state.shown.node.id.clone()));
        let (changed, _) = watch::channel(0);
        let clients = Arc::new(Semaphore::new(CLIENTS_MAX));
        let opening = AtomicBool::new(false);
        let state = Mutex::new(state);
        Self { inner: Arc::new(Inner { plant, state, health, changed, clients, opening }) }
    }

    /// The ledger is about to be taken in: nothing of the site is known before something of it is shown.
    pub fn open(&self) {
        self.inner.opening.store(true, Ordering::Release);
    }

    /// Whether nothing of the site is known yet.
    pub fn is_opening(&self) -> bool {
        self.inner.opening.load(Ordering::Acquire)
    }

    /// Takes the newest states of entities, as they are when the ledger is applied up to `sequence`. All at once: no
    /// browser gets a state without the sequence that it belongs to.
    pub fn show_at(&self, sequence: LedgerSequence, changes: Vec<Change>) {
        let mut state = self.state();
        state.shown.ledger_at(sequence);
        for change in changes {
            state.show(change);
        }
        let revision = state.shown.revision();
        drop(state);
        self.inner.opening.store(false, Ordering::Release);
        self.inner.changed.send_replace(revision);
    }

    /// Takes the newest state of one entity, which changed without the ledger.
    pub fn show(&self, change: Change) {
        self.show_at(self.sequence(), vec![change]);
    }

    /// Takes notice of the ledger's entries, in ledger order and each once: the first tells which ledger it is, and lift
    /// health is counted from all.
    pub fn know_ledger(&self, entries: &[Entry]) {
        let mut health = self.health();
        entries.iter().for_each(|it| health.take(it));
        drop(health);
        if let Some(first) = entries.first().filter(|it| it.sequence == LedgerSequence(1)) {
            self.state().site_id = site_id::of(&self.inner.plant, first);
        }
    }

    /// Names the site, its plant and its ledger; none before the ledger's first entry is known.
    pub fn site_id(&self) -> Option<String> {
        self.state().site_id.clone()
    }

    /// A lock that is never held across an await. A panic while it was held leaves views, each whole by itself.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How well the lifts did. The control loop tells it what it hears and does. Never held across an await, nor
    /// together with another lock.
    pub fn health(&self) -> MutexGuard<'_, Health<Tz>> {
        self.inner.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plant.
    pub fn plant(&self) -> &Arc<Plant> {
        &self.inner.plant
    }

    /// Where the ledger stands.
    pub fn sequence(&self) -> LedgerSequence {
        self.state().shown.sequence()
    }

    /// The node that serves.
    pub fn node(&self) -> NodeView {
        self.state().shown.node.clone()
    }

    /// All control nodes that ever took part, by name.
    pub fn nodes(&self) -> Vec<PeerView> {
        self.state().shown.nodes.clone()
    }

    /// A control node.
    pub fn peer(&self, id: &NodeId) -> Option<PeerView> {
        self.state().shown.nodes.iter().find(|it| it.id == *id).cloned()
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
        self.order_shown_as(id, bound, |_| true).await
    }

    /// Waits until an order is shown as wanted, at most `bound`.
    pub async fn order_shown_as(
        &self,
        id: &OrderId,
        bound: Duration,
        fits: impl Fn(&OrderView) -> bool,
    ) -> Option<OrderView> {
        self.shown_within(bound, |hub| hub.order(id).filter(&fits)).await
    }

    /// Waits until the ledger is applied as far as a browser knows it, at most `bound`. Tells whether it is, and whether it
    /// is the ledger that the browser followed.
    pub(super) async fn reaches(&self, cursor: &Cursor, bound: Duration) -> bool {
        let look = |hub: &Self| {
            let state = hub.state();
            match &state.site_id {
                Some(site) if *site != cursor.site => Some(false),
                Some(_) if state.shown.sequence() >= cursor.after => Some(true),
                Some(_) | None => None,
            }
        };
        self.shown_within(bound, look).await.unwrap_or(false)
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
        Some(Follower::new(self.clone(), changed, permit))
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

    pub(super) fn snapshot(&self, plant: &Plant, server_time: DateTime<Utc>) -> Snapshot {
        let mut tasks: Vec<TaskView> = self.shown.tasks.values().cloned().collect();
        tasks.sort_by(|a, b| (b.since, &b.id).cmp(&(a.since, &a.id)));
        Snapshot {
            sequence: self.shown.sequence(),
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

/// Lift health of which nothing is counted yet, by the clock of the site. The site file is refused when its time zone is
/// not known.
fn uncounted(plant: &Plant, node: NodeId) -> Health<Tz> {
    let zone = plant.time_zone.parse().unwrap_or(Tz::UTC);
    Health::new(node, Shifts::new(zone, &plant.shift_starts_min), plant.lifts.keys().cloned())
}

#[cfg(test)]
pub(super) mod tests;
