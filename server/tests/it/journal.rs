//! The ledger: one contract, held by a real SQLite file and a real PostgreSQL, and what only one of them can suffer.

mod away;
mod contract;
mod file;
mod node;
mod outage;
mod sessions;
mod wire;

use std::any::Any;

use chrono::{DateTime, Utc};
use kernel::ids::{Generation, LedgerSequence, NodeId, SiteId, TaskId};
use kernel::ledger::{Guard, Row};
use kernel::wire::ledger::Record;
use server::journal::{Journal, Runs};
use server::store::{self, Database, address::LedgerAddress};
use tokio::sync::watch;

use crate::brokers::PATIENCE;
use crate::postgres::Postgres;

/// A migrated database, empty at first.
struct Bench {
    database: Database,
    /// The server or the folder, which ends with the test.
    _keeper: Box<dyn Any>,
}

impl Bench {
    async fn on_sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let pool = store::open(&dir.path().join("ledger.db")).await.unwrap();
        Self { database: pool.into(), _keeper: Box::new(dir) }
    }

    async fn on_postgres() -> Self {
        let server = Postgres::shared().await;
        let options = server.options(&server.create().await);
        let database = Database::open(&LedgerAddress::Postgres(Box::new(options))).await.unwrap();
        Self { database, _keeper: Box::new(server) }
    }

    async fn journal(&self) -> Journal {
        Journal::open(self.database.clone(), Runs::Ordinary).await.unwrap().0
    }

    /// Does something behind the ledger's back. `ZERO` stands for a hash of nothing but zeros.
    ///
    /// # Errors
    /// What the database says to it.
    async fn execute(&self, statement: &str) -> Result<(), String> {
        let done = match &self.database {
            Database::Sqlite(pool) => {
                let text = statement.replace("ZERO", "zeroblob(32)");
                sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(pool).await.map(drop)
            }
            Database::Postgres(pool) => {
                let text = statement.replace("ZERO", "decode(repeat('00', 32), 'hex')");
                sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(pool).await.map(drop)
            }
        };
        done.map_err(|error| error.to_string())
    }

    /// Brings it to the newest schema, as a program does that opens it.
    async fn migrate(&self) {
        match &self.database {
            Database::Sqlite(pool) => store::MIGRATIONS.run(pool).await,
            Database::Postgres(pool) => store::postgres::MIGRATIONS.run(pool).await,
        }
        .unwrap();
    }

    /// Lets the past be changed.
    async fn disarm(&self) {
        for trigger in ["entries_are_never_changed", "entries_are_never_deleted"] {
            let on = if matches!(self.database, Database::Postgres(_)) { " ON entries" } else { "" };
            self.execute(&format!("DROP TRIGGER {trigger}{on}")).await.unwrap();
        }
    }
}

fn node() -> NodeId {
    named("A")
}

fn named(name: &str) -> NodeId {
    NodeId::try_new(name).unwrap()
}

fn at() -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(1_796_020_000_123_456_789)
}

fn run(run: u64) -> Record {
    Record::NodeStarted { run, site: SiteId::try_new("hall").unwrap() }
}

fn claim(task: &str, generation: u64) -> Record {
    Record::TaskClaimed { task: TaskId::try_new(task).unwrap(), generation: Generation(generation) }
}

fn unclaimed_since(task: &str, expected: u64) -> Guard {
    Guard { row: Row::Claim(TaskId::try_new(task).unwrap()), expected }
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

async fn reaches(moved: &mut watch::Receiver<LedgerSequence>, sequence: u64) {
    let reached = tokio::time::timeout(PATIENCE, moved.wait_for(|it| it.0 >= sequence)).await;
    reached.unwrap_or_else(|_| panic!("nobody saw entry {sequence}")).unwrap();
}
