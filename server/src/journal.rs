//! The ledger on SQLite or PostgreSQL: append-only, hash-chained, durable before anybody acts on it (C15, C16).
//!
//! Knows: how entries are stored and chained, and which rows a proposal rests on. Must not know: what a record means
//! besides the row that it moves (the kernel says which); who applies it.
//!
//! A writer task drains a bounded queue and commits several proposals in one transaction, since the disk's flush
//! costs the same for one as for fifty. Each proposal is answered by itself, all of it or nothing. Several journals may
//! write one ledger, in one process or in many: each transaction first takes the head, so there is one chain.

mod chain;
mod follow;
mod group;
mod line;
mod port;
mod postgres;
mod reach;
mod read;
mod rows;
mod sqlite;
mod verify;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::{Conflict, Guard, Presence};
use kernel::wire::ledger::{Entry, Record};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::store::{self, Database};

use self::line::Line;
use self::port::Port;
use self::postgres::PostgresPort;
use self::reach::{Side, Watched};
use self::sqlite::SqlitePort;

pub use chain::{GENESIS, Hash, hex};
pub use reach::Reach;
pub use verify::{BrokenAt, Verified, VerifyError};

/// Of which kind of run a ledger is. A ledger never holds entries of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// What happened, happened.
    #[default]
    Ordinary,
    /// Faults were injected on purpose: every entry says so.
    Drill,
}

/// Proposals that wait for the writer. A full queue means that the disk hangs: the proposer is told at once.
pub const QUEUE_MAX: usize = 256;

/// Proposals that share one transaction: bounds how long the first of them waits for the others.
pub const GROUP_MAX: usize = 64;

/// Records of one proposal. A decision of the machine makes a handful.
pub const RECORDS_MAX: usize = 256;

/// Guards of one proposal. It rests on a handful of rows: a node, a task, a vehicle, a lift.
pub const GUARDS_MAX: usize = 64;

/// One record as JSON, in bytes. The longest, a command with its way through a large site, is far below.
pub const RECORD_BYTES_MAX: usize = 256 * 1024;

/// Entries that one read returns.
pub const READ_MAX: u32 = 1000;

/// A transaction on a file that is not through by then counts as failed: the disk hangs.
const COMMIT_DEADLINE: Duration = Duration::from_secs(10);

/// Why entries were not stored, or could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalError {
    /// The proposal was not taken.
    #[error("{QUEUE_MAX} proposals wait for the database already; nothing of this one was stored")]
    QueueFull,
    /// The writer has ended.
    #[error("the journal is closed; nothing was stored")]
    Closed,
    /// More records than [`RECORDS_MAX`].
    #[error("a proposal of {0} records is above the limit of {RECORDS_MAX}; nothing was stored")]
    TooManyRecords(usize),
    /// A record above [`RECORD_BYTES_MAX`].
    #[error("a record of {0} bytes is above the limit of {RECORD_BYTES_MAX}; nothing was stored")]
    RecordTooLarge(usize),
    /// More guards than [`GUARDS_MAX`].
    #[error("a proposal with {0} guards is above the limit of {GUARDS_MAX}; nothing was stored")]
    TooManyGuards(usize),
    /// A guard does not hold: nothing of the proposal was stored, and the same would be refused again. Whoever proposed
    /// has to take in what moved the row first.
    #[error(transparent)]
    Conflict(Conflict),
    /// The database does not answer: nothing was stored. The same may be tried again.
    #[error("the ledger's database is away: {0}")]
    Away(String),
    /// The database refused: nothing was stored.
    #[error("the database did not store it: {0}")]
    Storage(String),
    /// A stored entry is not understood by this version.
    #[error("entry {sequence} cannot be read: {reason}; a newer version may have written it")]
    Unreadable {
        /// Which.
        sequence: u64,
        /// Why.
        reason: String,
    },
}

/// Where the chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Of the last entry; 0 when there is none.
    pub sequence: LedgerSequence,
    /// Of the last entry; [`GENESIS`] when there is none.
    pub hash: Hash,
}

/// The ledger. Clones share one writer and one follower, which end with the last of them: the nodes of one process
/// take a clone each, and so see at once what the others append.
#[derive(Clone, Debug)]
pub struct Journal {
    database: Database,
    proposals: mpsc::Sender<group::Proposal>,
    moved: watch::Receiver<LedgerSequence>,
    reach: Arc<Watched>,
    /// Of a node that may be cut off alone.
    line: Option<Line>,
    _follower: Arc<DropGuard>,
}

impl Journal {
    /// Opens the ledger of a migrated database: verifies the whole chain, gives a ledger of an older schema its rows,
    /// then starts the writer. The handle ends when the last clone of the journal is gone and everything queued was
    /// answered.
    ///
    /// # Errors
    /// The chain is broken, it holds entries of the other kind of run, or the database cannot be read.
    pub async fn open(
        database: impl Into<Database>,
        runs: Runs,
    ) -> Result<(Self, JoinHandle<()>), VerifyError> {
        let database = database.into();
        match &database {
            Database::Sqlite(pool) => {
                let port = SqlitePort::new(pool.clone());
                Self::start(database, port, runs).await
            }
            Database::Postgres(pool) => {
                let port = PostgresPort::new(pool.clone());
                Self::start(database, port, runs).await
            }
        }
    }

    async fn start<P: Port + 'static>(
        database: Database,
        mut port: P,
        runs: Runs,
    ) -> Result<(Self, JoinHandle<()>), VerifyError> {
        let verified = verify::verify(&database, Some(runs)).await?;
        rows::rebuild(&mut port, &database).await?;
        let (proposals, queue) = mpsc::channel(QUEUE_MAX);
        let (raised, moved) = watch::channel(LedgerSequence(verified.entries));
        let (reach, stop) = (Arc::new(Watched::default()), CancellationToken::new());
        tokio::spawn(follow::run(database.clone(), raised.clone(), reach.clone(), stop.clone()));
        let writer = tokio::spawn(writer::run(port, runs, queue, raised, reach.clone()));
        let follower = Arc::new(stop.drop_guard());
        Ok((Self { database, proposals, moved, reach, line: None, _follower: follower }, writer))
    }

    /// The same ledger for one node, which reaches it as long as the line is not cut. For drills.
    #[must_use]
    pub fn on_line(&self, cut: watch::Receiver<bool>) -> Self {
        let line = Line::lay(cut, self.reach.watch(), self.moved.clone());
        Self { line: Some(line), ..self.clone() }
    }

    fn check_line(&self) -> Result<(), JournalError> {
        self.line.as_ref().map_or(Ok(()), Line::check)
    }

    /// Makes records durable together, if all guards hold then, and returns them as stored. `at` is kept to the
    /// microsecond. The rows that the records move (see [`kernel::ledger::steps`]) move with them.
    ///
    /// On PostgreSQL the answer takes three seconds at most, and comes at once while the ledger is known to be away. But
    /// a proposal whose commit was under way when the server vanished is answered once it is known what became of it,
    /// however long that takes.
    ///
    /// # Errors
    /// Nothing was stored, and the error says why: [`JournalError::Conflict`] when a guard does not hold.
    pub async fn append(
        &self,
        node: NodeId,
        at: DateTime<Utc>,
        records: Vec<Record>,
        guards: Vec<Guard>,
    ) -> Result<Vec<Entry>, JournalError> {
        self.check_line()?;
        let (answer, stored) = oneshot::channel();
        let proposal = group::Proposal::new(node, at, records, guards, answer)?;
        self.proposals.try_send(proposal).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => JournalError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
        })?;
        stored.await.unwrap_or(Err(JournalError::Closed))
    }

    /// How far the ledger reaches, as last seen: rises soon after anybody's append, and never falls. Entries up to
    /// there can be read with [`Self::entries_after`].
    pub fn moved(&self) -> watch::Receiver<LedgerSequence> {
        self.line.as_ref().map_or(&self.moved, |it| &it.moved).clone()
    }

    /// Whether the database answers, as all see it who ask. A change is told within a few seconds.
    pub fn reach(&self) -> watch::Receiver<Reach> {
        self.line.as_ref().map_or_else(|| self.reach.watch(), |it| it.reach.clone())
    }

    /// Entries after a sequence, in order, at most `limit` and at most [`READ_MAX`].
    ///
    /// # Errors
    /// The database cannot be read, or an entry is not understood.
    pub async fn entries_after(
        &self,
        sequence: LedgerSequence,
        limit: u32,
    ) -> Result<Vec<Entry>, JournalError> {
        self.check_line()?;
        let read = read::entries_after(&self.database, sequence, limit).await;
        match &read {
            Err(error @ (JournalError::Away(_) | JournalError::Storage(_))) => {
                self.reach.failed(Side::Entries, error);
            }
            Ok(_) | Err(_) => self.reach.answered(Side::Entries),
        }
        read
    }

    /// Where the chain ends.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn head(&self) -> Result<Head, JournalError> {
        self.check_line()?;
        read::head(&self.database).await
    }

    /// Tells the others that a node is there. An earlier word of it than the last one changes nothing.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn attend(&self, presence: &Presence) -> Result<(), JournalError> {
        self.check_line()?;
        let told = read::attend(&self.database, presence).await;
        if let Err(JournalError::Away(_)) = &told {
            self.reach.doubt();
        }
        told
    }

    /// The last word of every node that ever told, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn presences(&self) -> Result<Vec<Presence>, JournalError> {
        self.check_line()?;
        read::presences(&self.database).await
    }

    /// Checks the whole chain, page by page.
    ///
    /// # Errors
    /// The first broken entry, or the database cannot be read.
    pub async fn verify(&self) -> Result<Verified, VerifyError> {
        verify::verify(&self.database, None).await
    }
}

/// What the database said. It names no row, so the context is the caller's.
fn storage(error: sqlx::Error) -> JournalError {
    match store::postgres::is_away(&error) {
        true => JournalError::Away(error.to_string()),
        false => JournalError::Storage(error.to_string()),
    }
}
