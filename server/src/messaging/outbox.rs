//! Reliable messages that the broker has not acknowledged yet.
//!
//! In memory, and behind it in SQLite when what is sent must survive the process. After a restart the validity of
//! what was kept counts from the start again: how long the process was away is not known without a wall clock, and
//! receivers refuse what is old by its generations.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kernel::time::{Millis, Mono};
use sqlx::{Row as _, SqlitePool};

use super::{PublishError, Road};

/// Most messages kept per link: some hours of commands of a fleet without a broker. Beyond it a message is refused,
/// so that the sender knows.
const KEPT_MAX: usize = 4096;

/// Reliable messages of one link.
pub struct Outbox {
    storage: Storage,
    kept: Mutex<Kept>,
}

enum Storage {
    Memory,
    Sqlite { pool: SqlitePool, link: String },
}

#[derive(Default)]
struct Kept {
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) topic: String,
    pub(super) payload: Vec<u8>,
    pub(super) retain: bool,
    pub(super) valid_until: Mono,
}

impl Outbox {
    /// Kept for as long as the process lives: for what must not be repeated by a later one, such as lift commands.
    pub fn memory() -> Self {
        Self { storage: Storage::Memory, kept: Mutex::new(Kept { entries: BTreeMap::new(), next: 1 }) }
    }

    /// Kept in the store under the name of the link; finds what an earlier process kept there.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn sqlite(pool: SqlitePool, link: &str, now: Mono) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query(
            "SELECT sequence, key, topic, payload, retain, valid_for_ms FROM outbox WHERE link = $1 ORDER BY sequence",
        )
        .bind(link)
        .fetch_all(&pool)
        .await?;
        let mut kept = Kept { entries: BTreeMap::new(), next: 1 };
        for row in rows {
            let valid_for = Millis(u64::try_from(row.try_get::<i64, _>("valid_for_ms")?).unwrap_or(0));
            let sequence = u64::try_from(row.try_get::<i64, _>("sequence")?).unwrap_or(0);
            let entry = Entry {
                key: row.try_get("key")?,
                topic: row.try_get("topic")?,
                payload: row.try_get("payload")?,
                retain: row.try_get("retain")?,
                valid_until: now + valid_for,
            };
            kept.entries.insert(sequence, entry);
            kept.next = sequence + 1;
        }
        Ok(Self { storage: Storage::Sqlite { pool, link: link.to_owned() }, kept: Mutex::new(kept) })
    }

    /// Keeps a message; it is durable when this returns. One that is kept under the same key is replaced.
    pub(super) async fn keep(&self, message: super::Publish, now: Mono) -> Result<(), PublishError> {
        let super::Publish { topic, payload, road, retain } = message;
        let Road::Reliable { key, valid_for } = road else { return Ok(()) };
        let n_others = self.lock().entries.values().filter(|it| it.key != key).count();
        if n_others >= KEPT_MAX {
            return Err(PublishError::OutboxFull(n_others));
        }
        let entry = Entry { key, topic, payload, retain, valid_until: now + valid_for };
        let stored = self.store(&entry, valid_for).await?;
        let mut kept = self.lock();
        let sequence = stored.unwrap_or(kept.next);
        kept.entries.retain(|_, it| it.key != entry.key);
        kept.entries.insert(sequence, entry);
        kept.next = kept.next.max(sequence + 1);
        Ok(())
    }

    async fn store(&self, entry: &Entry, valid_for: Millis) -> Result<Option<u64>, sqlx::Error> {
        let Storage::Sqlite { pool, link } = &self.storage else { return Ok(None) };
        let sequence: i64 = sqlx::query_scalar(
            "INSERT OR REPLACE INTO outbox (link, key, topic, payload, retain, valid_for_ms) \
             VALUES ($1, $2, $3, $4, $5, $6) RETURNING sequence",
        )
        .bind(link)
        .bind(&entry.key)
        .bind(&entry.topic)
        .bind(&entry.payload)
        .bind(entry.retain)
        .bind(i64::try_from(valid_for.0).unwrap_or(i64::MAX))
        .fetch_one(pool)
        .await?;
        Ok(u64::try_from(sequence).ok())
    }

    /// The first message after this sequence that is still worth sending.
    pub(super) fn after(&self, sequence: u64, now: Mono) -> Option<(u64, Entry)> {
        let kept = self.lock();
        let mut later = kept.entries.range(sequence + 1..);
        later.find(|(_, it)| it.valid_until > now).map(|(at, it)| (*at, it.clone()))
    }

    /// Sequences of what is no longer worth sending.
    pub(super) fn expired(&self, now: Mono) -> Vec<u64> {
        self.lock().entries.iter().filter(|(_, it)| it.valid_until <= now).map(|(at, _)| *at).collect()
    }

    /// Forgets messages. When the store fails they stay in it and are sent once more after a restart, which their
    /// receivers tell by the id.
    pub(super) async fn forget(&self, sequences: &[u64]) -> Result<(), sqlx::Error> {
        {
            let mut kept = self.lock();
            for sequence in sequences {
                kept.entries.remove(sequence);
            }
        }
        let Storage::Sqlite { pool, .. } = &self.storage else { return Ok(()) };
        let mut transaction = pool.begin().await?;
        for sequence in sequences {
            sqlx::query("DELETE FROM outbox WHERE sequence = $1")
                .bind(i64::try_from(*sequence).unwrap_or(i64::MAX))
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await
    }

    /// How many messages are kept.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The map is whole after each statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
