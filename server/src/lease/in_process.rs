//! The lease store of one process: a table, with the rules of the scripts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{FencingToken, LeaseNonce, LeaseRefusal};
use kernel::time::Millis;
use tokio::time::Instant;

use super::wakes::{Ear, Wakes, name_of};
use super::{Answer, Request, Timing, WAITERS_MAX};

/// A lease store of one process. Clones are the same store.
#[derive(Clone, Debug)]
pub struct InProcess {
    slots: Arc<Mutex<BTreeMap<LiftId, Slot>>>,
    wakes: Wakes,
    timing: Timing,
    /// It answers nobody: in drills alone.
    stopped: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Slot {
    serial: u64,
    lease: Option<Lease>,
    /// In the order of their tickets.
    line: Vec<Want>,
}

#[derive(Clone, Debug)]
struct Lease {
    holder: NodeId,
    nonce: LeaseNonce,
    token: FencingToken,
    /// Since when; none until the holder has claimed what was handed over to it.
    since: Option<Instant>,
    ends_at: Instant,
}

#[derive(Clone, Debug)]
struct Want {
    holder: NodeId,
    nonce: LeaseNonce,
    epoch: u32,
    floor: u64,
    heard: Instant,
    waits: bool,
}

/// The rules, and when they are applied.
#[derive(Clone, Copy)]
struct Rules<'a> {
    now: Instant,
    timing: &'a Timing,
    wakes: &'a Wakes,
    lift: &'a LiftId,
}

impl InProcess {
    pub(super) fn new(timing: Timing) -> Self {
        Self { slots: Arc::default(), wakes: Wakes::default(), timing, stopped: Arc::default() }
    }

    pub(super) fn timing(&self) -> Timing {
        self.timing
    }

    pub(super) fn listen(&self, request: &Request<'_>) -> Ear {
        self.wakes.listen(name_of(request))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::Relaxed);
    }

    pub(super) fn forget(&self) {
        self.slots().clear();
    }

    pub(super) fn ask(&self, request: &Request<'_>, stays: bool) -> Result<Answer, LeaseRefusal> {
        self.with(request.lift, |slot, rules| slot.ask(request, stays, rules))
    }

    pub(super) fn renew(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        token: FencingToken,
    ) -> Result<Millis, LeaseRefusal> {
        self.with(lift, |slot, rules| {
            let lease = slot.ours(holder, nonce).filter(|it| it.token == token).ok_or(LeaseRefusal::Lost)?;
            if lease.is_held_too_long(rules) {
                return Err(LeaseRefusal::HeldTooLong);
            }
            lease.ends_at = rules.now + span(rules.timing.ttl);
            Ok(rules.timing.ttl)
        })?
    }

    pub(super) fn release(
        &self,
        lift: &LiftId,
        holder: &NodeId,
        nonce: LeaseNonce,
        token: FencingToken,
    ) -> Result<(), LeaseRefusal> {
        self.with(lift, |slot, rules| {
            slot.ours(holder, nonce).filter(|it| it.token == token).ok_or(LeaseRefusal::Lost)?;
            slot.lease = None;
            slot.hand_over(rules);
            Ok(())
        })?
    }

    fn with<T>(
        &self,
        lift: &LiftId,
        change: impl FnOnce(&mut Slot, Rules<'_>) -> T,
    ) -> Result<T, LeaseRefusal> {
        if self.is_stopped() {
            return Err(LeaseRefusal::StoreDown);
        }
        let rules = Rules { now: Instant::now(), timing: &self.timing, wakes: &self.wakes, lift };
        let mut slots = self.slots();
        let slot = slots.entry(lift.clone()).or_default();
        slot.forget_what_ended(rules);
        Ok(change(slot, rules))
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<LiftId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn ask(&mut self, request: &Request<'_>, stays: bool, rules: Rules<'_>) -> Answer {
        let Request { holder, nonce, .. } = *request;
        if let Some(lease) = self.ours(holder, nonce) {
            if lease.since.is_none() {
                lease.since = Some(rules.now);
                lease.ends_at = rules.now + span(rules.timing.ttl);
            }
            let granted = lease.as_answer(rules);
            self.line.retain(|it| it.holder != *holder);
            return granted;
        }
        // A node asks once at a time, by rising nonces: one that asks anew has given up what it held. And nobody needs
        // a lift for longer than the longest hold.
        let over = |it: &Lease| (it.holder == *holder && it.nonce < nonce) || it.is_held_too_long(rules);
        if self.lease.as_ref().is_some_and(over) {
            self.lease = None;
        }
        let is_late = self.is_late(holder, nonce);
        if !is_late && !self.enter_line(request, rules) {
            self.hand_over(rules);
            return Answer::Refused { holder: self.holder(holder), position: place(self.line.len()) };
        }
        if self.lease.is_none() && !is_late && self.first(rules) == self.place_of(holder) {
            self.line.retain(|it| it.holder != *holder);
            let want = Want::of(request, rules);
            return self.grant(&want, Some(rules.now), rules.timing.ttl, rules).as_answer(rules);
        }
        self.hand_over(rules);
        self.standing(holder, is_late, stays, rules)
    }

    /// A later request of the same node holds the lift, or waits.
    fn is_late(&self, holder: &NodeId, nonce: LeaseNonce) -> bool {
        let holds = self.lease.as_ref().is_some_and(|it| it.holder == *holder && it.nonce > nonce);
        holds || self.line.iter().any(|it| it.holder == *holder && it.nonce > nonce)
    }

    /// Takes a ticket, or shows the one that it has. False when the line is full.
    fn enter_line(&mut self, request: &Request<'_>, rules: Rules<'_>) -> bool {
        let want = Want::of(request, rules);
        if let Some(before) = self.line.iter_mut().find(|it| it.holder == want.holder) {
            *before = want;
        } else if self.line.len() < WAITERS_MAX {
            self.line.push(want);
        } else {
            return false;
        }
        true
    }

    /// Who it waits for, and where in the line.
    fn standing(&mut self, holder: &NodeId, is_late: bool, stays: bool, rules: Rules<'_>) -> Answer {
        let before = self.line.iter().take_while(|it| it.holder != *holder);
        let position = place(before.filter(|it| it.still_waits(rules)).count());
        let (keeper, left) = (self.holder(holder), self.lease.as_ref().map(|it| it.left(rules)));
        if is_late {
            return Answer::Refused { holder: keeper, position };
        }
        if let Some(want) = self.line.iter_mut().find(|it| it.holder == *holder) {
            want.waits &= stays;
        }
        Answer::Waits { holder: keeper, position, left: left.unwrap_or_default() }
    }

    fn ours(&mut self, holder: &NodeId, nonce: LeaseNonce) -> Option<&mut Lease> {
        self.lease.as_mut().filter(|it| it.holder == *holder && it.nonce == nonce)
    }

    fn holder(&self, otherwise: &NodeId) -> NodeId {
        self.lease.as_ref().map_or_else(|| otherwise.clone(), |it| it.holder.clone())
    }

    fn forget_what_ended(&mut self, rules: Rules<'_>) {
        self.lease.take_if(|it| it.ends_at <= rules.now);
        self.line.retain(|it| rules.now.duration_since(it.heard) <= span(rules.timing.ticket));
    }

    /// The first who still waits.
    fn first(&self, rules: Rules<'_>) -> Option<usize> {
        self.line.iter().position(|it| it.still_waits(rules))
    }

    fn place_of(&self, holder: &NodeId) -> Option<usize> {
        self.line.iter().position(|it| it.holder == *holder)
    }

    /// Grants a free lift to the first who still waits, and wakes it. It has a short while to claim it. It keeps its
    /// ticket, and waits again once it is heard again.
    fn hand_over(&mut self, rules: Rules<'_>) {
        if self.lease.is_some() {
            return;
        }
        let first = self.first(rules);
        let Some(want) = first.and_then(|idx| self.line.get_mut(idx)) else { return };
        want.waits = false;
        let want = want.clone();
        self.grant(&want, None, rules.timing.claim, rules);
        let Want { holder, nonce, epoch, floor, .. } = &want;
        let request = Request { lift: rules.lift, holder, nonce: *nonce, epoch: *epoch, floor: *floor };
        rules.wakes.wake(&name_of(&request));
    }

    fn grant(&mut self, want: &Want, since: Option<Instant>, life: Millis, rules: Rules<'_>) -> Lease {
        self.serial = self.serial.max(want.floor) + 1;
        let token = FencingToken { epoch: want.epoch, serial: self.serial };
        let (holder, nonce) = (want.holder.clone(), want.nonce);
        let lease = Lease { holder, nonce, token, since, ends_at: rules.now + span(life) };
        self.lease = Some(lease.clone());
        lease
    }
}

impl Lease {
    fn is_held_too_long(&self, rules: Rules<'_>) -> bool {
        self.since.is_some_and(|since| rules.now.duration_since(since) >= span(rules.timing.hold_max))
    }

    fn left(&self, rules: Rules<'_>) -> Millis {
        let left = self.ends_at.duration_since(rules.now).as_millis();
        Millis(u64::try_from(left).unwrap_or(u64::MAX))
    }

    fn as_answer(&self, rules: Rules<'_>) -> Answer {
        Answer::Granted { token: self.token, left: self.left(rules) }
    }
}

impl Want {
    fn of(request: &Request<'_>, rules: Rules<'_>) -> Self {
        let Request { holder, nonce, epoch, floor, .. } = *request;
        Self { holder: holder.clone(), nonce, epoch, floor, heard: rules.now, waits: true }
    }

    fn still_waits(&self, rules: Rules<'_>) -> bool {
        self.waits && rules.now.duration_since(self.heard) <= span(rules.timing.alive())
    }
}

fn span(millis: Millis) -> Duration {
    Duration::from_millis(millis.0)
}

/// A place in the line, from 1, behind so many.
fn place(n_before: usize) -> u32 {
    u32::try_from(n_before).unwrap_or(u32::MAX).saturating_add(1)
}
