//! The writer's steps on a file.

use std::collections::BTreeSet;
use std::time::Duration;

use kernel::ids::LedgerSequence;
use kernel::ledger::{Row, Rows};
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::port::{Patience, Port, no_transaction};
use super::read::{self, StoredEntry};
use super::{COMMIT_DEADLINE, Hash, Head, JournalError, storage};

/// Between two looks at a file that somebody else is writing.
const PAUSE: Duration = Duration::from_millis(50);

/// The transaction of one writer; another journal of the same file has its own.
pub(super) struct SqlitePort {
    pool: SqlitePool,
    transaction: Option<Transaction<'static, Sqlite>>,
}

impl SqlitePort {
    pub(super) fn new(pool: SqlitePool) -> Self {
        Self { pool, transaction: None }
    }

    fn open(&mut self) -> Result<&mut Transaction<'static, Sqlite>, JournalError> {
        self.transaction.as_mut().ok_or_else(no_transaction)
    }
}

impl Port for SqlitePort {
    fn patience(&self) -> Patience {
        Patience { store: COMMIT_DEADLINE, commit: COMMIT_DEADLINE, pause: PAUSE }
    }

    async fn begin(&mut self) -> Result<Head, JournalError> {
        // IMMEDIATE takes the write lock before the head is read, so nobody appends in between.
        let transaction = self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(storage)?;
        let transaction = self.transaction.insert(transaction);
        let head = sqlx::query_as(read::HEAD).fetch_one(&mut **transaction).await.map_err(storage)?;
        read::head_of(head)
    }

    async fn rows(&mut self, wanted: &BTreeSet<Row>) -> Result<Rows, JournalError> {
        let transaction = self.open()?;
        let mut found = Vec::with_capacity(wanted.len());
        for row in wanted {
            let number: Option<i64> =
                sqlx::query_scalar("SELECT number FROM rows WHERE kind = $1 AND name = $2")
                    .bind(row.kind())
                    .bind(row.name())
                    .fetch_optional(&mut **transaction)
                    .await
                    .map_err(storage)?;
            found.extend(number.map(|number| (row.clone(), read::unsigned(number))));
        }
        Ok(found.into_iter().collect())
    }

    async fn store(&mut self, entries: &[StoredEntry], rows: &[(Row, u64)]) -> Result<(), JournalError> {
        let transaction = self.open()?;
        for entry in entries {
            sqlx::query(
                "INSERT INTO entries (sequence, at, node, record, drill, prev_hash, hash) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7)",
            )
            .bind(read::signed(entry.sequence))
            .bind(&entry.at)
            .bind(&entry.node)
            .bind(&entry.record)
            .bind(entry.drill)
            .bind(&entry.prev_hash)
            .bind(&entry.hash)
            .execute(&mut **transaction)
            .await
            .map_err(storage)?;
        }
        for (row, number) in rows {
            sqlx::query(
                "INSERT INTO rows (kind, name, number) VALUES ($1, $2, $3) \
                 ON CONFLICT (kind, name) DO UPDATE SET number = excluded.number",
            )
            .bind(row.kind())
            .bind(row.name())
            .bind(read::signed(*number))
            .execute(&mut **transaction)
            .await
            .map_err(storage)?;
        }
        Ok(())
    }

    async fn hash_of(&mut self, sequence: LedgerSequence) -> Result<Option<Hash>, JournalError> {
        let transaction = self.open()?;
        let hash = sqlx::query_scalar(read::HASH)
            .bind(read::signed(sequence.0))
            .fetch_optional(&mut **transaction)
            .await
            .map_err(storage)?;
        hash.map(read::hash_from).transpose()
    }

    async fn commit(&mut self) -> Result<(), JournalError> {
        let transaction = self.transaction.take().ok_or_else(no_transaction)?;
        transaction.commit().await.map_err(storage)
    }

    fn abandon(&mut self) {
        self.transaction = None;
    }
}
