//! Several nodes on one ledger: who counts, whose task is whose, and what becomes of the tasks of a node that is gone.
//!
//! A claim counts while the run counts in which it was made. A run ends by itself in good order, by a new start of
//! its node, or because the others found it silent; then its tasks are shared out among those that have a share, by the
//! same sum on every node. Two that disagree for a moment do no harm: the ledger takes one claim and refuses the other.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::ids::{LedgerSequence, LiftId, NodeId, TaskId, VehicleId};
use crate::ledger::Presence;
use crate::safeguard::Safeguard;
use crate::time::{Mono, Now};
use crate::timing::{PEER_LOST_AFTER, PEER_READ_GAP_MAX, PEER_SILENT_AFTER};
use crate::wire::ledger::{Entry, Record};
use crate::wire::view::{NodeStanding, PeerView};

use super::book::{Book, SessionBook, TaskBook, Touched};
use super::{Control, Effect, Lock};

/// A node as the ledger has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBook {
    /// Its last run.
    pub run: u64,
    /// How that ended; none while it counts.
    pub end: Option<NodeEnd>,
    /// When it began or ended.
    pub since: DateTime<Utc>,
}

/// How a run of a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEnd {
    /// By itself, in good order.
    Stopped,
    /// Others found it silent.
    Lost,
}

/// What this node knows of another besides the ledger's entries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PeerEar {
    presence: Option<Presence>,
    /// When its word last changed, on this machine's own clock.
    moved_at: Mono,
}

/// What was made of the nodes when they were looked at last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// So that a change by time alone is shown.
    standings: BTreeMap<NodeId, NodeStanding>,
    /// So that the sum is done once for each change, and not at each heartbeat.
    shares: Option<Shares>,
}

/// The unclaimed tasks that fall to this node, and what that rests on.
#[derive(Clone, Debug, PartialEq)]
struct Shares {
    ledger: LedgerSequence,
    sharing: Vec<NodeId>,
    ours: BTreeSet<TaskId>,
}

/// How far this node is with leaving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It stays.
    #[default]
    No,
    /// It was asked to leave: it decides nothing new, and says so in the ledger when nothing is on its way any more.
    Asked,
    /// The ledger has it, or cannot be told.
    Done,
}

impl Control {
    /// The ledger was read: who says there that it lives.
    pub(super) fn peers_heard(&mut self, presences: Vec<Presence>, now: Now) {
        // Whoever was deaf for a while, this machine paused or the ledger away, has missed what the others said.
        let deaf = self.peers_read_at.is_none_or(|at| now.mono.since(at) > PEER_READ_GAP_MAX);
        self.peers_read_at = Some(now.mono);
        for presence in presences {
            let fresh = PeerEar { presence: None, moved_at: now.mono };
            let ear = self.peers.entry(presence.node.clone()).or_insert(fresh);
            let word = |it: &Presence| (it.run, it.beat);
            if deaf || ear.presence.as_ref().map(word) != Some(word(&presence)) {
                ear.moved_at = now.mono;
            }
            ear.presence = Some(presence);
        }
        self.touched.insert(Touched::Nodes);
    }

    /// A run of another node begins: its first word is due.
    pub(super) fn peer_started(&mut self, node: &NodeId, now: Now) {
        let fresh = PeerEar { presence: None, moved_at: now.mono };
        self.peers.entry(node.clone()).or_insert(fresh).moved_at = now.mono;
    }

    /// What a node's last run said of itself.
    fn presence_of(&self, node: &NodeId) -> Option<&Presence> {
        let run = self.book.run_of(node);
        self.peers.get(node)?.presence.as_ref().filter(|it| it.run == run)
    }

    pub(super) fn word_on_broker(&self, node: &NodeId) -> Option<bool> {
        self.presence_of(node).map(|it| it.hears_broker)
    }

    /// How long another node has said nothing, as far as this one can tell.
    fn silent_for(&self, node: &NodeId, now: Now) -> crate::time::Millis {
        let hears = self.peers_read_at.is_some_and(|at| now.mono.since(at) <= PEER_READ_GAP_MAX);
        if !hears || *node == self.config.node {
            return crate::time::Millis(0);
        }
        let since = self.peers.get(node).map_or(self.started, |ear| ear.moved_at.max(self.started));
        now.mono.since(since)
    }

    fn standing(&self, node: &NodeId, now: Now) -> NodeStanding {
        match self.book.nodes.get(node).map(|it| it.end) {
            Some(None) if self.silent_for(node, now) >= PEER_SILENT_AFTER => NodeStanding::Silent,
            Some(None) => NodeStanding::Running,
            Some(Some(NodeEnd::Stopped)) => NodeStanding::Stopped,
            Some(Some(NodeEnd::Lost)) | None => NodeStanding::Lost,
        }
    }

    /// Who has grown silent is shown so, and who cannot be told from silent any more is shown so no longer, although
    /// nothing was read.
    pub(super) fn note_standings(&mut self, now: Now) {
        let standings = || self.book.nodes.keys().map(|id| (id, self.standing(id, now)));
        // At each heartbeat, and nearly always the same: nothing is copied for the look.
        if !self.seen.standings.iter().map(|(id, it)| (id, *it)).eq(standings()) {
            self.seen.standings = standings().map(|(id, it)| (id.clone(), it)).collect();
            self.touched.insert(Touched::Nodes);
        }
    }

    /// The nodes whose run counts and who are not gone, by name.
    pub(super) fn living(&self, now: Now) -> impl Iterator<Item = &NodeId> {
        let counts = self.book.nodes.iter().filter(|(_, it)| it.end.is_none()).map(|(id, _)| id);
        counts.filter(move |id| self.silent_for(id, now) < PEER_LOST_AFTER)
    }

    /// Those of them that have a share: whom the broker does not reach has none.
    fn sharing(&self, now: Now) -> impl Iterator<Item = &NodeId> {
        self.living(now).filter(|it| !self.cut_off.is_out(it))
    }

    /// One node at a time does what belongs to no task: the first by name of those that have a share. Two that both think so
    /// are told apart by the ledger.
    pub(super) fn is_steward(&self, now: Now) -> bool {
        self.sharing(now).next().is_some_and(|it| *it == self.config.node)
    }

    /// Who drives a task: the node whose claim on it counts, and which is not cut off from the broker.
    pub(super) fn owner<'a>(&'a self, task: &'a TaskBook) -> Option<&'a NodeId> {
        let node = task.claimed_by.as_ref()?;
        let book = self.book.nodes.get(node)?;
        let counts = book.end.is_none() && book.run == task.claimed_in;
        (counts && !self.cut_off.is_out(node)).then_some(node)
    }

    pub(super) fn is_own(&self, task: &TaskBook) -> bool {
        self.owner(task).is_some_and(|node| *node == self.config.node)
    }

    /// A ride is driven by whoever drives its task; after that is over and its node gone, by the steward.
    pub(super) fn drives_session(&self, session: &SessionBook, now: Now) -> bool {
        match self.book.tasks.get(&session.task) {
            Some(task) if self.owner(task).is_some() => self.is_own(task),
            Some(task) => task.state.is_terminal() && self.is_steward(now),
            None => self.is_steward(now),
        }
    }

    /// A vehicle's link is kept by whoever drives its task; without one, by the steward.
    pub(super) fn keeps_vehicle(&self, vehicle: &VehicleId, now: Now) -> bool {
        match self.book.task_of(vehicle) {
            Some((_, task)) => self.is_own(task),
            None => self.is_steward(now),
        }
    }

    /// A lift's alarms are kept by whoever drives its ride; without one, by the steward.
    pub(super) fn keeps_lift(&self, lift: &LiftId, now: Now) -> bool {
        match self.book.session_of(lift) {
            Some(session) => self.drives_session(session, now),
            None => self.is_steward(now),
        }
    }

    /// A task's alarms are kept by whoever drives it; of one that nobody drives, by the steward.
    pub(super) fn keeps_task(&self, task: &TaskId, now: Now) -> bool {
        match self.book.tasks.get(task) {
            Some(task) if self.owner(task).is_some() => self.is_own(task),
            Some(_) | None => self.is_steward(now),
        }
    }

    /// Finds who is gone, and says so in the ledger.
    pub(super) fn drive_nodes(&mut self, now: Now) {
        if !self.is_steward(now) || !self.safeguards.holds(Safeguard::Takeover) {
            return;
        }
        let silent = self.book.nodes.iter().filter(|(id, it)| {
            it.end.is_none() && **id != self.config.node && self.silent_for(id, now) >= PEER_LOST_AFTER
        });
        let lost: Vec<(NodeId, u64)> = silent.map(|(id, it)| (id.clone(), it.run)).collect();
        for (node, run) in lost {
            self.propose(now, vec![Lock::Peer(node.clone())], vec![Record::NodeLost { node, run }]);
        }
    }

    /// Works out anew which unclaimed tasks fall to this node, if the ledger or who has a share has changed.
    pub(super) fn share_out(&mut self, now: Now) {
        let ledger = self.book.sequence;
        let stands = self.seen.shares.as_ref();
        if !stands.is_some_and(|it| it.ledger == ledger && it.sharing.iter().eq(self.sharing(now))) {
            let sharing: Vec<NodeId> = self.sharing(now).cloned().collect();
            let ours = self.share_among(&sharing);
            self.seen.shares = Some(Shares { ledger, sharing, ours });
        }
    }

    /// By the last [`Control::share_out`].
    pub(super) fn falls_to_us(&self, task: &TaskId) -> bool {
        self.seen.shares.as_ref().is_some_and(|it| it.ours.contains(task))
    }

    /// Each unclaimed task, the oldest first, falls to the node with the fewest.
    fn share_among(&self, sharing: &[NodeId]) -> BTreeSet<TaskId> {
        let mut loads: BTreeMap<&NodeId, u32> = sharing.iter().map(|it| (it, 0)).collect();
        let mut unclaimed = Vec::new();
        for (id, task) in self.book.open_tasks() {
            match self.owner(task) {
                Some(node) => *loads.entry(node).or_default() += 1,
                None => unclaimed.push((task.placed, id)),
            }
        }
        unclaimed.sort();
        let mut ours = BTreeSet::new();
        for (_, id) in unclaimed {
            let Some((node, load)) = loads.iter_mut().min_by_key(|(node, load)| (**load, **node)) else {
                break;
            };
            *load += 1;
            if **node == self.config.node {
                ours.insert(id.clone());
            }
        }
        ours
    }

    pub(super) fn stop_requested(&mut self) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::Asked;
        }
    }

    /// Says in the ledger that this run is over, once nothing of it is on its way any more.
    pub(super) fn drive_leaving(&mut self, now: Now) {
        if self.leaving != Leaving::Asked || !self.locks.is_empty() {
            return;
        }
        let run = self.run;
        let asked =
            run > 0 && self.propose(now, vec![Lock::Node], vec![Record::NodeStopped { run }]).is_some();
        if !asked {
            self.left();
        }
    }

    /// This run counts no more: what it held is given back, and nothing is decided.
    pub(super) fn run_is_over(&mut self) {
        self.run = 0;
        self.touched.insert(Touched::Node);
        self.give_up_voices();
    }

    pub(super) fn give_up_voices(&mut self) {
        for lift in self.plant.lifts.keys().cloned().collect::<Vec<_>>() {
            self.give_up_voice(&lift);
        }
    }

    pub(super) fn left(&mut self) {
        self.leaving = Leaving::Done;
        self.effects.push_back(Effect::Left);
    }

    /// The nodes as they are shown.
    pub(super) fn peer_views(&self, now: Now) -> Vec<PeerView> {
        let claims = |node: &NodeId| {
            let own = self.book.open_tasks().filter(|(_, it)| self.owner(it) == Some(node));
            u32::try_from(own.count()).unwrap_or(u32::MAX)
        };
        let view = |id: &NodeId, book: &super::NodeBook| {
            let presence = self.presence_of(id);
            let (heard_at, standing) = (presence.map(|it| it.at), self.standing(id, now));
            let silent = standing == NodeStanding::Silent;
            PeerView {
                id: id.clone(),
                run: book.run,
                standing,
                version: presence.map(|it| it.version.clone()),
                since: heard_at.filter(|_| silent).unwrap_or(book.since),
                heard_at,
                hears_broker: self.hears_broker(id),
                tasks: claims(id),
            }
        };
        self.book.nodes.iter().map(|(id, book)| view(id, book)).collect()
    }
}

impl Book {
    pub(super) fn end_run(&mut self, entry: &Entry, node: &NodeId, run: u64, end: NodeEnd) -> Vec<Touched> {
        if let Some(book) = self.nodes.get_mut(node).filter(|it| it.run == run) {
            (book.end, book.since) = (Some(end), entry.at);
        }
        vec![Touched::Nodes]
    }

    /// The last run of a node; 0 of one that never started.
    pub fn run_of(&self, node: &NodeId) -> u64 {
        self.nodes.get(node).map_or(0, |it| it.run)
    }
}
