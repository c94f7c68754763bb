//! Loads, counted where they are: outside the system, so that "each load is moved once" is seen and not believed.

use std::collections::BTreeMap;

use kernel::ids::{OrderId, PointId};

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
}

impl LoadBook {
    /// A vehicle took it up.
    pub fn picked(&mut self, order: OrderId, at: PointId) {
        let count = self.counts.entry(order).or_default();
        count.picked += 1;
        count.at = Some(at);
    }

    /// A vehicle put it down.
    pub fn dropped(&mut self, order: OrderId, at: PointId) {
        let count = self.counts.entry(order).or_default();
        count.dropped += 1;
        count.at = Some(at);
    }

    /// What happened to the load of an order; none if it was never touched.
    pub fn get(&self, order: &OrderId) -> Option<&LoadCount> {
        self.counts.get(order)
    }

    /// All of them, by order.
    pub fn iter(&self) -> impl Iterator<Item = (&OrderId, &LoadCount)> {
        self.counts.iter()
    }
}
