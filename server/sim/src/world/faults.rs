//! Faults that happen.

use kernel::ids::NodeId;
use kernel::time::Millis;

use super::post::Parcel;
use super::{RoadTrouble, World};
use crate::fault::{FaultKind, Machine, StoreFault};
use crate::plant::SimEvent;

impl World {
    pub(super) fn suffer(&mut self, kind: &FaultKind) {
        let now = self.now;
        self.note(|| format!("FAULT {kind:?}"));
        self.checkers.suffers(kind);
        match kind {
            FaultKind::NodePaused { node, for_ms } => {
                if let Some(machine) = self.nodes.iter_mut().find(|it| it.id == *node) {
                    machine.clock.pause(now + *for_ms);
                }
            }
            FaultKind::GatewayPaused { gateway, for_ms } => {
                if let Some(machine) = self.gateways.iter_mut().find(|it| it.id == *gateway) {
                    machine.clock.pause(now + *for_ms);
                }
            }
            FaultKind::BrokerPaused { for_ms } => {
                self.broker_paused = self.broker_paused.max(Some(now + *for_ms));
            }
            FaultKind::NodeKilled { node, for_ms } => {
                if let Some(idx) = self.nodes.iter().position(|it| it.id == *node) {
                    self.kill_node(idx, *for_ms);
                }
            }
            FaultKind::NodeGone { node } => self.lose_node(node),
            FaultKind::NodeStopped { node, for_ms } => self.stop_node(node, *for_ms),
            FaultKind::GatewayKilled { gateway, for_ms } => {
                if let Some(idx) = self.gateways.iter().position(|it| it.id == *gateway) {
                    self.kill_gateway(idx, *for_ms);
                }
            }
            FaultKind::PlantAway { for_ms, killed } => self.lose_plant(*for_ms, *killed),
            FaultKind::ClockStepped { machine, by_ms } => self.step_clock(machine, *by_ms),
            FaultKind::Store(fault) => match fault {
                StoreFault::Stopped { for_ms } => {
                    self.store.down_until = self.store.down_until.max(Some(now + *for_ms));
                }
                StoreFault::Partitioned { node, for_ms } => {
                    self.store.cut.insert(node.clone(), now + *for_ms);
                }
                StoreFault::Emptied => {
                    self.checkers.line_is_lost();
                    self.store.empty();
                }
                StoreFault::OldCopyPromoted => {
                    self.checkers.line_is_lost();
                    self.store.promote_old_copy();
                }
            },
            FaultKind::LedgerAway { for_ms } => {
                self.ledger_away = self.ledger_away.max(Some(now + *for_ms));
            }
            FaultKind::LedgerCutOff { node, for_ms } => self.cut_off_ledger(node, now + *for_ms),
            FaultKind::BrokerAway { for_ms, forgets } => self.lose_broker(now + *for_ms, *forgets),
            FaultKind::NodeCutOff { node, for_ms } => self.cut_off(node, now + *for_ms),
            FaultKind::GatewayCutOff { gateway, for_ms } => {
                if let Some(machine) = self.gateways.iter_mut().find(|it| it.id == *gateway) {
                    machine.cut_off = machine.cut_off.max(Some(now + *for_ms));
                }
            }
            FaultKind::Road { road, effect, permille, for_ms } => {
                let until = now + *for_ms;
                self.roads.push(RoadTrouble { road: *road, effect: *effect, permille: *permille, until });
            }
            FaultKind::StrayCall { lift, floor, poses } => self.stray_call(lift, floor, *poses),
            FaultKind::PlcLink { lift, effect, for_ms } => {
                self.plc_links.insert(lift.clone(), (*effect, now + *for_ms));
            }
            FaultKind::Plant(trouble) => self.sim.handle(SimEvent::Troubled(trouble.clone()), now),
        }
    }

    pub(super) fn kill_node(&mut self, idx: usize, away: Millis) {
        let Some(node) = self.nodes.get_mut(idx) else { return };
        if node.control.take().is_some() {
            node.life += 1;
            node.clock.wake();
            self.checkers.node_died(idx);
            self.post.send(self.now + away, Parcel::NodeUp { node: idx });
        }
    }

    /// Whatever was to start it again finds nothing to start.
    fn lose_node(&mut self, id: &NodeId) {
        let Some(idx) = self.nodes.iter().position(|it| it.id == *id) else { return };
        if let Some(node) = self.nodes.get_mut(idx) {
            node.gone = true;
        }
        self.kill_node(idx, Millis(0));
    }

    pub(super) fn kill_gateway(&mut self, idx: usize, away: Millis) {
        let Some(machine) = self.gateways.get_mut(idx) else { return };
        if machine.gateway.take().is_some() {
            machine.life += 1;
            machine.clock.wake();
            self.post.send(self.now + away, Parcel::GatewayUp { gateway: idx });
        }
    }

    fn stop_node(&mut self, id: &NodeId, away: Millis) {
        let Some(idx) = self.nodes.iter().position(|it| it.id == *id) else { return };
        let Some(node) = self.nodes.get_mut(idx).filter(|it| it.control.is_some()) else { return };
        node.leaves_for = Some(away);
        let life = node.life;
        self.send_to_node(idx, life, Millis(0), kernel::control::Event::StopRequested);
    }

    fn step_clock(&mut self, machine: &Machine, by_ms: i64) {
        match machine {
            Machine::Node(id) => {
                if let Some(node) = self.nodes.iter_mut().find(|it| it.id == *id) {
                    node.clock.step(by_ms);
                }
            }
            Machine::Gateway(id) => {
                if let Some(gateway) = self.gateways.iter_mut().find(|it| it.id == *id) {
                    gateway.clock.step(by_ms);
                }
            }
            Machine::Store => {
                self.checkers.line_is_lost();
                self.store.step_clock(by_ms);
            }
            Machine::Broker => self.broker_step_ms = self.broker_step_ms.saturating_add(by_ms),
        }
    }

    fn cut_off(&mut self, id: &NodeId, until: kernel::time::Mono) {
        let Some(idx) = self.nodes.iter().position(|it| it.id == *id) else { return };
        if let Some(node) = self.nodes.get_mut(idx) {
            node.cut_off = node.cut_off.max(Some(until));
        }
        self.tell_broker(idx);
        self.post.send(until, Parcel::NodeReached { node: idx });
    }

    fn lose_broker(&mut self, until: kernel::time::Mono, forgets: bool) {
        self.broker_away = self.broker_away.max(Some(until));
        self.broker_paused = None;
        self.broker_life += u32::from(forgets);
        for vehicle in self.config.plant.vehicles.keys().cloned().collect::<Vec<_>>() {
            self.disconnect(&vehicle);
            let Some(session) = self.sessions.get_mut(&vehicle) else { continue };
            // A broker that starts again knows no connection from before, and speaks no last will for it.
            session.connection += 1;
            if forgets {
                session.kept.clear();
                self.retained.remove(&vehicle);
            }
        }
        for idx in 0..self.nodes.len() {
            self.tell_broker(idx);
        }
        self.post.send(until, Parcel::BrokerBack);
    }
}
