//! The fold of the ledger: living through its entries and taking them in after a restart come to the same.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeZone, Utc};

use crate::alarm::{Alarm, AlarmKind, Subject};
use crate::ids::{AlarmId, LiftId, SessionId};
use crate::time::Millis;
use crate::wire::gateway::Arbitration;
use crate::wire::ledger::{Entry, Record, SessionPhase};

use super::Health;

/// Shifts over which the time of one ride is spread. A ride that holds its lift for longer is no ride.
const SPREAD_MAX: usize = 100;

/// A ride that is not over.
#[derive(Clone, Debug)]
pub(super) struct Ride {
    pub(super) lift: LiftId,
    asked_at: DateTime<Utc>,
    pub(super) granted_at: Option<DateTime<Utc>>,
    is_aboard: bool,
}

/// What is open in the ledger: rides, and alarms that call people to a lift.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    pub(super) rides: BTreeMap<SessionId, Ride>,
    calls: BTreeMap<AlarmId, LiftId>,
    /// The gateway's run and its count there of the last foreign movement of each lift.
    foreign: BTreeMap<LiftId, (u64, u64)>,
}

impl<Z: TimeZone> Health<Z> {
    /// Takes an entry of the ledger. They come in ledger order, each once.
    pub fn take(&mut self, entry: &Entry) {
        let at = entry.at;
        self.begun.get_or_insert(at);
        match &entry.record {
            Record::SessionRequested { session, lift, .. } if self.lifts.contains_key(lift) => {
                let ride = Ride { lift: lift.clone(), asked_at: at, granted_at: None, is_aboard: false };
                self.open.rides.insert(session.clone(), ride);
            }
            Record::SessionChanged { session, phase, .. } => self.ride_changed(session, *phase, at),
            Record::AlarmRaised { alarm } => self.alarm_raised(alarm, at),
            Record::AlarmCleared { alarm } => drop(self.open.calls.remove(alarm)),
            Record::ArbitrationChanged { lift, arbitration: Arbitration::Edge, .. } => {
                self.count(lift, at, |it| it.recorded.edge_spells += 1);
            }
            Record::EdgeDecided { lift, verdict: None, .. } => {
                self.count(lift, at, |it| it.recorded.edge_commands += 1);
            }
            Record::ForeignMoved { lift, boot, nth, .. } => self.moved_unbidden(lift, (*boot, *nth), at),
            Record::SessionRequested { .. }
            | Record::ArbitrationChanged { .. }
            | Record::LeaseStoreChanged { .. }
            | Record::EdgeDecided { .. }
            | Record::NodeStarted { .. }
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::CommandIssued { .. }
            | Record::WithdrawalAsked { .. }
            | Record::TaskChanged { .. }
            | Record::LinkOpened { .. }
            | Record::DifferenceFound { .. }
            | Record::DrillStarted { .. }
            | Record::DrillEnded { .. } => {}
        }
    }

    /// The gateway counts in each of its runs: what was not told by itself shows as a gap.
    fn moved_unbidden(&mut self, lift: &LiftId, (boot, nth): (u64, u64), at: DateTime<Utc>) {
        if !self.lifts.contains_key(lift) {
            return;
        }
        let last = self.open.foreign.insert(lift.clone(), (boot, nth)).filter(|it| it.0 == boot);
        let more = nth.saturating_sub(last.map_or(0, |it| it.1));
        self.count(lift, at, |it| it.recorded.foreign_moves += more);
    }

    fn ride_changed(&mut self, session: &SessionId, phase: SessionPhase, at: DateTime<Utc>) {
        let Some(ride) = self.open.rides.get_mut(session) else { return };
        let (lift, waited) = (ride.lift.clone(), between(ride.asked_at, at));
        match phase {
            SessionPhase::Granted if ride.granted_at.is_none() => {
                ride.granted_at = Some(at);
                self.count(&lift, at, |it| it.recorded.turn_wait.add(waited));
            }
            SessionPhase::Riding if !ride.is_aboard => {
                ride.is_aboard = true;
                self.count(&lift, at, |it| it.recorded.vehicle_wait.add(waited));
            }
            SessionPhase::Released | SessionPhase::Forced => {
                let granted_at = ride.granted_at;
                self.open.rides.remove(session);
                if let Some(granted_at) = granted_at {
                    self.held(&lift, granted_at, at);
                }
            }
            SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Granted
            | SessionPhase::Boarding
            | SessionPhase::Riding
            | SessionPhase::Alighting => {}
        }
    }

    /// A ride held the lift: each shift gets its part of the time.
    fn held(&mut self, lift: &LiftId, from: DateTime<Utc>, to: DateTime<Utc>) {
        let parts = self.spread(from, to);
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        let total = &mut tally.total.recorded.held_ms;
        *total = *total + between(from, to);
        for (starts_at, part) in parts {
            if let Some(figures) = tally.in_shift(starts_at) {
                figures.recorded.held_ms = figures.recorded.held_ms + part;
            }
        }
    }

    /// How much of a stretch of time lies in each shift, newest first.
    pub(super) fn spread(&self, from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<(DateTime<Utc>, Millis)> {
        let mut parts = Vec::new();
        let mut shift = self.shifts.of(to);
        while parts.len() < SPREAD_MAX {
            let part = between(from.max(shift.starts_at), to.min(shift.ends_at));
            parts.push((shift.starts_at, part));
            if shift.starts_at <= from {
                break;
            }
            shift = self.shifts.of(shift.before());
        }
        parts
    }

    fn alarm_raised(&mut self, alarm: &Alarm, at: DateTime<Utc>) {
        let Subject::Lift(lift) = &alarm.subject else { return };
        if alarm.kind == AlarmKind::LiftEmergencyStopped {
            let fault = fault_in(&alarm.detail);
            self.count(lift, at, |it| it.recorded.add_emergency_stop(fault));
        }
        if calls_people(alarm.kind) && self.lifts.contains_key(lift) {
            let called = self.open.calls.values().any(|it| it == lift);
            self.open.calls.insert(alarm.id.clone(), lift.clone());
            if !called {
                self.count(lift, at, |it| it.recorded.fault_tickets += 1);
            }
        }
    }
}

/// Whether only people at the lift can end it.
fn calls_people(kind: AlarmKind) -> bool {
    match kind {
        AlarmKind::LiftEmergencyStopped
        | AlarmKind::LiftFaulted
        | AlarmKind::LiftFrozen
        | AlarmKind::LiftUnreachable
        | AlarmKind::LiftNeedsMaintenance => true,
        AlarmKind::LiftUnverified
        | AlarmKind::LiftOutOfService
        | AlarmKind::LiftForeignCommand
        | AlarmKind::LiftOnEdge
        | AlarmKind::LiftHeldTooLong
        | AlarmKind::HandoverDisagrees
        | AlarmKind::VehicleSilent
        | AlarmKind::AcknowledgementMissing
        | AlarmKind::ExecutionFailed
        | AlarmKind::CommandRefused
        | AlarmKind::RecordsDisagree
        | AlarmKind::GatewaySilent
        | AlarmKind::MessagesRejected => false,
    }
}

/// The fault code in an alarm's detail, `#2`; 0 without one.
fn fault_in(detail: &str) -> u16 {
    detail.strip_prefix('#').and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Time from one moment to another by the wall clocks of the nodes; zero if they stepped or differ.
pub(super) fn between(from: DateTime<Utc>, to: DateTime<Utc>) -> Millis {
    Millis(u64::try_from((to - from).num_milliseconds()).unwrap_or_default())
}
