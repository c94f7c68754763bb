//! The ledger on SQLite: append-only, hash-chained, durable before anybody acts on it (C15, C16).
//!
//! Knows: how entries are stored and chained. Must not know: what a record means; who applies it.
//!
//! A writer task drains a bounded queue and commits several proposals in one transaction, since the disk's flush
//! costs the same for one as for fifty. Each proposal is answered by itself, all of it or nothing.

mod chain;
mod read;
mod verify;
mod writer;

use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::wire::ledger::{Entry, Record};
use sqlx::SqlitePool;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub use chain::{GENESIS, Hash, hex};
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

/// One record as JSON, in bytes. The longest, a command with its way through a large site, is far below.
pub const RECORD_BYTES_MAX: usize = 256 * 1024;

/// Entries that one read returns.
pub const READ_MAX: u32 = 1000;

/// A transaction that is not through by then counts as failed: the disk hangs.
pub(crate) const COMMIT_DEADLINE: Duration = Duration::from_secs(10);

/// Why entries were not stored, or could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum JournalError {
    /// The proposal was not taken.
    #[error("{QUEUE_MAX} proposals wait for the disk already; nothing of this one was stored")]
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
    /// The database refused: nothing was stored.
    #[error("the database did not store it: {0}")]
    Storage(String),
    /// The database cannot say whether the last transaction holds. Nothing is appended any more: a restart reads
    /// what is true.
    #[error(
        "the database does not tell whether an append was stored ({0}); restart this node once the disk is well"
    )]
    Uncertain(String),
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

/// The ledger. Clones share one writer, which ends with the last of them.
#[derive(Clone, Debug)]
pub struct Journal {
    pool: SqlitePool,
    proposals: mpsc::Sender<writer::Proposal>,
}

impl Journal {
    /// Opens the ledger of a migrated database: verifies the whole chain, then starts the writer. The handle ends
    /// when the last clone of the journal is gone and everything queued was answered.
    ///
    /// # Errors
    /// The chain is broken, it holds entries of the other kind of run, or the database cannot be read.
    pub async fn open(pool: SqlitePool, runs: Runs) -> Result<(Self, JoinHandle<()>), VerifyError> {
        verify::verify(&pool, Some(runs)).await?;
        let (proposals, queue) = mpsc::channel(QUEUE_MAX);
        let writer = tokio::spawn(writer::run(pool.clone(), runs, queue));
        Ok((Self { pool, proposals }, writer))
    }

    /// Makes records durable together and returns them as stored. `at` is kept to the microsecond.
    ///
    /// # Errors
    /// Nothing was stored, and the error says why; only [`JournalError::Uncertain`] leaves that open.
    pub async fn append(
        &self,
        node: NodeId,
        at: DateTime<Utc>,
        records: Vec<Record>,
    ) -> Result<Vec<Entry>, JournalError> {
        let (answer, stored) = oneshot::channel();
        let proposal = writer::Proposal::new(node, at, records, answer)?;
        self.proposals.try_send(proposal).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => JournalError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
        })?;
        stored.await.unwrap_or(Err(JournalError::Closed))
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
        read::entries_after(&self.pool, sequence, limit).await
    }

    /// Where the chain ends.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn head(&self) -> Result<Head, JournalError> {
        let mut connection = self.pool.acquire().await.map_err(storage)?;
        read::head(&mut connection).await
    }

    /// Checks the whole chain, page by page.
    ///
    /// # Errors
    /// The first broken entry, or the database cannot be read.
    pub async fn verify(&self) -> Result<Verified, VerifyError> {
        verify::verify(&self.pool, None).await
    }
}

/// What the database said. It names no row, so the context is the caller's.
fn storage(error: sqlx::Error) -> JournalError {
    JournalError::Storage(error.to_string())
}
