//! What only one may have: a key one order, a claim's generation one node, a vehicle one open task.

use std::collections::{BTreeMap, BTreeSet};

use kernel::ids::{Generation, OrderId, TaskId, VehicleId};
use kernel::task::TaskState;
use kernel::wire::ledger::{Entry, Record};

use super::Checker;

/// A task that is not over.
#[derive(Clone, Debug)]
struct Open {
    state: TaskState,
    vehicle: Option<VehicleId>,
}

/// Whose is what, by the ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerWatch {
    keys: BTreeMap<String, OrderId>,
    claims: BTreeSet<(TaskId, Generation)>,
    open: BTreeMap<TaskId, Open>,
}

impl OwnerWatch {
    /// Takes an entry; says what has two owners by it.
    pub(super) fn recorded(&mut self, entry: &Entry) -> Option<(Checker, String)> {
        let detail = match &entry.record {
            Record::OrderPlaced { order, task, idempotency_key, .. } => {
                self.open.insert(task.clone(), Open { state: TaskState::Created, vehicle: None });
                let first = self.keys.insert(idempotency_key.clone(), order.id.clone());
                first.map(|first| format!("{idempotency_key} makes {} after {first}", order.id))
            }
            Record::TaskClaimed { task, generation } => {
                let fresh = self.claims.insert((task.clone(), *generation));
                (!fresh).then(|| format!("{task} is claimed twice under generation {generation}"))
            }
            Record::VehicleAssigned { task, vehicle } => self.assigned(task, vehicle),
            Record::TaskChanged { task, event } => {
                if let Some(open) = self.open.get_mut(task)
                    && let Ok(next) = open.state.next(event)
                {
                    open.state = next;
                }
                self.open.retain(|_, it| !it.state.is_terminal());
                None
            }
            Record::CommandIssued { command } => {
                let open = command.task.as_ref().and_then(|task| self.open.get_mut(task));
                let event = kernel::task::TaskEvent::CommandIssued { command: command.id.clone() };
                if let Some(open) = open
                    && let Ok(next) = open.state.next(&event)
                {
                    open.state = next;
                }
                None
            }
            Record::NodeStarted { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::LinkOpened { .. }
            | Record::WithdrawalAsked { .. }
            | Record::SessionRequested { .. }
            | Record::SessionChanged { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. }
            | Record::ArbitrationChanged { .. }
            | Record::LeaseStoreChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::EdgeDecided { .. }
            | Record::DrillStarted { .. }
            | Record::DrillEnded { .. } => None,
        };
        detail.map(|detail| (Checker::OneOwner, detail))
    }

    fn assigned(&mut self, task: &TaskId, vehicle: &VehicleId) -> Option<String> {
        if let Some(open) = self.open.get_mut(task) {
            open.vehicle = Some(vehicle.clone());
        }
        let other = self.open.iter().find(|(id, it)| *id != task && it.vehicle.as_ref() == Some(vehicle));
        other.map(|(other, _)| format!("{vehicle} is chosen for {task} and has {other} in hand"))
    }
}
