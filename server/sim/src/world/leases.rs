//! How nodes ask the lease store, and how its answers reach them.

use kernel::control::Event;
use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    CallAnswer, CallRequest, FencingToken, HeldLease, LeaseNonce, LeaseRefusal, LeaseRequest, SettledCall,
};
use kernel::time::{Millis, Mono};

use super::World;
use super::perform::STORE_LEG;
use super::post::Parcel;
use super::store::{Answer, Request, Waiter};
use crate::checkers::LeaseRank;
use crate::fault::Road;

/// A store that does not answer is known to be down after so long (A6).
pub(super) const STORE_TIMEOUT: Millis = Millis(600);

impl World {
    pub(super) fn ask_store(&mut self, idx: usize, lease: LeaseRequest) {
        self.note(|| format!("{} asks for {}", lease.holder, lease.lift));
        let Some(node) = self.nodes.get(idx) else { return };
        let (life, asked_at) = (node.life, node.clock.mono(self.now));
        if self.store.reaches(&lease.holder, self.now) {
            let heard = node.admitted.get(&lease.lift).copied().unwrap_or_default();
            let request = Request { node: idx, life, lease, asked_at, heard };
            self.carry_on(Road::Store, STORE_LEG, Parcel::ToStore(request));
        } else {
            let LeaseRequest { lift, holder, nonce, .. } = lease;
            self.note(|| format!("{holder} does not reach the lease store"));
            let refused = Event::LeaseRefused { nonce, lift, reason: LeaseRefusal::StoreDown };
            self.send_to_node(idx, life, STORE_TIMEOUT, refused);
        }
    }

    pub(super) fn ask_for_renewal(&mut self, idx: usize, lease: HeldLease) {
        let Some(node) = self.nodes.get(idx) else { return };
        let (life, holder, asked_at) = (node.life, node.id.clone(), node.clock.mono(self.now));
        if self.store.reaches(&holder, self.now) {
            let parcel = Parcel::Renew { asker: (idx, life), holder, lease, asked_at };
            self.carry_on(Road::Store, STORE_LEG, parcel);
        } else {
            self.note(|| format!("{holder} does not reach the lease store"));
            let (lift, nonce) = (lease.lift().clone(), lease.nonce());
            let refused = Event::RenewalRefused { lift, nonce, reason: LeaseRefusal::StoreDown };
            self.send_to_node(idx, life, STORE_TIMEOUT, refused);
        }
    }

    /// A renewal has come to the store; the answer goes back.
    pub(super) fn renew(
        &mut self,
        (node, life): (usize, u32),
        holder: &NodeId,
        lease: &HeldLease,
        asked_at: Mono,
    ) {
        let (lift, nonce, token) = (lease.lift().clone(), lease.nonce(), lease.token());
        let renewed = self.store.renew(&lift, (holder, nonce), token, self.now);
        self.note(|| match &renewed {
            Ok(_) => format!("{holder} renews {lift} {token:?}"),
            Err(reason) => format!("{holder} does not renew {lift}: {reason:?}"),
        });
        let event = match renewed {
            Ok(left) => Event::LeaseRenewed(HeldLease::granted_for(lift, nonce, token, asked_at, left)),
            Err(reason) => Event::RenewalRefused { lift, nonce, reason },
        };
        self.carry_on(Road::Store, STORE_LEG, Parcel::ToNode { node, life, event: Box::new(event) });
        // It may have freed what had ended.
        self.serve_store();
    }

    pub(super) fn give_back(
        &mut self,
        idx: usize,
        lift: LiftId,
        (nonce, token): (LeaseNonce, FencingToken),
        settled: Option<SettledCall>,
    ) {
        let Some(node) = self.nodes.get(idx) else { return };
        let holder = node.id.clone();
        if self.store.reaches(&holder, self.now) {
            self.carry_on(Road::Store, STORE_LEG, Parcel::Release { lift, holder, nonce, token, settled });
        }
    }

    /// A release has come to the store. One that is late says so in the log: another holds the lift by then.
    pub(super) fn given_back(&mut self, lift: &LiftId, asked: LeaseRank, settled: Option<&SettledCall>) {
        let holder = self.store.holder(lift);
        if let Some((other, _, _)) = holder.as_ref().filter(|it| **it != asked) {
            self.note(|| format!("{} gives {lift} back, and {other} holds it", asked.0));
        }
        let (node, nonce, token) = &asked;
        let freed = self.store.release(lift, (node, *nonce), *token, settled, self.now);
        if let (Ok(()), Some(holder)) = (freed, holder) {
            self.checkers.freed(self.now, lift, &asked, &holder);
        }
        self.serve_store();
    }

    pub(super) fn ask_for_record(&mut self, idx: usize, request: CallRequest) {
        let Some(node) = self.nodes.get(idx) else { return };
        let (life, holder) = (node.life, node.id.clone());
        if self.store.reaches(&holder, self.now) {
            let asker = (idx, life);
            self.carry_on(Road::Store, STORE_LEG, Parcel::OpenCall { asker, holder, request });
        } else {
            self.note(|| format!("{holder} does not reach the lease store"));
            let CallRequest { lift, command, .. } = request;
            let answer = Err(LeaseRefusal::StoreDown);
            self.send_to_node(idx, life, STORE_TIMEOUT, Event::CallAnswered { lift, command, answer });
        }
    }

    pub(super) fn settle_record(&mut self, idx: usize, lift: LiftId, settled: SettledCall) {
        let reached = self.nodes.get(idx).is_some_and(|it| self.store.reaches(&it.id, self.now));
        if reached {
            self.carry_on(Road::Store, STORE_LEG, Parcel::SettleCall { lift, settled });
        }
    }

    /// The record is opened, or the same call stands in it; the answer goes back.
    pub(super) fn open_record(&mut self, (node, life): (usize, u32), holder: &NodeId, request: CallRequest) {
        let answer = self.store.open_call(holder, &request, self.now);
        let CallRequest { lift, command, .. } = request;
        if !matches!(answer, Ok(CallAnswer::Opened)) {
            self.note(|| format!("{lift} is not called by {command}: {answer:?}"));
        }
        let event = Event::CallAnswered { lift, command, answer };
        self.carry_on(Road::Store, STORE_LEG, Parcel::ToNode { node, life, event: Box::new(event) });
    }

    /// Answers those whose time has come, and looks again when the next one's does.
    pub(super) fn serve_store(&mut self) {
        let now = self.now;
        let waiters: Vec<(u32, Waiter)> = self
            .nodes
            .iter_mut()
            .map(|node| {
                let paused = node.clock.paused(now);
                let looks = paused.map_or(Waiter::Looks, Waiter::Sleeps);
                (node.life, if node.control.is_some() { looks } else { Waiter::Gone })
            })
            .collect();
        let waiter = |it: &Request| match waiters.get(it.node) {
            Some((life, waiter)) if *life == it.life => *waiter,
            Some(_) | None => Waiter::Gone,
        };
        let answers = self.store.serve(now, waiter);
        for (waiting, heard) in self.store.heard() {
            self.checkers.waits(&waiting.lift, &waiting.holder, heard);
        }
        for (request, answer) in answers {
            self.answer_lease(request, answer);
        }
        if let Some(due) = self.store.next_due()
            && self.store_looks_at.is_none_or(|at| at <= now || due < at)
        {
            self.store_looks_at = Some(due);
            self.post.send(due, Parcel::StoreLine);
        }
    }

    fn answer_lease(&mut self, request: Request, answer: Answer) {
        let Request { node, life, lease, heard, .. } = request;
        let (lift, nonce) = (lease.lift.clone(), lease.nonce);
        let event = match answer {
            Answer::Granted { token, asked_at, left } => {
                self.note(|| format!("{lift} is granted to {} {token:?}", lease.holder));
                self.checkers.granted(self.now, &lease, heard, token);
                let lease = HeldLease::granted_for(lift, nonce, token, asked_at, left);
                Event::LeaseGranted { nonce, lease }
            }
            Answer::Refused(reason) => Event::LeaseRefused { nonce, lift, reason },
        };
        let parcel = Parcel::ToNode { node, life, event: Box::new(event) };
        self.carry_on(Road::Store, STORE_LEG, parcel);
    }
}
