//! Death at a boundary: a machine that dies right after one of its effects, before it does anything else (C16).

use kernel::control;
use kernel::gateway;
use kernel::time::Millis;

use super::World;
use super::machine::Fuse;
use crate::fault::Machine;

impl World {
    /// Lets a node or gateway die right after the effect with this number, from 1 over all its lives, and starts it
    /// again after `away`. Of a node count the effects that a ledger, a lease store, a gateway or a WMS sees; of a
    /// gateway those on its disk, its PLCs and the vehicles, and the outcomes that it tells. A number that is reached
    /// already kills at once. Lease store and broker are no such machines, and nothing happens to them.
    pub fn kill_after(&mut self, machine: &Machine, effect: u64, away: Millis) {
        if let Some(fuse) = self.fuse(machine) {
            fuse.armed = Some((effect, away));
        }
        self.try_fuses();
    }

    /// How many effects of a machine [`World::kill_after`] has counted.
    pub fn effects_of(&mut self, machine: &Machine) -> u64 {
        self.fuse(machine).map_or(0, |it| it.n_effects)
    }

    /// Whether a machine has yet to die by [`World::kill_after`].
    pub fn is_to_die(&mut self, machine: &Machine) -> bool {
        self.fuse(machine).is_some_and(|it| it.armed.is_some())
    }

    fn fuse(&mut self, machine: &Machine) -> Option<&mut Fuse> {
        match machine {
            Machine::Node(id) => self.nodes.iter_mut().find(|it| it.id == *id).map(|it| &mut it.fuse),
            Machine::Gateway(id) => self.gateways.iter_mut().find(|it| it.id == *id).map(|it| &mut it.fuse),
            Machine::Store | Machine::Broker => None,
        }
    }

    fn try_fuses(&mut self) {
        for idx in 0..self.nodes.len() {
            self.try_node_fuse(idx);
        }
        for idx in 0..self.gateways.len() {
            self.try_gateway_fuse(idx);
        }
    }

    fn try_node_fuse(&mut self, idx: usize) {
        if let Some(away) = self.nodes.get_mut(idx).and_then(|it| it.fuse.blows()) {
            self.kill_node(idx, away);
        }
    }

    fn try_gateway_fuse(&mut self, idx: usize) {
        if let Some(away) = self.gateways.get_mut(idx).and_then(|it| it.fuse.blows()) {
            self.kill_gateway(idx, away);
        }
    }

    /// A node has done this: it may die of it.
    pub(super) fn node_did(&mut self, idx: usize, leaves: bool) {
        if let Some(node) = self.nodes.get_mut(idx).filter(|_| leaves) {
            node.fuse.n_effects += 1;
            self.try_node_fuse(idx);
        }
    }

    /// A gateway has done this: it may die of it.
    pub(super) fn gateway_did(&mut self, idx: usize, leaves: bool) {
        if let Some(machine) = self.gateways.get_mut(idx).filter(|_| leaves) {
            machine.fuse.n_effects += 1;
            self.try_gateway_fuse(idx);
        }
    }
}

/// By this effect something leaves the node that another machine goes on with.
pub(super) fn leaves_node(effect: &control::Effect) -> bool {
    use control::Effect as E;
    match effect {
        E::Append { .. }
        | E::SendVehicle { .. }
        | E::SendLift { .. }
        | E::AcquireLease { .. }
        | E::RenewLease(_)
        | E::ReleaseLease { .. }
        | E::OpenCall(_)
        | E::SettleCall { .. }
        | E::Answer { .. }
        | E::AnswerWithdrawal { .. } => true,
        E::Attend { .. } | E::Left | E::Superseded | E::ProbeStore | E::Beat(_) | E::Show(_) => false,
    }
}

/// By this effect something leaves the gateway that another machine, or its next run, goes on with.
pub(super) fn leaves_gateway(effect: &gateway::Effect) -> bool {
    use gateway::Effect as E;
    match effect {
        E::Persist(_) | E::Write { .. } | E::Tell(_) | E::Forward { .. } => true,
        E::Status(_) | E::Log { .. } => false,
    }
}
