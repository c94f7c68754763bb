//! The road between a node and the ledger. What is lost on it is asked after, as a node's journal does.
//!
//! A commit whose answer does not come leaves open whether it holds. The shell says neither before it knows: it asks until
//! the ledger tells, follows nothing meanwhile, and refuses what else is proposed.

use kernel::control::{BatchId, Event};
use kernel::ledger::Guard;
use kernel::time::{Millis, Mono};
use kernel::wire::ledger::Record;

use super::World;
use super::perform::LEDGER_LEG;
use super::post::Parcel;
use crate::fault::{Road, RoadEffect};

/// The answer to a commit is awaited for so long; then the shell asks what became of it.
const ANSWER_AWAITED: Millis = Millis::seconds(1);
/// Between two questions.
const ASKED_AGAIN: Millis = Millis(200);

/// How a proposal comes to the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    /// For the first time.
    First,
    /// For the first time, and what the ledger answers is lost.
    Unanswered,
    /// It is a copy; nobody waits for an answer.
    Copy,
}

impl World {
    /// A proposal is on its way to the ledger: lost, doubled or late, maybe, and never before what the node sent earlier.
    pub(super) fn propose(
        &mut self,
        author: (usize, u32, BatchId),
        records: Vec<Record>,
        guards: Vec<Guard>,
    ) {
        let (idx, life, batch) = author;
        let Some(node) = self.nodes.get_mut(idx) else { return };
        if node.asks_ledger {
            let reason = "it is not known yet whether the last commit holds".to_owned();
            self.send_to_node(idx, life, Millis(0), Event::AppendFailed { batch, reason });
            return;
        }
        let at = self.ledger_turn(idx);
        let lost = self.is_lost_to_ledger();
        if lost {
            self.note(|| "lost on the road: Ledger".to_owned());
            if let Some(node) = self.nodes.get_mut(idx) {
                node.asks_ledger = true;
            }
            self.post.send(at + ANSWER_AWAITED, Parcel::AskLedger { author });
        }
        let parcel =
            |brought| Parcel::ToLedger { author, records: records.clone(), guards: guards.clone(), brought };
        if !lost {
            self.post.send(at, parcel(Brought::First));
        } else if self.rng.within(0..=1) == 0 {
            self.post.send(at, parcel(Brought::Unanswered));
        }
        for after in self.copies_to_ledger() {
            self.note(|| "twice on the road: Ledger".to_owned());
            self.post.send(at + after, parcel(Brought::Copy));
        }
    }

    /// When something of a node reaches the ledger that leaves now.
    pub(super) fn ledger_turn(&mut self, idx: usize) -> Mono {
        let at = self.now + LEDGER_LEG + self.draw_delay(Road::Ledger);
        let Some(node) = self.nodes.get_mut(idx) else { return at };
        node.ledger_free = node.ledger_free.max(at);
        node.ledger_free
    }

    pub(super) fn is_lost_to_ledger(&mut self) -> bool {
        !self.effects_on(Road::Ledger, |it| *it == RoadEffect::Drop).is_empty()
    }

    /// How late each copy of a proposal comes.
    fn copies_to_ledger(&mut self) -> Vec<Millis> {
        let after = |it: &RoadEffect| match it {
            RoadEffect::Duplicate { after_ms } => Some(*after_ms),
            RoadEffect::Drop | RoadEffect::Delay { .. } => None,
        };
        let effects = self.effects_on(Road::Ledger, |it| matches!(it, RoadEffect::Duplicate { .. }));
        effects.iter().filter_map(after).collect()
    }

    /// A node's shell asks what became of a proposal.
    pub(super) fn asked_after(&mut self, place: u64, author: (usize, u32, BatchId)) {
        let (idx, life, batch) = author;
        let now = self.now;
        let Some(node) = self.nodes.get_mut(idx).filter(|it| it.life == life) else { return };
        if let Some(until) = node.clock.paused(now) {
            self.post.hold(until, place, Parcel::AskLedger { author });
            return;
        }
        if !self.reaches_ledger(idx) || self.is_lost_to_ledger() {
            self.post.send(now + ASKED_AGAIN, Parcel::AskLedger { author });
            return;
        }
        if let Some(node) = self.nodes.get_mut(idx) {
            node.asks_ledger = false;
        }
        let holds = self.ledger.holds(author);
        self.note(|| format!("the ledger is asked after a proposal: stored {holds}"));
        if !holds {
            let reason = "the last commit does not hold".to_owned();
            self.send_to_node(idx, life, LEDGER_LEG, Event::AppendFailed { batch, reason });
        }
        // What was stored meanwhile, its own among it.
        let n_batches = self.ledger.n_batches();
        self.post.send(now + LEDGER_LEG, Parcel::News { node: idx, life, n_batches });
    }
}
