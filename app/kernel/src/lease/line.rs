//! The line before one lift: who waits, since when by the ticket, and who is served next.
//!
//! The higher priority is served first, and equal ones by their tickets. Who is overtaken rises by one each time, so
//! after three times it is as high as anybody and nobody overtakes it any more (A8). Age is counted in those times and not
//! in milliseconds: what a clock says of it would be another thing after each step of the clock.

use std::cmp::Reverse;

use super::table::{LeaseRequest, LeaseTiming, WAITERS_MAX};
use super::{LeaseNonce, LeasePriority};
use crate::ids::NodeId;
use crate::time::Mono;

/// Those who wait, by their tickets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    wants: Vec<Want>,
}

/// What one node waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Want {
    request: LeaseRequest,
    heard: Mono,
    waits: bool,
    /// So often a later ticket was served first.
    overtaken: u8,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.wants.len()
    }

    /// A later request of the same node waits.
    pub(super) fn waits_later(&self, holder: &NodeId, nonce: LeaseNonce) -> bool {
        self.wants.iter().any(|it| it.request.holder == *holder && it.request.nonce > nonce)
    }

    /// Takes a ticket, or shows the one that it has. False when the line is full.
    pub(super) fn enter(&mut self, request: &LeaseRequest, now: Mono) -> bool {
        let want = Want { request: request.clone(), heard: now, waits: true, overtaken: 0 };
        if let Some(before) = self.want_of(&request.holder) {
            *before = Want { overtaken: before.overtaken, ..want };
        } else if self.wants.len() < WAITERS_MAX {
            self.wants.push(want);
        } else {
            return false;
        }
        true
    }

    pub(super) fn leave(&mut self, holder: &NodeId) {
        self.wants.retain(|it| it.request.holder != *holder);
    }

    /// Tickets end some time after their waiters were heard.
    pub(super) fn forget_what_ended(&mut self, timing: &LeaseTiming, now: Mono) {
        self.wants.retain(|it| now.since(it.heard) <= timing.ticket);
    }

    /// Whether the next one that is served is this node.
    pub(super) fn is_first(&self, holder: &NodeId, timing: &LeaseTiming, now: Mono) -> bool {
        self.first(timing, now).is_some_and(|(_, it)| it.request.holder == *holder)
    }

    /// Serves the next one; those with earlier tickets are overtaken by it. It keeps its ticket.
    pub(super) fn serve(&mut self, timing: &LeaseTiming, now: Mono) -> Option<LeaseRequest> {
        let (first, _) = self.first(timing, now)?;
        for want in self.wants.iter_mut().take(first).filter(|it| it.still_waits(timing, now)) {
            want.overtaken = want.overtaken.saturating_add(1);
        }
        let want = self.wants.get_mut(first)?;
        want.waits = false;
        Some(want.request.clone())
    }

    /// So many are served before this node, whether or not it is in the line.
    pub(super) fn n_before(&self, holder: &NodeId, timing: &LeaseTiming, now: Mono) -> usize {
        let ours = self.wants.iter().enumerate().find(|(_, it)| it.request.holder == *holder);
        let turn = |(idx, it): (usize, &Want)| (Reverse(it.rank()), idx);
        let waiting = self.wants.iter().enumerate().filter(|(_, it)| it.still_waits(timing, now));
        waiting.filter(|it| ours.is_none_or(|ours| turn(*it) < turn(ours))).count()
    }

    /// Its wait is over, its ticket is not.
    pub(super) fn give_up(&mut self, holder: &NodeId) {
        if let Some(want) = self.want_of(holder) {
            want.waits = false;
        }
    }

    fn first(&self, timing: &LeaseTiming, now: Mono) -> Option<(usize, &Want)> {
        let waiting = self.wants.iter().enumerate().filter(|(_, it)| it.still_waits(timing, now));
        waiting.min_by_key(|(idx, it)| (Reverse(it.rank()), *idx))
    }

    fn want_of(&mut self, holder: &NodeId) -> Option<&mut Want> {
        self.wants.iter_mut().find(|it| it.request.holder == *holder)
    }
}

impl Want {
    fn still_waits(&self, timing: &LeaseTiming, now: Mono) -> bool {
        self.waits && now.since(self.heard) <= timing.alive()
    }

    /// Its priority, with its age.
    fn rank(&self) -> u8 {
        self.request.priority.level().saturating_add(self.overtaken).min(LeasePriority::Aboard.level())
    }
}
