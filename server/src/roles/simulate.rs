//! `hoistway simulate`: the plant of a site file on the real wire.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use chrono::Utc;
use kernel::ids::LiftId;
use sqlx::SqlitePool;
use tokio_util::sync::CancellationToken;

use crate::cli;
use crate::data::DataDir;
use crate::fieldbus::wire::Wire;
use crate::simulate::{self, Listen, Options, PlcOptions};
use crate::site::{self, HostPort, SiteFile};
use crate::store;

/// The store of the plant in its data folder.
pub const PLANT_FILE: &str = "plant.db";

/// Arguments of `hoistway simulate`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The site file; each lift's PLC is served at its `plc.address`, which must be on loopback
    #[arg(long, value_name = "FILE", env = "HOISTWAY_SITE")]
    pub site: PathBuf,
    /// The MQTT broker
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883", env = "HOISTWAY_BROKER")]
    pub broker: HostPort,
    /// Serve what the plant counted (loads, contradictions, e-stops) as JSON at http://IP:PORT/plant; loopback only
    #[arg(long, value_name = "IP:PORT")]
    pub report: Option<SocketAddr>,
    /// Folder of the plant, which goes on from there at each start; created when missing. Another one begins a new plant
    #[arg(long, value_name = "DIR", default_value = "var/simulate", env = "HOISTWAY_DATA")]
    pub data: PathBuf,
    /// Of all chance in a new plant: the same seed gives the same scan periods and radio
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Runs the role until it is stopped.
///
/// # Errors
/// A site file with problems, an address that is not on loopback, a port that is taken, a plant that was kept for
/// another site, a disk that refuses.
pub async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let site = site::read(&args.site)?;
    let report = args.report.map(cli::loopback).transpose()?;
    let plcs = plcs(&site)?;
    let data = DataDir::hold(&args.data, "simulate")?;
    let pool = open_store(&data).await?;
    let (seed, boot) = (args.seed, first_boot());
    let options = Options { broker: args.broker, plcs, report, seed, boot, pool: pool.clone(), roads: None };
    let running = simulate::start(&site.plant, options, stop.clone()).await?;
    for (lift, address) in &running.plc_addresses {
        tracing::info!(%lift, %address, "the simulated PLC listens");
    }
    if let Some(address) = running.report_address {
        tracing::info!("the plant counts at http://{address}/plant");
    }
    stop.cancelled().await;
    let ended = running.stopped().await;
    pool.close().await;
    drop(data);
    ended
}

/// Opens the store of the plant in its data folder.
///
/// # Errors
/// It cannot be used.
pub async fn open_store(data: &DataDir) -> anyhow::Result<SqlitePool> {
    store::open(&data.file(PLANT_FILE)).await
}

/// The PLCs of a site file, each at its own address.
///
/// # Errors
/// An address that is not on loopback: the simulated plant must never stand in for a real PLC on a network.
pub fn plcs(site: &SiteFile) -> anyhow::Result<BTreeMap<LiftId, PlcOptions>> {
    let mut plcs = BTreeMap::new();
    for (lift, plc) in &site.plcs {
        let listen = match &plc.wire {
            Wire::Tcp(address) => Listen::Tcp(loopback(lift, address)?),
            Wire::RtuOverTcp(address) => Listen::RtuOverTcp(loopback(lift, address)?),
            Wire::Rtu(line) => Listen::Rtu(line.device.clone().into()),
        };
        let profile = site.register_profile(lift)?;
        plcs.insert(lift.clone(), PlcOptions { listen, unit: plc.unit, profile });
    }
    Ok(plcs)
}

fn loopback(lift: &LiftId, address: &HostPort) -> anyhow::Result<SocketAddr> {
    let listen = match address.host.as_str() {
        "localhost" => Some(SocketAddr::from(([127, 0, 0, 1], address.port))),
        _ => address.socket_addr(),
    };
    listen.filter(|it| it.ip().is_loopback()).with_context(|| {
        format!(
            "lift {lift}: its PLC at {address} is not on loopback, so it is not simulated; set lifts.{lift}.plc.address \
             to 127.0.0.1:PORT"
        )
    })
}

/// What the boot counters of a new plant begin with: seconds since 1970, so that they lie above those of a plant in
/// another folder that the same ledger or broker may have met. Over restarts of one plant they do not rise.
pub fn first_boot() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}
