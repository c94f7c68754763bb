//! The one writer: takes proposals in order, commits them in groups, answers each.

use chrono::{DateTime, SubsecRound, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::wire::ledger::{Entry, Record};
use sqlx::{Sqlite, SqliteConnection, SqlitePool, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::chain::{self, Link};
use super::{
    COMMIT_DEADLINE, GROUP_MAX, Head, JournalError, RECORD_BYTES_MAX, RECORDS_MAX, Runs, read, storage,
};

type Answer = Result<Vec<Entry>, JournalError>;

/// Records that are to be stored together.
pub(super) struct Proposal {
    node: NodeId,
    at: DateTime<Utc>,
    records: Vec<(Record, String)>,
    answer: oneshot::Sender<Answer>,
}

impl Proposal {
    /// Checks the bounds and writes the records as JSON, before anything is queued.
    pub(super) fn new(
        node: NodeId,
        at: DateTime<Utc>,
        records: Vec<Record>,
        answer: oneshot::Sender<Answer>,
    ) -> Result<Self, JournalError> {
        if records.len() > RECORDS_MAX {
            return Err(JournalError::TooManyRecords(records.len()));
        }
        let written = records.into_iter().map(write).collect::<Result<Vec<_>, _>>()?;
        // What is stored and what is returned must be the same after a restart.
        Ok(Self { node, at: at.trunc_subsecs(6), records: written, answer })
    }
}

fn write(record: Record) -> Result<(Record, String), JournalError> {
    let text = serde_json::to_string(&record)
        .map_err(|error| JournalError::Storage(format!("a record cannot be written as JSON: {error}")))?;
    if text.len() > RECORD_BYTES_MAX {
        return Err(JournalError::RecordTooLarge(text.len()));
    }
    Ok((record, text))
}

/// Runs until every journal handle is gone and the queue is empty.
pub(super) async fn run(pool: SqlitePool, runs: Runs, mut queue: mpsc::Receiver<Proposal>) {
    let mut uncertain = None;
    let mut group = Vec::with_capacity(GROUP_MAX);
    while queue.recv_many(&mut group, GROUP_MAX).await > 0 {
        let proposals = std::mem::replace(&mut group, Vec::with_capacity(GROUP_MAX));
        let outcome = match &uncertain {
            Some(reason) => Err(JournalError::Uncertain(String::clone(reason))),
            None => commit(&pool, runs, &proposals).await,
        };
        if let Err(JournalError::Uncertain(reason)) = &outcome {
            tracing::error!(%reason, "the ledger takes no more entries until a restart");
            uncertain = Some(reason.clone());
        }
        answer(proposals, outcome);
    }
}

/// Answers each proposer. Nobody may listen any more: the entries stand all the same.
fn answer(proposals: Vec<Proposal>, outcome: Result<Vec<Vec<Entry>>, JournalError>) {
    match outcome {
        Ok(stored) => {
            for (proposal, entries) in proposals.into_iter().zip(stored) {
                let _ = proposal.answer.send(Ok(entries));
            }
        }
        Err(error) => {
            for proposal in proposals {
                let _ = proposal.answer.send(Err(error.clone()));
            }
        }
    }
}

/// Stores a group in one transaction. After a failure it finds out whether the commit held: "not stored" is said
/// only when that is certain.
async fn commit(
    pool: &SqlitePool,
    runs: Runs,
    proposals: &[Proposal],
) -> Result<Vec<Vec<Entry>>, JournalError> {
    // The whole group shares one fate, so a bound around it suffices.
    let inserted = tokio::time::timeout(COMMIT_DEADLINE, insert(pool, runs, proposals)).await;
    let (transaction, before, stored) = match inserted {
        Ok(result) => result?,
        // Not committed, so dropping the transaction has undone it.
        Err(_) => return Err(JournalError::Storage(hung())),
    };
    let failure = match tokio::time::timeout(COMMIT_DEADLINE, transaction.commit()).await {
        Ok(Ok(())) => return Ok(stored),
        Ok(Err(error)) => error.to_string(),
        Err(_) => hung(),
    };
    settle(pool, before, stored, failure).await
}

fn hung() -> String {
    format!("the disk did not answer within {} s", COMMIT_DEADLINE.as_secs())
}

/// Looks whether a commit that failed holds after all.
async fn settle(
    pool: &SqlitePool,
    before: Head,
    stored: Vec<Vec<Entry>>,
    failure: String,
) -> Result<Vec<Vec<Entry>>, JournalError> {
    let found = tokio::time::timeout(COMMIT_DEADLINE, async {
        let mut connection = pool.acquire().await.map_err(storage)?;
        read::head(&mut connection).await
    });
    match found.await {
        // One process writes this ledger, so a head that has not moved says that the commit does not hold.
        Ok(Ok(head)) if head == before => Err(JournalError::Storage(failure)),
        Ok(Ok(head)) if Some(head.sequence) == stored.iter().flatten().last().map(|it| it.sequence) => {
            Ok(stored)
        }
        Ok(Ok(_) | Err(_)) | Err(_) => Err(JournalError::Uncertain(failure)),
    }
}

type Inserted = (Transaction<'static, Sqlite>, Head, Vec<Vec<Entry>>);

async fn insert(pool: &SqlitePool, runs: Runs, proposals: &[Proposal]) -> Result<Inserted, JournalError> {
    let drill = runs == Runs::Drill;
    // IMMEDIATE takes the write lock before the head is read, so nobody appends in between.
    let mut transaction = pool.begin_with("BEGIN IMMEDIATE").await.map_err(storage)?;
    let before = read::head(&mut transaction).await?;
    let mut head = before;
    let mut stored = Vec::with_capacity(proposals.len());
    for proposal in proposals {
        let at = read::at_text(proposal.at);
        let mut entries = Vec::with_capacity(proposal.records.len());
        for (record, text) in &proposal.records {
            let link = Link {
                sequence: head.sequence.0.saturating_add(1),
                at: &at,
                node: proposal.node.as_str(),
                record: text,
                drill,
                prev: &head.hash,
            };
            head = insert_one(&mut transaction, link).await?;
            entries.push(Entry {
                sequence: head.sequence,
                at: proposal.at,
                node: proposal.node.clone(),
                record: record.clone(),
                drill,
            });
        }
        stored.push(entries);
    }
    Ok((transaction, before, stored))
}

/// Appends one entry and returns the new head, which the database moves by itself.
async fn insert_one(connection: &mut SqliteConnection, link: Link<'_>) -> Result<Head, JournalError> {
    let hash = chain::hash(link);
    sqlx::query(
        "INSERT INTO entries (sequence, at, node, record, drill, prev_hash, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(read::signed(link.sequence))
    .bind(link.at)
    .bind(link.node)
    .bind(link.record)
    .bind(link.drill)
    .bind(link.prev.as_slice())
    .bind(hash.as_slice())
    .execute(connection)
    .await
    .map_err(storage)?;
    Ok(Head { sequence: LedgerSequence(link.sequence), hash })
}
