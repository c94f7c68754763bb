//! The lease store: one holder per lift, a line behind it, its own clock by which leases end.

use std::collections::{BTreeMap, VecDeque};

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{FencingToken, LeaseNonce, LeaseRefusal};
use kernel::time::{Millis, Mono};
use kernel::timing::{LEASE_TTL, LEASE_WAIT};

/// A copy is taken this often; a replica that takes over is as old as the last one.
const COPY_PERIOD: Millis = Millis::seconds(10);

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) node: usize,
    pub(super) life: u32,
    pub(super) holder: NodeId,
    pub(super) lift: LiftId,
    pub(super) nonce: LeaseNonce,
    pub(super) epoch: u32,
    /// The serial lies above it.
    pub(super) floor: u64,
    /// By the asker's own clock, before the request left.
    pub(super) asked_at: Mono,
}

/// What the store answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted(FencingToken),
    Refused(LeaseRefusal),
}

#[derive(Clone, Debug)]
struct Grant {
    holder: NodeId,
    nonce: LeaseNonce,
    token: FencingToken,
    ends: i64,
}

#[derive(Clone, Debug, Default)]
struct Content {
    grants: BTreeMap<LiftId, Grant>,
    serial: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LeaseStore {
    content: Content,
    copy: Content,
    copied_at: Mono,
    line: VecDeque<(Request, Mono)>,
    pub(super) down_until: Option<Mono>,
    /// Nodes that do not reach it, and until when.
    pub(super) cut: BTreeMap<NodeId, Mono>,
    step_ms: i64,
}

impl LeaseStore {
    pub(super) fn reaches(&self, node: &NodeId, now: Mono) -> bool {
        let down = self.down_until.is_some_and(|until| now < until);
        !down && self.cut.get(node).is_none_or(|until| *until <= now)
    }

    pub(super) fn step_clock(&mut self, by_ms: i64) {
        self.step_ms = self.step_ms.saturating_add(by_ms);
    }

    pub(super) fn empty(&mut self) {
        self.content = Content::default();
        self.line.clear();
    }

    pub(super) fn promote_old_copy(&mut self) {
        self.content = self.copy.clone();
        self.line.clear();
    }

    /// Says again what it granted to this request, or puts it into the line; says who of the line is served by now.
    pub(super) fn acquire(&mut self, request: Request, now: Mono) -> Vec<(Request, Answer)> {
        self.tick(now);
        let same = |holder: &NodeId, nonce| *holder == request.holder && nonce == request.nonce;
        let held = self.content.grants.get(&request.lift).filter(|it| same(&it.holder, it.nonce));
        if let Some(token) = held.map(|it| it.token) {
            return vec![(request, Answer::Granted(token))];
        }
        // A request that came twice keeps its place.
        if !self.line.iter().any(|(it, _)| it.lift == request.lift && same(&it.holder, it.nonce)) {
            self.line.push_back((request, now + LEASE_WAIT));
        }
        self.serve_line(now)
    }

    /// Frees the lift if the release is by who holds it, and grants to the next in line.
    pub(super) fn release(&mut self, lift: &LiftId, nonce: LeaseNonce, now: Mono) -> Vec<(Request, Answer)> {
        self.tick(now);
        if self.content.grants.get(lift).is_some_and(|it| it.nonce == nonce) {
            self.content.grants.remove(lift);
        }
        self.serve_line(now)
    }

    /// Grants each free lift to the first that waits for it, and refuses those whose wait is over.
    pub(super) fn serve_line(&mut self, now: Mono) -> Vec<(Request, Answer)> {
        self.tick(now);
        let mut answers = Vec::new();
        for (request, until) in std::mem::take(&mut self.line) {
            match self.content.grants.get(&request.lift).map(|it| it.holder.clone()) {
                None => {
                    let token = self.grant(&request, now);
                    answers.push((request, Answer::Granted(token)));
                }
                Some(holder) if until <= now => {
                    answers.push((request, Answer::Refused(LeaseRefusal::Held { holder, position: 1 })));
                }
                Some(_) => self.line.push_back((request, until)),
            }
        }
        answers
    }

    pub(super) fn next_due(&self) -> Option<Mono> {
        self.line.front().map(|(_, until)| *until)
    }

    fn grant(&mut self, request: &Request, now: Mono) -> FencingToken {
        self.content.serial = self.content.serial.max(request.floor) + 1;
        let token = FencingToken { epoch: request.epoch, serial: self.content.serial };
        let ends = self.own_time(now).saturating_add(i64::try_from(LEASE_TTL.0).unwrap_or(i64::MAX));
        let grant = Grant { holder: request.holder.clone(), nonce: request.nonce, token, ends };
        self.content.grants.insert(request.lift.clone(), grant);
        token
    }

    fn tick(&mut self, now: Mono) {
        let own = self.own_time(now);
        self.content.grants.retain(|_, grant| own < grant.ends);
        if now.since(self.copied_at) >= COPY_PERIOD {
            self.copied_at = now;
            self.copy = self.content.clone();
        }
    }

    fn own_time(&self, now: Mono) -> i64 {
        i64::try_from(now.0).unwrap_or(i64::MAX).saturating_add(self.step_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::lift;

    fn request(node: &str, nonce: u64) -> Request {
        Request {
            node: 0,
            life: 1,
            holder: NodeId::try_new(node).expect("a name"),
            lift: lift("L1"),
            nonce: LeaseNonce(nonce),
            epoch: 1,
            floor: 0,
            asked_at: Mono(0),
        }
    }

    /// Who was granted, and who was refused.
    fn names(answers: Vec<(Request, Answer)>) -> Vec<(String, bool)> {
        let granted = |it: &Answer| matches!(it, Answer::Granted(_));
        answers.into_iter().map(|(it, answer)| (it.holder.to_string(), granted(&answer))).collect()
    }

    fn granted(name: &str) -> Vec<(String, bool)> {
        vec![(name.to_owned(), true)]
    }

    #[test]
    fn a_lift_that_is_free_goes_to_the_first_in_line() {
        let mut store = LeaseStore::default();
        assert_eq!(names(store.acquire(request("A", 1), Mono(0))), granted("A"));
        let end = LEASE_TTL.0;
        assert_eq!(names(store.acquire(request("B", 2), Mono(end - 100))), []);
        // A's lease has ended, and nobody has noticed when C asks.
        assert_eq!(names(store.acquire(request("C", 3), Mono(end + 100))), granted("B"));
        assert_eq!(names(store.release(&lift("L1"), LeaseNonce(2), Mono(end + 200))), granted("C"));
    }

    #[test]
    fn a_wait_ends_with_a_refusal() {
        let mut store = LeaseStore::default();
        store.acquire(request("A", 1), Mono(0));
        store.acquire(request("B", 2), Mono(1000));
        assert_eq!(store.next_due(), Some(Mono(1000) + LEASE_WAIT));
        assert_eq!(names(store.serve_line(Mono(999) + LEASE_WAIT)), []);
        assert_eq!(names(store.serve_line(Mono(1000) + LEASE_WAIT)), [("B".to_owned(), false)]);
    }

    #[test]
    fn a_request_that_comes_twice_is_one() {
        let mut store = LeaseStore::default();
        let first = store.acquire(request("A", 1), Mono(0));
        assert_eq!(store.acquire(request("A", 1), Mono(10)), first, "the same grant");
        store.acquire(request("B", 2), Mono(20));
        store.acquire(request("B", 2), Mono(30));
        assert_eq!(names(store.release(&lift("L1"), LeaseNonce(1), Mono(40))), granted("B"));
        assert_eq!(names(store.release(&lift("L1"), LeaseNonce(2), Mono(50))), []);
    }
}
