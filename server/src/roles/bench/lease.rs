//! `hoistway bench lease`: what a lease costs on a Redis, beside the bare commands that any lock there needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kernel::ids::{LiftId, NodeId};
use kernel::lease::{LeaseNonce, LeasePriority, LeaseRefusal, LeaseRequest, LeaseTiming, StoreLife};
use kernel::time::Millis;
use redis::aio::MultiplexedConnection;
use tokio_util::sync::CancellationToken;

use super::{percentile, say, shown};
use crate::lease::{ANSWER_MAX, LeaseStore, RedisUrl};

pub(super) const HELP: &str = "\
Example:
  hoistway bench lease --redis redis://127.0.0.1:6379

The yardsticks run on one connection, in turns with what is measured: a bare `SET NX PX` with the usual script that
deletes what is one's own, and a bare `SET` for a round trip. Keys are named `bench-…` and end by themselves. Waiters
look for their turn by wake-ups alone: a lost one would stop the hand-overs, and is told.";

/// Pairs and round trips are measured in blocks by turns, so that the machine's moods hit both.
const BLOCK: u32 = 100;
/// The epoch of every grant.
const EPOCH: u32 = 1;
/// No hand-over takes so long, unless its wake-up was lost.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// The usual script that deletes what is one's own.
const BARE_RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Arguments of `hoistway bench lease`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// A Redis: redis://USER:PASSWORD@HOST:PORT/DB, the parts before and after host and port if they are needed
    #[arg(long, value_name = "URL", env = "HOISTWAY_BENCH_REDIS", hide_env_values = true)]
    redis: RedisUrl,
    /// Uncontended pairs of acquire and release
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pairs: u32,
    /// Hand-overs with 8 and with 64 waiters each
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    hand_overs: u32,
}

/// Measures and tells.
///
/// # Errors
/// The Redis cannot be used, a wake-up was lost, or output cannot be written.
pub(super) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    tokio::select! {
        measured = measure(&args) => measured,
        () = stop.cancelled() => Ok(()),
    }
}

async fn measure(args: &Args) -> anyhow::Result<()> {
    let client = args.redis.client().context("--redis")?;
    let mut bare = client.get_multiplexed_async_connection().await.context("--redis")?;
    // Long lives: this machine may be slow, and nothing here dies.
    let hour = Millis::seconds(3600);
    let timing = LeaseTiming { wait: hour, poll: hour, claim: hour, ticket: hour, ..LeaseTiming::default() };
    let store = LeaseStore::redis(&args.redis, timing, ANSWER_MAX)?;
    uncontended(&store, &mut bare, args.pairs).await?;
    for waiters in [8, 64] {
        contended(&store, &mut bare, waiters, args.hand_overs).await?;
    }
    Ok(())
}

async fn uncontended(store: &LeaseStore, bare: &mut MultiplexedConnection, pairs: u32) -> anyhow::Result<()> {
    let (lift, node) = (lift("bench-alone")?, node(0)?);
    let life = life_of(store, &lift).await?;
    let release = redis::Script::new(BARE_RELEASE);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for block in 0..pairs / BLOCK {
        for n in 0..BLOCK {
            let nonce = LeaseNonce(u64::from(block * BLOCK + n) + 1);
            let began = Instant::now();
            let lease = store.acquire(&request(&lift, &node, nonce, &life)).await?;
            store.release(&lift, &node, nonce, lease.token(), None).await?;
            ours.push(began.elapsed());
        }
        for _ in 0..BLOCK {
            let began = Instant::now();
            let mut set = redis::cmd("SET");
            set.arg("bench-bare").arg("me").arg("NX").arg("PX").arg(30_000);
            set.query_async::<Option<String>>(bare).await?;
            release.key("bench-bare").arg("me").invoke_async::<i64>(bare).await?;
            theirs.push(began.elapsed());
        }
    }
    let (ours, theirs) = (percentile(&mut ours, 50), percentile(&mut theirs, 50));
    let times = ours.as_secs_f64() / theirs.as_secs_f64();
    say(&format!(
        "uncontended acquire and release   p50 {}, {times:.2} × the bare pair ({})\n",
        shown(ours),
        shown(theirs)
    ))
}

async fn contended(
    store: &LeaseStore,
    bare: &mut MultiplexedConnection,
    waiters: u16,
    hand_overs: u32,
) -> anyhow::Result<()> {
    let hall = Arc::new(Hall::new(hand_overs));
    let lift = lift(&format!("bench-{waiters}"))?;
    let began = Instant::now();
    let turns: Vec<_> = (0..waiters)
        .map(|n| Ok(tokio::spawn(take_turns(store.clone(), Arc::clone(&hall), lift.clone(), node(n)?))))
        .collect::<anyhow::Result<_>>()?;
    let watched = watch(&hall, bare);
    let (round_trips, counts) = tokio::join!(watched, futures_util::future::join_all(turns));
    let mut waits = Vec::new();
    let mut grants = Vec::new();
    for turn in counts {
        let mut turn = turn.context("a waiter ended badly")??;
        grants.push(turn.len());
        waits.append(&mut turn);
    }
    let (round_trip, hand_over) = (percentile(&mut round_trips?, 50), percentile(&mut waits, 50));
    let rate = f64::from(hand_overs) / began.elapsed().as_secs_f64();
    say(&format!(
        "hand-over, {waiters:>2} waiters             p50 {}, {:.1} × a bare round trip ({}); Jain {:.4}; {rate:.0} a second, none lost of {hand_overs}\n",
        shown(hand_over),
        hand_over.as_secs_f64() / round_trip.as_secs_f64(),
        shown(round_trip),
        jain(&grants)
    ))
}

/// What the waiters of one lift share.
struct Hall {
    begun: Instant,
    /// When the last release began, in nanoseconds since then.
    released_at: AtomicU64,
    left: AtomicU64,
    over: AtomicBool,
}

impl Hall {
    fn new(hand_overs: u32) -> Self {
        Self {
            begun: Instant::now(),
            released_at: AtomicU64::new(0),
            left: AtomicU64::new(u64::from(hand_overs)),
            over: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Takes the lift, gives it back at once, and asks again, until enough was handed over. Gives how long each hand-over
/// to it took, from the beginning of the release before it.
async fn take_turns(
    store: LeaseStore,
    hall: Arc<Hall>,
    lift: LiftId,
    node: NodeId,
) -> anyhow::Result<Vec<Duration>> {
    let life = life_of(&store, &lift).await?;
    let mut waits = Vec::new();
    for nonce in (1..).map(LeaseNonce) {
        let request = request(&lift, &node, nonce, &life);
        let asked = store.acquire(&request);
        let lease = tokio::time::timeout(LOST_AFTER, asked).await.context("a wake-up was lost")??;
        let before = hall.released_at.load(Ordering::Acquire);
        if before > 0 {
            waits.push(Duration::from_nanos(hall.now().saturating_sub(before)));
        }
        let enough =
            hall.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |it| it.checked_sub(1)).is_err();
        hall.released_at.store(hall.now(), Ordering::Release);
        store.release(&lift, &node, nonce, lease.token(), None).await?;
        if enough {
            hall.over.store(true, Ordering::Release);
            break;
        }
    }
    Ok(waits)
}

/// Bare round trips beside the hand-overs, so that both meet the same machine.
async fn watch(hall: &Hall, bare: &mut MultiplexedConnection) -> anyhow::Result<Vec<Duration>> {
    let mut trips = Vec::new();
    while !hall.over.load(Ordering::Acquire) {
        let began = Instant::now();
        redis::cmd("SET").arg("bench-bare").arg("me").arg("PX").arg(30_000).query_async::<()>(bare).await?;
        trips.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(trips)
}

/// 1 when all got the same, 1/n when one got everything.
fn jain(counts: &[usize]) -> f64 {
    let counts: Vec<f64> = counts.iter().map(|it| u32::try_from(*it).map_or(f64::MAX, f64::from)).collect();
    let (sum, squares): (f64, f64) = (counts.iter().sum(), counts.iter().map(|it| it * it).sum());
    let n = u32::try_from(counts.len()).map_or(f64::MAX, f64::from);
    sum * sum / (n * squares)
}

fn request(lift: &LiftId, holder: &NodeId, nonce: LeaseNonce, life: &StoreLife) -> LeaseRequest {
    let (lift, holder, life) = (lift.clone(), holder.clone(), life.clone());
    LeaseRequest { lift, holder, nonce, epoch: EPOCH, floor: 0, life, priority: LeasePriority::default() }
}

/// By which life the store goes: whoever names none is told.
async fn life_of(store: &LeaseStore, lift: &LiftId) -> anyhow::Result<StoreLife> {
    match store.acquire(&request(lift, &node(u16::MAX)?, LeaseNonce(0), &StoreLife::default())).await {
        Err(LeaseRefusal::StoreChanged { life }) => Ok(life),
        Ok(_) => Ok(StoreLife::default()),
        Err(other) => Err(other.into()),
    }
}

fn lift(name: &str) -> anyhow::Result<LiftId> {
    Ok(LiftId::try_new(name)?)
}

fn node(n: u16) -> anyhow::Result<NodeId> {
    Ok(NodeId::try_new(&format!("N{n}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_when_all_get_the_same() {
        for (counts, expected) in [(vec![5, 5, 5], 1.0), (vec![9, 0, 0], 1.0 / 3.0), (vec![1, 3], 0.8)] {
            assert!((jain(&counts) - expected).abs() < 1e-9, "{counts:?}");
        }
    }
}
