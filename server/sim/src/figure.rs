//! Counts as figures for people.

/// A count as a float: exact up to 2^53, nearest beyond.
pub fn figure(count: u64) -> f64 {
    let (high, low) = (count >> 32, count & u64::from(u32::MAX));
    let part = |it: u64| f64::from(u32::try_from(it).unwrap_or(u32::MAX));
    part(high) * 4_294_967_296.0 + part(low)
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn large_counts_stay_counts() {
        for (count, expected) in
            [(0, 0.0), (4_294_967_297, 4_294_967_297.0), (1 << 52, 4_503_599_627_370_496.0)]
        {
            assert!((figure(count) - expected).abs() < 0.5, "{count}");
        }
    }
}
