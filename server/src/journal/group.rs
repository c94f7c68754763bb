//! What becomes of a group of proposals, decided before anything is written: which conflict, which entries follow the
//! head, which rows move. Knows no database.

use std::collections::BTreeSet;

use chrono::{DateTime, SubsecRound, Utc};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::{Guard, Row, Rows, steps};
use kernel::wire::ledger::{Entry, Record};
use tokio::sync::oneshot;

use super::chain::{self, Link};
use super::read::{self, StoredEntry};
use super::{GUARDS_MAX, Hash, Head, JournalError, RECORD_BYTES_MAX, RECORDS_MAX, Runs};

pub(super) type Answer = Result<Vec<Entry>, JournalError>;

/// Records that are to be stored together, if their guards hold.
pub(super) struct Proposal {
    node: NodeId,
    at: DateTime<Utc>,
    records: Vec<(Record, String)>,
    guards: Vec<Guard>,
    answer: oneshot::Sender<Answer>,
}

impl Proposal {
    /// Checks the bounds and writes the records as JSON, before anything is queued.
    pub(super) fn new(
        node: NodeId,
        at: DateTime<Utc>,
        records: Vec<Record>,
        guards: Vec<Guard>,
        answer: oneshot::Sender<Answer>,
    ) -> Result<Self, JournalError> {
        if records.len() > RECORDS_MAX {
            return Err(JournalError::TooManyRecords(records.len()));
        }
        if guards.len() > GUARDS_MAX {
            return Err(JournalError::TooManyGuards(guards.len()));
        }
        let written = records.into_iter().map(write).collect::<Result<Vec<_>, _>>()?;
        // What is stored and what is returned must be the same after a restart.
        Ok(Self { node, at: at.trunc_subsecs(6), records: written, guards, answer })
    }

    /// Tells the proposer. Nobody may listen any more: what is stored stands all the same.
    pub(super) fn answer(self, answer: Answer) {
        let _ = self.answer.send(answer);
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

/// What is to be written, and what each proposer is told once it holds.
pub(super) struct Plan {
    pub(super) entries: Vec<StoredEntry>,
    pub(super) rows: Vec<(Row, u64)>,
    pub(super) answers: Vec<Answer>,
}

/// Rows that decide about a group or are moved by it.
pub(super) fn rows_of(proposals: &[Proposal]) -> BTreeSet<Row> {
    proposals
        .iter()
        .flat_map(|proposal| {
            let moved = proposal.records.iter().flat_map(|(record, _)| steps(&proposal.node, record));
            moved.map(|(row, _)| row).chain(proposal.guards.iter().map(|guard| guard.row.clone()))
        })
        .collect()
}

/// Takes the proposals in turn. Each sees what those before it have moved; one whose guards do not hold is left out
/// and takes no other with it.
pub(super) fn plan(head: Head, mut rows: Rows, runs: Runs, proposals: &[Proposal]) -> Plan {
    let mut planned = Plan { entries: Vec::new(), rows: Vec::new(), answers: Vec::new() };
    let mut moved = BTreeSet::new();
    let (mut sequence, mut prev) = (head.sequence.0, head.hash);
    for proposal in proposals {
        if let Err(conflict) = rows.check(&proposal.guards) {
            planned.answers.push(Err(JournalError::Conflict(conflict)));
            continue;
        }
        let mut entries = Vec::with_capacity(proposal.records.len());
        for (record, text) in &proposal.records {
            sequence = sequence.saturating_add(1);
            let stored = chained(sequence, proposal, text, runs, &mut prev);
            entries.push(Entry {
                sequence: LedgerSequence(sequence),
                at: proposal.at,
                node: proposal.node.clone(),
                record: record.clone(),
                drill: stored.drill,
            });
            planned.entries.push(stored);
            rows.apply(&proposal.node, record);
            moved.extend(steps(&proposal.node, record).map(|(row, _)| row));
        }
        planned.answers.push(Ok(entries));
    }
    planned.rows = moved.into_iter().map(|row| (row.clone(), rows.value(&row))).collect();
    planned
}

/// The entry as it is stored; `prev` becomes its hash.
fn chained(sequence: u64, proposal: &Proposal, record: &str, runs: Runs, prev: &mut Hash) -> StoredEntry {
    let (at, node, drill) = (read::at_text(proposal.at), proposal.node.as_str(), runs == Runs::Drill);
    let hash = chain::hash(Link { sequence, at: &at, node, record, drill, prev });
    let (node, record) = (node.to_owned(), record.to_owned());
    let before = std::mem::replace(prev, hash);
    StoredEntry { sequence, at, node, record, drill, prev_hash: before.to_vec(), hash: hash.to_vec() }
}
