//! The ledger on a real SQLite file: what its disk and its process suffer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use server::journal::{Journal, JournalError, Runs};
use server::store;
use sqlx::SqlitePool;
use tempfile::TempDir;

use super::{at, node, run};

/// Set for the copy of this test binary that is killed in the middle of its work.
const CHILD_FILE: &str = "HOISTWAY_TEST_JOURNAL";

async fn fresh() -> (TempDir, SqlitePool, Journal) {
    let dir = tempfile::tempdir().unwrap();
    let pool = store::open(&dir.path().join("ledger.db")).await.unwrap();
    let (journal, _) = Journal::open(pool.clone(), Runs::Ordinary).await.unwrap();
    (dir, pool, journal)
}

#[tokio::test]
async fn what_the_disk_refuses_is_refused_whole() {
    let (_dir, pool, journal) = fresh().await;
    // The disk fails in the middle of a proposal: its first record must not stay.
    sqlx::query(
        "CREATE TRIGGER disk_fails BEFORE INSERT ON entries WHEN NEW.record LIKE '%\"run\":13,%' \
         BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .execute(&pool)
    .await
    .unwrap();
    let failed = journal.append(node(), at(), vec![run(12), run(13)], vec![]).await;
    assert!(
        matches!(&failed, Err(JournalError::Storage(reason)) if reason.contains("disk full")),
        "{failed:?}"
    );
    assert_eq!(journal.head().await.unwrap().sequence.0, 0);

    // And the next one goes on.
    journal.append(node(), at(), vec![run(14)], vec![]).await.unwrap();
    assert_eq!(journal.verify().await.unwrap().entries, 1);
}

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ledger.db");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["journal::file::appends_until_it_is_killed", "--exact", "--nocapture"])
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
        let entries = journal.append(node(), at(), vec![run(idx), run(idx)], vec![]).await.unwrap();
        println!("answered {}", entries[1].sequence);
    }
}
