use super::*;
use crate::before_after::calibration::KNOBS;
use crate::before_after::load::{self, HOUR};
use crate::checkers::Checker;
use crate::fixture::point;
use crate::lift::LiftTrouble;

/// A day with the orders of its first hour.
fn hour(seed: u64) -> (HoistwayDay, u64) {
    let plant = site::plant().expect("its names are names");
    let ends = Mono(HOUR.0);
    let mut orders = load::orders(seed, 0, &KNOBS).expect("their names are names");
    orders.retain(|it| it.placed < ends);
    let n_orders = orders.len() as u64;
    let day = HoistwayDay::new(&plant, &KNOBS, (seed, 0), (orders, ends)).expect("its names are names");
    (day, n_orders)
}

fn run(day: HoistwayDay) -> DayRecord {
    day.run(&mut |_| {}).expect("promises are kept")
}

#[test]
fn every_order_is_moved_without_a_conflict_and_everything_is_counted() {
    let (day, n_orders) = hour(1);
    let moved = run(day);
    assert!(n_orders > 10);
    assert_eq!((moved.picked, moved.dropped, moved.unserved), (n_orders, n_orders, 0));
    assert_eq!((moved.contradictions.len(), moved.e_stops.len()), (0, 0));
    // Each load crosses a floor, and each ride takes at least to open, close, travel, open and close.
    assert!(moved.waits.len() as u64 >= n_orders, "{moved:?}");
    assert!(moved.commands >= 4 * n_orders, "{moved:?}");
    // Creeping to the door and over the sill is part of each wait.
    assert!(moved.waits.iter().all(|(_, wait)| *wait >= Millis::seconds(10)), "{moved:?}");
    assert!(moved.used > Millis(0) && moved.used <= moved.wanted, "{moved:?}");
    let leases = moved.leases.expect("it has leases");
    assert!(leases.granted >= moved.commands && leases.granted <= leases.asked, "{moved:?}");
    assert!(leases.waited_us >= leases.granted * STORE_ROUND_TRIP_US, "{moved:?}");
}

#[test]
fn a_seed_determines_its_day() {
    let of = |seed| run(hour(seed).0);
    assert_eq!(of(2), of(2));
    assert_ne!(of(2), of(3));
}

/// Nothing of it is the fault of who commands it; it stands until people come, as in the other columns.
#[test]
fn a_lift_that_stops_in_emergency_is_released_when_people_have_come() {
    let (mut day, n_orders) = hour(1);
    let trouble = LiftTrouble::Mode { mode: LiftMode::Emergency, for_ms: CLOSING.since(Mono(0)) };
    let trouble = PlantTrouble::Lift { lift: day.lift.clone(), trouble };
    day.world.inject(FaultKind::Plant(trouble));
    let mode = |day: &HoistwayDay| day.world.sim().lift_status(&day.lift).map(|it| it.mode);
    let look_for = |day: &mut HoistwayDay, span: Millis| {
        let until = Mono(day.world.elapsed().0) + span;
        while day.looked_at < until {
            day.world.run_for(LOOK_PERIOD);
            day.look();
        }
    };
    look_for(&mut day, Millis(KNOBS.release_ms.0 - 1000));
    assert_eq!(mode(&day), Some(LiftMode::Emergency));
    look_for(&mut day, Millis(2000));
    assert_eq!(mode(&day), Some(LiftMode::Vehicle));
    assert_eq!(run(day).dropped, n_orders);
}

#[test]
fn a_broken_promise_ends_the_day() {
    let (mut day, _) = hour(1);
    let order = kernel::ids::OrderId::try_new("O-A1").expect("a name");
    for _ in 0..2 {
        day.world.loads_mut().picked(order.clone(), point("A1"));
    }
    let found = day.run(&mut |_| {}).expect_err("a load was taken up twice");
    assert_eq!(found.checker, Checker::LoadMovedOnce);
}
