//! One contract for the lease stores, held by each of them; then what only a store can do that is elsewhere.

/// Each promise, and the timing of the store that it is tried on.
macro_rules! contract {
    ($($name:ident: $timing:expr;)*) => {
        mod in_process {
            // Its clock goes on when all wait, and no further than to what the first of them waits for.
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name(&super::Bench::in_process($timing)).await;
            })*
        }
        mod on_redis {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&super::Bench::on_redis($timing).await).await;
            })*
        }
        /// On servers that are shared: all at once, each on a lift of its own.
        pub(super) async fn hold(bench: impl Fn(Timing) -> Bench) {
            mod timings {
                $(pub(super) fn $name() -> super::Timing { $timing })*
            }
            let all: Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>> = vec![$({
                let bench = bench(timings::$name());
                Box::pin(async move { $name(&bench).await })
            }),*];
            futures_util::future::join_all(all).await;
        }
    };
}

mod calls;
mod contract;
mod kinds;
mod outage;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::LeaseTiming as Timing;
use kernel::lease::{
    FencingToken, HeldLease, LeaseNonce, LeasePriority, LeaseRefusal, LeaseRequest, StoreLife,
};
use kernel::time::Millis;
use server::lease::{LeaseStore, RedisUrl};
use tokio::time::timeout;

use crate::stores::{RedisServer, command};

/// The epoch of every request here.
const EPOCH: u32 = 3;
/// Nothing here takes longer, however slow the machine.
const BOUND: Duration = Duration::from_secs(60);

/// Nothing of it ends while a machine stands still for some seconds.
fn calm() -> Timing {
    let long = Millis::seconds(60);
    Timing { hold_max: Millis::seconds(300), wait: long, poll: long, claim: long, ..Timing::default() }
}

/// A store on Redis that waits for its answers, however slow the machine.
fn patient(url: &RedisUrl, timing: Timing) -> LeaseStore {
    LeaseStore::redis(url, timing, Millis::seconds(60)).unwrap()
}

/// A store of one kind, and its servers where it has any.
struct Bench {
    store: LeaseStore,
    /// The same leases, asked with [`calm`]. In one process the clock stands while anything is under way, so there is
    /// no need for it.
    calm: LeaseStore,
    lift: LiftId,
    /// Those that have the leases.
    masters: Vec<SocketAddr>,
    server: Option<RedisServer>,
}

impl Bench {
    fn in_process(timing: Timing) -> Self {
        let store = LeaseStore::in_process(timing);
        Self { calm: store.clone(), store, lift: lift(), masters: Vec::new(), server: None }
    }

    async fn on_redis(timing: Timing) -> Self {
        let server = RedisServer::start().await;
        let bench = Self::at(&server.text_url(), vec![server.address], "L1", timing);
        Self { server: Some(server), ..bench }
    }

    /// On servers that were started before.
    fn at(url: &str, masters: Vec<SocketAddr>, lift: &str, timing: Timing) -> Self {
        let store = |timing| patient(&url.parse().unwrap(), timing);
        let lift = LiftId::try_new(lift).unwrap();
        Self { store: store(timing), calm: store(calm()), lift, masters, server: None }
    }

    /// The store forgets everything of the lift.
    async fn empty(&self) {
        if self.masters.is_empty() {
            self.store.forget();
        }
        for key in self.found(&format!("*{{{}}}*", self.lift)).await {
            self.command(&["DEL", &key]).await;
        }
    }

    /// One command to the server that has the leases.
    async fn command(&self, words: &[&str]) -> redis::Value {
        for master in &self.masters {
            match command(*master, words).await {
                Err(error) if error.is_cluster_error() => {}
                answer => return answer.unwrap(),
            }
        }
        panic!("no server takes {words:?}")
    }

    /// The keys of this form.
    async fn found(&self, pattern: &str) -> Vec<String> {
        let mut found = Vec::new();
        for master in &self.masters {
            let keys = command(*master, &["KEYS", pattern]).await.unwrap();
            found.extend(redis::from_redis_value::<Vec<String>>(keys).unwrap());
        }
        found.sort();
        found
    }

    /// Waits until somebody is in the line.
    async fn line_forms(&self) {
        if self.masters.is_empty() {
            return tokio::task::yield_now().await;
        }
        let line = format!("agv:lift:control:{{{}}}:line", self.lift);
        let formed = async {
            while redis::from_redis_value::<u64>(self.command(&["ZCARD", &line]).await).unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(BOUND, formed).await.expect("somebody waits");
    }

    async fn acquire(&self, who: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
        self.acquire_by(&self.store, who, (nonce, 0)).await
    }

    /// By the store with [`calm`].
    async fn acquire_calm(&self, who: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
        self.acquire_by(&self.calm, who, (nonce, 0)).await
    }

    async fn acquire_by(
        &self,
        store: &LeaseStore,
        who: &str,
        (nonce, floor): (u64, u64),
    ) -> Result<HeldLease, LeaseRefusal> {
        ask(store, self.request(who, nonce, floor)).await
    }

    fn request(&self, who: &str, nonce: u64, floor: u64) -> LeaseRequest {
        LeaseRequest { lift: self.lift.clone(), ..request(who, nonce, floor) }
    }

    async fn release(&self, who: &str, lease: &HeldLease) -> Result<(), LeaseRefusal> {
        release(&self.store, who, lease).await
    }

    async fn renew(&self, who: &str, lease: &HeldLease) -> Result<HeldLease, LeaseRefusal> {
        self.store.renew(lease, &node(who)).await
    }

    /// In which order these get the lift, who ask in this order while `keeper` gives it back. Each passes it on.
    async fn served(
        &self,
        keeper: (&str, &HeldLease),
        asking: &[(&'static str, u64)],
    ) -> Vec<(&'static str, FencingToken)> {
        let all = |(who, nonce): &(_, _)| (*who, *nonce, LeasePriority::default());
        self.served_by_priority(keeper, &asking.iter().map(all).collect::<Vec<_>>()).await
    }

    async fn served_by_priority(
        &self,
        keeper: (&str, &HeldLease),
        asking: &[(&'static str, u64, LeasePriority)],
    ) -> Vec<(&'static str, FencingToken)> {
        let served = std::sync::Mutex::new(Vec::new());
        let waits = asking.iter().map(|(who, nonce, priority)| async {
            let request = LeaseRequest { priority: *priority, ..self.request(who, *nonce, 0) };
            let lease = ask(&self.calm, request).await.unwrap();
            served.lock().unwrap().push((*who, lease.token()));
            release(&self.calm, who, &lease).await.unwrap();
        });
        let begins = async { release(&self.calm, keeper.0, keeper.1).await.unwrap() };
        futures_util::future::join(futures_util::future::join_all(waits), begins).await;
        served.into_inner().unwrap()
    }
}

async fn acquire(store: &LeaseStore, who: &str, nonce: u64, floor: u64) -> Result<HeldLease, LeaseRefusal> {
    ask(store, request(who, nonce, floor)).await
}

fn request(who: &str, nonce: u64, floor: u64) -> LeaseRequest {
    let (holder, nonce, life) = (node(who), LeaseNonce(nonce), StoreLife::default());
    LeaseRequest {
        lift: lift(),
        holder,
        nonce,
        epoch: EPOCH,
        floor,
        life,
        priority: LeasePriority::default(),
    }
}

/// Lives of stores as they were last told, which a node has from its ledger.
static LIVES: Mutex<BTreeMap<(String, LiftId), StoreLife>> = Mutex::new(BTreeMap::new());

/// Asks by the life that is known, and once more when that is another by now.
async fn ask(store: &LeaseStore, mut request: LeaseRequest) -> Result<HeldLease, LeaseRefusal> {
    let place = match store {
        // It begins without a name.
        LeaseStore::InProcess(_) => None,
        LeaseStore::Redis(redis) => Some((format!("{redis:?}"), request.lift.clone())),
    };
    if let Some(life) = place.as_ref().and_then(|it| LIVES.lock().unwrap().get(it).cloned()) {
        request.life = life;
    }
    match store.acquire(&request).await {
        Err(LeaseRefusal::StoreChanged { life }) => {
            LIVES.lock().unwrap().extend(place.map(|it| (it, life.clone())));
            store.acquire(&LeaseRequest { life, ..request }).await
        }
        other => other,
    }
}

async fn release(store: &LeaseStore, who: &str, lease: &HeldLease) -> Result<(), LeaseRefusal> {
    store.release(lease.lift(), &node(who), lease.nonce(), lease.token(), None).await
}

fn held_by(who: &str, position: u32) -> LeaseRefusal {
    LeaseRefusal::Held { holder: node(who), position }
}

fn lift() -> LiftId {
    LiftId::try_new("L1").unwrap()
}

fn node(name: &str) -> NodeId {
    NodeId::try_new(name).unwrap()
}
