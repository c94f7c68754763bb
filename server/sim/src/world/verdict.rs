//! How a world ends: every order over, or standing with an alarm, within its bound.

use std::any::Any;

use kernel::alarm::{Alarm, AlarmKind, Subject};
use kernel::control::{Book, TaskBook};
use kernel::ids::TaskId;
use kernel::plant::Plant;
use kernel::task::TaskState;
use kernel::time::{Millis, Mono};

use super::World;
use crate::checkers::Checker;
use crate::checkers::{handled, unfollowed_wish};

/// An order that stands with an alarm for so long waits for a person: longer than any wait for a redelivery, and than
/// the acknowledgement deadline.
const ALARM_STANDS: Millis = Millis::seconds(120);

/// How the orders of a world stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Orders that the WMS wanted placed.
    pub planned: usize,
    /// Completed tasks.
    pub completed: usize,
    /// Tasks that failed, or were withdrawn and left nothing behind.
    pub ended: usize,
    /// Open tasks that a standing alarm speaks of.
    pub alarmed: usize,
    /// Neither ended nor spoken of.
    pub open: usize,
    /// Orders that the WMS has yet to take back, or to hear of.
    pub unanswered: usize,
}

impl Ending {
    /// Every order is completed, failed or withdrawn.
    pub fn is_over(&self) -> bool {
        self.completed + self.ended >= self.planned
    }

    /// Nothing is left to wait for.
    pub fn is_settled(&self) -> bool {
        self.open + self.unanswered == 0 && self.completed + self.ended + self.alarmed >= self.planned
    }
}

impl World {
    /// What the node holds that has followed the ledger furthest.
    pub(super) fn newest_book(&self) -> Option<&Book> {
        self.nodes
            .iter()
            .filter_map(|it| it.control.as_ref())
            .map(|it| it.book())
            .max_by_key(|it| it.sequence)
    }

    /// How the orders stand now, by the node that has followed the ledger furthest.
    pub fn ending(&self) -> Ending {
        let unanswered = self.orders.iter().filter(|it| it.withdrawing.is_open()).count();
        let mut ending = Ending { planned: self.orders.len(), unanswered, ..Ending::default() };
        let Some(book) = self.newest_book() else { return ending };
        for (id, task) in &book.tasks {
            match &task.state {
                TaskState::Completed => ending.completed += 1,
                TaskState::Failed { .. } => ending.ended += 1,
                TaskState::Withdrawn { .. } if self.is_free_of(book, id, task) => ending.ended += 1,
                TaskState::Withdrawn { .. }
                | TaskState::Created
                | TaskState::Issued { .. }
                | TaskState::Acknowledged { .. }
                | TaskState::Executing { .. }
                | TaskState::Suspended { .. } => {
                    let waits_for_all = task.vehicle.is_none() && everybody_is_alarmed(self.plant(), book);
                    if waits_for_all || is_alarmed(book, id, task) {
                        ending.alarmed += 1;
                    } else {
                        ending.open += 1;
                    }
                }
            }
        }
        ending
    }

    /// Runs on until every order is settled, at most for `bound`, then compares everything that can be compared.
    pub fn finish(&mut self, bound: Millis) -> Ending {
        let end = self.now + bound;
        let mut next_look = self.now;
        let mut settled_since = None;
        while self.now < end && self.checkers.violations().is_empty() {
            if self.now >= next_look {
                next_look = self.now + Millis::seconds(1);
                let ending = self.ending();
                if !ending.is_settled() {
                    settled_since = None;
                } else if ending.alarmed == 0 || self.has_stood_since(&mut settled_since) {
                    break;
                }
            }
            self.step();
        }
        let ending = self.ending();
        if !ending.is_settled() && self.checkers.violations().is_empty() {
            let detail = format!("after {bound}: {ending:?}");
            self.checkers.report(Checker::OrdersEnd, self.now, detail);
        }
        let left = self.newest_book().and_then(|it| unfollowed_wish(it, self.plant(), &self.sim, self.now));
        if let Some(detail) = left {
            self.checkers.report(Checker::WithdrawnIsOver, self.now, detail);
        }
        self.compare();
        ending
    }

    /// The machines that ran here stopped in the middle of something.
    pub(crate) fn panicked(&mut self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        self.checkers.panicked(self.now, text.unwrap_or_else(|| "without a word".to_owned()));
    }

    /// What stands with an alarm may still go on by itself, and is given its time.
    fn has_stood_since(&self, settled_since: &mut Option<Mono>) -> bool {
        let since = *settled_since.get_or_insert(self.now);
        self.now.since(since) >= ALARM_STANDS
    }

    /// Compares memory with ledger, screens with state, completed tasks with loads.
    pub fn compare(&mut self) {
        self.checkers.second(self.now, &self.sim);
        for idx in 0..self.nodes.len() {
            self.look_around(idx);
            let snapshot = self.snapshot_of(idx);
            if let Some(control) = self.nodes.get(idx).and_then(|it| it.control.as_ref()) {
                self.checkers.compare(self.now, (idx, control), self.ledger.entries(), snapshot);
            }
        }
        let handled = handled(&self.sim);
        let untrue = self.newest_book().into_iter().flat_map(|it| it.tasks.values()).find_map(|task| {
            let completed = task.state == TaskState::Completed;
            let counts = handled.get(&task.order.id).copied().unwrap_or_default();
            (completed && counts != (1, 1)).then(|| {
                format!("{} is completed, picked {} and dropped {} times", task.order.id, counts.0, counts.1)
            })
        });
        if let Some(detail) = untrue {
            self.checkers.report(Checker::LoadMovedOnce, self.now, detail);
        }
    }
}

/// Every vehicle that could come is spoken of, or has a task that is.
fn everybody_is_alarmed(plant: &Plant, book: &Book) -> bool {
    plant.vehicles.keys().all(|vehicle| {
        let spoken_of = |(alarm, _): &(Alarm, _)| alarm.subject == Subject::Vehicle(vehicle.clone());
        book.alarms.values().any(spoken_of)
            || book.task_of(vehicle).is_some_and(|(id, task)| is_alarmed(book, id, task))
    })
}

/// A standing alarm speaks of the task, of its vehicle, or of the lift that it waits for or rides in.
fn is_alarmed(book: &Book, id: &TaskId, task: &TaskBook) -> bool {
    let lifts: Vec<_> =
        book.sessions.values().filter(|it| it.task == *id).map(|it| it.lift.clone()).collect();
    // Whoever arbitrates, the lift goes on.
    let standing = book.alarms.values().filter(|(alarm, _)| alarm.kind != AlarmKind::LiftOnEdge);
    let mut standing = standing;
    standing.any(|(alarm, _)| match &alarm.subject {
        Subject::Task(subject) => subject == id,
        Subject::Vehicle(subject) => task.vehicle.as_ref() == Some(subject),
        Subject::Lift(subject) => lifts.contains(subject),
        Subject::Gateway(_) | Subject::Site => false,
    })
}
