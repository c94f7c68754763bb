//! When a shift begins and ends: by the site's own clock, so that a change to summer time moves it with the people.

use chrono::{DateTime, NaiveDate, TimeDelta, TimeZone, Utc};

/// The shifts of a site.
#[derive(Clone, Debug)]
pub struct Shifts<Z> {
    zone: Z,
    /// Minutes after local midnight, never empty.
    starts_min: Vec<u16>,
}

/// One shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// When it begins.
    pub starts_at: DateTime<Utc>,
    /// When it ends: the next one begins.
    pub ends_at: DateTime<Utc>,
}

impl Shift {
    pub(super) fn contains(self, at: DateTime<Utc>) -> bool {
        self.starts_at <= at && at < self.ends_at
    }

    /// The last moment before it.
    pub(super) fn before(self) -> DateTime<Utc> {
        self.starts_at.checked_sub_signed(TimeDelta::milliseconds(1)).unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

impl<Z: TimeZone> Shifts<Z> {
    /// Shifts that begin at these minutes after local midnight; without any, each day is one.
    pub fn new(zone: Z, starts_min: &[u16]) -> Self {
        let starts_min = if starts_min.is_empty() { vec![0] } else { starts_min.to_vec() };
        Self { zone, starts_min }
    }

    /// The shift of a moment.
    pub fn of(&self, at: DateTime<Utc>) -> Shift {
        let today = at.with_timezone(&self.zone).date_naive();
        let days = [today.pred_opt(), Some(today), today.succ_opt()].into_iter().flatten();
        let mut starts: Vec<DateTime<Utc>> = days.flat_map(|day| self.starts_on(day)).collect();
        starts.sort_unstable();
        let starts_at = starts.iter().rev().find(|it| **it <= at).copied().unwrap_or(at);
        let ends_at = starts.into_iter().find(|it| *it > at).unwrap_or(at);
        Shift { starts_at, ends_at }
    }

    fn starts_on(&self, day: NaiveDate) -> Vec<DateTime<Utc>> {
        let start = |minutes: &u16| {
            let local =
                day.and_hms_opt(0, 0, 0)?.checked_add_signed(TimeDelta::minutes((*minutes).into()))?;
            // An hour that the clocks skip begins when they have.
            let skipped = || self.zone.from_local_datetime(&(local + TimeDelta::hours(1))).earliest();
            Some(self.zone.from_local_datetime(&local).earliest().or_else(skipped)?.to_utc())
        };
        self.starts_min.iter().filter_map(start).collect()
    }
}
