//! The control lease: who may talk to a lift now. It spans read, decide, send and acknowledgement, never the ride.
//!
//! A send takes a [`SendPermit`], and only a live [`HeldLease`] makes one. Belief at the sender is not enough even
//! so: the gateway checks the token again.

mod calls;
mod line;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::{LiftId, NodeId};
use crate::time::{Millis, Mono, Now};
use crate::timing::{LEASE_HOLD_MAX, LEASE_RENEWAL, LEASE_TTL, LIFT_ACK_DEADLINE};
use crate::wire::gateway::Authority;

pub use self::calls::{Call, CallAnswer, CallOutcome, CallRequest, CallTable, SettledCall};
pub use self::table::{LeaseAnswer, LeaseRequest, LeaseTable, LeaseTiming, WAITERS_MAX, Woken};

/// Rank of a grant. Only rises, whatever happens to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FencingToken {
    /// Owned and persisted by the gateway of the lift; outranks the serial.
    pub epoch: u32,
    /// Rises by each grant.
    pub serial: u64,
}

/// Marks one request of one holder, so that a lost reply can be asked again and brings the same grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseNonce(pub u64);

/// How much hangs on a request for the lease. The higher is served first, and nobody is overtaken more than three times
/// (A8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeasePriority {
    /// The lift is called for a vehicle that is still on its way.
    #[default]
    Ahead,
    /// A vehicle stands before the door.
    Landing,
    /// The door stands open for a vehicle.
    OpenDoor,
    /// A vehicle stands in the car, or leaves it.
    Aboard,
}

/// Longest name of a store's life, in bytes.
pub const STORE_LIFE_MAX: usize = 128;

/// Names what a store remembers since it last began: one that comes back empty, or with what a replica had, or a start of
/// it with what was on its disk, has another. It grants only to who names its life, so nothing is granted before the
/// ledger has the change, and with it a higher floor. A store whose life nobody has recorded yet is the one without a
/// name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 128))]
pub struct StoreLife(Arc<str>);

/// A text that names no life of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a store's life is named by at most {STORE_LIFE_MAX} letters, digits, dots and hyphens")]
pub struct InvalidStoreLife;

/// A holder's lease ends so much before the store's does: clocks run 1 % apart, and a store counts whole milliseconds.
const LEASE_MARGIN: Millis = Millis(LEASE_TTL.0 / 100 + 2);

/// A grant as its holder keeps it. Made by [`HeldLease::granted`] and [`HeldLease::granted_for`] alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldLease {
    lift: LiftId,
    nonce: LeaseNonce,
    token: FencingToken,
    deadline: Mono,
}

/// Leave to send one command now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendPermit {
    lift: LiftId,
    nonce: LeaseNonce,
    token: FencingToken,
}

/// Why a lease gives no leave to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LeaseLost {
    /// The command could still run when the lease has ended.
    #[error("the lease ends in {left}, a command may take {LIFT_ACK_DEADLINE}")]
    TooLittleLeft {
        /// What is left of it.
        left: Millis,
    },
}

/// Why the store granted nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LeaseRefusal {
    /// Somebody else talks to the lift.
    #[error("held by {holder}, place {position} in the line")]
    Held {
        /// Who.
        holder: NodeId,
        /// Place of this request, from 1.
        position: u32,
    },
    /// The store cannot be reached, or does not do its work: nothing was asked of it, or whatever it was asked died
    /// with it.
    #[error("the lease store is down")]
    StoreDown,
    /// The store was asked and did not answer: it may have done it. Ask again by the same nonce before anything else.
    #[error("the lease store did not answer, so it may have granted")]
    Unknown,
    /// Too few replicas of the store have it, so a change of masters could forget it: a grant was given back, a renewal
    /// does not count.
    #[error("too few replicas of the lease store confirm")]
    NotReplicated,
    /// The store is not the one that the ledger knows: it has forgotten, or fell back. Nothing is granted before the
    /// ledger has its new life.
    #[error("the lease store has another life by now, which the ledger does not know yet")]
    StoreChanged {
        /// By which name it goes now.
        life: StoreLife,
    },
    /// The lease had ended, is another's, or was taken over by a later request of the same node.
    #[error("the lease is not held any more")]
    Lost,
    /// It is held for longer than any command takes, so it is not renewed and a successor may break it.
    #[error("held for longer than the store lets anybody")]
    HeldTooLong,
}

impl LeasePriority {
    /// All of them, the lowest first.
    pub const ALL: [Self; 4] = [Self::Ahead, Self::Landing, Self::OpenDoor, Self::Aboard];

    /// As a number, from 0 to 3.
    pub fn level(self) -> u8 {
        self as u8
    }
}

impl StoreLife {
    /// Validates a name.
    ///
    /// # Errors
    /// It is too long, or a character could trip over something.
    pub fn try_new(text: &str) -> Result<Self, InvalidStoreLife> {
        let sound = text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-'));
        if sound && text.len() <= STORE_LIFE_MAX { Ok(Self(Arc::from(text))) } else { Err(InvalidStoreLife) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for StoreLife {
    type Error = InvalidStoreLife;

    fn try_from(text: String) -> Result<Self, InvalidStoreLife> {
        Self::try_new(&text)
    }
}

impl From<StoreLife> for String {
    fn from(life: StoreLife) -> Self {
        life.as_str().to_owned()
    }
}

impl HeldLease {
    /// Keeps a grant that was asked for at `asked_at`: the deadline counts from before the request left.
    pub fn granted(lift: LiftId, nonce: LeaseNonce, token: FencingToken, asked_at: Mono) -> Self {
        Self::granted_for(lift, nonce, token, asked_at, LEASE_TTL)
    }

    /// Keeps a grant that has `left` to live by the word of the store, which was asked at `asked_at`. A grant that is
    /// asked for again has less left than a new one.
    pub fn granted_for(
        lift: LiftId,
        nonce: LeaseNonce,
        token: FencingToken,
        asked_at: Mono,
        left: Millis,
    ) -> Self {
        let deadline = asked_at + Millis(left.min(LEASE_TTL).0.saturating_sub(LEASE_MARGIN.0));
        Self { lift, nonce, token, deadline }
    }

    /// Leave to send one command, if the worst command still ends before the lease does.
    ///
    /// # Errors
    /// What is left of the lease when it is too little.
    pub fn permit(&self, now: Now) -> Result<SendPermit, LeaseLost> {
        if now.mono + LIFT_ACK_DEADLINE > self.deadline {
            return Err(LeaseLost::TooLittleLeft { left: self.deadline.since(now.mono) });
        }
        Ok(SendPermit { lift: self.lift.clone(), nonce: self.nonce, token: self.token })
    }

    /// Which lift it is for.
    pub fn lift(&self) -> &LiftId {
        &self.lift
    }

    /// Its request.
    pub fn nonce(&self) -> LeaseNonce {
        self.nonce
    }

    /// Its rank, for release and for the screen. A command takes it from a [`SendPermit`].
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// When it ends, by the holder's reckoning: a little before the store lets it end.
    pub fn ends_at(&self) -> Mono {
        self.deadline
    }

    /// When it is to be renewed: [`LEASE_RENEWAL`] after the store was asked for it, and at once where a grant that is told
    /// again has less left than that.
    pub fn renew_at(&self) -> Mono {
        let lasts = LEASE_TTL.0 - LEASE_MARGIN.0 - LEASE_RENEWAL.0;
        Mono(self.deadline.0.saturating_sub(lasts))
    }

    /// The same lease as a renewal left it, whose answer may be late: what another one gained since stays.
    #[must_use]
    pub fn renewed(&self, renewed: &Self) -> Self {
        Self { deadline: self.deadline.max(renewed.deadline), ..self.clone() }
    }

    /// When the holder must have given it back.
    pub fn hold_until(&self, granted_at: Mono) -> Mono {
        granted_at + LEASE_HOLD_MAX
    }
}

impl SendPermit {
    /// The lift that may be commanded.
    pub fn lift(&self) -> &LiftId {
        &self.lift
    }

    /// What the command carries: its rank, and whose request it was.
    pub fn authority(&self) -> Authority {
        Authority::Lease { token: self.token, nonce: self.nonce }
    }
}
