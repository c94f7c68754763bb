//! Which server has a lift's leases now: the one that there is, the master that sentinels name, or a cluster's master for
//! the slot of the lift's keys.
//!
//! Those who know are all asked at once, and the one that knows of the latest change of masters is believed: one that
//! was cut off tells an old story. What was found is kept until something fails there. The driver's own clients for
//! sentinels and clusters try again by themselves, for seconds; "the store is down" has to be known sooner.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, RedisResult, Value};
use tokio::time::timeout;

use super::url::{self, Road};

/// A cluster has so many slots, each on one master.
const SLOTS: u16 = 16_384;
/// Ranges that a cluster may be cut into; each slot one by one is the most that there is.
const RANGES_MAX: usize = SLOTS as usize;

/// Finds servers. Keeps what it found.
#[derive(Debug)]
pub(super) struct Finder {
    road: Road,
    found: Mutex<Found>,
}

#[derive(Clone, Debug, Default)]
struct Found {
    ranges: Vec<Range>,
    /// Something failed there since.
    is_doubted: bool,
}

/// Who has a range of slots.
#[derive(Clone, Debug)]
struct Range {
    from: u16,
    to: u16,
    server: Server,
}

/// One server that grants.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) client: Client,
    /// Host and port.
    pub(super) name: String,
}

/// Why no server was found.
#[derive(Debug)]
pub(super) enum NotFound {
    /// Nobody who would know answers.
    Silent(&'static str),
    /// Who answers knows of none.
    None(String),
}

impl Server {
    fn new(client: Client) -> Self {
        Self { name: url::host_of(&client), client }
    }
}

impl Finder {
    pub(super) fn new(road: Road) -> Self {
        let ranges = match &road {
            Road::Single(client) => vec![everything(Server::new(client.clone()))],
            Road::Sentinel { .. } | Road::Cluster(_) => Vec::new(),
        };
        let is_doubted = ranges.is_empty();
        Self { road, found: Mutex::new(Found { ranges, is_doubted }) }
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        self.road.to_string()
    }

    /// Leases may be on several servers.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.road, Road::Cluster(_))
    }

    /// Who has this key. Those who know are given so long to answer.
    pub(super) async fn find(&self, key: &str, patience: Duration) -> Result<Server, NotFound> {
        let slot = slot_of(key);
        let ranges = self.undoubted(patience).await?;
        let range = ranges.iter().find(|it| (it.from..=it.to).contains(&slot));
        range.map(|it| it.server.clone()).ok_or_else(|| NotFound::None(format!("no master has slot {slot}")))
    }

    /// Every server that grants, with a key that it would have: what begins with `key`.
    pub(super) async fn all(&self, key: &str, patience: Duration) -> Result<Vec<(Server, String)>, NotFound> {
        let ranges = self.undoubted(patience).await?;
        let servers: BTreeMap<String, Range> =
            ranges.into_iter().map(|it| (it.server.name.clone(), it)).collect();
        let of_each = servers.into_values().map(|it| {
            let key = if self.is_cluster() { key_within(key, (it.from, it.to)) } else { key.to_owned() };
            (it.server, key)
        });
        Ok(of_each.collect())
    }

    /// Something failed there: whoever knows is asked before the next step.
    pub(super) fn doubt(&self) {
        if !matches!(self.road, Road::Single(_)) {
            self.kept().is_doubted = true;
        }
    }

    /// Asks whoever knows whether it is still so. A server that was cut off alone with this process would not say by
    /// itself that it was replaced. When nobody answers, what is known stays: it may well do its work.
    pub(super) async fn look_again(&self, patience: Duration) {
        _ = self.look(patience).await;
    }

    /// It is none of those that grant, as far as is known.
    pub(super) fn is_replaced(&self, name: &str) -> bool {
        let ranges = &self.kept().ranges;
        !ranges.is_empty() && !ranges.iter().any(|it| it.server.name == name)
    }

    async fn undoubted(&self, patience: Duration) -> Result<Vec<Range>, NotFound> {
        if self.kept().is_doubted {
            let looked = self.look(patience).await;
            let known = self.kept().ranges.clone();
            match looked {
                // Nobody can say that it was replaced, and it may well do its work; what it grants has its own fence.
                Err(NotFound::Silent(_)) if !known.is_empty() => return Ok(known),
                Err(not_found) => return Err(not_found),
                Ok(()) => {}
            }
        }
        Ok(self.kept().ranges.clone())
    }

    async fn look(&self, patience: Duration) -> Result<(), NotFound> {
        let ranges = match &self.road {
            Road::Single(_) => return Ok(()),
            Road::Sentinel { sentinels, name, like } => {
                vec![everything(master_of(sentinels, name, like, patience).await?)]
            }
            Road::Cluster(given) => self.ranges(given, patience).await?,
        };
        *self.kept() = Found { ranges, is_doubted: false };
        Ok(())
    }

    /// Asks those that were given, and those that were found: each may have been replaced.
    async fn ranges(&self, given: &[Client], patience: Duration) -> Result<Vec<Range>, NotFound> {
        let found = self.kept().ranges.clone().into_iter().map(|it| it.server.client);
        let asked: BTreeMap<String, Client> =
            given.iter().cloned().chain(found).map(|it| (url::host_of(&it), it)).collect();
        let answers = join_all(
            asked.into_values().map(|it| async move { timeout(patience, slots_by(&it)).await.ok() }),
        );
        let mut why = NotFound::Silent("no server of the cluster answers");
        let mut newest: Option<Told> = None;
        for answer in answers.await.into_iter().flatten() {
            match answer {
                // One that is cut off from most of the others says so.
                Ok(told) if !told.is_ok => {
                    why = NotFound::None("the cluster says that it is down".to_owned())
                }
                Ok(told) if newest.as_ref().is_none_or(|it| it.epoch < told.epoch) => newest = Some(told),
                Ok(_) => {}
                Err(error) if is_broken(&error) => {}
                Err(error) => why = NotFound::None(error.to_string()),
            }
        }
        newest.map(|it| it.ranges).ok_or(why)
    }

    fn kept(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn everything(server: Server) -> Range {
    Range { from: 0, to: SLOTS - 1, server }
}

pub(super) async fn connect(client: &Client) -> RedisResult<MultiplexedConnection> {
    // What takes too long is cancelled by the caller, whole.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Who the master is by the sentinels that know of the latest change, and by most of these.
async fn master_of(
    sentinels: &[Client],
    name: &str,
    like: &Client,
    patience: Duration,
) -> Result<Server, NotFound> {
    let answers = join_all(sentinels.iter().map(|it| timeout(patience, master_by(it, name)))).await;
    let answers: Vec<_> = answers.into_iter().flatten().flatten().collect();
    if answers.is_empty() {
        return Err(NotFound::Silent("no sentinel answers"));
    }
    let unknown = || NotFound::None(format!("the sentinels know no master {name}"));
    let (host, port) = believed(answers.into_iter().flatten().collect()).ok_or_else(unknown)?;
    let client = url::at(like, &host, port).map_err(|error| NotFound::None(error.to_string()))?;
    Ok(Server::new(client))
}

/// What most of those say that know of the latest change.
fn believed(answers: Vec<Named>) -> Option<(String, u16)> {
    let newest = answers.iter().map(|it| it.epoch).max()?;
    let mut said: BTreeMap<(String, u16), usize> = BTreeMap::new();
    for named in answers.into_iter().filter(|it| it.epoch == newest) {
        *said.entry((named.host, named.port)).or_default() += 1;
    }
    said.into_iter().max_by_key(|(_, by)| *by).map(|(address, _)| address)
}

/// What one sentinel says.
struct Named {
    /// Of the last change.
    epoch: u64,
    host: String,
    port: u16,
}

/// Nothing of a master that the sentinel does not watch. While it leads a change of masters it tells of the old one under
/// the new epoch, for as long as a replica is slow to follow; which address to use it says only to who asks for that.
async fn master_by(sentinel: &Client, name: &str) -> RedisResult<Option<Named>> {
    let mut connection = connect(sentinel).await?;
    let asked = redis::cmd("SENTINEL").arg("MASTER").arg(name).query_async(&mut connection).await;
    let told: BTreeMap<String, String> = match asked {
        Ok(told) => told,
        // It says that there is none.
        Err(error) if !is_broken(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let epoch = told.get("config-epoch").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut asked = redis::cmd("SENTINEL");
    asked.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let address: Option<(String, u16)> = asked.query_async(&mut connection).await?;
    Ok(address.map(|(host, port)| Named { epoch, host, port }))
}

/// What one server of a cluster says of it.
struct Told {
    is_ok: bool,
    epoch: u64,
    ranges: Vec<Range>,
}

async fn slots_by(server: &Client) -> RedisResult<Told> {
    let mut connection = connect(server).await?;
    let info: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await?;
    let slots: Vec<Value> = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
    let line = |key: &str| info.lines().find_map(|it| it.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
    Ok(Told {
        is_ok: line("cluster_state") == Some("ok"),
        epoch: line("cluster_current_epoch").and_then(|it| it.parse().ok()).unwrap_or(0),
        ranges: slots.into_iter().take(RANGES_MAX).filter_map(|it| range_of(it, server)).collect(),
    })
}

/// One line of `CLUSTER SLOTS`: first and last slot, then the master, then its replicas. A master that does not know
/// its own address leaves it empty: it is the one that was asked.
fn range_of(line: Value, asked: &Client) -> Option<Range> {
    let Value::Array(parts) = line else { return None };
    let mut parts = parts.into_iter();
    let (from, to) = (read::<u16>(parts.next()?)?, read::<u16>(parts.next()?)?);
    let Value::Array(master) = parts.next()? else { return None };
    let mut master = master.into_iter();
    let (host, port) = (read::<Option<String>>(master.next()?)?, read::<u16>(master.next()?)?);
    let host = host.filter(|it| !it.is_empty() && it != "?").or_else(|| {
        let name = url::host_of(asked);
        Some(name.rsplit_once(':')?.0.trim_matches(['[', ']']).to_owned())
    })?;
    let client = url::at(asked, &host, port).ok()?;
    Some(Range { from, to, server: Server::new(client) })
}

fn read<T: redis::FromRedisValue>(value: Value) -> Option<T> {
    redis::from_redis_value(value).ok()
}

/// The connection is of no use any more, or never was.
pub(super) fn is_broken(error: &RedisError) -> bool {
    error.is_io_error() || error.is_connection_dropped() || error.is_timeout()
}

/// In which slot of a cluster a key lies: what stands in its first braces counts, or all of it.
fn slot_of(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let counts = tag.filter(|it| !it.is_empty()).unwrap_or(key);
    // CRC-16/XMODEM, as the specification of clusters says.
    let crc = counts.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    });
    crc % SLOTS
}

/// A key that begins so and lies in one of these slots.
fn key_within(begins: &str, (from, to): (u16, u16)) -> String {
    // Each slot is met about once in as many numbers as there are slots.
    let keys = (0..u32::from(SLOTS) * 16).map(|it| format!("{begins}:{{{it}}}"));
    let mut within = keys.filter(|it| (from..=to).contains(&slot_of(it)));
    within.next().unwrap_or_else(|| begins.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_those_who_know_of_the_latest_change_are_believed() {
        for answers in [
            [(1, "old"), (1, "old"), (2, "new")],
            [(2, "new"), (2, "new"), (2, "old")],
            [(2, "old"), (2, "new"), (2, "new")],
        ] {
            let named = |it: (u64, &str)| Named { epoch: it.0, host: it.1.to_owned(), port: 1 };
            let believed = believed(answers.map(named).into());
            assert_eq!(believed, Some(("new".to_owned(), 1)), "{answers:?}");
        }
        assert_eq!(believed(Vec::new()), None);
    }

    #[test]
    fn a_key_lies_in_the_slot_that_a_real_cluster_says() {
        // By `CLUSTER KEYSLOT` of Redis 7.0.
        for (key, slot) in [
            ("123456789", 12_739),
            ("agv:lift:control:{L1}", 11_987),
            ("agv:lift:order:{L1}:F2:goTo", 11_987),
            ("a{b}{c}", 3300),
            ("{}x", 10_595),
            ("", 0),
        ] {
            assert_eq!(slot_of(key), slot, "{key}");
        }
        for from in (0..SLOTS).step_by(997) {
            assert_eq!(slot_of(&key_within("probe", (from, from))), from);
        }
    }
}
