//! Whether the ledger's database answers: one truth, fed by all who ask it, for everybody to watch.
//!
//! What has failed is away until the same is answered again. So a database that can be read and not be written is away
//! all the time, not now and then.

use std::collections::BTreeMap;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::JournalError;

/// What is asked of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// Where the chain ends. The follower asks all the time.
    Head,
    /// Entries. After a failure the follower asks for one.
    Entries,
    /// To take entries. After a failure the writer asks for its turn.
    Writes,
}

impl Side {
    /// So many failures in a row mean that it is away. A question that was slow once costs nobody an order; a proposal
    /// has cost one already.
    fn failures_min(self) -> u32 {
        match self {
            Self::Head | Self::Entries => 2,
            Self::Writes => 1,
        }
    }
}

#[derive(Clone, Debug)]
struct Failing {
    n_failures: u32,
    since: Instant,
    reason: String,
}

/// How far the ledger's database is within reach.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    failing: BTreeMap<Side, Failing>,
}

impl Reach {
    /// Why the ledger is away for who is behind a line that is cut.
    pub(super) const LINE_CUT: &str = "the line is cut";

    /// Why the ledger is away; none while it is there. It takes nothing while it is away, so nothing needs to be
    /// proposed.
    pub fn away(&self) -> Option<&str> {
        self.failures().next().map(|it| it.reason.as_str())
    }

    /// Of a ledger to which the line is cut.
    pub(crate) fn lost() -> Self {
        let mut reach = Self::default();
        reach.failed(Side::Writes, Self::LINE_CUT.to_owned());
        reach
    }

    fn failures(&self) -> impl Iterator<Item = &Failing> {
        let counting = self.failing.iter().filter(|(side, it)| it.n_failures >= side.failures_min());
        counting.map(|(_, it)| it)
    }

    fn failed(&mut self, side: Side, reason: String) {
        let fresh = Failing { n_failures: 0, since: Instant::now(), reason: String::new() };
        let failing = self.failing.entry(side).or_insert(fresh);
        failing.n_failures = failing.n_failures.saturating_add(1);
        failing.reason = reason;
    }
}

/// Where the truth is kept.
#[derive(Debug, Default)]
pub(super) struct Watched {
    reach: watch::Sender<Reach>,
    doubts: Notify,
}

impl Watched {
    pub(super) fn watch(&self) -> watch::Receiver<Reach> {
        self.reach.subscribe()
    }

    /// Something was not answered.
    pub(super) fn failed(&self, side: Side, error: &JournalError) {
        self.reach.send_if_modified(|reach| {
            let was_there = reach.away().is_none();
            reach.failed(side, error.to_string());
            let goes = was_there && reach.away().is_some();
            if goes {
                tracing::warn!("the ledger is away: {error}");
            }
            goes
        });
    }

    /// Something was answered.
    pub(super) fn answered(&self, side: Side) {
        self.reach.send_if_modified(|reach| {
            let since = reach.failures().map(|it| it.since).min();
            reach.failing.remove(&side);
            let comes = reach.away().is_none();
            if let Some(since) = since.filter(|_| comes) {
                tracing::info!("the ledger is back after {} s", since.elapsed().as_secs());
            }
            comes && since.is_some()
        });
    }

    /// Whether this has failed last, be it away or not.
    pub(super) fn is_failing(&self, side: Side) -> bool {
        self.reach.borrow().failing.contains_key(&side)
    }

    /// A question besides the follower's and the writer's was not answered: the writer is to look.
    pub(super) fn doubt(&self) {
        self.doubts.notify_one();
    }

    /// Waits for a doubt.
    pub(super) async fn doubted(&self) {
        self.doubts.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens, and whether it is away then.
    #[test]
    fn what_has_failed_is_away_until_the_same_is_answered() {
        let watched = Watched::default();
        let away = JournalError::Away("the line is cut".to_owned());
        let rows: [(bool, Side, bool); 9] = [
            (false, Side::Head, false),
            (true, Side::Head, false),
            (false, Side::Head, false),
            (false, Side::Head, true),
            (false, Side::Writes, true),
            (true, Side::Head, true),
            (true, Side::Entries, true),
            (true, Side::Writes, false),
            (false, Side::Entries, false),
        ];
        let mut told = watched.watch();
        for (idx, (answers, side, is_away)) in rows.into_iter().enumerate() {
            let was_away = watched.watch().borrow().away().is_some();
            if answers {
                watched.answered(side)
            } else {
                watched.failed(side, &away)
            }
            let reach = watched.watch().borrow().clone();
            assert_eq!(reach.away().is_some(), is_away, "row {idx}: {reach:?}");
            let changed = told.has_changed().unwrap();
            assert_eq!(changed, was_away != is_away, "row {idx}: told of a change, and only then");
            told.mark_unchanged();
        }
    }
}
