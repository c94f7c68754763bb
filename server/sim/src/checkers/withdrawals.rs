//! Orders that are taken back: nothing moves them any more, and what was refused goes on.

use std::collections::{BTreeMap, BTreeSet};

use kernel::control::{Book, RequestId, TakenBack, TaskBook};
use kernel::ids::{OrderId, TaskId};
use kernel::plant::Plant;
use kernel::task::{SuspendCause, TaskEvent, TaskState};
use kernel::time::Mono;
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::rest::WithdrawalRefusal;
use kernel::wire::vehicle::{Instruction, Place};

use crate::loads::LoadBook;
use crate::plant::SimPlant;

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
            Record::SessionRequested { session, task, .. } => {
                let order = self.orders.get(task).filter(|it| self.wished.contains(it))?;
                Some(format!("{order} is to be withdrawn, and asks for {session} after that"))
            }
            Record::TaskChanged { .. }
            | Record::NodeStarted { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::LinkOpened { .. }
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

/// At the end of a world: what was to be withdrawn after a ride that came to nothing, and still stands, although its
/// vehicle never boarded and stands clear of the lift.
pub(crate) fn unfollowed_wish(book: &Book, plant: &Plant, sim: &SimPlant, now: Mono) -> Option<String> {
    let left = |it: &&TaskBook| it.withdrawal_asked && never_boarded(it, plant, sim, now);
    let (_, task) = book.open_tasks().find(|(_, it)| left(it))?;
    Some(format!("{} is to be withdrawn, its vehicle never boarded, and it stands for ever", task.order.id))
}

fn never_boarded(task: &TaskBook, plant: &Plant, sim: &SimPlant, now: Mono) -> bool {
    let is_given_up =
        matches!(task.state, TaskState::Suspended { cause: SuspendCause::Fault | SuspendCause::Person, .. });
    let Some(command) = task.under_way().filter(|_| is_given_up) else { return false };
    let Instruction::Ride { lift, from, .. } = &command.instruction else { return false };
    let landing = plant.lifts.get(lift).and_then(|it| it.stop(from)).map(|it| &it.landing);
    let Some(vehicle) = sim.vehicle(&command.vehicle) else { return false };
    let knows = vehicle.working_on().is_some() || vehicle.has_completed(&command.id);
    let stands_clear = match vehicle.place(now) {
        Place::At { point } => landing != Some(&point),
        Place::Unknown | Place::Between { .. } | Place::InCar { .. } => false,
    };
    vehicle.radio_is_up() && !knows && stands_clear
}
