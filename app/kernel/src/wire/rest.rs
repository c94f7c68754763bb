//! REST under `/api/v1`: what a WMS sends and what it gets. Answers about tasks, vehicles and lifts are the views
//! of [`super::view`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{OrderId, StationId};

/// Body of `POST /api/v1/orders`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlaceOrder {
    /// Where the load is picked.
    pub from: StationId,
    /// Where it is dropped.
    pub to: StationId,
    /// 0 to 9; a higher one is served first. Default 5.
    #[serde(default = "PlaceOrder::default_priority")]
    pub priority: u8,
    /// By when the load should be there, for people and reports.
    #[serde(default)]
    pub deadline: Option<DateTime<Utc>>,
    /// The WMS's own reference, at most 64 characters.
    #[serde(default)]
    pub reference: Option<String>,
}

impl PlaceOrder {
    /// Highest priority.
    pub const PRIORITY_MAX: u8 = 9;
    /// Longest reference, in characters.
    pub const REFERENCE_LENGTH_MAX: usize = 64;

    /// In the middle.
    pub fn default_priority() -> u8 {
        5
    }
}

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TransportOrder {
    /// Its name from now on.
    pub id: OrderId,
    /// Where the load is picked.
    pub from: StationId,
    /// Where it is dropped.
    pub to: StationId,
    /// 0 to 9.
    pub priority: u8,
    /// By when the load should be there.
    pub deadline: Option<DateTime<Utc>>,
    /// The WMS's own reference.
    pub reference: Option<String>,
}

/// Why an order is refused. Each has a stable code; `http` alone knows the status code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefusal {
    /// A station that the site does not have.
    #[error("the site has no station {0}")]
    UnknownStation(StationId),
    /// Nothing to carry.
    #[error("the order goes from {0} to {0}")]
    SameStation(StationId),
    /// No vehicle can go from one to the other.
    #[error("no way leads from {0} to {1}")]
    Unreachable(StationId, StationId),
    /// Above [`PlaceOrder::PRIORITY_MAX`].
    #[error("priority {0} is above {max}", max = PlaceOrder::PRIORITY_MAX)]
    PriorityTooHigh(u8),
    /// Above [`PlaceOrder::REFERENCE_LENGTH_MAX`].
    #[error("the reference has {0} characters, at most {max} are kept", max = PlaceOrder::REFERENCE_LENGTH_MAX)]
    ReferenceTooLong(usize),
    /// The key came before with another body.
    #[error("the idempotency key belongs to order {0}, which was placed with another body")]
    KeyReused(OrderId),
    /// The key was used for an order that ended so long ago that the node does not remember it.
    #[error("the idempotency key was used before, for an order that is not remembered any more")]
    KeyForgotten,
    /// As many open orders as a node keeps.
    #[error("{0} orders are open, which is the most that are kept")]
    TooMany(usize),
    /// The ledger cannot be written.
    #[error("the ledger cannot be written: {0}")]
    LedgerUnavailable(String),
}

/// Why an order is not withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WithdrawalRefusal {
    /// There is none, or it ended too long ago.
    #[error("there is no order {0}")]
    Unknown(OrderId),
    /// It is completed or failed.
    #[error("order {order} is {state} already")]
    Over {
        /// Which.
        order: OrderId,
        /// How it ended.
        state: &'static str,
    },
    /// Its load is aboard, or its vehicle was told to take it up, and nobody can say that it has not.
    #[error("the load of order {0} is aboard, or its vehicle is about to take it up")]
    LoadOnItsWay(OrderId),
    /// Its vehicle was told to ride to the load, has refused that or never acknowledged it, and does not stand clear of the
    /// lift.
    #[error("the ride to the load of order {0} came to nothing, and a person has to decide")]
    NeedsPerson(OrderId),
    /// The ledger cannot be written.
    #[error("the ledger cannot be written: {0}")]
    LedgerUnavailable(String),
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// Newest first.
    pub items: Vec<T>,
    /// Give it as `cursor` to read on; absent on the last page.
    pub next_cursor: Option<String>,
}

/// RFC 9457 problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `urn:hoistway:problem:{code}`.
    pub r#type: String,
    /// In a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was wrong here, and what to do.
    pub detail: String,
    /// Stable, for programs.
    pub code: String,
    /// The request path.
    pub instance: String,
    /// Names this answer in the server's log.
    pub request_id: String,
}

/// Body of `/readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Readiness {
    /// Orders are taken.
    pub ready: bool,
    /// What is missing but does not keep orders from being taken.
    pub degraded: Vec<String>,
    /// What keeps orders from being taken.
    pub failing: Vec<String>,
}
