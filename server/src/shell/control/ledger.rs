//! The way to the ledger: brings proposals there in the order in which they were made, and everything that the ledger
//! holds back in its order: what this node appended and what others did.
//!
//! While the ledger is known to be away a proposal is refused at once, whatever else waits for an answer: what was
//! proposed before may have to wait for as long as the ledger is away.
//!
//! Also tells in the ledger that the node lives, and who else says so.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use kernel::control::{BatchId, Event};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::{Guard, Presence};
use kernel::wire::ledger::{Entry, Record};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::drill::roads::Roads;
use crate::journal::{Journal, JournalError, READ_MAX, Reach};

/// Proposals that go to the ledger together. It commits them in one transaction or few.
const TOGETHER_MAX: usize = 64;
/// Proposals that wait. The machine has at most one in flight per open order (5,000), vehicle (500), lift and alarm.
const PROPOSALS_MAX: usize = 16_384;

struct Proposal {
    batch: BatchId,
    records: Vec<Record>,
    guards: Vec<Guard>,
}

/// Who speaks to the ledger.
pub(super) struct Speaker {
    pub(super) node: NodeId,
    pub(super) clock: Clock,
    /// What the way there suffers, in a drill run.
    pub(super) roads: Option<Roads>,
}

/// The way to the ledger.
pub(super) struct LedgerRoad {
    proposals: mpsc::Sender<Proposal>,
    words: watch::Sender<Option<Word>>,
    reach: watch::Receiver<Reach>,
    gone: CancellationToken,
    fatal: Arc<Mutex<Option<String>>>,
}

impl LedgerRoad {
    /// Follows the ledger from the entry that the machine has taken in last.
    pub(super) fn start(
        journal: &Journal,
        speaker: Speaker,
        taken_in: LedgerSequence,
        events: &mpsc::Sender<Event>,
        tasks: &TaskTracker,
    ) -> Self {
        let (proposals, queue) = mpsc::channel(PROPOSALS_MAX);
        let (words, said) = watch::channel(None);
        let (fatal, gone, reach) = (Arc::new(Mutex::new(None)), CancellationToken::new(), journal.reach());
        let (journal, events) = (journal.clone(), events.clone());
        let Speaker { node, clock, roads } = speaker;
        let attending = attend(journal.clone(), (node.clone(), clock.clone()), said, events.clone());
        let worker = Worker { journal, node, clock, roads, events, taken_in, fatal: fatal.clone() };
        let refuser = Refuser { events: worker.events.clone(), reach: reach.clone() };
        tasks.spawn(gone.clone().run_until_cancelled_owned(worker.run(queue, refuser)));
        tasks.spawn(gone.clone().run_until_cancelled_owned(attending));
        Self { proposals, words, reach, gone, fatal }
    }

    /// Brings a proposal to the ledger. If that is known to be away nothing is proposed, and the event that tells the
    /// machine so is returned.
    #[must_use]
    pub(super) fn append(&self, batch: BatchId, records: Vec<Record>, guards: Vec<Guard>) -> Option<Event> {
        if let Some(reason) = self.reach.borrow().away() {
            return Some(Event::AppendFailed { batch, reason: reason.to_owned() });
        }
        if self.proposals.try_send(Proposal { batch, records, guards }).is_err() {
            note(&self.fatal, "more proposals wait for the ledger than it can ever have in flight");
        }
        None
    }

    /// Whether the ledger is there.
    pub(super) fn reach(&self) -> watch::Receiver<Reach> {
        self.reach.clone()
    }

    /// Cancelled, nothing waits for the ledger any more: what is on its way there finds its place or does not.
    pub(super) fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// The node lives. A word that the ledger has not taken when the next comes is passed over.
    pub(super) fn attend(&self, word: Word) {
        self.words.send_replace(Some(word));
    }

    /// Whether the machine can go on.
    ///
    /// # Errors
    /// Memory and ledger may differ: the node must start anew from the ledger.
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

/// Takes a proposal and those that wait behind it.
fn gather(first: Proposal, queue: &mut mpsc::Receiver<Proposal>) -> Vec<Proposal> {
    let mut together = vec![first];
    while together.len() < TOGETHER_MAX {
        let Ok(next) = queue.try_recv() else { break };
        together.push(next);
    }
    together
}

/// Refuses what is proposed while the worker waits for a ledger that is away.
struct Refuser {
    events: mpsc::Sender<Event>,
    reach: watch::Receiver<Reach>,
}

impl Refuser {
    /// Does the work, and refuses meanwhile what comes to the queue.
    async fn beside(&self, queue: &mut mpsc::Receiver<Proposal>, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            () = self.refuse(queue) => {}
        }
    }

    /// Never returns.
    async fn refuse(&self, queue: &mut mpsc::Receiver<Proposal>) {
        let mut reach = self.reach.clone();
        loop {
            until_away(&mut reach).await;
            // Room first, and no waiting after a proposal was taken: this ends in the middle when the work is done.
            let Ok(room) = self.events.reserve().await else { return std::future::pending().await };
            tokio::select! {
                proposal = queue.recv() => {
                    let Some(Proposal { batch, .. }) = proposal else { return std::future::pending().await };
                    let reason = reach.borrow().away().unwrap_or("it was away").to_owned();
                    room.send(Event::AppendFailed { batch, reason });
                }
                _ = reach.changed() => {}
            }
        }
    }
}

/// Waits until the ledger is known to be away.
pub(super) async fn until_away(reach: &mut watch::Receiver<Reach>) {
    let closed = reach.wait_for(|it| it.away().is_some()).await.is_err();
    if closed {
        // Nobody can tell any more.
        std::future::pending::<()>().await;
    }
}

struct Worker {
    journal: Journal,
    node: NodeId,
    clock: Clock,
    roads: Option<Roads>,
    events: mpsc::Sender<Event>,
    /// The machine has everything up to here, or finds it in the channel.
    taken_in: LedgerSequence,
    fatal: Arc<Mutex<Option<String>>>,
}

impl Worker {
    async fn run(mut self, mut queue: mpsc::Receiver<Proposal>, refuser: Refuser) {
        let mut moved = self.journal.moved();
        loop {
            tokio::select! {
                proposal = queue.recv() => {
                    let Some(first) = proposal else { return };
                    let together = gather(first, &mut queue);
                    refuser.beside(&mut queue, self.append(together)).await;
                }
                // The sender lives as long as the journal.
                Ok(()) = moved.changed() => {
                    let head = *moved.borrow_and_update();
                    refuser.beside(&mut queue, self.follow(head)).await;
                }
            }
        }
    }

    async fn append(&mut self, together: Vec<Proposal>) {
        if let Some(roads) = &self.roads {
            roads.wait_before_ledger().await;
        }
        // `join_all` polls in order, and a journal queues a proposal at its first poll: the order is kept.
        let stored = join_all(together.into_iter().map(|Proposal { batch, records, guards }| {
            let append = self.journal.append(self.node.clone(), self.clock.now().wall, records, guards);
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
    (node, clock): (NodeId, Clock),
    mut said: watch::Receiver<Option<Word>>,
    events: mpsc::Sender<Event>,
) {
    while said.changed().await.is_ok() {
        let Some(Word { run, beat, hears_broker }) = *said.borrow_and_update() else { continue };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (node, at) = (node.clone(), clock.now().wall);
        let presence = Presence { node, run, beat, version, hears_broker, at };
        // Who does not hear the others counts nobody as silent.
        if journal.attend(&presence).await.is_err() {
            continue;
        }
        if let Ok(peers) = journal.presences().await {
            // The loop has ended.
            let _ = events.send(Event::Peers(peers)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(batch: u64) -> Proposal {
        Proposal { batch: BatchId(batch), records: vec![], guards: vec![] }
    }

    fn refused(batch: u64) -> Event {
        Event::AppendFailed { batch: BatchId(batch), reason: "the line is cut".to_owned() }
    }

    #[test]
    fn nothing_is_proposed_to_a_ledger_that_is_known_to_be_away() {
        let (reach, watched) = watch::channel(Reach::default());
        let (proposals, mut queue) = mpsc::channel(4);
        let (words, gone, fatal) = (watch::Sender::new(None), CancellationToken::new(), Arc::default());
        let road = LedgerRoad { proposals, words, reach: watched, gone, fatal };
        assert_eq!(road.append(BatchId(1), vec![], vec![]), None);
        reach.send_replace(Reach::lost());
        assert_eq!(road.append(BatchId(2), vec![], vec![]), Some(refused(2)));
        assert_eq!(queue.try_recv().map(|it| it.batch), Ok(BatchId(1)));
        assert!(queue.try_recv().is_err());
    }

    /// The worker waits for an answer that does not come. What was proposed before anybody knew is refused once it is
    /// known, and goes to the ledger otherwise.
    #[tokio::test]
    async fn what_waits_behind_a_ledger_that_is_away_is_refused() {
        let (reach, watched) = watch::channel(Reach::default());
        let (events, mut told) = mpsc::channel(4);
        let (proposals, mut queue) = mpsc::channel(4);
        let refuser = Refuser { events, reach: watched };
        proposals.send(proposal(1)).await.unwrap();
        refuser.beside(&mut queue, tokio::task::yield_now()).await;
        assert_eq!(queue.len(), 1, "it is not away");
        let known = async {
            reach.send_replace(Reach::lost());
            let first = told.recv().await;
            proposals.send(proposal(2)).await.unwrap();
            [first, told.recv().await]
        };
        let beside = refuser.beside(&mut queue, std::future::pending());
        let both = tokio::time::timeout(std::time::Duration::from_secs(60), async {
            tokio::select! { told = known => told, () = beside => unreachable!() }
        });
        assert_eq!(both.await.expect("they are refused"), [Some(refused(1)), Some(refused(2))]);
    }
}
