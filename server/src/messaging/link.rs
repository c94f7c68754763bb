//! The handle of a link.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::driver::{Driver, Order};
use super::fast::FastWaiting;
use super::{Incoming, LinkOptions, Outbox, PAYLOAD_MAX, Publish, PublishError, Road};
use crate::clock;

/// Orders that wait for the link's task, which never waits long itself.
const ORDERS_MAX: usize = 1024;

/// One client at the broker. Clones speak for the same client; when the last one is dropped the connection is
/// closed without farewell.
#[derive(Clone)]
pub struct Link {
    orders: mpsc::Sender<Order>,
    outbox: Arc<Outbox>,
    tally: Arc<Tally>,
    fast: Arc<FastWaiting>,
}

/// What was counted since the link was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The connection stands.
    pub connected: bool,
    /// Connections that broke.
    pub connections_lost: u64,
    /// Fast messages that were not sent: no connection, no room, or a newer one of the topic came.
    pub fast_dropped: u64,
    /// Fast messages that the consumer never saw: it was slow, and a newer one of the topic came.
    pub incoming_replaced: u64,
    /// Reliable messages that the broker has not acknowledged.
    pub kept: usize,
}

#[derive(Default)]
pub(super) struct Tally {
    connected: AtomicBool,
    connections_lost: AtomicU64,
    fast_dropped: AtomicU64,
    incoming_replaced: AtomicU64,
}

impl Tally {
    pub(super) fn connected(&self, stands: bool) {
        self.connected.store(stands, Ordering::Relaxed);
    }

    pub(super) fn connection_lost(&self) {
        self.connected(false);
        self.connections_lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn fast_dropped(&self) {
        self.fast_dropped_n(1);
    }

    pub(super) fn fast_dropped_n(&self, n_dropped: usize) {
        self.fast_dropped.fetch_add(n_dropped as u64, Ordering::Relaxed);
    }

    pub(super) fn incoming_replaced(&self) {
        self.incoming_replaced.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes a link and starts to connect; whether and when it succeeds comes out as [`Incoming`]. Needs a tokio
/// runtime. A broker that cannot be reached is tried again with growing waits up to 5 s.
pub fn connect(options: LinkOptions, outbox: Outbox) -> (Link, mpsc::Receiver<Incoming>) {
    let (orders, orders_rx) = mpsc::channel(ORDERS_MAX);
    let (incoming_tx, incoming) = mpsc::channel(options.incoming_bound.max(1));
    let (outbox, tally) = (Arc::new(outbox), Arc::new(Tally::default()));
    let fast = Arc::new(FastWaiting::default());
    let shared = (Arc::clone(&outbox), Arc::clone(&tally), Arc::clone(&fast));
    let driver = Driver::new(options, shared, orders_rx, incoming_tx);
    tokio::spawn(driver.run());
    (Link { orders, outbox, tally, fast }, incoming)
}

impl Link {
    /// Hands a message over. A reliable one is kept (durably, if the outbox is) when this returns; a fast one is
    /// sent if there is a connection with room.
    ///
    /// # Errors
    /// Too large, no topic, the outbox is full or cannot be written, or the link is closed.
    pub async fn publish(&self, publish: Publish) -> Result<(), PublishError> {
        if publish.payload.len() > PAYLOAD_MAX {
            return Err(PublishError::TooLarge(publish.payload.len()));
        }
        if publish.topic.is_empty() || publish.topic.contains(['+', '#', '\0']) {
            return Err(PublishError::InvalidTopic(publish.topic));
        }
        match publish.road {
            Road::Reliable { .. } => {
                self.outbox.keep(publish, clock::mono()).await?;
                self.orders.send(Order::Wake).await.map_err(|_| PublishError::Closed)
            }
            Road::Fast => {
                if !self.counters().connected || self.fast.put(publish) {
                    self.tally.fast_dropped();
                }
                match self.orders.try_send(Order::Wake) {
                    // With a full queue the task is awake anyway.
                    Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
                    Err(mpsc::error::TrySendError::Closed(_)) => Err(PublishError::Closed),
                }
            }
        }
    }

    /// Loses the radio: the socket is closed without farewell, the broker sends the will, and no new connection is
    /// made until [`Link::resume`].
    pub async fn drop_hard(&self) {
        // A closed link has no connection to break.
        let _ = self.orders.send(Order::DropHard).await;
    }

    /// The radio is back: connects at once.
    pub async fn resume(&self) {
        // A closed link stays closed.
        let _ = self.orders.send(Order::Resume).await;
    }

    /// Sends what is kept, waits at most 2 s for the broker to take it, says farewell (the will is not sent), ends.
    pub async fn close(&self) {
        let (done_tx, done) = oneshot::channel();
        if self.orders.send(Order::Close(done_tx)).await.is_ok() {
            // An error means that the task ended otherwise.
            let _ = done.await;
        }
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        Counters {
            connected: self.tally.connected.load(Ordering::Relaxed),
            connections_lost: self.tally.connections_lost.load(Ordering::Relaxed),
            fast_dropped: self.tally.fast_dropped.load(Ordering::Relaxed),
            incoming_replaced: self.tally.incoming_replaced.load(Ordering::Relaxed),
            kept: self.outbox.len(),
        }
    }
}
