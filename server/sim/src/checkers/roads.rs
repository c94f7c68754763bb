//! What a vehicle begins: once, and under a link that was opened on the connection that stands.

use std::collections::{BTreeMap, BTreeSet};

use kernel::ids::{CommandId, Generation, TaskId};
use kernel::wire::vehicle::{Instruction, VehicleCommand};

use super::Checker;

#[derive(Clone, Debug, Default)]
pub(super) struct VehicleWatch {
    connection: u32,
    /// Links that were offered, by the command that offers them.
    offered: BTreeMap<CommandId, Generation>,
    /// The link that was opened on this connection.
    open: Option<Generation>,
    begun: BTreeSet<CommandId>,
    claims: BTreeMap<TaskId, Generation>,
}

impl VehicleWatch {
    pub(super) fn connected(&mut self, connection: u32) {
        self.connection = connection;
        self.open = None;
    }

    pub(super) fn heard(
        &mut self,
        command: &VehicleCommand,
        connection: u32,
        began: bool,
    ) -> Vec<(Checker, String)> {
        if command.instruction == Instruction::OpenLink {
            self.offered.insert(command.id.clone(), command.link);
            if connection == self.connection && self.open.is_none_or(|open| command.link > open) {
                self.open = Some(command.link);
            }
            return Vec::new();
        }
        if !began {
            return Vec::new();
        }
        let mut found = Vec::new();
        if !self.begun.insert(command.id.clone()) {
            found.push((Checker::NothingTwice, format!("{} begins {} again", command.vehicle, command.id)));
        }
        if self.open != Some(command.link) {
            let detail = format!(
                "{} begins {} of link {}, open is {:?}",
                command.vehicle,
                command.id,
                command.link,
                self.open.map(|it| it.0)
            );
            found.push((Checker::NothingStale, detail));
        }
        if let Some(task) = &command.task {
            let highest = self.claims.entry(task.clone()).or_default();
            if command.claim < *highest {
                let detail = format!("{} begins {} of an older claim", command.vehicle, command.id);
                found.push((Checker::NothingStale, detail));
            }
            *highest = (*highest).max(command.claim);
        }
        found
    }

    pub(super) fn accepted(&mut self, command: &CommandId, connection: u32) {
        if connection == self.connection
            && let Some(link) = self.offered.get(command)
        {
            self.open = Some(self.open.map_or(*link, |open| open.max(*link)));
        }
    }
}
