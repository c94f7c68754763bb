//! Why a drill is refused, as a problem.

use kernel::drill::{DRILL_MIN, DrillFault, DrillPlace, DrillRoad};
use kernel::plant::Plant;

use crate::drill::{DrillRefusal, RUNNING_MAX};
use crate::http::problem::{Code, Refused};
use crate::spelling;

/// One ends, or somebody ends it.
const RETRY_WHEN_FULL_S: u32 = 30;
/// The ledger recovers in seconds, or the drill that took it away ends.
const RETRY_WHEN_DOWN_S: u32 = 5;

pub(super) fn refused(reason: &DrillRefusal, plant: &Plant) -> Refused {
    match reason {
        DrillRefusal::UnknownPlace { fault, at } => {
            Refused::new(Code::UnknownDrillPlace, unknown_place(*fault, at, plant))
        }
        DrillRefusal::Duration { fault, for_ms } => {
            let (least, most) = (DRILL_MIN.0, fault.longest().0);
            let what = match for_ms {
                _ if !fault.lasts() => "`forMs` is given, and the fault happens at once; leave it away.".to_owned(),
                Some(given) => format!("`forMs` is {}; it goes from {least} to {most}.", given.0),
                None => format!("`forMs` is missing; say for how long, {least} to {most}."),
            };
            Refused::new(Code::DrillDuration, what)
        }
        DrillRefusal::Collides(id) => Refused::new(
            Code::DrillCollides,
            format!("Drill {id} stands there and turns the same switch. DELETE /api/v1/drills/{id} ends it."),
        ),
        DrillRefusal::TooMany => Refused::new(
            Code::TooManyDrills,
            format!("{RUNNING_MAX} drills stand, which is the most. Wait for one to end, or end one."),
        )
        .retry_after_s(RETRY_WHEN_FULL_S),
        DrillRefusal::Over(id) => Refused::new(Code::DrillOver, format!("Drill {id} is over already.")),
        DrillRefusal::Unknown => Refused::new(
            Code::NotFound,
            "There is no such drill; GET /api/v1/drills lists those that stand and those that ended last.",
        ),
        DrillRefusal::NotRecorded => Refused::new(
            Code::LedgerUnavailable,
            "The ledger does not take it now, and nothing is injected that is not recorded. What stands is ended \
             all the same, and its end is recorded later.",
        )
        .retry_after_s(RETRY_WHEN_DOWN_S),
    }
}

fn unknown_place(fault: DrillFault, at: &DrillPlace, plant: &Plant) -> String {
    let known = fault.places(plant);
    let (kind, name) = spelt(at);
    let alike: Vec<String> = known.iter().map(spelt).filter(|it| it.0 == kind).map(|it| it.1).collect();
    if alike.is_empty() {
        let mut kinds: Vec<&str> = known.iter().map(|it| spelt(it).0).collect();
        kinds.dedup();
        return format!("`at` names a {kind}; this fault is injected at a {}.", kinds.join(", "));
    }
    let near = spelling::nearest(&name, alike.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |name| format!(" Did you mean {name:?}?"));
    format!(
        "`at.{kind}` is {name:?}, which site {:?} does not have.{hint} Known are {}.",
        plant.site.as_str(),
        alike.join(", ")
    )
}

/// The field of a place, and what stands in it.
fn spelt(place: &DrillPlace) -> (&'static str, String) {
    match place {
        DrillPlace::Site => ("site", String::new()),
        DrillPlace::Lift(id) => ("lift", id.to_string()),
        DrillPlace::Vehicle(id) => ("vehicle", id.to_string()),
        DrillPlace::Floor(id) => ("floor", id.to_string()),
        DrillPlace::Gateway(id) => ("gateway", id.to_string()),
        DrillPlace::Node(id) => ("node", id.to_string()),
        DrillPlace::Road(road) => ("road", road_name(*road).to_owned()),
    }
}

fn road_name(road: DrillRoad) -> &'static str {
    match road {
        DrillRoad::Command => "command",
        DrillRoad::Outcome => "outcome",
        DrillRoad::Status => "status",
        DrillRoad::VehicleCommand => "vehicleCommand",
        DrillRoad::VehicleAnswer => "vehicleAnswer",
        DrillRoad::VehicleState => "vehicleState",
        DrillRoad::Beat => "beat",
        DrillRoad::GatewayBeat => "gatewayBeat",
        DrillRoad::Store => "store",
        DrillRoad::Ledger => "ledger",
    }
}
