//! The way to the ledger: brings proposals there in the order in which they were made, and everything that the ledger
//! holds back in its order: what this node appended and what others did.
//!
//! Also tells in the ledger that the node lives, and who else says so.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::control::{BatchId, Event};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::{Guard, Presence};
use kernel::wire::ledger::{Entry, Record};
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::journal::{Journal, JournalError, READ_MAX};

/// Proposals that go to the ledger together. It commits them in one transaction or few.
const TOGETHER_MAX: usize = 64;
/// Proposals that wait. The machine has at most one in flight per open order (5,000), vehicle (500), lift and alarm.
const PROPOSALS_MAX: usize = 16_384;

struct Proposal {
    batch: BatchId,
    records: Vec<Record>,
    guards: Vec<Guard>,
}

/// The way to the ledger.
pub(super) struct LedgerRoad {
    proposals: mpsc::Sender<Proposal>,
    words: watch::Sender<Option<Word>>,
    fatal: Arc<Mutex<Option<String>>>,
}

impl LedgerRoad {
    /// Follows the ledger from the entry that the machine has taken in last.
    pub(super) fn start(
        journal: &Journal,
        node: &NodeId,
        taken_in: LedgerSequence,
        events: &mpsc::Sender<Event>,
        tasks: &TaskTracker,
    ) -> Self {
        let (proposals, queue) = mpsc::channel(PROPOSALS_MAX);
        let (words, said) = watch::channel(None);
        let fatal = Arc::new(Mutex::new(None));
        let (journal, node, events) = (journal.clone(), node.clone(), events.clone());
        let attending = attend(journal.clone(), node.clone(), said, events.clone());
        let worker = Worker { journal, node, events, taken_in, fatal: fatal.clone() };
        tasks.spawn(worker.run(queue));
        tasks.spawn(attending);
        Self { proposals, words, fatal }
    }

    pub(super) fn append(&self, batch: BatchId, records: Vec<Record>, guards: Vec<Guard>) {
        if self.proposals.try_send(Proposal { batch, records, guards }).is_err() {
            note(&self.fatal, "more proposals wait for the ledger than it can ever have in flight");
        }
    }

    /// The node lives. A word that the ledger has not taken when the next comes is passed over.
    pub(super) fn attend(&self, word: Word) {
        self.words.send_replace(Some(word));
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
}

fn note(fatal: &Mutex<Option<String>>, reason: &str) {
    fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.to_owned());
}

struct Worker {
    journal: Journal,
    node: NodeId,
    events: mpsc::Sender<Event>,
    /// The machine has everything up to here, or finds it in the channel.
    taken_in: LedgerSequence,
    fatal: Arc<Mutex<Option<String>>>,
}

impl Worker {
    async fn run(mut self, mut queue: mpsc::Receiver<Proposal>) {
        let mut moved = self.journal.moved();
        loop {
            tokio::select! {
                proposal = queue.recv() => match proposal {
                    Some(first) => self.append(first, &mut queue).await,
                    None => return,
                },
                // The sender lives as long as the journal.
                Ok(()) = moved.changed() => {
                    let head = *moved.borrow_and_update();
                    self.follow(head).await;
                }
            }
        }
    }

    async fn append(&mut self, first: Proposal, queue: &mut mpsc::Receiver<Proposal>) {
        let mut together = vec![first];
        while together.len() < TOGETHER_MAX {
            let Ok(next) = queue.try_recv() else { break };
            together.push(next);
        }
        // `join_all` polls in order, and a journal queues a proposal at its first poll: the order is kept.
        let stored = join_all(together.into_iter().map(|Proposal { batch, records, guards }| {
            let append = self.journal.append(self.node.clone(), clock::now().wall, records, guards);
            async move { (batch, append.await) }
        }))
        .await;
        for (batch, result) in stored {
            self.bring_back(batch, result).await;
        }
    }

    async fn bring_back(&mut self, batch: BatchId, result: Result<Vec<Entry>, JournalError>) {
        let event = match result {
            Ok(entries) => {
                if let Some(first) = entries.first() {
                    // What others appended before comes before.
                    self.follow(LedgerSequence(first.sequence.0.saturating_sub(1))).await;
                }
                self.taken_in = entries.last().map_or(self.taken_in, |it| it.sequence);
                Event::Appended { batch, entries }
            }
            Err(JournalError::Conflict(conflict)) => Event::Conflicted { batch, conflict },
            Err(JournalError::Uncertain(reason)) => {
                note(&self.fatal, &format!("the ledger left open whether it stored an entry: {reason}"));
                Event::AppendFailed { batch, reason: "it is not known whether it was stored".to_owned() }
            }
            Err(error) => {
                tracing::error!("the ledger did not take a proposal: {error}");
                Event::AppendFailed { batch, reason: error.to_string() }
            }
        };
        self.tell(event).await;
    }

    /// Brings what others appended, up to and with an entry. When the ledger cannot be read nothing may be skipped, so
    /// this waits for it: the machine decides nothing on a gap.
    async fn follow(&mut self, up_to: LedgerSequence) {
        let mut told = false;
        while self.taken_in < up_to {
            let missing = u32::try_from(up_to.0 - self.taken_in.0).unwrap_or(READ_MAX).min(READ_MAX);
            match self.journal.entries_after(self.taken_in, missing).await {
                Ok(entries) if !entries.is_empty() => {
                    self.taken_in = entries.last().map_or(self.taken_in, |it| it.sequence);
                    self.tell(Event::Followed { entries }).await;
                }
                Ok(_) => return,
                Err(JournalError::Unreadable { sequence, reason }) => {
                    let text = format!("entry {sequence} of another node is not understood: {reason}");
                    note(&self.fatal, &text);
                    return;
                }
                Err(error) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!("the ledger cannot be followed: {error}");
                    }
                    if self.events.is_closed() {
                        return;
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn tell(&self, event: Event) {
        // Nobody listens any more after a stop, but what was proposed is stored all the same.
        let _ = self.events.send(event).await;
    }
}

/// A ledger that could not be read is asked again after so long.
const RETRY: std::time::Duration = std::time::Duration::from_millis(kernel::timing::FOLLOW_POLL.0);

/// What the node says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) run: u64,
    pub(super) beat: u64,
    pub(super) hears_broker: bool,
}

/// Says in the ledger that the node lives, as often as it says so here, and brings back who else does.
async fn attend(
    journal: Journal,
    node: NodeId,
    mut said: watch::Receiver<Option<Word>>,
    events: mpsc::Sender<Event>,
) {
    while said.changed().await.is_ok() {
        let Some(Word { run, beat, hears_broker }) = *said.borrow_and_update() else { continue };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (node, at) = (node.clone(), clock::now().wall);
        let presence = Presence { node, run, beat, version, hears_broker, at };
        // A ledger that is away shows by what is proposed to it; who does not hear the others counts nobody as silent.
        if journal.attend(&presence).await.is_err() {
            continue;
        }
        if let Ok(peers) = journal.presences().await {
            // The loop has ended.
            let _ = events.send(Event::Peers(peers)).await;
        }
    }
}
