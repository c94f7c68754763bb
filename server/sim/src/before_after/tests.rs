use kernel::time::Millis;

use super::*;

fn silent() -> impl FnMut(Progress<'_>) {
    |_| {}
}

/// With an hour of Hoistway's own column: its days are long.
fn comparison(days: u32, seeds: &[u64]) -> Comparison {
    run_until(Mono(load::HOUR.0), days, seeds, &mut silent()).expect("there is something to run")
}

fn calibrated(policy: impl Fn(u64) -> Box<dyn Policy>) -> Figures {
    let plant = site::plant().expect("its names are names");
    let days = column(&plant, CALIBRATED_DAYS, &CALIBRATED_SEEDS, policy, &mut |_| {});
    Figures::of(&days.expect("its names are names")).expect("there are days")
}

fn assert_waits(found: &Figures, target: Millis) {
    assert!(found.mean_wait.0.abs_diff(target.0) <= 10_000, "{found:?}");
}

#[test]
fn before_vehicles_wait_as_long_as_reported_over_five_seeds() {
    let found = calibrated(|seed| Box::new(Before::new(seed, &KNOBS)));
    assert_waits(&found, Millis::seconds(280));
    // The danger arose: nodes contradicted each other, and the lift stopped.
    assert!(found.conflicts_per_day > 1.0 && found.e_stops_per_week > 1.0, "{found:?}");
}

#[test]
fn with_leases_only_vehicles_wait_as_long_as_reported_over_five_seeds() {
    let found = calibrated(|seed| Box::new(LeasesOnly::new(seed, &KNOBS)));
    assert_waits(&found, Millis::seconds(140));
    // Not fitted: leases end the conflicts, and everybody is served.
    assert_eq!((found.conflicts_per_day, found.e_stops_per_week, found.unserved), (0.0, 0.0, 0));
}

#[test]
fn every_order_is_moved_in_a_day_with_leases() {
    let plant = site::plant().expect("its names are names");
    let mut policy = LeasesOnly::new(1, &KNOBS);
    let day = Day::new(&plant, &mut policy, &KNOBS, (1, 0)).expect("its names are names");
    let moved = day.run(&mut |_| {}).expect("its names are names");
    let n_orders = load::orders(1, 0, &KNOBS).expect("its names are names").len() as u64;
    // Each load crosses a floor, so its vehicle rides at least once.
    assert_eq!((moved.picked, moved.dropped), (n_orders, n_orders));
    assert!(moved.waits.len() as u64 >= n_orders);
}

#[test]
fn a_seed_determines_the_page() {
    let (first, second) = (comparison(1, &[7]), comparison(1, &[7]));
    assert_eq!(first.page(), second.page());
    assert_eq!(first.table(), second.table());
    assert_ne!(first.table(), comparison(1, &[8]).table());
}

/// Its days are divided over the seeds, since each takes as long as all days of the other columns.
#[test]
fn each_column_has_its_days() {
    let found = comparison(2, &[1, 2]);
    assert_eq!((found.before.n_days, found.leases_only.n_days, found.hoistway.n_days), (4, 4, 2));
}

#[test]
fn nothing_to_run_is_said() {
    for (days, seeds) in [(0, &[1_u64][..]), (1, &[])] {
        assert_eq!(run(days, seeds, &mut silent()), Err(ComparisonError::NothingToRun));
    }
}

#[test]
fn progress_rises_to_the_end() {
    let mut told = Vec::new();
    let until = Mono(2 * load::HOUR.0);
    run_until(until, 1, &[1], &mut |it| told.push((it.fraction, it.column.to_owned())))
        .expect("there is something to run");
    assert!(told.len() > 40 && told.is_sorted_by(|one, next| one.0 <= next.0), "{told:?}");
    assert_eq!(told.first().map(|it| it.1.as_str()), Some("before"));
    assert_eq!(told.last(), Some(&(1.0, "Hoistway".to_owned())));
}

#[test]
fn the_page_needs_nothing_else() {
    let page = comparison(1, &[1]).page();
    for foreign in ["http", "<script", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page.matches("role=\"img\"").count(), 3);
    assert!(page.contains("prefers-color-scheme: dark"));
    for column in 0..3 {
        assert!(
            page.contains(&format!("class=\"bar-{column}\"")) && page.contains(&format!(".bar-{column} {{"))
        );
    }
}
