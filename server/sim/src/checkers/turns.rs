//! The line of nodes before each lift at the lease store: who came when, and who was served before whom.

use std::collections::BTreeMap;

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{LeaseNonce, LeaseRequest, LeaseTiming};
use kernel::time::Mono;

use super::orders::OVERTAKEN_MAX;

/// Counts by the order in which nodes came, whatever the store makes of it.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnWatch {
    waiting: BTreeMap<(LiftId, NodeId), Waiter>,
    /// The request by which each node was served last: a grant that is told again is no other turn.
    served: BTreeMap<(LiftId, NodeId), LeaseNonce>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    came: Mono,
    heard: Mono,
    overtaken: u32,
}

impl TurnWatch {
    /// A node was heard in the line. Its place outlives a refusal for as long as its ticket does.
    pub(super) fn heard(&mut self, lift: &LiftId, node: &NodeId, heard: Mono) {
        let fresh = Waiter { came: heard, heard, overtaken: 0 };
        let waiter = self.waiting.entry((lift.clone(), node.clone())).or_insert(fresh);
        if heard.since(waiter.heard) > LeaseTiming::default().ticket {
            *waiter = fresh;
        }
        waiter.heard = waiter.heard.max(heard);
    }

    /// A node was served; says who was overtaken too often by it.
    pub(super) fn served(&mut self, request: &LeaseRequest, now: Mono) -> Vec<String> {
        let (lift, node) = (request.lift.clone(), request.holder.clone());
        let came = self.waiting.remove(&(lift.clone(), node.clone())).map_or(now, |it| it.came);
        if self.served.insert((lift.clone(), node.clone()), request.nonce) == Some(request.nonce) {
            return Vec::new();
        }
        let lives = |it: &Waiter| now.since(it.heard) <= LeaseTiming::default().alive();
        let mut found = Vec::new();
        for ((at, other), waiter) in &mut self.waiting {
            if *at == lift && waiter.came < came && lives(waiter) {
                waiter.overtaken += 1;
                if waiter.overtaken > OVERTAKEN_MAX {
                    found.push(format!("{other} was overtaken {} times, by {node} now", waiter.overtaken));
                }
            }
        }
        found
    }

    /// The store has lost its line, or its clock was set: everybody begins anew.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }
}
