//! Orders that are taken back: nothing moves them any more, and what was refused goes on.

use std::collections::{BTreeMap, BTreeSet};

use kernel::control::RequestId;
use kernel::ids::{OrderId, TaskId};
use kernel::task::TaskEvent;
use kernel::wire::ledger::{Entry, Record};

use crate::loads::LoadBook;

/// Which orders were taken back: by the ledger, and by the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct WithdrawalWatch {
    orders: BTreeMap<TaskId, OrderId>,
    asked: BTreeSet<OrderId>,
    answered: BTreeSet<RequestId>,
    withdrawn: BTreeSet<OrderId>,
    refused: BTreeSet<OrderId>,
}

impl WithdrawalWatch {
    /// Somebody takes an order back.
    pub(super) fn asked(&mut self, order: &OrderId) {
        self.asked.insert(order.clone());
    }

    /// Takes an entry; says what is withdrawn that must not be.
    pub(super) fn recorded(&mut self, entry: &Entry) -> Option<String> {
        if let Record::OrderPlaced { order, task, .. } = &entry.record {
            self.orders.insert(task.clone(), order.id.clone());
        }
        let Record::TaskChanged { task, event: TaskEvent::Withdrawn { .. } } = &entry.record else {
            return None;
        };
        let order = self.orders.get(task)?;
        self.withdrawn.insert(order.clone());
        if !self.asked.contains(order) {
            return Some(format!("{order} is withdrawn, and nobody took it back"));
        }
        self.refused.contains(order).then(|| format!("{order} is withdrawn after that was refused"))
    }

    /// A node answers a request; `told` is the order, and whether it is withdrawn, if that is its last word.
    pub(super) fn answered(&mut self, request: RequestId, told: Option<(&OrderId, bool)>) -> Option<String> {
        if !self.answered.insert(request) {
            return Some(format!("withdrawal {} is answered twice", request.0));
        }
        match told? {
            (order, true) => (!self.withdrawn.contains(order))
                .then(|| format!("{order} is said to be withdrawn, and the ledger does not have it")),
            (order, false) => {
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
