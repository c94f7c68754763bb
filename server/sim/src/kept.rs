//! What the simulated plant keeps over a stop of its process, so that it goes on as if time had stood still.
//!
//! Knows: the form in which the models are written down, and why such a form may not fit a site. Must not know: where
//! it is stored. Moments are kept as spans to the moment of keeping, since the clock of the next process begins
//! elsewhere. These are the only types of this crate that are serialised.
//!
//! The parts are written one by one, each when it changed. So a plant that is killed finds parts of different age, but
//! never parts that contradict each other: whatever one part tells another is a change of both.

use std::collections::BTreeMap;

use kernel::ids::{FloorId, LiftId, OrderId, PointId, SiteId, VehicleId};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use crate::lift::KeptLift;
pub use crate::loads::KeptLoad;
pub use crate::vehicle::{KeptMemory, KeptVehicle};

/// The form of everything here. It rises with each change of a field, so that no other form is taken for this one.
pub const KEPT_VERSION: u32 = 2;

/// Which form, and of which site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHeader {
    /// [`KEPT_VERSION`] of the program that wrote it.
    pub version: u32,
    /// Whose plant.
    pub site: SiteId,
}

impl KeptHeader {
    /// The header of what is kept now.
    pub fn of(site: &SiteId) -> Self {
        Self { version: KEPT_VERSION, site: site.clone() }
    }

    /// Whether the rest can be read, and belongs to this plant. To be asked before the rest is read.
    ///
    /// # Errors
    /// Another form, or another site.
    pub fn check(&self, plant: &Plant) -> Result<(), ThawError> {
        if self.version != KEPT_VERSION {
            return Err(ThawError::Version { found: self.version });
        }
        if self.site != plant.site {
            return Err(ThawError::Site { kept: self.site.clone(), site: plant.site.clone() });
        }
        Ok(())
    }
}

/// A plant, or those parts of it that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlant {
    /// Which form, and of which site.
    pub header: KeptHeader,
    /// PLCs with their cars and doors.
    pub lifts: BTreeMap<LiftId, KeptLift>,
    /// Vehicles, apart from their memories.
    pub vehicles: BTreeMap<VehicleId, KeptVehicle>,
    /// What each vehicle remembers of its commands: the large part, which changes seldom.
    pub memories: BTreeMap<VehicleId, KeptMemory>,
    /// Loads as they were moved.
    pub loads: BTreeMap<OrderId, KeptLoad>,
}

impl KeptPlant {
    /// Nothing yet of a site.
    pub fn empty(site: &SiteId) -> Self {
        Self {
            header: KeptHeader::of(site),
            lifts: BTreeMap::new(),
            vehicles: BTreeMap::new(),
            memories: BTreeMap::new(),
            loads: BTreeMap::new(),
        }
    }

    /// No part is in it.
    pub fn is_empty(&self) -> bool {
        self.lifts.is_empty() && self.vehicles.is_empty() && self.memories.is_empty() && self.loads.is_empty()
    }
}

/// Why a kept plant does not fit a site.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ThawError {
    /// Another program wrote it.
    #[error("it was kept in form {found}, and this program reads form {KEPT_VERSION}")]
    Version {
        /// The form that was found.
        found: u32,
    },
    /// Another site's.
    #[error("it was kept for site {kept}, and the site file describes {site}")]
    Site {
        /// Whose it is.
        kept: SiteId,
        /// Who asks.
        site: SiteId,
    },
    /// A lift that is gone.
    #[error("lift {0} was kept, and the site file has no such lift")]
    UnknownLift(LiftId),
    /// A lift that is new.
    #[error("the site file has lift {0}, and it was not kept")]
    MissingLift(LiftId),
    /// A lift whose stops are others.
    #[error("lift {0} was kept with other stops than the site file gives it")]
    OtherStops(LiftId),
    /// A lift that moves at another pace: heights and gaps are kept in milliseconds of movement.
    #[error("lift {0} was kept with other travel or door times than the site file gives it")]
    OtherTimes(LiftId),
    /// A vehicle that is gone.
    #[error("vehicle {0} was kept, and the site file has no such vehicle")]
    UnknownVehicle(VehicleId),
    /// A vehicle that is new.
    #[error("the site file has vehicle {0}, and it was not kept")]
    MissingVehicle(VehicleId),
    /// A place that is gone.
    #[error("vehicle {vehicle} was kept at point {point}, and the site file has no such point")]
    UnknownPoint {
        /// Who stands there.
        vehicle: VehicleId,
        /// Where.
        point: PointId,
    },
    /// A way that is gone.
    #[error("vehicle {vehicle} was kept on its way to {point}, and the site file has no such way")]
    UnknownWay {
        /// Who drives.
        vehicle: VehicleId,
        /// Where the way ends.
        point: PointId,
    },
    /// A ride that cannot be made any more.
    #[error(
        "vehicle {vehicle} was kept on a ride in lift {lift} from floor {from} to floor {to}, and the site file has \
         no such ride"
    )]
    UnknownRide {
        /// Who rides.
        vehicle: VehicleId,
        /// In which lift.
        lift: LiftId,
        /// From where.
        from: FloorId,
        /// To where.
        to: FloorId,
    },
    /// A vehicle in the car of a lift that the site does not have.
    #[error("vehicle {vehicle} was kept in the car of lift {lift}, which the site does not have")]
    UnknownCar {
        /// Who.
        vehicle: VehicleId,
        /// In which car.
        lift: LiftId,
    },
}

/// A past moment, from a span that was kept.
pub(crate) fn before(now: Mono, span: Millis) -> Mono {
    Mono(now.0.saturating_sub(span.0))
}
