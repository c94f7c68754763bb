//! One state of everything around one lift, and what each happening does to it.

use std::collections::BTreeSet;

use kernel::gateway::{CommandBlock, Effect, Event, Gateway, LiftMarks, Marks, WriteResult};
use kernel::ids::{Generation, NodeId};
use kernel::lease::{FencingToken, LeaseNonce, LeaseTable, StoreLife};
use kernel::lift::LiftStatus;
use kernel::time::Mono;
use kernel::wire::gateway::{Authority, GatewayCommand, LiftCommand, LiftReading, Outcome};

use super::lab::{Act, Bounds, Disk, Fate, Lab, Span};
use super::nodes::Node;
use super::plc::Plc;
use super::promises::Promise;
use super::sent::{Sent, Word, word};
use crate::fixture::at;

/// By which right each node commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Right {
    /// Both by the same: only the lease tells them apart.
    Same,
    /// The second took the task over.
    TakenOver,
    /// The second rides after the first, which is still in the car.
    Passed,
}

impl Right {
    pub(super) const ALL: [Self; 3] = [Self::Same, Self::TakenOver, Self::Passed];

    /// Session generation, task and claim of a node.
    pub(super) fn of(self, node: usize) -> (u64, &'static str, u64) {
        match (self, node) {
            (Self::TakenOver, 1) => (1, "T-1", 2),
            (Self::Passed, 1) => (2, "T-2", 1),
            (Self::Same | Self::TakenOver | Self::Passed, _) => (1, "T-1", 1),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) right: Right,
    pub(super) now: Mono,
    pub(super) left: Bounds,
    pub(super) store: LeaseTable,
    /// The highest serial that the store granted since it last forgot.
    pub(super) granted: u64,
    pub(super) nodes: [Node; 2],
    pub(super) sent: Vec<Sent>,
    gateway: Gateway,
    pub(super) kept: Marks,
    /// What the gateway published last, and when.
    pub(super) heard: LiftReading,
    pub(super) heard_at: Mono,
    /// What this gateway read last.
    pub(super) newest: Option<LiftStatus>,
    pub(super) plc: Plc,
    /// Rank and request of what was written last.
    pub(super) last: Option<(FencingToken, (NodeId, LeaseNonce))>,
    /// What was written and is not known yet.
    pub(super) open: Option<usize>,
    pub(super) broken: BTreeSet<Promise>,
}

impl World {
    /// An idle lift that was read just now. A rider of the first session may be in it.
    pub(super) fn new(lab: &Lab, right: Right) -> Self {
        let now = Mono(1000);
        let occupied = right == Right::Passed;
        let session = Generation(u64::from(occupied));
        let marks = LiftMarks { session, ..LiftMarks::default() };
        let kept = Marks { lifts: [(lab.lift.clone(), marks)].into(), ..Marks::default() };
        let mut gateway =
            Gateway::new(lab.gateway.clone(), &lab.plant, kept.clone(), at(now.0)).under(lab.rules);
        let plc = Plc::new(occupied);
        gateway.handle(Event::Read { lift: lab.lift.clone(), status: plc.shown.clone() }, at(now.0));
        let (mut first, mut kept) = (None, kept);
        while let Some(effect) = gateway.poll_effect() {
            match effect {
                Effect::Persist(marks) => kept = marks,
                Effect::Status(status) => first = status.lifts.into_iter().next(),
                Effect::Write { .. } | Effect::Tell(_) | Effect::Forward { .. } | Effect::Log { .. } => {}
            }
        }
        Self {
            right,
            now,
            left: lab.bounds,
            store: lab.empty_store(),
            granted: 0,
            nodes: [Node::new(), Node::new()],
            sent: Vec::new(),
            gateway,
            kept,
            heard: first.expect("a gateway tells its state"),
            heard_at: now,
            newest: Some(plc.shown.clone()),
            plc,
            last: None,
            open: None,
            broken: BTreeSet::new(),
        }
    }

    /// Whether the bounds let this happen, and whether it makes a difference.
    pub(super) fn may(&self, act: Act) -> bool {
        let flies = self.flies();
        let fated = |fate| match fate {
            Fate::Well => true,
            Fate::DiesAfter(_) => self.left.restarts > 0,
            Fate::WriteLost | Fate::AnswerLost | Fate::WordLost => self.left.troubles > 0,
            Fate::ReadFails | Fate::ScanHeld => self.left.troubles > 0 && flies,
        };
        // Nothing is queued when nothing is in flight, so time alone brings nothing to die after.
        let alive = |fate| flies || !matches!(fate, Fate::DiesAfter(_));
        match act {
            Act::Arrive { stays, fate, .. } => {
                // What arrives while a command is in flight is queued or refused, which is one effect; otherwise
                // the second effect brings it in flight.
                let matters = match fate {
                    Fate::DiesAfter(n) => flies == (n < 2),
                    Fate::Well
                    | Fate::WriteLost
                    | Fate::AnswerLost
                    | Fate::WordLost
                    | Fate::ReadFails
                    | Fate::ScanHeld => true,
                };
                fated(fate) && matters && (!stays || self.left.duplicates > 0)
            }
            Act::Pass(Span::Scan, fate) => fated(fate) && alive(fate) && self.left.scans > 0,
            Act::Pass(span, fate) => {
                let held = span != Span::Validity && fate == Fate::ScanHeld;
                let missed = span == Span::Life && self.nodes.iter().all(|it| it.asleep.is_none());
                fated(fate) && alive(fate) && self.left.spans > 0 && !held && !missed
            }
            Act::Ask { sleeps, forgets, .. } => {
                let held = self.nodes.iter().any(|it| it.mind.lease().is_some());
                (!forgets || self.left.losses > 0 && held)
                    && (!sleeps || self.left.pauses > 0 && self.left.spans > 0)
            }
            Act::Wake(_) => true,
        }
    }

    pub(super) fn arrive(&mut self, lab: &Lab, command: usize, stays: bool, fate: Fate) -> bool {
        let sent = &mut self.sent[command];
        if stays {
            self.left.duplicates -= 1;
        } else {
            sent.on_the_way -= 1;
        }
        let event = Event::Commanded(Box::new(GatewayCommand::Lift(sent.command.clone())));
        self.gateway.handle(event, at(self.now.0));
        self.perform(lab, fate)
    }

    pub(super) fn pass(&mut self, lab: &Lab, span: Span, fate: Fate) -> bool {
        let scans = match (span, fate) {
            (_, Fate::ScanHeld) => 0,
            (Span::Scan, _) => 1,
            (Span::Validity | Span::Hold | Span::Life, _) => 2,
        };
        *(if span == Span::Scan { &mut self.left.scans } else { &mut self.left.spans }) -= 1;
        self.now = self.now + span.millis();
        for _ in 0..scans {
            if !self.plc.scan() {
                self.broken.insert(Promise::NoContradiction);
            }
        }
        let lift = lab.lift.clone();
        let event = if fate == Fate::ReadFails {
            Event::ReadFailed { lift, reason: "timed out".to_owned() }
        } else {
            self.newest = Some(self.plc.shown.clone());
            Event::Read { lift, status: self.plc.shown.clone() }
        };
        if span != Span::Scan {
            self.plc.shown.occupied = false;
        }
        self.gateway.handle(event, at(self.now.0));
        let comes = self.perform(lab, fate);
        for idx in 0..self.nodes.len() {
            self.wait(lab, idx);
        }
        comes
    }

    pub(super) fn store_forgets(&mut self) {
        self.left.losses -= 1;
        self.granted = 0;
        self.store.forget(StoreLife::default());
    }

    fn restart(&mut self, lab: &Lab) -> bool {
        self.left.restarts -= 1;
        let flew = self.flies();
        let kept = if lab.disk == Disk::Forgetful { Marks::default() } else { self.kept.clone() };
        self.gateway = Gateway::new(lab.gateway.clone(), &lab.plant, kept, at(self.now.0)).under(lab.rules);
        self.newest = None;
        self.perform(lab, Fate::Well);
        flew
    }

    /// Does what the gateway wants, in order; false when this fate could not have come.
    fn perform(&mut self, lab: &Lab, fate: Fate) -> bool {
        let (mut done, mut wrote, mut heard, mut late) = (0, None, false, Vec::new());
        while let Some(effect) = self.gateway.poll_effect() {
            if !matches!(effect, Effect::Status(_) | Effect::Log { .. } | Effect::Forward { .. }) {
                if fate == Fate::DiesAfter(done) {
                    return self.restart(lab);
                }
                done += 1;
            }
            match effect {
                Effect::Persist(marks) if lab.disk == Disk::Late => late.push(marks),
                Effect::Persist(marks) => self.keep(marks),
                Effect::Write { block, .. } => {
                    wrote = Some(block.number);
                    self.write(block, fate == Fate::WriteLost);
                }
                Effect::Tell(outcome) => heard |= self.tell(lab, &outcome, fate == Fate::WordLost),
                Effect::Status(status) => {
                    self.heard = status.lifts.into_iter().next().expect("a gateway tells of its lift");
                    self.heard_at = self.now;
                }
                Effect::Forward { .. } | Effect::Log { .. } => {}
            }
        }
        late.into_iter().for_each(|marks| self.keep(marks));
        match (fate, wrote) {
            (Fate::DiesAfter(n), _) if n == done => self.restart(lab),
            (Fate::WordLost, _) => {
                self.left.troubles -= 1;
                heard
            }
            (Fate::Well, _) => true,
            (Fate::ReadFails | Fate::ScanHeld, _) | (Fate::WriteLost, Some(_)) => {
                self.left.troubles -= 1;
                true
            }
            (Fate::AnswerLost, Some(number)) => {
                self.left.troubles -= 1;
                let result = WriteResult::Unknown;
                self.gateway
                    .handle(Event::Written { lift: lab.lift.clone(), number, result }, at(self.now.0));
                self.perform(lab, Fate::Well)
            }
            (Fate::WriteLost | Fate::AnswerLost, None) | (Fate::DiesAfter(_), _) => false,
        }
    }

    fn keep(&mut self, marks: Marks) {
        let rises = |(lift, before): (_, &LiftMarks)| {
            marks.lifts.get(lift).is_some_and(|after| {
                let (epoch, token) = (before.epoch <= after.epoch, before.token <= after.token);
                epoch && token && before.session <= after.session && before.number <= after.number
            })
        };
        let claims = self.kept.claims.iter().all(|(task, claim)| marks.claim_of(task) >= Some(*claim));
        if !(self.kept.boot <= marks.boot && claims && self.kept.lifts.iter().all(rises)) {
            self.broken.insert(Promise::MarksNeverFall);
        }
        if marks.lifts.values().all(|it| it.in_flight.is_none()) {
            self.open = None;
        }
        self.kept = marks;
    }

    fn write(&mut self, block: CommandBlock, lost: bool) {
        let kept = self.kept.lifts.values().next().expect("marks of the lift");
        let flight =
            kept.in_flight.as_ref().filter(|it| it.number == block.number && kept.number == it.number);
        let Some(idx) = flight.and_then(|it| self.sent.iter().position(|sent| sent.command.id == it.command))
        else {
            self.broken.insert(Promise::NumberFirst);
            return;
        };
        let found = self.against(idx);
        self.broken.extend(found);
        self.open = Some(idx);
        let LiftCommand { authority, holder, .. } = &self.sent[idx].command;
        if let Authority::Lease { token, nonce } = *authority {
            self.last = Some((token, (holder.clone(), nonce)));
        }
        if !lost && !self.plc.write(block, idx) {
            self.broken.insert(Promise::NoContradiction);
        }
    }

    /// Takes what the gateway tells; true when somebody waits for it.
    fn tell(&mut self, lab: &Lab, outcome: &Outcome, lost: bool) -> bool {
        let idx = self
            .sent
            .iter()
            .position(|it| it.command.id == outcome.command)
            .expect("a command that was sent");
        let word = word(&outcome.verdict);
        let has_run = self.plc.ran.iter().any(|(_, command)| *command == idx);
        if matches!(word, Word::Accepted | Word::Ran) && !has_run {
            self.broken.insert(Promise::ToldTruly);
        }
        if matches!(word, Word::Accepted | Word::Ran | Word::NotSent) {
            self.open.take_if(|it| *it == idx);
        }
        self.sent[idx].told.insert(word);
        let waits = |it: &Node| it.mind.command() == Some(idx);
        if lost {
            return self.nodes.iter().any(waits);
        }
        (0..self.nodes.len()).any(|node| self.hear(lab, node, idx, word))
    }

    pub(super) fn was_told(&self, word: Word) -> bool {
        self.sent.iter().any(|it| it.told.contains(&word))
    }

    /// A command is in flight, by what was kept.
    fn flies(&self) -> bool {
        self.kept.lifts.values().any(|it| it.in_flight.is_some())
    }

    /// The gateway has started and must find out what became of a command.
    pub(super) fn starts_in_flight(&self) -> bool {
        self.newest.is_none() && self.flies()
    }
}
