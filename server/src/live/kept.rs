//! Orders and tasks for REST: all open ones and a bounded number of ended ones, newest first.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

/// Ended orders, and ended tasks, that REST still lists: some days of a busy site, a few megabytes.
pub const ENDED_ORDERS_KEPT: usize = 10_000;

/// Views for REST: all open ones and a bounded number of ended ones.
#[derive(Debug)]
pub(super) struct Kept<I, V> {
    views: BTreeMap<I, (DateTime<Utc>, V)>,
    by_age: BTreeSet<(DateTime<Utc>, I)>,
    ended: BTreeSet<(DateTime<Utc>, I)>,
    ended_at: BTreeMap<I, DateTime<Utc>>,
}

impl<I: Ord + Clone, V: Clone> Kept<I, V> {
    pub(super) fn new() -> Self {
        Self {
            views: BTreeMap::new(),
            by_age: BTreeSet::new(),
            ended: BTreeSet::new(),
            ended_at: BTreeMap::new(),
        }
    }

    /// Stores the newest view. `began` counts at first sight only, so that lists keep their order.
    pub(super) fn put(&mut self, id: I, view: V, began: DateTime<Utc>, ended: Option<DateTime<Utc>>) {
        let began = self.views.get(&id).map_or(began, |(began, _)| *began);
        self.by_age.insert((began, id.clone()));
        self.views.insert(id.clone(), (began, view));
        if let Some(earlier) = self.ended_at.remove(&id) {
            self.ended.remove(&(earlier, id.clone()));
        }
        if let Some(at) = ended {
            self.ended.insert((at, id.clone()));
            self.ended_at.insert(id, at);
        }
        while self.ended.len() > ENDED_ORDERS_KEPT {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((_, id)) = self.ended.pop_first() else { return };
        self.ended_at.remove(&id);
        if let Some((began, _)) = self.views.remove(&id) {
            self.by_age.remove(&(began, id));
        }
    }

    pub(super) fn get(&self, id: &I) -> Option<V> {
        self.views.get(id).map(|(_, view)| view.clone())
    }

    /// Newest first, older than `before`, at most `limit` of those that match.
    pub(super) fn page(
        &self,
        before: Option<&(DateTime<Utc>, I)>,
        limit: usize,
        matches: impl Fn(&V) -> bool,
    ) -> Listed<(DateTime<Utc>, I), V> {
        let older: Box<dyn Iterator<Item = &(DateTime<Utc>, I)>> = match before {
            Some(key) => Box::new(self.by_age.range(..key.clone()).rev()),
            None => Box::new(self.by_age.iter().rev()),
        };
        let mut found = older
            .filter_map(|key| self.views.get(&key.1).map(|(_, view)| (key, view)))
            .filter(|(_, view)| matches(view));
        let mut listed = Listed { items: Vec::new(), next: None };
        for (key, view) in found.by_ref().take(limit) {
            listed.items.push(view.clone());
            listed.next = Some(key.clone());
        }
        if found.next().is_none() {
            listed.next = None;
        }
        listed
    }
}

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<K, V> {
    /// Newest first.
    pub items: Vec<V>,
    /// Key of the last item, when there are more.
    pub next: Option<K>,
}
