//! One browser's place in the stream of changes.

use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::ids::LedgerSequence;
use kernel::wire::live::{Change, Delta, RESUME_WAIT_MAX, Snapshot};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::hub::Hub;
use super::shown::{Pace, Revision};

/// One browser's place in the stream of changes.
#[derive(Debug)]
pub struct Follower {
    hub: Hub,
    changed: watch::Receiver<Revision>,
    seen: Revision,
    seen_paced: Revision,
    /// Everything of the ledger up to here was taken.
    served: LedgerSequence,
    _permit: OwnedSemaphorePermit,
}

/// What a browser holds already, by its own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `site` of the `hello` under which it got that.
    pub site: String,
    /// Everything of the ledger up to here.
    pub after: LedgerSequence,
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
    pub(super) fn new(hub: Hub, changed: watch::Receiver<Revision>, permit: OwnedSemaphorePermit) -> Self {
        Self { hub, changed, seen: 0, seen_paced: 0, served: LedgerSequence(0), _permit: permit }
    }

    /// Everything, from which deltas go on.
    pub fn snapshot(&mut self, server_time: DateTime<Utc>) -> Snapshot {
        let hub = self.hub.clone();
        let state = hub.state();
        self.served_all(state.shown.revision(), state.shown.sequence());
        state.snapshot(hub.plant(), server_time)
    }

    /// What a browser lacks that holds everything up to `cursor`, from which deltas go on. Waits for the ledger at most
    /// [`RESUME_WAIT_MAX`]. None when that cannot be told: another site or ledger, one that stays behind, or so far
    /// back that what is gone since is forgotten. Then only [`Self::snapshot`] helps.
    pub async fn resume(
        &mut self,
        cursor: &Cursor,
        server_time: impl Fn() -> DateTime<Utc>,
    ) -> Option<Delta> {
        let hub = self.hub.clone();
        if !hub.reaches(cursor, Duration::from_millis(RESUME_WAIT_MAX.0)).await {
            return None;
        }
        let state = hub.state();
        let changes = state.shown.after(cursor.after)?;
        self.served_all(state.shown.revision(), state.shown.sequence());
        Some(Delta { sequence: self.served, server_time: server_time(), changes })
    }

    fn served_all(&mut self, revision: Revision, sequence: LedgerSequence) {
        (self.seen, self.seen_paced, self.served) = (revision, revision, sequence);
    }

    /// Everything of the ledger up to here was taken. The hub may stand further, with changes that are still to be taken.
    pub fn served(&mut self) -> LedgerSequence {
        let state = self.hub.state();
        if !state.shown.has_since(Pace::AtOnce, self.seen) {
            self.served = state.shown.sequence();
        }
        self.served
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
        let paced: Option<Vec<Change>> = match due {
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
        self.served = state.shown.sequence();
        changes.extend(paced);
        let sequence = self.served;
        (!changes.is_empty()).then_some(Update::Delta(Delta { sequence, server_time, changes }))
    }
}

#[cfg(test)]
mod tests;
