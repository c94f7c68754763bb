//! The control node: which vehicle carries which order, what it is told next, whose turn a lift is.
//!
//! Level-triggered: after each event the node looks at the whole of what it knows and decides what is due. Nothing
//! changes in memory before the ledger has it: a decision is proposed with [`Effect::Append`], and takes effect when
//! [`Event::Appended`] brings it back. A restart therefore finds exactly what was decided.

mod alarms;
mod api;
mod book;
mod calls;
mod cut_off;
mod doubt;
mod drills;
mod ears;
mod edge;
mod foreign;
mod hold;
mod ledger;
mod links;
mod names;
mod nodes;
mod orders;
mod rides;
mod show;
mod spoken;
mod steps;
mod tasks;
#[cfg(test)]
mod tests;
mod voice;
mod waits;
mod withdraw;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ids::{AlarmId, GatewayId, LiftId, NodeId, SessionId, TaskId, VehicleId};
use crate::lease::LeaseRefusal;
use crate::plant::Plant;
use crate::safeguard::Safeguards;
use crate::task::TaskEvent;
use crate::time::{Millis, Mono, Now};
use crate::timing::CONTROL_BEAT_PERIOD;
use crate::wire::ledger::{Entry, Record};
use crate::wire::view::{LiftCommandView, LiftWait};

use self::alarms::Rejections;
use self::book::Touched;
use self::calls::Spared;
use self::cut_off::CutOff;
use self::ears::{GatewayEar, LiftEar, VehicleEar};
use self::nodes::{Leaving, PeerEar, Seen};
use self::orders::{Contested, PendingOrder};
use self::rides::{Watch, Words};
use self::tasks::Delivery;
use self::voice::Voice;
use self::withdraw::Withdrawal;

pub use self::api::{Accepted, BatchId, Effect, Event, RequestId, TakenBack};
pub use self::book::{Book, ENDED_TASKS_MAX, KeyUse, LinkBook, SessionBook, TaskBook};
pub use self::drills::ENDED_DRILLS_MAX;
pub use self::nodes::{NodeBook, NodeEnd};

/// What a node is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Its name, unique on the site; order and task numbers carry it.
    pub node: NodeId,
    /// The run is a drill: everything that it records and shows is marked.
    pub drill: bool,
}

/// How often a node looks around when nothing happens: often enough that no deadline is missed by more than half a
/// heartbeat.
const LOOK_PERIOD: Millis = Millis(250);
/// After a proposal failed, nothing is proposed for so long: the ledger is away, and asking it more does not help.
const LEDGER_PAUSE: Millis = Millis::seconds(1);

/// What a proposal in flight is about. Nothing else is decided about it meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lock {
    Node,
    Order(String),
    Task(TaskId),
    Vehicle(VehicleId),
    Lift(LiftId),
    Arbitration(LiftId),
    Store(LiftId),
    EdgeNotes,
    ForeignMoves(LiftId),
    Alarm(AlarmId),
    Drills,
    Peer(NodeId),
}

/// One control node.
#[derive(Clone, Debug)]
pub struct Control {
    config: NodeConfig,
    plant: Plant,
    book: Book,
    /// Which run of the node this is; 0 until the ledger has it.
    run: u64,
    vehicles: BTreeMap<VehicleId, VehicleEar>,
    gateways: BTreeMap<GatewayId, GatewayEar>,
    lifts: BTreeMap<LiftId, LiftEar>,
    voices: BTreeMap<LiftId, Voice>,
    words: BTreeMap<VehicleId, Words>,
    watches: BTreeMap<SessionId, Watch>,
    deliveries: BTreeMap<TaskId, Delivery>,
    /// What vehicles reported and the ledger does not have yet, in order.
    reported: BTreeMap<TaskId, VecDeque<TaskEvent>>,
    locks: BTreeMap<BatchId, Vec<Lock>>,
    pending_orders: BTreeMap<BatchId, PendingOrder>,
    contested: Vec<Contested>,
    withdrawals: Vec<Withdrawal>,
    peers: BTreeMap<NodeId, PeerEar>,
    peers_read_at: Option<Mono>,
    seen: Seen,
    leaving: Leaving,
    spoken: BTreeMap<LiftId, VecDeque<(Mono, LiftCommandView)>>,
    /// Why the lease store granted nothing when it was asked last, and when it said so.
    lease_denied: BTreeMap<LiftId, (LeaseRefusal, Mono)>,
    /// What each lift's view tells that its rides wait for.
    waits_told: BTreeMap<LiftId, Vec<LiftWait>>,
    spared: BTreeMap<LiftId, Spared>,
    /// Leases that were lost with work in hand.
    leases_lost: BTreeMap<LiftId, u64>,
    batches: u64,
    nonces: u64,
    numbers: u64,
    lift_commands: u64,
    beats: u64,
    /// When a foreign movement of each lift was last proposed.
    foreign_told: BTreeMap<LiftId, Mono>,
    /// As its shell found last.
    reaches_store: Option<bool>,
    /// The last epoch of each lift under which the store granted to this node while leases did not count.
    stored_epochs: BTreeMap<LiftId, u32>,
    /// What the ledger does not have yet of edge decisions, in order.
    edge_notes: VecDeque<Record>,
    started: Mono,
    next_beat: Mono,
    next_look: Mono,
    ledger_paused_until: Option<Mono>,
    /// After a conflict: nothing that rests on what this node knows is proposed before it was followed.
    behind_until: Option<Mono>,
    broker_connected: bool,
    cut_off: CutOff,
    messages_rejected: u64,
    rejections: Rejections,
    last_rejection: Option<String>,
    /// What the ledger does not have yet of drills, in order.
    drill_notes: VecDeque<Record>,
    safeguards: Safeguards,
    touched: BTreeSet<Touched>,
    effects: VecDeque<Effect>,
}

impl Control {
    /// A node that knows its plant and nothing else yet.
    pub fn new(config: NodeConfig, plant: Plant) -> Self {
        let vehicles = plant.vehicles.keys().map(|id| (id.clone(), VehicleEar::default())).collect();
        let voices = plant.lifts.keys().map(|id| (id.clone(), Voice::default())).collect();
        Self {
            config,
            plant,
            book: Book::default(),
            run: 0,
            vehicles,
            gateways: BTreeMap::new(),
            lifts: BTreeMap::new(),
            voices,
            words: BTreeMap::new(),
            watches: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            reported: BTreeMap::new(),
            locks: BTreeMap::new(),
            pending_orders: BTreeMap::new(),
            contested: Vec::new(),
            withdrawals: Vec::new(),
            peers: BTreeMap::new(),
            peers_read_at: None,
            seen: Seen::default(),
            leaving: Leaving::No,
            spoken: BTreeMap::new(),
            lease_denied: BTreeMap::new(),
            waits_told: BTreeMap::new(),
            spared: BTreeMap::new(),
            leases_lost: BTreeMap::new(),
            batches: 0,
            nonces: 0,
            numbers: 0,
            lift_commands: 0,
            beats: 0,
            foreign_told: BTreeMap::new(),
            reaches_store: None,
            stored_epochs: BTreeMap::new(),
            edge_notes: VecDeque::new(),
            started: Mono(0),
            next_beat: Mono(0),
            next_look: Mono(0),
            ledger_paused_until: None,
            behind_until: None,
            broker_connected: false,
            cut_off: CutOff::default(),
            messages_rejected: 0,
            rejections: Rejections::default(),
            last_rejection: None,
            drill_notes: VecDeque::new(),
            safeguards: Safeguards::ALL,
            touched: BTreeSet::new(),
            effects: VecDeque::new(),
        }
    }

    /// The same node under other safeguards than all, for the lab; called right after [`Control::new`].
    #[must_use]
    pub fn under(mut self, safeguards: Safeguards) -> Self {
        self.safeguards = safeguards;
        self
    }

    /// Takes the ledger as it stands, entry by entry, before [`Control::start`].
    ///
    /// # Errors
    /// The entry does not fit what came before: the ledger was not written by this product, or by a newer version.
    pub fn restore(&mut self, entry: &Entry) -> Result<(), String> {
        self.book.apply(entry).map(|_| ())
    }

    /// Begins a run: shows everything, and decides nothing before the ledger has the start.
    pub fn start(&mut self, now: Now) {
        self.numbers = self.book.numbered.get(&self.config.node).copied().unwrap_or_default();
        (self.started, self.next_beat) = (now.mono, now.mono);
        self.touch_everything();
        self.drive_start(now);
        self.look(now);
    }

    /// Takes what happened and decides what is due.
    pub fn handle(&mut self, event: Event, now: Now) {
        match event {
            Event::OrderRequested { request, order, idempotency_key, fingerprint } => {
                self.order_requested(request, &order, idempotency_key, fingerprint, now);
            }
            Event::WithdrawRequested { request, order } => self.withdraw_requested(request, &order, now),
            Event::Appended { batch, entries } => self.appended(batch, &entries, now),
            Event::AppendFailed { batch, reason } => self.append_failed(batch, &reason, now),
            Event::Conflicted { batch, conflict } => self.conflicted(batch, &conflict, now),
            Event::Followed { entries } => self.followed(&entries, now),
            Event::Peers(peers) => self.peers_heard(peers, now),
            Event::StopRequested => self.stop_requested(),
            Event::LeaseGranted { nonce, lease } => self.lease_granted(nonce, lease, now),
            Event::LeaseRefused { nonce, lift, reason } => self.lease_refused(nonce, &lift, &reason, now),
            Event::LeaseRenewed(lease) => self.lease_renewed(&lease, now),
            Event::RenewalRefused { lift, nonce, reason } => {
                self.renewal_refused(&lift, nonce, &reason, now);
            }
            Event::CallAnswered { lift, command, answer } => {
                self.call_answered(&lift, &command, answer, now);
            }
            Event::StoreProbed { reached } => self.store_probed(reached),
            Event::Acknowledged(ack) => self.acknowledged(&ack),
            Event::Reported(report) => self.vehicle_reported(&report),
            Event::Heartbeat(heartbeat) => self.heartbeat_heard(heartbeat, now),
            Event::Telemetry(telemetry) => self.telemetry_heard(telemetry, now),
            Event::Presence { vehicle, online } => self.presence_heard(&vehicle, online, now),
            Event::Overheard(command) => self.overheard(&command, now),
            Event::Outcome(outcome) => self.outcome_heard(&outcome, now),
            Event::GatewayStatus(status) => self.gateway_heard(status, now),
            Event::Broker { connected } => {
                self.broker_connected = connected;
                self.touched.extend([Touched::Node, Touched::Nodes]);
            }
            Event::MessageRejected { topic, reason } => self.reject(&topic, &reason),
            Event::DrillBegan(drill) => self.drill_began(drill),
            Event::DrillOver { drill, end } => self.drill_over(drill, end),
            Event::DrillsStand(drills) => self.drills_stand(&drills),
        }
        self.look(now);
    }

    /// A deadline named by [`Control::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Now) {
        self.look(now);
    }

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When to call [`Control::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Mono, &'static str)> {
        if self.next_beat <= self.next_look {
            Some((self.next_beat, "the control beat is due"))
        } else {
            Some((self.next_look, "deadlines are looked over"))
        }
    }

    /// Shows all that it knows, for whoever begins to watch.
    pub fn show_everything(&mut self, now: Now) {
        self.touch_everything();
        self.show(now);
    }

    /// What the ledger says.
    pub fn book(&self) -> &Book {
        &self.book
    }

    fn look(&mut self, now: Now) {
        self.next_look = now.mono + LOOK_PERIOD;
        // Whether the ledger is back shows only when it is asked again, and an idle node asks nothing: after the pause
        // it counts as writable until a proposal fails.
        if self.ledger_paused_until.take_if(|until| *until <= now.mono).is_some() {
            self.touched.insert(Touched::Node);
        }
        self.note_cut_off(now);
        if self.next_beat <= now.mono {
            self.next_beat = now.mono + CONTROL_BEAT_PERIOD;
            self.beat();
            if self.run > 0 {
                let (run, beat, hears_broker) = (self.run, self.beats, self.broker_connected);
                self.effects.push_back(Effect::Attend { run, beat, hears_broker });
            }
        }
        self.drive_contested(now);
        self.drive_withdrawals(now);
        if self.leaving != Leaving::No {
            self.drive_leaving(now);
        } else if self.run > 0 {
            self.drive_nodes(now);
            self.drive_links(now);
            self.drive_tasks(now);
            self.drive_lifts(now);
            self.drive_edge(now);
            self.drive_foreign(now);
            self.drive_alarms(now);
            self.drive_drills(now);
        } else {
            self.drive_start(now);
        }
        self.note_silences(now);
        self.show(now);
    }

    /// The site to which the ledger belongs, if that is another one.
    pub fn foreign_site(&self) -> Option<&crate::ids::SiteId> {
        self.book.site.as_ref().filter(|site| **site != self.plant.site)
    }

    /// Asks the ledger to take the start, and again while it was not stored.
    fn drive_start(&mut self, now: Now) {
        // Nodes of two sites may begin an empty ledger at once; the second finds that it is not its own.
        if self.foreign_site().is_some() {
            return;
        }
        let run = self.book.run_of(&self.config.node) + 1;
        self.propose(now, vec![Lock::Node], vec![Record::NodeStarted { run, site: self.plant.site.clone() }]);
    }
}
