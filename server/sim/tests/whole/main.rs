//! Whole orders across floors, in virtual time, through the machines that ship.

#![expect(clippy::expect_used, reason = "a test whose site cannot be built has failed")]

mod site;
mod world;

use kernel::time::Millis;

use world::World;

fn fails(world: &World, what: &str) -> String {
    let tail = world.log.iter().rev().take(120).rev().cloned().collect::<Vec<_>>().join("\n");
    format!("{what}\n{tail}")
}

fn moved_once(world: &World, n_orders: usize) {
    let loads = world.sim.loads();
    assert_eq!(loads.iter().count(), n_orders, "{}", fails(world, "loads are missing"));
    for (order, load) in loads.iter() {
        assert_eq!((load.picked, load.dropped), (1, 1), "{}", fails(world, &order.to_string()));
    }
    for (lift, counters) in world.sim.lift_counters() {
        assert_eq!(counters.contradictions, 0, "{lift}");
        assert_eq!(counters.e_stops, 0, "{lift}");
        assert!(counters.vehicles_max <= 1, "{lift}");
    }
}

#[test]
fn one_order_goes_from_the_upper_floor_to_the_lower() {
    let mut world = World::new(site::plant(2), 1);
    assert!(
        world.run_until(Millis::seconds(20), |it| it
            .control
            .as_ref()
            .is_some_and(|c| c.book().sequence.0 > 2))
    );
    world.place("S2", "S1", "k1");
    let done = world.run_until(Millis::seconds(600), World::all_completed);
    assert!(done, "{}", fails(&world, "not completed"));
    moved_once(&world, 1);
}

#[test]
fn many_orders_share_one_lift() {
    for seed in 1..=5 {
        let mut world = World::new(site::plant(4), seed);
        for n in 0..8 {
            let (from, to) = if n % 2 == 0 { ("S2", "S1") } else { ("S1", "S2") };
            world.run_until(Millis::seconds(5), |_| false);
            world.place(from, to, &format!("k{n}"));
        }
        let done = world.run_until(Millis::seconds(3600), World::all_completed);
        assert!(done, "seed {seed}: {}", fails(&world, "not completed"));
        moved_once(&world, 8);
    }
}

#[test]
fn control_is_killed_at_any_moment_and_the_load_is_moved_once() {
    for seconds in (2..120).step_by(3) {
        let mut world = World::new(site::plant(2), seconds);
        world.run_until(Millis::seconds(5), |_| false);
        world.place("S2", "S1", "k1");
        world.run_until(Millis::seconds(seconds), |_| false);
        world.kill_control();
        world.run_until(Millis::seconds(8), |_| false);
        world.start_control();
        let done = world.run_until(Millis::seconds(600), World::all_completed);
        assert!(done, "killed after {seconds} s: {}", fails(&world, "not completed"));
        moved_once(&world, 1);
    }
}

#[test]
fn the_gateway_is_restarted_at_any_moment_and_the_load_is_moved_once() {
    for seconds in (2..120).step_by(3) {
        let mut world = World::new(site::plant(2), seconds);
        world.run_until(Millis::seconds(5), |_| false);
        world.place("S2", "S1", "k1");
        world.run_until(Millis(seconds * 1000 + 137), |_| false);
        world.restart_gateway();
        let done = world.run_until(Millis::seconds(600), World::all_completed);
        assert!(done, "restarted after {seconds} s: {}", fails(&world, "not completed"));
        moved_once(&world, 1);
    }
}
