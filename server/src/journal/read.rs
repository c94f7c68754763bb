//! Reading what is stored, on either database.

use chrono::{DateTime, SecondsFormat, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::Presence;
use kernel::wire::ledger::Entry;

use super::{Hash, Head, JournalError, READ_MAX, postgres, storage};
use crate::store::Database;

pub(super) const HEAD: &str = "SELECT sequence, hash FROM head WHERE id = 1";
pub(super) const HASH: &str = "SELECT hash FROM entries WHERE sequence = $1";
const AFTER: &str = "SELECT sequence, at, node, record, drill, prev_hash, hash FROM entries WHERE sequence > $1 \
                     ORDER BY sequence LIMIT $2";
const HAS_ROWS: &str = "SELECT count(*) FROM (SELECT 1 FROM rows LIMIT 1) AS one";
const PRESENCES: &str = "SELECT node, run, beat, version, at, hears_broker FROM nodes";
/// A word that overtook a later one changes nothing.
const ATTEND: &str = "INSERT INTO nodes (node, run, beat, version, at, hears_broker) \
                      VALUES ($1, $2, $3, $4, $5, $6) \
                      ON CONFLICT (node) DO UPDATE SET run = excluded.run, beat = excluded.beat, \
                      version = excluded.version, at = excluded.at, \
                      hears_broker = excluded.hears_broker \
                      WHERE (excluded.run, excluded.beat) > (nodes.run, nodes.beat)";

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredEntry {
    pub(super) sequence: u64,
    pub(super) at: String,
    pub(super) node: String,
    pub(super) record: String,
    pub(super) drill: bool,
    pub(super) prev_hash: Vec<u8>,
    pub(super) hash: Vec<u8>,
}

type EntryColumns = (i64, String, String, String, bool, Vec<u8>, Vec<u8>);

impl From<EntryColumns> for StoredEntry {
    fn from((sequence, at, node, record, drill, prev_hash, hash): EntryColumns) -> Self {
        Self { sequence: unsigned(sequence), at, node, record, drill, prev_hash, hash }
    }
}

/// How an instant is stored.
pub(super) fn at_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Stored entries after a sequence, in order, at most `limit`.
pub(super) async fn stored_after(
    database: &Database,
    sequence: u64,
    limit: u32,
) -> Result<Vec<StoredEntry>, JournalError> {
    let (after, limit) = (signed(sequence), i64::from(limit));
    let found: Vec<EntryColumns> = match database {
        Database::Sqlite(pool) => {
            sqlx::query_as(AFTER).bind(after).bind(limit).fetch_all(pool).await.map_err(storage)?
        }
        Database::Postgres(pool) => {
            postgres::ask(pool, sqlx::query_as(AFTER).bind(after).bind(limit)).await?
        }
    };
    Ok(found.into_iter().map(StoredEntry::from).collect())
}

pub(super) async fn entries_after(
    database: &Database,
    sequence: LedgerSequence,
    limit: u32,
) -> Result<Vec<Entry>, JournalError> {
    let stored = stored_after(database, sequence.0, limit.min(READ_MAX)).await?;
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
fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    DateTime::parse_from_rfc3339(text).map(|at| at.to_utc()).map_err(|error| error.to_string())
}

/// Where the chain ends.
pub(super) async fn head(database: &Database) -> Result<Head, JournalError> {
    let found: Vec<(i64, Vec<u8>)> = match database {
        Database::Sqlite(pool) => sqlx::query_as(HEAD).fetch_all(pool).await.map_err(storage)?,
        Database::Postgres(pool) => postgres::ask(pool, sqlx::query_as(HEAD)).await?,
    };
    let head = found.into_iter().next();
    head_of(head.ok_or_else(|| JournalError::Storage("the ledger has no head".to_owned()))?)
}

/// A head from its columns.
pub(super) fn head_of((sequence, hash): (i64, Vec<u8>)) -> Result<Head, JournalError> {
    Ok(Head { sequence: LedgerSequence(unsigned(sequence)), hash: hash_from(hash)? })
}

/// A hash from its column.
pub(super) fn hash_from(hash: Vec<u8>) -> Result<Hash, JournalError> {
    Hash::try_from(hash.as_slice())
        .map_err(|_| JournalError::Storage("a stored hash is not 32 bytes long".to_owned()))
}

/// Whether any row has moved.
pub(super) async fn has_rows(database: &Database) -> Result<bool, JournalError> {
    let found: Vec<(i64,)> = match database {
        Database::Sqlite(pool) => sqlx::query_as(HAS_ROWS).fetch_all(pool).await.map_err(storage)?,
        Database::Postgres(pool) => postgres::ask(pool, sqlx::query_as(HAS_ROWS)).await?,
    };
    Ok(found.first().is_some_and(|(n,)| *n > 0))
}

/// Notes that a node is there.
pub(super) async fn attend(database: &Database, presence: &Presence) -> Result<(), JournalError> {
    let (run, beat) = (signed(presence.run), signed(presence.beat));
    let (node, version, at) = (presence.node.as_str(), presence.version.as_str(), at_text(presence.at));
    match database {
        Database::Sqlite(pool) => {
            let query = sqlx::query(ATTEND).bind(node).bind(run).bind(beat).bind(version).bind(at);
            let query = query.bind(presence.hears_broker);
            query.execute(pool).await.map_err(storage)?;
        }
        Database::Postgres(pool) => {
            let query = sqlx::query_as::<_, (i64,)>(ATTEND).bind(node).bind(run).bind(beat);
            postgres::ask(pool, query.bind(version).bind(at).bind(presence.hears_broker)).await?;
        }
    }
    Ok(())
}

/// What is known of every node, by name.
pub(super) async fn presences(database: &Database) -> Result<Vec<Presence>, JournalError> {
    let found: Vec<(String, i64, i64, String, String, bool)> = match database {
        Database::Sqlite(pool) => sqlx::query_as(PRESENCES).fetch_all(pool).await.map_err(storage)?,
        Database::Postgres(pool) => postgres::ask(pool, sqlx::query_as(PRESENCES)).await?,
    };
    let known = found.into_iter().map(|(node, run, beat, version, at, hears_broker)| {
        let unreadable = |reason: String| JournalError::Storage(format!("node {node:?}: {reason}"));
        Ok(Presence {
            node: NodeId::try_new(&node).map_err(|error| unreadable(error.to_string()))?,
            run: unsigned(run),
            beat: unsigned(beat),
            version,
            hears_broker,
            at: instant(&at).map_err(unreadable)?,
        })
    });
    let mut known = known.collect::<Result<Vec<_>, _>>()?;
    // Not by the database, which would order by its own language.
    known.sort_by(|a, b| a.node.cmp(&b.node));
    Ok(known)
}

/// The databases' integers are signed; no number of a ledger comes near the border.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
