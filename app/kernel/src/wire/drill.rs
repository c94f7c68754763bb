//! Drills on the wire: what starts one, and what is seen of it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::drill::{DrillEnd, DrillFault, DrillGroup, DrillPlace};
use crate::ids::DrillId;
use crate::time::Millis;

/// Body of `POST /api/v1/drills`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StartDrill {
    /// What to inject.
    pub fault: DrillFault,
    /// Where. The whole site when it is left away.
    #[serde(default = "StartDrill::default_place")]
    pub at: DrillPlace,
    /// For how long: 1,000 to 600,000, or to what is the longest of the fault. Left away for what happens at once.
    #[serde(default)]
    pub for_ms: Option<Millis>,
}

impl StartDrill {
    /// The whole site.
    pub fn default_place() -> DrillPlace {
        DrillPlace::Site
    }
}

/// A drill, as seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DrillView {
    /// Its name.
    pub id: DrillId,
    /// What is injected.
    pub fault: DrillFault,
    /// Where.
    pub at: DrillPlace,
    /// When it was recorded; it is injected right after.
    pub started_at: DateTime<Utc>,
    /// When it ends by itself; none for what happens at once.
    pub ends_at: Option<DateTime<Utc>>,
    /// When it was over; none while it stands.
    pub ended_at: Option<DateTime<Utc>>,
    /// Why it is over; none while it stands.
    pub end: Option<DrillEnd>,
}

/// What can be injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DrillOffer {
    /// What.
    pub fault: DrillFault,
    /// Of which part it is.
    pub group: DrillGroup,
    /// It stands for a time, and `forMs` says for how long.
    pub lasts: bool,
    /// For how long at most; none for what happens at once.
    pub longest_ms: Option<Millis>,
    /// Where.
    pub places: Vec<DrillPlace>,
}

/// Answer of `GET /api/v1/drills`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DrillList {
    /// What can be injected.
    pub offers: Vec<DrillOffer>,
    /// Those that stand, the oldest first.
    pub running: Vec<DrillView>,
    /// Those that ended last, the newest first.
    pub ended: Vec<DrillView>,
}
