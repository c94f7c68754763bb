//! Where the ledger stands, as soon as it is known: what other processes append is seen, too.

use std::sync::Arc;
use std::time::Duration;

use kernel::ids::LedgerSequence;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::reach::{Side, Watched};
use super::{JournalError, read, storage};
use crate::store::Database;

/// What a missed notification costs at most. PostgreSQL notifies, unless a connection is lost; a file does not.
const POLL_PERIOD: Duration = Duration::from_millis(250);
/// The channel of the migration's trigger.
const CHANNEL: &str = "hoistway_ledger";

/// Notes how far the ledger reaches; never backwards.
pub(super) fn raise(moved: &watch::Sender<LedgerSequence>, to: LedgerSequence) {
    moved.send_if_modified(|known| {
        let rises = to > *known;
        *known = to.max(*known);
        rises
    });
}

/// Follows the ledger until `stop`, through every absence of its database.
pub(super) async fn run(
    database: Database,
    moved: watch::Sender<LedgerSequence>,
    reach: Arc<Watched>,
    stop: CancellationToken,
) {
    let following = async {
        loop {
            // A new connection after each absence: the old one may be dead without knowing it.
            let hears = CancellationToken::new();
            let _silenced = hears.clone().drop_guard();
            listen(&database, &moved, &hears);
            let Err(error) = poll(&database, &moved, &reach).await;
            reach.failed(Side::Head, &error);
            tokio::time::sleep(POLL_PERIOD).await;
        }
    };
    stop.run_until_cancelled(following).await;
}

/// Looks again and again, until the database does not answer.
async fn poll(
    database: &Database,
    moved: &watch::Sender<LedgerSequence>,
    reach: &Watched,
) -> Result<std::convert::Infallible, JournalError> {
    loop {
        let head = read::head(database).await?;
        reach.answered(Side::Head);
        raise(moved, head.sequence);
        if reach.is_failing(Side::Entries) {
            match read::stored_after(database, head.sequence.0.saturating_sub(1), 1).await {
                Ok(_) => reach.answered(Side::Entries),
                Err(error) => reach.failed(Side::Entries, &error),
            }
        }
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

/// Listens beside the poll, where the database notifies.
fn listen(database: &Database, moved: &watch::Sender<LedgerSequence>, hears: &CancellationToken) {
    match database {
        Database::Sqlite(_) => {}
        Database::Postgres(pool) => {
            let (pool, moved, hears) = (pool.clone(), moved.clone(), hears.clone());
            let database = database.clone();
            tokio::spawn(
                async move { hears.run_until_cancelled(hear_always(&pool, &database, &moved)).await },
            );
        }
    }
}

async fn hear_always(pool: &PgPool, database: &Database, moved: &watch::Sender<LedgerSequence>) {
    loop {
        let Err(error) = hear(pool, database, moved).await;
        tracing::debug!("the ledger's notifications have ended: {error}");
        tokio::time::sleep(POLL_PERIOD).await;
    }
}

async fn hear(
    pool: &PgPool,
    database: &Database,
    moved: &watch::Sender<LedgerSequence>,
) -> Result<std::convert::Infallible, JournalError> {
    let mut listener = PgListener::connect_with(pool).await.map_err(storage)?;
    listener.listen(CHANNEL).await.map_err(storage)?;
    loop {
        listener.recv().await.map_err(storage)?;
        // One look is enough for all that have come meanwhile. What a notification says is not trusted: anybody who
        // reaches the database may notify.
        while listener.next_buffered().is_some() {}
        raise(moved, read::head(database).await?.sequence);
    }
}
