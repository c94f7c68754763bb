//! The programs of a demonstration while it runs: gateways and two control nodes. A drill may end and raise each of
//! them; the other node takes over meanwhile.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use kernel::drill::node_names;
use kernel::ids::{DrillId, FloorId, GatewayId, LiftId, NodeId};
use kernel::plant::Plant;
use sqlx::SqlitePool;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::data::DataDir;
use crate::drill::broker::DrilledBroker;
use crate::drill::levers::Program;
use crate::drill::relay::{Carries, Relay};
use crate::drill::stray::Stray;
use crate::drill::{Conductor, Hands, Levers, ProgramOrder};
use crate::fieldbus::wire::Wire;
use crate::messaging::broker;
use crate::roles::{control, gateway};
use crate::shell;
use crate::simulate;
use crate::site::{HostPort, SiteFile};

/// Orders to the programs that wait: two for each drill that may stand.
const ORDERS_MAX: usize = 32;

/// What a drill run has before any program starts: nothing in it is built for an ordinary run.
pub(super) struct Rig {
    pub(super) levers: Levers,
    broker: DrilledBroker,
    lines: BTreeMap<Program, Relay>,
    programs: mpsc::Sender<ProgramOrder>,
}

impl Rig {
    /// Builds it before the broker; the programs connect to [`Rig::broker`] instead.
    pub(super) async fn build(
        broker: &broker::Running,
        plant: &Plant,
        stop: &CancellationToken,
    ) -> anyhow::Result<(Self, mpsc::Receiver<ProgramOrder>)> {
        let (programs, orders) = mpsc::channel(ORDERS_MAX);
        let relay = Relay::start(broker.address(), Carries::Bytes, stop.clone()).await?;
        let mut lines = BTreeMap::new();
        let gateways = plant.gateways.iter().cloned().map(Program::Gateway);
        for program in node_names().map(Program::Node).chain(gateways) {
            // Behind it the common one: a broker that is away is away for all.
            lines.insert(program, Relay::start(relay.address(), Carries::Bytes, stop.clone()).await?);
        }
        let broker = DrilledBroker::new(relay, broker.clone());
        Ok((Self { levers: Levers::default(), broker, lines, programs }, orders))
    }

    pub(super) fn broker(&self) -> HostPort {
        host_port(self.broker.address())
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
            let carries = match site.plcs.get(lift).map(|it| &it.wire) {
                Some(Wire::Tcp(_)) | None => Carries::Modbus,
                Some(Wire::RtuOverTcp(_) | Wire::Rtu(_)) => Carries::Rtu,
            };
            let relay = Relay::start(*address, carries, stop.clone()).await?;
            plcs.insert(lift.clone(), relay);
        }
        let Self { levers, broker, lines, programs } = self;
        let hands = Hands { levers, plant: simulated.hand(), broker, lines, plcs, ledger, programs };
        Ok(Conductor::new(Arc::new(site.plant.clone()), hands))
    }
}

fn host_port(address: SocketAddr) -> HostPort {
    HostPort { host: address.ip().to_string(), port: address.port() }
}

/// How a program reaches the broker: in a drill run by a line of its own.
fn way_to_broker(drills: Option<&Conductor>, program: &Program, broker: &HostPort) -> HostPort {
    let line = drills.and_then(|it| it.hands().lines.get(program));
    line.map_or_else(|| broker.clone(), |it| host_port(it.address()))
}

/// A gateway and the store of its marks.
struct DemoGateway {
    /// None while it is killed.
    running: Option<shell::gateway::Running>,
    pool: SqlitePool,
}

/// A control node.
struct DemoNode {
    options: control::Options,
    /// None while it is away.
    running: Option<control::Running>,
    stop: CancellationToken,
}

impl DemoNode {
    /// Its ways to the lease store and, in a drill run, to the broker are its own.
    fn new(node: NodeId, mut options: control::Options) -> Self {
        let program = Program::Node(node.clone());
        options.broker = way_to_broker(options.drills.as_ref(), &program, &options.broker);
        let leases = options.leases.way();
        Self {
            options: control::Options { node, leases, ..options },
            running: None,
            stop: CancellationToken::new(),
        }
    }

    /// The port that was free at the first start is the port of every later one.
    async fn raise(&mut self, deciding: &CancellationToken) -> anyhow::Result<()> {
        // A node that ends cancels its own token: the next one has another.
        self.stop = deciding.child_token();
        let control = control::start(self.options.clone(), self.stop.clone()).await?;
        self.options.listen = control.address;
        self.running = Some(control);
        Ok(())
    }

    async fn kill(&mut self) -> anyhow::Result<()> {
        match self.taken() {
            Some(control) => control.kill().await,
            None => Ok(()),
        }
    }

    /// Lets it hand over and end.
    async fn end(&mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        match self.taken() {
            Some(mut control) => control.ended().await,
            None => Ok(()),
        }
    }

    /// From now on another node records drills.
    fn taken(&mut self) -> Option<control::Running> {
        if let Some(drills) = &self.options.drills {
            drills.detach(&self.options.node);
        }
        self.running.take()
    }

    /// Waits for its own end; for ever while there is none.
    async fn ended(&mut self) -> anyhow::Result<()> {
        match &mut self.running {
            Some(control) => control.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Waits for its end, if it runs.
    async fn stopped(&mut self) -> anyhow::Result<()> {
        match &mut self.running {
            Some(control) => control.ended().await,
            None => Ok(()),
        }
    }
}

/// The programs.
pub(super) struct House {
    site: SiteFile,
    broker: HostPort,
    levers: Option<Levers>,
    plc_addresses: BTreeMap<LiftId, SocketAddr>,
    gateways: BTreeMap<GatewayId, DemoGateway>,
    /// Node A.
    first: DemoNode,
    second: DemoNode,
    orders: mpsc::Receiver<ProgramOrder>,
    deciding: CancellationToken,
    edge: CancellationToken,
}

impl House {
    /// Starts the gateways, then node A as the options say, then node B beside it.
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
        let broker = options.broker.clone();
        let levers = options.drills.as_ref().map(|it| it.hands().levers.clone());
        let listen = SocketAddr::new(options.listen.ip(), next_port(options.listen).await);
        let beside = control::Options { listen, ..options.clone() };
        let second = DemoNode::new(node_names().nth(1).context("the second node has no name")?, beside);
        let first = DemoNode::new(options.node.clone(), options);
        let gateways = BTreeMap::new();
        let mut house =
            Self { site, broker, levers, plc_addresses, gateways, first, second, orders, deciding, edge };
        for id in house.site.plant.gateways.clone() {
            let pool = gateway::open_store(data, &id).await?;
            house.gateways.insert(id.clone(), DemoGateway { running: None, pool });
            house.raise_gateway(&id).await?;
        }
        house.first.raise(&house.deciding).await?;
        house.second.raise(&house.deciding).await?;
        Ok(house)
    }

    /// Where the control nodes listen, node A first.
    pub(super) fn addresses(&self) -> [SocketAddr; 2] {
        [self.first.options.listen, self.second.options.listen]
    }

    /// Runs until it is stopped, the plant ends, or a control node fails.
    pub(super) async fn live(
        &mut self,
        stop: &CancellationToken,
        plant: &CancellationToken,
    ) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                ended = self.first.ended() => return ended,
                ended = self.second.ended() => return ended,
                () = stop.cancelled() => break,
                // Its disk refused.
                () = plant.cancelled() => break,
                Some(order) = self.orders.recv() => self.carry_out(order).await?,
            }
        }
        if let Some(drills) = &self.first.options.drills {
            drills.finish().await;
        }
        self.deciding.cancel();
        let (first, second) = tokio::join!(self.first.stopped(), self.second.stopped());
        first.and(second)
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
            ProgramOrder::StopNode(id) => self.node(&id)?.end().await,
            ProgramOrder::KillNode(id) => self.node(&id)?.kill().await,
            ProgramOrder::RaiseNode(id) => {
                let deciding = self.deciding.clone();
                self.node(&id)?.raise(&deciding).await
            }
            ProgramOrder::KillGateway(id) => {
                if let Some(running) = self.gateways.get_mut(&id).and_then(|it| it.running.take()) {
                    running.kill().await;
                }
                Ok(())
            }
            ProgramOrder::RaiseGateway(id) => self.raise_gateway(&id).await,
            ProgramOrder::StrayCall { lift, floor, drill } => self.stray_call(lift, floor, drill).await,
        }
    }

    /// The call goes its own way: nobody waits for it.
    async fn stray_call(&self, lift: LiftId, floor: FloorId, drill: DrillId) -> anyhow::Result<()> {
        let plant = self.site.plant.clone();
        let gateway = plant.lifts.get(&lift).and_then(|it| self.gateways.get_key_value(&it.gateway));
        let (id, gateway) = gateway.with_context(|| format!("there is no lift {lift}"))?;
        let marks = shell::gateway::load(&gateway.pool, id).await?;
        let session = marks.lifts.get(&lift).map(|it| it.session).unwrap_or_default().next();
        let stray = Stray { plant, broker: self.broker.clone(), lift, floor, drill, session };
        tokio::spawn(async move {
            if let Err(error) = stray.call().await {
                tracing::warn!("the stranger did not call: {error:#}");
            }
        });
        Ok(())
    }

    fn node(&mut self, id: &NodeId) -> anyhow::Result<&mut DemoNode> {
        let found = [&mut self.first, &mut self.second].into_iter().find(|it| it.options.node == *id);
        found.with_context(|| format!("there is no node {id}"))
    }

    async fn raise_gateway(&mut self, id: &GatewayId) -> anyhow::Result<()> {
        let gateway = self.gateways.get_mut(id).with_context(|| format!("there is no gateway {id}"))?;
        let drills = self.first.options.drills.as_ref();
        let broker = way_to_broker(drills, &Program::Gateway(id.clone()), &self.broker);
        let wires = gateway::Wires {
            broker: &broker,
            plc_addresses: &self.plc_addresses,
            levers: self.levers.clone(),
        };
        // Its own token, so that one can be killed alone.
        let stop = self.edge.child_token();
        gateway.running =
            Some(gateway::start(&self.site, id.as_str(), wires, gateway.pool.clone(), stop).await?);
        Ok(())
    }
}

/// The port after that of node A, if it is free; 0, which takes any free one, otherwise.
async fn next_port(first: SocketAddr) -> u16 {
    let Some(next) = first.port().checked_add(1).filter(|_| first.port() != 0) else { return 0 };
    // Tried and let go: whoever takes it in between makes node B fail with a clear word.
    match tokio::net::TcpListener::bind((first.ip(), next)).await {
        Ok(_) => next,
        Err(_) => 0,
    }
}
