//! `hoistway control`: a control node: ledger, decisions, REST, the live stream and the page.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kernel::ids::{NodeId, SiteId};
use kernel::lease::LeaseTiming;
use kernel::plant::Plant;
use kernel::time::Millis;
use kernel::timing::LEASE_HOLD_MAX;
use kernel::wire::view::NodeView;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli;
use crate::data::DataDir;
use crate::drill::roads::Reader;
use crate::drill::{Conductor, Stage};
use crate::http::{self, AppState};
use crate::journal::{Journal, Runs};
use crate::lease::{self, LeaseStore, RedisUrl};
use crate::live::hub::Hub;
use crate::messaging::topics::{self, GatewayRoad, VehicleRoad};
use crate::messaging::{self, LinkOptions, Outbox, Subscription};
use crate::shell::ControlHandle;
use crate::shell::control::ControlShell;
use crate::site::{self, HostPort};
use crate::store::Database;
use crate::store::address::{LedgerAddress, LedgerUrl};

/// The store of the ledger in its data folder.
pub const LEDGER_FILE: &str = "hoistway.db";
/// Messages from the broker that wait for the loop: two seconds' worth of a fleet of 500 and its gateways.
const INCOMING_MAX: usize = 8192;
/// A server that is away does not say farewell.
const CLOSE_BOUND: Duration = Duration::from_secs(2);
/// The report's figure for the field: 20 to 40 s; a wired node needs no more than the lower one.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// Arguments of `hoistway control`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The site file
    #[arg(long, value_name = "FILE", env = "HOISTWAY_SITE")]
    pub site: PathBuf,
    /// Name of this node, unique on the site; its orders and tasks carry it
    #[arg(long, value_name = "NAME", default_value = "A", env = "HOISTWAY_NODE")]
    pub node: String,
    /// The MQTT broker
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883", env = "HOISTWAY_BROKER")]
    pub broker: HostPort,
    /// The Redis that keeps the leases of the lifts, for nodes that share lifts: redis://USER:PASSWORD@HOST:PORT/DB,
    /// of which user, password and database may be left out, or redis-sentinel://… or redis-cluster://…, see below.
    /// Without it this node keeps them itself, and must be the only one of its site
    #[arg(long, value_name = "URL", env = "HOISTWAY_LEASES", hide_env_values = true)]
    pub leases: Option<RedisUrl>,
    /// After so long the lease of a lift is not renewed, and whoever waits for it breaks it; the same at every node. No
    /// command takes more than 6 s. More makes the others wait for longer when a node dies or stands still with a lift
    /// in hand, at most for the 30 s that its lease lives; less gives a lift away while a slow command is under way,
    /// whose node then has to find out what became of it
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = LEASE_HOLD_MAX.0 / 1000,
        value_parser = clap::value_parser!(u64).range(4..=60),
        env = "HOISTWAY_LEASE_HOLD_MAX"
    )]
    pub lease_hold_max: u64,
    /// Where REST, the live stream and the page are served; loopback only, until there are accounts
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080", env = "HOISTWAY_LISTEN")]
    pub listen: SocketAddr,
    /// Folder of the ledger, unless --ledger says where that is; created when missing
    #[arg(long, value_name = "DIR", default_value = "var/control", env = "HOISTWAY_DATA")]
    pub data: PathBuf,
    /// The ledger, when several nodes share it: postgres://USER@HOST:PORT/DATABASE, or the path of an SQLite file. A
    /// password is better given in PGPASSWORD or ~/.pgpass than here, where other users of the machine see it
    #[arg(long, value_name = "URL", env = "HOISTWAY_LEDGER", hide_env_values = true)]
    pub ledger: Option<LedgerUrl>,
    /// Folder of the page's files, as `make bundle` writes it
    #[arg(long, value_name = "DIR", default_value = "target/site", env = "HOISTWAY_ASSETS")]
    pub assets: PathBuf,
}

/// What a control node needs to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name.
    pub node: NodeId,
    /// The site.
    pub plant: Plant,
    /// The broker.
    pub broker: HostPort,
    /// Where leases come from: nodes that share lifts share it.
    pub leases: LeaseStore,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the ledger is.
    pub ledger: Ledger,
    /// Folder of the page's files.
    pub assets: PathBuf,
    /// Who conducts its drills; none in an ordinary run.
    pub drills: Option<Conductor>,
}

/// Where a node's ledger is.
#[derive(Clone, Debug)]
pub enum Ledger {
    /// A file in this folder, which the node holds for itself.
    Folder(PathBuf),
    /// A file or a server, which it may share with nodes of other processes.
    At(LedgerAddress),
    /// Opened already, shared with nodes of this process.
    Shared(Journal),
}

/// A control node that runs.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    ended: JoinHandle<anyhow::Result<()>>,
    dies: CancellationToken,
}

impl Running {
    /// Waits until the node has ended: by its stop token, or because it failed.
    ///
    /// # Errors
    /// What it failed of.
    pub async fn ended(&mut self) -> anyhow::Result<()> {
        (&mut self.ended).await.context("the control node ended badly")?
    }

    /// Ends it as a kill would, for drills: what its loop had in hand is lost, nobody is told. What was handed to the
    /// ledger is stored, as the disk would.
    ///
    /// # Errors
    /// What it had failed of.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        self.dies.cancel();
        self.ended().await
    }
}

/// Runs the role until it is stopped.
///
/// # Errors
/// Why it could not start, or what ended it.
pub async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let site = site::read(&args.site)?;
    let node = NodeId::try_new(&args.node).with_context(|| format!("--node {}", args.node))?;
    let timing = LeaseTiming { hold_max: Millis::seconds(args.lease_hold_max), ..LeaseTiming::default() };
    let leases = match &args.leases {
        Some(url) => LeaseStore::redis(url, timing, lease::ANSWER_MAX).context("--leases")?,
        None => LeaseStore::in_process(timing),
    };
    let ledger = match args.ledger {
        Some(url) => Ledger::At(url.address().context("--ledger")?),
        None => Ledger::Folder(args.data),
    };
    if matches!(ledger, Ledger::At(LedgerAddress::Postgres(_))) && args.leases.is_none() {
        tracing::warn!(
            "the leases of the lifts are kept by this process alone: give every node that shares this ledger the same \
             --leases redis://…"
        );
    }
    let options = Options {
        node,
        plant: site.plant,
        broker: args.broker,
        leases,
        listen: args.listen,
        ledger,
        assets: args.assets,
        drills: None,
    };
    let mut running = start(options, stop).await?;
    tracing::info!("open http://{}", running.address);
    running.ended().await
}

/// Starts a control node.
///
/// # Errors
/// An address that is not loopback or is taken, a data folder that another process has, a ledger that is away or broken.
pub async fn start(options: Options, stop: CancellationToken) -> anyhow::Result<Running> {
    let listener = http::bind(cli::loopback(options.listen)?).await?;
    let address = listener.local_addr().context("the listener has no address")?;
    let drills = options.drills.clone();
    let runs = if drills.is_some() { Runs::Drill } else { Runs::Ordinary };
    let (journal, opened) = open_ledger(&options.ledger, runs).await?;
    let journal = match &drills {
        Some(drills) => drills.hands().levers.ledger.of(&options.node, &journal),
        None => journal,
    };
    // What this node still has to send after a restart is decided anew from the ledger: an outbox that outlived it
    // would send commands whose ground has gone.
    let road = link_options(&options.plant.site, &options.node, &options.broker);
    let (link, incoming) = messaging::connect(road, Outbox::memory());
    let incoming = match &drills {
        Some(drills) => {
            let reader = (Reader::Control, options.node.as_str());
            drills.hands().levers.roads.tap(&options.plant.site, reader, incoming)
        }
        None => incoming,
    };
    let hub = Hub::new(Arc::new(options.plant.clone()), quiet_node(&options.node, drills.is_some()));
    hub.open();
    let (handle, requests) = ControlHandle::new();
    let pages = CancellationToken::new();
    if let Some(drills) = &drills {
        drills.attach(&options.node, Stage { hub: hub.clone(), control: handle.clone() });
    }
    let levers = drills.as_ref().map(|it| it.hands().levers.clone());
    let leases = options.leases;
    let state = AppState::new(handle, hub.clone(), leases.clone(), options.assets, pages.clone(), drills)?;
    let shell = ControlShell {
        node: options.node,
        plant: options.plant,
        journal,
        hub,
        link: link.clone(),
        incoming,
        requests,
        leases,
        levers,
    };
    let dies = CancellationToken::new();
    let dead = dies.clone();
    let ended = tokio::spawn(async move {
        // The loop ends first and answers who waits, then the pages end; a loop that fails takes the pages with it,
        // and pages that fail take the loop.
        let failed = stop.clone();
        let serving = tokio::spawn(async move {
            let served = http::serve(listener, state).await;
            failed.cancel();
            served
        });
        let decided = tokio::select! {
            decided = shell.run(stop.clone()) => Some(decided),
            () = dead.cancelled() => None,
        };
        pages.cancel();
        let served = serving.await.context("HTTP ended badly").and_then(|it| it);
        // A dead node says no farewell.
        if decided.is_some() {
            link.close().await;
        }
        if let Some(opened) = opened {
            opened.close().await?;
        }
        decided.unwrap_or(Ok(())).and(served)
    });
    Ok(Running { address, ended, dies })
}

/// A ledger that a node has opened for itself.
struct Opened {
    journal: Journal,
    writer: JoinHandle<()>,
    database: Database,
    _folder: Option<DataDir>,
}

impl Opened {
    async fn open(address: &LedgerAddress, folder: Option<DataDir>, runs: Runs) -> anyhow::Result<Self> {
        let database = Database::open(address).await?;
        let (journal, writer) = Journal::open(database.clone(), runs).await?;
        Ok(Self { journal, writer, database, _folder: folder })
    }

    /// What was handed to it is stored.
    async fn close(self) -> anyhow::Result<()> {
        drop(self.journal);
        self.writer.await.context("the ledger's writer ended badly")?;
        if tokio::time::timeout(CLOSE_BOUND, self.database.close()).await.is_err() {
            tracing::warn!("the ledger's database does not let go; its connections end with the process");
        }
        Ok(())
    }
}

/// Opens the ledger, unless that was done for several nodes at once.
async fn open_ledger(ledger: &Ledger, runs: Runs) -> anyhow::Result<(Journal, Option<Opened>)> {
    let opened = match ledger {
        Ledger::Shared(journal) => return Ok((journal.clone(), None)),
        Ledger::At(address) => Opened::open(address, None, runs).await?,
        Ledger::Folder(folder) => {
            let data = DataDir::hold(folder, "control")?;
            let file = LedgerAddress::File(data.file(LEDGER_FILE));
            Opened::open(&file, Some(data), runs).await?
        }
    };
    Ok((opened.journal.clone(), Some(opened)))
}

/// How a node is linked to the broker, and what it hears there.
pub(super) fn link_options(site: &SiteId, node: &NodeId, broker: &HostPort) -> LinkOptions {
    let listen = |filter: String, reliable| Subscription { filter, reliable };
    LinkOptions {
        host: broker.host.clone(),
        port: broker.port,
        client_id: format!("hoistway-{site}-control-{node}"),
        // What came while this node was down is learnt from heartbeats and statuses, not from a broker's queue.
        clean_start: true,
        session_expiry: Duration::ZERO,
        will: None,
        keep_alive: KEEP_ALIVE,
        subscriptions: vec![
            // What any node says to a lift is shown by all.
            listen(topics::every_gateway(site, GatewayRoad::Command), false),
            listen(topics::every_gateway(site, GatewayRoad::Outcome), true),
            listen(topics::every_gateway(site, GatewayRoad::Status), false),
            listen(topics::every_vehicle(site, VehicleRoad::Ack), true),
            listen(topics::every_vehicle(site, VehicleRoad::Result), true),
            listen(topics::every_vehicle(site, VehicleRoad::Heartbeat), false),
            listen(topics::every_vehicle(site, VehicleRoad::Telemetry), false),
            listen(topics::every_vehicle(site, VehicleRoad::Presence), true),
        ],
        incoming_bound: INCOMING_MAX,
    }
}

/// What is known of the node before it has decided anything.
pub(super) fn quiet_node(id: &NodeId, drill: bool) -> NodeView {
    NodeView {
        id: id.clone(),
        broker_connected: false,
        // Not before it has the start of this run.
        ledger_writable: false,
        messages_rejected: 0,
        last_rejection: None,
        drill,
    }
}
