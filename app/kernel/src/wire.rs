//! Everything that leaves or enters a process: messages, views, ledger entries and the envelope around them. The
//! values that they carry (a state, a place, a token, a plant) say beside their own definition how they are written.
//!
//! The vehicle and gateway roads are JSON in an [`Envelope`]; the live stream is postcard, or JSON on request; REST
//! and the ledger are JSON.

pub mod drill;
pub mod gateway;
pub mod health;
pub mod ledger;
pub mod live;
pub mod rest;
pub mod vehicle;
pub mod view;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Version of the vehicle and gateway roads. Another major version is refused, unknown fields are ignored.
pub const ROAD_VERSION: &str = "1.0";

/// What stands around each message of the vehicle and gateway roads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<T> {
    /// Of the road: `major.minor`.
    pub version: String,
    /// For people only: no decision reads it.
    pub sent_at: DateTime<Utc>,
    /// The message.
    pub body: T,
}

impl<T> Envelope<T> {
    /// Wraps a message.
    pub fn new(body: T, sent_at: DateTime<Utc>) -> Self {
        Self { version: ROAD_VERSION.to_owned(), sent_at, body }
    }
}

/// Whether a message of this version can be understood: the major number must be ours.
pub fn understands(version: &str) -> bool {
    let major = |text: &str| text.split('.').next().map(str::to_owned);
    major(version) == major(ROAD_VERSION)
}
