//! The writer over a database that fails on purpose.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use kernel::ids::{Generation, NodeId, TaskId};
use kernel::ledger::{Conflict, Guard, Row, Rows};
use kernel::wire::ledger::Record;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::group::Answer;
use super::super::port::Patience;
use super::super::read::StoredEntry;
use super::super::{GENESIS, Hash, Head};
use super::*;

/// How a step fails. A step that hangs is left by its bound.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Hangs,
    HoldsWithoutAnswer,
    /// And nothing is answered from then on.
    HoldsAndHangs,
    IsLost,
    /// And nothing is answered from then on.
    IsLostAndHangs,
}

struct Disk {
    stored: Vec<StoredEntry>,
    rows: Rows,
    commit: Fault,
    begin: Fault,
    /// How often the writer has asked for its turn.
    begun: watch::Sender<u32>,
}

#[derive(Clone)]
struct Fake {
    disk: Arc<Mutex<Disk>>,
    pending: Vec<StoredEntry>,
    moved: Vec<(Row, u64)>,
}

impl Port for Fake {
    fn patience(&self) -> Patience {
        let step = Duration::from_millis(20);
        Patience { store: step, commit: step, pause: Duration::from_millis(1) }
    }

    async fn begin(&mut self) -> Result<Head, JournalError> {
        let hangs = {
            let disk = self.disk.lock().unwrap();
            disk.begun.send_modify(|times| *times += 1);
            disk.begin == Fault::Hangs
        };
        if hangs {
            return pending().await;
        }
        let disk = self.disk.lock().unwrap();
        Ok(disk.stored.last().map_or(Head { sequence: LedgerSequence(0), hash: GENESIS }, |last| Head {
            sequence: LedgerSequence(last.sequence),
            hash: read::hash_from(last.hash.clone()).unwrap(),
        }))
    }

    async fn rows(&mut self, _: &BTreeSet<Row>) -> Result<Rows, JournalError> {
        Ok(self.disk.lock().unwrap().rows.clone())
    }

    async fn store(&mut self, entries: &[StoredEntry], rows: &[(Row, u64)]) -> Result<(), JournalError> {
        (self.pending, self.moved) = (entries.to_vec(), rows.to_vec());
        Ok(())
    }

    async fn hash_of(&mut self, sequence: LedgerSequence) -> Result<Option<Hash>, JournalError> {
        let disk = self.disk.lock().unwrap();
        let found = disk.stored.iter().find(|it| it.sequence == sequence.0);
        found.map(|it| read::hash_from(it.hash.clone())).transpose()
    }

    async fn commit(&mut self) -> Result<(), JournalError> {
        let fault = std::mem::replace(&mut self.disk.lock().unwrap().commit, Fault::None);
        if !matches!(fault, Fault::IsLost | Fault::IsLostAndHangs) {
            let mut disk = self.disk.lock().unwrap();
            disk.stored.append(&mut self.pending);
            disk.rows =
                disk.rows.iter().map(|(row, n)| (row.clone(), n)).chain(self.moved.drain(..)).collect();
        }
        if matches!(fault, Fault::HoldsAndHangs | Fault::IsLostAndHangs) {
            self.disk.lock().unwrap().begin = Fault::Hangs;
        }
        match fault {
            Fault::None => Ok(()),
            Fault::Hangs => pending().await,
            Fault::HoldsWithoutAnswer | Fault::HoldsAndHangs | Fault::IsLost | Fault::IsLostAndHangs => {
                Err(JournalError::Away("the line is cut".to_owned()))
            }
        }
    }

    fn abandon(&mut self) {
        self.pending.clear();
    }
}

struct Bench {
    disk: Arc<Mutex<Disk>>,
    queue: mpsc::Sender<Proposal>,
    moved: watch::Receiver<LedgerSequence>,
    reach: Arc<Watched>,
    writer: JoinHandle<()>,
}

/// A writer that takes up its work again, or ends, does so long before.
const BOUND: Duration = Duration::from_secs(60);

impl Bench {
    fn start() -> Self {
        let disk = Disk {
            stored: Vec::new(),
            rows: Rows::default(),
            commit: Fault::None,
            begin: Fault::None,
            begun: watch::Sender::new(0),
        };
        let disk = Arc::new(Mutex::new(disk));
        let (queue, proposals) = mpsc::channel(GROUP_MAX);
        let (raised, moved) = watch::channel(LedgerSequence(0));
        let port = Fake { disk: disk.clone(), pending: Vec::new(), moved: Vec::new() };
        let reach = Arc::new(Watched::default());
        let writer = tokio::spawn(run(port, Runs::Ordinary, proposals, raised, reach.clone()));
        Self { disk, queue, moved, reach, writer }
    }

    /// Hands in a claim of the next generation. The writer runs when the test waits, so what is handed in before that
    /// is one group.
    fn claim(&self, generation: u64) -> oneshot::Receiver<Answer> {
        let task = TaskId::try_new("T-A1").unwrap();
        let guard = Guard { row: Row::Claim(task.clone()), expected: generation - 1 };
        let record = Record::TaskClaimed { task, generation: Generation(generation) };
        let (answer, stored) = oneshot::channel();
        let node = NodeId::try_new("A").unwrap();
        let proposal = Proposal::new(node, DateTime::UNIX_EPOCH, vec![record], vec![guard], answer).unwrap();
        assert!(self.queue.try_send(proposal).is_ok(), "the queue has room");
        stored
    }

    /// Waits until the writer has asked for its turn so many times more.
    async fn asks(&self, times: u32) {
        let mut begun = self.disk.lock().unwrap().begun.subscribe();
        let enough = *begun.borrow() + times;
        let asked = tokio::time::timeout(BOUND, begun.wait_for(|times| *times >= enough)).await;
        asked.expect("the writer goes on asking").expect("the disk is there");
    }

    async fn is_told(&self, away: bool) {
        let mut reach = self.reach.watch();
        let told = tokio::time::timeout(BOUND, reach.wait_for(|it| it.away().is_some() == away)).await;
        assert!(told.is_ok(), "nobody tells that away is {away}");
    }

    fn stored(&self) -> usize {
        self.disk.lock().unwrap().stored.len()
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_group_each_guard_sees_what_was_moved_before_it() {
    let bench = Bench::start();
    let answers = [bench.claim(1), bench.claim(1), bench.claim(2), bench.claim(4)];
    let mut told = Vec::new();
    for answer in answers {
        told.push(match answer.await.unwrap() {
            Ok(entries) => Ok(entries[0].sequence.0),
            Err(JournalError::Conflict(Conflict { found, .. })) => Err(found),
            Err(other) => panic!("{other}"),
        });
    }
    assert_eq!(told, [Ok(1), Err(1), Ok(2), Err(2)]);
    assert_eq!((bench.stored(), *bench.moved.borrow()), (2, LedgerSequence(2)));
}

#[tokio::test(start_paused = true)]
async fn a_commit_without_an_answer_is_looked_for() {
    for (fault, holds) in [(Fault::HoldsWithoutAnswer, true), (Fault::Hangs, true), (Fault::IsLost, false)] {
        let bench = Bench::start();
        bench.disk.lock().unwrap().commit = fault;
        let answer = bench.claim(1).await.unwrap();
        assert_eq!(answer.is_ok(), holds, "{answer:?}");
        assert!(holds || matches!(answer, Err(JournalError::Away(_))), "{answer:?}");
        assert_eq!(bench.stored(), usize::from(holds));
        assert_eq!(bench.claim(if holds { 2 } else { 1 }).await.unwrap().map(|it| it.len()), Ok(1));
    }
}

/// Asked more often than any bound of the writer could allow for.
#[tokio::test(start_paused = true)]
async fn what_cannot_even_be_asked_is_asked_until_it_is_known() {
    for (fault, holds) in [(Fault::HoldsAndHangs, true), (Fault::IsLostAndHangs, false)] {
        let bench = Bench::start();
        bench.disk.lock().unwrap().commit = fault;
        let mut first = bench.claim(1);
        bench.is_told(true).await;
        bench.asks(20).await;
        // Who comes while it is asked is not kept waiting.
        let second = bench.claim(1);
        assert!(matches!(second.await.unwrap(), Err(JournalError::Away(_))));
        assert!(first.try_recv().is_err(), "nothing is said before it is known");
        bench.disk.lock().unwrap().begin = Fault::None;
        let told = first.await.unwrap();
        assert_eq!(told.is_ok(), holds, "{told:?}");
        bench.is_told(false).await;
        let next = bench.claim(if holds { 2 } else { 1 }).await.unwrap();
        assert!(next.is_ok(), "{next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_journal_waits_for_no_answer_that_nobody_wants() {
    for (commit, begin) in [(Fault::HoldsAndHangs, Fault::None), (Fault::None, Fault::Hangs)] {
        let bench = Bench::start();
        (bench.disk.lock().unwrap().commit, bench.disk.lock().unwrap().begin) = (commit, begin);
        let answer = bench.claim(1);
        bench.is_told(true).await;
        drop((bench.queue, answer));
        tokio::time::timeout(BOUND, bench.writer).await.expect("the writer ends").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_database_that_hangs_before_the_commit_has_stored_nothing() {
    let bench = Bench::start();
    bench.disk.lock().unwrap().begin = Fault::Hangs;
    assert!(matches!(bench.claim(1).await.unwrap(), Err(JournalError::Away(_))));
    // While it is away it is asked again and again, and nobody is kept waiting.
    bench.asks(3).await;
    assert!(matches!(bench.claim(1).await.unwrap(), Err(JournalError::Away(_))));
    bench.disk.lock().unwrap().begin = Fault::None;
    bench.is_told(false).await;
    assert!(bench.claim(1).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_doubt_makes_the_writer_look() {
    let bench = Bench::start();
    bench.disk.lock().unwrap().begin = Fault::Hangs;
    bench.reach.doubt();
    bench.is_told(true).await;
    bench.disk.lock().unwrap().begin = Fault::None;
    bench.is_told(false).await;
    bench.reach.doubt();
    bench.asks(1).await;
    assert!(bench.claim(1).await.unwrap().is_ok());
}
