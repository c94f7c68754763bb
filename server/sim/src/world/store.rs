//! The lease store: the kernel's table, on a clock of its own that may step; beside it, who waits for an answer.
//!
//! A waiter looks again each poll and when it is woken, as the client of the real store does. Its first question and
//! the last answer travel over the road that can lose them; what lies between happens here.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    CallAnswer, CallRequest, FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal, LeaseRequest, LeaseTable,
    SettledCall, StoreLife,
};
use kernel::safeguard::Safeguards;
use kernel::time::{Millis, Mono};

use super::machine::UPTIME_MS;
use crate::checkers::LeaseRank;

/// A copy is taken this often; a replica that takes over is as old as the last one.
const COPY_PERIOD: Millis = Millis::seconds(10);

/// How requests for leases went. One that is repeated since its answer was lost counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseLine {
    /// Answered.
    pub answered: u64,
    /// Of these granted.
    pub granted: u64,
    /// From coming to the store to the grant, all together.
    pub waited: Millis,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) node: usize,
    pub(super) life: u32,
    pub(super) lease: LeaseRequest,
    /// By the asker's own clock, before the request left.
    pub(super) asked_at: Mono,
    /// The highest token that the asker had heard by then to be admitted at the lift.
    pub(super) heard: FencingToken,
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted {
        token: FencingToken,
        /// By the asker's own clock, when it last asked.
        asked_at: Mono,
        left: Millis,
    },
    Refused(LeaseRefusal),
}

/// Whether a waiter looks now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Looks,
    /// It stands still until then.
    Sleeps(Mono),
    /// It is gone, and its wait with it.
    Gone,
}

#[derive(Clone, Debug)]
struct Waiting {
    request: Request,
    came: Mono,
    looks_at: Mono,
    /// When it looked last, in vain.
    looked: Option<Mono>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LeaseStore {
    table: LeaseTable,
    copy: LeaseTable,
    copied_at: Mono,
    waiting: Vec<Waiting>,
    line: LeaseLine,
    /// The request of each node at each lift that was answered last.
    answered: BTreeMap<(NodeId, LiftId), LeaseNonce>,
    pub(super) down_until: Option<Mono>,
    /// Nodes that do not reach it, and until when.
    pub(super) cut: BTreeMap<NodeId, Mono>,
    step_ms: i64,
    /// How many lives it had.
    lives: u64,
}

impl LeaseStore {
    pub(super) fn under(safeguards: Safeguards) -> Self {
        let table = LeaseTable::default().under(safeguards);
        Self { copy: table.clone(), table, ..Self::default() }
    }

    pub(super) fn reaches(&self, node: &NodeId, now: Mono) -> bool {
        let down = self.down_until.is_some_and(|until| now < until);
        !down && self.cut.get(node).is_none_or(|until| *until <= now)
    }

    pub(super) fn step_clock(&mut self, by_ms: i64) {
        self.step_ms = self.step_ms.saturating_add(by_ms);
    }

    pub(super) fn empty(&mut self) {
        let life = self.next_life();
        self.table.forget(life);
    }

    pub(super) fn promote_old_copy(&mut self) {
        self.table = self.copy.clone();
        let life = self.next_life();
        self.table.take_over(life);
    }

    fn next_life(&mut self) -> StoreLife {
        self.lives += 1;
        StoreLife::try_new(&self.lives.to_string()).unwrap_or_default()
    }

    /// A request waits from now on; one that came twice keeps its place. It looks at the next [`LeaseStore::serve`].
    pub(super) fn acquire(&mut self, request: Request, now: Mono) {
        if !self.waiting.iter().any(|it| it.request.node == request.node && it.request.lease == request.lease)
        {
            self.waiting.push(Waiting { request, came: now, looks_at: now, looked: None });
        }
    }

    /// Notes what became of a call, and frees the lift if the release is by who holds it.
    pub(super) fn release(
        &mut self,
        lift: &LiftId,
        asked: (&NodeId, LeaseNonce),
        token: FencingToken,
        settled: Option<&SettledCall>,
        now: Mono,
    ) -> Result<(), LeaseRefusal> {
        if let Some(settled) = settled {
            self.settle_call(lift, settled, now);
        }
        // What is another's is left alone, and the node knows by itself that it holds nothing.
        let freed = self.table.release(lift, asked, token, self.own_time(now));
        self.wake(now);
        freed
    }

    /// Lets a lease live on; gives what is left of it.
    pub(super) fn renew(
        &mut self,
        lift: &LiftId,
        asked: (&NodeId, LeaseNonce),
        token: FencingToken,
        now: Mono,
    ) -> Result<Millis, LeaseRefusal> {
        self.table.renew(lift, asked, token, self.own_time(now))
    }

    /// Who holds a lift.
    pub(super) fn holder(&self, lift: &LiftId) -> Option<LeaseRank> {
        self.table.holder(lift).map(|(node, nonce, token)| (node.clone(), nonce, token))
    }

    pub(super) fn open_call(
        &mut self,
        holder: &NodeId,
        request: &CallRequest,
        now: Mono,
    ) -> Result<CallAnswer, LeaseRefusal> {
        self.table.open_call(holder, request, self.own_time(now))
    }

    pub(super) fn settle_call(&mut self, lift: &LiftId, settled: &SettledCall, now: Mono) {
        self.table.settle_call(lift, settled, self.own_time(now));
    }

    /// Lets each waiter look whose time has come; gives what is answered.
    pub(super) fn serve(&mut self, now: Mono, waiter: impl Fn(&Request) -> Waiter) -> Vec<(Request, Answer)> {
        if now.since(self.copied_at) >= COPY_PERIOD {
            self.copied_at = now;
            self.copy = self.table.clone();
        }
        let mut answers = Vec::new();
        while let Some(idx) = self.waiting.iter().position(|it| it.looks_at <= now) {
            let mut waiting = self.waiting.remove(idx);
            match waiter(&waiting.request) {
                Waiter::Gone => {}
                Waiter::Sleeps(until) => {
                    waiting.looks_at = until;
                    self.waiting.insert(idx, waiting);
                }
                Waiter::Looks => match self.look(&waiting, now) {
                    Ok(answer) => {
                        self.count(&waiting, &answer, now);
                        answers.push((waiting.request, answer));
                    }
                    Err(looks_at) => {
                        (waiting.looks_at, waiting.looked) = (looks_at, Some(now));
                        self.waiting.insert(idx, waiting);
                    }
                },
            }
            self.wake(now);
        }
        answers
    }

    /// Those in the line, and when they were heard last.
    pub(super) fn heard(&self) -> impl Iterator<Item = (&LeaseRequest, Mono)> {
        self.waiting.iter().filter_map(|it| Some((&it.request.lease, it.looked?)))
    }

    /// How requests went so far.
    pub(super) fn line(&self) -> LeaseLine {
        self.line
    }

    fn count(&mut self, waiting: &Waiting, answer: &Answer, now: Mono) {
        let LeaseRequest { holder, lift, nonce, .. } = &waiting.request.lease;
        if self.answered.insert((holder.clone(), lift.clone()), *nonce) == Some(*nonce) {
            return;
        }
        self.line.answered += 1;
        match answer {
            Answer::Granted { .. } => {
                self.line.granted += 1;
                self.line.waited = self.line.waited + now.since(waiting.came);
            }
            Answer::Refused(_) => {}
        }
    }

    /// When the next waiter looks.
    pub(super) fn next_due(&self) -> Option<Mono> {
        self.waiting.iter().map(|it| it.looks_at).min()
    }

    /// The answer to one waiter, or when it looks again.
    fn look(&mut self, waiting: &Waiting, now: Mono) -> Result<Answer, Mono> {
        let Request { lease, asked_at, .. } = &waiting.request;
        if !self.reaches(&lease.holder, now) {
            return Ok(Answer::Refused(LeaseRefusal::StoreDown));
        }
        let timing = self.table.timing();
        let give_up = waiting.came + timing.wait;
        let stays = now < give_up;
        match self.table.ask(lease, stays, self.own_time(now)) {
            LeaseAnswer::Granted { token, left } => {
                let asked_at = *asked_at + now.since(waiting.came);
                Ok(Answer::Granted { token, asked_at, left })
            }
            LeaseAnswer::Waits { left, .. } if stays => {
                Err(give_up.min(now + timing.poll.min(left + Millis(1))))
            }
            LeaseAnswer::Changed { life } => Ok(Answer::Refused(LeaseRefusal::StoreChanged { life })),
            LeaseAnswer::Waits { holder, position, .. } | LeaseAnswer::Refused { holder, position } => {
                Ok(Answer::Refused(LeaseRefusal::Held { holder, position }))
            }
        }
    }

    fn wake(&mut self, now: Mono) {
        while let Some(woken) = self.table.poll_woken() {
            let is_meant = |it: &LeaseRequest| {
                it.lift == woken.lift && it.holder == woken.holder && it.nonce == woken.nonce
            };
            for waiting in self.waiting.iter_mut().filter(|it| is_meant(&it.request.lease)) {
                waiting.looks_at = waiting.looks_at.min(now);
            }
        }
    }

    fn own_time(&self, now: Mono) -> Mono {
        Mono((UPTIME_MS + now.0).saturating_add_signed(self.step_ms))
    }
}

#[cfg(test)]
mod tests {
    use kernel::lease::LeasePriority;
    use kernel::timing::{LEASE_HOLD_MAX, LEASE_WAIT};

    use super::*;
    use crate::fixture::lift;

    fn request(node: &str, nonce: u64) -> Request {
        let holder = NodeId::try_new(node).expect("a name");
        let lease = LeaseRequest {
            lift: lift("L1"),
            holder,
            nonce: LeaseNonce(nonce),
            epoch: 1,
            floor: 0,
            life: StoreLife::default(),
            priority: LeasePriority::default(),
        };
        Request { node: 0, life: 1, lease, asked_at: Mono(0), heard: FencingToken::default() }
    }

    fn looks(_: &Request) -> Waiter {
        Waiter::Looks
    }

    /// Who was granted, and who was refused.
    fn names(answers: Vec<(Request, Answer)>) -> Vec<(String, bool)> {
        let granted = |it: &Answer| matches!(it, Answer::Granted { .. });
        answers.into_iter().map(|(it, answer)| (it.lease.holder.to_string(), granted(&answer))).collect()
    }

    fn ask(store: &mut LeaseStore, node: &str, nonce: u64, now: u64) -> Vec<(String, bool)> {
        store.acquire(request(node, nonce), Mono(now));
        names(store.serve(Mono(now), looks))
    }

    fn said(name: &str, granted: bool) -> Vec<(String, bool)> {
        vec![(name.to_owned(), granted)]
    }

    #[test]
    fn a_lift_goes_to_the_first_in_line_and_who_holds_it_for_too_long_is_passed_over() {
        let mut store = LeaseStore::default();
        assert_eq!(ask(&mut store, "A", 1, 0), said("A", true));
        let late = LEASE_HOLD_MAX.0 - 100;
        assert_eq!(ask(&mut store, "B", 2, late), []);
        assert_eq!(ask(&mut store, "C", 3, late + 50), []);
        assert_eq!(names(store.serve(Mono(late + 250), looks)), said("B", true), "by its poll");
        assert_eq!(ask(&mut store, "A", 4, late + 300), []);
    }

    #[test]
    fn requests_are_counted_once_with_their_waits() {
        let mut store = LeaseStore::default();
        ask(&mut store, "A", 1, 0);
        ask(&mut store, "A", 1, 50);
        ask(&mut store, "B", 2, 100);
        assert_eq!(store.line(), LeaseLine { answered: 1, granted: 1, waited: Millis(0) }, "A asked twice");
        let refused = Mono(100) + LEASE_WAIT;
        assert_eq!(names(store.serve(refused, looks)), said("B", false));
        assert_eq!(ask(&mut store, "C", 3, 3000), []);
        let late = Mono(LEASE_HOLD_MAX.0).min(Mono(4900));
        assert_eq!(names(store.serve(late, looks)), []);
        let held = (&NodeId::try_new("A").expect("a name"), LeaseNonce(1));
        let token = store.holder(&lift("L1")).expect("it is held").2;
        assert_eq!(store.release(&lift("L1"), held, token, None, Mono(4950)), Ok(()));
        assert_eq!(names(store.serve(Mono(4950), looks)), said("C", true));
        assert_eq!(store.line(), LeaseLine { answered: 3, granted: 2, waited: Millis(1950) });
    }

    #[test]
    fn a_wait_ends_with_a_refusal_or_with_the_waiter_and_one_that_sleeps_looks_later() {
        let mut store = LeaseStore::default();
        ask(&mut store, "A", 1, 0);
        ask(&mut store, "B", 2, 1000);
        ask(&mut store, "C", 3, 1000);
        let until = Mono(1000) + LEASE_WAIT;
        let waiter = |it: &Request| match it.lease.holder.as_str() {
            "B" => Waiter::Looks,
            _ => Waiter::Gone,
        };
        assert_eq!(names(store.serve(until, waiter)), said("B", false));
        assert_eq!(store.next_due(), None, "C is gone");
        ask(&mut store, "D", 4, 3500);
        store.serve(Mono(3800), |_| Waiter::Sleeps(Mono(9000)));
        assert_eq!(store.next_due(), Some(Mono(9000)));
    }

    #[test]
    fn a_store_that_goes_away_tells_those_who_wait() {
        let mut store = LeaseStore::default();
        ask(&mut store, "A", 1, 0);
        ask(&mut store, "B", 2, 0);
        store.down_until = Some(Mono(5000));
        let answers = store.serve(Mono(250), looks);
        assert_eq!(answers, [(request("B", 2), Answer::Refused(LeaseRefusal::StoreDown))]);
    }

    #[test]
    fn a_request_that_comes_twice_is_one() {
        let mut store = LeaseStore::default();
        assert_eq!(ask(&mut store, "A", 1, 0), said("A", true));
        assert_eq!(ask(&mut store, "A", 1, 10), said("A", true), "the same grant");
        assert_eq!(ask(&mut store, "B", 2, 20), []);
        assert_eq!(ask(&mut store, "B", 2, 30), []);
        let token = FencingToken { epoch: 1, serial: 1 };
        let holder = NodeId::try_new("A").expect("a name");
        store.release(&lift("L1"), (&holder, LeaseNonce(1)), token, None, Mono(40)).expect("it is its own");
        assert_eq!(names(store.serve(Mono(40), looks)), said("B", true), "woken, before its poll");
    }
}
