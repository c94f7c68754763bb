//! Orders that are taken back: nothing moves them any more, and what was refused goes on.

use std::collections::{BTreeMap, BTreeSet};

use kernel::control::{RequestId, TakenBack};
use kernel::ids::{OrderId, TaskId};
use kernel::task::TaskEvent;
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::rest::WithdrawalRefusal;

use crate::loads::LoadBook;

/// Which orders were taken back: by the ledger, and by the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct WithdrawalWatch {
    orders: BTreeMap<TaskId, OrderId>,
    asked: BTreeSet<OrderId>,
    answered: BTreeSet<RequestId>,
    /// Those that were to be withdrawn after a ride, whatever became of them.
    wished: BTreeSet<OrderId>,
    withdrawn: BTreeSet<OrderId>,
    refused: BTreeSet<OrderId>,
}

impl WithdrawalWatch {
    /// Somebody takes an order back.
    pub(super) fn asked(&mut self, order: &OrderId) {
        self.asked.insert(order.clone());
    }

    /// Takes an entry; says what is withdrawn that must not be, and what goes on that is to be withdrawn.
    pub(super) fn recorded(&mut self, entry: &Entry) -> Option<String> {
        match &entry.record {
            Record::OrderPlaced { order, task, .. } => {
                self.orders.insert(task.clone(), order.id.clone());
                None
            }
            Record::WithdrawalAsked { task } => {
                let order = self.orders.get(task)?;
                let twice = !self.wished.insert(order.clone());
                let twice = twice.then(|| format!("{order} is to be withdrawn, and that is recorded twice"));
                twice.or_else(|| self.unasked(order))
            }
            Record::TaskChanged { task, event: TaskEvent::Withdrawn { .. } } => {
                let order = self.orders.get(task)?;
                self.withdrawn.insert(order.clone());
                self.unasked(order)
            }
            Record::CommandIssued { command } => {
                let order = self.orders.get(command.task.as_ref()?).filter(|it| self.wished.contains(it))?;
                Some(format!("{order} is to be withdrawn, and {} leaves after that", command.id))
            }
            Record::TaskChanged { .. }
            | Record::NodeStarted { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::LinkOpened { .. }
            | Record::SessionRequested { .. }
            | Record::SessionChanged { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. }
            | Record::ArbitrationChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::EdgeDecided { .. }
            | Record::DrillStarted { .. }
            | Record::DrillEnded { .. } => None,
        }
    }

    /// What is withdrawn, or to be, without a reason.
    fn unasked(&self, order: &OrderId) -> Option<String> {
        if !self.asked.contains(order) {
            return Some(format!("{order} is withdrawn, and nobody took it back"));
        }
        self.refused.contains(order).then(|| format!("{order} is withdrawn after that was refused"))
    }

    /// A node answers a request; `told` is the order and the answer, if that is its last word.
    pub(super) fn answered(
        &mut self,
        request: RequestId,
        told: Option<(&OrderId, &Result<TakenBack, WithdrawalRefusal>)>,
    ) -> Option<String> {
        if !self.answered.insert(request) {
            return Some(format!("withdrawal {} is answered twice", request.0));
        }
        let (order, answer) = told?;
        match answer {
            Ok(TakenBack::Withdrawn(_)) => (!self.withdrawn.contains(order))
                .then(|| format!("{order} is said to be withdrawn, and the ledger does not have it")),
            Ok(TakenBack::Asked(_)) => (!self.wished.contains(order))
                .then(|| format!("{order} is said to be withdrawn later, and the ledger does not have it")),
            Err(_) => {
                self.refused.insert(order.clone());
                let both = self.withdrawn.contains(order);
                both.then(|| format!("{order} is withdrawn, and that is refused"))
            }
        }
    }

    /// A load that was touched although its order is withdrawn.
    pub(super) fn moved(&self, loads: &LoadBook) -> Option<String> {
        let moved = self.withdrawn.iter().find(|it| loads.get(it).is_some())?;
        Some(format!("{moved} is withdrawn, and its load was moved"))
    }
}
