//! Walking the chain: a ledger that was touched behind our back is not a ledger any more.

use kernel::ids::LedgerSequence;
use sqlx::SqlitePool;
use thiserror::Error;

use super::chain::{self, GENESIS, Hash, Link};
use super::read::{self, StoredEntry};
use super::{JournalError, READ_MAX, Runs};

/// A whole chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many entries it has.
    pub entries: u64,
    /// Hash of the last; [`GENESIS`] when there is none.
    pub head_hash: Hash,
}

/// The first place where the chain does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the ledger is broken at entry {sequence}: {reason}. Entries before it are sound. Nothing may run on a broken \
     ledger: keep this file for the investigation and restore the last backup whose chain is whole"
)]
pub struct BrokenAt {
    /// Sequence of the entry.
    pub sequence: LedgerSequence,
    /// What does not hold.
    pub reason: String,
}

/// Why a chain could not be confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// It does not hold.
    #[error(transparent)]
    Broken(#[from] BrokenAt),
    /// It belongs to the other kind of run.
    #[error("{0}")]
    OtherRuns(&'static str),
    /// It could not be read.
    #[error("the ledger cannot be read: {0}")]
    Unreadable(#[from] JournalError),
}

/// Walks from the first entry to the head in pages of [`READ_MAX`] entries, so that memory stays bounded.
pub(super) async fn verify(pool: &SqlitePool, runs: Option<Runs>) -> Result<Verified, VerifyError> {
    let mut entries = 0;
    let mut hash = GENESIS;
    loop {
        let page = read::stored_after(pool, entries, READ_MAX).await.map_err(super::storage)?;
        let is_last = page.len() < READ_MAX as usize;
        for entry in &page {
            hash = follow(entry, entries + 1, &hash)?;
            fits(entry, runs)?;
            entries += 1;
        }
        if is_last {
            break;
        }
    }
    let mut connection = pool.acquire().await.map_err(super::storage)?;
    let head = read::head(&mut connection).await?;
    if head.sequence.0 != entries || head.hash != hash {
        let reason = format!("the head says that {} entries stand, {entries} were found", head.sequence);
        return Err(broken(entries + 1, reason).into());
    }
    Ok(Verified { entries, head_hash: hash })
}

/// Whether an entry may stand in a ledger of this kind of run. A drill must never be taken for what happened, nor
/// the other way round.
fn fits(entry: &StoredEntry, runs: Option<Runs>) -> Result<(), VerifyError> {
    match (runs, entry.drill) {
        (None, _) | (Some(Runs::Drill), true) | (Some(Runs::Ordinary), false) => Ok(()),
        (Some(Runs::Ordinary), true) => Err(VerifyError::OtherRuns(
            "this ledger was written by a drill run and is not continued by an ordinary one: start with --drills, or \
             give this run another --data folder",
        )),
        (Some(Runs::Drill), false) => Err(VerifyError::OtherRuns(
            "this ledger was written by an ordinary run and is not continued by a drill run: start without --drills, \
             or give this run another --data folder",
        )),
    }
}

/// Checks one entry against the one before and returns its hash.
fn follow(entry: &StoredEntry, expected: u64, prev: &Hash) -> Result<Hash, BrokenAt> {
    if entry.sequence != expected {
        return Err(broken(expected, format!("it is missing, entry {} follows", entry.sequence)));
    }
    if entry.prev_hash != prev {
        return Err(broken(expected, "it does not follow the entry before".to_owned()));
    }
    let link = Link {
        sequence: expected,
        at: &entry.at,
        node: &entry.node,
        record: &entry.record,
        drill: entry.drill,
        prev,
    };
    let hash = chain::hash(link);
    if entry.hash != hash {
        return Err(broken(expected, "its content was changed after it was stored".to_owned()));
    }
    Ok(hash)
}

fn broken(sequence: u64, reason: String) -> BrokenAt {
    BrokenAt { sequence: LedgerSequence(sequence), reason }
}
