//! The bounds of a site file. Beyond them lies a mistyped unit or a file that is no site.

/// Largest file, in bytes.
pub(super) const FILE_SIZE_MAX: u64 = 2 * 1024 * 1024;

/// How many of a kind a site may have.
#[derive(Clone, Copy)]
pub(super) struct Count {
    /// Fewest that make a site.
    pub(super) min: usize,
    /// Most that a node is built for.
    pub(super) max: usize,
}

pub(super) const FLOORS: Count = Count { min: 1, max: 50 };
pub(super) const GATEWAYS: Count = Count { min: 1, max: 100 };
pub(super) const POINTS: Count = Count { min: 2, max: 5000 };
pub(super) const EDGES: Count = Count { min: 1, max: 20_000 };
pub(super) const STATIONS: Count = Count { min: 2, max: 5000 };
pub(super) const LIFTS: Count = Count { min: 0, max: 100 };
pub(super) const STOPS: Count = Count { min: 2, max: FLOORS.max };
pub(super) const WAITING: Count = Count { min: 1, max: 20 };
pub(super) const ZONES: Count = Count { min: 0, max: 1000 };
pub(super) const ZONE_POINTS: Count = Count { min: 1, max: 1000 };
pub(super) const VEHICLES: Count = Count { min: 1, max: 500 };
pub(super) const SHIFTS: Count = Count { min: 1, max: 12 };
pub(super) const EDGE_PATH: Count = Count { min: 2, max: POINTS.max };

/// Between which values a quantity may lie.
#[derive(Clone, Copy)]
pub(super) struct Quantity {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) unit: &'static str,
}

const fn quantity(min: f64, max: f64, unit: &'static str) -> Quantity {
    Quantity { min, max, unit }
}

pub(super) const POSITION: Quantity = quantity(-5000.0, 5000.0, "m");
pub(super) const LENGTH: Quantity = quantity(0.05, 5000.0, "m");
pub(super) const TRAVEL_PER_FLOOR: Quantity = quantity(0.5, 300.0, "s");
pub(super) const DOOR: Quantity = quantity(0.5, 60.0, "s");
pub(super) const CAPACITY: Quantity = quantity(1.0, 8.0, "vehicles");
pub(super) const LIFT_PAYLOAD: Quantity = quantity(1.0, 100_000.0, "kg");
pub(super) const SPEED: Quantity = quantity(0.05, 5.0, "m/s");
pub(super) const CREEP: Quantity = quantity(0.02, 1.0, "m/s");
pub(super) const WEIGHT: Quantity = quantity(1.0, 50_000.0, "kg");
pub(super) const PAYLOAD: Quantity = quantity(0.0, 50_000.0, "kg");
pub(super) const UNIT: Quantity = quantity(1.0, 247.0, "(a Modbus unit)");
pub(super) const BAUD: Quantity = quantity(1200.0, 921_600.0, "baud");
pub(super) const BUDGET_PART: Quantity = quantity(0.1, 600.0, "s");

/// Longest text for people, in characters.
pub(super) const TEXT_LENGTH_MAX: usize = 80;
