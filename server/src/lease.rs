//! The lease store: who may talk to a lift now.
//!
//! In one process it is a table. Waiters are served in the order in which they came and granted directly at release;
//! a grant that is not given back ends by itself after [`LEASE_TTL`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{FencingToken, HeldLease, LeaseNonce, LeaseRefusal};
use kernel::timing::{LEASE_TTL, LEASE_WAIT};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::clock;

/// Requests that wait for one lift. A node asks once at a time, so this is far more nodes than a site has.
const WAITERS_MAX: usize = 64;

/// Where leases come from.
#[derive(Clone, Debug)]
pub enum LeaseStore {
    /// Of this process alone.
    InProcess(InProcess),
}

/// A lease store of one process.
#[derive(Clone, Debug)]
pub struct InProcess {
    slots: Arc<Mutex<BTreeMap<LiftId, Slot>>>,
    first_serial: u64,
    ttl: Duration,
    /// It answers nobody: in drills alone.
    stopped: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Slot {
    serial: u64,
    ttl: Duration,
    held: Option<Grant>,
    line: VecDeque<Waiter>,
}

#[derive(Clone, Debug)]
struct Grant {
    holder: NodeId,
    nonce: LeaseNonce,
    token: FencingToken,
    ends_at: Instant,
}

#[derive(Debug)]
struct Waiter {
    holder: NodeId,
    nonce: LeaseNonce,
    epoch: u32,
    granted: oneshot::Sender<FencingToken>,
}

enum Asked {
    Granted(FencingToken),
    Waits(oneshot::Receiver<FencingToken>),
    Refused(LeaseRefusal),
}

impl LeaseStore {
    /// A store of this process. Serials begin above `first_serial`, which the caller takes from something that rises
    /// over restarts (the run of its node): a gateway refuses a token that is not above the last.
    pub fn in_process(first_serial: u64) -> Self {
        Self::InProcess(InProcess::new(first_serial, Duration::from_millis(LEASE_TTL.0)))
    }

    /// Asks for a lift and waits for the turn, at most [`LEASE_WAIT`]. The same nonce asked again gets the same grant.
    ///
    /// # Errors
    /// Who holds it and the place in the line.
    pub async fn acquire(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        epoch: u32,
    ) -> Result<HeldLease, LeaseRefusal> {
        let Self::InProcess(store) = self;
        let asked_at = clock::mono();
        let token = store.acquire(lift, holder, nonce, epoch).await?;
        Ok(HeldLease::granted(lift.clone(), nonce, token, asked_at))
    }

    /// Gives a lease back. A lease that is not held any more, or is another's, is left alone.
    pub fn release(&self, lift: &LiftId, nonce: LeaseNonce, token: FencingToken) {
        let Self::InProcess(store) = self;
        store.release(lift, nonce, token);
    }

    /// Answers nobody from now on, or answers again with what it had. For drills.
    pub fn set_stopped(&self, stopped: bool) {
        let Self::InProcess(store) = self;
        store.stopped.store(stopped, Ordering::Relaxed);
    }

    /// Forgets holders, line and serials, as a store does that comes back empty. For drills.
    pub fn forget(&self) {
        let Self::InProcess(store) = self;
        store.slots.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl InProcess {
    fn new(first_serial: u64, ttl: Duration) -> Self {
        Self { slots: Arc::default(), first_serial, ttl, stopped: Arc::default() }
    }

    async fn acquire(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        epoch: u32,
    ) -> Result<FencingToken, LeaseRefusal> {
        if self.is_stopped() {
            return Err(LeaseRefusal::StoreDown);
        }
        let give_up = Instant::now() + Duration::from_millis(LEASE_WAIT.0);
        let mut granted = match self.ask(lift, holder, nonce, epoch) {
            Asked::Granted(token) => return Ok(token),
            Asked::Refused(refusal) => return Err(refusal),
            Asked::Waits(granted) => granted,
        };
        loop {
            // A holder that died gives nothing back: its grant ends by time, and the line moves on then.
            let wake = self.held_until(lift).map_or(give_up, |ends_at| ends_at.min(give_up));
            tokio::select! {
                token = &mut granted => {
                    return token.map_err(|_| LeaseRefusal::StoreDown);
                }
                () = tokio::time::sleep_until(wake) => {}
            }
            self.expire(lift);
            if Instant::now() >= give_up {
                return granted.try_recv().map_err(|_| self.leave_line(lift, nonce));
            }
        }
    }

    fn ask(&self, lift: &LiftId, holder: &NodeId, nonce: LeaseNonce, epoch: u32) -> Asked {
        self.with(lift, |slot| {
            slot.drop_expired();
            if let Some(held) = &slot.held {
                if held.nonce == nonce && held.holder == *holder {
                    return Asked::Granted(held.token);
                }
            } else if slot.line.is_empty() {
                return Asked::Granted(slot.grant(holder.clone(), nonce, epoch));
            }
            if slot.line.len() >= WAITERS_MAX {
                return Asked::Refused(slot.refusal(holder, slot.line.len()));
            }
            let (granted, waits) = oneshot::channel();
            slot.line.push_back(Waiter { holder: holder.clone(), nonce, epoch, granted });
            Asked::Waits(waits)
        })
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn release(&self, lift: &LiftId, nonce: LeaseNonce, token: FencingToken) {
        // Nobody hears it: the grant ends by its own time.
        if self.is_stopped() {
            return;
        }
        self.with(lift, |slot| {
            let ours = slot.held.as_ref().is_some_and(|it| it.nonce == nonce && it.token == token);
            if ours {
                slot.held = None;
                slot.serve();
            }
        });
    }

    fn expire(&self, lift: &LiftId) {
        self.with(lift, |slot| {
            slot.drop_expired();
            slot.serve();
        });
    }

    fn held_until(&self, lift: &LiftId) -> Option<Instant> {
        self.with(lift, |slot| slot.held.as_ref().map(|it| it.ends_at))
    }

    fn leave_line(&self, lift: &LiftId, nonce: LeaseNonce) -> LeaseRefusal {
        self.with(lift, |slot| {
            let place = slot.line.iter().position(|it| it.nonce == nonce);
            let waiter = place.and_then(|idx| slot.line.remove(idx));
            match (waiter, place) {
                (Some(waiter), Some(idx)) => slot.refusal(&waiter.holder, idx),
                (Some(_) | None, _) => LeaseRefusal::StoreDown,
            }
        })
    }

    fn with<T>(&self, lift: &LiftId, change: impl FnOnce(&mut Slot) -> T) -> T {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.first_serial;
        let slot = slots.entry(lift.clone()).or_insert_with(|| Slot {
            serial: first,
            ttl: self.ttl,
            held: None,
            line: VecDeque::new(),
        });
        change(slot)
    }
}

impl Slot {
    fn grant(&mut self, holder: NodeId, nonce: LeaseNonce, epoch: u32) -> FencingToken {
        self.serial += 1;
        let token = FencingToken { epoch, serial: self.serial };
        let ends_at = Instant::now() + self.ttl;
        self.held = Some(Grant { holder, nonce, token, ends_at });
        token
    }

    fn drop_expired(&mut self) {
        if self.held.as_ref().is_some_and(|it| it.ends_at <= Instant::now()) {
            self.held = None;
        }
    }

    /// Grants to the first who still waits.
    fn serve(&mut self) {
        while self.held.is_none() {
            let Some(waiter) = self.line.pop_front() else { return };
            let token = self.grant(waiter.holder, waiter.nonce, waiter.epoch);
            if waiter.granted.send(token).is_err() {
                self.held = None;
            }
        }
    }

    fn refusal(&self, asker: &NodeId, idx: usize) -> LeaseRefusal {
        let holder = self.held.as_ref().map_or_else(|| asker.clone(), |it| it.holder.clone());
        LeaseRefusal::Held { holder, position: u32::try_from(idx + 1).unwrap_or(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift() -> LiftId {
        LiftId::try_new("L1").unwrap()
    }

    fn node(name: &str) -> NodeId {
        NodeId::try_new(name).unwrap()
    }

    async fn acquire(store: &LeaseStore, who: &str, nonce: u64) -> Result<FencingToken, LeaseRefusal> {
        store.acquire(&lift(), &node(who), LeaseNonce(nonce), 1).await.map(|it| it.token())
    }

    #[tokio::test]
    async fn a_second_holder_waits_and_is_refused_with_the_first_ones_name() {
        let store = LeaseStore::in_process(0);
        acquire(&store, "A", 1).await.unwrap();
        let refused = acquire(&store, "B", 2).await;
        assert_eq!(refused, Err(LeaseRefusal::Held { holder: node("A"), position: 1 }));
    }

    #[tokio::test]
    async fn a_release_grants_to_the_next_in_line_with_a_higher_token() {
        let store = LeaseStore::in_process(7);
        let first = acquire(&store, "A", 1).await.unwrap();
        let (second, ()) = tokio::join!(acquire(&store, "B", 2), async {
            tokio::task::yield_now().await;
            store.release(&lift(), LeaseNonce(1), first);
        });
        assert!(second.unwrap() > first);
    }

    #[tokio::test]
    async fn the_same_request_gets_the_same_grant_and_a_stranger_frees_nothing() {
        let store = LeaseStore::in_process(0);
        let first = acquire(&store, "A", 1).await.unwrap();
        assert_eq!(acquire(&store, "A", 1).await.unwrap(), first);
        store.release(&lift(), LeaseNonce(9), first);
        assert!(acquire(&store, "B", 2).await.is_err());
    }

    #[tokio::test]
    async fn a_dead_holders_lease_ends_by_itself() {
        let store = LeaseStore::InProcess(InProcess::new(0, Duration::from_millis(20)));
        acquire(&store, "A", 1).await.unwrap();
        assert!(acquire(&store, "B", 2).await.is_ok());
    }

    #[tokio::test]
    async fn a_stopped_store_answers_nobody_and_keeps_what_it_had() {
        let store = LeaseStore::in_process(0);
        let first = acquire(&store, "A", 1).await.unwrap();
        store.set_stopped(true);
        assert_eq!(acquire(&store, "A", 2).await, Err(LeaseRefusal::StoreDown));
        store.release(&lift(), LeaseNonce(1), first);
        store.set_stopped(false);
        assert_eq!(acquire(&store, "A", 1).await.unwrap(), first);
    }

    #[tokio::test]
    async fn an_emptied_store_grants_a_held_lift_again_under_an_old_token() {
        let store = LeaseStore::in_process(0);
        let first = acquire(&store, "A", 1).await.unwrap();
        store.forget();
        assert_eq!(acquire(&store, "B", 2).await.unwrap(), first);
    }
}
