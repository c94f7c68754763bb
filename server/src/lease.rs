//! The lease store: who may talk to a lift now.
//!
//! Two stores behind one port, held to one contract by `tests/it/leases`: a table of this process, and Redis, which
//! several nodes share. Waiters are served in the order of their tickets and granted directly at release; a grant
//! that is not given back ends by itself. Knows nothing of what a lease is used for: the gateway's fence makes it
//! safe that a lease can end, be broken, or be granted twice by a store that forgot.

mod in_process;
mod link;
mod redis_store;
mod url;
mod wakes;

use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{FencingToken, HeldLease, LeaseNonce, LeaseRefusal};
use kernel::time::Millis;
use kernel::timing::{LEASE_HOLD_MAX, LEASE_TTL, LEASE_WAIT};
use tokio::time::Instant;

use crate::clock;

pub use self::in_process::InProcess;
pub use self::redis_store::Redis;
pub use self::url::RedisUrl;

/// Nodes that wait for one lift. A site has a handful; more would only hide that something asks without end.
const WAITERS_MAX: usize = 64;

/// Where leases come from. Clones are the same store.
#[derive(Clone, Debug)]
pub enum LeaseStore {
    /// Of this process alone.
    InProcess(InProcess),
    /// Shared by the nodes of a site.
    Redis(Redis),
}

/// What a store takes how long. [`Timing::default`] is what ships; tests shorten it.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Life of a grant without renewal.
    pub ttl: Millis,
    /// After so long no lease is renewed, and whoever asks breaks it.
    pub hold_max: Millis,
    /// So long a request waits before it is refused.
    pub wait: Millis,
    /// A waiter looks so often whether its turn has come, in case a wake-up was lost; the store hears by it that the
    /// waiter lives.
    pub poll: Millis,
    /// Who was woken claims its grant within this time, or the next is served: with the poll of the next, what a dead
    /// waiter costs stays below 600 ms.
    pub claim: Millis,
    /// The place in the line outlives the last time that a waiter was heard by so much.
    pub ticket: Millis,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ttl: LEASE_TTL,
            hold_max: LEASE_HOLD_MAX,
            wait: LEASE_WAIT,
            poll: Millis(250),
            claim: Millis(400),
            ticket: Millis::seconds(30),
        }
    }
}

impl Timing {
    /// A waiter that was not heard for two polls and a little is passed over.
    fn alive(&self) -> Millis {
        self.poll.times(2) + Millis(100)
    }
}

/// One request, as it is asked again and again until it is granted or given up.
struct Request<'a> {
    lift: &'a LiftId,
    holder: &'a NodeId,
    nonce: LeaseNonce,
    epoch: u32,
    floor: u64,
}

/// How a request stands.
enum Answer {
    /// It holds the lift.
    Granted { token: FencingToken, left: Millis },
    /// It is in the line.
    Waits { holder: NodeId, position: u32, left: Millis },
    /// It is not even let into the line: that is full, or a later request of the node took its place.
    Refused { holder: NodeId, position: u32 },
}

impl LeaseStore {
    /// A store of this process.
    pub fn in_process(timing: Timing) -> Self {
        Self::InProcess(InProcess::new(timing))
    }

    /// A store on Redis. It need not be there yet: until it is, every answer is [`LeaseRefusal::StoreDown`]. To be called
    /// within a Tokio runtime; its tasks end with its last clone.
    ///
    /// # Errors
    /// What is wrong with the address, which is not repeated: it may hold a password.
    pub fn redis(url: &RedisUrl, timing: Timing) -> anyhow::Result<Self> {
        Ok(Self::Redis(Redis::new(url, timing)?))
    }

    /// Asks for a lift and waits for the turn, at most [`LEASE_WAIT`].
    ///
    /// The serial of the grant is above `floor`, whatever the store has forgotten: the caller passes the highest that a
    /// gateway may have seen. The same holder and nonce get the same grant again; a node's nonces rise, and a higher one
    /// says that it holds nothing by the lower ones any more.
    ///
    /// # Errors
    /// Who holds it and the place in the line; the store is down, which is known within 600 ms; or it is not known
    /// whether it was granted.
    pub async fn acquire(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        epoch: u32,
        floor: u64,
    ) -> Result<HeldLease, LeaseRefusal> {
        let request = Request { lift, holder, nonce, epoch, floor };
        let (timing, woken) = match self {
            Self::InProcess(store) => (store.timing(), store.listen(&request)),
            Self::Redis(store) => (store.timing(), store.listen(&request)),
        };
        let give_up = Instant::now() + Duration::from_millis(timing.wait.0);
        loop {
            let stays = Instant::now() < give_up;
            let asked_at = clock::mono();
            let left = match self.ask(&request, stays).await? {
                Answer::Granted { token, left } => {
                    return Ok(HeldLease::granted_for(lift.clone(), nonce, token, asked_at, left));
                }
                Answer::Waits { left, .. } if stays => left,
                Answer::Waits { holder, position, .. } | Answer::Refused { holder, position } => {
                    return Err(LeaseRefusal::Held { holder, position });
                }
            };
            // When the present grant ends by itself, nobody tells; a millisecond later it has.
            let nap = Duration::from_millis(timing.poll.0.min(left.0 + 1));
            tokio::select! {
                () = woken.heard() => {}
                () = tokio::time::sleep_until(give_up.min(Instant::now() + nap)) => {}
            }
        }
    }

    /// Lets a lease live on for another [`LEASE_TTL`].
    ///
    /// # Errors
    /// It is lost, or held for longer than [`LEASE_HOLD_MAX`]; the store is down or has not answered.
    pub async fn renew(&self, lease: &HeldLease, holder: &NodeId) -> Result<HeldLease, LeaseRefusal> {
        let asked_at = clock::mono();
        let (lift, nonce, token) = (lease.lift(), lease.nonce(), lease.token());
        let left = match self {
            Self::InProcess(store) => store.renew(lift, holder, nonce, token)?,
            Self::Redis(store) => store.renew(lift, holder, nonce, token).await?,
        };
        Ok(HeldLease::granted_for(lift.clone(), nonce, token, asked_at, left))
    }

    /// Gives a lease back, in one try: what fails is mended by the lease's own end, or by the next request of the node.
    ///
    /// # Errors
    /// It was not held any more, or is another's, and is left alone; the store is down or has not answered.
    pub async fn release(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        token: FencingToken,
    ) -> Result<(), LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.release(lift, holder, nonce, token),
            Self::Redis(store) => store.release(lift, holder, nonce, token).await,
        }
    }

    /// It did not answer when it was last asked, a second ago at most.
    pub fn is_away(&self) -> bool {
        match self {
            Self::InProcess(store) => store.is_stopped(),
            Self::Redis(store) => store.is_away(),
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

    /// Forgets holders, line and serials, as a store does that comes back empty. For drills, as [`Self::set_stopped`].
    pub fn forget(&self) {
        match self {
            Self::InProcess(store) => store.forget(),
            Self::Redis(_) => {}
        }
    }

    async fn ask(&self, request: &Request<'_>, stays: bool) -> Result<Answer, LeaseRefusal> {
        match self {
            Self::InProcess(store) => store.ask(request, stays),
            Self::Redis(store) => store.ask(request, stays).await,
        }
    }
}
