//! Alarms, level-triggered: what stands is compared with what should stand.

use std::collections::BTreeMap;

use crate::alarm::{Alarm, AlarmKind, Subject};
use crate::gateway::LiftState;
use crate::ids::AlarmId;
use crate::lift::LiftMode;
use crate::task::{SuspendCause, TaskState};
use crate::time::{Millis, Mono, Now};
use crate::timing::{HANDOVER_MARGIN, LIFT_READ_AGE_MAX, SILENCE_LIMIT, hold_limit};
use crate::wire::gateway::{Arbitration, Connection, Outcome, Verdict};
use crate::wire::ledger::{Record, SessionPhase};
use crate::wire::view::Hearing;

use super::book::SessionBook;
use super::ears::GATEWAY_SILENT_AFTER;
use super::{Control, Lock};

type Standing = BTreeMap<(AlarmKind, Subject), String>;

/// Messages that cannot be understood become an alarm when so many come within [`REJECTED_SPAN`]: one may be a slip
/// of a test tool.
const REJECTED_ALARM: u64 = 10;
/// The alarm goes when the present span and the one before it were quiet: as long as alarm floods are counted over.
const REJECTED_SPAN: Millis = Millis::seconds(600);
/// A failed task whose load is still aboard keeps its vehicle from ending another, so it is among the newest.
const ENDED_WATCHED: usize = 500;
/// A reading this old means that the PLC cannot be reached, whatever the connection says.
const UNREACHABLE_AFTER: Millis = LIFT_READ_AGE_MAX;

/// Messages that could not be understood, by span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rejections {
    since: Mono,
    now: u64,
    before: u64,
}

impl Rejections {
    pub(super) fn add(&mut self) {
        self.now = self.now.saturating_add(1);
    }

    fn watch(&mut self, now: Now) {
        if now.mono.since(self.since) >= REJECTED_SPAN {
            *self = Self { since: now.mono, now: 0, before: self.now };
        }
    }

    fn are_many(self) -> bool {
        self.now >= REJECTED_ALARM || self.before >= REJECTED_ALARM
    }
}

impl Control {
    pub(super) fn drive_alarms(&mut self, now: Now) {
        self.rejections.watch(now);
        let mut standing = Standing::new();
        self.lift_conditions(now, &mut standing);
        self.vehicle_conditions(now, &mut standing);
        self.site_conditions(now, &mut standing);
        let known: Vec<(AlarmId, AlarmKind, Subject)> = self
            .book
            .alarms
            .values()
            .map(|(alarm, _)| (alarm.id.clone(), alarm.kind, alarm.subject.clone()))
            .collect();
        for (id, kind, subject) in known {
            let stands = standing.remove(&(kind, subject.clone())).is_some();
            if !stands && self.keeps(&subject, now) && self.can_tell(kind, &subject, now) {
                let record = Record::AlarmCleared { alarm: id.clone() };
                self.propose(now, vec![Lock::Alarm(id)], vec![record]);
            }
        }
        for ((kind, subject), detail) in standing {
            if !self.keeps(&subject, now) {
                continue;
            }
            let Some(id) = name(kind, &subject) else { continue };
            let detail = detail.chars().take(300).collect();
            let alarm = Alarm { id: id.clone(), kind, subject, detail };
            self.propose(now, vec![Lock::Alarm(id)], vec![Record::AlarmRaised { alarm }]);
        }
    }

    /// Each subject's alarms are one node's to raise and to clear; all see them.
    fn keeps(&self, subject: &Subject, now: Now) -> bool {
        match subject {
            Subject::Lift(id) => self.keeps_lift(id, now),
            Subject::Vehicle(id) => self.keeps_vehicle(id, now),
            Subject::Task(id) => self.keeps_task(id, now),
            Subject::Site | Subject::Gateway(_) => self.is_steward(now),
        }
    }

    /// Whether the condition of an alarm that does not stand is really gone. After a restart a lift or vehicle that
    /// was not heard yet is not proven to be well.
    fn can_tell(&self, kind: AlarmKind, subject: &Subject, now: Now) -> bool {
        match subject {
            Subject::Lift(id) => self.lifts.contains_key(id) || !self.plant.lifts.contains_key(id),
            Subject::Vehicle(id) => self.vehicles.get(id).is_none_or(|ear| {
                // Only its own steady word says that the records agree again.
                let disagreed = kind == AlarmKind::RecordsDisagree;
                if disagreed { ear.steady(now).is_some() } else { ear.beat_at.is_some() }
            }),
            Subject::Site | Subject::Task(_) | Subject::Gateway(_) => true,
        }
    }

    fn lift_conditions(&self, now: Now, standing: &mut Standing) {
        for (id, ear) in &self.lifts {
            let subject = Subject::Lift(id.clone());
            let mut add = |kind, detail: String| standing.insert((kind, subject.clone()), detail);
            let reading = &ear.reading;
            if reading.connection == Connection::Frozen {
                add(AlarmKind::LiftFrozen, String::new());
            }
            let heard = self.gateway_hearing(id, now) == Hearing::Heard;
            if heard && (reading.connection == Connection::Down || reading.age_ms > UNREACHABLE_AFTER) {
                add(AlarmKind::LiftUnreachable, String::new());
            }
            if let Some(command) = &reading.verifying {
                add(AlarmKind::LiftUnverified, command.to_string());
            } else if self.is_verifying(id) {
                add(AlarmKind::LiftUnverified, String::new());
            }
            if reading.arbitration != Arbitration::Lease {
                add(AlarmKind::LiftOnEdge, format!("#{}", reading.epoch));
            }
            if let Some(detail) = super::foreign::standing(reading) {
                add(AlarmKind::LiftForeignCommand, detail);
            }
            let Some(status) = &reading.status else { continue };
            if reading.arbitration == Arbitration::Edge && LiftState::of(status) == LiftState::Error {
                add(AlarmKind::LiftNeedsMaintenance, String::new());
            }
            if status.fault != 0 {
                add(AlarmKind::LiftFaulted, format!("#{}", status.fault));
            }
            match status.mode {
                LiftMode::Vehicle => {}
                LiftMode::Emergency => {
                    let fault = if status.fault == 0 { String::new() } else { format!("#{}", status.fault) };
                    add(AlarmKind::LiftEmergencyStopped, fault);
                }
                LiftMode::Human | LiftMode::Fire | LiftMode::Maintenance => {
                    add(AlarmKind::LiftOutOfService, String::new());
                }
            }
        }
        for session in self.book.sessions.values().filter(|it| it.holds_lift()) {
            self.session_conditions(session, now, standing);
        }
        for id in self.plant.lifts.keys() {
            let waits = self.book.session_of(id).is_none() && !self.book.waiting_for(id).is_empty();
            if waits && self.usable(id, now).is_some_and(|it| it.occupied) {
                standing.insert((AlarmKind::HandoverDisagrees, Subject::Lift(id.clone())), String::new());
            }
        }
    }

    fn session_conditions(&self, session: &SessionBook, now: Now, standing: &mut Standing) {
        let Some(lift) = self.plant.lifts.get(&session.lift) else { return };
        let subject = Subject::Lift(session.lift.clone());
        let Some(watch) = self.watches.get(&session.id) else { return };
        let held = now.mono.since(watch.held_since);
        if held > hold_limit(lift) {
            let detail = format!("{} · {held}", session.vehicle);
            standing.insert((AlarmKind::LiftHeldTooLong, subject.clone()), detail);
        }
        let Some(status) = self.usable(&session.lift, now) else { return };
        let overdue = now.mono.since(watch.phase_since) > HANDOVER_MARGIN;
        let (sensor, word) = (status.occupied, self.says_in(session));
        let disagrees = match session.phase {
            SessionPhase::Granted => sensor,
            SessionPhase::Boarding => sensor != word && overdue,
            SessionPhase::Alighting => sensor == self.says_out(session) && overdue,
            SessionPhase::Riding => !sensor && overdue,
            SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => false,
        };
        if disagrees {
            standing.insert((AlarmKind::HandoverDisagrees, subject), session.vehicle.to_string());
        }
    }

    fn vehicle_conditions(&self, now: Now, standing: &mut Standing) {
        for (id, ear) in &self.vehicles {
            let subject = Subject::Vehicle(id.clone());
            let missed = ear.hearing(now) != Hearing::Never || self.book.task_of(id).is_some();
            let silence = self.silence(id, now).filter(|_| missed);
            if silence.is_some_and(|it| it > self.silence_expected(id)) {
                standing.insert((AlarmKind::VehicleSilent, subject.clone()), String::new());
            }
            if let Some(difference) = ear.steady(now).and_then(|it| self.disagreement(id, it)) {
                standing.insert((AlarmKind::RecordsDisagree, subject), difference);
            }
        }
        let failed = self
            .book
            .ended
            .iter()
            .rev()
            .take(ENDED_WATCHED)
            .filter_map(|id| self.book.tasks.get_key_value(id));
        for (id, task) in self.book.open_tasks().chain(failed) {
            let subject = Subject::Task(id.clone());
            match &task.state {
                TaskState::Suspended { cause: SuspendCause::Person, .. } => {
                    standing.insert(
                        (AlarmKind::AcknowledgementMissing, subject),
                        task.vehicle.as_ref().map(ToString::to_string).unwrap_or_default(),
                    );
                }
                TaskState::Suspended { cause: SuspendCause::Fault, .. } => {
                    standing.insert(
                        (AlarmKind::CommandRefused, subject),
                        task.vehicle.as_ref().map(ToString::to_string).unwrap_or_default(),
                    );
                }
                TaskState::Failed { reason } if self.still_carries(task) => {
                    standing.insert((AlarmKind::ExecutionFailed, subject), reason.clone());
                }
                TaskState::Created
                | TaskState::Issued { .. }
                | TaskState::Acknowledged { .. }
                | TaskState::Executing { .. }
                | TaskState::Suspended { .. }
                | TaskState::Completed
                | TaskState::Failed { .. }
                | TaskState::Withdrawn { .. } => {}
            }
        }
    }

    fn site_conditions(&self, now: Now, standing: &mut Standing) {
        for id in &self.plant.gateways {
            let at = self.gateways.get(id).map_or(self.started, |ear| ear.at);
            if now.mono.since(at) > GATEWAY_SILENT_AFTER {
                standing.insert((AlarmKind::GatewaySilent, Subject::Gateway(id.clone())), String::new());
            }
        }
        if self.rejections.are_many() {
            standing.insert((AlarmKind::MessagesRejected, Subject::Site), String::new());
        }
    }

    /// A ride hides a vehicle for as long as its lift may be held; elsewhere silence is a surprise after the link's
    /// own margin for roaming, and in no case is it expected for longer than the limit.
    fn silence_expected(&self, vehicle: &crate::ids::VehicleId) -> Millis {
        let riding = self.book.sessions.values().find(|it| it.vehicle == *vehicle && it.holds_lift());
        let limit = riding.and_then(|it| self.plant.lifts.get(&it.lift)).map(hold_limit);
        limit.unwrap_or(self.plant.link_budget.roaming_ms).min(SILENCE_LIMIT)
    }

    /// A failed task needs somebody as long as its load is aboard.
    fn still_carries(&self, task: &super::book::TaskBook) -> bool {
        let heartbeat = task.vehicle.as_ref().and_then(|id| self.vehicles.get(id)?.heartbeat.as_ref());
        heartbeat.is_some_and(|it| it.load.as_ref() == Some(&task.order.id))
    }

    /// A vehicle command that its gateway did not pass on never reached the vehicle; redelivery is due by its own
    /// deadline, so the refusal is only counted and shown.
    pub(super) fn vehicle_command_refused(&mut self, outcome: &Outcome) {
        if let Verdict::Refused { reason } = &outcome.verdict {
            let text = format!("gateway {} did not pass on {}: {reason:?}", outcome.gateway, outcome.command);
            self.reject("outcome", &text);
        }
    }
}

fn name(kind: AlarmKind, subject: &Subject) -> Option<AlarmId> {
    let subject = match subject {
        Subject::Site => "site".to_owned(),
        Subject::Lift(id) => id.to_string(),
        Subject::Vehicle(id) => id.to_string(),
        Subject::Task(id) => id.to_string(),
        Subject::Gateway(id) => id.to_string(),
    };
    let text: String = format!("{kind:?}.{subject}").chars().take(crate::ids::NAME_LENGTH_MAX).collect();
    AlarmId::try_new(&text).ok()
}
