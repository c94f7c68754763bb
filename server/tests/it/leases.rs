//! One contract for the lease stores, held by each of them; then what only a store can do that is elsewhere.

mod contract;
mod outage;

use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::LeaseTiming as Timing;
use kernel::lease::{FencingToken, HeldLease, LeaseNonce, LeaseRefusal};
use kernel::time::Millis;
use server::lease::LeaseStore;
use tokio::time::timeout;

use crate::stores::RedisServer;

/// The epoch of every request here.
const EPOCH: u32 = 3;
/// Far below what a client waits that does not know its store to be away.
const BOUND: Duration = Duration::from_secs(3);

/// A store of one kind, and its server where it has one.
struct Bench {
    store: LeaseStore,
    server: Option<RedisServer>,
}

impl Bench {
    fn in_process(timing: Timing) -> Self {
        Self { store: LeaseStore::in_process(timing), server: None }
    }

    async fn on_redis(timing: Timing) -> Self {
        let server = RedisServer::start().await;
        Self { store: LeaseStore::redis(&server.url(), timing).unwrap(), server: Some(server) }
    }

    /// The store forgets everything.
    async fn empty(&self) {
        match &self.server {
            Some(server) => drop(server.command(&["FLUSHALL"]).await.unwrap()),
            None => self.store.forget(),
        }
    }

    async fn acquire(&self, who: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
        acquire(&self.store, who, nonce, 0).await
    }

    async fn release(&self, who: &str, lease: &HeldLease) -> Result<(), LeaseRefusal> {
        release(&self.store, who, lease).await
    }

    async fn renew(&self, who: &str, lease: &HeldLease) -> Result<HeldLease, LeaseRefusal> {
        self.store.renew(lease, &node(who)).await
    }
}

async fn acquire(store: &LeaseStore, who: &str, nonce: u64, floor: u64) -> Result<HeldLease, LeaseRefusal> {
    store.acquire(&lift(), &node(who), LeaseNonce(nonce), EPOCH, floor).await
}

async fn release(store: &LeaseStore, who: &str, lease: &HeldLease) -> Result<(), LeaseRefusal> {
    store.release(&lift(), &node(who), lease.nonce(), lease.token()).await
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
