//! The constants of the comparison that were found by trying. FROZEN: later work may not edit them, nor what
//! `everything_is_frozen` names; who improves the product leaves the yardstick alone.
//!
//! Knows: three values, their bounds and sources. Must not know how a day runs.

use kernel::time::Millis;

/// How the values were found, for readers of the page.
pub(super) const HOW: [&str; 3] = [
    "The report gives its results, not its load. Three constants stand for what it leaves open. They were tried by \
     hand, five seeds and two days at a time, until the mean wait was within 4:40 ± 10 s before and within \
     2:20 ± 10 s with leases only. Nothing else was fitted.",
    "With leases only the load alone decides the wait, and days are alike. Before, single days of the ten differ from \
     under 3 to over 6 minutes, since most of the wait comes from emergency stops in the afternoon. So the mean \
     holds for these seeds and days: releases of 490 to 540 s gave means from 3:53 to 5:09, and other seeds give \
     other means too.",
    "Everything else is the report’s: polls of 200 ms, 3 s for an acknowledgement, 2 s for a lease, 5 s for a call \
     record, a door cycle of at most 15 s, three reversals until the emergency stop; or it is what the shipped \
     models of lift and vehicle do.",
];

/// What was found by trying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Knobs {
    /// Orders that one wave of the afternoon's flood brings.
    pub(super) peak_orders_per_wave: u64,
    /// A node that found the lift busy looks again after about so long.
    pub(super) retry_ms: Millis,
    /// From an emergency stop until people have released it.
    pub(super) release_ms: Millis,
}

/// The frozen values.
pub(super) const KNOBS: Knobs =
    Knobs { peak_orders_per_wave: 15, retry_ms: Millis(10_000), release_ms: Millis::seconds(540) };

/// One of them as readers see it.
pub(super) struct Knob {
    pub(super) name: &'static str,
    pub(super) value: u64,
    pub(super) unit: &'static str,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) source: &'static str,
}

/// All of them with bounds and sources.
pub(super) fn knobs() -> [Knob; 3] {
    [
        Knob {
            name: "Orders in a wave of the afternoon",
            value: KNOBS.peak_orders_per_wave,
            unit: "orders",
            least: 6,
            most: 24,
            source: "Four waves an hour. Below, twelve vehicles have too little to do to queue before one lift; \
                     above, the lift cannot carry it: a ride takes it at least 35 s. Report: a flood in the \
                     afternoon.",
        },
        Knob {
            name: "A node that found the lift busy looks again after",
            value: KNOBS.retry_ms.0 / 1000,
            unit: "s",
            least: 2,
            most: 15,
            source: "Report, 3.3: a task without the lift goes back to its queue and is tried again. From its lease \
                     wait (2 s) to its longest door cycle (15 s).",
        },
        Knob {
            name: "From an emergency stop until people released it",
            value: KNOBS.release_ms.0 / 1000,
            unit: "s",
            least: 180,
            most: 1800,
            source: "Field practice: somebody is called, comes, looks into the car and turns the key. The report \
                     says only that all vehicles stood before the lift.",
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::before_after::{day, fleet, load, policies, site};

    #[test]
    fn every_constant_is_within_its_bounds() {
        let knobs = knobs();
        assert!(knobs.len() <= 4);
        for knob in knobs {
            assert!((knob.least..=knob.most).contains(&knob.value), "{}", knob.name);
        }
    }

    /// Whoever changes one of these changes the yardstick, and every figure that was ever compared with it.
    #[test]
    fn everything_is_frozen() {
        let found = [
            format!("{KNOBS:?}"),
            site::frozen(),
            load::frozen(),
            fleet::frozen(),
            day::frozen(),
            policies::frozen(),
        ];
        assert_eq!(found.join("\n"), FROZEN);
    }

    const FROZEN: &str = r#"Knobs { peak_orders_per_wave: 15, retry_ms: Millis(10000), release_ms: Millis(540000) }
(3, 2, 12, [("H", 12000), ("A", 24000), ("B", 18000), ("W", 1500), ("D", 0)], Millis(4000), Millis(8000), 1200, 300)
(Millis(36000000), Mono(18000000), Mono(28800000), Millis(900000), Millis(300000), 50)
(Millis(120000), Millis(1800000))
(46..=101, 20..=60, 10, Millis(50), Millis(2500), Mono(43200000))
(Millis(3000), "(Millis(15000), Millis(30000))", "(Millis(2000), Millis(5000), 1000)")"#;
}
