//! What was counted in one day of one column, outside the dispatchers.

use kernel::time::{Millis, Mono};

use super::policies::LeaseCounts;
use crate::lift::LiftCounters;

/// One day as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DayRecord {
    /// Each vehicle's wait for the lift, from standing at the waiting point to standing in the car, with its beginning.
    pub(super) waits: Vec<(Mono, Millis)>,
    /// When the PLC got commands that contradict each other.
    pub(super) contradictions: Vec<Mono>,
    /// When it stopped in emergency.
    pub(super) e_stops: Vec<Mono>,
    /// Commands that were written to the PLC.
    pub(super) commands: u64,
    /// Loads taken up, and put down, as the plant saw it.
    pub(super) picked: u64,
    pub(super) dropped: u64,
    /// Vehicles that still waited at the end.
    pub(super) unserved: u64,
    /// How the leases went; none without leases.
    pub(super) leases: Option<LeaseCounts>,
    /// Time in which a vehicle waited for the lift or rode it.
    pub(super) wanted: Millis,
    /// Of that, the time in which a vehicle was in the car or on its sill, and the lift served.
    pub(super) used: Millis,
}

impl DayRecord {
    /// Takes the counters of the lift, which only rise.
    pub(super) fn count(&mut self, counters: &LiftCounters, now: Mono) {
        while (self.contradictions.len() as u64) < counters.contradictions {
            self.contradictions.push(now);
        }
        while (self.e_stops.len() as u64) < counters.e_stops {
            self.e_stops.push(now);
        }
    }

    /// Adds a stretch of time.
    pub(super) fn spend(&mut self, span: Millis, wanted: bool, used: bool) {
        if wanted {
            self.wanted = self.wanted + span;
        }
        if used {
            self.used = self.used + span;
        }
    }
}
