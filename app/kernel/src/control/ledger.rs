//! The way to the ledger and back: nothing changes in memory, and nothing leaves, before it is durable.

use std::collections::BTreeSet;

use crate::ledger::{Conflict, Guard, Row};
use crate::task::{SuspendCause, TaskEvent};
use crate::time::Now;
use crate::timing::FOLLOW_POLL;
use crate::wire::ledger::{Entry, Record, SessionPhase};

use super::book::Touched;
use super::nodes::Leaving;
use super::{BatchId, Control, Effect, LEDGER_PAUSE, Lock};

impl Control {
    /// Proposes records together, unless something is already proposed about one of the locks or the ledger is away.
    pub(super) fn propose(&mut self, now: Now, locks: Vec<Lock>, records: Vec<Record>) -> Option<BatchId> {
        let behind = self.behind_until.is_some_and(|until| now.mono < until);
        // An order rests on its key alone, and nobody who places one has to wait for what others do.
        // A farewell rests on the run alone.
        let placing =
            matches!(records.as_slice(), [Record::OrderPlaced { .. }] | [Record::NodeStopped { .. }]);
        let paused = self.ledger_paused_until.is_some_and(|until| now.mono < until);
        if paused
            || (behind && !placing)
            || records.is_empty()
            || locks.iter().any(|lock| self.is_locked(lock))
        {
            return None;
        }
        self.batches += 1;
        let batch = BatchId(self.batches);
        self.locks.insert(batch, locks);
        let guards = self.guards(&records);
        self.effects.push_back(Effect::Append { batch, records, guards });
        Some(batch)
    }

    /// What these records rest on: that this run counts, and that nobody has moved what only one may.
    fn guards(&self, records: &[Record]) -> Vec<Guard> {
        let mut rows = BTreeSet::from([Row::Node(self.config.node.clone())]);
        for record in records {
            self.add_rows(record, &mut rows);
        }
        rows.into_iter().map(|row| Guard { expected: self.book.rows.value(&row), row }).collect()
    }

    fn add_rows(&self, record: &Record, rows: &mut BTreeSet<Row>) {
        match record {
            Record::NodeLost { node, .. } => rows.extend([Row::Node(node.clone())]),
            Record::OrderPlaced { idempotency_key, .. } => rows.extend([Row::Key(idempotency_key.clone())]),
            // Somebody may have asked for its withdrawal meanwhile, and who takes it back has to know how far it is.
            Record::TaskChanged { task, event: TaskEvent::Withdrawn { .. } }
            | Record::SessionRequested { task, .. } => {
                rows.extend([Row::Claim(task.clone()), Row::Step(task.clone())]);
            }
            Record::WithdrawalAsked { task } => rows.extend([Row::Step(task.clone())]),
            Record::TaskClaimed { task, .. }
            | Record::TaskChanged { task, .. }
            | Record::DifferenceFound { task, .. } => rows.extend([Row::Claim(task.clone())]),
            Record::VehicleAssigned { task, vehicle } => {
                rows.extend([Row::Claim(task.clone()), Row::Vehicle(vehicle.clone())]);
            }
            Record::CommandIssued { command } => {
                rows.extend(command.task.clone().map(Row::Claim));
                // Somebody may have asked for its withdrawal meanwhile.
                rows.extend(command.task.clone().map(Row::Step));
                // Openings of the link and commands count in one sequence.
                rows.insert(Row::Link(command.vehicle.clone()));
            }
            Record::LinkOpened { vehicle, .. } => rows.extend([Row::Link(vehicle.clone())]),
            Record::SessionChanged { session, phase, lift, .. } => {
                rows.extend(self.book.sessions.get(session).map(|it| Row::Claim(it.task.clone())));
                if *phase == SessionPhase::Granted {
                    rows.insert(Row::Lift(lift.clone()));
                }
            }
            Record::NodeStarted { .. } => rows.extend([Row::Site]),
            Record::LeaseStoreChanged { lift, .. } => rows.extend([Row::Store(lift.clone())]),
            Record::DrillEnded { drill, .. } => rows.extend([Row::Drill(drill.clone())]),
            Record::NodeStopped { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::ArbitrationChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::EdgeDecided { .. }
            | Record::DrillStarted { .. } => {}
        }
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
            self.take_in(entry);
            self.react(&entry.record, now);
        }
        self.forget_ended();
        self.answer_placed(batch);
    }

    /// Takes what other nodes appended. It is theirs to act on.
    pub(super) fn followed(&mut self, entries: &[Entry], now: Now) {
        self.behind_until = None;
        for entry in entries {
            self.take_in(entry);
            match &entry.record {
                Record::NodeStarted { .. } if entry.node == self.config.node => self.superseded(),
                Record::NodeStarted { .. } => self.peer_started(&entry.node, now),
                Record::NodeLost { node, run } if *node == self.config.node && *run == self.run => {
                    self.run_is_over();
                }
                Record::TaskChanged { task, event } => self.heard_by_others(task, event),
                Record::LeaseStoreChanged { lift, .. } => self.store_changed(lift, now),
                Record::DrillStarted { .. } | Record::DrillEnded { .. } => self.drill_recorded(&entry.record),
                Record::NodeStopped { .. }
                | Record::NodeLost { .. }
                | Record::OrderPlaced { .. }
                | Record::TaskClaimed { .. }
                | Record::VehicleAssigned { .. }
                | Record::CommandIssued { .. }
                | Record::WithdrawalAsked { .. }
                | Record::LinkOpened { .. }
                | Record::SessionRequested { .. }
                | Record::SessionChanged { .. }
                | Record::AlarmRaised { .. }
                | Record::AlarmCleared { .. }
                | Record::DifferenceFound { .. }
                | Record::ArbitrationChanged { .. }
                | Record::ForeignMoved { .. }
                | Record::EdgeDecided { .. } => {}
            }
        }
        self.forget_ended();
    }

    fn take_in(&mut self, entry: &Entry) {
        match self.book.apply(entry) {
            Ok(touched) => self.touched.extend(touched),
            Err(reason) => self.reject("ledger", &reason),
        }
    }

    fn forget_ended(&mut self) {
        self.deliveries.retain(|id, _| self.book.open.contains(id));
        self.reported.retain(|id, _| self.book.open.contains(id));
    }

    /// Another process runs under this node's name: one of the two has to go, and the ledger knows the other.
    fn superseded(&mut self) {
        self.run_is_over();
        self.left();
        self.effects.push_back(Effect::Superseded);
    }

    /// The ledger has moved on since this node read it: what it proposed was not stored, and is decided anew once the
    /// rest was followed.
    pub(super) fn conflicted(&mut self, batch: BatchId, conflict: &Conflict, now: Now) {
        self.locks.remove(&batch);
        self.behind_until = Some(now.mono + FOLLOW_POLL);
        match conflict.guard.row {
            Row::Key(_) => self.contest(batch, now),
            Row::Site
            | Row::Node(_)
            | Row::Claim(_)
            | Row::Step(_)
            | Row::Vehicle(_)
            | Row::Link(_)
            | Row::Lift(_)
            | Row::Store(_)
            | Row::Drill(_) => {
                self.answer_unplaced(
                    batch,
                    "this node was taken for lost and is about to begin anew; try again",
                );
            }
        }
    }

    pub(super) fn append_failed(&mut self, batch: BatchId, reason: &str, now: Now) {
        self.locks.remove(&batch);
        self.ledger_paused_until = Some(now.mono + LEDGER_PAUSE);
        // It cannot be told: the others will find out.
        if self.leaving == Leaving::Asked {
            self.left();
        }
        self.touched.insert(Touched::Node);
        self.answer_unplaced(batch, reason);
    }

    /// Does what a durable record asks for. Nothing leaves before this.
    fn react(&mut self, record: &Record, now: Now) {
        match record {
            Record::NodeStarted { run, .. } => {
                self.run = *run;
                self.touched.insert(Touched::Node);
            }
            Record::NodeStopped { .. } => {
                self.run_is_over();
                self.left();
            }
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
            | Record::NodeLost { .. }
            | Record::TaskChanged { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::WithdrawalAsked { .. }
            | Record::SessionRequested { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::ArbitrationChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::DifferenceFound { .. } => {}
            Record::LeaseStoreChanged { lift, .. } => self.store_changed(lift, now),
            Record::EdgeDecided { .. } => self.edge_recorded(record),
            Record::DrillStarted { .. } | Record::DrillEnded { .. } => self.drill_recorded(record),
        }
    }

    pub(super) fn reject(&mut self, topic: &str, reason: &str) {
        self.messages_rejected += 1;
        self.rejections.add();
        self.last_rejection = Some(format!("{topic}: {reason}"));
        self.touched.insert(Touched::Node);
    }

    /// It takes what this node proposes: it is there, and this run counts.
    pub(super) fn ledger_writable(&self) -> bool {
        self.ledger_paused_until.is_none() && self.run > 0
    }
}
