//! Reading entries and the head.

use chrono::{DateTime, SecondsFormat, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::wire::ledger::Entry;
use sqlx::{Row, SqliteConnection, SqlitePool, sqlite::SqliteRow};

use super::{Hash, Head, JournalError, READ_MAX, storage};

/// An entry as it is stored.
pub(super) struct StoredEntry {
    pub(super) sequence: u64,
    pub(super) at: String,
    pub(super) node: String,
    pub(super) record: String,
    pub(super) drill: bool,
    pub(super) prev_hash: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

/// How an instant is stored.
pub(super) fn at_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Stored entries after a sequence, in order, at most `limit`.
pub(super) async fn stored_after(
    pool: &SqlitePool,
    sequence: u64,
    limit: u32,
) -> Result<Vec<StoredEntry>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT sequence, at, node, record, drill, prev_hash, hash FROM entries WHERE sequence > $1 \
         ORDER BY sequence LIMIT $2",
    )
    .bind(signed(sequence))
    .bind(i64::from(limit))
    .fetch_all(pool)
    .await?;
    rows.iter().map(stored).collect()
}

fn stored(row: &SqliteRow) -> Result<StoredEntry, sqlx::Error> {
    Ok(StoredEntry {
        sequence: unsigned(row.try_get("sequence")?),
        at: row.try_get("at")?,
        node: row.try_get("node")?,
        record: row.try_get("record")?,
        drill: row.try_get("drill")?,
        prev_hash: row.try_get("prev_hash")?,
        hash: row.try_get("hash")?,
    })
}

pub(super) async fn entries_after(
    pool: &SqlitePool,
    sequence: LedgerSequence,
    limit: u32,
) -> Result<Vec<Entry>, JournalError> {
    let stored = stored_after(pool, sequence.0, limit.min(READ_MAX)).await.map_err(storage)?;
    stored.into_iter().map(understood).collect()
}

fn understood(stored: StoredEntry) -> Result<Entry, JournalError> {
    let sequence = stored.sequence;
    let unreadable = |reason: String| JournalError::Unreadable { sequence, reason };
    Ok(Entry {
        sequence: LedgerSequence(sequence),
        at: instant(&stored.at).map_err(unreadable)?,
        node: NodeId::try_new(&stored.node).map_err(|error| unreadable(error.to_string()))?,
        record: serde_json::from_str(&stored.record).map_err(|error| unreadable(error.to_string()))?,
        drill: stored.drill,
    })
}

/// Reads back what [`at_text`] wrote.
pub(super) fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    DateTime::parse_from_rfc3339(text).map(|at| at.to_utc()).map_err(|error| error.to_string())
}

/// Where the chain ends.
pub(super) async fn head(connection: &mut SqliteConnection) -> Result<Head, JournalError> {
    let row = sqlx::query("SELECT sequence, hash FROM head WHERE id = 1")
        .fetch_one(connection)
        .await
        .map_err(storage)?;
    let sequence = unsigned(row.try_get("sequence").map_err(storage)?);
    let hash: Vec<u8> = row.try_get("hash").map_err(storage)?;
    let hash = Hash::try_from(hash.as_slice())
        .map_err(|_| JournalError::Storage("the head's hash is not 32 bytes long".to_owned()))?;
    Ok(Head { sequence: LedgerSequence(sequence), hash })
}

/// SQLite's integers are signed; a ledger never comes near the border.
pub(super) fn signed(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

fn unsigned(sequence: i64) -> u64 {
    u64::try_from(sequence).unwrap_or(0)
}
