//! The lease store's rules as a table: who holds each lift, who waits behind, and who is woken.
//!
//! One process keeps its leases in it, the lab runs whole sites on it, and the model checker explores it; the scripts
//! on Redis do the same, and one suite of tests holds both to it. The clock is the store's own and may step; a lease
//! that ends too early or too late costs progress, never safety, which is the gateway's fence.

use std::collections::{BTreeMap, VecDeque};

use super::calls::{CallAnswer, CallRequest, CallTable, SettledCall};
use super::line::Line;
use super::{FencingToken, LeaseNonce, LeasePriority, LeaseRefusal, StoreLife};
use crate::ids::{LiftId, NodeId};
use crate::safeguard::{Safeguard, Safeguards};
use crate::time::{Millis, Mono};
use crate::timing::{CALL_RECORD_LIFE, LEASE_HOLD_MAX, LEASE_TTL, LEASE_WAIT, LIFT_ACK_DEADLINE};

/// Nodes that wait for one lift. A site has a handful; more would only hide that something asks without end.
pub const WAITERS_MAX: usize = 64;

/// What a store takes how long. [`LeaseTiming::default`] is what ships; tests shorten it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseTiming {
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
    /// A call whose outcome did not come within this time is unknown.
    pub outcome: Millis,
    /// The record of a call outlives its acknowledgement by so much.
    pub record: Millis,
}

/// One request, as it is asked again and again until it is granted or given up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseRequest {
    /// For which lift.
    pub lift: LiftId,
    /// Who asks.
    pub holder: NodeId,
    /// Rises by each request of the holder.
    pub nonce: LeaseNonce,
    /// The gateway's, as the holder last heard it.
    pub epoch: u32,
    /// The serial of the grant lies above it.
    pub floor: u64,
    /// The store's, as the ledger has it. The floor is above all that any earlier life of it may have granted.
    pub life: StoreLife,
    /// How much hangs on it.
    pub priority: LeasePriority,
}

/// How a request stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LeaseAnswer {
    /// It holds the lift.
    Granted {
        /// Rank of the grant.
        token: FencingToken,
        /// Life that is left of it.
        left: Millis,
    },
    /// It is in the line.
    Waits {
        /// Who holds the lift.
        holder: NodeId,
        /// Place in the line, from 1.
        position: u32,
        /// Life that is left of the grant that stands in the way.
        left: Millis,
    },
    /// It is not even let into the line: that is full, or a later request of the node took its place.
    Refused {
        /// Who holds the lift.
        holder: NodeId,
        /// The place that it would have.
        position: u32,
    },
    /// The store has another life than the request names: it grants nothing by it.
    Changed {
        /// Which.
        life: StoreLife,
    },
}

/// Whose turn has come. It holds the lift from now on, and loses it to the next if it does not say so within
/// [`LeaseTiming::claim`], by asking once more or by renewing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Woken {
    /// Of which lift.
    pub lift: LiftId,
    /// Whom.
    pub holder: NodeId,
    /// By which request.
    pub nonce: LeaseNonce,
    /// Rank of the grant.
    pub token: FencingToken,
}

/// All leases of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseTable {
    timing: LeaseTiming,
    life: StoreLife,
    /// Which rules hold; all of them, outside the lab.
    safeguards: Safeguards,
    slots: BTreeMap<LiftId, Slot>,
    woken: VecDeque<Woken>,
    calls: CallTable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Slot {
    serial: u64,
    lease: Option<Lease>,
    line: Line,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lease {
    holder: NodeId,
    nonce: LeaseNonce,
    token: FencingToken,
    given: Mono,
    /// Since when; none until the holder has claimed what was handed over to it.
    since: Option<Mono>,
    ends_at: Mono,
}

impl Default for LeaseTiming {
    fn default() -> Self {
        Self {
            ttl: LEASE_TTL,
            hold_max: LEASE_HOLD_MAX,
            wait: LEASE_WAIT,
            poll: Millis(250),
            claim: Millis(400),
            ticket: Millis::seconds(30),
            outcome: LIFT_ACK_DEADLINE,
            record: CALL_RECORD_LIFE,
        }
    }
}

impl LeaseTiming {
    /// A waiter that was not heard for two polls and a little is passed over.
    #[must_use]
    pub fn alive(&self) -> Millis {
        self.poll.times(2) + Millis(100)
    }
}

impl LeaseTable {
    /// A store that has granted nothing.
    pub fn new(timing: LeaseTiming) -> Self {
        Self { timing, ..Self::default() }
    }

    /// The same under these safeguards.
    #[must_use]
    pub fn under(self, safeguards: Safeguards) -> Self {
        Self { safeguards, ..self }
    }

    /// What it takes how long.
    pub fn timing(&self) -> LeaseTiming {
        self.timing
    }

    /// Forgets holders, lines, serials and call records, as a store does that comes back empty, and begins another life.
    pub fn forget(&mut self, life: StoreLife) {
        self.slots.clear();
        self.woken.clear();
        self.calls.forget();
        self.life = life;
    }

    /// Begins another life with what there is, as a replica does that takes over: who held a lift holds nothing, who
    /// waited asks again.
    pub fn take_over(&mut self, life: StoreLife) {
        if self.safeguards.holds(Safeguard::StoreLife) {
            self.slots.values_mut().for_each(|it| (it.lease, it.line) = (None, Line::default()));
            self.woken.clear();
        }
        self.life = life;
    }

    /// Asks for a lift; asked again, tells how it stands, and claims what was handed over. `stays` is false of a
    /// request that gives up when it is not granted now: its ticket lives on, its wait does not.
    ///
    /// The same holder and nonce get the same grant. A node asks once at a time, by rising nonces: a higher one says
    /// that it holds nothing by the lower ones any more.
    pub fn ask(&mut self, request: &LeaseRequest, stays: bool, now: Mono) -> LeaseAnswer {
        if request.life != self.life && self.safeguards.holds(Safeguard::StoreLife) {
            return LeaseAnswer::Changed { life: self.life.clone() };
        }
        let (timing, safeguards) = (self.timing, self.safeguards);
        let (slot, woken) = self.slot(&request.lift, now);
        slot.ask(request, stays, (&timing, safeguards), woken, now)
    }

    /// Lets a lease live on for another [`LeaseTiming::ttl`], and claims it; gives what is left of it.
    ///
    /// # Errors
    /// [`LeaseRefusal::Lost`] or [`LeaseRefusal::HeldTooLong`].
    pub fn renew(
        &mut self,
        lift: &LiftId,
        (holder, nonce): (&NodeId, LeaseNonce),
        token: FencingToken,
        now: Mono,
    ) -> Result<Millis, LeaseRefusal> {
        let timing = self.timing;
        let (slot, _) = self.slot(lift, now);
        let lease = slot.ours(holder, nonce).filter(|it| it.token == token).ok_or(LeaseRefusal::Lost)?;
        if lease.is_held_too_long(&timing, now) {
            return Err(LeaseRefusal::HeldTooLong);
        }
        lease.claim(&timing, now);
        slot.line.leave(holder);
        Ok(timing.ttl)
    }

    /// Opens the record of a call under a lease, or tells how the same call stands.
    ///
    /// # Errors
    /// [`LeaseRefusal::Lost`]: whoever does not hold the lift makes no calls.
    pub fn open_call(
        &mut self,
        holder: &NodeId,
        request: &CallRequest,
        now: Mono,
    ) -> Result<CallAnswer, LeaseRefusal> {
        let one_holder = self.safeguards.holds(Safeguard::OneHolder);
        let (slot, _) = self.slot(&request.lift, now);
        let lease = slot.ours(holder, request.nonce).filter(|it| it.token == request.token);
        if lease.is_none() && one_holder {
            return Err(LeaseRefusal::Lost);
        }
        Ok(self.calls.open(request, &self.timing, now))
    }

    /// Notes what became of a call, whosever it was.
    pub fn settle_call(&mut self, lift: &LiftId, settled: &SettledCall, now: Mono) {
        self.calls.settle(lift, settled, &self.timing, now);
    }

    /// Gives a lease back and hands the lift over to the next.
    ///
    /// # Errors
    /// [`LeaseRefusal::Lost`]: it had ended, or is another's, and is left alone.
    pub fn release(
        &mut self,
        lift: &LiftId,
        (holder, nonce): (&NodeId, LeaseNonce),
        token: FencingToken,
        now: Mono,
    ) -> Result<(), LeaseRefusal> {
        let (timing, anybody) = (self.timing, !self.safeguards.holds(Safeguard::OwnRelease));
        let (slot, woken) = self.slot(lift, now);
        let is_its_own = |it: &Lease| it.holder == *holder && it.nonce == nonce && it.token == token;
        slot.lease.take_if(|it| anybody || is_its_own(it)).ok_or(LeaseRefusal::Lost)?;
        // Who gives back what it never claimed has had its turn.
        slot.line.leave(holder);
        slot.hand_over(&timing, woken, now);
        Ok(())
    }

    /// Who holds a lift, by which request and under which token, whether or not that has ended: for whoever watches.
    pub fn holder(&self, lift: &LiftId) -> Option<(&NodeId, LeaseNonce, FencingToken)> {
        let lease = self.slots.get(lift)?.lease.as_ref()?;
        Some((&lease.holder, lease.nonce, lease.token))
    }

    /// Whom to wake next.
    pub fn poll_woken(&mut self) -> Option<Woken> {
        self.woken.pop_front()
    }

    fn slot(&mut self, lift: &LiftId, now: Mono) -> (&mut Slot, &mut VecDeque<Woken>) {
        let slot = self.slots.entry(lift.clone()).or_default();
        slot.forget_what_ended(&self.timing, now);
        (slot, &mut self.woken)
    }
}

impl Slot {
    fn ask(
        &mut self,
        request: &LeaseRequest,
        stays: bool,
        (timing, safeguards): (&LeaseTiming, Safeguards),
        woken: &mut VecDeque<Woken>,
        now: Mono,
    ) -> LeaseAnswer {
        let (holder, nonce) = (&request.holder, request.nonce);
        let again = safeguards.holds(Safeguard::SameGrant);
        if let Some(lease) = self.ours(holder, nonce).filter(|it| again || it.since.is_none()) {
            if lease.since.is_none() {
                lease.claim(timing, now);
            }
            let granted = LeaseAnswer::Granted { token: lease.token, left: lease.left(timing, now) };
            self.line.leave(holder);
            return granted;
        }
        let anew = |it: &Lease| it.holder == *holder && it.nonce < nonce;
        // Nobody needs a lift for longer than the longest hold.
        let over = |it: &Lease| {
            (anew(it) && safeguards.holds(Safeguard::NewerRequest))
                || (it.is_held_too_long(timing, now) && safeguards.holds(Safeguard::HoldLimit))
                || !safeguards.holds(Safeguard::OneHolder)
        };
        if self.lease.as_ref().is_some_and(over) {
            self.lease = None;
        }
        let is_late = self.is_late(holder, nonce);
        if !is_late && !self.line.enter(request, now) {
            self.hand_over(timing, woken, now);
            return LeaseAnswer::Refused { holder: self.holder(holder), position: place(self.line.len()) };
        }
        if self.lease.is_none() && !is_late && self.line.is_first(holder, timing, now) {
            self.line.serve(timing, now);
            self.line.leave(holder);
            let token = self.grant(request, Some(now), timing, now);
            return LeaseAnswer::Granted { token, left: timing.ttl };
        }
        self.hand_over(timing, woken, now);
        self.standing(holder, is_late, stays, timing, now)
    }

    /// A later request of the same node holds the lift, or waits.
    fn is_late(&self, holder: &NodeId, nonce: LeaseNonce) -> bool {
        let holds = self.lease.as_ref().is_some_and(|it| it.holder == *holder && it.nonce > nonce);
        holds || self.line.waits_later(holder, nonce)
    }

    /// Who it waits for, and where in the line.
    fn standing(
        &mut self,
        holder: &NodeId,
        is_late: bool,
        stays: bool,
        timing: &LeaseTiming,
        now: Mono,
    ) -> LeaseAnswer {
        let position = place(self.line.n_before(holder, timing, now));
        let (keeper, left) = (self.holder(holder), self.lease.as_ref().map(|it| it.left(timing, now)));
        if is_late {
            return LeaseAnswer::Refused { holder: keeper, position };
        }
        if !stays {
            self.line.give_up(holder);
        }
        LeaseAnswer::Waits { holder: keeper, position, left: left.unwrap_or_default() }
    }

    fn ours(&mut self, holder: &NodeId, nonce: LeaseNonce) -> Option<&mut Lease> {
        self.lease.as_mut().filter(|it| it.holder == *holder && it.nonce == nonce)
    }

    fn holder(&self, otherwise: &NodeId) -> NodeId {
        self.lease.as_ref().map_or_else(|| otherwise.clone(), |it| it.holder.clone())
    }

    fn forget_what_ended(&mut self, timing: &LeaseTiming, now: Mono) {
        if let Some(lease) = &mut self.lease {
            // The store's clock was set back: the longest hold counts anew, or a dead holder would keep the lift.
            lease.given = lease.given.min(now);
            lease.since = lease.since.map(|it| it.min(now));
        }
        self.lease.take_if(|it| it.left(timing, now) == Millis(0));
        self.line.forget_what_ended(timing, now);
    }

    /// Grants a free lift to the next who still waits, and wakes it. It keeps its ticket until it has claimed the
    /// grant, and waits again if it does so too late.
    fn hand_over(&mut self, timing: &LeaseTiming, woken: &mut VecDeque<Woken>, now: Mono) {
        if self.lease.is_some() {
            return;
        }
        let Some(request) = self.line.serve(timing, now) else { return };
        let token = self.grant(&request, None, timing, now);
        let LeaseRequest { lift, holder, nonce, .. } = request;
        woken.push_back(Woken { lift, holder, nonce, token });
    }

    fn grant(
        &mut self,
        request: &LeaseRequest,
        since: Option<Mono>,
        timing: &LeaseTiming,
        now: Mono,
    ) -> FencingToken {
        self.serial = self.serial.max(request.floor) + 1;
        let token = FencingToken { epoch: request.epoch, serial: self.serial };
        let (holder, nonce) = (request.holder.clone(), request.nonce);
        self.lease = Some(Lease { holder, nonce, token, given: now, since, ends_at: now + timing.ttl });
        token
    }
}

impl Lease {
    fn is_held_too_long(&self, timing: &LeaseTiming, now: Mono) -> bool {
        self.since.is_some_and(|since| now.since(since) >= timing.hold_max)
    }

    fn claim(&mut self, timing: &LeaseTiming, now: Mono) {
        self.since.get_or_insert(now);
        self.ends_at = now + timing.ttl;
    }

    /// Until it ends, or is passed on because nobody has claimed it.
    fn left(&self, timing: &LeaseTiming, now: Mono) -> Millis {
        let ends_at = if self.since.is_some() { self.ends_at } else { self.given + timing.claim };
        ends_at.since(now)
    }
}

/// A place in the line, from 1, behind so many.
fn place(n_before: usize) -> u32 {
    u32::try_from(n_before).unwrap_or(u32::MAX).saturating_add(1)
}
