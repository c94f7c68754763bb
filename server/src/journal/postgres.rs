//! The writer's steps on PostgreSQL, and bounded questions to it.
//!
//! The writer has a connection of its own and drops it after every failure. What the server then still does with the
//! transaction is waited for at the head's lock, by the next connection.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kernel::ids::LedgerSequence;
use kernel::ledger::{Row, Rows};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::QueryAs;
use sqlx::{FromRow, PgConnection, PgPool, Postgres};

use super::port::{Patience, Port, no_transaction};
use super::read::{self, StoredEntry};
use super::{Hash, Head, JournalError, storage};
use crate::store::postgres;

/// Together with the wait for the commit three seconds: whoever proposed wants to be told that the ledger is away.
const STORE_DEADLINE: Duration = Duration::from_secs(2);
const COMMIT_PATIENCE: Duration = Duration::from_secs(1);
/// Between two attempts to reach a server that is coming up.
const PAUSE: Duration = Duration::from_millis(200);
/// For one question besides the writer's; a page of entries takes tens of milliseconds.
const ASK_DEADLINE: Duration = Duration::from_millis(1500);

/// The connection of one writer.
pub(super) struct PostgresPort {
    pool: PgPool,
    connection: Option<PgConnection>,
}

impl PostgresPort {
    /// The pool tells where to connect.
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, connection: None }
    }

    fn open(&mut self) -> Result<&mut PgConnection, JournalError> {
        self.connection.as_mut().ok_or_else(no_transaction)
    }
}

impl Port for PostgresPort {
    fn patience(&self) -> Patience {
        Patience { store: STORE_DEADLINE, commit: COMMIT_PATIENCE, pause: PAUSE }
    }

    async fn begin(&mut self) -> Result<Head, JournalError> {
        let connection = match self.connection.take() {
            Some(connection) => self.connection.insert(connection),
            None => {
                let options = self.pool.connect_options();
                self.connection.insert(postgres::connect(&options).await.map_err(storage)?)
            }
        };
        sqlx::raw_sql("BEGIN ISOLATION LEVEL READ COMMITTED")
            .execute(&mut *connection)
            .await
            .map_err(storage)?;
        let head = sqlx::query_as("SELECT sequence, hash FROM head WHERE id = 1 FOR UPDATE")
            .fetch_one(connection)
            .await
            .map_err(storage)?;
        read::head_of(head)
    }

    async fn rows(&mut self, wanted: &BTreeSet<Row>) -> Result<Rows, JournalError> {
        if wanted.is_empty() {
            return Ok(Rows::default());
        }
        let (kinds, names): (Vec<&str>, Vec<&str>) =
            wanted.iter().map(|row| (row.kind(), row.name())).unzip();
        let found: Vec<(String, String, i64)> = sqlx::query_as(
            "SELECT kind, name, number FROM rows \
             WHERE (kind, name) IN (SELECT * FROM UNNEST($1::text[], $2::text[]))",
        )
        .bind(kinds)
        .bind(names)
        .fetch_all(self.open()?)
        .await
        .map_err(storage)?;
        let found: BTreeMap<_, _> =
            found.iter().map(|(kind, name, number)| ((kind.as_str(), name.as_str()), *number)).collect();
        let number = |row: &Row| found.get(&(row.kind(), row.name())).copied().map(read::unsigned);
        Ok(wanted.iter().filter_map(|row| Some((row.clone(), number(row)?))).collect())
    }

    async fn store(&mut self, entries: &[StoredEntry], rows: &[(Row, u64)]) -> Result<(), JournalError> {
        let connection = self.open()?;
        store_entries(connection, entries).await.map_err(storage)?;
        store_rows(connection, rows).await.map_err(storage)
    }

    async fn hash_of(&mut self, sequence: LedgerSequence) -> Result<Option<Hash>, JournalError> {
        let hash = sqlx::query_scalar(read::HASH)
            .bind(read::signed(sequence.0))
            .fetch_optional(self.open()?)
            .await
            .map_err(storage)?;
        hash.map(read::hash_from).transpose()
    }

    async fn commit(&mut self) -> Result<(), JournalError> {
        sqlx::raw_sql("COMMIT").execute(self.open()?).await.map_err(storage)?;
        Ok(())
    }

    fn abandon(&mut self) {
        // Closes the socket at once; the server then undoes what was not committed.
        self.connection = None;
    }
}

/// All in one statement: a group would otherwise cost a round trip for each entry.
async fn store_entries(connection: &mut PgConnection, entries: &[StoredEntry]) -> Result<(), sqlx::Error> {
    if entries.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO entries (sequence, at, node, record, drill, prev_hash, hash) \
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bytea[], \
         $7::bytea[]) AS new (sequence, at, node, record, drill, prev_hash, hash) ORDER BY sequence",
    )
    .bind(entries.iter().map(|it| read::signed(it.sequence)).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.at.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.node.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.record.as_str()).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.drill).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.prev_hash.as_slice()).collect::<Vec<_>>())
    .bind(entries.iter().map(|it| it.hash.as_slice()).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

async fn store_rows(connection: &mut PgConnection, rows: &[(Row, u64)]) -> Result<(), sqlx::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO rows (kind, name, number) SELECT * FROM UNNEST($1::text[], $2::text[], $3::bigint[]) \
         ON CONFLICT (kind, name) DO UPDATE SET number = excluded.number",
    )
    .bind(rows.iter().map(|(row, _)| row.kind()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(row, _)| row.name()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, number)| read::signed(*number)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Asks within a bound. A connection that did not answer is not used again: its answer may still come.
pub(super) async fn ask<T>(
    pool: &PgPool,
    query: QueryAs<'_, Postgres, T, PgArguments>,
) -> Result<Vec<T>, JournalError>
where
    T: Send + Unpin + for<'r> FromRow<'r, PgRow>,
{
    let mut connection = pool.acquire().await.map_err(storage)?;
    match tokio::time::timeout(ASK_DEADLINE, query.fetch_all(&mut *connection)).await {
        Ok(Ok(rows)) => Ok(rows),
        Ok(Err(error)) => {
            if postgres::is_away(&error) {
                connection.close_on_drop();
            }
            Err(storage(error))
        }
        Err(_) => {
            connection.close_on_drop();
            Err(JournalError::Away(format!("no answer within {} ms", ASK_DEADLINE.as_millis())))
        }
    }
}
