//! A script being played: waits for a moment, lets something go wrong, goes on.

use kernel::ids::{GatewayId, LiftId, NodeId, VehicleId};
use kernel::lift::LiftStatus;
use kernel::time::Millis;

use super::script::find;
use crate::checkers::{Checker, Violation};
use crate::fault::{FaultKind, Machine, PlcLinkEffect, Road, RoadEffect, StoreFault};
use crate::lift::LiftTrouble;
use crate::plant::PlantTrouble;
use crate::vehicle::{RadioEffect, RadioPlace, VehicleModel};
use crate::world::World;

/// A moment that does not come within this time of the site does not come.
const PATIENCE: Millis = Millis::seconds(300);

/// A world in the hands of a script. Scripts speak of the first lift, its gateway, and node A.
#[derive(Clone, Debug)]
pub struct Play {
    world: World,
    /// Lines of the log that were looked at.
    seen: usize,
    /// Stop when this checker reports; any, when none is named.
    looked_for: Option<Checker>,
    missed: Option<String>,
}

impl Play {
    pub(super) fn new(world: World, looked_for: Option<Checker>) -> Self {
        Self { world, seen: 0, looked_for, missed: None }
    }

    /// Goes on until the log shows a line like this, after those that were looked at. A pattern is text, or pieces of
    /// text in their order with ` … ` between them. A line that never comes makes the play void.
    pub fn until(&mut self, pattern: &'static str) {
        let end = self.world.elapsed() + PATIENCE;
        while !self.is_over() {
            let fresh = self.world.log().get(self.seen..).unwrap_or_default();
            match find(fresh, pattern) {
                Some(place) => {
                    self.seen += place + 1;
                    return;
                }
                None => self.seen += fresh.len(),
            }
            if self.world.elapsed() >= end {
                self.miss(pattern);
                return;
            }
            self.world.step();
        }
    }

    /// Goes on until the plant is seen like this; the words say what was waited for.
    pub fn until_seen(&mut self, what: &'static str, holds: impl Fn(&Self) -> bool) {
        let end = self.world.elapsed() + PATIENCE;
        while !self.is_over() && !holds(self) {
            if self.world.elapsed() >= end {
                self.miss(what);
                return;
            }
            self.world.step();
        }
    }

    /// Goes on for so long; the log of that time counts as looked at.
    pub fn wait(&mut self, span: Millis) {
        let end = self.world.elapsed() + span;
        while self.world.elapsed() < end && !self.is_over() {
            self.world.step();
        }
        self.seen = self.world.log().len();
    }

    /// Goes on until the world is so old.
    pub fn until_second(&mut self, second: u64) {
        let elapsed = self.world.elapsed();
        self.wait(Millis(Millis::seconds(second).0.saturating_sub(elapsed.0)));
    }

    /// Something goes wrong at the lift.
    pub fn lift_suffers(&mut self, trouble: LiftTrouble) {
        if let Some(lift) = self.lift_id() {
            self.suffer(FaultKind::Plant(PlantTrouble::Lift { lift, trouble }));
        }
    }

    /// Somebody who takes no part calls the lift.
    pub fn stray_call(&mut self, floor: &'static str) {
        self.stray(floor, false);
    }

    /// The same, in the name of the ride that the gateway knows.
    pub fn stray_call_for_the_ride(&mut self, floor: &'static str) {
        self.stray(floor, true);
    }

    fn stray(&mut self, floor: &'static str, poses: bool) {
        let floors = &self.world.plant().floors;
        let floor = floors.iter().map(|it| it.id.clone()).find(|it| it.as_str() == floor);
        if let Some((lift, floor)) = self.lift_id().zip(floor) {
            self.suffer(FaultKind::StrayCall { lift, floor, poses });
        }
    }

    /// The lease store is gone.
    pub fn store_down(&mut self, for_ms: Millis) {
        self.suffer(FaultKind::Store(StoreFault::Stopped { for_ms }));
    }

    /// Node A does not reach the lease store.
    pub fn cut_node_off_store(&mut self, for_ms: Millis) {
        if let Some(node) = Self::node_id() {
            self.suffer(FaultKind::Store(StoreFault::Partitioned { node, for_ms }));
        }
    }

    /// Node A and the ledger do not reach each other.
    pub fn cut_node_off_ledger(&mut self, for_ms: Millis) {
        if let Some(node) = Self::node_id() {
            self.suffer(FaultKind::LedgerCutOff { node, for_ms });
        }
    }

    /// The connection to the lift's PLC suffers.
    pub fn plc_link(&mut self, effect: PlcLinkEffect, for_ms: Millis) {
        if let Some(lift) = self.lift_id() {
            self.suffer(FaultKind::PlcLink { lift, effect, for_ms });
        }
    }

    /// All messages of a road suffer.
    pub fn road(&mut self, road: Road, effect: RoadEffect, for_ms: Millis) {
        self.suffer(FaultKind::Road { road, effect, permille: 1000, for_ms });
    }

    /// A vehicle is out of reach.
    pub fn cut_off(&mut self, vehicle: &'static str, for_ms: Millis) {
        if let Some(id) = self.vehicle_id(vehicle) {
            self.cut(RadioPlace::Vehicle(id), for_ms);
        }
    }

    /// Every vehicle is out of reach.
    pub fn cut_off_everywhere(&mut self, for_ms: Millis) {
        self.cut(RadioPlace::Everywhere, for_ms);
    }

    /// Vehicles on each floor are out of reach.
    pub fn cut_off_floors(&mut self, for_ms: Millis) {
        let floors: Vec<_> = self.world.plant().floors.iter().map(|it| it.id.clone()).collect();
        for floor in floors {
            self.cut(RadioPlace::Floor(floor), for_ms);
        }
    }

    /// The broker starts again, with what it kept and retained.
    pub fn restart_broker(&mut self, for_ms: Millis) {
        self.suffer(FaultKind::BrokerAway { for_ms, forgets: false });
    }

    /// A vehicle's controller starts again.
    pub fn restart_vehicle(&mut self, vehicle: &'static str) {
        if let Some(vehicle) = self.vehicle_id(vehicle) {
            self.suffer(FaultKind::Plant(PlantTrouble::VehicleRestarted { vehicle }));
        }
    }

    /// The gateway dies and starts again.
    pub fn kill_gateway(&mut self, for_ms: Millis) {
        if let Some(gateway) = self.gateway_id() {
            self.suffer(FaultKind::GatewayKilled { gateway, for_ms });
        }
    }

    /// The gateway and the broker do not reach each other.
    pub fn cut_gateway_off(&mut self, for_ms: Millis) {
        if let Some(gateway) = self.gateway_id() {
            self.suffer(FaultKind::GatewayCutOff { gateway, for_ms });
        }
    }

    /// Node A stands still.
    pub fn pause_node(&mut self, for_ms: Millis) {
        if let Some(node) = Self::node_id() {
            self.suffer(FaultKind::NodePaused { node, for_ms });
        }
    }

    /// Node A dies and starts again.
    pub fn kill_node(&mut self, for_ms: Millis) {
        if let Some(node) = Self::node_id() {
            self.suffer(FaultKind::NodeKilled { node, for_ms });
        }
    }

    /// The wall clocks of node A, the gateway and the lease store are set.
    pub fn step_clocks(&mut self, node_ms: i64, gateway_ms: i64, store_ms: i64) {
        let machines = [
            (Self::node_id().map(Machine::Node), node_ms),
            (self.gateway_id().map(Machine::Gateway), gateway_ms),
            (Some(Machine::Store), store_ms),
        ];
        for (machine, by_ms) in machines {
            if let Some(machine) = machine {
                self.suffer(FaultKind::ClockStepped { machine, by_ms });
            }
        }
    }

    /// The lease store comes back empty.
    pub fn empty_store(&mut self) {
        self.suffer(FaultKind::Store(StoreFault::Emptied));
    }

    /// A copy of the lease store takes its place that has not seen its last grants.
    pub fn promote_old_copy(&mut self) {
        self.suffer(FaultKind::Store(StoreFault::OldCopyPromoted));
    }

    /// The WMS takes back the order with this number, from 0.
    pub fn take_back(&mut self, planned: usize) {
        if !self.is_over() {
            self.world.take_back(planned);
        }
    }

    /// What the lift's PLC shows.
    pub fn lift(&self) -> Option<LiftStatus> {
        self.world.sim().lift_status(&self.lift_id()?)
    }

    /// A vehicle as it is.
    pub fn vehicle(&self, name: &str) -> Option<&VehicleModel> {
        self.world.sim().vehicle(&self.vehicle_id(name)?)
    }

    /// Rides that wait for the lift or hold it, by node A.
    pub fn rides(&self) -> usize {
        let control = Self::node_id().and_then(|node| self.world.control(&node));
        control.map_or(0, |it| it.book().sessions.len())
    }

    /// The log so far.
    pub fn log(&self) -> &[String] {
        self.world.log()
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    pub(super) fn missed(&self) -> Option<&str> {
        self.missed.as_deref()
    }

    /// What was looked_for, or anything when nothing special was.
    pub(super) fn caught(&self) -> Option<&Violation> {
        let mut found = self.world.violations().iter();
        found.find(|it| self.looked_for.is_none_or(|checker| it.checker == checker))
    }

    /// Runs on until every order is over, then compares what can be compared. An order that stands with an alarm may
    /// still go on, and is given its time.
    pub(super) fn finish(&mut self, within: Millis) {
        let end = self.world.elapsed() + within;
        while !self.is_over() && !self.world.ending().is_over() && self.world.elapsed() < end {
            self.wait(Millis::seconds(1));
        }
        if !self.is_over() {
            self.world.finish(Millis(0));
        }
    }

    fn is_over(&self) -> bool {
        self.missed.is_some() || self.caught().is_some()
    }

    fn suffer(&mut self, kind: FaultKind) {
        if !self.is_over() {
            self.world.inject(kind);
        }
    }

    fn cut(&mut self, place: RadioPlace, for_ms: Millis) {
        let effect = RadioEffect::Cut;
        self.suffer(FaultKind::Plant(PlantTrouble::Radio { place, effect, for_ms }));
    }

    fn miss(&mut self, what: &str) {
        self.missed.get_or_insert(format!("it never came to this: {what}"));
    }

    fn lift_id(&self) -> Option<LiftId> {
        self.world.plant().lifts.keys().next().cloned()
    }

    fn gateway_id(&self) -> Option<GatewayId> {
        self.world.plant().gateways.first().cloned()
    }

    fn vehicle_id(&self, name: &str) -> Option<VehicleId> {
        self.world.plant().vehicles.keys().find(|it| it.as_str() == name).cloned()
    }

    fn node_id() -> Option<NodeId> {
        NodeId::try_new("A").ok()
    }
}
