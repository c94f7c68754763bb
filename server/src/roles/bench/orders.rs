//! `hoistway bench orders`: through the real control loop, its machine and its ledger; only HTTP and vehicles are left
//! out.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use kernel::ids::NodeId;
use kernel::lease::LeaseTiming;
use kernel::wire::rest::PlaceOrder;
use kernel::wire::view::NodeView;
use tokio_util::sync::CancellationToken;

use super::say;
use crate::journal::{Journal, Runs};
use crate::lease::LeaseStore;
use crate::live::hub::Hub;
use crate::messaging::{self, LinkOptions, Outbox, broker};
use crate::shell::ControlHandle;
use crate::shell::control::ControlShell;
use crate::site;
use crate::store::Database;
use crate::store::address::{LedgerAddress, LedgerUrl};

pub(super) const HELP: &str = "\
Example:
  hoistway bench orders --ledger postgres://hoist@127.0.0.1:5432/bench

Without --ledger the database is an SQLite file on the disk of --data, removed afterwards. A database that is given
must be empty: what is measured stays in it. Both yardstick and orders commit durably; orders that wait for each other
share a commit. An order is several records and passes the whole control loop, the yardstick is one row.";

/// Bare commits are counted for so long.
const BARE_SPAN: Duration = Duration::from_secs(2);
/// A record of an order is about so long.
const BARE_BYTES: usize = 300;
/// The loop is up long before.
const START_BOUND: Duration = Duration::from_secs(60);

/// Arguments of `hoistway bench orders`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// An empty database: postgres://USER@HOST:PORT/DATABASE, or the path of an SQLite file that is not there yet
    #[arg(long, value_name = "URL", env = "HOISTWAY_BENCH_LEDGER", hide_env_values = true)]
    ledger: Option<LedgerUrl>,
    /// Orders of each measurement
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=2000))]
    count: u32,
    /// Where the file is written when no database is given
    #[arg(long, value_name = "DIR", default_value = "var/bench")]
    data: PathBuf,
}

/// Measures and tells.
///
/// # Errors
/// The database cannot be used or is not empty, or output cannot be written.
pub(super) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let own = args.data.join(std::process::id().to_string());
    let address = match &args.ledger {
        Some(url) => url.address().context("--ledger")?,
        None => {
            std::fs::create_dir_all(&own).with_context(|| format!("cannot create {}", own.display()))?;
            LedgerAddress::File(own.join("bench.db"))
        }
    };
    let measured = tokio::select! {
        measured = measure(&address, args.count) => measured,
        () = stop.cancelled() => Ok(()),
    };
    if args.ledger.is_none() {
        std::fs::remove_dir_all(&own).with_context(|| format!("cannot remove {}", own.display()))?;
    }
    measured
}

async fn measure(address: &LedgerAddress, count: u32) -> anyhow::Result<()> {
    let database = Database::open(address).await?;
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
    for (turn, in_flight) in [1, 64].into_iter().enumerate() {
        let rate = house.place(count, turn, in_flight).await?;
        let times = rate / bare;
        say(&format!("{kind}: orders, {in_flight:>2} in flight   {rate:.0} a second, {times:.2} × bare\n"))?;
    }
    house.end().await?;
    writer.await.context("the ledger's writer ended badly")?;
    database.close().await;
    Ok(())
}

/// The yardstick: one row, one commit, one after the other, on a table of its own.
async fn bare_commits(database: &Database) -> anyhow::Result<f64> {
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

/// A control loop as it ships, beside a broker at which nobody else is.
struct House {
    control: ControlHandle,
    order: PlaceOrder,
    running: tokio::task::JoinHandle<anyhow::Result<()>>,
    stop: CancellationToken,
}

impl House {
    async fn start(journal: Journal) -> anyhow::Result<Self> {
        let site = site::parse(site::DEMO, "the built-in demo site")?;
        let mut stations = site.plant.stations.keys().cloned();
        let (Some(from), Some(to)) = (stations.next(), stations.next()) else {
            anyhow::bail!("the demo site has no two stations");
        };
        let order = PlaceOrder { from, to, priority: 5, deadline: None, reference: None };
        let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let (link, incoming) = messaging::connect(link_options(broker.address()), Outbox::memory());
        let node = NodeId::try_new("A")?;
        let plant = Arc::new(site.plant.clone());
        let hub = Hub::new(plant, quiet(&node));
        let (control, requests) = ControlHandle::new();
        let leases = LeaseStore::in_process(LeaseTiming::default());
        let watched = hub.clone();
        let shell = ControlShell {
            node,
            plant: site.plant,
            journal,
            hub,
            link,
            incoming,
            requests,
            leases,
            levers: None,
        };
        let stop = CancellationToken::new();
        let running = tokio::spawn(shell.run(stop.clone()));
        let up = async {
            while !watched.node().ledger_writable {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(START_BOUND, up).await.context("the control loop does not start")?;
        Ok(Self { control, order, running, stop })
    }

    /// Orders a second, so many in flight at a time.
    async fn place(&self, count: u32, turn: usize, in_flight: usize) -> anyhow::Result<f64> {
        let began = Instant::now();
        stream::iter(0..count)
            .map(|n| {
                let key = format!("bench-{turn}-{n}");
                async move {
                    let placed = self.control.place_order(self.order.clone(), key, "bench".to_owned());
                    placed.await?.map(|_| ()).context("an order was refused")
                }
            })
            .buffer_unordered(in_flight)
            .try_collect::<()>()
            .await?;
        Ok(f64::from(count) / began.elapsed().as_secs_f64())
    }

    async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.running.await.context("the control loop ended badly")?
    }
}

fn link_options(broker: SocketAddr) -> LinkOptions {
    LinkOptions {
        host: broker.ip().to_string(),
        port: broker.port(),
        client_id: "hoistway-bench".to_owned(),
        clean_start: true,
        session_expiry: Duration::ZERO,
        will: None,
        keep_alive: Duration::from_secs(20),
        subscriptions: Vec::new(),
        incoming_bound: 64,
    }
}

fn quiet(node: &NodeId) -> NodeView {
    NodeView {
        id: node.clone(),
        broker_connected: false,
        ledger_writable: false,
        messages_rejected: 0,
        last_rejection: None,
        drill: false,
    }
}
