//! Orders that the WMS takes back: at any node, at any moment, and again until it has an answer.

use std::collections::BTreeMap;

use kernel::control::{Book, Event, RequestId, TakenBack, TaskBook};
use kernel::ids::{OrderId, TaskId};
use kernel::wire::rest::WithdrawalRefusal;
use kernel::wire::vehicle::Instruction;

use super::deliver::WMS_RETRY;
use super::perform::STORE_LEG;
use super::post::Parcel;
use super::{Placing, World};

/// How the WMS stands with taking one order back.
#[derive(Clone, Debug, Default)]
pub(super) struct Withdrawing {
    pub(super) wanted: bool,
    n_asked: usize,
    /// What it was asked last and has not been answered: which request, of which life of which node.
    open: Option<(RequestId, usize, u32)>,
    /// How far the order was when it was asked last.
    stage: Option<Stage>,
    /// A node died with a request in hand, which may yet have been stored.
    died: bool,
    is_over: bool,
}

/// How far an order is when somebody takes it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No vehicle has it.
    Waiting,
    /// A vehicle is on its way to the load, or about to take it up.
    Approaching,
    /// That vehicle waits in the line before a lift.
    InLine,
    /// That vehicle has a lift.
    Riding,
    /// The load is aboard.
    Loaded,
    /// The task has ended.
    Over,
}

/// What became of orders that were taken back, by how far they were when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withdrawals {
    /// Withdrawn.
    pub withdrawn: BTreeMap<Stage, u64>,
    /// To be withdrawn after a ride.
    pub asked: BTreeMap<Stage, u64>,
    /// Refused.
    pub refused: BTreeMap<Stage, u64>,
}

impl Withdrawals {
    /// Counts others in.
    pub fn add(&mut self, other: &Self) {
        for (sums, counts) in [
            (&mut self.withdrawn, &other.withdrawn),
            (&mut self.asked, &other.asked),
            (&mut self.refused, &other.refused),
        ] {
            for (stage, count) in counts {
                *sums.entry(*stage).or_default() += count;
            }
        }
    }
}

impl Withdrawing {
    /// The WMS has something to ask, or waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        self.wanted && !self.is_over
    }
}

impl World {
    /// The WMS takes back the order that it planned under this number, from 0: now, or once it was accepted.
    pub fn take_back(&mut self, planned: usize) {
        let Some(placing) = self.orders.get_mut(planned) else { return };
        placing.withdrawing.wanted = true;
        if placing.withdrawing.is_over {
            return;
        }
        self.post.send(self.now + WMS_RETRY, Parcel::TakeBack { planned });
        let lives: Vec<u32> = self.nodes.iter().map(|it| it.life).collect();
        let Some(placing) = self.orders.get_mut(planned) else { return };
        let Some(order) = placing.accepted.clone() else { return };
        let withdrawing = &mut placing.withdrawing;
        if let Some((_, node, life)) = withdrawing.open {
            if lives.get(node) == Some(&life) {
                return;
            }
            (withdrawing.open, withdrawing.died) = (None, true);
        }
        withdrawing.n_asked += 1;
        let turn = planned + withdrawing.n_asked;
        if let Some((node, life)) = self.node_that_is_up(turn) {
            self.ask_to_withdraw(planned, order, node, life);
        }
    }

    /// The same, except that so many nodes in turn are passed over before the first is asked.
    pub fn take_back_past(&mut self, planned: usize, n_passed: usize) {
        if let Some(placing) = self.orders.get_mut(planned) {
            placing.withdrawing.n_asked += n_passed;
        }
        self.take_back(planned);
    }

    fn ask_to_withdraw(&mut self, planned: usize, order: OrderId, node: usize, life: u32) {
        self.n_withdrawals += 1;
        let request = RequestId(self.n_withdrawals);
        let stage = self.newest_book().and_then(|it| stage_of(it, &order));
        self.note(|| format!("{order} is taken back, {}", stage.map_or("unknown", Stage::name)));
        self.checkers.withdrawal_asked(&order);
        if let Some(placing) = self.orders.get_mut(planned) {
            placing.withdrawing.open = Some((request, node, life));
            placing.withdrawing.stage = stage;
        }
        self.send_to_node(node, life, STORE_LEG, Event::WithdrawRequested { request, order });
    }

    /// The WMS hears. What it was refused because the order was not known there, or not to be stored, it asks again.
    pub(super) fn withdrawal_answered(
        &mut self,
        request: RequestId,
        answer: &Result<TakenBack, WithdrawalRefusal>,
    ) {
        self.note(|| format!("withdrawal {}: {answer:?}", request.0));
        let is_asked = |it: &&mut Placing| it.withdrawing.open.is_some_and(|(open, ..)| open == request);
        let Some(placing) = self.orders.iter_mut().find(is_asked) else {
            self.checkers.withdrawal_answered(self.now, request, None);
            return;
        };
        let withdrawing = &mut placing.withdrawing;
        withdrawing.open = None;
        withdrawing.is_over = match answer {
            Ok(_)
            | Err(
                WithdrawalRefusal::LoadOnItsWay(_)
                | WithdrawalRefusal::NeedsPerson(_)
                | WithdrawalRefusal::Over { .. },
            ) => true,
            Err(WithdrawalRefusal::Unknown(_) | WithdrawalRefusal::LedgerUnavailable(_)) => false,
        };
        let (order, is_over) = (placing.accepted.clone(), withdrawing.is_over);
        // Had a node died with an earlier request, that one may be stored after this was refused.
        let told = order.filter(|_| is_over && (answer.is_ok() || !withdrawing.died));
        if let Some(stage) = withdrawing.stage.filter(|_| is_over) {
            let counts = match answer {
                Ok(TakenBack::Withdrawn(_)) => &mut self.withdrawals.withdrawn,
                Ok(TakenBack::Asked(_)) => &mut self.withdrawals.asked,
                Err(_) => &mut self.withdrawals.refused,
            };
            *counts.entry(stage).or_default() += 1;
        }
        self.checkers.withdrawal_answered(self.now, request, told.as_ref().map(|it| (it, answer)));
    }

    /// What became of the orders that were taken back so far.
    pub fn withdrawals(&self) -> &Withdrawals {
        &self.withdrawals
    }

    /// Nobody has anything to do for a withdrawn task any more: its vehicle has finished what it was told, and no ride
    /// of it waits for a lift or holds one.
    pub(super) fn is_free_of(&self, book: &Book, id: &TaskId, task: &TaskBook) -> bool {
        let vehicle = task.vehicle.as_ref().and_then(|it| self.sim.vehicle(it));
        let at_work = vehicle.and_then(crate::vehicle::VehicleModel::working_on);
        let last = task.command.as_ref().map(|it| &it.id);
        book.session_for(id).is_none() && at_work.is_none_or(|it| last != Some(it))
    }
}

impl Stage {
    /// In the log.
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approaching => "approaching",
            Self::InLine => "in line",
            Self::Riding => "riding",
            Self::Loaded => "loaded",
            Self::Over => "over",
        }
    }
}

fn stage_of(book: &Book, order: &OrderId) -> Option<Stage> {
    let (id, task) = book.tasks.iter().find(|(_, it)| it.order.id == *order)?;
    let rides = task.under_way().is_some_and(|it| matches!(it.instruction, Instruction::Ride { .. }));
    Some(match book.session_for(id) {
        _ if task.state.is_terminal() => Stage::Over,
        _ if task.picked => Stage::Loaded,
        Some(session) if session.holds_lift() || rides => Stage::Riding,
        Some(_) => Stage::InLine,
        None if task.vehicle.is_some() => Stage::Approaching,
        None => Stage::Waiting,
    })
}
