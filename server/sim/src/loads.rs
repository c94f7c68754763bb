//! Loads, counted where they are: outside the system, so that "each load is moved once" is seen and not believed.

use std::collections::{BTreeMap, BTreeSet};

use kernel::ids::{OrderId, PointId};
use serde::{Deserialize, Serialize};

/// What happened to the load of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadCount {
    /// How often it was taken up.
    pub picked: u32,
    /// How often it was put down.
    pub dropped: u32,
    /// Where it was handled last.
    pub at: Option<PointId>,
}

/// Every load that a vehicle ever handled, by the order that it belongs to. Nothing is forgotten: it is evidence, and
/// lives as long as the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadBook {
    counts: BTreeMap<OrderId, LoadCount>,
    /// Counted anew since [`LoadBook::take_changes`].
    changed: BTreeSet<OrderId>,
}

/// What happened to a load, as it is kept over a stop of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLoad {
    picked: u32,
    dropped: u32,
    at: Option<PointId>,
}

impl LoadBook {
    /// A vehicle took it up.
    pub fn picked(&mut self, order: OrderId, at: PointId) {
        let count = self.touch(order);
        count.picked += 1;
        count.at = Some(at);
    }

    /// A vehicle put it down.
    pub fn dropped(&mut self, order: OrderId, at: PointId) {
        let count = self.touch(order);
        count.dropped += 1;
        count.at = Some(at);
    }

    fn touch(&mut self, order: OrderId) -> &mut LoadCount {
        self.changed.insert(order.clone());
        self.counts.entry(order).or_default()
    }

    /// What happened to the load of an order; none if it was never touched.
    pub fn get(&self, order: &OrderId) -> Option<&LoadCount> {
        self.counts.get(order)
    }

    /// All of them, by order.
    pub fn iter(&self) -> impl Iterator<Item = (&OrderId, &LoadCount)> {
        self.counts.iter()
    }

    /// All of them, to be kept.
    pub(crate) fn kept(&self) -> BTreeMap<OrderId, KeptLoad> {
        self.counts.iter().map(|(order, count)| (order.clone(), KeptLoad::of(count))).collect()
    }

    /// Those that were counted anew since this was asked last, to be kept.
    pub(crate) fn take_changes(&mut self) -> BTreeMap<OrderId, KeptLoad> {
        let changed = std::mem::take(&mut self.changed);
        let count = |order: OrderId| {
            let kept = KeptLoad::of(self.counts.get(&order)?);
            Some((order, kept))
        };
        changed.into_iter().filter_map(count).collect()
    }

    /// The book as it was kept. Nobody knows yet whether it is also kept where the next changes go, so all of it counts
    /// as changed.
    pub(crate) fn thaw(kept: BTreeMap<OrderId, KeptLoad>) -> Self {
        let changed = kept.keys().cloned().collect();
        let count = |it: KeptLoad| LoadCount { picked: it.picked, dropped: it.dropped, at: it.at };
        Self { counts: kept.into_iter().map(|(order, it)| (order, count(it))).collect(), changed }
    }
}

impl KeptLoad {
    fn of(count: &LoadCount) -> Self {
        let LoadCount { picked, dropped, at } = count;
        Self { picked: *picked, dropped: *dropped, at: at.clone() }
    }
}
