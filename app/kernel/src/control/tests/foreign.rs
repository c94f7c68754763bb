//! Movements that nobody commanded, as a node takes them from a gateway.

use super::*;
use crate::wire::gateway::{ForeignMove, ForeignPart};

fn seen(nth: u64, age: Millis, over: bool) -> Option<ForeignMove> {
    Some(ForeignMove { nth, part: ForeignPart::Car, floor: fixture::floor("F2"), age_ms: age, over })
}

fn recorded(bench: &Bench) -> Vec<u64> {
    let nth = |it: &Record| if let Record::ForeignMoved { nth, .. } = it { Some(*nth) } else { None };
    bench.entries.iter().filter_map(|it| nth(&it.record)).collect()
}

#[test]
fn a_movement_that_nobody_commanded_is_recorded_once_and_alarmed() {
    let mut bench = Bench::ready();
    bench.foreign = seen(1, Millis(0), false);
    bench.run(Millis::seconds(1));
    assert_eq!((recorded(&bench), bench.standing()), (vec![1], vec![AlarmKind::LiftForeignCommand]));
    assert!(bench.alarms.values().all(|it| it.detail == "car · F2"), "{:?}", bench.alarms);

    bench.foreign = seen(1, Millis::seconds(30), true);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), [AlarmKind::LiftForeignCommand], "it is over, and nobody may have seen it");

    bench.foreign = seen(1, Millis::seconds(61), true);
    bench.run(Millis::seconds(1));
    assert_eq!((recorded(&bench), bench.standing()), (vec![1], vec![]));

    bench.foreign = seen(3, Millis(0), true);
    bench.run(Millis::seconds(30));
    assert_eq!(recorded(&bench), [1], "not more than one a minute");
    bench.run(Millis::seconds(30));
    assert_eq!(recorded(&bench), [1, 3], "the gap says that one was not told");
}

#[test]
fn a_movement_that_does_not_end_is_alarmed_as_long_as_it_lasts() {
    let mut bench = Bench::ready();
    bench.foreign = seen(1, Millis::seconds(600), false);
    bench.run(Millis::seconds(1));
    assert_eq!(bench.standing(), [AlarmKind::LiftForeignCommand]);
}

/// What the ledger has is not told again by a node that starts, nor by a gateway that says it again.
#[test]
fn what_the_ledger_has_is_not_recorded_again() {
    let mut bench = Bench::ready();
    bench.foreign = seen(2, Millis(0), true);
    bench.run(Millis::seconds(1));
    bench.restart();
    bench.run(Millis::seconds(5));
    assert_eq!(recorded(&bench), [2]);
}
