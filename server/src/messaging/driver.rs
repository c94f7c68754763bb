//! The task behind a link: makes connections, hands messages to them, delivers what arrives.
//!
//! It never waits for the poll task or for the consumer, so neither can stop the other. The store is the one thing
//! it waits for, at most its busy timeout.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kernel::time::Millis;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::connection::{Connection, Message, Receipt, Seen};
use super::fast::FastWaiting;
use super::inbox::Inbox;
use super::link::Tally;
use super::{Incoming, LinkOptions, Outbox};
use crate::clock;

/// Reliable messages without acknowledgement at a time; see `connection::IN_FLIGHT_MAX`.
const IN_FLIGHT_MAX: usize = 20;
/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);
/// The wait before a new connection doubles from the first to the longest.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(5);
/// How long a farewell waits for the broker to acknowledge what is kept.
const CLOSE_DEADLINE: Duration = Duration::from_secs(2);

/// What the handle asks of the task.
pub(super) enum Order {
    /// Something new is in the outbox or among the fast messages.
    Wake,
    /// Break the connection without farewell and stay away.
    DropHard,
    /// Connect again.
    Resume,
    /// Send what is kept, say farewell, end.
    Close(oneshot::Sender<()>),
}

/// A message that was handed to the connection and has not left yet.
enum Handed {
    Reliable(u64),
    Fast,
}

/// What is known about one connection; forgotten with it.
struct Standing {
    connection: Connection,
    connected: bool,
    /// Up to here the outbox was handed over.
    cursor: u64,
    handed: VecDeque<Handed>,
    in_flight: BTreeMap<u16, u64>,
    receipts: VecDeque<Receipt>,
    progressed_at: Instant,
}

pub(super) struct Driver {
    options: LinkOptions,
    outbox: Arc<Outbox>,
    tally: Arc<Tally>,
    orders: mpsc::Receiver<Order>,
    incoming: mpsc::Sender<Incoming>,
    inbox: Inbox,
    fast: Arc<FastWaiting>,
    acknowledged: Vec<u64>,
    standing: Option<Standing>,
    dropped_hard: bool,
    attempt: u32,
    retry_at: Instant,
    /// Why there is no connection, as the consumer and the log were told.
    told: Option<String>,
}

impl Driver {
    pub(super) fn new(
        options: LinkOptions,
        (outbox, tally, fast): (Arc<Outbox>, Arc<Tally>, Arc<FastWaiting>),
        orders: mpsc::Receiver<Order>,
        incoming: mpsc::Sender<Incoming>,
    ) -> Self {
        Self {
            options,
            outbox,
            tally,
            orders,
            incoming,
            inbox: Inbox::default(),
            fast,
            acknowledged: Vec::new(),
            standing: None,
            dropped_hard: false,
            attempt: 0,
            retry_at: Instant::now(),
            told: None,
        }
    }

    pub(super) async fn run(mut self) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let incoming = self.incoming.clone();
        self.connect_when_due();
        loop {
            self.hand_over().await;
            let waits = !self.inbox.is_empty();
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(Order::Close(done)) => {
                        self.close().await;
                        // The caller may have stopped waiting.
                        let _ = done.send(());
                        return;
                    }
                    Some(order) => self.take(order),
                    None => return,
                },
                seen = next_seen(&mut self.standing) => self.see(seen),
                permit = incoming.reserve(), if waits => match permit {
                    Ok(permit) => if let Some((news, receipt)) = self.inbox.pop() {
                        permit.send(news);
                        self.acknowledge(receipt);
                    },
                    // Nobody listens any more.
                    Err(_) => return,
                },
                _ = tick.tick() => self.look_at_deadlines(),
            }
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Wake | Order::Close(_) => {}
            Order::DropHard => {
                self.dropped_hard = true;
                self.disconnected("dropped on purpose");
            }
            Order::Resume => {
                self.dropped_hard = false;
                self.attempt = 0;
                self.retry_at = Instant::now();
                self.connect_when_due();
            }
        }
    }

    fn connect_when_due(&mut self) {
        let due = self.retry_at <= Instant::now();
        if self.standing.is_none() && !self.dropped_hard && due && !self.inbox.is_full() {
            self.standing = Some(Standing {
                connection: Connection::open(&self.options),
                connected: false,
                cursor: 0,
                handed: VecDeque::new(),
                in_flight: BTreeMap::new(),
                receipts: VecDeque::new(),
                progressed_at: Instant::now(),
            });
        }
    }

    fn see(&mut self, seen: Seen) {
        match seen {
            Seen::Connected { session_present } => self.connected(session_present),
            Seen::SubscriptionRefused => self.disconnected("the broker refused a subscription"),
            Seen::Message(message) => self.received(message),
            Seen::Left { packet } => {
                let Some(standing) = &mut self.standing else { return };
                if let Some(Handed::Reliable(sequence)) = standing.handed.pop_front() {
                    standing.in_flight.insert(packet, sequence);
                }
            }
            Seen::Acknowledged { packet, taken } => {
                let Some(standing) = &mut self.standing else { return };
                standing.progressed_at = Instant::now();
                let sequence = standing.in_flight.remove(&packet);
                if taken {
                    self.acknowledged.extend(sequence);
                } else {
                    // It stays in the outbox and is tried again on the next connection, until its validity ends.
                    tracing::warn!(client = self.options.client_id, "the broker refused to take a message");
                }
            }
            Seen::Ended { reason } => self.disconnected(&reason),
        }
    }

    fn connected(&mut self, session_present: bool) {
        let Some(standing) = &mut self.standing else { return };
        standing.connected = true;
        standing.connection.subscribe(&self.options);
        self.attempt = 0;
        if self.told.take().is_some() {
            tracing::info!(client = self.options.client_id, "connected to the broker again");
        }
        // What was put while the connection broke is worthless now.
        self.tally.fast_dropped_n(self.fast.clear());
        self.tally.connected(true);
        self.inbox.push_news(Incoming::Connected { session_present });
    }

    fn received(&mut self, message: Message) {
        if !self.inbox.push(message) {
            self.tally.incoming_replaced();
        }
        // A broker that does not count what is unacknowledged: it sends it again on the next connection.
        if self.inbox.is_full() {
            self.disconnected("the consumer does not keep up");
        }
    }

    /// The connection is gone or was never there. Told and logged once per cause.
    fn disconnected(&mut self, reason: &str) {
        let was_connected = self.standing.take().is_some_and(|it| it.connected);
        self.inbox.void_receipts();
        if was_connected {
            self.tally.connection_lost();
        }
        self.tally.fast_dropped_n(self.fast.clear());
        let wait = RETRY_FIRST.saturating_mul(1 << self.attempt.min(5)).min(RETRY_LONGEST);
        self.attempt += 1;
        self.retry_at = Instant::now() + wait + self.spread(wait);
        if self.told.as_deref() != Some(reason) {
            tracing::warn!(client = self.options.client_id, reason, "no connection to the broker");
        }
        if self.told.replace(reason.to_owned()).is_none() {
            self.inbox.push_news(Incoming::Disconnected { reason: reason.to_owned() });
        }
    }

    /// Up to a quarter more, by name and attempt, so that a fleet does not come back in step.
    fn spread(&self, wait: Duration) -> Duration {
        let sum = self.options.client_id.bytes().fold(u32::from(self.attempt as u8), |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        wait * (sum % 64) / 256
    }

    fn look_at_deadlines(&mut self) {
        let limit = self.options.keep_alive.saturating_mul(2);
        let stuck = self
            .standing
            .as_ref()
            .is_some_and(|it| !it.in_flight.is_empty() && it.progressed_at.elapsed() > limit);
        if stuck {
            self.disconnected("the broker acknowledges nothing");
        }
        self.acknowledged.extend(self.outbox.expired(clock::mono()));
        self.connect_when_due();
    }

    fn acknowledge(&mut self, receipt: Option<Receipt>) {
        if let (Some(standing), Some(receipt)) = (&mut self.standing, receipt) {
            standing.receipts.push_back(receipt);
        }
    }

    /// Gives the connection what it has room for: acknowledgements, then the outbox in order, then fast messages.
    async fn hand_over(&mut self) {
        if !self.acknowledged.is_empty() {
            let sequences = std::mem::take(&mut self.acknowledged);
            if let Err(err) = self.outbox.forget(&sequences).await {
                tracing::error!(client = self.options.client_id, error = %err, "the outbox cannot be written");
            }
        }
        let Some(standing) = self.standing.as_mut().filter(|it| it.connected) else { return };
        while let Some(receipt) = standing.receipts.front() {
            if !standing.connection.try_acknowledge(receipt) {
                return;
            }
            standing.receipts.pop_front();
        }
        let now = clock::mono();
        while standing.in_flight.len() + standing.handed.len() < IN_FLIGHT_MAX {
            let Some((sequence, entry)) = self.outbox.after(standing.cursor, now) else { break };
            let left = Millis(entry.valid_until.since(now).0.max(1));
            if !standing.connection.try_send(&entry.topic, &entry.payload, entry.retain, Some(left)) {
                return;
            }
            if standing.in_flight.is_empty() {
                standing.progressed_at = Instant::now();
            }
            standing.cursor = sequence;
            standing.handed.push_back(Handed::Reliable(sequence));
        }
        self.fast.drain_while(|publish| {
            let sent = standing.connection.try_send(&publish.topic, &publish.payload, publish.retain, None);
            if sent {
                standing.handed.push_back(Handed::Fast);
            }
            sent
        });
    }

    async fn close(&mut self) {
        let deadline = Instant::now() + CLOSE_DEADLINE;
        let mut farewell = false;
        while self.standing.as_ref().is_some_and(|it| it.connected) {
            self.hand_over().await;
            if let Some(standing) = &self.standing
                && !farewell
                && self.fast.is_empty()
                && self.outbox.is_empty()
            {
                farewell = standing.connection.try_farewell();
            }
            match timeout_at(deadline, next_seen(&mut self.standing)).await {
                Ok(Seen::Ended { .. }) => return,
                Ok(seen) => self.see(seen),
                Err(_) if farewell => return,
                // What the broker did not take stays in a durable outbox; the farewell still has to be said.
                Err(_) => return self.part().await,
            }
        }
    }

    async fn part(&mut self) {
        let Some(standing) = &self.standing else { return };
        if standing.connection.try_farewell() {
            let deadline = Instant::now() + CLOSE_DEADLINE;
            while let Ok(seen) = timeout_at(deadline, next_seen(&mut self.standing)).await {
                if matches!(seen, Seen::Ended { .. }) {
                    return;
                }
            }
        }
    }
}

async fn next_seen(standing: &mut Option<Standing>) -> Seen {
    match standing {
        Some(standing) => standing.connection.next().await,
        None => std::future::pending().await,
    }
}
