//! How fast virtual time goes, at fixed fidelity: heartbeats at 2 Hz, PLCs that scan each 100 ms, all checkers on.

use kernel::ids::{InvalidName, StationId};
use kernel::time::Millis;

use crate::sites::{SiteShape, site};
use crate::world::{PlannedOrder, World, WorldConfig};

/// One lift and twelve vehicles, as on the first field report's site.
const SHAPE: SiteShape = SiteShape { floors: 3, lifts: 1, vehicles: 12, gateways: 1 };
const SCAN: Millis = Millis(100);
/// As many orders as the lift just carries.
const ORDER_PERIOD: Millis = Millis::seconds(50);

/// The world whose speed is measured, with work for so long.
///
/// # Errors
/// Never for a site of the lab: its names are made here.
pub fn world(span: Millis) -> Result<World, InvalidName> {
    let mut config = WorldConfig { scan: Some(SCAN), ..WorldConfig::new(site(SHAPE)?, 1) };
    let floors = u64::from(SHAPE.floors);
    for n in 0..span.0 / ORDER_PERIOD.0 {
        config.orders.push(PlannedOrder {
            at: Millis(5000 + n * ORDER_PERIOD.0),
            from: StationId::try_new(&format!("S{}", n % floors + 1))?,
            to: StationId::try_new(&format!("S{}", (n + 1) % floors + 1))?,
            withdrawn_after: None,
        });
    }
    Ok(World::new(config))
}
