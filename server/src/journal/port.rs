//! What the writer needs of a database: one transaction at a time, step by step. Two databases do it.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use kernel::ids::LedgerSequence;
use kernel::ledger::{Row, Rows};

use super::read::StoredEntry;
use super::{Hash, Head, JournalError};

/// How long the writer waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For everything before the commit. After it nothing was stored.
    pub(super) store: Duration,
    /// For the answer to a commit. After it the writer asks what became of it.
    pub(super) commit: Duration,
    /// Between two questions what became of it, or whether the database is there again.
    pub(super) pause: Duration,
}

/// A database on which the writer stores. After an error, or a time-out, `abandon` is called before anything else.
pub(super) trait Port: Send {
    fn patience(&self) -> Patience;

    /// Begins a transaction and takes the head, which nobody else moves before the end. Waits for whoever has it, so
    /// that what it finds is settled.
    fn begin(&mut self) -> impl Future<Output = Result<Head, JournalError>> + Send;

    /// The rows that are asked for, as they stand.
    fn rows(&mut self, wanted: &BTreeSet<Row>) -> impl Future<Output = Result<Rows, JournalError>> + Send;

    /// Stores entries, which follow the head, and rows.
    fn store(
        &mut self,
        entries: &[StoredEntry],
        rows: &[(Row, u64)],
    ) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Hash of an entry, none if there is no such entry.
    fn hash_of(
        &mut self,
        sequence: LedgerSequence,
    ) -> impl Future<Output = Result<Option<Hash>, JournalError>> + Send;

    /// Makes it durable. After an error nothing is known.
    fn commit(&mut self) -> impl Future<Output = Result<(), JournalError>> + Send;

    /// Undoes what was not committed, without waiting.
    fn abandon(&mut self);
}

/// The error of a step that was taken without a transaction: a fault of the writer, told rather than hidden.
pub(super) fn no_transaction() -> JournalError {
    JournalError::Storage("no transaction was begun".to_owned())
}
