//! What the ledger says: the fold of its entries. Every node applies all entries in ledger order and so holds the
//! same book.

mod parts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, Utc};

use super::names::{name_stem, number_in};
use super::nodes::{NodeBook, NodeEnd};
use crate::alarm::Alarm;
use crate::ids::{
    AlarmId, CommandId, FloorId, Generation, LedgerSequence, LiftId, NodeId, SessionId, SiteId, TaskId,
    VehicleId,
};
use crate::lease::StoreLife;
use crate::ledger::{Row, Rows};
use crate::task::{TaskEvent, TaskState};
use crate::wire::drill::DrillView;
use crate::wire::gateway::Arbitration;
use crate::wire::ledger::{Entry, Record, SessionPhase};
use crate::wire::rest::TransportOrder;
use crate::wire::vehicle::{Instruction, Operation, VehicleCommand};

pub(super) use parts::Touched;
pub use parts::{KeyUse, LinkBook, SessionBook, TaskBook};

/// Ended tasks that stay in memory, so that a late report or a repeated order finds them. A site with 200 vehicles
/// ends fewer in a day.
pub const ENDED_TASKS_MAX: usize = 10_000;

/// What every node holds alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Book {
    /// The last entry that was applied.
    pub sequence: LedgerSequence,
    /// Whose ledger it is; none before the first start.
    pub site: Option<SiteId>,
    /// The nodes that ever started.
    pub nodes: BTreeMap<NodeId, NodeBook>,
    /// What conditional writes rest on.
    pub rows: Rows,
    /// The highest number in an order's name that each node has given.
    pub numbered: BTreeMap<NodeId, u64>,
    /// Open tasks, and the [`ENDED_TASKS_MAX`] that ended last.
    pub tasks: BTreeMap<TaskId, TaskBook>,
    /// Of open tasks: there are few of them among many that ended.
    pub open: BTreeSet<TaskId>,
    /// The open task of each vehicle that has one.
    pub carriers: BTreeMap<VehicleId, TaskId>,
    /// Of ended tasks, oldest first.
    pub ended: VecDeque<TaskId>,
    /// Idempotency keys of the tasks above.
    pub keys: BTreeMap<String, KeyUse>,
    /// Link and command sequence of each vehicle that ever had one.
    pub links: BTreeMap<VehicleId, LinkBook>,
    /// Rides that are not over.
    pub sessions: BTreeMap<SessionId, SessionBook>,
    /// The last session generation of each lift.
    pub lift_generations: BTreeMap<LiftId, Generation>,
    /// Who arbitrates at each lift, and under which epoch, where that ever changed.
    pub arbitrations: BTreeMap<LiftId, (Arbitration, u32)>,
    /// By which life the store of each lift's leases goes, and how often that changed.
    pub stores: BTreeMap<LiftId, (StoreLife, u64)>,
    /// The last movement that nobody commanded at each lift: the gateway's run, and its count in that.
    pub foreign_moves: BTreeMap<LiftId, (u64, u64)>,
    /// The standing ones.
    pub alarms: BTreeMap<AlarmId, (Alarm, DateTime<Utc>)>,
    /// Those that stand and those that ended last, the oldest first.
    pub drills: VecDeque<DrillView>,
}

impl Book {
    /// Applies one entry and tells what it touched.
    ///
    /// # Errors
    /// An entry is a fact; one that does not fit changes nothing, and the text says what does not fit.
    pub fn apply(&mut self, entry: &Entry) -> Result<Vec<Touched>, String> {
        self.sequence = entry.sequence;
        self.rows.apply(&entry.node, &entry.record);
        match &entry.record {
            Record::NodeStarted { run, site } => {
                if let Some(known) = self.site.as_ref().filter(|known| *known != site) {
                    return Err(format!(
                        "it begins a run of site {site}, the ledger belongs to site {known}"
                    ));
                }
                self.site = Some(site.clone());
                self.nodes.insert(entry.node.clone(), NodeBook { run: *run, end: None, since: entry.at });
                Ok(vec![Touched::Nodes])
            }
            Record::NodeStopped { run } => Ok(self.end_run(entry, &entry.node, *run, NodeEnd::Stopped)),
            Record::NodeLost { node, run } => Ok(self.end_run(entry, node, *run, NodeEnd::Lost)),
            Record::OrderPlaced { order, task, idempotency_key, fingerprint } => {
                if self.tasks.contains_key(task) {
                    return Err(format!("there is a task {task} already"));
                }
                Ok(self.place(entry, order, task, idempotency_key, fingerprint))
            }
            Record::TaskClaimed { task, generation } => {
                let run = self.run_of(&entry.node);
                let mut touched = self.with_task(task, |book| {
                    book.claimed_by = Some(entry.node.clone());
                    book.claimed_in = run;
                    book.claim = *generation;
                })?;
                touched.push(Touched::Nodes);
                Ok(touched)
            }
            Record::VehicleAssigned { task, vehicle } => {
                let mut touched = self.with_task(task, |book| book.vehicle = Some(vehicle.clone()))?;
                self.carriers.insert(vehicle.clone(), task.clone());
                touched.push(Touched::Vehicle(vehicle.clone()));
                Ok(touched)
            }
            Record::CommandIssued { command } => self.issue(entry, command),
            Record::TaskChanged { task, event } => self.change(entry, task, event),
            Record::WithdrawalAsked { task } => self.ask_withdrawal(task),
            Record::LinkOpened { vehicle, generation } => {
                let link = self.links.entry(vehicle.clone()).or_default();
                link.generation = *generation;
                link.sequence += 1;
                Ok(vec![Touched::Vehicle(vehicle.clone())])
            }
            Record::SessionRequested { session, lift, task, vehicle, from, to } => {
                Ok(self.request_session(entry, session, lift, task, vehicle, (from, to)))
            }
            Record::SessionChanged { session, phase, generation, lift: _ } => {
                self.change_session(entry, session, *phase, *generation)
            }
            Record::AlarmRaised { alarm } => {
                self.alarms.insert(alarm.id.clone(), (alarm.clone(), entry.at));
                Ok(vec![Touched::Alarm(alarm.id.clone())])
            }
            Record::AlarmCleared { alarm } => Ok(self.clear_alarm(alarm)),
            Record::DifferenceFound { task, .. } => Ok(vec![Touched::Task(task.clone())]),
            Record::ArbitrationChanged { lift, arbitration, epoch } => {
                Ok(self.change_arbitration(lift, *arbitration, *epoch))
            }
            Record::LeaseStoreChanged { lift, life, generation } => {
                Ok(self.change_store(lift, (life, *generation)))
            }
            Record::ForeignMoved { lift, boot, nth, .. } => Ok(self.note_foreign(lift, (*boot, *nth))),
            Record::EdgeDecided { lift, .. } => Ok(vec![Touched::Lift(lift.clone())]),
            Record::DrillStarted { drill } => Ok(self.begin_drill(entry, drill)),
            Record::DrillEnded { drill, end } => self.end_drill(entry, drill, *end),
        }
    }

    fn clear_alarm(&mut self, alarm: &AlarmId) -> Vec<Touched> {
        self.alarms.remove(alarm);
        vec![Touched::Alarm(alarm.clone())]
    }

    fn change_store(&mut self, lift: &LiftId, (life, generation): (&StoreLife, u64)) -> Vec<Touched> {
        self.stores.insert(lift.clone(), (life.clone(), generation));
        vec![Touched::Lift(lift.clone())]
    }

    /// The session that a lift serves now.
    pub fn session_of(&self, lift: &LiftId) -> Option<&SessionBook> {
        self.sessions.values().find(|it| it.lift == *lift && it.holds_lift())
    }

    /// Who waits for a lift, first come first.
    pub fn waiting_for(&self, lift: &LiftId) -> Vec<&SessionBook> {
        let mut line: Vec<_> =
            self.sessions.values().filter(|it| it.lift == *lift && !it.holds_lift()).collect();
        line.sort_by_key(|it| it.asked);
        line
    }

    /// The ride of a task that is not over.
    pub fn session_for(&self, task: &TaskId) -> Option<&SessionBook> {
        self.sessions.values().find(|it| it.task == *task)
    }

    /// The open task that a vehicle carries.
    pub fn task_of(&self, vehicle: &VehicleId) -> Option<(&TaskId, &TaskBook)> {
        self.carriers.get(vehicle).and_then(|id| self.tasks.get_key_value(id))
    }

    /// Open tasks that have a vehicle.
    pub fn carried_tasks(&self) -> impl Iterator<Item = (&TaskId, &TaskBook)> {
        self.carriers.values().filter_map(|id| self.tasks.get_key_value(id))
    }

    /// Tasks that are not over.
    pub fn open_tasks(&self) -> impl Iterator<Item = (&TaskId, &TaskBook)> {
        self.open.iter().filter_map(|id| self.tasks.get_key_value(id))
    }

    fn place(
        &mut self,
        entry: &Entry,
        order: &TransportOrder,
        task: &TaskId,
        key: &str,
        fingerprint: &str,
    ) -> Vec<Touched> {
        let number = number_in(order.id.as_str(), &name_stem("O", &entry.node)).unwrap_or_default();
        let highest = self.numbered.entry(entry.node.clone()).or_default();
        *highest = (*highest).max(number);
        let usage =
            KeyUse { order: order.id.clone(), task: task.clone(), fingerprint: fingerprint.to_owned() };
        self.keys.insert(key.to_owned(), usage);
        let book = TaskBook {
            order: order.clone(),
            idempotency_key: key.to_owned(),
            state: TaskState::Created,
            vehicle: None,
            claimed_by: None,
            claimed_in: 0,
            claim: Generation::default(),
            command: None,
            done: None,
            steps: 0,
            picked: false,
            withdrawal_asked: false,
            placed: entry.sequence,
            placed_at: entry.at,
            since: entry.at,
            ended_at: None,
        };
        self.tasks.insert(task.clone(), book);
        self.open.insert(task.clone());
        vec![Touched::Task(task.clone())]
    }

    fn issue(&mut self, entry: &Entry, command: &VehicleCommand) -> Result<Vec<Touched>, String> {
        let Some(task) = &command.task else {
            return Err(format!("command {} belongs to no task", command.id));
        };
        let touched = self.change(entry, task, &TaskEvent::CommandIssued { command: command.id.clone() })?;
        self.with_task(task, |book| book.command = Some(command.clone()))?;
        if let Instruction::Ride { session, .. } = &command.instruction
            && let Some(session) = self.sessions.get_mut(session)
        {
            session.ride = Some(command.id.clone());
        }
        let link = self.links.entry(command.vehicle.clone()).or_default();
        link.sequence = link.sequence.max(command.sequence);
        Ok(touched)
    }

    fn change(&mut self, entry: &Entry, id: &TaskId, event: &TaskEvent) -> Result<Vec<Touched>, String> {
        let task = self.tasks.get_mut(id).ok_or_else(|| format!("there is no task {id}"))?;
        let next = task.state.next(event).map_err(|error| format!("task {id}: {error}"))?;
        if next.name() != task.state.name() {
            task.since = entry.at;
        }
        task.state = next;
        match event {
            TaskEvent::StepDone { command } | TaskEvent::Finished { command } => {
                task.step_done(command);
                for session in self.sessions.values_mut().filter(|it| it.ride.as_ref() == Some(command)) {
                    session.ride_done = true;
                }
            }
            TaskEvent::CommandIssued { .. }
            | TaskEvent::Redelivered { .. }
            | TaskEvent::AckReceived { .. }
            | TaskEvent::Started { .. }
            | TaskEvent::Suspended { .. }
            | TaskEvent::ExecutionFailed { .. }
            | TaskEvent::Withdrawn { .. } => {}
        }
        let mut touched = vec![Touched::Task(id.clone())];
        touched.extend(task.vehicle.clone().map(Touched::Vehicle));
        if task.state.is_terminal() {
            task.withdrawal_asked = false;
            task.ended_at = Some(entry.at);
            touched.push(Touched::Nodes);
            self.open.remove(id);
            if let Some(vehicle) = task.vehicle.as_ref().filter(|it| self.carriers.get(*it) == Some(id)) {
                self.carriers.remove(vehicle);
            }
            self.ended.push_back(id.clone());
            self.forget();
        }
        Ok(touched)
    }

    fn ask_withdrawal(&mut self, id: &TaskId) -> Result<Vec<Touched>, String> {
        if !self.open.contains(id) {
            return Err(format!("there is no open task {id} to take back"));
        }
        self.with_task(id, |book| book.withdrawal_asked = true)
    }

    fn request_session(
        &mut self,
        entry: &Entry,
        id: &SessionId,
        lift: &LiftId,
        task: &TaskId,
        vehicle: &VehicleId,
        (from, to): (&FloorId, &FloorId),
    ) -> Vec<Touched> {
        let book = SessionBook {
            id: id.clone(),
            asked: entry.sequence,
            lift: lift.clone(),
            task: task.clone(),
            vehicle: vehicle.clone(),
            from: from.clone(),
            to: to.clone(),
            phase: SessionPhase::Queued,
            generation: Generation::default(),
            ride: None,
            ride_done: false,
            since: entry.at,
        };
        self.sessions.insert(id.clone(), book);
        vec![Touched::Lift(lift.clone()), Touched::Task(task.clone())]
    }

    fn change_session(
        &mut self,
        entry: &Entry,
        id: &SessionId,
        phase: SessionPhase,
        generation: Generation,
    ) -> Result<Vec<Touched>, String> {
        let over = matches!(phase, SessionPhase::Released | SessionPhase::Forced);
        // Two stewards of one moment may both end it.
        let Some(session) = self.sessions.get_mut(id) else {
            return if over { Ok(Vec::new()) } else { Err(format!("there is no session {id}")) };
        };
        session.phase = phase;
        session.generation = generation;
        session.since = entry.at;
        let touched = vec![Touched::Lift(session.lift.clone()), Touched::Task(session.task.clone())];
        let last = self.lift_generations.entry(session.lift.clone()).or_default();
        *last = (*last).max(generation);
        if over {
            self.sessions.remove(id);
        }
        Ok(touched)
    }

    fn with_task(&mut self, id: &TaskId, change: impl FnOnce(&mut TaskBook)) -> Result<Vec<Touched>, String> {
        let task = self.tasks.get_mut(id).ok_or_else(|| format!("there is no task {id}"))?;
        change(task);
        Ok(vec![Touched::Task(id.clone())])
    }

    fn forget(&mut self) {
        while self.ended.len() > ENDED_TASKS_MAX {
            let Some(id) = self.ended.pop_front() else { continue };
            self.rows.forget(&Row::Claim(id.clone()));
            self.rows.forget(&Row::Step(id.clone()));
            let Some(task) = self.tasks.remove(&id) else { continue };
            self.keys.remove(&task.idempotency_key);
            self.rows.forget(&Row::Key(task.idempotency_key));
        }
    }
}

impl TaskBook {
    fn step_done(&mut self, command: &CommandId) {
        if self.done.as_ref() == Some(command) {
            return;
        }
        self.done = Some(command.clone());
        self.steps += 1;
        self.picked |= self.command.as_ref().is_some_and(|it| {
            matches!(&it.instruction, Instruction::Drive { then: Operation::Pick { .. }, .. })
        });
    }
}
