//! Random runs of the kernel's machines beside small models of what they promise.
//!
//! The seed is fixed, so a run is the same everywhere; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` ask for more or for
//! others. A failure prints the shortest run that still fails.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do the helpers around it"
)]

mod admission;
mod task;

#[allow(dead_code, reason = "the kernel's own tests use all of it")]
#[path = "../../src/fixture.rs"]
mod fixture;

// The fixture names them as the kernel does.
use kernel::{ids, lease, lift, plant, time, timing, wire};
use proptest::test_runner::{Config, RngSeed};

/// The same run everywhere unless the environment asks for another one. What failed is printed, not kept.
fn config() -> Config {
    let asked = Config::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(3),
        RngSeed::Fixed(seed) => RngSeed::Fixed(seed),
    };
    Config { rng_seed, failure_persistence: None, ..asked }
}
