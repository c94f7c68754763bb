//! The site as signals: one per entity, so that a delta redraws what changed and nothing else.
//!
//! A keyed collection of `reactive_stores` is not used: its `patch` drops new values of items that nobody has read
//! by key, and a stale lift would look live.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use kernel::ids::{AlarmId, LedgerSequence, LiftId, TaskId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::drill::DrillView;
use kernel::wire::live::{Delta, Snapshot, Tick};
use kernel::wire::view::{AlarmView, LiftView, NodeView, PeerView, TaskView, VehicleView};
use leptos::prelude::*;

use crate::state::Site;

/// One signal per entity. Counted references, so that a screen that runs for weeks frees what is forgotten.
pub(crate) type Entities<K, V> = BTreeMap<K, ArcRwSignal<V>>;

/// The whole site.
#[derive(Clone, Copy)]
pub(crate) struct Store {
    site: StoredValue<Site>,
    pub(crate) plant: RwSignal<Arc<Plant>>,
    pub(crate) sequence: RwSignal<LedgerSequence>,
    /// The server's clock at the newest frame.
    pub(crate) server_time: RwSignal<DateTime<Utc>>,
    /// The node that serves.
    pub(crate) node: RwSignal<NodeView>,
    pub(crate) vehicles: RwSignal<Entities<VehicleId, VehicleView>>,
    pub(crate) lifts: RwSignal<Entities<LiftId, LiftView>>,
    pub(crate) tasks: RwSignal<Entities<TaskId, TaskView>>,
    pub(crate) alarms: RwSignal<Entities<AlarmId, AlarmView>>,
    /// Those that stand and those that ended last, the oldest first.
    pub(crate) drills: RwSignal<Vec<DrillView>>,
    /// All control nodes that ever took part.
    pub(crate) peers: RwSignal<Vec<PeerView>>,
}

impl Store {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        let site = Site::new(snapshot);
        Self {
            plant: RwSignal::new(site.plant.clone()),
            sequence: RwSignal::new(site.sequence),
            server_time: RwSignal::new(site.server_time),
            node: RwSignal::new(site.node.clone()),
            vehicles: RwSignal::new(entities(&site.vehicles)),
            lifts: RwSignal::new(entities(&site.lifts)),
            tasks: RwSignal::new(entities(&site.tasks)),
            alarms: RwSignal::new(entities(&site.alarms)),
            drills: RwSignal::new(site.drills.clone()),
            peers: RwSignal::new(site.peers.clone()),
            site: StoredValue::new(site),
        }
    }

    /// Everything anew: whatever was missed is in it.
    pub(crate) fn replace(self, snapshot: Snapshot) {
        self.site.update_value(|site| *site = Site::new(snapshot));
        self.show();
    }

    pub(crate) fn apply(self, delta: Delta) {
        self.site.update_value(|site| site.apply(delta));
        self.show();
    }

    pub(crate) fn tick(self, tick: Tick) {
        self.site.update_value(|site| site.tick(tick));
        self.show();
    }

    fn show(self) {
        self.site.with_value(|site| {
            set_changed(self.plant, &site.plant);
            set_changed(self.sequence, &site.sequence);
            set_changed(self.server_time, &site.server_time);
            set_changed(self.node, &site.node);
            set_changed(self.drills, &site.drills);
            set_changed(self.peers, &site.peers);
            sync(self.vehicles, &site.vehicles);
            sync(self.lifts, &site.lifts);
            sync(self.tasks, &site.tasks);
            sync(self.alarms, &site.alarms);
        });
    }
}

fn set_changed<T: Clone + PartialEq + Send + Sync + 'static>(signal: RwSignal<T>, value: &T) {
    if signal.with_untracked(|old| old != value) {
        signal.set(value.clone());
    }
}

fn entities<K, V>(values: &BTreeMap<K, V>) -> Entities<K, V>
where
    K: Clone + Ord,
    V: Clone + Send + Sync + 'static,
{
    values.iter().map(|(key, value)| (key.clone(), ArcRwSignal::new(value.clone()))).collect()
}

/// Makes the signals say what `values` say; membership changes only when it does.
fn sync<K, V>(signals: RwSignal<Entities<K, V>>, values: &BTreeMap<K, V>)
where
    K: Clone + Ord + Send + Sync + 'static,
    V: Clone + PartialEq + Send + Sync + 'static,
{
    let old = signals.get_untracked();
    for (key, value) in values {
        if let Some(signal) = old.get(key)
            && signal.with_untracked(|shown| shown != value)
        {
            signal.set(value.clone());
        }
    }
    if !old.keys().eq(values.keys()) {
        let signal =
            |key: &K, value: &V| old.get(key).cloned().unwrap_or_else(|| ArcRwSignal::new(value.clone()));
        signals.set(values.iter().map(|(key, value)| (key.clone(), signal(key, value))).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use kernel::wire::live::Change;

    #[test]
    fn a_value_that_nobody_has_read_yet_is_shown_all_the_same() {
        Owner::new().with(|| {
            let store = Store::new(sample::snapshot());
            let mut lift = sample::snapshot().lifts[0].clone();
            lift.verifying = None;
            store.apply(Delta {
                sequence: LedgerSequence(8),
                server_time: sample::at(1),
                changes: vec![Change::Lift(lift.clone()), Change::Task(sample::task("T-9"))],
            });
            assert_eq!(store.lifts.get_untracked()[&lift.id].get_untracked(), lift);
            assert!(store.tasks.get_untracked().contains_key(&sample::task("T-9").id));
        });
    }

    #[test]
    fn a_change_keeps_the_signal_and_a_removal_drops_it() {
        Owner::new().with(|| {
            let store = Store::new(sample::snapshot());
            let id = sample::snapshot().tasks[0].id.clone();
            let signal = store.tasks.get_untracked()[&id].clone();
            let mut changed = sample::snapshot();
            changed.tasks[0].priority = 9;
            store.replace(changed);
            assert_eq!(signal.get_untracked().priority, 9);

            let mut without = sample::snapshot();
            without.tasks.clear();
            store.replace(without);
            assert!(store.tasks.get_untracked().is_empty());
        });
    }
}
