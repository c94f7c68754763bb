//! Brings proposals to the ledger in the order in which they were made, and their entries back in that order.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::control::{BatchId, Event};
use kernel::ids::NodeId;
use kernel::wire::ledger::Record;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::journal::{Journal, JournalError};

/// Proposals that go to the ledger together. It commits them in one transaction or few.
const TOGETHER_MAX: usize = 64;
/// Proposals that wait. The machine has at most one in flight per open order (5,000), vehicle (500), lift and alarm.
const PROPOSALS_MAX: usize = 16_384;

type Proposal = (BatchId, Vec<Record>);

/// The way to the ledger.
pub(super) struct Appender {
    proposals: mpsc::Sender<Proposal>,
    fatal: Arc<Mutex<Option<String>>>,
}

impl Appender {
    pub(super) fn start(
        journal: Journal,
        node: NodeId,
        events: mpsc::Sender<Event>,
        tasks: &TaskTracker,
    ) -> Self {
        let (proposals, queue) = mpsc::channel(PROPOSALS_MAX);
        let fatal = Arc::new(Mutex::new(None));
        tasks.spawn(work(journal, node, queue, events, fatal.clone()));
        Self { proposals, fatal }
    }

    pub(super) fn append(&self, batch: BatchId, records: Vec<Record>) {
        if self.proposals.try_send((batch, records)).is_err() {
            self.fail("more proposals wait for the ledger than it can ever have in flight");
        }
    }

    /// Whether the ledger has left something open.
    ///
    /// # Errors
    /// It has: memory and ledger may differ, so the node must start anew from the ledger.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match self.fatal.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(reason) => {
                anyhow::bail!("{reason}; start the node again: it goes on from what the ledger holds")
            }
            None => Ok(()),
        }
    }

    fn fail(&self, reason: &str) {
        note(&self.fatal, reason);
    }
}

fn note(fatal: &Mutex<Option<String>>, reason: &str) {
    fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.to_owned());
}

async fn work(
    journal: Journal,
    node: NodeId,
    mut queue: mpsc::Receiver<Proposal>,
    events: mpsc::Sender<Event>,
    fatal: Arc<Mutex<Option<String>>>,
) {
    while let Some(first) = queue.recv().await {
        let mut together = vec![first];
        while together.len() < TOGETHER_MAX {
            let Ok(next) = queue.try_recv() else { break };
            together.push(next);
        }
        // `join_all` polls in order, and a journal queues a proposal at its first poll: the order is kept.
        let stored = join_all(together.into_iter().map(|(batch, records)| {
            let append = journal.append(node.clone(), clock::now().wall, records);
            async move { (batch, append.await) }
        }))
        .await;
        for (batch, result) in stored {
            let event = match result {
                Ok(entries) => Event::Appended { batch, entries },
                Err(JournalError::Uncertain(reason)) => {
                    note(&fatal, &format!("the ledger left open whether it stored an entry: {reason}"));
                    Event::AppendFailed { batch, reason: "it is not known whether it was stored".to_owned() }
                }
                Err(error) => {
                    tracing::error!("the ledger did not take a proposal: {error}");
                    Event::AppendFailed { batch, reason: error.to_string() }
                }
            };
            // Nobody listens any more after a stop, but what was proposed is stored all the same.
            let _ = events.send(event).await;
        }
    }
}
