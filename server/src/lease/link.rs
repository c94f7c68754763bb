//! The connections to Redis: one for scripts to each server, one by which waiters are woken.
//!
//! Knows: how long anything may take, when a connection is given up, how to tell "nothing is there" from "it was asked
//! and has not answered". Must not know: what the scripts do. The driver's own reconnecting client waits for seconds
//! before it says that nothing is there, so there is a plain one here that is replaced whenever it fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use kernel::lease::LeaseRefusal;
use kernel::time::Millis;
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{ErrorKind, FromRedisValue, RedisError, RedisResult, Script, ServerErrorKind};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use super::find::{self, Finder, NotFound, Server, is_broken};
use super::url::Address;
use super::wakes::Wakes;

/// Whether the store is there is looked at so often while nobody asks it.
const HEALTH_PERIOD: Duration = Duration::from_secs(1);
/// Between two tries to listen for wake-ups. Waiters poll meanwhile.
const LISTEN_AGAIN: Duration = Duration::from_millis(200);

/// What is waited for, and how long.
#[derive(Clone, Copy)]
struct Patience {
    /// Whoever knows which server it is says so within this time.
    find: Duration,
    /// A connection is there, greeted and logged in, within this time, or nothing is there.
    connect: Duration,
    /// Replicas confirm within this time, or too few of them do.
    confirm: Duration,
    /// A script takes well under a millisecond.
    answer: Duration,
    /// Asking, and asking again, take no longer than this.
    ask: Duration,
}

/// Whether scripts run and may write. Nothing stays.
const PROBE: &str = "redis.call('SET', KEYS[1], 1) return redis.call('DEL', KEYS[1])";
const PROBE_KEY: &str = "agv:lift:control:probe";

/// The way to the Redis of a site.
pub(super) struct Link {
    finder: Finder,
    /// So many must confirm what has to outlive a change of masters.
    replicas: u32,
    patience: Patience,
    shown: String,
    doors: Lock<BTreeMap<String, Arc<Door>>>,
    /// Whether it did its work when it was last asked; none before.
    reached: Lock<Option<bool>>,
}

/// The way to one server.
#[derive(Default)]
struct Door {
    open: Mutex<Option<Open>>,
}

/// The connection that is in use.
#[derive(Clone)]
struct Open {
    connection: MultiplexedConnection,
    /// Which start of the server answers it.
    run: Arc<str>,
}

/// What is asked in one step: a script, its keys, all of one lift, and what it takes besides. The link adds, as the last
/// of that, which start of the server it asks.
pub(super) struct Step<'a> {
    script: &'a Script,
    keys: Vec<String>,
    args: Vec<String>,
    confirmed: Option<Confirmed>,
}

/// Which replicas are waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Confirmed {
    /// Those that confirm in time; when they did not, the last time, those that have it already. Whoever asks for
    /// another lift waits behind.
    Soon,
    /// Those that confirm in time.
    InTime,
}

/// What was answered.
pub(super) struct Answer<T> {
    pub(super) told: T,
    /// As many replicas as were wanted have it, if any were.
    pub(super) is_confirmed: bool,
}

/// How a try failed.
enum Failed {
    /// Nothing listens there.
    Absent(String),
    /// It could not be connected to in time, so it was not asked.
    NotAsked,
    /// It was asked, or may have been.
    NoAnswer,
    /// It says that it cannot do it.
    Unfit(String),
    /// Another server does it since a while ago.
    Moved,
}

impl<'a> Step<'a> {
    pub(super) fn new(script: &'a Script) -> Self {
        Self { script, keys: Vec::new(), args: Vec::new(), confirmed: None }
    }

    pub(super) fn key(&mut self, key: String) -> &mut Self {
        self.keys.push(key);
        self
    }

    pub(super) fn arg(&mut self, arg: impl ToString) -> &mut Self {
        self.args.push(arg.to_string());
        self
    }

    /// It counts only when it outlives a change of masters.
    pub(super) fn confirmed(&mut self) -> &mut Self {
        self.confirmed = Some(Confirmed::Soon);
        self
    }

    async fn run<T: FromRedisValue>(&self, open: &mut Open) -> RedisResult<T> {
        let mut command = redis::cmd("EVALSHA");
        command
            .arg(self.script.get_hash())
            .arg(self.keys.len())
            .arg(&self.keys)
            .arg(&self.args)
            .arg(&*open.run);
        match command.query_async(&mut open.connection).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.script.prepare_invoke().load_async(&mut open.connection).await?;
                command.query_async(&mut open.connection).await
            }
            other => other,
        }
    }
}

impl Patience {
    /// With the 250 ms that ship: 200 ms to connect and 550 ms to ask, below the 600 ms in which "down" must be known.
    fn of(answer: Millis) -> Self {
        let answer = Duration::from_millis(answer.0);
        let connect = answer * 4 / 5;
        Self { find: connect / 2, connect, confirm: answer * 2 / 5, answer, ask: answer * 11 / 5 }
    }
}

impl Link {
    pub(super) fn new(address: Address, answer_max: Millis) -> Self {
        let (finder, patience) = (Finder::new(address.road), Patience::of(answer_max));
        let (shown, replicas) = (finder.shown(), address.replicas);
        Self { finder, replicas, patience, shown, doors: Lock::default(), reached: Lock::default() }
    }

    /// Hosts and ports.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Replicas have to confirm what is granted.
    pub(super) fn is_confirmed(&self) -> bool {
        self.replicas > 0
    }

    /// It did its work when it was last asked.
    pub(super) fn is_reached(&self) -> bool {
        *self.reached() == Some(true)
    }

    /// Asks, and once more when no answer comes or another server has the lift by now: the scripts are made to be
    /// repeated.
    pub(super) async fn ask<T: FromRedisValue>(&self, step: &Step<'_>) -> Result<Answer<T>, LeaseRefusal> {
        let deadline = Instant::now() + self.patience.ask;
        let mut answer = timeout_at(deadline, self.try_once(step)).await.unwrap_or(Err(Failed::NoAnswer));
        if matches!(answer, Err(Failed::NoAnswer | Failed::Moved)) {
            answer = match timeout_at(deadline, self.try_once(step)).await {
                // What was asked before is still open.
                Ok(Err(Failed::NotAsked)) | Err(_) if matches!(answer, Err(Failed::NoAnswer)) => answer,
                Ok(again) => again,
                Err(_) => Err(Failed::NoAnswer),
            };
        }
        self.note(answer, self.says_all(step))
    }

    /// Asks once.
    pub(super) async fn ask_once<T: FromRedisValue>(
        &self,
        step: &Step<'_>,
    ) -> Result<Answer<T>, LeaseRefusal> {
        let answer = self.try_once(step).await;
        self.note(answer, self.says_all(step))
    }

    /// Whether the store does its work when it answers this: one server of several says nothing of the others, and an
    /// answer that needs no replicas nothing of them.
    fn says_all(&self, step: &Step<'_>) -> bool {
        !self.finder.is_cluster() && (self.replicas == 0 || step.confirmed.is_some())
    }

    async fn try_once<T: FromRedisValue>(&self, step: &Step<'_>) -> Result<Answer<T>, Failed> {
        let key = step.keys.first().map_or("", String::as_str);
        let connect = async {
            let server = self.finder.find(key, self.patience.find).await?;
            self.open(&server).await
        };
        let (door, open) = match timeout(self.patience.connect, connect).await {
            Ok(Ok(found)) => found,
            Ok(Err(failed)) => return Err(self.failed(failed)),
            Err(_) => return Err(self.failed(Failed::NotAsked)),
        };
        self.try_at(&door, open, step).await
    }

    /// Asks by this connection.
    async fn try_at<T: FromRedisValue>(
        &self,
        door: &Door,
        open: Open,
        step: &Step<'_>,
    ) -> Result<Answer<T>, Failed> {
        let mut asked = open.clone();
        let answer = timeout(self.patience.answer, async {
            let told = step.run(&mut asked).await?;
            let is_confirmed = match step.confirmed.filter(|_| self.replicas > 0) {
                Some(confirmed) => self.confirm(confirmed, &mut asked).await?,
                None => true,
            };
            Ok(Answer { told, is_confirmed })
        });
        let failed = match answer.await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => failure(&error, Failed::NoAnswer),
            Err(_) => Failed::NoAnswer,
        };
        // A connection that did not answer, or said that it cannot serve, is not used again: a late answer would come in
        // the place of another.
        door.open.lock().await.take_if(|it| Arc::ptr_eq(&it.run, &open.run));
        Err(self.failed(failed))
    }

    /// Waits for the replicas, by the connection that wrote: what came from there is waited for.
    async fn confirm(&self, confirmed: Confirmed, asked: &mut Open) -> RedisResult<bool> {
        let failed_before = *self.reached() == Some(false);
        let patience = match confirmed {
            Confirmed::Soon if failed_before => Duration::from_millis(1),
            Confirmed::Soon | Confirmed::InTime => self.patience.confirm,
        };
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(millis(patience));
        let replicas: u32 = wait.query_async(&mut asked.connection).await?;
        Ok(replicas >= self.replicas)
    }

    /// The connection to this server that is in use, or a new one.
    async fn open(&self, server: &Server) -> Result<(Arc<Door>, Open), Failed> {
        let door = self.door(&server.name);
        let mut open = door.open.lock().await;
        if let Some(open) = &*open {
            return Ok((Arc::clone(&door), open.clone()));
        }
        let connect = async {
            let mut connection = find::connect(&server.client).await?;
            let info: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await?;
            let run = info.lines().find_map(|it| it.strip_prefix("run_id:")).unwrap_or_default().trim();
            RedisResult::Ok(Open { connection, run: Arc::from(run) })
        };
        let new = connect.await.map_err(|error| failure(&error, Failed::Absent(error.to_string())))?;
        if new.run.is_empty() {
            return Err(Failed::Unfit("it does not say by which start it runs".to_owned()));
        }
        *open = Some(new.clone());
        drop(open);
        Ok((door, new))
    }

    fn door(&self, name: &str) -> Arc<Door> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        // The others are of servers that were replaced, and may never come back.
        doors.retain(|it, _| !self.finder.is_replaced(it));
        Arc::clone(doors.entry(name.to_owned()).or_default())
    }

    /// Whoever knows where to ask is asked anew after this.
    fn failed(&self, failed: Failed) -> Failed {
        self.finder.doubt();
        failed
    }

    /// Keeps whether the store does its work, and logs each change once. What fails says that it does not; what does
    /// not fail says that it does if it `says_all`.
    fn note<T>(&self, answer: Result<Answer<T>, Failed>, says_all: bool) -> Result<Answer<T>, LeaseRefusal> {
        let too_few = || format!("fewer than {} replicas confirm", self.replicas);
        let away = match &answer {
            Ok(answer) => (!answer.is_confirmed).then(too_few),
            Err(Failed::Absent(why) | Failed::Unfit(why)) => Some(why.clone()),
            Err(Failed::NotAsked) => Some("no connection in time".to_owned()),
            Err(Failed::NoAnswer) => Some("it does not answer".to_owned()),
            Err(Failed::Moved) if self.finder.is_cluster() => {
                Some("its servers do not agree on who has what".to_owned())
            }
            Err(Failed::Moved) => {
                Some("it is one of a cluster, whose address is redis-cluster://…".to_owned())
            }
        };
        if away.is_some() || says_all {
            self.set_reached(away);
        }
        answer.map_err(|failed| match failed {
            Failed::Absent(_) | Failed::Unfit(_) | Failed::NotAsked | Failed::Moved => {
                LeaseRefusal::StoreDown
            }
            Failed::NoAnswer => LeaseRefusal::Unknown,
        })
    }

    fn reached(&self) -> MutexGuard<'_, Option<bool>> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_reached(&self, away: Option<String>) {
        let reached = Some(away.is_none());
        let before = std::mem::replace(&mut *self.reached(), reached);
        if before == reached {
            return;
        }
        let store = &self.shown;
        match away {
            None => tracing::info!(store, "the lease store answers"),
            Some(why) => tracing::warn!(store, "the lease store is away: {why}"),
        }
    }

    /// Looks again and again whether the store does its work. One that answers and takes no writes, such as a replica
    /// after a change of masters, or whose replicas confirm nothing, grants nothing: it is as good as away. So is a
    /// cluster of which one master is away: its lifts are without leases, and at the edge all of them go on. Never ends.
    pub(super) async fn watch(self: Arc<Self>) {
        let script = Script::new(PROBE);
        loop {
            let probed = self.probe(&script).await;
            // It is kept and logged; there is nobody to tell.
            _ = self.note(probed, true);
            tokio::time::sleep(HEALTH_PERIOD).await;
        }
    }

    async fn probe(&self, script: &Script) -> Result<Answer<i64>, Failed> {
        self.finder.look_again(self.patience.find).await;
        let mut all = Answer { told: 0, is_confirmed: true };
        for (_, key) in self.finder.all(PROBE_KEY, self.patience.find).await? {
            let mut step = Step::new(script);
            step.key(key).confirmed = Some(Confirmed::InTime);
            all.is_confirmed &= self.try_once::<i64>(&step).await?.is_confirmed;
        }
        Ok(all)
    }

    /// Hears wake-ups and passes them on. A cluster carries them to each of its servers, so any will do. Never ends.
    pub(super) async fn hear(self: Arc<Self>, channel: String, wakes: Wakes) {
        for nth in 0.. {
            let patience = self.patience.connect.saturating_mul(2);
            if let Ok(Some((server, heard))) = timeout(patience, self.subscribe(&channel, nth)).await {
                // Between two subscriptions wake-ups are lost.
                wakes.wake_all();
                self.pass_on(&server, heard, &wakes).await;
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    }

    async fn subscribe(&self, channel: &str, nth: usize) -> Option<(String, PubSub)> {
        let mut servers = self.finder.all(PROBE_KEY, self.patience.find).await.ok()?;
        let (server, _) = servers.swap_remove(nth.checked_rem(servers.len())?);
        let mut heard = server.client.get_async_pubsub().await.ok()?;
        heard.subscribe(channel).await.ok()?;
        Some((server.name, heard))
    }

    /// Until the connection is lost, or leads to a server that grants nothing any more. A ping each second finds one
    /// that only looks alive.
    async fn pass_on(&self, server: &str, heard: PubSub, wakes: &Wakes) {
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
                    let ping = timeout(self.patience.answer, sink.ping::<redis::Value>()).await;
                    if !matches!(ping, Ok(Ok(_))) || self.finder.is_replaced(server) {
                        return;
                    }
                }
            }
        }
    }
}

impl From<NotFound> for Failed {
    fn from(not_found: NotFound) -> Self {
        match not_found {
            NotFound::Silent(why) => Self::Absent(why.to_owned()),
            NotFound::None(why) => Self::Unfit(why),
        }
    }
}

fn failure(error: &RedisError, broken: Failed) -> Failed {
    if is_broken(error) {
        return broken;
    }
    if error.kind() == ErrorKind::Server(ServerErrorKind::Moved) {
        return Failed::Moved;
    }
    Failed::Unfit(error.to_string())
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
