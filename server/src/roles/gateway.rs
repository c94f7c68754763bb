//! The role `gateway`: beside the PLCs, the one voice that they hear, and the road of its vehicles.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use kernel::ids::{GatewayId, LiftId};
use sqlx::SqlitePool;
use tokio_util::sync::CancellationToken;

use crate::data::DataDir;
use crate::drill::Levers;
use crate::fieldbus::profile_named;
use crate::fieldbus::wire::Wire;
use crate::shell::gateway::{self, GatewayOptions, PlcLink, Running};
use crate::site::{self, HostPort, SiteFile};
use crate::store;

/// What the command line gives.
#[derive(Clone, Debug, clap::Args)]
pub struct GatewayArgs {
    /// The site file, TOML.
    #[arg(long, value_name = "FILE")]
    pub site: PathBuf,
    /// Which gateway of the site this is.
    #[arg(long, value_name = "NAME")]
    pub id: String,
    /// The MQTT broker.
    #[arg(long, value_name = "HOST:PORT", env = "HOISTWAY_BROKER", default_value = "127.0.0.1:1883")]
    pub broker: HostPort,
    /// Where the gateway keeps its marks; created when missing. Never share it between gateways.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
}

/// Plays the role until `stop` is cancelled.
///
/// # Errors
/// The site file is not sound, has no such gateway, or the store cannot be used.
pub async fn run(args: GatewayArgs, stop: CancellationToken) -> anyhow::Result<()> {
    let site = site::read(&args.site)?;
    let id = named(&site, &args.id)?;
    let data = DataDir::hold(&args.data, &format!("gateway-{id}"))?;
    let pool = open_store(&data, &id).await?;
    let replaced = BTreeMap::new();
    let wires = Wires { broker: &args.broker, plc_addresses: &replaced, levers: None };
    let running = start(&site, &args.id, wires, pool.clone(), stop).await?;
    tracing::info!(gateway = %id, broker = %args.broker, "the gateway is at work");
    let ended = running.wait().await;
    pool.close().await;
    drop(data);
    ended
}

fn named(site: &SiteFile, id: &str) -> anyhow::Result<GatewayId> {
    let known: Vec<&str> = site.plant.gateways.iter().map(GatewayId::as_str).collect();
    let found = site.plant.gateways.iter().find(|it| it.as_str() == id);
    found.cloned().with_context(|| {
        format!("site {} has no gateway \"{id}\", only {}", site.plant.site, known.join(", "))
    })
}

/// Opens the store of a gateway's marks in its data folder.
///
/// # Errors
/// It cannot be used.
pub async fn open_store(data: &DataDir, id: &GatewayId) -> anyhow::Result<SqlitePool> {
    store::open(&data.file(&format!("gateway-{id}.db"))).await
}

/// To what a gateway is connected.
#[derive(Clone, Debug)]
pub struct Wires<'a> {
    /// The MQTT broker.
    pub broker: &'a HostPort,
    /// Replaces the addresses of the site file, for simulated PLCs on free ports.
    pub plc_addresses: &'a BTreeMap<LiftId, SocketAddr>,
    /// By which a drill run makes it fail; none in an ordinary run.
    pub levers: Option<Levers>,
}

/// Starts a gateway of a site.
///
/// # Errors
/// The site has no such gateway, a profile cannot work, or the store cannot be read.
pub async fn start(
    site: &SiteFile,
    id: &str,
    wires: Wires<'_>,
    pool: SqlitePool,
    stop: CancellationToken,
) -> anyhow::Result<Running> {
    let id = named(site, id)?;
    let mut plcs = BTreeMap::new();
    for (lift, plc) in &site.plcs {
        let profile = profile_named(&plc.profile, &site.profiles).with_context(|| format!("lift {lift}"))?;
        let replaced = wires.plc_addresses.get(lift).map(|it| HostPort::from(*it));
        let wire = match (&plc.wire, replaced) {
            (Wire::Tcp(_), Some(address)) => Wire::Tcp(address),
            (Wire::RtuOverTcp(_), Some(address)) => Wire::RtuOverTcp(address),
            (wire @ Wire::Rtu(_), _) | (wire, None) => wire.clone(),
        };
        plcs.insert(lift.clone(), PlcLink { wire, unit: plc.unit, profile });
    }
    let Wires { broker, levers, .. } = wires;
    let options =
        GatewayOptions { broker_host: broker.host.clone(), broker_port: broker.port, pool, plcs, levers };
    gateway::start(Arc::new(site.plant.clone()), id, options, stop).await
}
