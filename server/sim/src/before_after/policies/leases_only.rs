//! *Leases only*: as the report built it. One lease per lift around read, decide, send and acknowledgement, first
//! come first served; one call record per floor and action.
//!
//! No fence and no session: between two commands of a ride the lift belongs to nobody. The call record is the
//! report's: it lives 5 s from the first call, and a repeat within them counts as done (4.1, 4.3).

use std::collections::{BTreeMap, VecDeque};

use kernel::time::{Millis, Mono};

use super::node::Node;
use super::{ACK_WAIT, LeaseCounts, LiftEffect, LiftEvent, NodeName, Policy, Wish};
use crate::before_after::calibration::Knobs;
use crate::rng::Rng;

/// How long a node waits for the lease (report, 4.3).
const LEASE_WAIT: Millis = Millis::seconds(2);
/// How long a call record lives (report, 4.3).
const RECORD_LIFE: Millis = Millis::seconds(5);
/// From request to grant of a free lease, in µs: Redis beside the nodes, over a plant network.
pub(in crate::before_after) const STORE_ROUND_TRIP_US: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// No command is being made.
    Idle,
    /// In the store's line.
    Waiting { since: Mono },
    /// Holds the lease; the PLC is being read.
    Reading,
    /// Holds the lease; the acknowledgement is awaited.
    Sending { serial: u64, until: Mono },
}

#[derive(Clone, Debug)]
struct Dispatcher {
    node: Node,
    step: Step,
}

/// The dispatcher with leases.
#[derive(Clone, Debug)]
pub(in crate::before_after) struct LeasesOnly {
    dispatchers: BTreeMap<NodeName, Dispatcher>,
    holder: Option<NodeName>,
    line: VecDeque<NodeName>,
    records: BTreeMap<Wish, Mono>,
    counts: LeaseCounts,
    serial: u64,
    effects: VecDeque<LiftEffect>,
}

impl LeasesOnly {
    /// Two idle nodes and a free lease.
    pub(in crate::before_after) fn new(seed: u64, knobs: &Knobs) -> Self {
        let dispatcher = |name: NodeName| {
            let rng = Rng::new(seed, &format!("node {name:?}"));
            (name, Dispatcher { node: Node::new(knobs, true, rng), step: Step::Idle })
        };
        Self {
            dispatchers: NodeName::BOTH.map(dispatcher).into(),
            holder: None,
            line: VecDeque::new(),
            records: BTreeMap::new(),
            counts: LeaseCounts::default(),
            serial: 0,
            effects: VecDeque::new(),
        }
    }

    /// Asks for the lease when the node has something to send.
    fn act(&mut self, name: NodeName, now: Mono) {
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        let node = &dispatcher.node;
        let sends = node.wish(now).is_some() && node.lift_is_at_rest();
        if dispatcher.step == Step::Idle && (node.looks(now) || sends) {
            dispatcher.step = Step::Waiting { since: now };
            self.counts.asked += 1;
            self.line.push_back(name);
            self.grant(now);
        }
    }

    fn grant(&mut self, now: Mono) {
        if self.holder.is_some() {
            return;
        }
        let Some(name) = self.line.pop_front() else { return };
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        if let Step::Waiting { since } = dispatcher.step {
            self.counts.granted += 1;
            self.counts.waited_us += now.since(since).0.saturating_mul(1000) + STORE_ROUND_TRIP_US;
            self.holder = Some(name);
            dispatcher.step = Step::Reading;
            self.effects.push_back(LiftEffect::Read { node: name });
        }
    }

    fn release(&mut self, name: NodeName, now: Mono) {
        if let Some(dispatcher) = self.dispatchers.get_mut(&name) {
            dispatcher.step = Step::Idle;
        }
        self.holder.take_if(|it| *it == name);
        self.grant(now);
    }

    /// Decides on what was read under the lease.
    fn decide(&mut self, name: NodeName, now: Mono) {
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        if dispatcher.node.looks(now)
            && let Some(vehicle) = dispatcher.node.begin(now)
        {
            self.effects.push_back(LiftEffect::Summon { vehicle });
        }
        let wish = dispatcher.node.wish(now).filter(|_| dispatcher.node.lift_is_at_rest());
        let Some(wish) = wish else { return self.release(name, now) };
        dispatcher.node.sent(wish.clone(), now);
        self.records.retain(|_, until| *until > now);
        if self.records.contains_key(&wish) {
            return self.release(name, now);
        }
        self.records.insert(wish.clone(), now + RECORD_LIFE);
        self.serial += 1;
        dispatcher.step = Step::Sending { serial: self.serial, until: now + ACK_WAIT };
        self.effects.push_back(LiftEffect::Write { node: name, serial: self.serial, wish });
    }

    fn expire(&mut self, name: NodeName, now: Mono) {
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        match dispatcher.step {
            Step::Waiting { since } if now >= since + LEASE_WAIT => {
                dispatcher.step = Step::Idle;
                dispatcher.node.look_later(now);
                self.line.retain(|it| *it != name);
            }
            // What became of the command is not known; the next reading tells.
            Step::Sending { until, .. } if now >= until => {
                dispatcher.node.unsent();
                self.release(name, now);
            }
            Step::Idle | Step::Waiting { .. } | Step::Reading | Step::Sending { .. } => {}
        }
    }

    fn due(dispatcher: &Dispatcher) -> Option<Mono> {
        match dispatcher.step {
            Step::Waiting { since } => Some(since + LEASE_WAIT),
            Step::Sending { until, .. } => Some(until),
            Step::Idle | Step::Reading => None,
        }
    }
}

impl Policy for LeasesOnly {
    fn handle(&mut self, event: LiftEvent, now: Mono) {
        let name = event.node();
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        match event {
            LiftEvent::Asked { ask, .. } => dispatcher.node.ask(ask),
            LiftEvent::Boarded { vehicle, .. } => dispatcher.node.boarded(&vehicle),
            LiftEvent::Alighted { vehicle, .. } => dispatcher.node.alighted(&vehicle),
            LiftEvent::Polled { status, .. } => dispatcher.node.see(status, now),
            LiftEvent::Read { status, .. } => {
                dispatcher.node.see(status, now);
                self.decide(name, now);
            }
            LiftEvent::Acked { serial, .. } => {
                if matches!(dispatcher.step, Step::Sending { serial: sent, .. } if sent == serial) {
                    self.release(name, now);
                }
            }
        }
        self.act(name, now);
    }

    fn handle_timeout(&mut self, now: Mono) {
        for name in NodeName::BOTH {
            self.expire(name, now);
        }
    }

    fn poll_effect(&mut self) -> Option<LiftEffect> {
        self.effects.pop_front()
    }

    fn poll_timeout(&self) -> Option<Mono> {
        self.dispatchers.values().filter_map(Self::due).min()
    }

    fn leases(&self) -> Option<LeaseCounts> {
        Some(self.counts)
    }
}

/// What a test keeps as it is.
#[cfg(test)]
pub(super) fn frozen() -> String {
    format!("{:?}", (LEASE_WAIT, RECORD_LIFE, STORE_ROUND_TRIP_US))
}

#[cfg(test)]
mod tests;
