//! Orders: judged here, answered only after the ledger has them.

use std::collections::BTreeMap;

use crate::ids::{OrderId, TaskId};
use crate::plant::Plant;
use crate::route::{self, Pace};
use crate::time::{Millis, Mono, Now};
use crate::wire::ledger::Record;
use crate::wire::rest::{OrderRefusal, PlaceOrder, TransportOrder};

use super::names::name_stem;
use super::nodes::Leaving;
use super::{Accepted, BatchId, Control, Effect, Lock, RequestId};

/// Orders that are not over. A WMS that sends more is told to wait; a fleet of 500 works on a tenth of it.
pub(super) const OPEN_ORDERS_MAX: usize = 5_000;

/// An order that is on its way to the ledger.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingOrder {
    key: String,
    fingerprint: String,
    order: OrderId,
    task: TaskId,
    /// Who asked. A repeat that comes meanwhile waits for the same answer.
    requests: Vec<RequestId>,
}

/// An order whose key another node used at the same time: answered when the ledger was followed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contested {
    pending: PendingOrder,
    since: Mono,
}

/// A key that the ledger knows and this node does not is of an order that ended long ago, if following has not brought
/// it by then: many polls of the ledger.
const CONTEST_MAX: Millis = Millis::seconds(3);

impl Control {
    pub(super) fn order_requested(
        &mut self,
        request: RequestId,
        order: &PlaceOrder,
        key: String,
        fingerprint: String,
        now: Now,
    ) {
        if let Some(answer) = self.known_key(request, &key, &fingerprint) {
            self.answer(request, answer);
            return;
        }
        if self.pending_orders.values().any(|it| it.key == key)
            || self.contested.iter().any(|it| it.pending.key == key)
        {
            return;
        }
        if let Err(refusal) = self.judge(order) {
            self.answer(request, Err(refusal));
            return;
        }
        match self.propose_order(request, order, key, fingerprint, now) {
            Ok(()) => {}
            Err(refusal) => self.answer(request, Err(refusal)),
        }
    }

    /// The answer to a key that was used before; a repeat of one that is on its way joins it and gets none yet.
    fn known_key(
        &mut self,
        request: RequestId,
        key: &str,
        fingerprint: &str,
    ) -> Option<Result<Accepted, OrderRefusal>> {
        if let Some(known) = self.book.keys.get(key) {
            if known.fingerprint != fingerprint {
                return Some(Err(OrderRefusal::KeyReused(known.order.clone())));
            }
            let accepted = Accepted { order: known.order.clone(), task: known.task.clone(), repeated: true };
            return Some(Ok(accepted));
        }
        let contested = self.contested.iter_mut().map(|it| &mut it.pending);
        let pending = self.pending_orders.values_mut().chain(contested).find(|it| it.key == key)?;
        if pending.fingerprint != fingerprint {
            return Some(Err(OrderRefusal::KeyReused(pending.order.clone())));
        }
        pending.requests.push(request);
        None
    }

    fn judge(&self, order: &PlaceOrder) -> Result<(), OrderRefusal> {
        let reference_length = order.reference.as_ref().map_or(0, |text| text.chars().count());
        if order.priority > PlaceOrder::PRIORITY_MAX {
            return Err(OrderRefusal::PriorityTooHigh(order.priority));
        }
        if reference_length > PlaceOrder::REFERENCE_LENGTH_MAX {
            return Err(OrderRefusal::ReferenceTooLong(reference_length));
        }
        can_carry(&self.plant, order)?;
        let n_open = self.book.open_tasks().count() + self.pending_orders.len();
        if n_open >= OPEN_ORDERS_MAX {
            return Err(OrderRefusal::TooMany(n_open));
        }
        Ok(())
    }

    fn propose_order(
        &mut self,
        request: RequestId,
        order: &PlaceOrder,
        key: String,
        fingerprint: String,
        now: Now,
    ) -> Result<(), OrderRefusal> {
        let unavailable = |text: &str| OrderRefusal::LedgerUnavailable(text.to_owned());
        if self.leaving != Leaving::No {
            return Err(unavailable("this node is stopping; ask another one"));
        }
        if self.run == 0 {
            return Err(unavailable("it has not taken this node's start yet; try again"));
        }
        let node = &self.config.node;
        // What an earlier run left on its way may have reached the ledger after this one had read it.
        let given = self.book.numbered.get(node).copied().unwrap_or_default();
        let number = self.numbers.max(given) + 1;
        let name = |prefix: &str| format!("{}{number}", name_stem(prefix, node));
        let id = OrderId::try_new(&name("O")).map_err(|error| unavailable(&error.to_string()))?;
        let task = TaskId::try_new(&name("T")).map_err(|error| unavailable(&error.to_string()))?;
        let accepted = TransportOrder {
            id: id.clone(),
            from: order.from.clone(),
            to: order.to.clone(),
            priority: order.priority,
            deadline: order.deadline,
            reference: order.reference.clone(),
        };
        let record = Record::OrderPlaced {
            order: accepted,
            task: task.clone(),
            idempotency_key: key.clone(),
            fingerprint: fingerprint.clone(),
        };
        let Some(batch) = self.propose(now, vec![Lock::Order(key.clone())], vec![record]) else {
            return Err(unavailable("it did not take the last entry; try again"));
        };
        self.numbers = number;
        let pending = PendingOrder { key, fingerprint, order: id, task, requests: vec![request] };
        self.pending_orders.insert(batch, pending);
        Ok(())
    }

    pub(super) fn answer_placed(&mut self, batch: BatchId) {
        let Some(pending) = self.pending_orders.remove(&batch) else { return };
        for (idx, request) in pending.requests.into_iter().enumerate() {
            let accepted =
                Accepted { order: pending.order.clone(), task: pending.task.clone(), repeated: idx > 0 };
            self.answer(request, Ok(accepted));
        }
    }

    pub(super) fn contest(&mut self, batch: BatchId, now: Now) {
        let pending = self.pending_orders.remove(&batch);
        self.contested.extend(pending.map(|pending| Contested { pending, since: now.mono }));
    }

    /// Answers orders whose keys were used elsewhere, as soon as it is known for what.
    pub(super) fn drive_contested(&mut self, now: Now) {
        for contested in std::mem::take(&mut self.contested) {
            let known = self.book.keys.get(&contested.pending.key).cloned();
            let answer = match known {
                None if now.mono.since(contested.since) < CONTEST_MAX => {
                    self.contested.push(contested);
                    continue;
                }
                None => Err(OrderRefusal::KeyForgotten),
                Some(known) if known.fingerprint != contested.pending.fingerprint => {
                    Err(OrderRefusal::KeyReused(known.order))
                }
                Some(known) => Ok(Accepted { order: known.order, task: known.task, repeated: true }),
            };
            for request in contested.pending.requests {
                self.answer(request, answer.clone());
            }
        }
    }

    pub(super) fn answer_unplaced(&mut self, batch: BatchId, reason: &str) {
        let Some(pending) = self.pending_orders.remove(&batch) else { return };
        for request in pending.requests {
            self.answer(request, Err(OrderRefusal::LedgerUnavailable(reason.to_owned())));
        }
    }

    fn answer(&mut self, request: RequestId, answer: Result<Accepted, OrderRefusal>) {
        self.effects.push_back(Effect::Answer { request, answer });
    }
}

/// Some vehicle of the fleet can fetch the load and bring it.
fn can_carry(plant: &Plant, order: &PlaceOrder) -> Result<(), OrderRefusal> {
    let station = |id: &crate::ids::StationId| {
        plant.stations.get(id).map(|it| &it.point).ok_or_else(|| OrderRefusal::UnknownStation(id.clone()))
    };
    let (from, to) = (station(&order.from)?, station(&order.to)?);
    if order.from == order.to {
        return Err(OrderRefusal::SameStation(order.from.clone()));
    }
    let line = BTreeMap::new();
    let carries = plant.vehicles.values().any(|vehicle| {
        let pace = Pace::of(vehicle);
        let fetches = route::way(plant, &vehicle.home, from, pace, &line);
        fetches.is_some() && route::way(plant, from, to, pace, &line).is_some()
    });
    if carries { Ok(()) } else { Err(OrderRefusal::Unreachable(order.from.clone(), order.to.clone())) }
}
