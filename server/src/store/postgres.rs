//! Connections to PostgreSQL, and what it means when they fail. All waiting has a bound: a server that is frozen or
//! behind a dead link says nothing at all.

use std::time::Duration;

use anyhow::Context as _;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgPoolOptions};
use sqlx::{Connection as _, PgConnection, PgPool};

/// Every migration of a ledger on PostgreSQL, embedded.
pub static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/postgres");

/// Who reads, tells its presence or listens, at once. Writing has a connection of its own.
const CONNECTIONS_MAX: u32 = 6;
/// How long one waits for a connection. On a site's network it takes milliseconds.
const ACQUIRE_DEADLINE: Duration = Duration::from_millis(1500);
/// How long a statement, or a wait for a lock, may take at the server. A page of entries takes tens of milliseconds.
const STATEMENT_DEADLINE_MS: &str = "2000";
/// How long the server keeps a transaction whose client says nothing: a node that froze or vanished in the middle of
/// one holds the head of the ledger against all others.
const IDLE_IN_TRANSACTION_MS: &str = "2000";
/// How long a migration may take, with the wait for another process that migrates.
const MIGRATION_DEADLINE_MS: &str = "120000";
/// How long a server has to answer at a start.
const CONNECT_DEADLINE: Duration = Duration::from_secs(3);

/// Brings a database to the newest schema and opens it.
///
/// # Errors
/// It cannot be reached, there is no such database or user, or its schema is newer than this program.
pub async fn open(options: &PgConnectOptions) -> anyhow::Result<PgPool> {
    migrate(options).await.with_context(|| format!("cannot open the ledger {}", place(options)))?;
    let options = options.clone().application_name("hoistway").options([
        ("statement_timeout", STATEMENT_DEADLINE_MS),
        ("lock_timeout", STATEMENT_DEADLINE_MS),
        ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS),
    ]);
    Ok(PgPoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(ACQUIRE_DEADLINE)
        .connect_lazy_with(options))
}

async fn migrate(options: &PgConnectOptions) -> anyhow::Result<()> {
    let patient = options
        .clone()
        .application_name("hoistway migration")
        .options([("statement_timeout", MIGRATION_DEADLINE_MS), ("lock_timeout", MIGRATION_DEADLINE_MS)]);
    // A pool would only say that it waited in vain.
    let connected = tokio::time::timeout(CONNECT_DEADLINE, PgConnection::connect_with(&patient)).await;
    match connected {
        Ok(connected) => drop(connected.map_err(|error| anyhow::anyhow!(advice(&error, options)))?),
        Err(_) => anyhow::bail!("it does not answer within {} s", CONNECT_DEADLINE.as_secs()),
    }
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(patient);
    let migrated = MIGRATIONS.run(&pool).await;
    pool.close().await;
    migrated
        .map_err(|error| super::cannot_migrate(error, &MIGRATIONS))
        .context("cannot bring it to the newest schema")
}

/// A connection for writing. What it commits is on the disk when the server says so, whatever the server's settings
/// say: an accepted order that a power cut could take back would be none.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    sqlx::query(
        "SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'",
    )
    .execute(&mut connection)
    .await?;
    Ok(connection)
}

/// Which database, as it may be shown: without a password.
pub(crate) fn place(options: &PgConnectOptions) -> String {
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let database = options.get_database().unwrap_or_default();
    format!("postgres://{}@{host}:{}/{database}", options.get_username(), options.get_port())
}

/// Whether the server is away, or going, or coming: the same asked later may well be answered.
pub(crate) fn is_away(error: &sqlx::Error) -> bool {
    /// Classes of SQLSTATE: the connection, its resources, an intervention such as a shutdown or a time-out.
    const PASSING: [&str; 3] = ["08", "53", "57"];
    /// A wait for a lock took too long.
    const LOCK_NOT_AVAILABLE: &str = "55P03";
    /// It takes no writes: a stand-by, or a primary that was set so.
    const READ_ONLY: &str = "25006";
    let refusal = error.as_database_error().map(|it| it.try_downcast_ref::<PgDatabaseError>());
    match refusal {
        Some(refusal) => refusal.is_some_and(|it| {
            PASSING.iter().any(|class| it.code().starts_with(class))
                || [LOCK_NOT_AVAILABLE, READ_ONLY].contains(&it.code())
        }),
        None => matches!(
            error,
            sqlx::Error::Io(_)
                | sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::WorkerCrashed
                | sqlx::Error::Protocol(_)
        ),
    }
}

/// What went wrong at a start, and what to do about it.
fn advice(error: &sqlx::Error, options: &PgConnectOptions) -> String {
    let code = error.as_database_error().and_then(|it| it.code());
    let database = options.get_database().unwrap_or_default();
    match code.as_deref() {
        Some("3D000") => format!("there is no such database; create it: createdb {database}"),
        Some("28P01" | "28000") => format!(
            "it refuses the user ({error}); a password may stand in the address, in PGPASSWORD or in ~/.pgpass"
        ),
        Some(_) => error.to_string(),
        None if is_away(error) => format!("it does not answer: {error}"),
        None => error.to_string(),
    }
}
