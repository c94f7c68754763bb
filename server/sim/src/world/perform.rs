//! Effects of nodes, gateways and the plant, performed.

use kernel::control::{Control, Effect, Event};
use kernel::gateway::{self, Gateway};
use kernel::ids::{LiftId, VehicleId};
use kernel::lease::LeaseRequest;
use kernel::time::{Millis, Mono};
use kernel::wire::gateway::{GatewayCommand, GatewayStatus};

use super::fuse::{leaves_gateway, leaves_node};
use super::machine::UPTIME_MS;
use super::post::Parcel;
use super::{CONNECT_TIME, World};
use crate::fault::{PlcLinkEffect, Road, RoadEffect};
use crate::plant::{SimEffect, SimEvent};
use crate::vehicle::{VehicleMessage, VehicleModel};

/// One way between a program and the broker and on.
pub(super) const BROKER_LEG: Millis = Millis(3);
/// One way to the ledger, with the disk.
pub(super) const LEDGER_LEG: Millis = Millis(2);
/// One way to the lease store, or from a WMS.
pub(super) const STORE_LEG: Millis = Millis(1);
/// A request to a PLC, or its answer.
const PLC_LEG: Millis = Millis(4);
/// TCP sends a lost frame again after so long, and later each time; this many losses in a row break nothing yet.
const RETRANSMISSION: Millis = Millis(200);
const RETRANSMISSIONS_MAX: u64 = 8;
/// A broken connection shows at the broker after one and a half keep-alives of 20 s (C11).
const KEEP_ALIVE_OVER: Millis = Millis::seconds(30);

impl World {
    pub(super) fn drain_node(&mut self, idx: usize) {
        while let Some(effect) = self.nodes.get_mut(idx).and_then(|it| it.control.as_mut()?.poll_effect()) {
            let leaves = leaves_node(&effect);
            self.perform_node(idx, effect);
            self.node_did(idx, leaves);
        }
    }

    fn perform_node(&mut self, idx: usize, effect: Effect) {
        let Some(node) = self.nodes.get(idx) else { return };
        let life = node.life;
        match effect {
            Effect::Append { batch, records, guards } => {
                self.propose((idx, life, batch), records, guards);
            }
            Effect::Attend { run, beat, hears_broker } => {
                self.attend((idx, life), run, beat, hears_broker);
            }
            Effect::Left => self.node_left(idx),
            Effect::Superseded => self.note(|| "a node finds another process under its name".to_owned()),
            Effect::Answer { request, answer } => {
                let placing = usize::try_from(request.0).ok().and_then(|it| self.orders.get_mut(it));
                if let (Some(placing), Ok(accepted)) = (placing, answer) {
                    placing.accepted = Some(accepted.order);
                }
            }
            Effect::AnswerWithdrawal { request, answer } => self.withdrawal_answered(request, &answer),
            Effect::AcquireLease { lift, nonce, epoch, floor, life: store, priority } => {
                let holder = node.id.clone();
                let lease = LeaseRequest { lift, holder, nonce, epoch, floor, life: store, priority };
                self.ask_store(idx, lease);
            }
            Effect::RenewLease(lease) => self.ask_for_renewal(idx, lease),
            Effect::OpenCall(request) => self.ask_for_record(idx, request),
            Effect::SettleCall { lift, settled } => self.settle_record(idx, lift, settled),
            Effect::ReleaseLease { lift, nonce, token, settled } => {
                self.give_back(idx, lift, (nonce, token), settled);
            }
            Effect::SendVehicle { gateway, command } => {
                self.note(|| format!("→ {} {} {:?}", command.vehicle, command.id, command.instruction));
                self.send_to_gateway(idx, &gateway, GatewayCommand::Vehicle(command));
            }
            Effect::SendLift { gateway, command } => {
                self.note(|| {
                    format!("→ {} {} {:?} {}", command.lift, command.id, command.action, command.floor)
                });
                self.checkers.lift_commanded(self.now, &command);
                self.overhear(idx, &command);
                self.send_to_gateway(idx, &gateway, GatewayCommand::Lift(command));
            }
            Effect::Beat(beat) if self.reaches_broker(idx) => {
                self.beat_gateways(&beat);
                self.beat();
            }
            Effect::Beat(_) => {}
            Effect::ProbeStore => self.probe_store(idx),
            Effect::Show(change) => self.checkers.shown(idx, change),
        }
    }

    pub(super) fn drain_gateway(&mut self, idx: usize) {
        while let Some(effect) =
            self.gateways.get_mut(idx).and_then(|it| it.gateway.as_mut().and_then(Gateway::poll_effect))
        {
            let leaves = leaves_gateway(&effect);
            self.perform_gateway(idx, effect);
            self.gateway_did(idx, leaves);
        }
    }

    fn perform_gateway(&mut self, idx: usize, effect: gateway::Effect) {
        let Some(machine) = self.gateways.get_mut(idx) else { return };
        let (life, id) = (machine.life, machine.id.clone());
        match effect {
            gateway::Effect::Persist(marks) => {
                machine.marks = marks;
                self.note_arbitration(idx);
            }
            gateway::Effect::Write { lift, block } => {
                let command = machine.marks.lifts.get(&lift).and_then(|it| it.in_flight.as_ref());
                let command = command.map(|it| it.command.clone());
                let kept = machine.marks.lifts.get(&lift).map(|it| (it.arbitration, it.epoch));
                let arbitration = kept.unwrap_or_default();
                self.checkers.gateway_writes(self.now, &lift, block, command.as_ref(), arbitration);
                let leg = self.plc_leg();
                self.post.send(self.now + leg, Parcel::Write { gateway: idx, life, lift, block });
            }
            gateway::Effect::Tell(outcome) => {
                self.note(|| format!("{id} tells {} {:?}", outcome.command, outcome.verdict));
                self.checkers.told(self.now, &outcome);
                if self.has_uplink(idx) {
                    self.tell_all_nodes(Road::Outcome, &Event::Outcome(outcome));
                }
            }
            gateway::Effect::Forward { command, .. } => {
                if self.has_uplink(idx) {
                    self.carry(Road::VehicleCommand, Parcel::ToVehicle(Box::new(command)));
                }
            }
            gateway::Effect::Status(status) => self.show_status(idx, status),
            gateway::Effect::Log { lift, text } => self.note(|| format!("{id} {lift}: {text}")),
        }
    }

    pub(super) fn drain_plant(&mut self) {
        while let Some(effect) = self.next_of_plant() {
            match effect {
                SimEffect::LiftStatus { lift, status } => {
                    if self.checkers.scanned(self.now, &lift, &status) {
                        self.note(|| format!("{lift} takes number {}", status.accepted));
                    }
                }
                SimEffect::Radio { vehicle, up: true } => {
                    let covered_at = self.sim.vehicle(&vehicle).and_then(VehicleModel::covered_at);
                    self.coverage.radio_back(self.now, &vehicle, covered_at.unwrap_or(self.now));
                    self.post.send(self.now + CONNECT_TIME, Parcel::Connect { vehicle });
                }
                SimEffect::Radio { vehicle, up: false } => {
                    self.note(|| format!("{vehicle} is out of reach"));
                    self.coverage.radio_lost(self.now, &vehicle);
                    self.disconnect(&vehicle);
                }
                SimEffect::VehicleHeard { command, began } => self.vehicle_heard(&command, began),
                SimEffect::VehicleSend { vehicle, message } => self.hear_vehicle(vehicle, message),
            }
        }
    }

    pub(super) fn disconnect(&mut self, vehicle: &VehicleId) {
        let Some(session) = self.sessions.get_mut(vehicle).filter(|it| it.connected) else { return };
        session.connected = false;
        let connection = session.connection;
        self.sim.handle(SimEvent::VehicleDisconnected { vehicle: vehicle.clone() }, self.now);
        let missed = Parcel::Missed { vehicle: vehicle.clone(), connection };
        self.post.send(self.now + KEEP_ALIVE_OVER, missed);
    }

    fn hear_vehicle(&mut self, vehicle: VehicleId, message: VehicleMessage) {
        let Some(connection) = self.sessions.get(&vehicle).filter(|it| it.connected).map(|it| it.connection)
        else {
            return;
        };
        let reliable = matches!(message, VehicleMessage::Ack(_) | VehicleMessage::Report(_));
        let road = self.sim.vehicle(&vehicle).map(VehicleModel::radio_road).unwrap_or_default();
        if !reliable && self.rng.within(0..=999) < u64::from(road.loss_permille) {
            return;
        }
        let delay = if reliable { self.radio_delay(&vehicle) } else { road.delay };
        let at = self.now + BROKER_LEG + delay;
        let Some(session) = self.sessions.get_mut(&vehicle) else { return };
        session.up_free = session.up_free.max(at);
        let at = session.up_free;
        let parcel = Parcel::FromVehicle { vehicle, connection, message: Box::new(message) };
        self.post.send(at, parcel);
    }

    /// How late a frame comes that TCP sends until it arrives.
    pub(super) fn radio_delay(&mut self, vehicle: &VehicleId) -> Millis {
        let road = self.sim.vehicle(vehicle).map(VehicleModel::radio_road).unwrap_or_default();
        let mut delay = road.delay;
        for n in 1..=RETRANSMISSIONS_MAX {
            if self.rng.within(0..=999) >= u64::from(road.loss_permille) {
                break;
            }
            delay = delay + RETRANSMISSION.times(n);
        }
        delay
    }

    /// Every node's beat reaches the vehicles that are connected.
    fn beat(&mut self) {
        let connected: Vec<(VehicleId, u32)> = self
            .sessions
            .iter()
            .filter(|(_, it)| it.connected)
            .map(|(id, it)| (id.clone(), it.connection))
            .collect();
        for (vehicle, connection) in connected {
            let road = self.sim.vehicle(&vehicle).map(VehicleModel::radio_road);
            if self.rng.within(0..=999) >= u64::from(road.unwrap_or_default().loss_permille) {
                self.carry(Road::Beat, Parcel::Beat { vehicle, connection });
            }
        }
    }

    pub(super) fn send_to_node(&mut self, node: usize, life: u32, delay: Millis, event: Event) {
        self.post.send(self.now + delay, Parcel::ToNode { node, life, event: Box::new(event) });
    }

    pub(super) fn tell_all_nodes(&mut self, road: Road, event: &Event) {
        for node in 0..self.nodes.len() {
            if self.is_cut_off(node) {
                continue;
            }
            let Some(life) = self.nodes.get(node).filter(|it| it.control.is_some()).map(|it| it.life) else {
                continue;
            };
            self.carry(road, Parcel::ToNode { node, life, event: Box::new(event.clone()) });
        }
    }

    fn send_to_gateway(&mut self, node: usize, gateway: &kernel::ids::GatewayId, command: GatewayCommand) {
        if !self.is_cut_off(node) {
            self.put_on_command_road(gateway, command);
        }
    }

    pub(super) fn put_on_command_road(&mut self, gateway: &kernel::ids::GatewayId, command: GatewayCommand) {
        let found = self.gateways.iter().position(|it| it.id == *gateway);
        let Some(idx) = found else { return };
        let parcel = Parcel::ToGateway { gateway: idx, command: Box::new(command) };
        self.carry(Road::Command, parcel);
    }

    fn show_status(&mut self, idx: usize, status: GatewayStatus) {
        if !self.has_uplink(idx) {
            return;
        }
        if let Some(machine) = self.gateways.get_mut(idx) {
            machine.told = Some(status.clone());
        }
        self.tell_all_nodes(Road::Status, &Event::GatewayStatus(status));
    }

    /// Whether the broker reaches a gateway, and is reached by it.
    pub(super) fn has_uplink(&self, gateway: usize) -> bool {
        self.gateways.get(gateway).and_then(|it| it.cut_off).is_none_or(|until| until <= self.now)
    }

    /// A node finds out whether the broker reaches it.
    pub(super) fn tell_broker(&mut self, node: usize) {
        let connected = self.reaches_broker(node);
        if let Some(life) = self.nodes.get(node).map(|it| it.life) {
            self.send_to_node(node, life, STORE_LEG, Event::Broker { connected });
            if connected {
                self.hand_over_retained(node, life);
            }
        }
    }

    /// Who subscribes hears first what the broker retained, however old it is.
    fn hand_over_retained(&mut self, node: usize, life: u32) {
        for (vehicle, online) in self.retained.clone() {
            self.note(|| format!("the broker has {vehicle} retained as online {online}"));
            let event = Box::new(Event::Presence { vehicle, online });
            self.carry(Road::VehicleAnswer, Parcel::ToNode { node, life, event });
        }
    }

    /// A vehicle's presence goes to all nodes, and is retained.
    pub(super) fn show_presence(&mut self, vehicle: VehicleId, online: bool) {
        self.retained.insert(vehicle.clone(), online);
        self.tell_all_nodes(Road::VehicleAnswer, &Event::Presence { vehicle, online });
    }

    /// Carries a parcel over the broker, past what that road suffers now.
    pub(super) fn carry(&mut self, road: Road, parcel: Parcel) {
        if !self.broker_is_away() {
            let wait = self.broker_turn().since(self.now);
            self.carry_on(road, wait + BROKER_LEG.times(2), parcel);
        }
    }

    /// Carries a parcel that takes so long, past what that road suffers now.
    pub(super) fn carry_on(&mut self, road: Road, leg: Millis, parcel: Parcel) {
        let now = self.now;
        self.roads.retain(|it| it.until > now);
        let mut at = now + leg;
        for trouble in self.roads.clone().into_iter().filter(|it| it.road == road) {
            if self.rng.within(0..=999) >= u64::from(trouble.permille) {
                continue;
            }
            match trouble.effect {
                RoadEffect::Drop => {
                    self.note(|| format!("lost on the road: {road:?}"));
                    return;
                }
                RoadEffect::Duplicate { after_ms } => {
                    self.note(|| format!("twice on the road: {road:?}"));
                    self.post.send(at + after_ms, parcel.clone());
                }
                RoadEffect::Delay { by_ms } => {
                    self.note(|| format!("late on the road: {road:?}"));
                    at = at + by_ms;
                }
            }
        }
        self.post.send(at, parcel);
    }

    /// How late a message of a road comes that is neither lost nor doubled.
    pub(super) fn draw_delay(&mut self, road: Road) -> Millis {
        let mut late = Millis(0);
        for effect in self.effects_on(road, |it| matches!(it, RoadEffect::Delay { .. })) {
            if let RoadEffect::Delay { by_ms } = effect {
                self.note(|| format!("late on the road: {road:?}"));
                late = late + by_ms;
            }
        }
        late
    }

    /// What a message of a road suffers now, of the effects that are asked for.
    pub(super) fn effects_on(&mut self, road: Road, asked: fn(&RoadEffect) -> bool) -> Vec<RoadEffect> {
        let now = self.now;
        self.roads.retain(|it| it.until > now);
        let troubles = self.roads.iter().filter(|it| it.road == road && asked(&it.effect));
        let rng = &mut self.rng;
        troubles.filter(|it| rng.within(0..=999) < u64::from(it.permille)).map(|it| it.effect).collect()
    }

    fn is_cut_off(&self, node: usize) -> bool {
        self.nodes.get(node).and_then(|it| it.cut_off).is_some_and(|until| self.now < until)
    }

    pub(super) fn reaches_broker(&self, node: usize) -> bool {
        !self.broker_is_away() && !self.is_cut_off(node)
    }

    pub(super) fn broker_is_away(&self) -> bool {
        self.broker_away.is_some_and(|until| self.now < until)
    }

    /// Until when the broker stands still, if it does.
    pub(super) fn broker_pause(&self) -> Option<Mono> {
        self.broker_paused.filter(|until| self.now < *until)
    }

    /// When the broker does what it is asked to do now.
    pub(super) fn broker_turn(&self) -> Mono {
        self.broker_pause().unwrap_or(self.now)
    }

    /// By the broker's wall clock, which may be set.
    pub(super) fn broker_time(&self) -> Mono {
        Mono((UPTIME_MS + self.now.0).saturating_add_signed(self.broker_step_ms))
    }

    pub(super) fn is_connected(&self, vehicle: &VehicleId, connection: u32) -> bool {
        self.sessions.get(vehicle).is_some_and(|it| it.connected && it.connection == connection)
    }

    /// How long a request to a PLC, or its answer, is on its way now.
    pub(super) fn plc_leg(&mut self) -> Millis {
        self.config.bus_ms.clone().map_or(PLC_LEG, |it| Millis(self.rng.within(it)))
    }

    pub(super) fn plc_link(&self, lift: &LiftId) -> Option<PlcLinkEffect> {
        let closed = self.plc_closed.get(lift).is_some_and(|until| self.now < *until);
        if closed || self.plant_away {
            return Some(PlcLinkEffect::Down);
        }
        self.plc_links.get(lift).filter(|(_, until)| self.now < *until).map(|(effect, _)| *effect)
    }

    /// The gateway of a lift, while it is up.
    pub(super) fn gateway_of(&self, lift: &LiftId) -> Option<(usize, u32)> {
        let id = &self.config.plant.lifts.get(lift)?.gateway;
        let idx = self.gateways.iter().position(|it| it.id == *id && it.gateway.is_some())?;
        self.gateways.get(idx).map(|it| (idx, it.life))
    }

    /// What a node shows to whoever begins to watch now.
    pub(crate) fn snapshot_of(&self, idx: usize) -> Vec<kernel::wire::live::Change> {
        let Some(node) = self.nodes.get(idx) else { return Vec::new() };
        let Some(mut control) = node.control.clone() else { return Vec::new() };
        control.show_everything(node.clock.stamp(self.now));
        let shown = std::iter::from_fn(|| Control::poll_effect(&mut control));
        shown
            .filter_map(|effect| match effect {
                Effect::Show(change) => Some(change),
                Effect::Append { .. }
                | Effect::AnswerWithdrawal { .. }
                | Effect::Attend { .. }
                | Effect::Left
                | Effect::Superseded
                | Effect::Answer { .. }
                | Effect::AcquireLease { .. }
                | Effect::RenewLease(_)
                | Effect::ReleaseLease { .. }
                | Effect::OpenCall(_)
                | Effect::SettleCall { .. }
                | Effect::SendVehicle { .. }
                | Effect::SendLift { .. }
                | Effect::ProbeStore
                | Effect::Beat(_) => None,
            })
            .collect()
    }
}
