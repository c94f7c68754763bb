//! Checkers: they watch a world from outside and believe nobody. Each holds one promise and has a name.

mod arbiter;
mod commands;
mod foreign;
mod orders;
mod owners;
mod roads;
mod screens;
mod turns;
mod withdrawals;

use std::collections::BTreeMap;
use std::fmt;

use kernel::control::{Control, RequestId, TakenBack};
use kernel::gateway::{CommandBlock, WriteResult};
use kernel::ids::{CommandId, GatewayId, LiftId, NodeId, OrderId, VehicleId};
use kernel::lease::{FencingToken, LeaseNonce, LeaseRequest};
use kernel::lift::LiftStatus;
use kernel::plant::Plant;
use kernel::time::Mono;
use kernel::wire::gateway::{Arbitration, ControlBeat, LiftCommand, Outcome};
use kernel::wire::ledger::Entry;
use kernel::wire::live::Change;
use kernel::wire::rest::WithdrawalRefusal;
use kernel::wire::vehicle::VehicleCommand;

use crate::fault::FaultKind;
use crate::plant::SimPlant;
use arbiter::ArbiterWatch;
use commands::LiftWatch;
use foreign::ForeignWatch;
use orders::LineWatch;
pub(crate) use orders::handled;
use owners::OwnerWatch;
use roads::VehicleWatch;
use screens::Screen;
use turns::TurnWatch;
use withdrawals::WithdrawalWatch;
pub(crate) use withdrawals::unfollowed_wish;

/// A promise that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checker {
    /// Never more vehicles in a car than it holds.
    CarCapacity,
    /// No contradictory commands in a scan, and none against the session in progress (A1).
    NoContradiction,
    /// Commands turn no door round three times within 40 s.
    DoorReversals,
    /// Each load is moved exactly once (C16).
    LoadMovedOnce,
    /// Nothing is executed under a stale token or generation, or on a stale view (A7, A10, C10).
    NothingStale,
    /// A grant outranks whatever its gateway has written for another request (A7).
    TokensRise,
    /// The lease store frees a lift for its holder alone, by that one's own request and token (A4).
    NobodyFreesAnothers,
    /// Nothing is sent to a PLC that stands still, or to a lift that does not serve vehicles (A16).
    NothingOutOfService,
    /// Nothing is executed twice (A11, C6).
    NothingTwice,
    /// Nothing is sent while what an earlier command did is unknown (A12).
    NothingWhileVerifying,
    /// What is said of a command is what became of it (A9).
    VerdictTrue,
    /// Every order ends, or stands with an alarm, within its bound.
    OrdersEnd,
    /// The ledger replayed is what its nodes have in memory.
    ReplayEqualsMemory,
    /// What was shown bit by bit is what is shown at once.
    DeltasEqualState,
    /// No waiter is overtaken more than three times.
    NobodyOvertaken,
    /// A lift is one ride's at a time, and nobody's before its car is empty (B1).
    OneRide,
    /// A lift has one arbiter: its gateway while no node reaches the lease store, else that; and what is written was
    /// decided under it (A14, A15).
    OneArbiter,
    /// An idempotency key makes one order, a claim's generation is one node's, a vehicle has one open task (C16).
    OneOwner,
    /// A movement that nobody commanded is told, where nothing else is wrong (A16).
    ForeignTold,
    /// No machine panics, whatever happens to it.
    NothingPanics,
    /// What is withdrawn moves no load, stands in no line, was asked for, and is told once as it is; what is to be
    /// withdrawn after a ride gets no further command (B7).
    WithdrawnIsOver,
}

impl Checker {
    /// Its name in scripts and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::CarCapacity => "car_capacity",
            Self::NoContradiction => "no_contradiction",
            Self::DoorReversals => "door_reversals",
            Self::LoadMovedOnce => "load_moved_once",
            Self::NothingStale => "nothing_stale",
            Self::TokensRise => "tokens_rise",
            Self::NobodyFreesAnothers => "nobody_frees_anothers",
            Self::NothingOutOfService => "nothing_out_of_service",
            Self::NothingTwice => "nothing_twice",
            Self::NothingWhileVerifying => "nothing_while_verifying",
            Self::VerdictTrue => "verdict_true",
            Self::OrdersEnd => "orders_end",
            Self::ReplayEqualsMemory => "replay_equals_memory",
            Self::DeltasEqualState => "deltas_equal_state",
            Self::NobodyOvertaken => "nobody_overtaken",
            Self::OneRide => "one_ride",
            Self::OneArbiter => "one_arbiter",
            Self::OneOwner => "one_owner",
            Self::ForeignTold => "foreign_told",
            Self::NothingPanics => "nothing_panics",
            Self::WithdrawnIsOver => "withdrawn_is_over",
        }
    }
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub checker: Checker,
    /// When, by the world's clock.
    pub at: Mono,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.checker.name(), self.detail)
    }
}

/// By whom a lease is held or given back: node, request, token.
pub(crate) type LeaseRank = (NodeId, LeaseNonce, FencingToken);

/// More than these say nothing new.
const VIOLATIONS_MAX: usize = 32;

/// All of them.
#[derive(Clone, Debug)]
pub struct Checkers {
    plant: Plant,
    lifts: BTreeMap<LiftId, LiftWatch>,
    vehicles: BTreeMap<VehicleId, VehicleWatch>,
    line: LineWatch,
    turns: TurnWatch,
    owners: OwnerWatch,
    arbiters: ArbiterWatch,
    withdrawals: WithdrawalWatch,
    foreign: ForeignWatch,
    screens: BTreeMap<usize, Screen>,
    violations: Vec<Violation>,
}

impl Checkers {
    /// Nothing seen yet.
    pub fn new(plant: &Plant) -> Self {
        Self {
            lifts: plant.lifts.keys().map(|id| (id.clone(), LiftWatch::default())).collect(),
            vehicles: plant.vehicles.keys().map(|id| (id.clone(), VehicleWatch::default())).collect(),
            line: LineWatch::default(),
            turns: TurnWatch::default(),
            owners: OwnerWatch::default(),
            arbiters: ArbiterWatch::default(),
            withdrawals: WithdrawalWatch::default(),
            foreign: ForeignWatch::default(),
            screens: BTreeMap::new(),
            violations: Vec::new(),
            plant: plant.clone(),
        }
    }

    /// What was found, in order.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(crate) fn report(&mut self, checker: Checker, at: Mono, detail: String) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(Violation { checker, at, detail });
        }
    }

    /// A panic outweighs whatever was found before: it is what has to be looked at.
    pub(crate) fn panicked(&mut self, at: Mono, detail: String) {
        self.violations.insert(0, Violation { checker: Checker::NothingPanics, at, detail });
    }

    fn report_all(&mut self, at: Mono, found: impl IntoIterator<Item = (Checker, String)>) {
        for (checker, detail) in found {
            self.report(checker, at, detail);
        }
    }

    /// A gateway has started, and has read nothing yet.
    pub(crate) fn gateway_started(&mut self, gateway: &GatewayId) {
        for (id, watch) in &mut self.lifts {
            if self.plant.lifts.get(id).is_some_and(|it| it.gateway == *gateway) {
                watch.read_failed();
            }
        }
    }

    /// A node sent a command to a lift.
    pub(crate) fn lift_commanded(&mut self, now: Mono, command: &LiftCommand) {
        if let Some(watch) = self.lifts.get_mut(&command.lift) {
            watch.sent(now, command);
        }
    }

    /// The lease store granted a lift to a node that had heard before it asked what was admitted there.
    pub(crate) fn granted(
        &mut self,
        now: Mono,
        request: &LeaseRequest,
        heard: FencingToken,
        token: FencingToken,
    ) {
        let lift = &request.lift;
        let found = self.lifts.get(lift).and_then(|it| it.falls_behind(request, heard, token));
        self.report_all(now, found.map(|detail| (Checker::TokensRise, format!("{lift} {detail}"))));
        let overtaken = self.turns.served(request, now);
        self.report_all(
            now,
            overtaken.into_iter().map(|it| (Checker::NobodyOvertaken, format!("{lift}: {it}"))),
        );
    }

    /// The lease store heard a node that waits for a lift.
    pub(crate) fn waits(&mut self, lift: &LiftId, node: &NodeId, heard: Mono) {
        self.turns.heard(lift, node, heard);
    }

    /// The lease store has lost its line, or counts time anew.
    pub(crate) fn line_is_lost(&mut self) {
        self.turns.forget();
    }

    /// The lease store took a lease back from its holder, as it was asked to.
    pub(crate) fn freed(&mut self, now: Mono, lift: &LiftId, asked: &LeaseRank, holder: &LeaseRank) {
        if asked != holder {
            let detail = format!("{lift} is freed by {asked:?}, and {holder:?} holds it");
            self.report(Checker::NobodyFreesAnothers, now, detail);
        }
    }

    /// A gateway decided to write.
    pub(crate) fn gateway_writes(
        &mut self,
        now: Mono,
        lift: &LiftId,
        block: CommandBlock,
        command: Option<&CommandId>,
        arbitration: (Arbitration, u32),
    ) {
        let watch = self.lifts.get_mut(lift);
        let found = watch.map(|it| it.writes(now, block, command, arbitration)).unwrap_or_default();
        self.report_all(now, found);
    }

    /// A gateway was handed a beat.
    pub(crate) fn beat_heard(&mut self, now: Mono, gateway: &GatewayId, beat: &ControlBeat) {
        self.arbiters.heard(now, gateway, beat);
    }

    /// What a gateway has made durable says who arbitrates at a lift.
    pub(crate) fn arbitrates(
        &mut self,
        now: Mono,
        gateway: &GatewayId,
        lift: &LiftId,
        arbitration: (Arbitration, u32),
    ) {
        let found = self.arbiters.stands(now, gateway, lift, arbitration);
        self.report_all(now, found.map(|detail| (Checker::OneArbiter, detail)));
    }

    /// A block reaches a PLC.
    pub(crate) fn plc_hears(&mut self, now: Mono, lift: &LiftId, block: CommandBlock, sim: &SimPlant) {
        if let (Some(watch), Some(status)) = (self.lifts.get_mut(lift), sim.lift_status(lift)) {
            watch.reached(block, status);
        }
        let found = commands::against_the_ride(&self.plant, lift, block, sim);
        self.report_all(now, found.map(|detail| (Checker::NoContradiction, detail)));
        let found = self.lifts.get(lift).and_then(|it| it.out_of_service(now));
        self.report_all(now, found.map(|detail| (Checker::NothingOutOfService, format!("{lift} {detail}"))));
    }

    /// A PLC has scanned, or was due to; true when it shows a command that it did not show before.
    pub(crate) fn scanned(&mut self, now: Mono, lift: &LiftId, status: &LiftStatus) -> bool {
        let Some(watch) = self.lifts.get_mut(lift) else { return false };
        let took = watch.scanned(now, status);
        let found = if took { watch.ran_after_all() } else { None };
        self.report_all(now, found.map(|detail| (Checker::VerdictTrue, detail)));
        took
    }

    /// A gateway was told how a write went on the wire.
    pub(crate) fn written(&mut self, lift: &LiftId, number: u16, result: WriteResult) {
        if let Some(watch) = self.lifts.get_mut(lift) {
            watch.written(number, result);
        }
    }

    /// A gateway was given a read.
    pub(crate) fn read(&mut self, now: Mono, lift: &LiftId, status: &LiftStatus) {
        if let Some(watch) = self.lifts.get_mut(lift) {
            watch.read(now, status);
        }
    }

    /// A gateway could not read.
    pub(crate) fn read_failed(&mut self, lift: &LiftId) {
        if let Some(watch) = self.lifts.get_mut(lift) {
            watch.read_failed();
        }
    }

    /// A gateway told what became of a command.
    pub(crate) fn told(&mut self, now: Mono, outcome: &Outcome) {
        let watch = outcome.lift.as_ref().and_then(|lift| self.lifts.get_mut(lift));
        let found = watch.and_then(|it| it.told(outcome));
        self.report_all(now, found.map(|detail| (Checker::VerdictTrue, detail)));
    }

    /// A vehicle has a new connection.
    pub(crate) fn vehicle_connected(&mut self, vehicle: &VehicleId, connection: u32) {
        if let Some(watch) = self.vehicles.get_mut(vehicle) {
            watch.connected(connection);
        }
    }

    /// A vehicle was handed a command; `began` when it began to work on it by that.
    pub(crate) fn vehicle_heard(
        &mut self,
        now: Mono,
        command: &VehicleCommand,
        connection: u32,
        began: bool,
    ) {
        let watch = self.vehicles.get_mut(&command.vehicle);
        let found = watch.map(|it| it.heard(command, connection, began)).unwrap_or_default();
        self.report_all(now, found);
    }

    /// A vehicle said that it accepted a command.
    pub(crate) fn vehicle_accepted(&mut self, vehicle: &VehicleId, command: &CommandId, connection: u32) {
        if let Some(watch) = self.vehicles.get_mut(vehicle) {
            watch.accepted(command, connection);
        }
    }

    /// The ledger has an entry more.
    pub(crate) fn recorded(&mut self, now: Mono, entry: &Entry, sim: &SimPlant) {
        let found = self.owners.recorded(entry);
        self.report_all(now, found);
        let found = self.line.recorded(entry, sim);
        self.report_all(now, found);
        self.foreign.recorded(now, entry);
        let found = self.withdrawals.recorded(entry);
        self.report_all(now, found.map(|detail| (Checker::WithdrawnIsOver, detail)));
    }

    /// Something goes wrong.
    pub(crate) fn suffers(&mut self, kind: &FaultKind) {
        self.foreign.suffers(kind);
    }

    /// The WMS takes an order back.
    pub(crate) fn withdrawal_asked(&mut self, order: &OrderId) {
        self.withdrawals.asked(order);
    }

    /// A node answered a withdrawal; `told` is the order and the answer, if that is the last word on it.
    pub(crate) fn withdrawal_answered(
        &mut self,
        now: Mono,
        request: RequestId,
        told: Option<(&OrderId, &Result<TakenBack, WithdrawalRefusal>)>,
    ) {
        let found = self.withdrawals.answered(request, told);
        self.report_all(now, found.map(|detail| (Checker::WithdrawnIsOver, detail)));
    }

    /// A node showed a change.
    pub(crate) fn shown(&mut self, node: usize, change: Change) {
        self.screens.entry(node).or_default().take(change);
    }

    /// A node died: whoever watched it has to begin anew.
    pub(crate) fn node_died(&mut self, node: usize) {
        self.screens.remove(&node);
    }

    /// A node has started from the ledger.
    pub(crate) fn node_started(&mut self, now: Mono, node: &NodeId, misfit: Option<String>) {
        let found = misfit.map(|reason| format!("{node} cannot take the ledger: {reason}"));
        self.report_all(now, found.map(|detail| (Checker::ReplayEqualsMemory, detail)));
    }

    /// A second has gone by: what the plant counted.
    pub(crate) fn second(&mut self, now: Mono, sim: &SimPlant) {
        let found = commands::counted(&self.plant, &mut self.lifts, sim);
        self.report_all(now, found);
        let found = orders::loads_handled_twice(sim.loads());
        self.report_all(now, found.map(|detail| (Checker::LoadMovedOnce, detail)));
        let found = self.foreign.second(now, sim);
        self.report_all(now, found.into_iter().map(|detail| (Checker::ForeignTold, detail)));
        let found = self.withdrawals.moved(sim.loads());
        self.report_all(now, found.map(|detail| (Checker::WithdrawnIsOver, detail)));
    }

    /// What a node holds is compared with the ledger and with what it showed.
    pub(crate) fn compare(
        &mut self,
        now: Mono,
        (idx, node): (usize, &Control),
        ledger: &[Entry],
        snapshot: Vec<Change>,
    ) {
        let found = screens::replayed(node, ledger, &self.plant);
        self.report_all(now, found.map(|detail| (Checker::ReplayEqualsMemory, detail)));
        let screen = self.screens.entry(idx).or_default();
        let found = screen.differs_from(snapshot);
        self.report_all(now, found.map(|detail| (Checker::DeltasEqualState, detail)));
    }
}

#[cfg(test)]
mod tests;
