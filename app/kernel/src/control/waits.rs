//! Why a ride does not go on, for whoever watches: told from what the decisions themselves look at, in their order.

use chrono::{DateTime, TimeDelta, Utc};

use crate::ids::{LiftId, VehicleId};
use crate::lease::LeaseRefusal;
use crate::lift::{LiftMode, LiftStatus};
use crate::safeguard::Safeguard;
use crate::time::{Millis, Mono, Now};
use crate::timing::{LIFT_ACK_DEADLINE, LIFT_READ_AGE_MAX, PLC_SETTLE};
use crate::wire::gateway::{Arbitration, Connection, Settling};
use crate::wire::ledger::SessionPhase;
use crate::wire::view::{Hearing, LeaseView, LiftWait, SettlingView};

use super::book::SessionBook;
use super::hold::Under;
use super::rides::is_at_work;
use super::voice::{LEASE_ANSWER_MAX, Voice};
use super::{Control, Lock};

impl Control {
    /// Of whoever stands in the line behind `after`; first in it when there is none.
    pub(super) fn wait_in_line(
        &self,
        session: &SessionBook,
        after: Option<&VehicleId>,
        now: Now,
    ) -> LiftWait {
        if let Some(after) = after {
            return LiftWait::Turn { after: after.clone() };
        }
        let obstacle = self.lift_wait(&session.lift, now).or_else(|| self.elsewhere(session, now));
        let occupied = self.usable(&session.lift, now).is_some_and(|it| it.occupied);
        obstacle.unwrap_or(if occupied { LiftWait::CarOccupied } else { LiftWait::Ledger })
    }

    /// Of the ride that holds the lift.
    pub(super) fn wait_of_ride(&self, session: &SessionBook, now: Now) -> LiftWait {
        let (lift, locked) = (&session.lift, self.is_locked(&Lock::Lift(session.lift.clone())));
        let obstacle = self.lift_wait(lift, now).or_else(|| self.elsewhere(session, now));
        let obstacle = obstacle.or_else(|| (locked || !self.ledger_writable()).then_some(LiftWait::Ledger));
        if let Some(wait) = obstacle.or_else(|| self.spoken_wait(lift, now)) {
            return wait;
        }
        match self.usable(lift, now) {
            Some(status) if is_at_work(status) => LiftWait::Moves,
            Some(status) => self.unsaid_wait(session, status, now),
            None => LiftWait::OldRead,
        }
    }

    /// What keeps the lift from everybody: some of it whenever no status is usable.
    pub(super) fn lift_wait(&self, lift: &LiftId, now: Now) -> Option<LiftWait> {
        let ear = self.lifts.get(lift).filter(|_| self.gateway_hearing(lift, now) == Hearing::Heard);
        let Some(ear) = ear else { return Some(LiftWait::GatewaySilent) };
        match ear.reading.connection {
            Connection::Unknown | Connection::Down => return Some(LiftWait::Unreachable),
            Connection::Frozen => return Some(LiftWait::Frozen),
            Connection::Up => {}
        }
        if let Some(command) = self.verified(lift) {
            return Some(LiftWait::Verifying { command });
        }
        let Some(status) = &ear.reading.status else { return Some(LiftWait::Unreachable) };
        let served = status.mode == LiftMode::Vehicle || !self.safeguards.holds(Safeguard::VehicleMode);
        if now.mono.since(ear.at) + ear.reading.age_ms > LIFT_READ_AGE_MAX {
            return Some(LiftWait::OldRead);
        }
        if !served {
            return Some(LiftWait::Mode { mode: status.mode });
        }
        (status.fault != 0).then_some(LiftWait::Fault { code: status.fault })
    }

    fn elsewhere(&self, session: &SessionBook, now: Now) -> Option<LiftWait> {
        let owner = self.book.tasks.get(&session.task).and_then(|it| self.owner(it)).cloned();
        (!self.drives_session(session, now)).then_some(LiftWait::Elsewhere { node: owner })
    }

    /// What this node has begun to say.
    fn spoken_wait(&self, lift: &LiftId, now: Now) -> Option<LiftWait> {
        match self.voices.get(lift)? {
            Voice::Quiet { .. } => None,
            Voice::Asking { .. } => Some(self.denied(lift, now).unwrap_or(LiftWait::Lease)),
            Voice::Deciding { .. } => Some(LiftWait::Read),
            Voice::Calling(_) => Some(LiftWait::Record),
            Voice::Joined { command, .. } => Some(LiftWait::Joined { command: command.clone() }),
            Voice::Sent { under, command, .. } => {
                let command = command.clone();
                Some(match under {
                    Under::Lease(_) => LiftWait::Outcome { command },
                    Under::Lost => LiftWait::LeaseLost { command: Some(command) },
                    Under::Edge => LiftWait::Edge { command },
                })
            }
            Voice::Verifying(doubt) => Some(LiftWait::Verifying { command: doubt.command.clone() }),
        }
    }

    /// Why the lease store granted nothing, as long as that is news.
    fn denied(&self, lift: &LiftId, now: Now) -> Option<LiftWait> {
        let (reason, at) = self.lease_denied.get(lift)?;
        if now.mono.since(*at) > LEASE_ANSWER_MAX {
            return None;
        }
        match reason {
            LeaseRefusal::Held { holder, .. } => Some(LiftWait::LeaseHeld { holder: holder.clone() }),
            LeaseRefusal::StoreDown => Some(LiftWait::StoreAway),
            LeaseRefusal::StoreChanged { .. } => Some(LiftWait::StoreChanged),
            LeaseRefusal::NotReplicated => Some(LiftWait::NotReplicated),
            LeaseRefusal::Lost | LeaseRefusal::HeldTooLong => Some(LiftWait::LeaseLost { command: None }),
            LeaseRefusal::Unknown => None,
        }
    }

    /// Nothing is being said: something has to be, or the vehicle is to act.
    fn unsaid_wait(&self, session: &SessionBook, status: &LiftStatus, now: Now) -> LiftWait {
        if self.wanted(&session.lift, now).is_some() {
            let returning = self.arbitration(&session.lift) == Arbitration::Returning;
            let denied = self.denied(&session.lift, now).unwrap_or(LiftWait::Read);
            return if returning { LiftWait::Returning } else { denied };
        }
        match session.phase {
            SessionPhase::Granted if status.occupied => LiftWait::CarOccupied,
            SessionPhase::Boarding => handover(status.occupied, self.says_in(session)),
            SessionPhase::Alighting => handover(!status.occupied, self.says_out(session)),
            SessionPhase::Riding if !status.occupied => LiftWait::Sensor,
            SessionPhase::Granted
            | SessionPhase::Riding
            | SessionPhase::Requested
            | SessionPhase::Queued
            | SessionPhase::Released
            | SessionPhase::Forced => LiftWait::Ledger,
        }
    }

    /// What settles the command in doubt.
    pub(super) fn settling(&self, lift: &LiftId, now: Now) -> Option<SettlingView> {
        let command = self.verified(lift)?;
        let ear = self.lifts.get(lift).filter(|_| self.gateway_hearing(lift, now) == Hearing::Heard);
        let Some(ear) = ear else { return Some(SettlingView::GatewaySilent) };
        let said = ear.reading.settling;
        match (&ear.reading.verifying, self.voices.get(lift)) {
            (Some(_), _) => said.map(|it| match it {
                Settling::Reads { left_ms } => SettlingView::Reads { at: wall_of(ear.at + left_ms, now) },
                Settling::NoReads => SettlingView::NoReads,
                Settling::Frozen => SettlingView::Frozen,
                Settling::Restarted => SettlingView::Restarted,
                Settling::Unclear => SettlingView::Unclear,
            }),
            (None, Some(Voice::Verifying(doubt))) if doubt.command == command => {
                Some(SettlingView::Outcome { at: wall_of(doubt.since + LIFT_READ_AGE_MAX + PLC_SETTLE, now) })
            }
            (
                None,
                Some(
                    Voice::Quiet { .. }
                    | Voice::Asking { .. }
                    | Voice::Deciding { .. }
                    | Voice::Calling(_)
                    | Voice::Joined { .. }
                    | Voice::Sent { .. }
                    | Voice::Verifying(_),
                )
                | None,
            ) => None,
        }
    }

    /// Who may talk to a lift now, as far as this node can know.
    pub(super) fn lease_view(&self, lift: &LiftId, now: Now) -> Option<LeaseView> {
        let (hold, since) = match self.voices.get(lift)? {
            Voice::Deciding { hold, since } | Voice::Sent { under: Under::Lease(hold), since, .. } => {
                (hold, since)
            }
            Voice::Calling(calling) => (&calling.hold, &calling.since),
            Voice::Quiet { .. }
            | Voice::Asking { .. }
            | Voice::Joined { .. }
            | Voice::Sent { under: Under::Lost | Under::Edge, .. }
            | Voice::Verifying(_) => return self.lease_of_another(lift, now),
        };
        Some(LeaseView {
            holder: self.config.node.clone(),
            token: hold.lease.token(),
            since: wall_of(*since, now),
            ends_at: Some(wall_of(hold.lease.ends_at(), now)),
            renewed_at: hold.renewed_at.map(|it| wall_of(it, now)),
        })
    }

    /// Another node holds a lease as long as the outcome of its command is due: it gives it back with that.
    fn lease_of_another(&self, lift: &LiftId, now: Now) -> Option<LeaseView> {
        let heard = self.gateway_hearing(lift, now) == Hearing::Heard;
        let (at, view) = self.spoken.get(lift)?.iter().find(|(_, it)| it.joined.is_none())?;
        let open = view.verdict.is_none() && now.mono.since(*at) < LIFT_ACK_DEADLINE;
        let token = view.token.filter(|_| heard && open && view.issuer != self.config.node)?;
        Some(LeaseView {
            holder: view.issuer.clone(),
            token,
            since: view.at,
            ends_at: None,
            renewed_at: None,
        })
    }
}

/// A vehicle moves in or out: the sensor and its own word must both say that it has.
fn handover(shown: bool, said: bool) -> LiftWait {
    match (shown, said) {
        (false, false) => LiftWait::Vehicle,
        (false, true) => LiftWait::Sensor,
        (true, false) => LiftWait::Word,
        (true, true) => LiftWait::Ledger,
    }
}

/// A moment of this machine's own clock, by the wall clock of now.
fn wall_of(moment: Mono, now: Now) -> DateTime<Utc> {
    let span = |it: Millis| TimeDelta::milliseconds(i64::try_from(it.0).unwrap_or_default());
    let later = now.wall.checked_add_signed(span(moment.since(now.mono)));
    later.and_then(|it| it.checked_sub_signed(span(now.mono.since(moment)))).unwrap_or(now.wall)
}
