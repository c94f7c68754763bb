//! MQTT 5 behind our own port: nothing of the client library shows outside this module.
//!
//! A [`Link`] is one client. Messages leave on one of two roads ([`Road`]): reliable ones are kept in an
//! [`Outbox`] until the broker acknowledged them, whatever happens to the connection or the broker's session; fast
//! ones are newest-wins and never wait. What arrives comes out of one bounded channel as [`Incoming`].

pub mod broker;
pub mod codec;
mod connection;
mod driver;
mod fast;
mod inbox;
mod link;
mod outbox;
pub mod topics;

use std::time::Duration;

use bytes::Bytes;
use kernel::time::Millis;
use thiserror::Error;

pub use link::{Counters, Link, connect};
pub use outbox::Outbox;

/// Largest payload, in bytes, that is sent or taken.
pub const PAYLOAD_MAX: usize = 64 * 1024;

/// Who connects to which broker, and what it listens to.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// Name or address of the broker.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Unique at the broker: a second client of this name throws the first one out.
    pub client_id: String,
    /// Forget what the broker kept for this client.
    pub clean_start: bool,
    /// How long the broker keeps subscriptions and unread messages after the connection ended; zero for not at all.
    pub session_expiry: Duration,
    /// What the broker says for this client when the connection ends without a farewell.
    pub will: Option<Will>,
    /// Longest silence on the wire; raised to 5 s when less.
    pub keep_alive: Duration,
    /// What to listen to; asked for again after each connection.
    pub subscriptions: Vec<Subscription>,
    /// Most messages that wait for the consumer; at least 1. Beyond it reliable messages stay with the broker, and
    /// of fast ones the newest of each topic is kept.
    pub incoming_bound: usize,
}

/// A message that the broker sends when the connection ends without a farewell. Reliable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Will {
    /// Where to.
    pub topic: String,
    /// What.
    pub payload: Vec<u8>,
    /// The broker keeps it for later subscribers.
    pub retain: bool,
}

/// A topic filter to listen to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// With `+` and `#` as in MQTT.
    pub filter: String,
    /// Ask for each message at least once; otherwise at most once.
    pub reliable: bool,
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// Where to.
    pub topic: String,
    /// What, at most [`PAYLOAD_MAX`] bytes.
    pub payload: Vec<u8>,
    /// How.
    pub road: Road,
    /// The broker keeps it for later subscribers.
    pub retain: bool,
}

/// How a message travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Road {
    /// At least once, kept until the broker acknowledged it or its validity ended.
    Reliable {
        /// Names the message: a second one under a key that is still kept replaces the first. A command id.
        key: String,
        /// How long it is worth sending. The broker drops it afterwards as well.
        valid_for: Millis,
    },
    /// At most once. Dropped without connection; of one topic only the newest waits.
    Fast,
}

/// What comes out of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The broker took the connection. The subscriptions leave before any message that is sent from now on.
    Connected {
        /// It had kept the session: messages from before may follow.
        session_present: bool,
    },
    /// The connection ended or could not be made; the link tries again. Reported once per outage.
    Disconnected {
        /// Why.
        reason: String,
    },
    /// A message.
    Message {
        /// Where it was sent to.
        topic: String,
        /// What, of any content.
        payload: Bytes,
    },
}

/// Why a message was not taken.
#[derive(Debug, Error)]
pub enum PublishError {
    /// It is larger than [`PAYLOAD_MAX`].
    #[error("the message is {0} bytes long, at most {PAYLOAD_MAX} are sent")]
    TooLarge(usize),
    /// The topic is empty or holds a wildcard.
    #[error("`{0}` is no topic to send to")]
    InvalidTopic(String),
    /// The outbox is full: the broker has been away for long.
    #[error("the outbox holds {0} messages that the broker has not acknowledged")]
    OutboxFull(usize),
    /// The outbox cannot be written.
    #[error("the outbox cannot be written: {0}")]
    Store(#[from] sqlx::Error),
    /// The link was closed.
    #[error("the link is closed")]
    Closed,
}
