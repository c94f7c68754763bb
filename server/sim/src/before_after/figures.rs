//! What comes out of all days of a column: the report's figures, and the series behind the plots.
//!
//! Knows: what was counted. Must not know how it is shown.

pub(super) use crate::figure as number;
use kernel::time::{Millis, Mono};

use super::load;
use super::record::DayRecord;

/// Hours that the series over the day have: the working day and what follows until everything is moved.
const HOURS_MAX: u64 = 12;
/// Width of a bar of the distribution of waits.
pub(super) const WAIT_BAR: Millis = Millis::seconds(60);
/// Its bars; the last one holds everything longer.
pub(super) const WAIT_BARS: usize = 21;

/// The figures of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Days that were run.
    pub n_days: usize,
    /// Contradictory commands, a day.
    pub conflicts_per_day: f64,
    /// Emergency stops, a week of seven such days.
    pub e_stops_per_week: f64,
    /// From asking for a lease to having it, in ms, on average; none without leases.
    pub lease_wait_ms: Option<f64>,
    /// Leases granted within their wait, in percent; none without leases.
    pub lease_success_pct: Option<f64>,
    /// From standing at the waiting point to standing in the car, on average.
    pub mean_wait: Millis,
    /// Commands written to the PLC, a day.
    pub commands_per_day: f64,
    /// Of the time in which the lift was wanted, the share in which it served and held a vehicle, in percent.
    pub utilization_pct: f64,
    /// Rides, a day.
    pub rides_per_day: f64,
    /// Vehicles that still stood before the lift when the last day closed, all days together.
    pub unserved: u64,
    /// Rides by the length of their wait, in bars of a minute, in percent of all rides.
    pub(super) waits_pct: Vec<f64>,
    /// Mean wait by the hour in which it began, in minutes; none in an hour without rides.
    pub(super) wait_by_hour_min: Vec<Option<f64>>,
    /// Contradictory commands by the hour, a day.
    pub(super) conflicts_by_hour: Vec<f64>,
}

impl Figures {
    /// From all days of a column; none without any.
    pub(super) fn of(days: &[DayRecord]) -> Option<Self> {
        let n_days = number(days.len() as u64);
        let waits: Vec<(Mono, Millis)> = days.iter().flat_map(|it| it.waits.iter().copied()).collect();
        let n_waits = waits.len() as u64;
        let waited: u64 = waits.iter().map(|(_, wait)| wait.0).sum();
        let sum = |of: fn(&DayRecord) -> u64| number(days.iter().map(of).sum());
        let leases = days.iter().filter_map(|it| it.leases);
        let (asked, granted, waited_us) = leases.fold((0, 0, 0), |(asked, granted, waited_us), it| {
            (asked + it.asked, granted + it.granted, waited_us + it.waited_us)
        });
        Some(Self {
            n_days: days.len(),
            conflicts_per_day: ratio(sum(|it| it.contradictions.len() as u64), n_days)?,
            e_stops_per_week: ratio(sum(|it| it.e_stops.len() as u64) * 7.0, n_days)?,
            lease_wait_ms: ratio(number(waited_us) / 1000.0, number(granted)),
            lease_success_pct: ratio(number(granted) * 100.0, number(asked)),
            mean_wait: Millis(waited.checked_div(n_waits)?),
            commands_per_day: ratio(sum(|it| it.commands), n_days)?,
            utilization_pct: ratio(sum(|it| it.used.0) * 100.0, sum(|it| it.wanted.0))?,
            rides_per_day: ratio(number(n_waits), n_days)?,
            unserved: days.iter().map(|it| it.unserved).sum(),
            waits_pct: distribution(&waits),
            wait_by_hour_min: wait_by_hour(&waits),
            conflicts_by_hour: conflicts_by_hour(days, n_days),
        })
    }
}

fn ratio(of: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| of / by)
}

fn distribution(waits: &[(Mono, Millis)]) -> Vec<f64> {
    let mut counts = vec![0_u64; WAIT_BARS];
    for (_, wait) in waits {
        let bar = usize::try_from(wait.0 / WAIT_BAR.0).unwrap_or(WAIT_BARS).min(WAIT_BARS - 1);
        if let Some(count) = counts.get_mut(bar) {
            *count += 1;
        }
    }
    let all = number(waits.len() as u64);
    counts.into_iter().map(|it| ratio(number(it) * 100.0, all).unwrap_or_default()).collect()
}

fn hours() -> impl Iterator<Item = std::ops::Range<Mono>> {
    (0..HOURS_MAX).map(|it| Mono(it * load::HOUR.0)..Mono((it + 1) * load::HOUR.0))
}

fn wait_by_hour(waits: &[(Mono, Millis)]) -> Vec<Option<f64>> {
    let mean_min = |hour: std::ops::Range<Mono>| {
        let within: Vec<u64> =
            waits.iter().filter(|(asked, _)| hour.contains(asked)).map(|(_, wait)| wait.0).collect();
        ratio(number(within.iter().sum()) / 60_000.0, number(within.len() as u64))
    };
    hours().map(mean_min).collect()
}

fn conflicts_by_hour(days: &[DayRecord], n_days: f64) -> Vec<f64> {
    let a_day = |hour: std::ops::Range<Mono>| {
        let at = days.iter().flat_map(|it| &it.contradictions);
        ratio(number(at.filter(|at| hour.contains(at)).count() as u64), n_days).unwrap_or_default()
    };
    hours().map(a_day).collect()
}

#[cfg(test)]
mod tests {
    use super::super::policies::LeaseCounts;
    use super::*;

    #[test]
    fn figures_are_what_was_counted() {
        let day = |leases| DayRecord {
            waits: vec![(Mono(0), Millis::seconds(30)), (Mono(load::HOUR.0), Millis::seconds(5000))],
            contradictions: vec![Mono(5), Mono(6), Mono(load::HOUR.0)],
            e_stops: vec![Mono(6)],
            commands: 12,
            leases,
            wanted: Millis(400),
            used: Millis(100),
            ..DayRecord::default()
        };
        let leases = LeaseCounts { asked: 4, granted: 3, waited_us: 6000 };
        let found = Figures::of(&[day(Some(leases)), day(Some(leases))]).expect("two days");
        assert_eq!((found.conflicts_per_day, found.e_stops_per_week), (3.0, 7.0));
        assert_eq!((found.lease_wait_ms, found.lease_success_pct), (Some(2.0), Some(75.0)));
        assert_eq!((found.mean_wait, found.commands_per_day), (Millis(2_515_000), 12.0));
        assert_eq!((found.utilization_pct, found.rides_per_day), (25.0, 2.0));
        assert_eq!((found.waits_pct[0], found.waits_pct[WAIT_BARS - 1]), (50.0, 50.0));
        assert_eq!(found.wait_by_hour_min[..3], [Some(0.5), Some(5000.0 / 60.0), None]);
        assert_eq!(found.conflicts_by_hour[..3], [2.0, 1.0, 0.0]);
        assert_eq!(Figures::of(&[day(None)]).expect("a day").lease_wait_ms, None);
        assert_eq!(Figures::of(&[]), None);
    }
}
