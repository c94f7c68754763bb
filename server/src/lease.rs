//! The lease store: who may talk to a lift now.
//!
//! Two stores behind one port, held to one contract by `tests/it/leases`: the kernel's table in this process, and
//! Redis, which several nodes share. Waiters are served in the order of their tickets and granted directly at
//! release; a grant that is not given back ends by itself. Beside the lease stands the record of the lift's last call, so
//! that nobody makes it twice. Knows nothing of what a lease is used for: the gateway's
//! fence makes it safe that a lease can end, be broken, or be granted twice by a store that forgot.

mod find;
mod in_process;
mod link;
mod redis_store;
mod url;
mod wakes;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    CallAnswer, CallRequest, FencingToken, HeldLease, LeaseAnswer, LeaseNonce, LeaseRefusal, LeaseRequest,
    LeaseTiming, SettledCall,
};
use kernel::time::Millis;
use tokio::time::Instant;

use crate::clock;

pub use self::in_process::InProcess;
pub use self::redis_store::Redis;
pub use self::url::RedisUrl;

/// A number that no other process has: the standard library keys its tables by chance.
fn by_chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// So long a store that is elsewhere has to answer; then it counts as away.
pub const ANSWER_MAX: Millis = Millis(250);

/// Where leases come from. Clones are the same store.
#[derive(Clone, Debug)]
pub enum LeaseStore {
    /// Of this process alone.
    InProcess(InProcess),
    /// Shared by the nodes of a site.
    Redis(Redis),
}

impl LeaseStore {
    /// A store of this process.
    pub fn in_process(timing: LeaseTiming) -> Self {
        Self::InProcess(InProcess::new(timing))
    }

    /// A store on Redis. It need not be there yet: until it is, every answer is [`LeaseRefusal::StoreDown`]. One that
    /// does not answer within `answer_max`, as a rule [`ANSWER_MAX`], is away. To be called within a Tokio runtime; its
    /// tasks end with its last clone.
    ///
    /// # Errors
    /// What is wrong with the address, which is not repeated: it may hold a password.
    pub fn redis(url: &RedisUrl, timing: LeaseTiming, answer_max: Millis) -> anyhow::Result<Self> {
        Ok(Self::Redis(Redis::new(url, timing, answer_max)?))
    }

    /// Asks for a lift and waits for the turn, at most [`LeaseTiming::wait`].
    ///
    /// The serial of the grant is above the request's floor, whatever the store has forgotten: the caller passes the
    /// highest that a gateway may have seen. A store that has forgotten, or fell back, has another life than the request
    /// names and grants nothing by it. The same holder and nonce get the same grant again; a node's nonces rise, and a higher one
    /// says that it holds nothing by the lower ones any more.
    ///
    /// # Errors
    /// Who holds it and the place in the line; the store is down, which is known within 600 ms; or it is not known
    /// whether it was granted; its life is another; or fewer replicas than are wanted have the grant, and it was given back.
    pub async fn acquire(&self, request: &LeaseRequest) -> Result<HeldLease, LeaseRefusal> {
        let LeaseRequest { lift, holder, nonce, .. } = request;
        let (timing, woken) = match self {
            Self::InProcess(store) => (store.timing(), store.listen(request)),
            Self::Redis(store) => (store.timing(), store.listen(request)),
        };
        let give_up = Instant::now() + Duration::from_millis(timing.wait.0);
        loop {
            let stays = Instant::now() < give_up;
            let asked_at = clock::mono();
            woken.forget();
            let left = match self.ask(request, stays).await? {
                LeaseAnswer::Granted { token, left } => {
                    return Ok(HeldLease::granted_for(lift.clone(), *nonce, token, asked_at, left));
                }
                LeaseAnswer::Changed { life } => return Err(LeaseRefusal::StoreChanged { life }),
                LeaseAnswer::Waits { left, .. } if stays => left,
                LeaseAnswer::Waits { holder, position, .. } | LeaseAnswer::Refused { holder, position } => {
                    return Err(LeaseRefusal::Held { holder, position });
                }
            };
            // When the present grant ends by itself, nobody tells; a millisecond later it has.
            let nap = Duration::from_millis(timing.poll.0.min(left.0 + 1));
            let granted = tokio::select! {
                granted = woken.heard() => granted,
                () = tokio::time::sleep_until(give_up.min(Instant::now() + nap)) => None,
            };
            // Who asked longer ago than a claim may take could have lost the grant by now, and asks.
            let is_fresh = clock::mono().since(asked_at) < timing.claim;
            if let Some(token) = granted.filter(|_| is_fresh && self.grants_by_wake_up()) {
                let lease = HeldLease::granted_for(lift.clone(), *nonce, token, asked_at, timing.ttl);
                self.claim(lease.clone(), holder.clone());
                return Ok(lease);
            }
        }
    }

    /// Lets a lease live on for another [`LeaseTiming::ttl`].
    ///
    /// # Errors
    /// It is lost, or held for longer than [`LeaseTiming::hold_max`]; the store is down or has not answered.
    pub async fn renew(&self, lease: &HeldLease, holder: &NodeId) -> Result<HeldLease, LeaseRefusal> {
        let asked_at = clock::mono();
        let (lift, nonce, token) = (lease.lift(), lease.nonce(), lease.token());
        let left = match self {
            Self::InProcess(store) => store.renew(lift, (holder, nonce), token)?,
            Self::Redis(store) => store.renew(lift, (holder, nonce), token).await?,
        };
        Ok(HeldLease::granted_for(lift.clone(), nonce, token, asked_at, left))
    }

    /// Opens the record of a call under a lease, or tells how the same call stands. The same command gets the same answer.
    ///
    /// # Errors
    /// The lease is not held any more; the store is down or has not answered: then there is no record to go by.
    pub async fn open_call(
        &self,
        holder: &NodeId,
        request: &CallRequest,
    ) -> Result<CallAnswer, LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.open_call(holder, request),
            Self::Redis(store) => store.open_call(holder, request).await,
        }
    }

    /// Notes in its record what became of a call, whosever it was; of one without a record, nothing.
    ///
    /// # Errors
    /// The store is down or has not answered: whoever wants the same finds out by itself.
    pub async fn settle_call(&self, lift: &LiftId, settled: &SettledCall) -> Result<(), LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.settle_call(lift, settled),
            Self::Redis(store) => store.settle_call(lift, settled).await,
        }
    }

    /// Gives a lease back, in one try: what fails is mended by the lease's own end, or by the next request of the node.
    /// What became of the call under it is noted in the same step, also when the lease is not held any more.
    ///
    /// # Errors
    /// It was not held any more, or is another's, and is left alone; the store is down or has not answered.
    pub async fn release(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        token: FencingToken,
        settled: Option<&SettledCall>,
    ) -> Result<(), LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.release(lift, (holder, nonce), token, settled),
            Self::Redis(store) => store.release(lift, (holder, nonce), token, settled).await,
        }
    }

    /// It did not answer when it was last asked, a second ago at most.
    pub fn is_away(&self) -> bool {
        match self {
            Self::InProcess(store) => store.is_away(),
            Self::Redis(store) => store.is_away(),
        }
    }

    /// Another way to the same store, which can be cut off alone. For drills, as [`Self::set_stopped`].
    #[must_use]
    pub fn way(&self) -> Self {
        match self {
            Self::InProcess(store) => Self::InProcess(store.way()),
            Self::Redis(_) => self.clone(),
        }
    }

    /// This way does not lead to the store from now on, or leads there again. For drills, as [`Self::set_stopped`].
    pub fn set_cut_off(&self, cut_off: bool) {
        match self {
            Self::InProcess(store) => store.set_cut_off(cut_off),
            Self::Redis(_) => {}
        }
    }

    /// Copies itself each ten seconds from now on. For drills, as [`Self::set_stopped`].
    pub fn keep_copies(&self) {
        match self {
            Self::InProcess(store) => store.keep_copies(),
            Self::Redis(_) => {}
        }
    }

    /// Goes on from the last copy, as when a replica takes over that was behind. For drills, as [`Self::set_stopped`].
    pub fn promote_old_copy(&self) {
        match self {
            Self::InProcess(store) => store.promote_old_copy(),
            Self::Redis(_) => {}
        }
    }

    /// Its clock is so much ahead of this machine's from now on, or behind it. For drills, as [`Self::set_stopped`].
    pub fn set_clock(&self, ahead_ms: i64) {
        match self {
            Self::InProcess(store) => store.set_clock(ahead_ms),
            Self::Redis(_) => {}
        }
    }

    /// Answers nobody from now on, or answers again with what it had. For drills; a store that is no part of this process
    /// is stopped where it runs.
    pub fn set_stopped(&self, stopped: bool) {
        match self {
            Self::InProcess(store) => store.set_stopped(stopped),
            Self::Redis(_) => {}
        }
    }

    /// Forgets holders, line, serials and call records, as a store does that comes back empty. For drills, as [`Self::set_stopped`].
    pub fn forget(&self) {
        match self {
            Self::InProcess(store) => store.forget(),
            Self::Redis(_) => {}
        }
    }

    /// Says that the grant has arrived. If that is lost, the next in line gets the lift, and a higher token with it.
    /// What comes after the release changes nothing.
    fn claim(&self, lease: HeldLease, holder: NodeId) {
        let store = self.clone();
        tokio::spawn(async move { store.renew(&lease, &holder).await.map(drop) });
    }

    /// A grant counts as it comes with the wake-up. Else whoever was woken asks, and hears whether it is confirmed.
    fn grants_by_wake_up(&self) -> bool {
        match self {
            Self::InProcess(_) => true,
            Self::Redis(store) => store.grants_by_wake_up(),
        }
    }

    async fn ask(&self, request: &LeaseRequest, stays: bool) -> Result<LeaseAnswer, LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.ask(request, stays),
            Self::Redis(store) => store.ask(request, stays).await,
        }
    }
}
