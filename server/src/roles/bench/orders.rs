//! `hoistway bench orders`: through the real control loop, its machine and its ledger; only HTTP and vehicles are left
//! out.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use kernel::timing::PEER_LOST_AFTER;
use tokio_util::sync::CancellationToken;

use super::house::House;
use super::{percentile, say, takeover};
use crate::journal::{Journal, Runs};
use crate::roles::progress::Progress;
use crate::store::Database;
use crate::store::address::LedgerUrl;

pub(super) const HELP: &str = "\
Example:
  hoistway bench orders --ledger postgres://hoist@127.0.0.1:5432/bench

Without --ledger the database is an SQLite file on the disk of --data, removed afterwards. A database that is given
must be empty: what is measured stays in it. Both yardstick and orders commit durably; orders that wait for each other
share a commit. An order is several records and passes the whole control loop, the yardstick is one row.

For --kills a second node runs as a process of its own. While it has tasks it is killed without warning; the takeover is
over when the last of them is the other node's, and takes at least the silence after which a node counts as lost. One
kill takes about eight seconds.";

/// Bare commits are counted for so long.
const BARE_SPAN: Duration = Duration::from_secs(2);
/// A record of an order is about so long.
const BARE_BYTES: usize = 300;

/// Arguments of `hoistway bench orders`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// An empty database: postgres://USER@HOST:PORT/DATABASE, or the path of an SQLite file that is not there yet
    #[arg(long, value_name = "URL", env = "HOISTWAY_BENCH_LEDGER", hide_env_values = true)]
    ledger: Option<LedgerUrl>,
    /// Orders of each measurement
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// How often a node is killed whose tasks the other has to take over; 0 leaves that out
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=100))]
    kills: u32,
    /// Where the files of the run are written; they are removed afterwards
    #[arg(long, value_name = "DIR", default_value = "var/bench")]
    data: PathBuf,
}

/// Measures and tells.
///
/// # Errors
/// The database cannot be used or is not empty, or output cannot be written.
pub(super) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let own = args.data.join(std::process::id().to_string());
    std::fs::create_dir_all(&own).with_context(|| format!("cannot create {}", own.display()))?;
    let measured = tokio::select! {
        measured = measure(&args, &own) => measured,
        () = stop.cancelled() => Ok(()),
    };
    std::fs::remove_dir_all(&own).with_context(|| format!("cannot remove {}", own.display()))?;
    measured
}

async fn measure(args: &Args, own: &Path) -> anyhow::Result<()> {
    let ledger = match &args.ledger {
        Some(url) => url.clone(),
        None => LedgerUrl::file(&own.join("bench.db"))?,
    };
    let database = Database::open(&ledger.address().context("--ledger")?).await?;
    let (journal, writer) = Journal::open(database.clone(), Runs::Ordinary).await?;
    let head = journal.head().await?.sequence;
    ensure!(head.0 == 0, "the ledger has {head} entries; give this bench an empty database of its own");
    let kind = match &database {
        Database::Sqlite(_) => "SQLite",
        Database::Postgres(_) => "PostgreSQL",
    };
    let bare = bare_commits(&database).await?;
    say(&format!("{kind}: bare insert and commit {bare:.0} a second\n"))?;
    let house = House::start(journal).await?;
    for in_flight in [1, 64] {
        let rate = house.place(args.count, &format!("by-{in_flight}"), in_flight).await?;
        let times = rate / bare;
        say(&format!("{kind}: orders, {in_flight:>2} in flight   {rate:.0} a second, {times:.2} × bare\n"))?;
    }
    if args.kills > 0 {
        let mut progress = Progress::new();
        let mut took = takeover::measure(&house, &ledger, own, args.kills, &mut progress).await?;
        progress.clear();
        let (median, worst) =
            (percentile(&mut took, 50).as_secs_f64(), percentile(&mut took, 100).as_secs_f64());
        let silence = Duration::from_millis(PEER_LOST_AFTER.0).as_secs_f64();
        let times = median / silence;
        say(&format!(
            "{kind}: takeover, {} kills   median {median:.2} s, worst {worst:.2} s, {times:.2} × the silence of {silence:.0} s \
             that makes a node lost\n",
            took.len()
        ))?;
    }
    house.end().await?;
    writer.await.context("the ledger's writer ended badly")?;
    database.close().await;
    Ok(())
}

/// The yardstick: one row, one commit, one after the other, on a table of its own; so many a second.
pub(super) async fn bare_commits(database: &Database) -> anyhow::Result<f64> {
    const MAKE: &str = "CREATE TABLE IF NOT EXISTS bench_bare (n BIGINT PRIMARY KEY, text TEXT NOT NULL)";
    const INSERT: &str = "INSERT INTO bench_bare (n, text) VALUES ($1, $2)";
    const DROP: &str = "DROP TABLE bench_bare";
    let text = "x".repeat(BARE_BYTES);
    let began = Instant::now();
    let mut done: i64 = 0;
    match database {
        Database::Sqlite(pool) => {
            sqlx::query(MAKE).execute(pool).await?;
            while began.elapsed() < BARE_SPAN {
                sqlx::query(INSERT).bind(done).bind(&text).execute(pool).await?;
                done += 1;
            }
            sqlx::query(DROP).execute(pool).await?;
        }
        Database::Postgres(pool) => {
            sqlx::query(MAKE).execute(pool).await?;
            while began.elapsed() < BARE_SPAN {
                sqlx::query(INSERT).bind(done).bind(&text).execute(pool).await?;
                done += 1;
            }
            sqlx::query(DROP).execute(pool).await?;
        }
    }
    let done = u32::try_from(done).map_or(f64::MAX, f64::from);
    Ok(done / began.elapsed().as_secs_f64())
}
