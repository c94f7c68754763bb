//! What the server is told about the sessions of a node: no node holds up the others for long, and what is committed
//! is on the disk.

use server::store::Database;
use server::store::address::LedgerAddress;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};

use super::away::{comes_back, open};
use super::{Bench, at, node, run};
use crate::brokers::PATIENCE;
use crate::postgres::Postgres;

fn pool(bench: &Bench) -> &PgPool {
    let Database::Postgres(pool) = &bench.database else { panic!("this bench is on a file") };
    pool
}

#[tokio::test]
async fn every_session_of_a_node_has_its_bounds() {
    let bench = Bench::on_postgres().await;
    for name in ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] {
        let show = sqlx::AssertSqlSafe(format!("SHOW {name}"));
        let set: String = sqlx::query_scalar(show).fetch_one(pool(&bench)).await.unwrap();
        assert_eq!(set, "2s", "{name}");
    }
}

#[tokio::test]
async fn a_statement_that_is_stuck_is_cut_off_by_the_server() {
    let bench = Bench::on_postgres().await;
    let stuck = sqlx::raw_sql("SELECT pg_sleep(3600)").execute(pool(&bench));
    let cut = tokio::time::timeout(PATIENCE, stuck).await.expect("it is cut off").unwrap_err();
    let code = cut.as_database_error().and_then(|it| it.code()).unwrap_or_default().into_owned();
    assert_eq!(code, "57014", "{cut}");
}

/// A node that stops in the middle of its turn holds the head of the ledger against all others.
#[tokio::test]
async fn who_holds_the_head_and_says_nothing_loses_it() {
    let bench = Bench::on_postgres().await;
    let journal = bench.journal().await;
    let mut silent: PgConnection = pool(&bench).connect_options().connect().await.unwrap();
    let mut turn = silent.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM head WHERE id = 1 FOR UPDATE").execute(&mut *turn).await.unwrap();
    comes_back(&journal).await;
    assert!(turn.commit().await.is_err(), "its turn is over");
}

/// Seen from inside the transaction that stores an entry, on a server that does not wait for its disk by itself.
#[tokio::test]
async fn a_commit_is_on_the_disk_whatever_the_server_is_used_to() {
    let server = Postgres::shared().await;
    let name = server.create().await;
    let options = server.options(&name);
    // It brings the schema.
    Database::open(&LedgerAddress::Postgres(Box::new(options.clone()))).await.unwrap().close().await;
    let mut connection = options.connect().await.unwrap();
    let watched = format!(
        "ALTER DATABASE {name} SET synchronous_commit = off; \
         CREATE TABLE seen (setting TEXT NOT NULL); \
         CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; \
         CREATE TRIGGER seen_by AFTER INSERT ON entries FOR EACH ROW EXECUTE FUNCTION see();"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(watched)).execute(&mut connection).await.unwrap();
    let journal = open(options).await;
    journal.append(node(), at(), vec![run(1)], vec![]).await.unwrap();
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT setting FROM seen").fetch_all(&mut connection).await.unwrap();
    assert_eq!(seen, ["on"]);
}
