//! `hoistway demo`: the whole house in one process, on loopback: broker, simulated plant, gateways, two control nodes.
//!
//! Nothing is short-cut: the parts talk MQTT and Modbus TCP over real sockets, as separate processes would.

mod house;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kernel::drill::node_names;
use kernel::lease::LeaseTiming;
use sqlx::SqlitePool;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::data::DataDir;
use crate::drill::roads::Roads;
use crate::journal::{Journal, Runs};
use crate::lease::LeaseStore;
use crate::messaging::broker;
use crate::roles::{control, simulate as simulate_role};
use crate::simulate;
use crate::site::{self, HostPort, SiteFile};
use crate::store::address::LedgerAddress;
use crate::store::{self, Database};

use self::house::{House, Rig};

/// Arguments of `hoistway demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The site file; the demo site (three floors, two lifts, twelve vehicles) when not given
    #[arg(long, value_name = "FILE", env = "HOISTWAY_SITE")]
    pub site: Option<PathBuf>,
    /// Where node A serves REST, the live stream and the page; loopback only; port 0 takes a free one. Node B takes the
    /// next port, or a free one when that is taken
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8080", env = "HOISTWAY_LISTEN")]
    pub listen: SocketAddr,
    /// Folder of everything: the ledger, the gateways' marks and the simulated plant, which all go on from there at each
    /// start; created when missing. `var/drills` for a drill run
    #[arg(
        long,
        value_name = "DIR",
        default_value = "var/demo",
        env = "HOISTWAY_DATA",
        default_value_if("drills", "true", "var/drills")
    )]
    pub data: PathBuf,
    /// Begin afresh: what the data folder holds is set aside under a name with the time in it, and nothing is removed
    #[arg(long)]
    pub fresh: bool,
    /// Folder of the page's files, as `make bundle` writes it
    #[arg(long, value_name = "DIR", default_value = "target/site", env = "HOISTWAY_ASSETS")]
    pub assets: PathBuf,
    /// Of all chance in a new simulated plant: the same seed gives the same scan periods and radio
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Let faults be injected from the page and over REST. The run is a drill from its first moment: its ledger, its log,
    /// its answers and its screens say so, and no other run goes on from its ledger
    #[arg(long)]
    pub drills: bool,
}

/// Runs the role until it is stopped.
///
/// # Errors
/// Why a part could not start, or what ended it.
pub async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let site = match &args.site {
        Some(path) => site::read(path)?,
        None => site::parse(site::DEMO, "the built-in demo site")?,
    };
    let (data, aside) = hold_data(&args)?;
    let ended = play(&args, site, data, aside.as_deref(), stop).await;
    match aside {
        Some(aside) => ended.with_context(|| format!("what was there before is in {}", aside.display())),
        None => ended,
    }
}

async fn play(
    args: &Args,
    site: SiteFile,
    data: DataDir,
    aside: Option<&Path>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let plant_pool = open_plant(&data).await?;
    // The parts end in turn: what commands first, what is commanded last.
    let plant = CancellationToken::new();
    let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await.context("the embedded broker")?;
    let mut at = HostPort { host: broker.address().ip().to_string(), port: broker.address().port() };
    let (mut rig, mut orders) = (None, mpsc::channel(1).1);
    if args.drills {
        let (built, receiver) = Rig::build(&broker, &site.plant, &plant).await?;
        (at, orders) = (built.broker(), receiver);
        rig = Some(built);
    }
    let roads = rig.as_ref().map(|it| it.levers.roads.clone());
    let plant_options = plant_options(&site, &at, args.seed, plant_pool.clone(), roads)?;
    let simulated = simulate::start(&site.plant, plant_options, plant.clone()).await?;
    let drills = match rig {
        Some(rig) => Some(rig.conductor(&site, &simulated, data.file(control::LEDGER_FILE), &plant).await?),
        None => None,
    };
    let runs = if args.drills { Runs::Drill } else { Runs::Ordinary };
    let ledger = LedgerAddress::File(data.file(control::LEDGER_FILE));
    let database = Database::open(&ledger).await?;
    let (journal, writer) = Journal::open(database.clone(), runs).await?;
    let options = control::Options {
        node: node_names().next().context("the first node has no name")?,
        plant: site.plant.clone(),
        broker: at,
        leases: LeaseStore::in_process(LeaseTiming::default()),
        listen: args.listen,
        ledger: control::Ledger::Shared(journal),
        assets: args.assets.clone(),
        drills,
    };
    let mut house = House::start(site.clone(), &simulated, &data, options, orders).await?;
    greet(&site, &house.addresses(), args, aside)?;
    let ended = house.live(&stop, &plant).await;
    house.close().await;
    writer.await.context("the ledger's writer ended badly")?;
    database.close().await;
    plant.cancel();
    let rested = simulated.stopped().await;
    plant_pool.close().await;
    drop(data);
    // The embedded broker ends with the process.
    ended.and(rested)
}

/// Takes the data folder, and says where its earlier content was set aside.
fn hold_data(args: &Args) -> anyhow::Result<(DataDir, Option<PathBuf>)> {
    let data = DataDir::hold(&args.data, "demo")?;
    if !args.fresh {
        return Ok((data, None));
    }
    let aside = data.set_aside(clock::now().wall)?;
    Ok((DataDir::hold(&args.data, "demo")?, aside))
}

/// Opens the plant's store, and makes the ledger beside it: each tells of the other, so neither goes on alone.
async fn open_plant(data: &DataDir) -> anyhow::Result<SqlitePool> {
    let ledger = data.file(control::LEDGER_FILE);
    let alone = match (ledger.exists(), data.file(simulate_role::PLANT_FILE).exists()) {
        (true, false) => Some("a ledger and not the plant that it tells of"),
        (false, true) => Some("a plant and not the ledger that tells of it"),
        (true, true) | (false, false) => None,
    };
    if let Some(what) = alone {
        return Err(contradiction(data, what));
    }
    let ledger = store::open(&ledger).await?;
    let plant = simulate_role::open_store(data).await?;
    let entries: i64 = sqlx::query_scalar("select count(*) from entries").fetch_one(&ledger).await?;
    ledger.close().await;
    let parts: i64 = sqlx::query_scalar("select count(*) from plant_parts").fetch_one(&plant).await?;
    if entries > 0 && parts == 0 {
        return Err(contradiction(data, "a ledger with entries and a plant without parts"));
    }
    Ok(plant)
}

fn contradiction(data: &DataDir, what: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "{} has {what}, so they would contradict each other; begin afresh with --fresh, which sets all of it aside",
        data.file("").display()
    )
}

fn plant_options(
    site: &SiteFile,
    broker: &HostPort,
    seed: u64,
    pool: SqlitePool,
    roads: Option<Roads>,
) -> anyhow::Result<simulate::Options> {
    let mut plcs = simulate_role::plcs(site)?;
    for plc in plcs.values_mut() {
        plc.listen.set_free_port();
    }
    let boot = simulate_role::first_boot();
    Ok(simulate::Options { broker: broker.clone(), plcs, report: None, seed, boot, pool, roads })
}

/// Says where to look. On standard output, so that a script can read it.
fn greet(site: &SiteFile, addresses: &[SocketAddr], args: &Args, aside: Option<&Path>) -> anyhow::Result<()> {
    let plant = &site.plant;
    let also: String = addresses.iter().skip(1).map(|it| format!("  or      http://{it}\n")).collect();
    let address = addresses.first().map(ToString::to_string).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let earlier = aside.map_or_else(String::new, |it| format!("  before  {}\n", it.display()));
    let drill = match args.drills {
        true => "\n  DRILL   faults are injected on purpose; everything here is marked",
        false => "",
    };
    writeln!(
        out,
        "{}: {} floors, {} lifts, {} vehicles, all simulated\n\n  open    http://{address}\n{also}  data    {}, where the next start \
         goes on\n{earlier}  stop    Ctrl-C{drill}",
        plant.name,
        plant.floors.len(),
        plant.lifts.len(),
        plant.vehicles.len(),
        args.data.display(),
    )
    .and_then(|()| out.flush())
    .context("cannot say where the demo is")
}
