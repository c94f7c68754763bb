//! *Before*: two nodes, each of which commands by its own polled view.
//!
//! No lease, no call record. A node sends as soon as its view, stale by the road, says that the lift is idle or that
//! its ride needs something. The view knows floor, motion and door, not whether the car is empty: reading that before
//! each command came with the leases (report, 5.1). A command whose acknowledgement does not come is sent again as a
//! new one (report, 2.3).

use std::collections::{BTreeMap, VecDeque};

use kernel::time::Mono;

use super::node::Node;
use super::{ACK_WAIT, LeaseCounts, LiftEffect, LiftEvent, NodeName, Policy, Wish};
use crate::before_after::calibration::Knobs;
use crate::rng::Rng;

#[derive(Clone, Debug)]
struct InFlight {
    serial: u64,
    wish: Wish,
    until: Mono,
}

#[derive(Clone, Debug)]
struct Dispatcher {
    node: Node,
    in_flight: Option<InFlight>,
}

/// The dispatcher as it was.
#[derive(Clone, Debug)]
pub(in crate::before_after) struct Before {
    dispatchers: BTreeMap<NodeName, Dispatcher>,
    serial: u64,
    effects: VecDeque<LiftEffect>,
}

impl Before {
    /// Two idle nodes.
    pub(in crate::before_after) fn new(seed: u64, knobs: &Knobs) -> Self {
        let dispatcher = |name: NodeName| {
            let rng = Rng::new(seed, &format!("node {name:?}"));
            (name, Dispatcher { node: Node::new(knobs, false, rng), in_flight: None })
        };
        let dispatchers = NodeName::BOTH.map(dispatcher).into();
        Self { dispatchers, serial: 0, effects: VecDeque::new() }
    }

    fn act(&mut self, name: NodeName, now: Mono) {
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        let lost = dispatcher.in_flight.take_if(|it| it.until <= now).map(|it| it.wish);
        if dispatcher.in_flight.is_some() {
            return;
        }
        if lost.is_none()
            && dispatcher.node.looks(now)
            && let Some(vehicle) = dispatcher.node.begin(now)
        {
            self.effects.push_back(LiftEffect::Summon { vehicle });
        }
        if let Some(wish) = lost.or_else(|| dispatcher.node.wish(now)) {
            self.serial += 1;
            dispatcher.node.sent(wish.clone(), now);
            let flight = InFlight { serial: self.serial, wish: wish.clone(), until: now + ACK_WAIT };
            dispatcher.in_flight = Some(flight);
            self.effects.push_back(LiftEffect::Write { node: name, serial: self.serial, wish });
        }
    }
}

impl Policy for Before {
    fn handle(&mut self, event: LiftEvent, now: Mono) {
        let name = event.node();
        let Some(dispatcher) = self.dispatchers.get_mut(&name) else { return };
        match event {
            LiftEvent::Asked { ask, .. } => dispatcher.node.ask(ask),
            LiftEvent::Boarded { vehicle, .. } => dispatcher.node.boarded(&vehicle),
            LiftEvent::Alighted { vehicle, .. } => dispatcher.node.alighted(&vehicle),
            LiftEvent::Polled { status, .. } | LiftEvent::Read { status, .. } => {
                dispatcher.node.see(status, now);
            }
            LiftEvent::Acked { serial, .. } => {
                dispatcher.in_flight.take_if(|it| it.serial == serial);
            }
        }
        self.act(name, now);
    }

    fn handle_timeout(&mut self, now: Mono) {
        for name in NodeName::BOTH {
            if self
                .dispatchers
                .get(&name)
                .and_then(|it| it.in_flight.as_ref())
                .is_some_and(|it| it.until <= now)
            {
                self.act(name, now);
            }
        }
    }

    fn poll_effect(&mut self) -> Option<LiftEffect> {
        self.effects.pop_front()
    }

    fn poll_timeout(&self) -> Option<Mono> {
        self.dispatchers.values().filter_map(|it| it.in_flight.as_ref()).map(|it| it.until).min()
    }

    fn leases(&self) -> Option<LeaseCounts> {
        None
    }
}

#[cfg(test)]
mod tests;
