//! How each fault is done and undone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use kernel::drill::{Drill, DrillFault as F, DrillPlace};
use kernel::ids::{DrillId, FloorId, GatewayId, LiftId, NodeId, PointId, VehicleId};
use kernel::lift::LiftMode;
use kernel::plant::Plant;
use kernel::time::Millis;
use sim::lift::LiftTrouble;
use sim::plant::PlantTrouble;
use sim::vehicle::{RadioEffect, RadioPlace};
use tokio::sync::mpsc;

use super::levers::{LedgerHeld, Levers, Program};
use super::relay::{Relay, RelayFault};
use crate::messaging::broker;
use crate::simulate::PlantHand;

/// Frames of a thousand that a thin or disturbed radio loses: the second field report's worst before lift doors.
const LOSS_PERMILLE: u16 = 300;
/// How late a slow radio brings a frame: half of the lab's worst.
const RADIO_SLOW: Millis = Millis(1500);
/// How much longer a slow PLC scans.
const SLOW_FACTOR: u8 = 5;
/// By how much a clock is set.
const CLOCK_STEP_MS: i64 = 60_000;
/// How late a late sensor shows.
const SENSOR_LATE: Millis = Millis::seconds(3);

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
    /// Before the broker.
    pub broker: Relay,
    /// Between each control node and the broker.
    pub nodes: BTreeMap<NodeId, Relay>,
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
            return LedgerHeld::take(&self.ledger).await.map(Standing::Ledger);
        }
        if let (F::StrayCall, DrillPlace::Lift(lift)) = (drill.fault, &drill.at) {
            return self.stray_call(drill, site, lift, car_at).await.map(|()| Standing::Plain);
        }
        let trouble = self.trouble(drill, site, drill.for_ms.unwrap_or_default(), car_at);
        match trouble {
            Some(trouble) => self.let_go_wrong(trouble).await?,
            None => self.switch(drill, true).await?,
        }
        Ok(Standing::Plain)
    }

    /// Lets it end, before its time or at it.
    pub(super) async fn mend(&self, drill: &Drill, site: &Plant, standing: Standing) -> anyhow::Result<()> {
        match standing {
            Standing::Ledger(held) => drop(held),
            Standing::Plain if drill.for_ms.is_none() => {}
            Standing::Plain => match mended(drill, site) {
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
        let idx = usize::from(farthest_stop(site, lift, car_at)).saturating_sub(1);
        let stop = site.lifts.get(lift).and_then(|it| it.stops.get(idx));
        let floor = stop.with_context(|| format!("lift {lift} has no stop"))?.floor.clone();
        self.order(ProgramOrder::StrayCall { lift: lift.clone(), floor, drill: drill.id.clone() }).await
    }

    async fn let_go_wrong(&self, trouble: PlantTrouble) -> anyhow::Result<()> {
        anyhow::ensure!(self.plant.trouble(trouble).await, "the simulated plant has stopped");
        Ok(())
    }

    /// The trouble of the plant that a fault is, if it is one.
    fn trouble(
        &self,
        drill: &Drill,
        site: &Plant,
        for_ms: Millis,
        car_at: Option<&FloorId>,
    ) -> Option<PlantTrouble> {
        match &drill.at {
            DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleRestarted => {
                Some(PlantTrouble::VehicleRestarted { vehicle: vehicle.clone() })
            }
            DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleSensorLate => {
                Some(vehicle_sensor_late(vehicle, for_ms))
            }
            DrillPlace::Lift(lift) if radio_effect(drill.fault).is_none() => {
                let stop = farthest_stop(site, lift, car_at);
                let trouble = lift_trouble(drill.fault, for_ms, stop)?;
                Some(PlantTrouble::Lift { lift: lift.clone(), trouble })
            }
            place @ (DrillPlace::Site
            | DrillPlace::Lift(_)
            | DrillPlace::Vehicle(_)
            | DrillPlace::Floor(_)
            | DrillPlace::Gateway(_)
            | DrillPlace::Node(_)
            | DrillPlace::Road(_)) => {
                let (place, effect) = (radio_place(place, site)?, radio_effect(drill.fault)?);
                Some(PlantTrouble::Radio { place, effect, for_ms })
            }
        }
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
            (F::BrokerForgets, _) if on => self.broker.set(RelayFault::Down),
            (F::BrokerForgets, _) => {
                // The embedded broker cannot be told to forget: another takes its place, and the old one stays without a
                // connection until the process ends. A demonstration has as many as somebody lets forget.
                let fresh = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await;
                self.broker.lead_to(fresh.context("a fresh broker")?.address());
                self.broker.set(RelayFault::Sound);
            }
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
            (F::NodeStopped | F::NodeKilled, DrillPlace::Node(node)) => {
                let ends = if drill.fault == F::NodeStopped {
                    ProgramOrder::StopNode
                } else {
                    ProgramOrder::KillNode
                };
                let order = if on { ends } else { ProgramOrder::RaiseNode };
                self.order(order(node.clone())).await?;
            }
            (F::NodeCutOff, DrillPlace::Node(node)) => {
                let relay = self.nodes.get(node).with_context(|| format!("node {node} has no relay"))?;
                relay.set(if on { RelayFault::Down } else { RelayFault::Sound });
            }
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

    async fn order(&self, order: ProgramOrder) -> anyhow::Result<()> {
        self.programs.send(order).await.ok().context("the demonstration is stopping")
    }
}

/// What undoes a trouble of the plant before its time, if the fault is one.
fn mended(drill: &Drill, site: &Plant) -> Option<PlantTrouble> {
    if let Some(effect) = radio_effect(drill.fault) {
        return Some(PlantTrouble::RadioMended { place: radio_place(&drill.at, site)?, effect });
    }
    // The same trouble for no time at all takes the place of the one that stands.
    match &drill.at {
        DrillPlace::Vehicle(vehicle) if drill.fault == F::VehicleSensorLate => {
            Some(vehicle_sensor_late(vehicle, Millis(0)))
        }
        DrillPlace::Lift(lift) => {
            let trouble = lift_trouble(drill.fault, Millis(0), 1)?;
            Some(PlantTrouble::Lift { lift: lift.clone(), trouble })
        }
        DrillPlace::Site
        | DrillPlace::Vehicle(_)
        | DrillPlace::Floor(_)
        | DrillPlace::Gateway(_)
        | DrillPlace::Node(_)
        | DrillPlace::Road(_) => None,
    }
}

fn vehicle_sensor_late(vehicle: &VehicleId, for_ms: Millis) -> PlantTrouble {
    PlantTrouble::VehicleSensorLate { vehicle: vehicle.clone(), by_ms: SENSOR_LATE, for_ms }
}

fn lift_trouble(fault: F, for_ms: Millis, stop: u16) -> Option<LiftTrouble> {
    let mode = |mode| LiftTrouble::Mode { mode, for_ms };
    match fault {
        F::DoorStuck => Some(LiftTrouble::DoorStuck { for_ms }),
        F::SillBlocked => Some(LiftTrouble::SillBlocked { for_ms }),
        F::PlcFrozen => Some(LiftTrouble::Frozen { for_ms }),
        F::PlcSlow => Some(LiftTrouble::Slow { factor: SLOW_FACTOR, for_ms }),
        F::SensorLate => Some(LiftTrouble::SensorLate { by_ms: SENSOR_LATE, for_ms }),
        F::SensorBlind => Some(LiftTrouble::SensorBlind { for_ms }),
        F::PeopleMode => Some(mode(LiftMode::Human)),
        F::MaintenanceMode => Some(mode(LiftMode::Maintenance)),
        F::FireMode => Some(mode(LiftMode::Fire)),
        F::EmergencyMode => Some(mode(LiftMode::Emergency)),
        F::PlcRebooted => Some(LiftTrouble::Rebooted),
        F::CarCalled => Some(LiftTrouble::CalledByPeople { stop }),
        F::StrayCall
        | F::RadioCut
        | F::RadioThin
        | F::RadioInterference
        | F::RadioSlow
        | F::VehicleRestarted
        | F::VehicleSensorLate
        | F::AnswerLost
        | F::ClosesInWrite
        | F::PlcLinkDown
        | F::MessagesDropped
        | F::MessagesDoubled
        | F::MessagesDelayed
        | F::NodePaused
        | F::NodeStopped
        | F::NodeKilled
        | F::NodeCutOff
        | F::GatewayPaused
        | F::GatewayKilled
        | F::ClockAhead
        | F::ClockBehind
        | F::BrokerAway
        | F::BrokerForgets
        | F::LedgerAway
        | F::LeasesStopped
        | F::LeasesPartitioned
        | F::LeasesEmptied
        | F::LeasesOldCopy
        | F::LeasesClockAhead
        | F::LeasesClockBehind => None,
    }
}

fn radio_effect(fault: F) -> Option<RadioEffect> {
    if fault == F::RadioCut {
        Some(RadioEffect::Cut)
    } else if fault == F::RadioThin {
        Some(RadioEffect::Thin { loss_permille: LOSS_PERMILLE })
    } else if fault == F::RadioInterference {
        Some(RadioEffect::Interference { loss_permille: LOSS_PERMILLE })
    } else if fault == F::RadioSlow {
        Some(RadioEffect::Slow { by_ms: RADIO_SLOW })
    } else {
        None
    }
}

fn radio_place(place: &DrillPlace, site: &Plant) -> Option<RadioPlace> {
    match place {
        DrillPlace::Site => Some(RadioPlace::Everywhere),
        DrillPlace::Floor(floor) => Some(RadioPlace::Floor(floor.clone())),
        DrillPlace::Vehicle(vehicle) => Some(RadioPlace::Vehicle(vehicle.clone())),
        DrillPlace::Lift(lift) => {
            let stops = &site.lifts.get(lift)?.stops;
            let points = stops.iter().flat_map(|it| it.waiting.iter().chain([&it.landing]).cloned());
            Some(RadioPlace::Points(points.collect::<Vec<PointId>>()))
        }
        DrillPlace::Gateway(_) | DrillPlace::Node(_) | DrillPlace::Road(_) => None,
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

/// The stop farthest from the car, from 1 at the lowest; the lowest when nobody knows where the car is.
fn farthest_stop(site: &Plant, lift: &LiftId, car_at: Option<&FloorId>) -> u16 {
    let stops = site.lifts.get(lift).map(|it| it.stops.as_slice()).unwrap_or_default();
    let at = car_at.and_then(|floor| stops.iter().position(|it| it.floor == *floor));
    match at {
        Some(idx) if 2 * idx < stops.len() => u16::try_from(stops.len()).unwrap_or(1),
        Some(_) | None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    fn drill(fault: F, at: DrillPlace) -> Drill {
        let for_ms = fault.lasts().then_some(Millis::seconds(30));
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
        let mut nodes = BTreeMap::new();
        for node in kernel::drill::node_names() {
            nodes.insert(node, relay().await.unwrap());
        }
        let ledger = folder.path().join("hoistway.db");
        crate::store::open(&ledger).await.unwrap().close().await;
        let (programs, mut orders) = mpsc::channel(256);
        let hands = Hands {
            levers: Levers::default(),
            plant: running.hand(),
            broker: relay().await.unwrap(),
            nodes,
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
        let mut killed = Vec::new();
        while let Ok(order) = orders.try_recv() {
            killed.push(order);
        }
        let n_nodes = kernel::drill::node_names().count();
        assert_eq!(killed.len(), 4 * n_nodes + 2 * site.gateways.len() + site.lifts.len(), "{killed:?}");
        stop.cancel();
    }

    #[test]
    fn people_call_the_car_to_where_it_is_not() {
        let site = site::parse(site::DEMO, "demo").unwrap().plant;
        let (lift, model) = site.lifts.iter().find(|(_, it)| it.stops.len() == 3).unwrap();
        let rows = [(None, 1), (Some(0), 3), (Some(1), 3), (Some(2), 1)];
        for (at, expected) in rows {
            let floor = at.map(|idx: usize| &model.stops[idx].floor);
            assert_eq!(farthest_stop(&site, lift, floor), expected, "{at:?}");
        }
    }
}
