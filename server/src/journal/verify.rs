//! Walking the chain: a ledger that was touched behind our back is not a ledger any more.

use kernel::ids::LedgerSequence;
use thiserror::Error;

use super::chain::{self, GENESIS, Hash, Link};
use super::read::{self, StoredEntry};
use super::{Head, JournalError, READ_MAX, Runs};
use crate::store::Database;

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
     ledger: keep it as it is for the investigation and restore the last backup whose chain is whole"
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

/// Walks from the first entry to where the head stands now, in pages of [`READ_MAX`] entries, so that memory stays
/// bounded. Others may append meanwhile.
pub(super) async fn verify(database: &Database, runs: Option<Runs>) -> Result<Verified, VerifyError> {
    let head = read::head(database).await?;
    let mut walked = Verified { entries: 0, head_hash: GENESIS };
    while let left @ 1.. = head.sequence.0.saturating_sub(walked.entries) {
        let limit = u32::try_from(left).unwrap_or(READ_MAX).min(READ_MAX);
        let page = read::stored_after(database, walked.entries, limit).await?;
        for entry in &page {
            walked.head_hash = follow(entry, walked.entries + 1, &walked.head_hash)?;
            fits(entry, runs)?;
            walked.entries += 1;
        }
        if page.is_empty() {
            return Err(contradicts(head, walked.entries).into());
        }
    }
    if head.hash != walked.head_hash || has_more(database, head).await? {
        return Err(contradicts(head, walked.entries).into());
    }
    Ok(walked)
}

/// Whether entries stand after the head: an append moves both at once, so that it has moved by then.
async fn has_more(database: &Database, head: Head) -> Result<bool, JournalError> {
    let after = read::stored_after(database, head.sequence.0, 1).await?;
    Ok(!after.is_empty() && read::head(database).await? == head)
}

fn contradicts(head: Head, found: u64) -> BrokenAt {
    let reason = format!(
        "the head says that {} entries stand and what its hash is, {found} were found that lead to no such head",
        head.sequence
    );
    broken(found + 1, reason)
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
