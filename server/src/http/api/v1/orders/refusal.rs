//! Why an order is refused, as a problem: the one place that knows the status of each refusal.

use kernel::ids::StationId;
use kernel::plant::Plant;
use kernel::wire::rest::{OrderRefusal, PlaceOrder};

use crate::http::problem::{Code, Refused};
use crate::shell::ControlUnavailable;
use crate::spelling;

/// Open orders end as vehicles carry them: try again in about the time of one.
const RETRY_WHEN_FULL_S: u32 = 60;
/// The disk or the loop recovers in seconds, or a person has to come.
pub(super) const RETRY_WHEN_DOWN_S: u32 = 5;

pub(super) fn refused(reason: &OrderRefusal, order: &PlaceOrder, plant: &Plant) -> Refused {
    match reason {
        OrderRefusal::UnknownStation(station) => {
            Refused::new(Code::UnknownStation, unknown_station(station, order, plant))
        }
        OrderRefusal::SameStation(station) => Refused::new(
            Code::SameStation,
            format!("`from` and `to` are both {:?}; name two different stations.", station.as_str()),
        ),
        OrderRefusal::Unreachable(from, to) => Refused::new(
            Code::UnreachableTarget,
            format!(
                "No vehicle of this site has a way from {:?} to {:?}: check the edges, one-way marks and lift stops \
                 between them in the site file, and payloads of the lifts.",
                from.as_str(),
                to.as_str()
            ),
        ),
        OrderRefusal::PriorityTooHigh(priority) => Refused::new(
            Code::PriorityTooHigh,
            format!("`priority` is {priority}; it goes from 0 to {}.", PlaceOrder::PRIORITY_MAX),
        ),
        OrderRefusal::ReferenceTooLong(length) => Refused::new(
            Code::ReferenceTooLong,
            format!(
                "`reference` has {length} characters; at most {} are kept. Shorten it.",
                PlaceOrder::REFERENCE_LENGTH_MAX
            ),
        ),
        OrderRefusal::KeyReused(earlier) => Refused::new(
            Code::IdempotencyKeyReused,
            format!(
                "The Idempotency-Key belongs to order {earlier}, which was placed with another body. Use a new key \
                 for a new order, or the same body to repeat the old one."
            ),
        ),
        OrderRefusal::KeyForgotten => Refused::new(
            Code::IdempotencyKeyReused,
            "The Idempotency-Key was used before, for an order that ended so long ago that it is not remembered any \
             more. Look into the ledger for what became of it, and use a new key for a new order."
                .to_owned(),
        ),
        OrderRefusal::TooMany(n_open) => Refused::new(
            Code::TooManyOrders,
            format!(
                "{n_open} orders are open, which is the most that are kept. Try again when some have ended."
            ),
        )
        .retry_after_s(RETRY_WHEN_FULL_S),
        OrderRefusal::LedgerUnavailable(cause) => Refused::new(
            Code::LedgerUnavailable,
            format!("The order was not stored: {cause}. Send it again later with the same Idempotency-Key."),
        )
        .retry_after_s(RETRY_WHEN_DOWN_S),
    }
}

fn unknown_station(station: &StationId, order: &PlaceOrder, plant: &Plant) -> String {
    let field = if order.from == *station { "from" } else { "to" };
    let near = spelling::nearest(station.as_str(), plant.stations.keys().map(StationId::as_str));
    let hint = near.map_or_else(String::new, |name| format!(" Did you mean {name:?}?"));
    format!(
        "`{field}` names station {:?}, which site {:?} does not have.{hint} GET /api/v1/site lists its {} stations.",
        station.as_str(),
        plant.site.as_str(),
        plant.stations.len()
    )
}

/// The control loop gave no answer.
pub(super) fn unavailable(error: ControlUnavailable) -> Refused {
    let what = match error {
        ControlUnavailable::Busy | ControlUnavailable::Stopped => "The order was not taken",
        ControlUnavailable::NoAnswer => "Whether the order was taken is not known",
    };
    Refused::new(
        Code::ControlUnavailable,
        format!(
            "{what}: {error}. Send it again later with the same Idempotency-Key; it is carried out once."
        ),
    )
    .retry_after_s(RETRY_WHEN_DOWN_S)
}
