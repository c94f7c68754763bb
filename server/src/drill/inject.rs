//! How each fault is done and undone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use kernel::drill::{Drill, DrillFault as F, DrillPlace};
use kernel::ids::{DrillId, FloorId, GatewayId, LiftId, NodeId};
use kernel::plant::Plant;
use sim::plant::PlantTrouble;
use tokio::sync::mpsc;

use super::broker::DrilledBroker;
use super::levers::{LedgerHeld, Levers, Program};
use super::relay::{Relay, RelayFault};
use super::trouble;
use crate::simulate::PlantHand;

/// By how much a clock is set.
const CLOCK_STEP_MS: i64 = 60_000;

/// What the demonstration does with its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramOrder {
    /// A control node is asked to stop.
    StopNode(NodeId),
    /// It dies.
    KillNode(NodeId),
    /// It is started again.
    RaiseNode(NodeId),
    /// A gateway dies.
    KillGateway(GatewayId),
    /// It is started again.
    RaiseGateway(GatewayId),
    /// A program without a place in the ledger calls a lift.
    StrayCall {
        /// Which.
        lift: LiftId,
        /// Where to.
        floor: FloorId,
        /// Names its command.
        drill: DrillId,
    },
}

/// Everything that a fault takes hold of.
#[derive(Clone, Debug)]
pub struct Hands {
    /// In the programs and on the roads.
    pub levers: Levers,
    /// In the simulated plant.
    pub plant: PlantHand,
    /// The broker.
    pub broker: DrilledBroker,
    /// Between the broker and each program.
    pub lines: BTreeMap<Program, Relay>,
    /// Before each PLC.
    pub plcs: BTreeMap<LiftId, Relay>,
    /// The ledger's file.
    pub ledger: PathBuf,
    /// To whoever started the programs.
    pub programs: mpsc::Sender<ProgramOrder>,
}

/// What stands while a drill does.
pub(super) enum Standing {
    Plain,
    Ledger(LedgerHeld),
}

impl Hands {
    /// Lets a fault begin. `car_at` is where the car of the drill's lift was seen last.
    pub(super) async fn inject(
        &self,
        drill: &Drill,
        site: &Plant,
        car_at: Option<&FloorId>,
    ) -> anyhow::Result<Standing> {
        if drill.fault == F::LedgerAway {
            let held = LedgerHeld::take(&self.ledger).await?;
            self.levers.ledger.set_away(true);
            return Ok(Standing::Ledger(held));
        }
        if let (F::StrayCall, DrillPlace::Lift(lift)) = (drill.fault, &drill.at) {
            return self.stray_call(drill, site, lift, car_at).await.map(|()| Standing::Plain);
        }
        let trouble = trouble::of(drill, site, drill.for_ms.unwrap_or_default(), car_at);
        match trouble {
            Some(trouble) => self.let_go_wrong(trouble).await?,
            None => self.switch(drill, true).await?,
        }
        Ok(Standing::Plain)
    }

    /// Lets it end, before its time or at it.
    pub(super) async fn mend(&self, drill: &Drill, site: &Plant, standing: Standing) -> anyhow::Result<()> {
        match standing {
            Standing::Ledger(held) => {
                drop(held);
                self.levers.ledger.set_away(false);
            }
            Standing::Plain if drill.for_ms.is_none() => {}
            Standing::Plain => match trouble::mended(drill, site) {
                Some(trouble) => self.let_go_wrong(trouble).await?,
                None => self.switch(drill, false).await?,
            },
        }
        Ok(())
    }

    async fn stray_call(
        &self,
        drill: &Drill,
        site: &Plant,
        lift: &LiftId,
        car_at: Option<&FloorId>,
    ) -> anyhow::Result<()> {
        let idx = usize::from(trouble::farthest_stop(site, lift, car_at)).saturating_sub(1);
        let stop = site.lifts.get(lift).and_then(|it| it.stops.get(idx));
        let floor = stop.with_context(|| format!("lift {lift} has no stop"))?.floor.clone();
        self.order(ProgramOrder::StrayCall { lift: lift.clone(), floor, drill: drill.id.clone() }).await
    }

    async fn let_go_wrong(&self, trouble: PlantTrouble) -> anyhow::Result<()> {
        anyhow::ensure!(self.plant.trouble(trouble).await, "the simulated plant has stopped");
        Ok(())
    }

    /// Turns a lever on or off.
    async fn switch(&self, drill: &Drill, on: bool) -> anyhow::Result<()> {
        match (drill.fault, &drill.at) {
            (F::AnswerLost | F::ClosesInWrite | F::PlcLinkDown, DrillPlace::Lift(lift)) => {
                let relay = self.plcs.get(lift).with_context(|| format!("lift {lift} has no relay"))?;
                relay.set(if on { relay_fault(drill.fault) } else { RelayFault::Sound });
            }
            (F::MessagesDropped | F::MessagesDoubled | F::MessagesDelayed, DrillPlace::Road(road)) => {
                self.levers.roads.set(*road, on.then_some(drill.fault));
            }
            (F::NodePaused, DrillPlace::Node(node)) => {
                self.levers.pauses.set(Program::Node(node.clone()), on);
            }
            (F::BrokerAway, _) => self.broker.set(if on { RelayFault::Down } else { RelayFault::Sound }),
            (F::BrokerPaused, _) => self.broker.set(if on { RelayFault::Held } else { RelayFault::Sound }),
            (F::BrokerForgets, _) if on => self.broker.go_to_forget()?,
            (F::BrokerForgets, _) => self.broker.come_back_empty().await?,
            (F::LeasesStopped, _) => self.levers.leases.set_stopped(on),
            (F::LeasesPartitioned, DrillPlace::Node(node)) => self.levers.leases.cut_off(node, on),
            (F::LeasesEmptied, _) => self.levers.leases.forget(),
            (F::ClockAhead | F::ClockBehind, DrillPlace::Node(node)) => {
                self.levers.clocks.set(&Program::Node(node.clone()), clock_step(drill.fault, on));
            }
            (F::ClockAhead | F::ClockBehind, DrillPlace::Gateway(gateway)) => {
                self.levers.clocks.set(&Program::Gateway(gateway.clone()), clock_step(drill.fault, on));
            }
            (F::LeasesClockAhead | F::LeasesClockBehind, _) => {
                self.levers.leases.set_clock(clock_step(drill.fault, on));
            }
            (F::LeasesOldCopy, _) => self.levers.leases.promote_old_copy(),
            (F::NodeStopped, DrillPlace::Node(node)) if on => {
                self.order(ProgramOrder::StopNode(node.clone())).await?;
            }
            (F::NodeKilled, DrillPlace::Node(node)) if on => {
                self.order(ProgramOrder::KillNode(node.clone())).await?;
            }
            (F::NodeStopped | F::NodeKilled, DrillPlace::Node(node)) => self.raise_node(node).await?,
            (F::NodeCutOff, DrillPlace::Node(node)) => self.cut_off(&Program::Node(node.clone()), on)?,
            (F::GatewayCutOff, DrillPlace::Gateway(id)) => self.cut_off(&Program::Gateway(id.clone()), on)?,
            (F::LedgerCutOff, DrillPlace::Node(node)) => self.levers.ledger.cut_off(node, on),
            (F::GatewayPaused, DrillPlace::Gateway(gateway)) => {
                self.levers.pauses.set(Program::Gateway(gateway.clone()), on);
            }
            (F::GatewayKilled, DrillPlace::Gateway(id)) => {
                let order = if on { ProgramOrder::KillGateway } else { ProgramOrder::RaiseGateway };
                self.order(order(id.clone())).await?;
            }
            (fault, place) => bail!("{fault:?} is not injected at {place:?}"),
        }
        Ok(())
    }

    /// A node that finds no ledger at its start gives up after a minute, and the demonstration with it.
    async fn raise_node(&self, node: &NodeId) -> anyhow::Result<()> {
        self.levers.ledger.until_there().await;
        self.order(ProgramOrder::RaiseNode(node.clone())).await
    }

    /// From the broker.
    fn cut_off(&self, program: &Program, is_cut_off: bool) -> anyhow::Result<()> {
        let line = self.lines.get(program).with_context(|| format!("{program:?} has no relay"))?;
        line.set(if is_cut_off { RelayFault::Down } else { RelayFault::Sound });
        Ok(())
    }

    async fn order(&self, order: ProgramOrder) -> anyhow::Result<()> {
        self.programs.send(order).await.ok().context("the demonstration is stopping")
    }
}

/// By how much the clock goes wrong now; not at all once the drill is over.
fn clock_step(fault: F, on: bool) -> i64 {
    match on {
        true if matches!(fault, F::ClockAhead | F::LeasesClockAhead) => CLOCK_STEP_MS,
        true => -CLOCK_STEP_MS,
        false => 0,
    }
}

fn relay_fault(fault: F) -> RelayFault {
    if fault == F::AnswerLost {
        RelayFault::AnswerLost
    } else if fault == F::ClosesInWrite {
        RelayFault::ClosesInWrite
    } else {
        RelayFault::Down
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernel::time::Millis;

    use super::*;
    use crate::site;

    fn drill(fault: F, at: DrillPlace) -> Drill {
        let for_ms = fault.lasts().then_some(Millis::seconds(20));
        Drill { id: DrillId::try_new("D-1").unwrap(), fault, at, for_ms }
    }

    #[tokio::test]
    async fn each_fault_is_done_and_undone_at_each_of_its_places() {
        let site = site::parse(site::DEMO, "demo").unwrap().plant;
        let stop = tokio_util::sync::CancellationToken::new();
        let nobody = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        let relay = || Relay::start(nobody, super::super::relay::Carries::Bytes, stop.clone());
        let folder = tempfile::tempdir().unwrap();
        let options = crate::simulate::Options {
            broker: site::HostPort { host: "127.0.0.1".to_owned(), port: 1 },
            plcs: BTreeMap::new(),
            report: None,
            seed: 1,
            boot: 0,
            pool: crate::store::open(&folder.path().join("plant.db")).await.unwrap(),
            roads: None,
        };
        let running = crate::simulate::start(&site, options, stop.clone()).await.unwrap();
        let mut plcs = BTreeMap::new();
        for lift in site.lifts.keys() {
            plcs.insert(lift.clone(), relay().await.unwrap());
        }
        let mut lines = BTreeMap::new();
        let gateways = site.gateways.iter().cloned().map(Program::Gateway);
        for program in kernel::drill::node_names().map(Program::Node).chain(gateways) {
            lines.insert(program, relay().await.unwrap());
        }
        let broker = crate::messaging::broker::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let ledger = folder.path().join("hoistway.db");
        crate::store::open(&ledger).await.unwrap().close().await;
        let (programs, mut orders) = mpsc::channel(256);
        let hands = Hands {
            levers: Levers::default(),
            plant: running.hand(),
            broker: DrilledBroker::new(relay().await.unwrap(), broker),
            lines,
            plcs,
            ledger,
            programs,
        };
        for fault in F::ALL {
            for place in fault.places(&site) {
                let drill = drill(fault, place);
                let standing = hands.inject(&drill, &site, None).await.unwrap_or_else(|error| {
                    panic!("{drill:?}: {error:#}");
                });
                hands.mend(&drill, &site, standing).await.unwrap_or_else(|error| {
                    panic!("{drill:?}: {error:#}");
                });
            }
        }
        hands.levers.ledger.set_away(true);
        let node = kernel::drill::node_names().next().unwrap();
        let raised = tokio::time::timeout(Duration::from_millis(100), hands.raise_node(&node)).await;
        assert!(raised.is_err(), "a node is not started while the ledger is away");
        let mut killed = Vec::new();
        while let Ok(order) = orders.try_recv() {
            killed.push(order);
        }
        let n_nodes = kernel::drill::node_names().count();
        assert_eq!(killed.len(), 4 * n_nodes + 2 * site.gateways.len() + site.lifts.len(), "{killed:?}");
        stop.cancel();
    }
}
