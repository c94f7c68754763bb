//! The two clocks, read together.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::TimeDelta;
use kernel::time::{Mono, Now};
use rustix::time::{ClockId, clock_gettime};

/// Reads both clocks. The monotonic one is the boot clock: it counts suspend, so a lease that ended while the
/// machine slept is seen to have ended.
pub fn now() -> Now {
    Now { mono: mono(), wall: chrono::Utc::now() }
}

/// Reads the boot clock alone.
pub fn mono() -> Mono {
    let read = clock_gettime(ClockId::Boottime);
    let seconds_ms = u64::try_from(read.tv_sec).unwrap_or(0).saturating_mul(1000);
    Mono(seconds_ms.saturating_add(u64::try_from(read.tv_nsec).unwrap_or(0) / 1_000_000))
}

/// The clocks as one program reads them. Clones are the same; the wall clock is this machine's, unless a drill sets it.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    ahead_ms: Arc<AtomicI64>,
}

impl Clock {
    /// Reads both.
    pub fn now(&self) -> Now {
        let now = now();
        let ahead = TimeDelta::milliseconds(self.ahead_ms.load(Ordering::Relaxed));
        Now { wall: now.wall.checked_add_signed(ahead).unwrap_or(now.wall), ..now }
    }

    /// Its wall clock is so much ahead of this machine's from now on, or behind it.
    pub fn set_ahead(&self, by_ms: i64) {
        self.ahead_ms.store(by_ms, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let reads: Vec<Mono> = (0..1000).map(|_| mono()).collect();
        assert!(reads.is_sorted());
        assert!(reads[0].0 > 0);
    }

    #[test]
    fn a_wall_clock_that_is_set_leaves_the_other_alone() {
        let clock = Clock::default();
        for by_ms in [60_000, -60_000, 0] {
            clock.set_ahead(by_ms);
            let (before, read, after) = (now(), clock.now(), now());
            let real = read.wall - TimeDelta::milliseconds(by_ms);
            assert!(before.wall <= real && real <= after.wall, "{by_ms}");
            assert!(before.mono <= read.mono && read.mono <= after.mono, "{by_ms}");
        }
    }
}
