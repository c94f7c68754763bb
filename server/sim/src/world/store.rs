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

    /// Grants at once, or lets the request wait.
    pub(super) fn acquire(&mut self, request: Request, now: Mono) -> Option<(Request, Answer)> {
        self.tick(now);
        if let Some(grant) = self.content.grants.get(&request.lift) {
            if grant.holder == request.holder && grant.nonce == request.nonce {
                let token = grant.token;
                return Some((request, Answer::Granted(token)));
            }
            self.line.push_back((request, now + LEASE_WAIT));
            return None;
        }
        let token = self.grant(&request, now);
        Some((request, Answer::Granted(token)))
    }

    /// Frees the lift if the release is by who holds it, and grants to the next in line.
    pub(super) fn release(
        &mut self,
        lift: &LiftId,
        nonce: LeaseNonce,
        now: Mono,
    ) -> Option<(Request, Answer)> {
        self.tick(now);
        if self.content.grants.get(lift).is_some_and(|it| it.nonce == nonce) {
            self.content.grants.remove(lift);
        }
        self.next_in_line(lift, now)
    }

    /// Answers those whose wait is over, and grants what has ended to the next.
    pub(super) fn tick_line(&mut self, now: Mono) -> Vec<(Request, Answer)> {
        self.tick(now);
        let mut answers = Vec::new();
        while self.line.front().is_some_and(|(_, until)| *until <= now) {
            let Some((request, _)) = self.line.pop_front() else { break };
            let holder = self.content.grants.get(&request.lift).map(|it| it.holder.clone());
            answers.push(match holder {
                Some(holder) => (request, Answer::Refused(LeaseRefusal::Held { holder, position: 1 })),
                None => {
                    let token = self.grant(&request, now);
                    (request, Answer::Granted(token))
                }
            });
        }
        answers
    }

    pub(super) fn next_due(&self) -> Option<Mono> {
        self.line.front().map(|(_, until)| *until)
    }

    fn next_in_line(&mut self, lift: &LiftId, now: Mono) -> Option<(Request, Answer)> {
        if self.content.grants.contains_key(lift) {
            return None;
        }
        let place = self.line.iter().position(|(request, _)| request.lift == *lift)?;
        let (request, _) = self.line.remove(place)?;
        let token = self.grant(&request, now);
        Some((request, Answer::Granted(token)))
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
