//! PostgreSQL that goes away in every way, and comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use kernel::ids::LedgerSequence;
use kernel::ledger::Presence;
use kernel::wire::ledger::Record;
use server::journal::{Journal, JournalError, Runs};
use server::store::{Database, address::LedgerAddress};
use sqlx::postgres::PgConnectOptions;

use super::wire::{Break, Wire};
use super::{Bench, at, node, reaches, run};
use crate::brokers::PATIENCE;
use crate::postgres::Postgres;

/// Far above the bound of a call and far below that of a network.
const ANSWERED: Duration = Duration::from_secs(60);

/// What is appended to see that the ledger is back; no writer comes so far.
const BACK: u64 = 1_000_000;

pub(super) async fn open(options: PgConnectOptions) -> Journal {
    let database = Database::open(&LedgerAddress::Postgres(Box::new(options))).await.unwrap();
    Journal::open(database, Runs::Ordinary).await.unwrap().0
}

async fn bounded<T>(what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(ANSWERED, call).await.unwrap_or_else(|_| panic!("{what} was not answered"))
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_or_is_not() {
    let server = Postgres::shared().await;
    for (how, holds) in [(Break::LosesAnswer, true), (Break::LosesCommit, false), (Break::Silent, false)] {
        let wire = Wire::to(server.address).await;
        let options = server.options(&server.create().await).port(wire.address.port());
        let journal = open(options).await;
        journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
        wire.breaks(how);
        let told = bounded("the append", journal.append(node(), at(), vec![run(2)], vec![])).await;
        assert!(wire.has_broken(), "{how:?}: the danger did not arise");
        match (&told, holds) {
            (Ok(entries), true) => assert_eq!(entries[0].sequence, LedgerSequence(2)),
            (Err(JournalError::Away(_)), false) => {}
            other => panic!("{how:?}: {other:?}"),
        }
        assert_eq!(journal.verify().await.unwrap().entries, if holds { 2 } else { 1 }, "{how:?}");
        journal.append(node(), at(), vec![run(3)], vec![]).await.unwrap();
    }
}

#[tokio::test]
async fn a_frozen_server_is_told_of_and_comes_back_by_itself() {
    let server = Postgres::start().await;
    let database = server.create().await;
    let (journal, other) = (open(server.options(&database)).await, open(server.options(&database)).await);
    let mut moved = other.moved();
    journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    reaches(&mut moved, 1).await;
    server.freeze();
    let version = "0.1".to_owned();
    let word = Presence { node: node(), run: 1, beat: 1, version, hears_broker: true, at: at() };
    let away = [
        bounded("append", journal.append(node(), at(), vec![run(2)], vec![])).await.map(drop),
        bounded("entries", journal.entries_after(LedgerSequence(0), 1)).await.map(drop),
        bounded("head", journal.head()).await.map(drop),
        bounded("attend", journal.attend(&word)).await,
        bounded("presences", journal.presences()).await.map(drop),
    ];
    for told in away {
        assert!(matches!(told, Err(JournalError::Away(_))), "{told:?}");
    }
    server.thaw();
    comes_back(&journal).await;
    journal.attend(&word).await.unwrap();
    reaches(&mut moved, journal.head().await.unwrap().sequence.0).await;
    assert_eq!(journal.presences().await.unwrap().len(), 1);
    let entries = journal.verify().await.unwrap().entries;
    assert_eq!(entries, 2, "what was refused is not stored");
}

/// Waits until all are told that the ledger is away, or that it is there.
async fn is_told(journal: &Journal, away: bool) {
    let mut reach = journal.reach();
    let told = tokio::time::timeout(PATIENCE, reach.wait_for(|it| it.away().is_some() == away)).await;
    assert!(told.is_ok(), "nobody told that away is {away}");
}

/// However many ask, a node takes as many connections as the documentation of its pool says: six to share, one to write.
#[tokio::test]
async fn a_node_takes_no_more_connections_than_its_pool_has() {
    const LIMIT: i64 = 7;
    let server = Postgres::shared().await;
    let database = server.create().await;
    let options = server.options(&database);
    let journal = open(options.clone()).await;
    journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    let mut admin = sqlx::ConnectOptions::connect(&server.options("postgres")).await.unwrap();
    let mut holder = sqlx::ConnectOptions::connect(&options.application_name("holder")).await.unwrap();
    // Whoever reads waits for this lock, so all that can be taken are taken at once.
    sqlx::raw_sql("BEGIN; LOCK TABLE entries").execute(&mut holder).await.unwrap();
    let readers: Vec<_> = (0..40)
        .map(|_| {
            let journal = journal.clone();
            tokio::spawn(async move { journal.entries_after(LedgerSequence(0), 1).await.map(drop) })
        })
        .collect();
    let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name <> 'holder'";
    let (mut most, mut waiting) = (0, true);
    while waiting {
        let now: i64 = sqlx::query_scalar(count).bind(&database).fetch_one(&mut admin).await.unwrap();
        // Who has waited in vain gives its connection up, and the server takes its time to let it go.
        waiting = !readers.iter().any(tokio::task::JoinHandle::is_finished);
        most = if waiting { most.max(now) } else { most };
    }
    assert!((2..=LIMIT).contains(&most), "{most} connections");
    for reader in readers {
        let told = reader.await.unwrap();
        assert!(matches!(told, Err(JournalError::Away(_))), "who waits in vain is told: {told:?}");
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    comes_back(&journal).await;
}

/// No connection breaks, and everything can be read.
#[tokio::test]
async fn a_server_that_takes_no_writes_is_away() {
    let server = Postgres::start().await;
    let options = server.options(&server.create().await);
    let journal = open(options.clone()).await;
    journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    let writes = options.options([("default_transaction_read_only", "off")]);
    let mut admin = sqlx::ConnectOptions::connect(&writes).await.unwrap();
    sqlx::raw_sql("ALTER SYSTEM SET default_transaction_read_only = on").execute(&mut admin).await.unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut admin).await.unwrap();
    // A server takes its settings anew in its own time.
    let refused = async {
        for idx in 2.. {
            if let Err(error) = journal.append(node(), at(), vec![run(idx)], vec![]).await {
                return error;
            }
        }
        unreachable!("it takes writes for ever")
    };
    let refused = bounded("a refusal", refused).await;
    assert!(matches!(refused, JournalError::Away(_)), "{refused:?}");
    is_told(&journal, true).await;
    sqlx::raw_sql("ALTER SYSTEM RESET default_transaction_read_only").execute(&mut admin).await.unwrap();
    sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut admin).await.unwrap();
    is_told(&journal, false).await;
    comes_back(&journal).await;
}

#[tokio::test]
async fn a_journal_that_nobody_uses_tells_that_its_server_has_vanished() {
    let mut server = Postgres::start().await;
    let journal = open(server.options(&server.create().await)).await;
    for _ in 0..2 {
        is_told(&journal, false).await;
        server.freeze();
        is_told(&journal, true).await;
        server.thaw();
    }
    is_told(&journal, false).await;
    server.crash();
    is_told(&journal, true).await;
    server.restart().await;
    is_told(&journal, false).await;
    bounded("the append", journal.append(node(), at(), vec![run(1)], vec![])).await.unwrap();
}

/// The head can be read all the time; nobody proposes anything.
#[tokio::test]
async fn a_word_that_is_not_taken_makes_known_that_nothing_is() {
    let bench = Bench::on_postgres().await;
    let Database::Postgres(pool) = &bench.database else { panic!("this bench is on a file") };
    let journal = bench.journal().await;
    let unbounded = pool.connect_options().as_ref().clone();
    let unbounded = unbounded.options([("idle_in_transaction_session_timeout", "0")]);
    let mut holder = sqlx::ConnectOptions::connect(&unbounded).await.unwrap();
    let held = "BEGIN; SELECT 1 FROM head FOR UPDATE; LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE";
    sqlx::raw_sql(held).execute(&mut holder).await.unwrap();
    let word =
        Presence { node: node(), run: 1, beat: 1, version: "0.1".to_owned(), hears_broker: true, at: at() };
    let told = bounded("attend", journal.attend(&word)).await;
    assert!(matches!(told, Err(JournalError::Away(_))), "{told:?}");
    is_told(&journal, true).await;
    sqlx::raw_sql("ROLLBACK").execute(&mut holder).await.unwrap();
    is_told(&journal, false).await;
    journal.attend(&word).await.unwrap();
}

#[tokio::test]
async fn a_commit_under_way_when_the_server_vanishes_is_told_of_once_it_is_back() {
    let server = Postgres::shared().await;
    let wire = Wire::to(server.address).await;
    let journal = open(server.options(&server.create().await).port(wire.address.port())).await;
    journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    wire.breaks(Break::Vanishes);
    let waits = journal.clone();
    let first = tokio::spawn(async move { waits.append(node(), at(), vec![run(2)], vec![]).await });
    is_told(&journal, true).await;
    assert!(wire.has_broken(), "the danger did not arise");
    let second = bounded("the append", journal.append(node(), at(), vec![run(3)], vec![])).await;
    assert!(matches!(second, Err(JournalError::Away(_))), "{second:?}");
    assert!(!first.is_finished(), "nothing is said before it is known");
    wire.heals();
    let told = tokio::time::timeout(PATIENCE, first).await.expect("it is known").unwrap();
    assert_eq!(told.unwrap()[0].sequence, LedgerSequence(2));
    comes_back(&journal).await;
    assert_eq!(journal.verify().await.unwrap().entries, 3);
}

/// Appends as soon as the ledger takes it.
pub(super) async fn comes_back(journal: &Journal) {
    let back = async {
        let mut reach = journal.reach();
        while journal.append(node(), at(), vec![run(BACK)], vec![]).await.is_err() {
            reach.wait_for(|it| it.away().is_none()).await.expect("the journal lives");
        }
    };
    tokio::time::timeout(PATIENCE, back).await.expect("the ledger came back");
}

#[tokio::test]
async fn a_server_that_is_killed_under_load_loses_nothing_and_doubles_nothing() {
    const CRASHES: u64 = 3;
    let mut server = Postgres::start().await;
    let journal = open(server.options(&server.create().await)).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let writers = (0..4u64).map(|writer| {
        let (journal, stopped) = (journal.clone(), stopped.clone());
        tokio::spawn(async move {
            let (mut stored, mut refused) = (BTreeSet::new(), BTreeSet::new());
            let mut reach = journal.reach();
            for idx in (writer..).step_by(4).take_while(|_| !*stopped.borrow()) {
                match journal.append(node(), at(), vec![run(idx)], vec![]).await {
                    Ok(_) => stored.insert(idx),
                    Err(JournalError::Away(_)) => {
                        reach.wait_for(|it| it.away().is_none()).await.expect("the journal lives");
                        refused.insert(idx)
                    }
                    Err(other) => panic!("{other}"),
                };
            }
            (stored, refused)
        })
    });
    let writers: Vec<_> = writers.collect();
    for crash in 1..=CRASHES {
        reaches(&mut journal.moved(), crash * 40).await;
        server.crash();
        server.restart().await;
        comes_back(&journal).await;
    }
    stop.send(true).unwrap();
    let (mut stored, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for writer in writers {
        let (kept, lost) = writer.await.unwrap();
        stored.extend(kept);
        refused.extend(lost);
    }
    assert!(!refused.is_empty(), "nobody proposed while it was away");
    let mut found = Vec::new();
    while let page = journal.entries_after(LedgerSequence(found.len() as u64), 1000).await.unwrap()
        && !page.is_empty()
    {
        found.extend(page.into_iter().map(|entry| {
            let Record::NodeStarted { run, .. } = entry.record else { panic!("{entry:?}") };
            run
        }));
    }
    assert_eq!(journal.verify().await.unwrap().entries, found.len() as u64);
    found.retain(|it| *it != BACK);
    let unique: BTreeSet<u64> = found.iter().copied().collect();
    let missing: Vec<_> = stored.difference(&unique).collect();
    let told_otherwise: Vec<_> = refused.intersection(&unique).collect();
    assert_eq!((missing, told_otherwise, found.len()), (vec![], vec![], unique.len()));
}

#[tokio::test]
async fn what_keeps_a_ledger_from_being_opened_is_said() {
    let server = Postgres::shared().await;
    let database = server.create().await;
    let newer = server.create().await;
    open(server.options(&newer)).await;
    let mut connection = sqlx::ConnectOptions::connect(&server.options(&newer)).await.unwrap();
    let applied = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
         VALUES (999, 'later', true, '', 0)";
    sqlx::query(applied).execute(&mut connection).await.unwrap();
    let nobody = crate::brokers::free_address().port();
    let rows = [
        (server.options("nowhere"), "there is no such database; create it: createdb nowhere"),
        (server.options(&database).port(nobody), "it does not answer"),
        (server.options(&database).username("stranger").password("secret"), "it refuses the user"),
        (server.options(&newer), "a newer hoistway has written it"),
    ];
    for (options, reason) in rows {
        let address = LedgerAddress::Postgres(Box::new(options));
        let refused = format!("{:#}", Database::open(&address).await.map(drop).unwrap_err());
        assert!(refused.contains(reason) && refused.contains(&address.to_string()), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }
}
