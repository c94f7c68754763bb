//! The plant as the site file describes it: what stands where, what connects to what. Immutable while a node runs.
//!
//! A value of [`Plant`] is consistent: the site file reader builds it and refuses what does not fit together.
//! Lengths are millimetres, masses kilograms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{FloorId, GatewayId, LiftId, PointId, SiteId, StationId, VehicleId};
use crate::time::Millis;
use crate::timing::{LinkBudget, PLC_SETTLE};

/// One site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Plant {
    /// Stands in every topic.
    pub site: SiteId,
    /// For people.
    pub name: String,
    /// IANA name, such as `Asia/Shanghai`. Only people's times use it.
    pub time_zone: String,
    /// Start of each shift in minutes after local midnight, rising.
    pub shift_starts_min: Vec<u16>,
    /// From the lowest to the highest.
    pub floors: Vec<Floor>,
    /// Every place where a vehicle may stand, by name.
    pub points: BTreeMap<PointId, Point>,
    /// Ways between points of one floor. Lifts connect floors.
    pub edges: Vec<Edge>,
    /// Where loads are picked and dropped.
    pub stations: BTreeMap<StationId, Station>,
    /// Lift installations.
    pub lifts: BTreeMap<LiftId, Lift>,
    /// Stretches with their own rules.
    pub zones: Vec<Zone>,
    /// The fleet.
    pub vehicles: BTreeMap<VehicleId, Vehicle>,
    /// Edge gateways, in the order of the site file.
    pub gateways: Vec<GatewayId>,
    /// From which the acknowledgement deadline is derived.
    pub link_budget: LinkBudget,
}

/// A floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Floor {
    /// Its name.
    pub id: FloorId,
    /// For people.
    pub name: String,
}

/// A place where a vehicle may stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Point {
    /// Where it lies.
    pub floor: FloorId,
    /// Along the hall: the axis that the section view draws.
    pub x_mm: i64,
    /// Across the hall.
    pub y_mm: i64,
}

/// A way between two points of one floor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Edge {
    /// One end; the start when the edge is one-way.
    pub from: PointId,
    /// The other end.
    pub to: PointId,
    /// How far it is.
    pub length_mm: u64,
    /// May only be driven from `from` to `to`.
    pub one_way: bool,
}

/// Where loads are picked and dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Station {
    /// Where a vehicle stands to serve it.
    pub point: PointId,
}

/// A lift installation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Lift {
    /// The one gateway that may write its PLC.
    pub gateway: GatewayId,
    /// From the lowest to the highest; at least two.
    pub stops: Vec<LiftStop>,
    /// From one stop to the next, without doors.
    pub travel_per_floor_ms: Millis,
    /// To open or to close.
    pub door_ms: Millis,
    /// Most vehicles in the car at once.
    pub capacity_vehicles: u8,
    /// Most that the car carries, vehicles and loads together.
    pub payload_kg: u32,
    /// What its PLC tells.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// What a PLC tells beside where the car is, how its door stands and whether it is occupied, which every PLC must tell.
/// The gateway's rules follow what is declared here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Capabilities {
    /// The number of the command that it took last, and of the one that it finished last. Without, a command counts as
    /// accepted when the lift is seen to do it.
    pub echo: bool,
    /// A counter of its starts. Without, each loss of the connection may have been one.
    pub boot: bool,
    /// A counter of its scans. Without, nobody sees that it hangs.
    pub heartbeat: bool,
    /// Longest time from a command until the lift shows that it does it; counts without echo.
    pub reaction_ms: Millis,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { echo: true, boot: true, heartbeat: true, reaction_ms: PLC_SETTLE }
    }
}

/// Where a lift serves a floor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LiftStop {
    /// The floor.
    pub floor: FloorId,
    /// In front of the doors; vehicles enter and leave over it.
    pub landing: PointId,
    /// Where vehicles wait for "lift ready", best first; at least one.
    pub waiting: Vec<PointId>,
}

/// A stretch with its own rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Zone {
    /// For people.
    pub name: String,
    /// Which rules.
    pub kind: ZoneKind,
    /// What lies in it.
    pub points: Vec<PointId>,
}

/// Which rules hold in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ZoneKind {
    /// Before lift doors: long enough for one wireless reconnect at creep speed.
    Transition,
    /// Where the radio is known to be dead.
    Blind,
}

/// A vehicle of the fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Vehicle {
    /// Its commands pass this gateway.
    pub gateway: GatewayId,
    /// Where it stands when nothing is asked of it.
    pub home: PointId,
    /// On free ways.
    pub speed_mm_s: u32,
    /// In transition zones and over the sill.
    pub creep_mm_s: u32,
    /// Without load.
    pub weight_kg: u32,
    /// Most that it carries.
    pub payload_kg: u32,
}

impl Plant {
    /// How high a floor lies, from 0 at the lowest.
    pub fn level(&self, floor: &FloorId) -> Option<usize> {
        self.floors.iter().position(|it| it.id == *floor)
    }

    /// The floor of a point.
    pub fn floor_of(&self, point: &PointId) -> Option<&FloorId> {
        self.points.get(point).map(|it| &it.floor)
    }

    /// Whether a point lies in a zone of this kind.
    pub fn in_zone(&self, point: &PointId, kind: ZoneKind) -> bool {
        self.zones.iter().any(|zone| zone.kind == kind && zone.points.contains(point))
    }
}

impl Lift {
    /// The stop on a floor.
    pub fn stop(&self, floor: &FloorId) -> Option<&LiftStop> {
        self.stops.iter().find(|stop| stop.floor == *floor)
    }

    /// Number of a floor for the PLC, from 1 at the lowest stop.
    pub fn stop_number(&self, floor: &FloorId) -> Option<u16> {
        let idx = self.stops.iter().position(|stop| stop.floor == *floor)?;
        u16::try_from(idx + 1).ok()
    }

    /// The stop with a PLC floor number.
    pub fn stop_by_number(&self, number: u16) -> Option<&LiftStop> {
        self.stops.get(usize::from(number).checked_sub(1)?)
    }

    /// Longest way from end to end with both doors: what one ride can take without a handover.
    pub fn one_way(&self) -> Millis {
        let n_spans = self.stops.len().saturating_sub(1) as u64;
        self.travel_per_floor_ms.times(n_spans) + self.door_ms.times(2)
    }
}
