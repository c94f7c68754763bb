//! One connection to the broker: the only file that knows the client library.
//!
//! Each connection has its own event loop, polled by its own task that only forwards what it sees; nothing is ever
//! published from inside the poll loop, which would lock it. A connection that breaks is thrown away whole: the
//! library would resend what the broker had not acknowledged only when the broker kept the session, and drop it
//! without a word otherwise, so resending is the outbox's part alone.

use std::time::Duration;

use bytes::Bytes;
use kernel::time::Millis;
use rumqttc::Outgoing;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{
    ConnectProperties, Filter, LastWill, Packet, PubAckReason, Publish as Received, PublishProperties,
    SubscribeReasonCode,
};
use rumqttc::v5::{AsyncClient, Event, EventLoop, MqttOptions};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::LinkOptions;

/// Largest packet that is taken: a payload of the largest size, its topic and properties, with room.
const PACKET_MAX: u32 = 256 * 1024;
/// The library refuses less for MQTT 5.
const KEEP_ALIVE_MIN: Duration = Duration::from_secs(5);
/// Reliable messages on their way to the broker at a time: what Mosquitto takes by default.
const IN_FLIGHT_MAX: u16 = 20;
/// Reliable messages that the broker may send before we acknowledged any: what can pile up here.
pub(super) const RECEIVE_MAX: u16 = 64;
/// Requests that wait for the poll task. Small: what waits longer waits in the outbox, where it is counted.
const REQUESTS_MAX: usize = 64;
/// What the poll task saw and the driver has not taken yet. The driver never waits, so this is only a hand-over.
const SEEN_MAX: usize = 64;
/// Seconds to reach the broker and be taken.
const CONNECT_DEADLINE_S: u64 = 5;

/// What the poll task saw.
pub(super) enum Seen {
    /// The broker took the connection.
    Connected { session_present: bool },
    /// The broker refused a subscription.
    SubscriptionRefused,
    /// A message; to be acknowledged when it is reliable.
    Message(Message),
    /// A message of ours left; the broker's acknowledgement will carry the packet id. 0 for a fast one.
    Left { packet: u16 },
    /// The broker acknowledged, or refused to take, a message of ours.
    Acknowledged { packet: u16, taken: bool },
    /// The connection ended.
    Ended { reason: String },
}

/// A message from the broker.
pub(super) struct Message {
    pub(super) topic: String,
    pub(super) payload: Bytes,
    /// What to acknowledge, for a reliable one.
    pub(super) receipt: Option<Receipt>,
}

/// Acknowledges one message on the connection on which it arrived.
pub(super) struct Receipt(Box<Received>);

/// A connection being made, or standing.
pub(super) struct Connection {
    client: AsyncClient,
    seen: mpsc::Receiver<Seen>,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    /// The socket closes with the task, without a farewell.
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    /// Starts to connect. What comes of it is seen.
    pub(super) fn open(options: &LinkOptions) -> Self {
        let (client, events) = AsyncClient::new(library_options(options), REQUESTS_MAX);
        let (tx, seen) = mpsc::channel(SEEN_MAX);
        Self { client, seen, task: tokio::spawn(poll(events, tx)) }
    }

    /// The next thing that was seen. Safe to cancel.
    pub(super) async fn next(&mut self) -> Seen {
        let ended = || Seen::Ended { reason: "the connection's task ended".to_owned() };
        self.seen.recv().await.unwrap_or_else(ended)
    }

    /// Asks for the subscriptions. Called first on a connection, when there is always room.
    pub(super) fn subscribe(&self, options: &LinkOptions) {
        if options.subscriptions.is_empty() {
            return;
        }
        let filters = options.subscriptions.iter().map(|it| Filter::new(&it.filter, quality(it.reliable)));
        if let Err(err) = self.client.try_subscribe_many(filters) {
            tracing::error!(client = options.client_id, error = %err, "the subscriptions are no valid filters");
        }
    }

    /// Hands a message to the poll task. False when there is no room now.
    pub(super) fn try_send(
        &self,
        topic: &str,
        payload: &[u8],
        retain: bool,
        valid_for: Option<Millis>,
    ) -> bool {
        let expiry = valid_for.map(|it| u32::try_from(it.0.div_ceil(1000)).unwrap_or(u32::MAX));
        let properties =
            PublishProperties { message_expiry_interval: expiry, ..PublishProperties::default() };
        let payload = Bytes::copy_from_slice(payload);
        let quality = quality(valid_for.is_some());
        self.client.try_publish_with_properties(topic, quality, retain, payload, properties).is_ok()
    }

    /// Acknowledges a message. False when there is no room now.
    pub(super) fn try_acknowledge(&self, receipt: &Receipt) -> bool {
        self.client.try_ack(&receipt.0).is_ok()
    }

    /// Says farewell, so that the broker does not send the will. False when there is no room now.
    pub(super) fn try_farewell(&self) -> bool {
        self.client.try_disconnect().is_ok()
    }
}

fn quality(reliable: bool) -> QoS {
    if reliable { QoS::AtLeastOnce } else { QoS::AtMostOnce }
}

fn library_options(options: &LinkOptions) -> MqttOptions {
    let mut library = MqttOptions::new(&options.client_id, &options.host, options.port);
    let expiry = u32::try_from(options.session_expiry.as_secs()).unwrap_or(u32::MAX);
    library.set_connect_properties(ConnectProperties::new());
    library
        .set_clean_start(options.clean_start)
        .set_session_expiry_interval(Some(expiry))
        .set_receive_maximum(Some(RECEIVE_MAX))
        .set_max_packet_size(Some(PACKET_MAX))
        .set_keep_alive(options.keep_alive.max(KEEP_ALIVE_MIN))
        .set_connection_timeout(CONNECT_DEADLINE_S)
        .set_outgoing_inflight_upper_limit(IN_FLIGHT_MAX)
        .set_manual_acks(true);
    let mut network = library.network_options();
    network.set_tcp_nodelay(true);
    library.set_network_options(network);
    if let Some(will) = &options.will {
        let last = LastWill::new(&will.topic, will.payload.clone(), QoS::AtLeastOnce, will.retain, None);
        library.set_last_will(last);
    }
    library
}

async fn poll(mut events: EventLoop, tx: mpsc::Sender<Seen>) {
    loop {
        let seen = match events.poll().await {
            Ok(event) => translate(event),
            Err(err) => Some(Seen::Ended { reason: err.to_string() }),
        };
        let Some(seen) = seen else { continue };
        let last = matches!(seen, Seen::Ended { .. });
        if tx.send(seen).await.is_err() || last {
            return;
        }
    }
}

fn translate(event: Event) -> Option<Seen> {
    match event {
        Event::Incoming(packet) => translate_packet(packet),
        Event::Outgoing(Outgoing::Publish(packet)) => Some(Seen::Left { packet }),
        Event::Outgoing(Outgoing::Disconnect) => Some(Seen::Ended { reason: "closed".to_owned() }),
        Event::Outgoing(
            Outgoing::Subscribe(_)
            | Outgoing::Unsubscribe(_)
            | Outgoing::PubAck(_)
            | Outgoing::PubRec(_)
            | Outgoing::PubRel(_)
            | Outgoing::PubComp(_)
            | Outgoing::PingReq
            | Outgoing::PingResp
            | Outgoing::AwaitAck(_),
        ) => None,
    }
}

fn translate_packet(packet: Packet) -> Option<Seen> {
    match packet {
        Packet::ConnAck(ack) => Some(Seen::Connected { session_present: ack.session_present }),
        Packet::Publish(mut publish) => {
            let topic = String::from_utf8_lossy(&publish.topic).into_owned();
            let payload = std::mem::take(&mut publish.payload);
            let receipt = (publish.qos != QoS::AtMostOnce).then(|| Receipt(Box::new(publish)));
            Some(Seen::Message(Message { topic, payload, receipt }))
        }
        Packet::PubAck(ack) => {
            let taken = matches!(ack.reason, PubAckReason::Success | PubAckReason::NoMatchingSubscribers);
            Some(Seen::Acknowledged { packet: ack.pkid, taken })
        }
        Packet::SubAck(ack) => {
            let granted = |code: &SubscribeReasonCode| matches!(code, SubscribeReasonCode::Success(_));
            (!ack.return_codes.iter().all(granted)).then_some(Seen::SubscriptionRefused)
        }
        Packet::Connect(..)
        | Packet::PubRec(_)
        | Packet::PubRel(_)
        | Packet::PubComp(_)
        | Packet::Subscribe(_)
        | Packet::Unsubscribe(_)
        | Packet::UnsubAck(_)
        | Packet::PingReq(_)
        | Packet::PingResp(_)
        | Packet::Auth(_)
        | Packet::Disconnect(_) => None,
    }
}
