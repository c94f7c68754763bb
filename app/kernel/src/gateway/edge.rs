//! Edge arbitration: while no node reaches the lease store, the gateway decides between nodes by what it sees itself.
//!
//! Knows: which nodes live and whether they reach the store, by their beats and its own clock; which command an edge
//! gateway lets through. Must not know: leases.

use std::collections::BTreeMap;

use crate::ids::{Generation, LiftId, NodeId};
use crate::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use crate::safeguard::Safeguard;
use crate::time::{Mono, Now};
use crate::timing::{NODE_SILENT_AFTER, STORE_OUTAGE, STORE_STEADY};
use crate::wire::gateway::{Arbitration, ControlBeat, GatewayRefusal};

use super::{Effect, Gateway};

/// Nodes that are listened to. A site has a handful; of more, the one that was silent for longest is forgotten.
const NODES_MAX: usize = 64;

/// What a lift is doing, as edge arbitration sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LiftState {
    /// Stands level with its door shut, and nothing is under way.
    Idle,
    /// Travels, or is about to.
    Moving,
    /// Its door opens.
    DoorOpening,
    /// Its door is open, or was stopped by something in its way.
    DoorOpen,
    /// Its door shuts.
    DoorClosing,
    /// It reports a fault, does not serve vehicles, or stands between floors.
    Error,
}

/// For whose ride a command speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionRank {
    /// For the ride that the gateway knows.
    Own,
    /// For a later one: the ledger grants it when the earlier one is over.
    Newer,
    /// For an earlier one.
    Older,
}

/// Whether somebody is in the car.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Car {
    /// It is proven empty.
    Empty,
    /// It is not.
    PerhapsOccupied,
}

impl LiftState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Moving, Self::DoorOpening, Self::DoorOpen, Self::DoorClosing, Self::Error];

    /// Of a lift that shows this.
    pub fn of(status: &LiftStatus) -> Self {
        let busy = status.accepted != status.completed;
        let stuck = !status.levelled && status.motion == Motion::Still && !busy;
        if status.fault != 0 || status.mode != LiftMode::Vehicle || stuck {
            return Self::Error;
        }
        match (status.motion, status.door) {
            (Motion::Up | Motion::Down, _) => Self::Moving,
            (Motion::Still, DoorState::Opening) => Self::DoorOpening,
            (Motion::Still, DoorState::Closing) => Self::DoorClosing,
            (Motion::Still, DoorState::Open | DoorState::Obstructed) => Self::DoorOpen,
            (Motion::Still, DoorState::Closed) if busy => Self::Moving,
            (Motion::Still, DoorState::Closed) => Self::Idle,
        }
    }

    /// A lift that shows this has nothing under way.
    pub(super) fn rests(self, status: &LiftStatus) -> bool {
        match self {
            Self::Idle => true,
            Self::DoorOpen | Self::Error => {
                status.accepted == status.completed && status.motion == Motion::Still
            }
            Self::Moving | Self::DoorOpening | Self::DoorClosing => false,
        }
    }
}

impl SessionRank {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Own, Self::Newer, Self::Older];

    /// Of a command, beside the highest generation that was admitted.
    pub fn of(command: Generation, known: Generation) -> Self {
        match command.cmp(&known) {
            std::cmp::Ordering::Equal => Self::Own,
            std::cmp::Ordering::Greater => Self::Newer,
            std::cmp::Ordering::Less => Self::Older,
        }
    }
}

impl Car {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Empty, Self::PerhapsOccupied];

    /// Of a lift that shows this.
    pub fn of(status: &LiftStatus) -> Self {
        if status.occupied { Self::PerhapsOccupied } else { Self::Empty }
    }
}

/// Whether edge arbitration lets a command through (A14). What it lets through is still held to what holds by a lease,
/// too: the age of its read, what it expects, the movement in progress. The table is printed in
/// `public/edge-arbitration.md`.
///
/// # Errors
/// Why not.
pub fn admits(
    state: LiftState,
    action: LiftAction,
    session: SessionRank,
    car: Car,
) -> Result<(), GatewayRefusal> {
    use LiftState as S;
    match (state, action, session, car) {
        (S::Error, _, _, _) => Err(GatewayRefusal::OutOfService),
        (_, _, SessionRank::Older, _) => Err(GatewayRefusal::StaleSession),
        (_, _, SessionRank::Newer, Car::PerhapsOccupied) => Err(GatewayRefusal::CarOccupied),
        (S::Idle, LiftAction::GoTo | LiftAction::OpenDoor | LiftAction::CloseDoor, _, _) => Ok(()),
        (
            S::Moving | S::DoorOpening | S::DoorOpen | S::DoorClosing,
            LiftAction::OpenDoor | LiftAction::CloseDoor,
            SessionRank::Own | SessionRank::Newer,
            _,
        ) => Ok(()),
        (S::Moving | S::DoorOpening | S::DoorOpen | S::DoorClosing, LiftAction::GoTo, _, _) => {
            Err(GatewayRefusal::NotNow)
        }
    }
}

/// What the gateway knows of the lease store by the nodes' word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StoreNews {
    /// At least one node lives, and none reached it for [`STORE_OUTAGE`].
    pub(super) outage: bool,
    /// A node has reached it for [`STORE_STEADY`].
    pub(super) steady: bool,
}

/// Who arbitrates next; none when nothing changes. `settled` is of the lift and its queue. The way from `Returning` to
/// leases is a node's word that the store has the new epoch, and not a matter of time.
pub(super) fn next(arbitration: Arbitration, news: StoreNews, settled: bool) -> Option<Arbitration> {
    match arbitration {
        Arbitration::Lease | Arbitration::Returning => news.outage.then_some(Arbitration::Edge),
        Arbitration::Edge => (news.steady && settled).then_some(Arbitration::Returning),
    }
}

/// What each node last said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Nodes {
    ears: BTreeMap<NodeId, NodeEar>,
    heard_at: Option<Mono>,
    /// Since when every beat says that the store is not reached. Silence of all nodes ends it: that is no outage.
    dark_since: Option<Mono>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NodeEar {
    at: Mono,
    reaches: Option<bool>,
    /// Since when it says so without a break.
    since: Mono,
}

impl Nodes {
    pub(super) fn hear(&mut self, beat: &ControlBeat, now: Now) {
        let in_time = |at: Mono| now.mono.since(at) <= NODE_SILENT_AFTER;
        if !self.heard_at.is_some_and(in_time) {
            self.dark_since = None;
        }
        self.heard_at = Some(now.mono);
        // A node that does not know may reach it.
        self.dark_since = match beat.reaches_store {
            Some(false) => self.dark_since.or(Some(now.mono)),
            Some(true) | None => None,
        };
        let before =
            self.ears.get(&beat.node).filter(|it| it.reaches == beat.reaches_store && in_time(it.at));
        let since = before.map_or(now.mono, |it| it.since);
        self.ears.insert(beat.node.clone(), NodeEar { at: now.mono, reaches: beat.reaches_store, since });
        if self.ears.len() > NODES_MAX
            && let Some(oldest) = self.ears.iter().min_by_key(|(_, it)| it.at).map(|(id, _)| id.clone())
        {
            self.ears.remove(&oldest);
        }
    }

    /// `alone` takes the word of any one node for an outage: in the lab.
    pub(super) fn news(&self, alone: bool, now: Now) -> StoreNews {
        let fresh = |at: Mono| now.mono.since(at) <= NODE_SILENT_AFTER;
        let says = |word: bool, for_so_long| {
            self.ears
                .values()
                .any(|it| fresh(it.at) && it.reaches == Some(word) && it.at.since(it.since) >= for_so_long)
        };
        // Only what was said counts, up to the last word.
        let dark = self.heard_at.filter(|at| fresh(*at)).zip(self.dark_since);
        let outage = dark.is_some_and(|(at, since)| at.since(since) >= STORE_OUTAGE);
        let outage = outage || alone && says(false, STORE_OUTAGE);
        StoreNews { outage, steady: !outage && says(true, STORE_STEADY) }
    }
}

impl Gateway {
    /// A node's word on the lease store. That the store grants under the epoch of a lift ends its edge arbitration.
    pub(super) fn beat_heard(&mut self, beat: &ControlBeat, now: Now) {
        self.nodes.hear(beat, now);
        for stored in &beat.epochs {
            let kept = self.marks.lifts.get_mut(&stored.lift);
            let returned =
                kept.filter(|it| it.arbitration == Arbitration::Returning && it.epoch == stored.epoch);
            if let Some(kept) = returned {
                kept.arbitration = Arbitration::Lease;
                self.note_arbitration(&stored.lift.clone(), now);
            }
        }
    }

    /// Switches each lift to whoever arbitrates from now on.
    pub(super) fn arbitrate(&mut self, now: Now) {
        if !self.safeguards.holds(Safeguard::EdgeArbitration) {
            return;
        }
        let news = self.nodes.news(!self.safeguards.holds(Safeguard::EdgeEntry), now);
        let lifts: Vec<LiftId> = self.channels.keys().cloned().collect();
        for lift in lifts {
            let settled = self.channels.get(&lift).is_some_and(|it| it.is_settled(now));
            let kept = self.marks.lifts.entry(lift.clone()).or_default();
            if let Some(next) = next(kept.arbitration, news, settled) {
                kept.switch(next);
                self.note_arbitration(&lift, now);
            }
        }
    }

    /// A switch is durable before anything rests on it, and told at once.
    fn note_arbitration(&mut self, lift: &LiftId, now: Now) {
        let kept = self.marks.lifts.entry(lift.clone()).or_default();
        let text = match kept.arbitration {
            Arbitration::Lease => format!("leases count again, under epoch {}", kept.epoch),
            Arbitration::Edge => {
                format!("no node reaches the lease store: edge arbitration, epoch {}", kept.epoch)
            }
            Arbitration::Returning => {
                format!("edge arbitration is over; epoch {} has yet to reach the lease store", kept.epoch)
            }
        };
        self.effects.push_back(Effect::Persist(self.marks.clone()));
        self.effects.push_back(Effect::Log { lift: lift.clone(), text });
        self.next_status = now.mono;
    }
}
