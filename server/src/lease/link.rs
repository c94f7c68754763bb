//! The connections to a Redis: one for scripts, one by which it wakes waiters.
//!
//! Knows: how long anything may take, when a connection is given up, how to tell "nothing is there" from "it was asked
//! and has not answered". Must not know: what the scripts do. The driver's own reconnecting client waits for seconds
//! before it says that nothing is there, so there is a plain one here that is replaced whenever it fails.

use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use kernel::lease::LeaseRefusal;
use kernel::time::Millis;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Client, FromRedisValue, RedisError, ScriptInvocation};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use super::url;
use super::wakes::Wakes;

/// Whether the store is there is looked at so often while nobody asks it.
const HEALTH_PERIOD: Duration = Duration::from_secs(1);
/// Between two tries to listen for wake-ups. Waiters poll meanwhile.
const LISTEN_AGAIN: Duration = Duration::from_millis(200);

/// What is waited for, and how long.
#[derive(Clone, Copy)]
struct Patience {
    /// A connection is there, greeted and logged in, within this time, or nothing is there.
    connect: Duration,
    /// A script takes well under a millisecond.
    answer: Duration,
    /// Asking, and asking again, take no longer than this.
    ask: Duration,
}

/// Whether scripts run and may write. Nothing stays.
const PROBE: &str = "redis.call('SET', KEYS[1], 1) return redis.call('DEL', KEYS[1])";
const PROBE_KEY: &str = "agv:lift:control:probe";

/// The way to one Redis.
pub(super) struct Link {
    client: Client,
    patience: Patience,
    shown: String,
    slot: Mutex<Slot>,
    /// Whether it answered when it was last asked; none before.
    reached: Lock<Option<bool>>,
}

/// The connection that is in use, and how many were before.
#[derive(Default)]
struct Slot {
    generation: u64,
    connection: Option<MultiplexedConnection>,
}

/// How a try failed.
enum Failed {
    /// Nothing listens there.
    Absent(RedisError),
    /// It could not be connected to in time, so it was not asked.
    NotAsked,
    /// It was asked, or may have been.
    NoAnswer,
    /// It says that it cannot do it.
    Unfit(RedisError),
}

impl Patience {
    /// With the 250 ms that ship: 200 ms to connect and 550 ms to ask, below the 600 ms in which "down" must be known.
    fn of(answer: Millis) -> Self {
        let answer = Duration::from_millis(answer.0);
        Self { connect: answer * 4 / 5, answer, ask: answer * 11 / 5 }
    }
}

impl Link {
    pub(super) fn new(client: Client, answer_max: Millis) -> Self {
        let (shown, patience) = (url::shown(&client), Patience::of(answer_max));
        Self { client, patience, shown, slot: Mutex::default(), reached: Lock::default() }
    }

    /// Host, port and database.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// It answered when it was last asked.
    pub(super) fn is_reached(&self) -> bool {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) == Some(true)
    }

    /// Asks, and once more when no answer comes: the scripts are made to be repeated.
    pub(super) async fn ask<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, LeaseRefusal> {
        let deadline = Instant::now() + self.patience.ask;
        let mut answer = timeout_at(deadline, self.try_once(script)).await.unwrap_or(Err(Failed::NoAnswer));
        if matches!(answer, Err(Failed::NoAnswer)) {
            answer = match timeout_at(deadline, self.try_once(script)).await {
                // What was asked before is still open.
                Ok(Err(Failed::NotAsked)) | Err(_) => Err(Failed::NoAnswer),
                Ok(again) => again,
            };
        }
        self.note(answer)
    }

    /// Asks once.
    pub(super) async fn ask_once<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, LeaseRefusal> {
        let answer = self.try_once(script).await;
        self.note(answer)
    }

    async fn try_once<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, Failed> {
        let (generation, mut connection) = self.connection().await?;
        let answer = timeout(self.patience.answer, script.invoke_async(&mut connection)).await;
        self.judge(generation, answer).await
    }

    /// The connection in use, or a new one.
    async fn connection(&self) -> Result<(u64, MultiplexedConnection), Failed> {
        let connect = async {
            let mut slot = self.slot.lock().await;
            if let Some(connection) = &slot.connection {
                return Ok((slot.generation, connection.clone()));
            }
            // What takes too long is cancelled here, whole.
            let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
            let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
            slot.generation += 1;
            slot.connection = Some(connection.clone());
            Ok((slot.generation, connection))
        };
        match timeout(self.patience.connect, connect).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) if is_broken(&error) => Err(Failed::Absent(error)),
            Ok(Err(error)) => Err(Failed::Unfit(error)),
            Err(_) => Err(Failed::NotAsked),
        }
    }

    /// A connection that did not answer, or said that it cannot serve, is not used again: a late answer would come in
    /// the place of another.
    async fn judge<T>(
        &self,
        generation: u64,
        answer: Result<Result<T, RedisError>, tokio::time::error::Elapsed>,
    ) -> Result<T, Failed> {
        let failed = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if is_broken(&error) => Failed::NoAnswer,
            Ok(Err(error)) => Failed::Unfit(error),
            Err(_) => Failed::NoAnswer,
        };
        let mut slot = self.slot.lock().await;
        if slot.generation == generation {
            slot.connection = None;
        }
        Err(failed)
    }

    /// Keeps whether it is there, and logs each change once.
    fn note<T>(&self, answer: Result<T, Failed>) -> Result<T, LeaseRefusal> {
        let reached = Some(answer.is_ok());
        let before =
            std::mem::replace(&mut *self.reached.lock().unwrap_or_else(PoisonError::into_inner), reached);
        let (changed, store) = (before != reached, &self.shown);
        if changed && answer.is_ok() {
            tracing::info!(store, "the lease store answers");
        }
        answer.map_err(|failed| {
            let (refusal, why) = match &failed {
                Failed::Absent(error) | Failed::Unfit(error) => (LeaseRefusal::StoreDown, error.to_string()),
                Failed::NotAsked => (LeaseRefusal::StoreDown, "no connection in time".to_owned()),
                Failed::NoAnswer => (LeaseRefusal::Unknown, "it does not answer".to_owned()),
            };
            if changed {
                tracing::warn!(store, "the lease store is away: {why}");
            }
            refusal
        })
    }

    /// Looks again and again whether the store does its work. One that answers and takes no writes, such as a replica
    /// after a change of masters, grants nothing: it is as good as away. Never ends.
    pub(super) async fn watch(self: Arc<Self>) {
        let script = redis::Script::new(PROBE);
        let mut probe = script.prepare_invoke();
        probe.key(PROBE_KEY);
        loop {
            // It is kept and logged; there is nobody to tell.
            _ = self.ask_once::<i64>(&probe).await;
            tokio::time::sleep(HEALTH_PERIOD).await;
        }
    }

    /// Hears wake-ups and passes them on. Never ends.
    pub(super) async fn hear(self: Arc<Self>, channel: String, wakes: Wakes) {
        loop {
            let subscribed = timeout(self.patience.connect.saturating_mul(2), self.subscribe(&channel)).await;
            if let Ok(Some(heard)) = subscribed {
                // Between two subscriptions wake-ups are lost.
                wakes.wake_all();
                pass_on(heard, &wakes, self.patience.answer).await;
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    async fn subscribe(&self, channel: &str) -> Option<PubSub> {
        let mut heard = self.client.get_async_pubsub().await.ok()?;
        heard.subscribe(channel).await.ok()?;
        Some(heard)
    }
}

/// Until the connection is lost. A ping each second finds one that only looks alive.
async fn pass_on(heard: PubSub, wakes: &Wakes, answer_max: Duration) {
    let (mut sink, mut messages) = heard.split();
    let mut ping_at = Instant::now() + HEALTH_PERIOD;
    loop {
        match timeout_at(ping_at, messages.next()).await {
            Ok(Some(message)) => {
                if let Ok(text) = message.get_payload::<String>() {
                    wakes.wake_by(&text);
                }
            }
            Ok(None) => return,
            Err(_) => {
                ping_at = Instant::now() + HEALTH_PERIOD;
                if !matches!(timeout(answer_max, sink.ping::<redis::Value>()).await, Ok(Ok(_))) {
                    return;
                }
            }
        }
    }
}

fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}
