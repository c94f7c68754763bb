//! Two vehicles at one landing and a car that holds one.

use kernel::safeguard::{Safeguard, Safeguards};
use kernel::time::Millis;
use sim::checkers::Checker;
use sim::sites::nodes;
use sim::world::{World, WorldConfig};

use super::config;

/// V1 and V3 wait on the lower floor. Sessions let one of them at a time enter; when these fail, the vehicles themselves
/// look whether there is room, and when nobody looks, two are in the car.
#[test]
fn a_car_that_holds_one_is_entered_by_one() {
    let rows: [(&[Safeguard], [bool; 2]); 4] = [
        (&[], [false, false]),
        (&[Safeguard::RoomInCar], [false, false]),
        (&[Safeguard::OneSession], [true, false]),
        (&[Safeguard::OneSession, Safeguard::RoomInCar], [true, true]),
    ];
    for (off, expected) in rows {
        let safeguards = Safeguards::all_but_these(off);
        let orders = [(5, "S1", "S2"), (8, "S1", "S2")];
        // Of two rides that hold the lift the nodes drive the first by name, which is the later one here.
        let nodes = nodes(2).expect("names");
        let mut world = World::new(WorldConfig { safeguards, nodes, ..config(3, 1, &orders) });
        world.run_until(Millis::seconds(240), |_| false);
        let found = |checker| world.violations().iter().any(|it| it.checker == checker);
        assert_eq!([found(Checker::OneRide), found(Checker::CarCapacity)], expected, "{off:?}");
    }
}
