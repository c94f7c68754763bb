//! Chance from a seed: SplitMix64, whose whole state is one number. Not for secrets.

use std::ops::RangeInclusive;

/// A stream of numbers that its seed determines.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for each pair: models never share one, so that one more vehicle changes nothing for the
    /// others.
    pub fn new(seed: u64, stream: &str) -> Self {
        // FNV-1a spreads the name over the seed.
        let mut state = seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in stream.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(state)
    }

    /// Goes on where [`Self::state`] was taken.
    pub(crate) fn from_state(state: u64) -> Self {
        Self(state)
    }

    /// All that determines the rest of the stream.
    pub(crate) fn state(&self) -> u64 {
        self.0
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range, each nearly equally likely.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let width = range.end().saturating_sub(*range.start()).saturating_add(1);
        range.start() + self.draw() % width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_determine_the_stream() {
        let first = |seed, stream: &str| Rng::new(seed, stream).draw();
        assert_eq!(first(1, "L1"), first(1, "L1"));
        assert_ne!(first(1, "L1"), first(2, "L1"));
        assert_ne!(first(1, "L1"), first(1, "L2"));
    }

    #[test]
    fn a_range_is_kept_and_reached() {
        let mut rng = Rng::new(7, "range");
        let drawn: Vec<u64> = (0..200).map(|_| rng.within(3..=5)).collect();
        assert!(drawn.iter().all(|it| (3..=5).contains(it)));
        assert!((3..=5).all(|it| drawn.contains(&it)));
    }
}
