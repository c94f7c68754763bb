//! Orders, loads and the line before each lift.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, SessionId, TaskId, VehicleId};
use kernel::task::TaskEvent;
use kernel::wire::ledger::{Entry, Record, SessionPhase};

use super::Checker;
use crate::loads::LoadBook;
use crate::plant::SimPlant;

/// More than so often nobody is overtaken.
pub(super) const OVERTAKEN_MAX: u32 = 3;

/// A ride in line.
#[derive(Clone, Debug)]
struct Waiter {
    session: SessionId,
    task: TaskId,
    lift: LiftId,
    vehicle: VehicleId,
    overtaken: u32,
}

/// Who waits for which lift, by the ledger, in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct LineWatch {
    waiting: Vec<Waiter>,
    /// Whose lifts are whose.
    granted: BTreeMap<SessionId, LiftId>,
}

impl LineWatch {
    /// Takes an entry; says who was overtaken too often by it, and which lift is now two rides'.
    pub(super) fn recorded(&mut self, entry: &Entry, sim: &SimPlant) -> Vec<(Checker, String)> {
        match &entry.record {
            Record::SessionRequested { session, lift, vehicle, task, .. } => {
                let (session, lift, vehicle) = (session.clone(), lift.clone(), vehicle.clone());
                self.waiting.push(Waiter { session, task: task.clone(), lift, vehicle, overtaken: 0 });
                Vec::new()
            }
            Record::SessionChanged { session, phase: SessionPhase::Granted, .. } => {
                self.granted(session, sim)
            }
            Record::SessionChanged {
                session, phase: SessionPhase::Released | SessionPhase::Forced, ..
            } => {
                self.waiting.retain(|it| it.session != *session);
                self.granted.remove(session);
                Vec::new()
            }
            Record::TaskChanged { task, event: TaskEvent::Withdrawn { .. } } => {
                let left = self.waiting.iter().filter(|it| it.task == *task);
                let detail =
                    |it: &Waiter| format!("{} waits for {}, and {task} is withdrawn", it.session, it.lift);
                left.map(|it| (Checker::WithdrawnIsOver, detail(it))).collect()
            }
            Record::SessionChanged { .. }
            | Record::NodeStarted { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::CommandIssued { .. }
            | Record::TaskChanged { .. }
            | Record::LinkOpened { .. }
            | Record::WithdrawalAsked { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. }
            | Record::ArbitrationChanged { .. }
            | Record::LeaseStoreChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::EdgeDecided { .. }
            | Record::DrillStarted { .. }
            | Record::DrillEnded { .. } => Vec::new(),
        }
    }

    fn granted(&mut self, session: &SessionId, sim: &SimPlant) -> Vec<(Checker, String)> {
        let Some(place) = self.waiting.iter().position(|it| it.session == *session) else {
            return Vec::new();
        };
        let Waiter { lift, vehicle, .. } = self.waiting.remove(place);
        let holder = self.granted.iter().find(|(_, held)| **held == lift).map(|(holder, _)| holder);
        let mut found: Vec<_> = holder
            .map(|it| (Checker::OneRide, format!("{lift} is granted to {session} while {it} holds it")))
            .into_iter()
            .collect();
        let inside = sim.in_car(&lift).find(|it| **it != vehicle);
        found
            .extend(inside.map(|it| {
                (Checker::OneRide, format!("{lift} is granted to {session} with {it} in the car"))
            }));
        for waiter in self.waiting.iter_mut().take(place).filter(|it| it.lift == lift) {
            waiter.overtaken += 1;
            if waiter.overtaken > OVERTAKEN_MAX {
                let detail = format!("{} was overtaken {} times", waiter.session, waiter.overtaken);
                found.push((Checker::NobodyOvertaken, detail));
            }
        }
        self.granted.insert(session.clone(), lift);
        found
    }
}

/// A load that was taken up or put down twice.
pub(super) fn loads_handled_twice(loads: &LoadBook) -> Option<String> {
    let handled_twice = loads.iter().find(|(_, it)| it.picked > 1 || it.dropped > 1);
    handled_twice
        .map(|(order, it)| format!("{order} was picked {} and dropped {} times", it.picked, it.dropped))
}

/// How often each load was handled.
pub(crate) fn handled(sim: &SimPlant) -> BTreeMap<kernel::ids::OrderId, (u32, u32)> {
    sim.loads().iter().map(|(order, it)| (order.clone(), (it.picked, it.dropped))).collect()
}
