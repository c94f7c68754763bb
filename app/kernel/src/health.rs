//! Lift health, per lift and shift, by the first field report's definitions (A17).
//!
//! Knows: what the ledger tells, and what one control node hears and wants done. It watches beside that node's machine,
//! [`crate::control::Control`], and decides nothing. Figures that are the same on every node and survive a restart
//! come from the ledger alone; the rest is the node's own, and said to be. Must not know: who shows them.

mod heard;
mod recorded;
mod shifts;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeZone, Utc};

use crate::ids::{LiftId, NodeId};
use crate::time::Millis;
use crate::wire::health::{HeardHealth, LiftHealth, RecordedHealth, ShiftHealth};

use self::heard::Ear;
use self::recorded::{Open, between};

pub use self::shifts::{Shift, Shifts};

/// Shifts that are kept of each lift, the current one among them: two days of three.
pub const SHIFTS_KEPT: usize = 6;

/// The figures of all lifts of a plant, as one node has them.
#[derive(Clone, Debug)]
pub struct Health<Z: TimeZone> {
    node: NodeId,
    shifts: Shifts<Z>,
    /// The shift that was counted in last.
    current: Option<Shift>,
    lifts: BTreeMap<LiftId, Tally>,
    open: Open,
    /// Of the ledger's first entry.
    begun: Option<DateTime<Utc>>,
    /// When this node began to listen.
    listening_since: Option<DateTime<Utc>>,
}

/// What is counted, in a shift or in all.
#[derive(Clone, Debug, Default)]
struct Figures {
    recorded: RecordedHealth,
    heard: HeardHealth,
}

/// One lift.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// Recorded since the ledger's first entry, heard since the node started.
    total: Figures,
    /// By their beginning, at most [`SHIFTS_KEPT`].
    shifts: BTreeMap<DateTime<Utc>, Figures>,
    ear: Ear,
}

/// The figures of one lift over all time: recorded since the ledger's first entry, heard since the node started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Which lift.
    pub lift: LiftId,
    /// The same on every node.
    pub recorded: RecordedHealth,
    /// This node's own.
    pub heard: HeardHealth,
}

impl Tally {
    /// The figures of a shift; none of one that is older than those kept.
    fn in_shift(&mut self, starts_at: DateTime<Utc>) -> Option<&mut Figures> {
        self.shifts.entry(starts_at).or_default();
        while self.shifts.len() > SHIFTS_KEPT {
            self.shifts.pop_first();
        }
        self.shifts.get_mut(&starts_at)
    }
}

impl<Z: TimeZone> Health<Z> {
    /// Nothing counted yet. Lifts that are not among `lifts` are never counted.
    pub fn new(node: NodeId, shifts: Shifts<Z>, lifts: impl Iterator<Item = LiftId>) -> Self {
        let lifts = lifts.map(|id| (id, Tally::default())).collect();
        let (current, open) = (None, Open::default());
        Self { node, shifts, current, lifts, open, begun: None, listening_since: None }
    }

    /// A lift shift by shift, the current one at `now` first; none of an unknown lift.
    pub fn of(&self, lift: &LiftId, now: DateTime<Utc>) -> Option<LiftHealth> {
        let tally = self.lifts.get(lift)?;
        let running = self.running(lift, now);
        let mut shifts = Vec::new();
        let mut shift = self.shifts.of(now);
        while shifts.len() < SHIFTS_KEPT {
            let held = running.iter().filter(|(start, _)| *start == shift.starts_at).map(|(_, part)| *part);
            shifts.push(self.in_shift(tally, shift, held.fold(Millis(0), |sum, it| sum + it), now));
            if self.begun.is_none_or(|it| shift.starts_at <= it) {
                break;
            }
            shift = self.shifts.of(shift.before());
        }
        Some(LiftHealth { lift: lift.clone(), node: self.node.clone(), shifts })
    }

    fn in_shift(&self, tally: &Tally, shift: Shift, running: Millis, now: DateTime<Utc>) -> ShiftHealth {
        let Figures { mut recorded, heard } = tally.shifts.get(&shift.starts_at).cloned().unwrap_or_default();
        recorded.held_ms = recorded.held_ms + running;
        let begun = self.begun.unwrap_or(now).max(shift.starts_at);
        let elapsed_ms = between(begun, now.min(shift.ends_at));
        let share = recorded.held_ms.0.saturating_mul(100).checked_div(elapsed_ms.0).unwrap_or_default();
        let since = self.listening_since.map(|it| it.max(shift.starts_at)).filter(|it| *it < shift.ends_at);
        ShiftHealth {
            starts_at: shift.starts_at,
            ends_at: shift.ends_at,
            elapsed_ms,
            utilization_pct: u8::try_from(share.min(100)).unwrap_or(100),
            recorded,
            heard: since.map(|_| heard),
            heard_since: since,
        }
    }

    /// All lifts over all time.
    pub fn totals(&self, now: DateTime<Utc>) -> Vec<Totals> {
        let totals = self.lifts.iter().map(|(lift, tally)| {
            let Figures { mut recorded, heard } = tally.total.clone();
            for (_, part) in self.running(lift, now) {
                recorded.held_ms = recorded.held_ms + part;
            }
            Totals { lift: lift.clone(), recorded, heard }
        });
        totals.collect()
    }

    /// The time of rides that still hold the lift, by the shift in which it lies.
    fn running(&self, lift: &LiftId, now: DateTime<Utc>) -> Vec<(DateTime<Utc>, Millis)> {
        let rides = self.open.rides.values().filter(|it| it.lift == *lift);
        rides.filter_map(|it| it.granted_at).flat_map(|from| self.spread(from, now)).collect()
    }

    fn count(&mut self, lift: &LiftId, at: DateTime<Utc>, add: impl Fn(&mut Figures)) {
        let Some(tally) = self.lifts.get_mut(lift) else { return };
        let shift = self.current.filter(|it| it.contains(at)).unwrap_or_else(|| self.shifts.of(at));
        self.current = Some(shift);
        add(&mut tally.total);
        if let Some(figures) = tally.in_shift(shift.starts_at) {
            add(figures);
        }
    }
}
