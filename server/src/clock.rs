//! The two clocks, read together.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let reads: Vec<Mono> = (0..1000).map(|_| mono()).collect();
        assert!(reads.is_sorted());
        assert!(reads[0].0 > 0);
    }
}
