//! Where things are kept: a process's own SQLite file (outbox, gateway marks, plant), and the ledger, which is in such
//! a file or on PostgreSQL.

pub mod address;
pub mod postgres;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, PgPool, SqliteConnection, SqlitePool};

use self::address::LedgerAddress;

/// Every migration of a file, embedded.
pub static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/sqlite");

/// SQLite has one writer: more connections only help readers, of which there are few.
const CONNECTIONS_MAX: u32 = 4;

/// How long a writer waits for another one. Each holds the file for a group commit, milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a ledger is stored on, opened and of the newest schema.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file.
    Sqlite(SqlitePool),
    /// A server, which several processes may share.
    Postgres(PgPool),
}

impl From<SqlitePool> for Database {
    fn from(pool: SqlitePool) -> Self {
        Self::Sqlite(pool)
    }
}

impl From<PgPool> for Database {
    fn from(pool: PgPool) -> Self {
        Self::Postgres(pool)
    }
}

impl Database {
    /// Opens a ledger's database and brings it to the newest schema.
    ///
    /// # Errors
    /// It cannot be reached, opened or written, or its schema is newer than this program.
    pub async fn open(address: &LedgerAddress) -> anyhow::Result<Self> {
        match address {
            LedgerAddress::File(path) => open(path).await.map(Self::Sqlite),
            LedgerAddress::Postgres(options) => postgres::open(options).await.map(Self::Postgres),
        }
    }

    /// The number of the newest migration that it has.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn schema(&self) -> Result<i64, sqlx::Error> {
        const NEWEST: &str = "SELECT max(version) FROM _sqlx_migrations";
        match self {
            Self::Sqlite(pool) => sqlx::query_scalar(NEWEST).fetch_one(pool).await,
            Self::Postgres(pool) => sqlx::query_scalar(NEWEST).fetch_one(pool).await,
        }
    }

    /// Closes every connection, as soon as nobody uses it.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Why a store cannot be brought to the newest schema, with what to do when that is known.
fn cannot_migrate(error: MigrateError, known: &Migrator) -> anyhow::Error {
    let MigrateError::VersionMissing(found) = error else { return error.into() };
    let newest = known.iter().map(|it| it.version).max().unwrap_or_default();
    anyhow::anyhow!(
        "its schema has migration {found}, this program knows {newest} at most: a newer hoistway has written it, so \
         start that one, or go back to a copy from before the upgrade"
    )
}

/// Opens the file, creates it when it is missing, and brings it to the newest schema.
///
/// A commit is on the disk when it returns (`synchronous = FULL`): a fence or an accepted order that a power cut
/// could take back would be none.
///
/// # Errors
/// The file cannot be opened or written, or its schema is newer than this program.
pub async fn open(path: &Path) -> anyhow::Result<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        // A full disk makes SQLite roll back by itself, and the driver then loses count of its transactions: such a
        // connection would refuse every later one.
        .after_release(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        .connect_with(options)
        .await
        .with_context(|| format!("cannot open the store {}", path.display()))?;
    MIGRATIONS
        .run(&pool)
        .await
        .map_err(|error| cannot_migrate(error, &MIGRATIONS))
        .with_context(|| format!("cannot bring the store {} to the newest schema", path.display()))?;
    Ok(pool)
}

/// Opens the file a second time and holds it against every writer, until the connection is dropped. For drills.
///
/// # Errors
/// The file is not there, or another writer does not let go of it.
pub async fn hold_writes(path: &Path) -> anyhow::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(BUSY_TIMEOUT);
    let context = || format!("cannot hold the store {}", path.display());
    let mut connection = SqliteConnection::connect_with(&options).await.with_context(context)?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut connection).await.with_context(context)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_is_created_once_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let pool = open(&path).await.unwrap();
        sqlx::query("INSERT INTO gateway_marks (gateway, marks) VALUES ('G1', '{}')")
            .execute(&pool)
            .await
            .unwrap();
        pool.close().await;
        let pool = open(&path).await.unwrap();
        let kept: String =
            sqlx::query_scalar("SELECT gateway FROM gateway_marks").fetch_one(&pool).await.unwrap();
        assert_eq!(kept, "G1");
        let level: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&pool).await.unwrap();
        assert_eq!(level, 2, "FULL");
    }

    #[tokio::test]
    async fn a_held_store_is_read_and_not_written_until_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.db");
        let pool = open(&path).await.unwrap();
        let mut writer = pool.acquire().await.unwrap();
        sqlx::query("PRAGMA busy_timeout = 1").execute(&mut *writer).await.unwrap();
        let held = hold_writes(&path).await.unwrap();
        let write = "INSERT OR REPLACE INTO gateway_marks (gateway, marks) VALUES ('G1', '{}')";
        assert!(sqlx::query(write).execute(&mut *writer).await.is_err());
        let n: i64 =
            sqlx::query_scalar("SELECT count(*) FROM gateway_marks").fetch_one(&mut *writer).await.unwrap();
        assert_eq!(n, 0);
        held.close().await.unwrap();
        sqlx::query(write).execute(&mut *writer).await.unwrap();
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_opened_says_which() {
        let dir = tempfile::tempdir().unwrap();
        let refused = open(dir.path()).await.unwrap_err().to_string();
        assert!(refused.starts_with("cannot open the store"), "{refused}");
    }

    /// As a full disk leaves it: the driver believes in a transaction that SQLite has ended.
    #[tokio::test]
    async fn a_connection_that_is_stuck_in_a_transaction_is_not_handed_out_again() {
        let dir = tempfile::tempdir().unwrap();
        let pool = open(&dir.path().join("store.db")).await.unwrap();
        for _ in 0..=CONNECTIONS_MAX {
            let mut connection = pool.acquire().await.unwrap();
            let transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
            std::mem::forget(transaction);
            drop(connection);
        }
        let transaction = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
        transaction.rollback().await.unwrap();
    }
}
