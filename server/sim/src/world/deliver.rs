//! Parcels that arrive.

use kernel::control::{Event, RequestId};
use kernel::gateway::{self, CommandBlock, WriteResult};
use kernel::ids::{LiftId, VehicleId};
use kernel::lift::LiftStatus;
use kernel::time::{Millis, Mono};
use kernel::timing::LIFT_POLL_PERIOD;
use kernel::wire::rest::PlaceOrder;
use kernel::wire::vehicle::{AckVerdict, VehicleCommand};

use super::perform::{BROKER_LEG, STORE_LEG};
use super::post::Parcel;
use super::{CONNECT_TIME, World};
use crate::fault::{PlcLinkEffect, Road};
use crate::plant::SimEvent;
use crate::vehicle::VehicleMessage;

/// A WMS that got no answer, or "try again", asks again with the same key.
pub(super) const WMS_RETRY: Millis = Millis::seconds(1);
/// A connection to a PLC that broke is opened again so late.
const PLC_RECONNECT: Millis = Millis(500);
/// The broker keeps at most so many messages for one vehicle that is away.
const KEPT_MAX: usize = 1000;

impl World {
    pub(super) fn deliver(&mut self, place: u64, parcel: Parcel) {
        match parcel {
            Parcel::ToNode { node, life, event } => self.node_hears(place, node, life, event),
            Parcel::ToGateway { gateway, command } => {
                if self.has_uplink(gateway) {
                    self.with_gateway(gateway, gateway::Event::Commanded(command));
                }
            }
            Parcel::NodeBeat { gateway, beat } => self.beat_arrives(gateway, *beat),
            Parcel::ToVehicle(command) => self.published(*command),
            Parcel::OverRadio { command, expires, connection, broker } => {
                self.over_radio(*command, expires, (connection, broker));
            }
            Parcel::FromVehicle { vehicle, connection, message } => {
                self.vehicle_says(vehicle, connection, *message);
            }
            Parcel::ReportTaken { vehicle, report, connection } => {
                if self.is_connected(&vehicle, connection) {
                    self.sim.handle(SimEvent::ReportDelivered { vehicle, report }, self.now);
                }
            }
            Parcel::Beat { vehicle, connection } => {
                if self.is_connected(&vehicle, connection) {
                    self.sim.handle(SimEvent::ControlBeat { vehicle }, self.now);
                }
            }
            Parcel::ToLedger { author, records, guards, brought } => {
                self.ledger_takes(author, records, &guards, brought);
            }
            Parcel::AskLedger { author } => self.asked_after(place, author),
            Parcel::News { node, life, n_batches } => self.news(place, node, life, n_batches),
            Parcel::Attend { node, life, run, beat, hears_broker } => {
                self.attended((node, life), run, beat, hears_broker);
            }
            Parcel::ToStore(request) => {
                self.store.acquire(request, self.now);
                self.serve_store();
            }
            Parcel::Release { lift, holder, nonce, token, settled } => {
                self.given_back(&lift, (holder, nonce, token), settled.as_ref());
            }
            Parcel::Renew { asker, holder, lease, asked_at } => self.renew(asker, &holder, &lease, asked_at),
            Parcel::OpenCall { asker, holder, request } => self.open_record(asker, &holder, request),
            Parcel::SettleCall { lift, settled } => self.store.settle_call(&lift, &settled, self.now),
            Parcel::StoreLine => self.serve_store(),
            Parcel::Poll { lift } => self.poll(lift),
            Parcel::ReadDone { gateway, life, lift, read } => self.read_done(gateway, life, lift, read),
            Parcel::Write { gateway, life, lift, block } => self.write(gateway, life, lift, block),
            Parcel::Written { gateway, life, lift, number, result } => {
                self.written((gateway, life), lift, number, result);
            }
            Parcel::Connect { vehicle } => self.connect(&vehicle),
            Parcel::Missed { vehicle, connection } => self.missed(vehicle, connection),
            Parcel::NodeUp { node } => self.node_up(node),
            Parcel::GatewayUp { gateway } => self.start_gateway(gateway),
            Parcel::BrokerBack => self.broker_back(),
            Parcel::NodeReached { node } => self.tell_broker(node),
            Parcel::PlantBack => self.plant_back(),
            Parcel::Order { planned } => self.place(planned),
            Parcel::TakeBack { planned } => self.take_back(planned),
            Parcel::Fault { idx } => self.fault_is_due(idx),
            Parcel::Second => {
                self.checkers.second(self.now, &self.sim);
                self.post.send(self.now + Millis::seconds(1), Parcel::Second);
            }
        }
    }

    fn fault_is_due(&mut self, idx: usize) {
        if let Some(fault) = self.config.faults.get(idx).cloned() {
            self.suffer(&fault.kind);
        }
    }

    /// Until when the gateway, vehicle or broker stands still that should take or send a parcel.
    pub(super) fn pause_of_taker(&mut self, parcel: &Parcel) -> Option<Mono> {
        let idx = match parcel {
            Parcel::ToGateway { gateway, .. }
            | Parcel::NodeBeat { gateway, .. }
            | Parcel::ReadDone { gateway, .. }
            | Parcel::Written { gateway, .. } => *gateway,
            Parcel::Poll { lift } => self.gateway_of(lift)?.0,
            // It is the vehicle that connects; what is sent to one that stands still waits in its own sockets.
            Parcel::Connect { vehicle } => return self.stands_still(vehicle).max(self.broker_pause()),
            Parcel::ToNode { .. }
            | Parcel::ToVehicle(_)
            | Parcel::OverRadio { .. }
            | Parcel::ReportTaken { .. }
            | Parcel::Beat { .. }
            | Parcel::FromVehicle { .. }
            | Parcel::ToLedger { .. }
            | Parcel::AskLedger { .. }
            | Parcel::News { .. }
            | Parcel::Attend { .. }
            | Parcel::ToStore(_)
            | Parcel::Renew { .. }
            | Parcel::Release { .. }
            | Parcel::OpenCall { .. }
            | Parcel::SettleCall { .. }
            | Parcel::Write { .. }
            | Parcel::Missed { .. }
            | Parcel::NodeUp { .. }
            | Parcel::GatewayUp { .. }
            | Parcel::PlantBack
            | Parcel::BrokerBack
            | Parcel::NodeReached { .. }
            | Parcel::StoreLine
            | Parcel::Order { .. }
            | Parcel::TakeBack { .. }
            | Parcel::Fault { .. }
            | Parcel::Second => return None,
        };
        let now = self.now;
        self.gateways.get_mut(idx)?.clock.paused(now)
    }

    fn stands_still(&self, vehicle: &VehicleId) -> Option<Mono> {
        self.sim.vehicle(vehicle)?.stands_still_until().filter(|until| self.now < *until)
    }

    /// A start takes in the ledger, and waits for it.
    fn node_up(&mut self, node: usize) {
        match self.ledger_cut(node) {
            Some(until) => self.post.send(until, Parcel::NodeUp { node }),
            None => self.start_node(node),
        }
    }

    fn node_hears(&mut self, place: u64, idx: usize, life: u32, event: Box<Event>) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(idx).filter(|it| it.life == life) else { return };
        if let Some(until) = node.clock.paused(now) {
            self.post.hold(until, place, Parcel::ToNode { node: idx, life, event });
            return;
        }
        if let Event::GatewayStatus(status) = &*event {
            node.hears(status);
        }
        let stamp = node.clock.stamp(now);
        if let Some(control) = node.control.as_mut() {
            control.handle(*event, stamp);
            self.drain_node(idx);
        }
    }

    pub(super) fn with_gateway(&mut self, idx: usize, event: gateway::Event) {
        let now = self.now;
        let Some(machine) = self.gateways.get_mut(idx) else { return };
        let stamp = machine.clock.stamp(now);
        if let Some(gateway) = machine.gateway.as_mut() {
            gateway.handle(event, stamp);
            self.drain_gateway(idx);
        }
    }

    /// A command that finds no broker is lost.
    fn published(&mut self, command: VehicleCommand) {
        if self.broker_is_away() {
            self.note(|| format!("no broker takes {}", command.id));
            return;
        }
        let expires = self.broker_time() + command.valid_for_ms;
        self.broker_takes(command, expires);
    }

    fn broker_takes(&mut self, command: VehicleCommand, expires: Mono) {
        let Some(session) = self.sessions.get_mut(&command.vehicle) else { return };
        if session.connected {
            self.send_over_radio(command, expires);
        } else if session.kept.len() < KEPT_MAX {
            session.kept.push_back((expires, command));
        }
    }

    fn send_over_radio(&mut self, command: VehicleCommand, expires: Mono) {
        let delay = self.radio_delay(&command.vehicle);
        let at = self.broker_turn() + BROKER_LEG + delay;
        let Some(session) = self.sessions.get_mut(&command.vehicle) else { return };
        session.down_free = session.down_free.max(at);
        let (at, connection, broker) = (session.down_free, session.connection, self.broker_life);
        let parcel = Parcel::OverRadio { command: Box::new(command), expires, connection, broker };
        self.post.send(at, parcel);
    }

    /// A command that did not get through before the connection broke stays with the broker, unless that has forgotten it.
    fn over_radio(&mut self, command: VehicleCommand, expires: Mono, (connection, broker): (u32, u32)) {
        if !self.is_connected(&command.vehicle, connection) {
            if broker == self.broker_life {
                self.broker_takes(command, expires);
            }
            return;
        }
        self.sim.handle(SimEvent::VehicleCommand(Box::new(command)), self.now);
    }

    /// A vehicle's controller has read a command.
    pub(super) fn vehicle_heard(&mut self, command: &VehicleCommand, began: bool) {
        let VehicleCommand { id, vehicle, link, .. } = command;
        let connection = self.sessions.get(vehicle).map(|it| it.connection).unwrap_or_default();
        self.checkers.vehicle_heard(self.now, command, connection, began);
        self.coverage.heard(command);
        self.note(|| format!("{vehicle} hears {id} link {link} began {began}"));
    }

    fn vehicle_says(&mut self, vehicle: VehicleId, connection: u32, message: VehicleMessage) {
        if !self.is_connected(&vehicle, connection) {
            return;
        }
        let (road, event) = match message {
            VehicleMessage::Ack(ack) => {
                if ack.verdict == AckVerdict::Accepted {
                    self.coverage.accepted(self.now, &vehicle, &ack.command);
                    self.checkers.vehicle_accepted(&vehicle, &ack.command, connection);
                }
                self.note(|| format!("{vehicle} answers {} {:?}", ack.command, ack.verdict));
                (Road::VehicleAnswer, Event::Acknowledged(ack))
            }
            VehicleMessage::Report(report) => {
                let taken =
                    Parcel::ReportTaken { vehicle: vehicle.clone(), report: report.report, connection };
                let delay = self.radio_delay(&vehicle);
                self.post.send(self.broker_turn() + delay + BROKER_LEG, taken);
                self.note(|| format!("{vehicle} reports {} {:?}", report.command, report.progress));
                (Road::VehicleAnswer, Event::Reported(report))
            }
            VehicleMessage::Heartbeat(heartbeat) => (Road::VehicleState, Event::Heartbeat(*heartbeat)),
            VehicleMessage::Telemetry(telemetry) => (Road::VehicleState, Event::Telemetry(telemetry)),
        };
        self.tell_all_nodes(road, &event);
    }

    fn poll(&mut self, lift: LiftId) {
        self.post.send(self.now + LIFT_POLL_PERIOD, Parcel::Poll { lift: lift.clone() });
        let Some((gateway, life)) = self.gateway_of(&lift) else { return };
        let link = self.plc_link(&lift);
        let read = match (link, self.sim.lift_status(&lift)) {
            (Some(PlcLinkEffect::Down), _) | (_, None) => Err("the connection was refused"),
            (Some(PlcLinkEffect::AnswerLost | PlcLinkEffect::ClosesInWrite) | None, Some(status)) => {
                Ok(status)
            }
        };
        let leg = self.plc_leg();
        self.post.send(self.now + leg, Parcel::ReadDone { gateway, life, lift, read });
    }

    fn read_done(&mut self, gateway: usize, life: u32, lift: LiftId, read: Result<LiftStatus, &'static str>) {
        if self.gateways.get(gateway).is_none_or(|it| it.life != life) {
            return;
        }
        let event = match read {
            Ok(status) => {
                self.checkers.read(self.now, &lift, &status);
                let status = self.as_told(&lift, status);
                gateway::Event::Read { lift, status }
            }
            Err(reason) => {
                self.checkers.read_failed(&lift);
                gateway::Event::ReadFailed { lift, reason: reason.to_owned() }
            }
        };
        self.with_gateway(gateway, event);
    }

    /// What a PLC does not tell is 0 in its reads; the checkers know it all the same.
    fn as_told(&self, lift: &LiftId, mut status: LiftStatus) -> LiftStatus {
        let can = self.config.plant.lifts.get(lift).map(|it| it.capabilities).unwrap_or_default();
        if !can.echo {
            (status.accepted, status.completed) = (0, 0);
        }
        status.boot = if can.boot { status.boot } else { 0 };
        status.heartbeat = if can.heartbeat { status.heartbeat } else { 0 };
        status
    }

    /// A write reaches the PLC, unless nothing does.
    fn write(&mut self, gateway: usize, life: u32, lift: LiftId, block: CommandBlock) {
        let link = self.plc_link(&lift);
        let result = match link {
            Some(PlcLinkEffect::Down) => WriteResult::NotSent,
            Some(PlcLinkEffect::AnswerLost | PlcLinkEffect::ClosesInWrite) => WriteResult::Unknown,
            None => WriteResult::Confirmed,
        };
        if result != WriteResult::NotSent {
            self.checkers.plc_hears(self.now, &lift, block, &self.sim);
            self.sim.handle(SimEvent::CommandBlock { lift: lift.clone(), block }, self.now);
        }
        self.note(|| format!("{lift} is written {block:?}: {result:?}"));
        if link == Some(PlcLinkEffect::ClosesInWrite) {
            self.plc_closed.insert(lift.clone(), self.now + PLC_RECONNECT);
        }
        // A lost answer is missed only by a time-out.
        let wait = if link == Some(PlcLinkEffect::AnswerLost) { PLC_RECONNECT } else { self.plc_leg() };
        let number = block.number;
        self.post.send(self.now + wait, Parcel::Written { gateway, life, lift, number, result });
    }

    /// The gateway hears how its write went, if it still runs.
    fn written(&mut self, (gateway, life): (usize, u32), lift: LiftId, number: u16, result: WriteResult) {
        if self.gateways.get(gateway).is_some_and(|it| it.life == life) {
            self.checkers.written(&lift, number, result);
            self.with_gateway(gateway, gateway::Event::Written { lift, number, result });
        }
    }

    fn connect(&mut self, vehicle: &VehicleId) {
        let up = self.sim.vehicle(vehicle).is_some_and(crate::vehicle::VehicleModel::radio_is_up);
        if !up || self.broker_is_away() || self.plant_away {
            return;
        }
        let now = self.now;
        let Some(session) = self.sessions.get_mut(vehicle).filter(|it| !it.connected) else { return };
        session.connected = true;
        session.connection += 1;
        (session.down_free, session.up_free) = (now, now);
        let (kept, connection) = (std::mem::take(&mut session.kept), session.connection);
        self.checkers.vehicle_connected(vehicle, connection);
        self.note(|| format!("{vehicle} connects, {} commands wait for it", kept.len()));
        // What was kept arrives before anything that follows from the connection.
        self.sim.handle(SimEvent::VehicleConnected { vehicle: vehicle.clone() }, now);
        for (expires, command) in kept {
            if expires > self.broker_time() {
                self.send_over_radio(command, expires);
            }
        }
        self.show_presence(vehicle.clone(), true);
    }

    fn missed(&mut self, vehicle: VehicleId, connection: u32) {
        let gone = self.sessions.get(&vehicle).is_some_and(|it| !it.connected && it.connection == connection);
        if gone {
            self.show_presence(vehicle, false);
        }
    }

    /// Unless it went away again meanwhile.
    fn broker_back(&mut self) {
        if self.broker_is_away() {
            return;
        }
        self.broker_away = None;
        for idx in 0..self.nodes.len() {
            self.tell_broker(idx);
        }
        for vehicle in self.config.plant.vehicles.keys().cloned().collect::<Vec<_>>() {
            self.post.send(self.now + CONNECT_TIME.times(4), Parcel::Connect { vehicle });
        }
    }

    /// The WMS places an order with one of the nodes that are up, and again with the next until it is accepted.
    fn place(&mut self, planned: usize) {
        let Some(placing) = self.orders.get_mut(planned).filter(|it| it.accepted.is_none()) else { return };
        placing.n_asked += 1;
        let turn = planned + placing.n_asked;
        let order = PlaceOrder {
            from: placing.planned.from.clone(),
            to: placing.planned.to.clone(),
            priority: 5,
            deadline: None,
            reference: None,
        };
        let request = RequestId(u64::try_from(planned).unwrap_or(u64::MAX));
        let (key, fingerprint) = (format!("wms-{planned}"), format!("{}-{}", order.from, order.to));
        let event = Event::OrderRequested { request, order, idempotency_key: key, fingerprint };
        if let Some((idx, life)) = self.node_that_is_up(turn) {
            self.send_to_node(idx, life, STORE_LEG, event);
        }
        self.post.send(self.now + WMS_RETRY, Parcel::Order { planned });
    }

    /// Whose turn it is of the nodes that are up, and its life.
    pub(super) fn node_that_is_up(&self, turn: usize) -> Option<(usize, u32)> {
        let up = self.nodes.iter().enumerate().filter(|(_, it)| it.control.is_some());
        let up: Vec<(usize, u32)> = up.map(|(idx, it)| (idx, it.life)).collect();
        up.get(turn % up.len().max(1)).copied()
    }
}
