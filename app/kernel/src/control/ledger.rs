//! The way to the ledger and back: nothing changes in memory, and nothing leaves, before it is durable.

use crate::task::{SuspendCause, TaskEvent};
use crate::time::Now;
use crate::wire::ledger::{Entry, Record};

use super::book::Touched;
use super::{BatchId, Control, Effect, LEDGER_PAUSE, Lock};

impl Control {
    /// Proposes records together, unless something is already proposed about one of the locks or the ledger is away.
    pub(super) fn propose(&mut self, now: Now, locks: Vec<Lock>, records: Vec<Record>) -> Option<BatchId> {
        let paused = self.ledger_paused_until.is_some_and(|until| now.mono < until);
        if paused || records.is_empty() || locks.iter().any(|lock| self.is_locked(lock)) {
            return None;
        }
        self.batches += 1;
        let batch = BatchId(self.batches);
        self.locks.insert(batch, locks);
        self.effects.push_back(Effect::Append { batch, records });
        Some(batch)
    }

    pub(super) fn is_locked(&self, lock: &Lock) -> bool {
        self.locks.values().any(|locks| locks.contains(lock))
    }

    pub(super) fn appended(&mut self, batch: BatchId, entries: &[Entry], now: Now) {
        if self.locks.remove(&batch).is_none() {
            self.reject("ledger", "a proposal came back twice");
            return;
        }
        if self.ledger_paused_until.take().is_some() {
            self.touched.insert(Touched::Node);
        }
        for entry in entries {
            match self.book.apply(entry) {
                Ok(touched) => self.touched.extend(touched),
                Err(reason) => self.reject("ledger", &reason),
            }
            self.react(&entry.record, now);
        }
        self.deliveries.retain(|id, _| self.book.open.contains(id));
        self.reported.retain(|id, _| self.book.open.contains(id));
        self.answer_placed(batch);
    }

    pub(super) fn append_failed(&mut self, batch: BatchId, reason: &str, now: Now) {
        self.locks.remove(&batch);
        self.ledger_paused_until = Some(now.mono + LEDGER_PAUSE);
        self.touched.insert(Touched::Node);
        self.answer_unplaced(batch, reason);
    }

    /// Does what a durable record asks for. Nothing leaves before this.
    fn react(&mut self, record: &Record, now: Now) {
        match record {
            Record::NodeStarted { run, .. } => self.run = *run,
            Record::CommandIssued { command } => {
                if let Some(task) = command.task.clone() {
                    self.deliver(&task, now);
                }
            }
            Record::TaskChanged { task, event: TaskEvent::Redelivered { .. } } => self.deliver(task, now),
            Record::TaskChanged { task, event: TaskEvent::Suspended { cause: SuspendCause::Link, .. } } => {
                self.begin_wait(task, now);
            }
            Record::LinkOpened { vehicle, .. } => self.open_link(vehicle, now),
            Record::SessionChanged { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::TaskChanged { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::SessionRequested { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. } => {}
            Record::DrillStarted { .. } | Record::DrillEnded { .. } => self.drill_recorded(record),
        }
    }

    pub(super) fn reject(&mut self, topic: &str, reason: &str) {
        self.messages_rejected += 1;
        self.rejections.add();
        self.last_rejection = Some(format!("{topic}: {reason}"));
        self.touched.insert(Touched::Node);
    }

    pub(super) fn ledger_writable(&self) -> bool {
        self.ledger_paused_until.is_none()
    }
}
