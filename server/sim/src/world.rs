//! Whole sites in virtual time: the control nodes and gateways that ship, the simulated plant, and models of what
//! stands between them — ledger, lease store, broker, radio, PLC connections — under faults that are data.
//!
//! One thread, no sleeping: [`World::step`] goes to the earliest moment at which anything is due. One seed gives one
//! run, to the byte of its log. The checkers watch from outside.

mod config;
mod coverage;
mod deliver;
mod edge;
mod faults;
mod fuse;
mod leases;
mod ledger;
mod ledger_road;
mod machine;
mod perform;
mod plant_away;
mod post;
mod store;
mod verdict;
mod withdraw;

use std::collections::{BTreeMap, VecDeque};

use kernel::control::{Control, NodeConfig};
use kernel::gateway::{Gateway, Marks};
use kernel::ids::{LiftId, NodeId, VehicleId};
use kernel::plant::Plant;
use kernel::safeguard::Safeguard;
use kernel::time::{Millis, Mono};
use kernel::wire::ledger::Entry;
use kernel::wire::vehicle::VehicleCommand;

pub use config::{PlannedOrder, WorldConfig};
pub use coverage::Coverage;
pub use verdict::Ending;
pub use withdraw::{Stage, Withdrawals};

use crate::checkers::{Checkers, Violation};
use crate::fault::{PlcLinkEffect, Road, RoadEffect};
use crate::kept::KeptPlant;
use crate::plant::{SimEvent, SimPlant, SimSeed};
use crate::rng::Rng;
use ledger::SharedLedger;
use machine::{Clock, Fuse, GatewayMachine, NodeMachine};
use plant_away::plant_disk;
use post::{Parcel, Post};
pub use store::LeaseLine;
use store::LeaseStore;
use withdraw::Withdrawing;

/// The world's clock at its beginning.
const START: Mono = Mono(1000);
/// A vehicle's client connects so long after its radio is up.
const CONNECT_TIME: Millis = Millis(50);

/// A vehicle's session with the broker.
#[derive(Clone, Debug, Default)]
struct Session {
    connected: bool,
    /// Rises by each connection: what was on its way over an earlier one is lost.
    connection: u32,
    /// Kept while it is away, each until its validity ends by the broker's clock.
    kept: VecDeque<(Mono, VehicleCommand)>,
    /// TCP keeps the order: nothing reaches it before this, and nothing comes from it before that.
    down_free: Mono,
    up_free: Mono,
}

/// Messages of one road suffer, until a moment.
#[derive(Clone, Copy, Debug)]
struct RoadTrouble {
    road: Road,
    effect: RoadEffect,
    permille: u16,
    until: Mono,
}

/// An order as the WMS has it.
#[derive(Clone, Debug)]
struct Placing {
    planned: PlannedOrder,
    accepted: Option<kernel::ids::OrderId>,
    /// How often it was asked for.
    n_asked: usize,
    withdrawing: Withdrawing,
}

/// A site in virtual time.
#[derive(Clone, Debug)]
pub struct World {
    config: WorldConfig,
    now: Mono,
    nodes: Vec<NodeMachine>,
    gateways: Vec<GatewayMachine>,
    sim: SimPlant,
    /// The plant's process is gone.
    plant_away: bool,
    /// What the plant made durable, in a world that kills it.
    plant_disk: Option<KeptPlant>,
    ledger: SharedLedger,
    ledger_away: Option<Mono>,
    store: LeaseStore,
    /// When the next waiter at the store looks.
    store_looks_at: Option<Mono>,
    post: Post,
    sessions: BTreeMap<VehicleId, Session>,
    /// Whether a vehicle is connected, as the broker retained it last.
    retained: BTreeMap<VehicleId, bool>,
    broker_away: Option<Mono>,
    /// Rises when it forgets: what an earlier life of it had in hand is gone.
    broker_life: u32,
    /// It stands still until then.
    broker_paused: Option<Mono>,
    /// How far its wall clock was set, all in all.
    broker_step_ms: i64,
    roads: Vec<RoadTrouble>,
    plc_links: BTreeMap<LiftId, (PlcLinkEffect, Mono)>,
    /// Connections that a PLC closed, until they are open again.
    plc_closed: BTreeMap<LiftId, Mono>,
    orders: Vec<Placing>,
    n_withdrawals: u64,
    withdrawals: Withdrawals,
    rng: Rng,
    checkers: Checkers,
    coverage: Coverage,
    n_events: u64,
    log: Vec<String>,
}

impl World {
    /// A world at its beginning: cars at their lowest stops, vehicles at home, nodes and gateways starting.
    pub fn new(config: WorldConfig) -> Self {
        let mut sim = SimPlant::new(&config.plant, SimSeed { seed: config.seed, boot: 0 }, START);
        sim.set_plcs(config.intake, config.scan);
        sim.take_safeguards(config.safeguards);
        let orders = config
            .orders
            .iter()
            .map(|it| Placing {
                planned: it.clone(),
                accepted: None,
                n_asked: 0,
                withdrawing: Withdrawing::default(),
            })
            .collect();
        let mut world = Self {
            now: START,
            nodes: Vec::new(),
            gateways: Vec::new(),
            sim,
            plant_away: false,
            plant_disk: plant_disk(&config),
            ledger: SharedLedger::default(),
            ledger_away: None,
            store: LeaseStore::under(config.safeguards),
            store_looks_at: None,
            post: Post::default(),
            sessions: config.plant.vehicles.keys().map(|id| (id.clone(), Session::default())).collect(),
            retained: BTreeMap::new(),
            broker_away: None,
            broker_life: 0,
            broker_paused: None,
            broker_step_ms: 0,
            roads: Vec::new(),
            plc_links: BTreeMap::new(),
            plc_closed: BTreeMap::new(),
            orders,
            n_withdrawals: 0,
            withdrawals: Withdrawals::default(),
            rng: Rng::new(config.seed, "world"),
            checkers: Checkers::new(&config.plant),
            coverage: Coverage::default(),
            n_events: 0,
            log: Vec::new(),
            config,
        };
        world.set_up_machines();
        world.plan();
        world
    }

    fn set_up_machines(&mut self) {
        let steady = self.config.safeguards.holds(Safeguard::SteadyClock);
        for id in self.config.nodes.clone() {
            let clock = self.draw_clock(steady);
            self.nodes.push(NodeMachine {
                id,
                clock,
                control: None,
                cut_off: None,
                ledger_cut: None,
                gone: false,
                life: 0,
                n_followed: 0,
                ledger_free: START,
                admitted: BTreeMap::new(),
                asks_ledger: false,
                leaves_for: None,
                fuse: Fuse::default(),
            });
            self.start_node(self.nodes.len() - 1);
        }
        for id in self.config.plant.gateways.clone() {
            let clock = self.draw_clock(steady);
            let (marks, fuse) = (Marks::default(), Fuse::default());
            let (told, gateway, cut_off) = (None, None, None);
            self.gateways.push(GatewayMachine { id, clock, marks, told, gateway, cut_off, life: 0, fuse });
            self.start_gateway(self.gateways.len() - 1);
        }
    }

    /// No two machines were switched on together, and no two wall clocks agree.
    fn draw_clock(&mut self, steady: bool) -> Clock {
        let origin = self.rng.within(0..=1_000_000);
        let offset = i64::try_from(self.rng.within(0..=4000)).unwrap_or_default() - 2000;
        Clock::new(origin, offset, steady)
    }

    fn plan(&mut self) {
        for lift in self.config.plant.lifts.keys().cloned().collect::<Vec<_>>() {
            self.post.send(START, Parcel::Poll { lift });
        }
        for vehicle in self.config.plant.vehicles.keys().cloned().collect::<Vec<_>>() {
            self.post.send(START + CONNECT_TIME, Parcel::Connect { vehicle });
        }
        for (planned, placing) in self.orders.iter_mut().enumerate() {
            self.post.send(START + placing.planned.at, Parcel::Order { planned });
            if let Some(after) = placing.planned.withdrawn_after {
                placing.withdrawing.wanted = true;
                self.post.send(START + placing.planned.at + after, Parcel::TakeBack { planned });
            }
        }
        for (idx, fault) in self.config.faults.iter().enumerate() {
            self.post.send(START + fault.at, Parcel::Fault { idx });
        }
        self.post.send(START + Millis::seconds(1), Parcel::Second);
    }

    /// Goes to the earliest moment at which anything is due, and lets that happen.
    pub fn step(&mut self) {
        let machines = self.nodes.iter().filter_map(|it| {
            let (due, _) = it.control.as_ref()?.poll_timeout()?;
            Some(it.clock.due(due))
        });
        let gateways = self.gateways.iter().filter_map(|it| {
            let (due, _) = it.gateway.as_ref()?.poll_timeout()?;
            Some(it.clock.due(due))
        });
        let plant = self.sim.poll_timeout().map(|(at, _)| at).filter(|_| !self.plant_away);
        let due = machines.chain(gateways).chain(plant).chain(self.post.due()).min();
        self.now = due.map_or(self.now, |due| self.now.max(due));
        if let Some((place, parcel)) = self.post.take(self.now) {
            match self.pause_of_taker(&parcel) {
                Some(until) => self.post.hold(until, place, parcel),
                None => {
                    self.n_events += 1;
                    self.deliver(place, parcel);
                }
            }
        }
        self.run_timeouts();
        self.drain_plant();
    }

    /// Runs for so long, or until a safeguard was seen to fail.
    pub fn run_for(&mut self, span: Millis) {
        let end = self.now + span;
        while self.now < end && self.checkers.violations().is_empty() {
            self.step();
        }
    }

    /// Runs until the predicate holds; false when it does not within the bound.
    pub fn run_until(&mut self, bound: Millis, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + bound;
        while !holds(self) {
            if self.now >= end {
                return false;
            }
            self.step();
        }
        true
    }

    /// Lets a fault happen now.
    pub fn inject(&mut self, kind: crate::fault::FaultKind) {
        self.suffer(&kind);
        self.drain_plant();
    }

    /// How old this world was at a moment.
    pub fn age_at(&self, moment: Mono) -> Millis {
        moment.since(START)
    }

    /// How long this world has run.
    pub fn elapsed(&self) -> Millis {
        self.now.since(START)
    }

    /// The site.
    pub fn plant(&self) -> &Plant {
        &self.config.plant
    }

    /// The simulated plant, as it is.
    pub fn sim(&self) -> &SimPlant {
        &self.sim
    }

    /// Its loads, for a test that moves them once more.
    #[cfg(test)]
    pub(crate) fn loads_mut(&mut self) -> &mut crate::loads::LoadBook {
        self.sim.loads_mut()
    }

    /// How the requests for leases went that the store answered.
    pub fn lease_line(&self) -> LeaseLine {
        self.store.line()
    }

    /// People have come to a lift that stopped in emergency, and let it go on.
    pub fn release_lift(&mut self, lift: &LiftId) {
        self.note(|| format!("people release {lift}"));
        self.sim.reset_lift(lift);
    }

    /// The ledger from its first entry.
    pub fn ledger(&self) -> &[Entry] {
        self.ledger.entries()
    }

    /// A node, while it is up.
    pub fn control(&self, node: &NodeId) -> Option<&Control> {
        self.nodes.iter().find(|it| it.id == *node)?.control.as_ref()
    }

    /// What the checkers found.
    pub fn violations(&self) -> &[Violation] {
        self.checkers.violations()
    }

    /// What was measured of radio that went and came.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Lines of what happened, if the world keeps a log.
    pub fn log(&self) -> &[String] {
        &self.log
    }

    /// Parcels delivered and deadlines run so far.
    pub fn events(&self) -> u64 {
        self.n_events
    }

    /// A node looks around now, so that what it shows is of this moment.
    fn look_around(&mut self, idx: usize) {
        let now = self.now;
        if let Some(node) = self.nodes.get_mut(idx)
            && let Some(control) = node.control.as_mut()
        {
            control.handle_timeout(node.clock.stamp(now));
            self.drain_node(idx);
        }
    }

    fn run_timeouts(&mut self) {
        for idx in 0..self.nodes.len() {
            let now = self.now;
            let Some(node) = self.nodes.get_mut(idx) else { continue };
            let Some(control) = node.control.as_mut() else { continue };
            if control.poll_timeout().is_some_and(|(at, _)| node.clock.due(at) <= now) {
                control.handle_timeout(node.clock.stamp(now));
                self.n_events += 1;
                self.drain_node(idx);
            }
        }
        for idx in 0..self.gateways.len() {
            let now = self.now;
            let Some(machine) = self.gateways.get_mut(idx) else { continue };
            let Some(gateway) = machine.gateway.as_mut() else { continue };
            if gateway.poll_timeout().is_some_and(|(at, _)| machine.clock.due(at) <= now) {
                gateway.handle_timeout(machine.clock.stamp(now));
                self.n_events += 1;
                self.drain_gateway(idx);
            }
        }
        if !self.plant_away && self.sim.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            self.n_events += 1;
            self.sim.handle(SimEvent::Tick, self.now);
        }
    }

    fn start_node(&mut self, idx: usize) {
        let (now, plant, safeguards) = (self.now, self.config.plant.clone(), self.config.safeguards);
        let Some(node) = self.nodes.get_mut(idx).filter(|it| !it.gone) else { return };
        let mut control =
            Control::new(NodeConfig { node: node.id.clone(), drill: false }, plant).under(safeguards);
        let misfit = self.ledger.entries().iter().find_map(|entry| control.restore(entry).err());
        control.start(node.clock.stamp(now));
        node.life += 1;
        node.n_followed = self.ledger.n_batches();
        node.ledger_free = now;
        node.admitted.clear();
        node.asks_ledger = false;
        node.leaves_for = None;
        node.control = Some(control);
        let id = node.id.clone();
        self.note(|| format!("node {id} starts"));
        self.checkers.node_started(now, &id, misfit);
        self.tell_broker(idx);
        self.drain_node(idx);
    }

    fn start_gateway(&mut self, idx: usize) {
        let (now, safeguards) = (self.now, self.config.safeguards);
        let Some(machine) = self.gateways.get_mut(idx) else { return };
        let stamp = machine.clock.stamp(now);
        let gateway = Gateway::new(machine.id.clone(), &self.config.plant, machine.marks.clone(), stamp);
        machine.life += 1;
        machine.gateway = Some(gateway.under(safeguards));
        let id = machine.id.clone();
        self.checkers.gateway_started(&id);
        self.note(|| format!("gateway {id} starts"));
        self.drain_gateway(idx);
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.config.logged {
            let elapsed = self.elapsed().0;
            self.log.push(format!("{:>5}.{:03} {}", elapsed / 1000, elapsed % 1000, line()));
        }
    }
}
