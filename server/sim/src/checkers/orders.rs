//! Orders, loads and the line before each lift.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, SessionId};
use kernel::wire::ledger::{Entry, Record, SessionPhase};

use super::Checker;
use crate::plant::SimPlant;

/// More than so often nobody is overtaken.
const OVERTAKEN_MAX: u32 = 3;

/// Who waits for which lift, by the ledger.
#[derive(Clone, Debug, Default)]
pub(super) struct LineWatch {
    /// In the order of arrival, with how often each was overtaken.
    waiting: Vec<(SessionId, LiftId, u32)>,
    /// Whose lifts are whose.
    granted: BTreeMap<SessionId, LiftId>,
}

impl LineWatch {
    /// Takes an entry; says who was overtaken too often by it, and which lift is now two rides'.
    pub(super) fn recorded(&mut self, entry: &Entry) -> Vec<(Checker, String)> {
        match &entry.record {
            Record::SessionRequested { session, lift, .. } => {
                self.waiting.push((session.clone(), lift.clone(), 0));
                Vec::new()
            }
            Record::SessionChanged { session, phase: SessionPhase::Granted, .. } => self.granted(session),
            Record::SessionChanged {
                session, phase: SessionPhase::Released | SessionPhase::Forced, ..
            } => {
                self.waiting.retain(|(id, _, _)| id != session);
                self.granted.remove(session);
                Vec::new()
            }
            Record::SessionChanged { .. }
            | Record::NodeStarted { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::CommandIssued { .. }
            | Record::TaskChanged { .. }
            | Record::LinkOpened { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. } => Vec::new(),
        }
    }

    fn granted(&mut self, session: &SessionId) -> Vec<(Checker, String)> {
        let Some(place) = self.waiting.iter().position(|(id, _, _)| id == session) else { return Vec::new() };
        let (_, lift, _) = self.waiting.remove(place);
        let holder = self.granted.iter().find(|(_, held)| **held == lift).map(|(holder, _)| holder);
        let mut found: Vec<_> = holder
            .map(|it| (Checker::OneRide, format!("{lift} is granted to {session} while {it} holds it")))
            .into_iter()
            .collect();
        for (id, waits_for, overtaken) in self.waiting.iter_mut().take(place) {
            if *waits_for == lift {
                *overtaken += 1;
                if *overtaken > OVERTAKEN_MAX {
                    found.push((Checker::NobodyOvertaken, format!("{id} was overtaken {overtaken} times")));
                }
            }
        }
        self.granted.insert(session.clone(), lift);
        found
    }
}

/// A load that was taken up or put down twice.
pub(super) fn loads_handled_twice(sim: &SimPlant) -> Option<String> {
    let handled_twice = sim.loads().iter().find(|(_, it)| it.picked > 1 || it.dropped > 1);
    handled_twice
        .map(|(order, it)| format!("{order} was picked {} and dropped {} times", it.picked, it.dropped))
}

/// How often each load was handled.
pub(crate) fn handled(sim: &SimPlant) -> BTreeMap<kernel::ids::OrderId, (u32, u32)> {
    sim.loads().iter().map(|(order, it)| (order.clone(), (it.picked, it.dropped))).collect()
}
