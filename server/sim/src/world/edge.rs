//! How gateways hear of the lease store, and how a stranger speaks to one that arbitrates.

use kernel::control::Event;
use kernel::gateway;
use kernel::ids::{CommandId, FloorId, Generation, LiftId, NodeId, SessionId, TaskId};
use kernel::lift::LiftAction;
use kernel::timing::LIFT_COMMAND_VALIDITY;
use kernel::wire::gateway::{Authority, ControlBeat, GatewayCommand, LiftCommand, SessionRef};

use super::World;
use super::leases::STORE_TIMEOUT;
use super::perform::STORE_LEG;
use super::post::Parcel;
use crate::fault::Road;

impl World {
    /// Every node's beat reaches every gateway.
    pub(super) fn beat_gateways(&mut self, beat: &ControlBeat) {
        for gateway in 0..self.gateways.len() {
            self.carry(Road::GatewayBeat, Parcel::NodeBeat { gateway, beat: Box::new(beat.clone()) });
        }
    }

    pub(super) fn beat_arrives(&mut self, idx: usize, beat: ControlBeat) {
        let hears = self.has_uplink(idx);
        if let Some(machine) = self.gateways.get(idx).filter(|it| hears && it.gateway.is_some()) {
            self.checkers.beat_heard(self.now, &machine.id, &beat);
            self.with_gateway(idx, gateway::Event::Beat(beat));
        }
    }

    /// A node's shell looks whether the lease store is there.
    pub(super) fn probe_store(&mut self, idx: usize) {
        let Some(node) = self.nodes.get(idx) else { return };
        let (life, reached) = (node.life, self.store.reaches(&node.id, self.now));
        let wait = if reached { STORE_LEG.times(2) } else { STORE_TIMEOUT };
        self.send_to_node(idx, life, wait, Event::StoreProbed { reached });
    }

    /// What a gateway has made durable says who arbitrates at its lifts.
    pub(super) fn note_arbitration(&mut self, idx: usize) {
        let Some(machine) = self.gateways.get(idx) else { return };
        for (lift, kept) in &machine.marks.lifts {
            self.checkers.arbitrates(self.now, &machine.id, lift, (kept.arbitration, kept.epoch));
        }
    }

    pub(super) fn stray_call(&mut self, lift: &LiftId, floor: &FloorId, poses: bool) {
        let Some(command) = self.stray_command(lift, floor, poses) else { return };
        let Some(gateway) = self.config.plant.lifts.get(lift).map(|it| it.gateway.clone()) else { return };
        self.note(|| format!("a stranger sends {lift} to {floor}"));
        self.checkers.lift_commanded(self.now, &command);
        self.put_on_command_road(&gateway, GatewayCommand::Lift(command));
    }

    /// On the newest read that everybody heard, for the ride that the gateway knows or for the one after it.
    fn stray_command(&self, lift: &LiftId, floor: &FloorId, poses: bool) -> Option<LiftCommand> {
        let (idx, _) = self.gateway_of(lift)?;
        let machine = self.gateways.get(idx)?;
        let reading = machine.told.as_ref()?.lifts.iter().find(|it| it.lift == *lift)?;
        let known = machine.marks.lifts.get(lift)?.session;
        let session = SessionRef {
            session: SessionId::try_new("S-stray").ok()?,
            generation: if poses { known } else { known.next() },
            task: TaskId::try_new("T-stray").ok()?,
            claim: Generation(1),
            link: Generation(1),
            vehicle: self.config.plant.vehicles.keys().next()?.clone(),
        };
        Some(LiftCommand {
            id: CommandId::try_new("C-stray").ok()?,
            lift: lift.clone(),
            action: LiftAction::GoTo,
            floor: floor.clone(),
            holder: NodeId::try_new("stray").ok()?,
            sequence: 1,
            authority: Authority::Edge { epoch: reading.epoch },
            session,
            read: reading.read,
            expects: reading.status.as_ref()?.expectation(),
            valid_for_ms: LIFT_COMMAND_VALIDITY,
        })
    }
}
