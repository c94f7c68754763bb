//! The ledger that all nodes share: conditional writes, one order of entries, and news of them that come late.

use std::collections::BTreeMap;

use kernel::control::{BatchId, Event};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::ledger::{Guard, Presence, Rows};
use kernel::safeguard::Safeguard;
use kernel::time::{Millis, Mono};
use kernel::timing::FOLLOW_POLL;
use kernel::wire::gateway::LiftCommand;
use kernel::wire::ledger::{Entry, Record};

use super::World;
use super::ledger_road::Brought;
use super::perform::{BROKER_LEG, LEDGER_LEG};
use super::post::Parcel;
use crate::fault::Road;

/// A notification of the ledger reaches another node so late.
const NOTIFICATION_MS: std::ops::RangeInclusive<u64> = 1..=15;
/// One notification in so many is lost: the poll behind it brings the news.
const LOST_ONE_IN: u64 = 50;

/// Records that were stored together.
#[derive(Clone, Debug)]
struct Batch {
    /// Whose, of which life, and its own name for it.
    author: (usize, u32, BatchId),
    entries: std::ops::Range<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SharedLedger {
    entries: Vec<Entry>,
    batches: Vec<Batch>,
    rows: Rows,
    presences: BTreeMap<NodeId, Presence>,
}

impl SharedLedger {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn n_batches(&self) -> usize {
        self.batches.len()
    }

    pub(super) fn holds(&self, author: (usize, u32, BatchId)) -> bool {
        self.batches.iter().rev().any(|it| it.author == author)
    }
}

impl World {
    pub(super) fn cut_off_ledger(&mut self, id: &NodeId, until: Mono) {
        if let Some(node) = self.nodes.iter_mut().find(|it| it.id == *id) {
            node.ledger_cut = node.ledger_cut.max(Some(until));
        }
    }

    /// Until when a node and the ledger do not reach each other, if they do not.
    pub(super) fn ledger_cut(&self, node: usize) -> Option<Mono> {
        self.nodes.get(node).and_then(|it| it.ledger_cut).filter(|until| self.now < *until)
    }

    /// What a node writes is stored or refused.
    pub(super) fn reaches_ledger(&self, node: usize) -> bool {
        self.ledger_cut(node).is_none() && self.ledger_away.is_none_or(|until| until <= self.now)
    }

    /// A node's word that it lives is on its way; one that is lost is made up for by the next.
    pub(super) fn attend(&mut self, (node, life): (usize, u32), run: u64, beat: u64, hears_broker: bool) {
        let at = self.ledger_turn(node);
        if !self.is_lost_to_ledger() {
            self.post.send(at, Parcel::Attend { node, life, run, beat, hears_broker });
        }
    }

    fn ledger_answers(&mut self, idx: usize, life: u32, event: Event) {
        let leg = LEDGER_LEG + self.draw_delay(Road::Ledger);
        self.send_to_node(idx, life, leg, event);
    }

    pub(super) fn ledger_takes(
        &mut self,
        author: (usize, u32, BatchId),
        records: Vec<Record>,
        guards: &[Guard],
        brought: Brought,
    ) {
        let (node, life, batch) = author;
        if !self.reaches_ledger(node) {
            let reason = "the ledger does not answer".to_owned();
            self.refuse((node, life), brought, Event::AppendFailed { batch, reason });
            return;
        }
        let conditional = self.config.safeguards.holds(Safeguard::ConditionalWrites);
        if brought == Brought::Copy {
            self.note(|| "refused by the ledger: a copy of what was brought before".to_owned());
            if conditional {
                return;
            }
        }
        if let Err(conflict) = self.ledger.rows.check(guards) {
            self.note(|| format!("refused by the ledger: {conflict}"));
            if conditional {
                self.refuse((node, life), brought, Event::Conflicted { batch, conflict });
                return;
            }
        }
        self.store_records(author, records);
        self.spread_news(node, brought);
    }

    fn refuse(&mut self, (node, life): (usize, u32), brought: Brought, event: Event) {
        match brought {
            Brought::First => self.ledger_answers(node, life, event),
            Brought::Unanswered | Brought::Copy => {}
        }
    }

    fn store_records(&mut self, author: (usize, u32, BatchId), records: Vec<Record>) {
        let Some(machine) = self.nodes.get(author.0) else { return };
        let (id, at) = (machine.id.clone(), machine.clock.stamp(self.now).wall);
        let first = self.ledger.entries.len();
        for record in records {
            let sequence = LedgerSequence(u64::try_from(self.ledger.entries.len()).unwrap_or(u64::MAX) + 1);
            self.note(|| format!("#{sequence} {record:?}"));
            let entry = Entry { sequence, at, node: id.clone(), record, drill: false };
            self.checkers.recorded(self.now, &entry, &self.sim);
            self.coverage.recorded(&entry.record);
            self.ledger.rows.apply(&entry.node, &entry.record);
            self.ledger.entries.push(entry);
        }
        self.ledger.batches.push(Batch { author, entries: first..self.ledger.entries.len() });
    }

    /// The author hears by the answer, the others by notification.
    fn spread_news(&mut self, author: usize, brought: Brought) {
        let n_batches = self.ledger.batches.len();
        for node in 0..self.nodes.len() {
            let Some(life) = self.nodes.get(node).filter(|it| it.control.is_some()).map(|it| it.life) else {
                continue;
            };
            if node == author && brought == Brought::Unanswered {
                continue;
            }
            let leg = if node == author { LEDGER_LEG } else { self.draw_notification() };
            let at = self.now + leg + self.draw_delay(Road::Ledger);
            self.post.send(at, Parcel::News { node, life, n_batches });
        }
    }

    fn draw_notification(&mut self) -> Millis {
        let lost = self.rng.within(1..=LOST_ONE_IN) == 1 || self.is_lost_to_ledger();
        if lost { FOLLOW_POLL } else { Millis(self.rng.within(NOTIFICATION_MS)) }
    }

    /// A node takes in what the ledger holds beyond what it had, in order, each batch once.
    pub(super) fn news(&mut self, place: u64, idx: usize, life: u32, n_batches: usize) {
        let (now, cut) = (self.now, self.ledger_cut(idx));
        let Some(node) = self.nodes.get_mut(idx).filter(|it| it.life == life) else { return };
        if let Some(until) = node.clock.paused(now).max(cut) {
            self.post.hold(until, place, Parcel::News { node: idx, life, n_batches });
            return;
        }
        while let Some(node) =
            self.nodes.get_mut(idx).filter(|it| it.follows(life) && it.n_followed < n_batches)
        {
            let Some(batch) = self.ledger.batches.get(node.n_followed) else { return };
            let entries = self.ledger.entries.get(batch.entries.clone()).unwrap_or_default().to_vec();
            let (author, author_life, name) = batch.author;
            let own = author == idx && author_life == life;
            let event =
                if own { Event::Appended { batch: name, entries } } else { Event::Followed { entries } };
            node.n_followed += 1;
            let stamp = node.clock.stamp(now);
            if let Some(control) = node.control.as_mut() {
                control.handle(event, stamp);
            }
            self.drain_node(idx);
        }
    }

    /// A node says that it lives, and hears who else does.
    pub(super) fn attended(&mut self, (idx, life): (usize, u32), run: u64, beat: u64, hears_broker: bool) {
        if !self.reaches_ledger(idx) {
            return;
        }
        let Some(node) = self.nodes.get(idx) else { return };
        let presence = Presence {
            node: node.id.clone(),
            run,
            beat,
            version: "lab".to_owned(),
            hears_broker,
            at: node.clock.stamp(self.now).wall,
        };
        self.ledger.presences.insert(node.id.clone(), presence);
        let peers = self.ledger.presences.values().cloned().collect();
        if !self.is_lost_to_ledger() {
            self.ledger_answers(idx, life, Event::Peers(peers));
        }
    }

    /// The others listen on the gateway's road.
    pub(super) fn overhear(&mut self, speaker: usize, command: &LiftCommand) {
        for node in (0..self.nodes.len()).filter(|it| *it != speaker) {
            if !self.reaches_broker(speaker) || !self.reaches_broker(node) {
                continue;
            }
            let Some(life) = self.nodes.get(node).filter(|it| it.control.is_some()).map(|it| it.life) else {
                continue;
            };
            let event = Event::Overheard(Box::new(command.clone()));
            let wait = self.broker_turn().since(self.now);
            self.send_to_node(node, life, wait + BROKER_LEG.times(2), event);
        }
    }

    /// A node that was asked to stop has handed over.
    pub(super) fn node_left(&mut self, idx: usize) {
        let Some(node) = self.nodes.get_mut(idx) else { return };
        let Some(away) = node.leaves_for.take() else { return };
        node.control = None;
        node.life += 1;
        let id = node.id.clone();
        self.note(|| format!("node {id} ends"));
        self.checkers.node_died(idx);
        self.post.send(self.now + away, Parcel::NodeUp { node: idx });
    }
}
