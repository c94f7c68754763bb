//! Who is cut off from the broker, and not from the ledger. Such a node lives, takes orders and keeps its run. But no
//! gateway and no vehicle hears it, so it leaves its share to those that are heard, until it is heard itself.
//!
//! Whom the broker does not reach says so in the ledger, and each node counts on its own clock since when. It counts
//! only while the broker reaches another one: when it reaches nobody the broker is gone, nobody could do better, and
//! nothing changes hands.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::NodeId;
use crate::time::{Mono, Now};
use crate::timing::BROKER_CUT_OFF_AFTER;

use super::Control;
use super::book::Touched;

/// The nodes that the broker does not reach, while it reaches another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CutOff {
    since: BTreeMap<NodeId, Mono>,
    /// Those that have been for so long that they have no share.
    out: BTreeSet<NodeId>,
}

impl CutOff {
    pub(super) fn is_out(&self, node: &NodeId) -> bool {
        self.out.contains(node)
    }
}

impl Control {
    /// Whether the broker reaches a node, as it said last; none before it said anything.
    pub(super) fn hears_broker(&self, node: &NodeId) -> Option<bool> {
        if *node == self.config.node { Some(self.broker_connected) } else { self.word_on_broker(node) }
    }

    /// Counts on. A node that finds itself cut off decides nothing more about what it had, as at a graceful stop: it
    /// counts from the moment itself, and the others from its word, so as a rule it has stopped before they claim its tasks;
    /// when all lose the broker at once and one comes back first, a claim may come before, and the fences hold.
    pub(super) fn note_cut_off(&mut self, now: Now) {
        let someone_hears = self.living(now).any(|it| self.hears_broker(it) == Some(true));
        let lags = |it: &&NodeId| someone_hears && self.hears_broker(it) == Some(false);
        let since = |it: &NodeId| self.cut_off.since.get(it).copied().unwrap_or(now.mono);
        let since: BTreeMap<NodeId, Mono> =
            self.living(now).filter(lags).map(|it| (it.clone(), since(it))).collect();
        let is_over = |it: &Mono| now.mono.since(*it) >= BROKER_CUT_OFF_AFTER;
        let out: BTreeSet<NodeId> =
            since.iter().filter(|(_, it)| is_over(it)).map(|(id, _)| id.clone()).collect();
        self.cut_off.since = since;
        if out == self.cut_off.out {
            return;
        }
        if out.contains(&self.config.node) {
            self.give_up_voices();
        }
        self.cut_off.out = out;
        // Whose tasks they are is shown.
        self.touched.insert(Touched::Nodes);
    }
}
