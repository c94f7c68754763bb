//! The ledger on a real SQLite file.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use chrono::{DateTime, Utc};
use kernel::ids::{LedgerSequence, NodeId, SiteId};
use kernel::wire::ledger::Record;
use server::journal::{GENESIS, Journal, JournalError, RECORDS_MAX, Runs, VerifyError};
use server::store;
use sqlx::SqlitePool;
use tempfile::TempDir;

/// Set for the copy of this test binary that is killed in the middle of its work.
const CHILD_FILE: &str = "HOISTWAY_TEST_JOURNAL";

fn node() -> NodeId {
    NodeId::try_new("A").unwrap()
}

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(1_796_020_000_123_456_789)
}

fn run(run: u64) -> Record {
    Record::NodeStarted { run, site: SiteId::try_new("hall").unwrap() }
}

async fn fresh() -> (TempDir, SqlitePool, Journal) {
    let dir = tempfile::tempdir().unwrap();
    let pool = store::open(&dir.path().join("ledger.db")).await.unwrap();
    let (journal, _) = Journal::open(pool.clone(), Runs::Ordinary).await.unwrap();
    (dir, pool, journal)
}

async fn sequences(journal: &Journal) -> Vec<u64> {
    let mut all = Vec::new();
    loop {
        let after = LedgerSequence(all.last().copied().unwrap_or(0));
        let page = journal.entries_after(after, 7).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().map(|entry| entry.sequence.0));
    }
}

#[tokio::test]
async fn entries_are_chained_from_the_first_on_and_found_again() {
    let (dir, pool, journal) = fresh().await;
    assert_eq!(journal.head().await.unwrap().hash, GENESIS);

    let first = journal.append(node(), at(), vec![run(1), run(2)]).await.unwrap();
    let second = journal.append(node(), at(), vec![run(3)]).await.unwrap();
    assert_eq!(journal.append(node(), at(), vec![]).await.unwrap(), vec![]);
    let stored: Vec<_> = first.into_iter().chain(second).collect();

    let head = journal.head().await.unwrap();
    let verified = journal.verify().await.unwrap();
    assert_eq!((head.sequence.0, verified.entries, verified.head_hash), (3, 3, head.hash));
    assert_ne!(head.hash, GENESIS);

    drop(journal);
    pool.close().await;
    let pool = store::open(&dir.path().join("ledger.db")).await.unwrap();
    let (journal, _) = Journal::open(pool, Runs::Ordinary).await.unwrap();
    assert_eq!(journal.entries_after(LedgerSequence(0), 100).await.unwrap(), stored);
    assert_eq!(journal.head().await.unwrap(), head);
    assert_eq!(journal.append(node(), at(), vec![run(4)]).await.unwrap()[0].sequence.0, 4);
}

#[tokio::test]
async fn many_at_once_leave_no_gap_and_no_proposal_is_torn() {
    let (_dir, _pool, journal) = fresh().await;
    let proposals = (0..200u64).map(|idx| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.append(node(), at(), vec![run(idx), run(idx), run(idx)]).await })
    });
    let mut answered = BTreeSet::new();
    for proposal in proposals.collect::<Vec<_>>() {
        let entries = proposal.await.unwrap().unwrap();
        let own: Vec<u64> = entries.iter().map(|entry| entry.sequence.0).collect();
        assert_eq!(own, (own[0]..own[0] + 3).collect::<Vec<_>>(), "a proposal stands together");
        answered.extend(own);
    }
    assert_eq!(answered, (1..=600).collect());
    assert_eq!(sequences(&journal).await, (1..=600).collect::<Vec<_>>());
    assert_eq!(journal.verify().await.unwrap().entries, 600);
}

#[tokio::test]
async fn the_database_itself_refuses_to_change_the_past() {
    let (_dir, pool, journal) = fresh().await;
    journal.append(node(), at(), vec![run(1), run(2)]).await.unwrap();
    let rows = [
        ("UPDATE entries SET record = '{}' WHERE sequence = 1", "an entry is never changed"),
        ("DELETE FROM entries WHERE sequence = 2", "an entry is never deleted"),
        ("UPDATE head SET sequence = 1", "its head only rises"),
        ("DELETE FROM head", "its head is never deleted"),
        (
            "INSERT INTO entries VALUES (4, 't', 'A', '{}', zeroblob(32), zeroblob(32), 0)",
            "an entry follows the head",
        ),
        (
            "INSERT INTO entries VALUES (3, 't', 'A', '{}', zeroblob(32), zeroblob(32), 0)",
            "an entry follows the head",
        ),
    ];
    for (statement, reason) in rows {
        let refused = sqlx::query(statement).execute(&pool).await.unwrap_err().to_string();
        assert!(refused.contains(reason), "{statement}: {refused}");
    }
    assert_eq!(journal.verify().await.unwrap().entries, 2);
}

#[tokio::test]
async fn a_touched_ledger_refuses_to_start_and_says_where() {
    let rows: &[(&[&'static str], u64, &str)] = &[
        (
            &["UPDATE entries SET record = '{\"nodeStarted\":{\"run\":9}}' WHERE sequence = 3"],
            3,
            "changed after",
        ),
        (&["UPDATE entries SET at = '2026-01-01T00:00:00.000000Z' WHERE sequence = 1"], 1, "changed after"),
        (&["UPDATE entries SET node = 'B' WHERE sequence = 5"], 5, "changed after"),
        (&["UPDATE entries SET hash = zeroblob(32) WHERE sequence = 4"], 4, "changed after"),
        (&["UPDATE entries SET prev_hash = zeroblob(32) WHERE sequence = 2"], 2, "does not follow"),
        (&["DELETE FROM entries WHERE sequence = 2"], 2, "is missing"),
        (&["DELETE FROM entries WHERE sequence = 5"], 5, "the head says that 5 entries stand"),
        (&["DELETE FROM entries"], 1, "the head says that 5 entries stand"),
        (
            &[
                "UPDATE entries SET sequence = 9 WHERE sequence = 2",
                "UPDATE entries SET sequence = 2 WHERE sequence = 3",
                "UPDATE entries SET sequence = 3 WHERE sequence = 9",
            ],
            2,
            "does not follow",
        ),
    ];
    for (touches, expected, reason) in rows {
        let (_dir, pool, journal) = fresh().await;
        journal.append(node(), at(), (1..=5).map(run).collect()).await.unwrap();
        drop(journal);
        for trigger in ["entries_are_never_changed", "entries_are_never_deleted"] {
            let dropped = sqlx::AssertSqlSafe(format!("DROP TRIGGER {trigger}"));
            sqlx::query(dropped).execute(&pool).await.unwrap();
        }
        for touch in *touches {
            sqlx::query(*touch).execute(&pool).await.unwrap();
        }
        match Journal::open(pool, Runs::Ordinary).await {
            Err(VerifyError::Broken(broken)) => {
                assert_eq!(broken.sequence.0, *expected, "{touches:?}: {broken}");
                assert!(broken.to_string().contains(reason), "{touches:?}: {broken}");
            }
            other => panic!("{touches:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_whole() {
    let (_dir, pool, journal) = fresh().await;
    let too_many = journal.append(node(), at(), vec![run(1); RECORDS_MAX + 1]).await;
    assert_eq!(too_many, Err(JournalError::TooManyRecords(RECORDS_MAX + 1)));

    // The disk fails in the middle of a proposal: its first record must not stay.
    sqlx::query(
        "CREATE TRIGGER disk_fails BEFORE INSERT ON entries WHEN NEW.record LIKE '%\"run\":13,%' \
         BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .execute(&pool)
    .await
    .unwrap();
    let failed = journal.append(node(), at(), vec![run(12), run(13)]).await;
    assert!(
        matches!(&failed, Err(JournalError::Storage(reason)) if reason.contains("disk full")),
        "{failed:?}"
    );
    assert_eq!(journal.head().await.unwrap().sequence.0, 0);

    // And the next one goes on.
    journal.append(node(), at(), vec![run(14)]).await.unwrap();
    assert_eq!(journal.verify().await.unwrap().entries, 1);
}

#[tokio::test]
async fn a_closed_journal_answers_what_it_took() {
    let (_dir, pool, journal) = fresh().await;
    let taken: Vec<_> = (0..50)
        .map(|idx| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.append(node(), at(), vec![run(idx)]).await })
        })
        .collect();
    drop(journal);
    let mut stored = 0;
    for answer in taken {
        stored += u64::try_from(answer.await.unwrap().unwrap().len()).unwrap();
    }
    let (journal, _) = Journal::open(pool, Runs::Ordinary).await.unwrap();
    assert_eq!((stored, journal.verify().await.unwrap().entries), (50, 50));
}

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["journal::appends_until_it_is_killed", "--exact", "--nocapture"])
        .env(CHILD_FILE, &file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let answered =
        lines.filter_map(|line| line.strip_prefix("answered ")?.parse::<u64>().ok()).take(40).last();
    child.kill().unwrap();
    child.wait().unwrap();

    let (journal, _) = Journal::open(store::open(&file).await.unwrap(), Runs::Ordinary).await.unwrap();
    let found = journal.verify().await.unwrap().entries;
    assert!(found >= answered.unwrap(), "{answered:?} was answered, {found} were found");
    assert_eq!(found % 2, 0, "a proposal of two records is torn");
}

/// Runs in a process of its own, started and killed by the test above.
#[tokio::test]
async fn appends_until_it_is_killed() {
    let Some(file) = std::env::var_os(CHILD_FILE) else { return };
    let (journal, _) =
        Journal::open(store::open(Path::new(&file)).await.unwrap(), Runs::Ordinary).await.unwrap();
    for idx in 0..100_000 {
        let entries = journal.append(node(), at(), vec![run(idx), run(idx)]).await.unwrap();
        println!("answered {}", entries[1].sequence);
    }
}
