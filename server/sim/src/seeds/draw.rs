//! Drawing a world from a seed.

use std::collections::BTreeSet;

use kernel::ids::{GatewayId, InvalidName, LiftId, NodeId, PointId, StationId, VehicleId};
use kernel::lift::LiftMode;
use kernel::plant::Plant;
use kernel::time::Millis;

use super::RandomWorld;
use crate::fault::{Fault, FaultFamily, FaultKind, Machine, PlcLinkEffect, Road, RoadEffect, StoreFault};
use crate::lift::{Intake, LiftTrouble};
use crate::plant::PlantTrouble;
use crate::rng::Rng;
use crate::sites::{SiteShape, nodes, site};
use crate::vehicle::{FROZEN_MAX, RadioEffect, RadioPlace};
use crate::world::{PlannedOrder, WorldConfig};

/// Nodes that share a ledger.
const NODES_MAX: u64 = 3;
/// Each family is in so many of a hundred worlds.
const FAMILY_PERCENT: u64 = 35;
/// So many of a hundred worlds with several nodes lose one of them for good.
const GONE_PERCENT: u64 = 20;
/// So many of a hundred worlds have a node that the broker does not reach for a while.
const CUT_OFF_PERCENT: u64 = 20;
/// So many of a hundred worlds have a gateway that the broker does not reach for a while.
const UPLINK_PERCENT: u64 = 15;
/// So many of a hundred worlds have a node that alone does not reach the ledger for a while.
const LEDGER_CUT_PERCENT: u64 = 20;
/// In so many of a hundred worlds the broker's clock is set.
const BROKER_CLOCK_PERCENT: u64 = 15;
/// In so many of a hundred worlds a vehicle or the broker stands still.
const STANDSTILL_PERCENT: u64 = 20;
/// In so many of a hundred worlds the road to the ledger loses or doubles what nodes propose.
const LEDGER_ROAD_PERCENT: u64 = 15;
/// In so many of a hundred worlds gateways do not hear the nodes as they should.
const BEATS_PERCENT: u64 = 20;
/// So many of a hundred orders are taken back.
const WITHDRAWN_PERCENT: u64 = 20;
/// After so long at most: an order takes about a minute, and longer in a world with faults.
const WITHDRAWN_AFTER_MAX_MS: u64 = 90_000;

pub(super) fn world(seed: u64, span: Millis) -> Result<RandomWorld, InvalidName> {
    let mut rng = Rng::new(seed, "draw");
    let floors = u8::try_from(rng.within(2..=4)).unwrap_or(2);
    let lifts = u8::try_from(rng.within(1..=2)).unwrap_or(1);
    let vehicles = u8::try_from(rng.within(1..=6)).unwrap_or(1);
    let plant = site(SiteShape { floors, lifts, vehicles, gateways: gateways(seed, lifts) })?;
    let mut config = WorldConfig::new(plant, seed);
    config.intake = if rng.within(0..=1) == 0 { Intake::Overwrites } else { Intake::Queues };
    config.nodes = nodes(u8::try_from(rng.within(1..=NODES_MAX)).unwrap_or(1))?;
    config.orders = orders(&mut rng, floors, span)?;
    draw_withdrawals(seed, &mut config.orders);
    let mut families = BTreeSet::new();
    for family in FaultFamily::ALL {
        if rng.within(0..=99) < FAMILY_PERCENT {
            families.insert(family);
            for _ in 0..rng.within(1..=3) {
                let at = Millis(rng.within(1000..=span.0.max(1000)));
                let kind = fault(&mut rng, family, &config)?;
                config.faults.push(Fault { at, kind });
            }
        }
    }
    draw_gone(seed, span, &mut config, &mut families);
    draw_cut_off(seed, span, &mut config, &mut families);
    draw_beats(seed, span, &mut config, &mut families);
    draw_ledger_cut(seed, span, &mut config, &mut families);
    draw_ledger_road(seed, span, &mut config, &mut families);
    draw_broker_clock(seed, span, &mut config, &mut families);
    draw_standstill(seed, span, &mut config, &mut families);
    draw_uplink(seed, span, &mut config, &mut families);
    Ok(RandomWorld { config, families, span })
}

/// One of several nodes may die for good, and never the last.
fn draw_gone(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    // From a stream of its own, like what else was added since: what a seed drew before stays as it was.
    let mut rng = Rng::new(seed, "gone");
    if config.nodes.len() > 1
        && rng.within(0..=99) < GONE_PERCENT
        && let Some(node) = one_of(&mut rng, &config.nodes).cloned()
    {
        families.insert(FaultFamily::Restart);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        config.faults.push(Fault { at, kind: FaultKind::NodeGone { node } });
    }
}

/// The broker does not reach a node for a while.
fn draw_cut_off(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "cut off");
    if rng.within(0..=99) < CUT_OFF_PERCENT
        && let Some(node) = one_of(&mut rng, &config.nodes).cloned()
    {
        families.insert(FaultFamily::Road);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let for_ms = Millis(rng.within(500..=60_000));
        config.faults.push(Fault { at, kind: FaultKind::NodeCutOff { node, for_ms } });
    }
}

/// The broker does not reach a gateway for a while.
fn draw_uplink(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "uplink");
    if rng.within(0..=99) < UPLINK_PERCENT
        && let Some(gateway) = one_of(&mut rng, &config.plant.gateways).cloned()
    {
        families.insert(FaultFamily::Road);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let for_ms = Millis(rng.within(500..=40_000));
        config.faults.push(Fault { at, kind: FaultKind::GatewayCutOff { gateway, for_ms } });
    }
}

/// A node alone does not reach the ledger for a while.
fn draw_ledger_cut(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "ledger cut");
    if rng.within(0..=99) < LEDGER_CUT_PERCENT
        && let Some(node) = one_of(&mut rng, &config.nodes).cloned()
    {
        families.insert(FaultFamily::Ledger);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let for_ms = Millis(rng.within(500..=40_000));
        config.faults.push(Fault { at, kind: FaultKind::LedgerCutOff { node, for_ms } });
    }
}

/// Some of what nodes propose is lost, or comes to the ledger twice.
fn draw_ledger_road(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "ledger road");
    if rng.within(0..=99) < LEDGER_ROAD_PERCENT {
        families.insert(FaultFamily::Road);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let effect = match rng.within(0..=1) {
            0 => RoadEffect::Drop,
            _ => RoadEffect::Duplicate { after_ms: Millis(rng.within(1..=8000)) },
        };
        let permille = u16::try_from(rng.within(50..=600)).unwrap_or(600);
        let for_ms = Millis(rng.within(1000..=30_000));
        config
            .faults
            .push(Fault { at, kind: FaultKind::Road { road: Road::Ledger, effect, permille, for_ms } });
    }
}

fn draw_broker_clock(
    seed: u64,
    span: Millis,
    config: &mut WorldConfig,
    families: &mut BTreeSet<FaultFamily>,
) {
    let mut rng = Rng::new(seed, "broker clock");
    if rng.within(0..=99) < BROKER_CLOCK_PERCENT {
        families.insert(FaultFamily::Clock);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let kind = FaultKind::ClockStepped { machine: Machine::Broker, by_ms: step(&mut rng) };
        config.faults.push(Fault { at, kind });
    }
}

/// Forwards or backwards by up to a minute.
fn step(rng: &mut Rng) -> i64 {
    i64::try_from(rng.within(0..=120_000)).unwrap_or_default() - 60_000
}

/// A vehicle or the broker stands still for a while.
fn draw_standstill(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "standstill");
    let vehicles: Vec<&VehicleId> = config.plant.vehicles.keys().collect();
    if rng.within(0..=99) < STANDSTILL_PERCENT
        && let Some(vehicle) = one_of(&mut rng, &vehicles).map(|it| (*it).clone())
    {
        families.insert(FaultFamily::Pause);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        let kind = if rng.within(0..=2) == 0 {
            FaultKind::BrokerPaused { for_ms: Millis(rng.within(500..=15_000)) }
        } else {
            let for_ms = Millis(rng.within(500..=FROZEN_MAX.0));
            FaultKind::Plant(PlantTrouble::VehicleFrozen { vehicle, for_ms })
        };
        config.faults.push(Fault { at, kind });
    }
}

/// A site of two lifts may have a gateway for each.
fn gateways(seed: u64, lifts: u8) -> u8 {
    let count = Rng::new(seed, "gateways").within(1..=u64::from(lifts));
    u8::try_from(count).unwrap_or(1)
}

/// The words of nodes to gateways may be lost, doubled or late.
fn draw_beats(seed: u64, span: Millis, config: &mut WorldConfig, families: &mut BTreeSet<FaultFamily>) {
    let mut rng = Rng::new(seed, "beats");
    if rng.within(0..=99) < BEATS_PERCENT {
        families.insert(FaultFamily::Road);
        let at = Millis(rng.within(1000..=span.0.max(1000)));
        config.faults.push(Fault { at, kind: road_trouble(&mut rng, Road::GatewayBeat) });
    }
}

fn orders(rng: &mut Rng, floors: u8, span: Millis) -> Result<Vec<PlannedOrder>, InvalidName> {
    let mut orders = Vec::new();
    for _ in 0..rng.within(1..=6) {
        let at = Millis(rng.within(3000..=span.0.max(3000)));
        let from = rng.within(1..=u64::from(floors));
        let to = (from + rng.within(1..=u64::from(floors) - 1) - 1) % u64::from(floors) + 1;
        let station = |n: u64| StationId::try_new(&format!("S{n}"));
        orders.push(PlannedOrder { at, from: station(from)?, to: station(to)?, withdrawn_after: None });
    }
    Ok(orders)
}

fn draw_withdrawals(seed: u64, orders: &mut [PlannedOrder]) {
    let mut rng = Rng::new(seed, "withdrawals");
    for order in orders {
        let after = Millis(rng.within(0..=WITHDRAWN_AFTER_MAX_MS));
        order.withdrawn_after = (rng.within(0..=99) < WITHDRAWN_PERCENT).then_some(after);
    }
}

fn fault(rng: &mut Rng, family: FaultFamily, config: &WorldConfig) -> Result<FaultKind, InvalidName> {
    let plant = &config.plant;
    let node = match one_of(rng, &config.nodes) {
        Some(node) => node.clone(),
        None => NodeId::try_new("A")?,
    };
    // Nothing is drawn where there is no choice: what a seed drew before there were two stays as it was.
    let gateway = match plant.gateways.as_slice() {
        [only] => Some(only),
        several => one_of(rng, several),
    };
    let gateway = gateway.cloned().map_or_else(|| GatewayId::try_new("G1"), Ok)?;
    Ok(match family {
        FaultFamily::Pause if rng.within(0..=2) == 0 => {
            FaultKind::GatewayPaused { gateway, for_ms: Millis(rng.within(500..=20_000)) }
        }
        FaultFamily::Pause => FaultKind::NodePaused { node, for_ms: Millis(rng.within(500..=40_000)) },
        FaultFamily::Restart => restart(rng, plant, node, gateway),
        FaultFamily::Clock => {
            let machine = match rng.within(0..=2) {
                0 => Machine::Node(node),
                1 => Machine::Gateway(gateway),
                _ => Machine::Store,
            };
            FaultKind::ClockStepped { machine, by_ms: step(rng) }
        }
        FaultFamily::Store => FaultKind::Store(match rng.within(0..=3) {
            0 => StoreFault::Stopped { for_ms: Millis(rng.within(500..=40_000)) },
            1 => StoreFault::Partitioned { node, for_ms: Millis(rng.within(500..=40_000)) },
            2 => StoreFault::Emptied,
            _ => StoreFault::OldCopyPromoted,
        }),
        FaultFamily::Ledger => FaultKind::LedgerAway { for_ms: Millis(rng.within(200..=20_000)) },
        FaultFamily::Road => road(rng),
        FaultFamily::Radio => radio(rng, plant),
        FaultFamily::Plc => plc(rng, plant),
        FaultFamily::Door => door(rng, plant),
    })
}

fn door(rng: &mut Rng, plant: &Plant) -> FaultKind {
    let (by_ms, for_ms) = (Millis(rng.within(500..=3000)), Millis(rng.within(10_000..=120_000)));
    let vehicles: Vec<&VehicleId> = plant.vehicles.keys().collect();
    if rng.within(0..=3) == 0
        && let Some(vehicle) = one_of(rng, &vehicles)
    {
        let vehicle = (*vehicle).clone();
        return FaultKind::Plant(PlantTrouble::VehicleSensorLate { vehicle, by_ms, for_ms });
    }
    FaultKind::Plant(lift_trouble(plant, rng, |rng, _| match rng.within(0..=3) {
        0 => LiftTrouble::DoorStuck { for_ms: Millis(rng.within(1000..=30_000)) },
        1 => LiftTrouble::SillBlocked { for_ms: Millis(rng.within(1000..=30_000)) },
        2 => LiftTrouble::SensorBlind { for_ms: Millis(rng.within(1000..=60_000)) },
        _ => LiftTrouble::SensorLate { by_ms, for_ms },
    }))
}

fn restart(rng: &mut Rng, plant: &Plant, node: NodeId, gateway: GatewayId) -> FaultKind {
    match rng.within(0..=4) {
        4 => {
            FaultKind::PlantAway { for_ms: Millis(rng.within(500..=15_000)), killed: rng.within(0..=1) == 0 }
        }
        3 => FaultKind::NodeStopped { node, for_ms: Millis(rng.within(100..=15_000)) },
        0 => FaultKind::NodeKilled { node, for_ms: Millis(rng.within(100..=15_000)) },
        1 => FaultKind::GatewayKilled { gateway, for_ms: Millis(rng.within(100..=5000)) },
        _ => {
            let vehicles: Vec<&VehicleId> = plant.vehicles.keys().collect();
            match one_of(rng, &vehicles) {
                Some(vehicle) => {
                    FaultKind::Plant(PlantTrouble::VehicleRestarted { vehicle: (*vehicle).clone() })
                }
                None => FaultKind::NodeKilled { node, for_ms: Millis(1000) },
            }
        }
    }
}

fn road(rng: &mut Rng) -> FaultKind {
    if rng.within(0..=5) == 0 {
        return FaultKind::BrokerAway {
            for_ms: Millis(rng.within(500..=20_000)),
            forgets: rng.within(0..=1) == 0,
        };
    }
    let roads = [
        Road::Command,
        Road::Outcome,
        Road::Status,
        Road::VehicleCommand,
        Road::VehicleAnswer,
        Road::VehicleState,
        Road::Beat,
        Road::Store,
        Road::Ledger,
    ];
    let road = one_of(rng, &roads).copied().unwrap_or(Road::Command);
    road_trouble(rng, road)
}

fn road_trouble(rng: &mut Rng, road: Road) -> FaultKind {
    // What else the road to the ledger suffers is drawn by itself.
    let effect = match rng.within(0..=2) {
        0 if road != Road::Ledger => RoadEffect::Drop,
        1 if road != Road::Ledger => RoadEffect::Duplicate { after_ms: Millis(rng.within(1..=8000)) },
        _ => RoadEffect::Delay { by_ms: Millis(rng.within(10..=6000)) },
    };
    FaultKind::Road {
        road,
        effect,
        permille: u16::try_from(rng.within(50..=1000)).unwrap_or(1000),
        for_ms: Millis(rng.within(1000..=30_000)),
    }
}

fn radio(rng: &mut Rng, plant: &Plant) -> FaultKind {
    let place = match rng.within(0..=3) {
        0 => RadioPlace::Everywhere,
        1 => {
            let floors: Vec<_> = plant.floors.iter().map(|it| &it.id).collect();
            one_of(rng, &floors).map_or(RadioPlace::Everywhere, |it| RadioPlace::Floor((*it).clone()))
        }
        2 => {
            let points: Vec<&PointId> = plant.points.keys().collect();
            let some = (0..3).filter_map(|_| one_of(rng, &points).map(|it| (*it).clone()));
            RadioPlace::Points(some.collect())
        }
        _ => {
            let vehicles: Vec<&VehicleId> = plant.vehicles.keys().collect();
            one_of(rng, &vehicles).map_or(RadioPlace::Everywhere, |it| RadioPlace::Vehicle((*it).clone()))
        }
    };
    let effect = match rng.within(0..=3) {
        0 => RadioEffect::Cut,
        1 => RadioEffect::Thin { loss_permille: u16::try_from(rng.within(50..=500)).unwrap_or(300) },
        2 => RadioEffect::Interference { loss_permille: u16::try_from(rng.within(50..=500)).unwrap_or(300) },
        _ => RadioEffect::Slow { by_ms: Millis(rng.within(50..=3000)) },
    };
    FaultKind::Plant(PlantTrouble::Radio { place, effect, for_ms: Millis(rng.within(1000..=60_000)) })
}

fn plc(rng: &mut Rng, plant: &Plant) -> FaultKind {
    if rng.within(0..=2) == 0 {
        let effect = match rng.within(0..=2) {
            0 => PlcLinkEffect::AnswerLost,
            1 => PlcLinkEffect::ClosesInWrite,
            _ => PlcLinkEffect::Down,
        };
        let lifts: Vec<&LiftId> = plant.lifts.keys().collect();
        if let Some(lift) = one_of(rng, &lifts) {
            let for_ms = Millis(rng.within(500..=20_000));
            return FaultKind::PlcLink { lift: (*lift).clone(), effect, for_ms };
        }
    }
    FaultKind::Plant(lift_trouble(plant, rng, |rng, stops| match rng.within(0..=4) {
        0 => LiftTrouble::Frozen { for_ms: Millis(rng.within(500..=10_000)) },
        1 => LiftTrouble::Slow {
            factor: u8::try_from(rng.within(2..=6)).unwrap_or(2),
            for_ms: Millis(rng.within(1000..=30_000)),
        },
        2 => LiftTrouble::Rebooted,
        3 => LiftTrouble::CalledByPeople { stop: u16::try_from(rng.within(1..=stops)).unwrap_or(1) },
        _ => {
            let modes = [LiftMode::Human, LiftMode::Fire, LiftMode::Maintenance, LiftMode::Emergency];
            let mode = one_of(rng, &modes).copied().unwrap_or(LiftMode::Maintenance);
            LiftTrouble::Mode { mode, for_ms: Millis(rng.within(2000..=40_000)) }
        }
    }))
}

fn lift_trouble(
    plant: &Plant,
    rng: &mut Rng,
    draw: impl FnOnce(&mut Rng, u64) -> LiftTrouble,
) -> PlantTrouble {
    let lifts: Vec<_> = plant.lifts.iter().collect();
    match one_of(rng, &lifts) {
        Some((id, lift)) => {
            let stops = u64::try_from(lift.stops.len()).unwrap_or(1).max(1);
            PlantTrouble::Lift { lift: (*id).clone(), trouble: draw(rng, stops) }
        }
        None => PlantTrouble::Radio {
            place: RadioPlace::Everywhere,
            effect: RadioEffect::Cut,
            for_ms: Millis::seconds(1),
        },
    }
}

fn one_of<'a, T>(rng: &mut Rng, from: &'a [T]) -> Option<&'a T> {
    let last = u64::try_from(from.len()).ok()?.checked_sub(1)?;
    from.get(usize::try_from(rng.within(0..=last)).ok()?)
}
