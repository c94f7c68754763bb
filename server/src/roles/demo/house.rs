//! The programs of a demonstration while it runs: gateways and a control node, which a drill may kill and raise.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use kernel::ids::{GatewayId, LiftId};
use sqlx::SqlitePool;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::DataDir;
use crate::drill::relay::{Carries, Relay};
use crate::drill::{Conductor, Hands, Levers, ProgramOrder};
use crate::roles::{control, gateway};
use crate::shell;
use crate::simulate;
use crate::site::{HostPort, SiteFile};

/// Orders to the programs that wait: two for each drill that may stand.
const ORDERS_MAX: usize = 32;

/// What a drill run has before any program starts: nothing in it is built for an ordinary run.
pub(super) struct Rig {
    pub(super) levers: Levers,
    broker: Relay,
    programs: mpsc::Sender<ProgramOrder>,
}

impl Rig {
    /// Builds it before the broker; the programs connect to [`Rig::broker`] instead.
    pub(super) async fn build(
        broker: SocketAddr,
        stop: &CancellationToken,
    ) -> anyhow::Result<(Self, mpsc::Receiver<ProgramOrder>)> {
        let (programs, orders) = mpsc::channel(ORDERS_MAX);
        let broker = Relay::start(broker, Carries::Bytes, stop.clone()).await?;
        Ok((Self { levers: Levers::default(), broker, programs }, orders))
    }

    pub(super) fn broker(&self) -> HostPort {
        HostPort { host: self.broker.address().ip().to_string(), port: self.broker.address().port() }
    }

    /// Puts a relay before each PLC and takes hold of everything else.
    pub(super) async fn conductor(
        self,
        site: &SiteFile,
        simulated: &simulate::Running,
        ledger: std::path::PathBuf,
        stop: &CancellationToken,
    ) -> anyhow::Result<Conductor> {
        let mut plcs = BTreeMap::new();
        for (lift, address) in &simulated.plc_addresses {
            let relay = Relay::start(*address, Carries::Modbus, stop.clone()).await?;
            plcs.insert(lift.clone(), relay);
        }
        let Self { levers, broker, programs } = self;
        let hands = Hands { levers, plant: simulated.hand(), broker, plcs, ledger, programs };
        Ok(Conductor::new(Arc::new(site.plant.clone()), hands))
    }
}

/// A gateway and the store of its marks.
struct DemoGateway {
    /// None while it is killed.
    running: Option<shell::gateway::Running>,
    pool: SqlitePool,
}

/// The programs.
pub(super) struct House {
    site: SiteFile,
    plc_addresses: BTreeMap<LiftId, SocketAddr>,
    options: control::Options,
    gateways: BTreeMap<GatewayId, DemoGateway>,
    /// None while it is killed.
    control: Option<control::Running>,
    orders: mpsc::Receiver<ProgramOrder>,
    deciding: CancellationToken,
    edge: CancellationToken,
}

impl House {
    /// Starts the gateways, then the control node.
    pub(super) async fn start(
        site: SiteFile,
        simulated: &simulate::Running,
        data: &DataDir,
        options: control::Options,
        orders: mpsc::Receiver<ProgramOrder>,
    ) -> anyhow::Result<Self> {
        let relays = options.drills.as_ref().map(|it| &it.hands().plcs);
        let plc_addresses = match relays {
            Some(relays) => relays.iter().map(|(lift, it)| (lift.clone(), it.address())).collect(),
            None => simulated.plc_addresses.clone(),
        };
        let (deciding, edge) = (CancellationToken::new(), CancellationToken::new());
        let (gateways, control) = (BTreeMap::new(), None);
        let mut house = Self { site, plc_addresses, options, gateways, control, orders, deciding, edge };
        for id in house.site.plant.gateways.clone() {
            let pool = gateway::open_store(data, &id).await?;
            house.gateways.insert(id.clone(), DemoGateway { running: None, pool });
            house.raise_gateway(&id).await?;
        }
        house.raise_node().await?;
        Ok(house)
    }

    /// Where the control node listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.options.listen
    }

    /// Runs until it is stopped, the plant ends, or the control node fails.
    pub(super) async fn live(
        &mut self,
        stop: &CancellationToken,
        plant: &CancellationToken,
    ) -> anyhow::Result<()> {
        loop {
            let control = &mut self.control;
            tokio::select! {
                ended = ended(control) => return ended,
                () = stop.cancelled() => break,
                // Its disk refused.
                () = plant.cancelled() => break,
                Some(order) = self.orders.recv() => self.carry_out(order).await?,
            }
        }
        if let Some(drills) = &self.options.drills {
            drills.finish().await;
        }
        self.deciding.cancel();
        match &mut self.control {
            Some(control) => control.ended().await,
            None => Ok(()),
        }
    }

    /// Ends what is left.
    pub(super) async fn close(self) {
        self.deciding.cancel();
        self.edge.cancel();
        for gateway in self.gateways.into_values() {
            if let Some(running) = gateway.running
                && let Err(error) = running.wait().await
            {
                tracing::error!("a gateway ended badly: {error:#}");
            }
            gateway.pool.close().await;
        }
    }

    async fn carry_out(&mut self, order: ProgramOrder) -> anyhow::Result<()> {
        match order {
            ProgramOrder::KillNode => {
                if let Some(drills) = &self.options.drills {
                    drills.detach();
                }
                if let Some(control) = self.control.take() {
                    control.kill().await?;
                }
                Ok(())
            }
            ProgramOrder::RaiseNode => self.raise_node().await,
            ProgramOrder::KillGateway(id) => {
                if let Some(running) = self.gateways.get_mut(&id).and_then(|it| it.running.take()) {
                    running.kill().await;
                }
                Ok(())
            }
            ProgramOrder::RaiseGateway(id) => self.raise_gateway(&id).await,
        }
    }

    /// The port that was free at the first start is the port of every later one.
    async fn raise_node(&mut self) -> anyhow::Result<()> {
        // A node that ends cancels its own token: the next one has another.
        let control = control::start(self.options.clone(), self.deciding.child_token()).await?;
        self.options.listen = control.address;
        self.control = Some(control);
        Ok(())
    }

    async fn raise_gateway(&mut self, id: &GatewayId) -> anyhow::Result<()> {
        let gateway = self.gateways.get_mut(id).with_context(|| format!("there is no gateway {id}"))?;
        let wires = gateway::Wires {
            broker: &self.options.broker,
            plc_addresses: &self.plc_addresses,
            roads: self.options.drills.as_ref().map(|it| it.hands().levers.roads.clone()),
        };
        // Its own token, so that one can be killed alone.
        let stop = self.edge.child_token();
        gateway.running =
            Some(gateway::start(&self.site, id.as_str(), wires, gateway.pool.clone(), stop).await?);
        Ok(())
    }
}

/// Waits for the control node's own end; for ever while there is none.
async fn ended(control: &mut Option<control::Running>) -> anyhow::Result<()> {
    match control {
        Some(control) => control.ended().await,
        None => std::future::pending().await,
    }
}
