//! A control loop as it ships, for a bench: its machine, its ledger and a broker; no HTTP. Vehicles and their gateway come
//! when they are raised.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use kernel::ids::{NodeId, StationId};
use kernel::lease::LeaseTiming;
use kernel::wire::rest::PlaceOrder;
use sqlx::SqlitePool;
use tokio_util::sync::CancellationToken;

use crate::journal::Journal;
use crate::lease::LeaseStore;
use crate::live::hub::Hub;
use crate::messaging::{self, Outbox, broker};
use crate::roles::{control, gateway};
use crate::shell::control::ControlShell;
use crate::shell::{self, ControlHandle};
use crate::site::{self, HostPort, SiteFile};
use crate::{simulate, store};

/// The loop is up long before.
pub(super) const START_BOUND: Duration = Duration::from_secs(60);

/// A control loop as it ships, beside a broker at which nobody else is.
pub(super) struct House {
    control: ControlHandle,
    hub: Hub,
    broker: HostPort,
    site: SiteFile,
    orders: Vec<PlaceOrder>,
    running: tokio::task::JoinHandle<anyhow::Result<()>>,
    stop: CancellationToken,
}

impl House {
    /// Starts it as node A of the bench's site, and waits until it takes orders.
    ///
    /// # Errors
    /// The broker or the loop does not start.
    pub(super) async fn start(journal: Journal) -> anyhow::Result<Self> {
        let site = site::parse(site::BENCH, "the bench's site")?;
        let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let broker = HostPort { host: broker.address().ip().to_string(), port: broker.address().port() };
        let node = NodeId::try_new("A")?;
        let road = control::link_options(&site.plant.site, &node, &broker);
        let (link, incoming) = messaging::connect(road, Outbox::memory());
        let hub = Hub::new(Arc::new(site.plant.clone()), control::quiet_node(&node, false));
        let (control, requests) = ControlHandle::new();
        let leases = LeaseStore::in_process(LeaseTiming::default());
        let shell = ControlShell {
            node,
            plant: site.plant.clone(),
            journal,
            hub: hub.clone(),
            link,
            incoming,
            requests,
            leases,
            levers: None,
        };
        let stop = CancellationToken::new();
        let running = tokio::spawn(shell.run(stop.clone()));
        let up = async {
            while !hub.node().ledger_writable {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(START_BOUND, up).await.context("the control loop does not start")?;
        let orders = orders(&site)?;
        Ok(Self { control, hub, broker, site, orders, running, stop })
    }

    /// Places orders, so many in flight at a time, with keys of this turn's name. Gives how many it were a second.
    ///
    /// # Errors
    /// An order was refused or not answered.
    pub(super) async fn place(&self, count: u32, turn: &str, in_flight: usize) -> anyhow::Result<f64> {
        let began = Instant::now();
        stream::iter(0..count)
            .zip(stream::iter(self.orders.iter().cycle()))
            .map(|(n, order)| {
                let key = format!("bench-{turn}-{n}");
                async move {
                    let placed = self.control.place_order(order.clone(), key, "bench".to_owned());
                    placed.await?.map(|_| ()).context("an order was refused")
                }
            })
            .buffer_unordered(in_flight)
            .try_collect::<()>()
            .await?;
        Ok(f64::from(count) / began.elapsed().as_secs_f64())
    }

    /// What the control loop shows.
    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Where the broker listens.
    pub(super) fn broker(&self) -> &HostPort {
        &self.broker
    }

    /// Raises the site's vehicles, simulated, and its gateway, which keep what they know in this folder.
    ///
    /// # Errors
    /// One of them does not start.
    pub(super) async fn raise_plant(&self, own: &Path) -> anyhow::Result<Vehicles> {
        let stop = CancellationToken::new();
        let plant_pool = store::open(&own.join("plant.db")).await?;
        let options = simulate::Options {
            broker: self.broker.clone(),
            plcs: BTreeMap::new(),
            report: None,
            seed: 1,
            boot: 0,
            pool: plant_pool.clone(),
            roads: None,
        };
        let simulated = simulate::start(&self.site.plant, options, stop.clone()).await?;
        let gateway_pool = store::open(&own.join("gateway.db")).await?;
        let (id, plc_addresses) = (self.site.plant.gateways.first().context("no gateway")?, BTreeMap::new());
        let wires = gateway::Wires { broker: &self.broker, plc_addresses: &plc_addresses, levers: None };
        let gateway =
            gateway::start(&self.site, id.as_str(), wires, gateway_pool.clone(), stop.clone()).await?;
        Ok(Vehicles { simulated, gateway, stop, pools: [plant_pool, gateway_pool] })
    }

    /// Ends it in good order.
    ///
    /// # Errors
    /// What the loop failed of.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.running.await.context("the control loop ended badly")?
    }
}

/// Vehicles and their gateway, raised for a house.
pub(super) struct Vehicles {
    simulated: simulate::Running,
    gateway: shell::gateway::Running,
    stop: CancellationToken,
    pools: [SqlitePool; 2],
}

impl Vehicles {
    /// Ends them, so that nobody writes in their folder any more.
    ///
    /// # Errors
    /// What one of them failed of.
    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        let (gateway, simulated) = tokio::join!(self.gateway.wait(), self.simulated.stopped());
        for pool in self.pools {
            pool.close().await;
        }
        gateway.and(simulated)
    }
}

/// From each vehicle's own station to pick at, to its own one to drop at.
fn orders(site: &SiteFile) -> anyhow::Result<Vec<PlaceOrder>> {
    let picks = site.plant.stations.keys().filter(|it| it.as_str().starts_with('P'));
    let order = |from: &StationId| {
        let to = StationId::try_new(&from.as_str().replacen('P', "D", 1))?;
        Ok(PlaceOrder { from: from.clone(), to, priority: 5, deadline: None, reference: None })
    };
    let orders: Vec<PlaceOrder> = picks.map(order).collect::<anyhow::Result<_>>()?;
    ensure!(!orders.is_empty(), "the bench's site has no station to pick at");
    Ok(orders)
}
