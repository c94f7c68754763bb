//! What a control node decides: from orders to commands, from silence to a person, from a wish to a lift's door.

mod acts;
mod alarms;
mod asked;
mod calls;
mod cut_off;
mod deliveries;
mod drills;
mod edge;
mod forced;
mod foreign;
mod hold;
mod house;
mod links;
mod nodes;
mod orders;
mod restarts;
mod rides;
mod spoken;
mod tasks;
mod voice;
mod waits;
mod withdraw;

use super::*;
use crate::alarm::AlarmKind;
use crate::drill::Drill;
use crate::fixture::{self, at};

use crate::lease::{
    CallRequest, CallTable, FencingToken, HeldLease, LeaseNonce, LeasePriority, LeaseRefusal, LeaseTiming,
    SettledCall, StoreLife,
};
use crate::ledger::Rows;
use crate::ledger::{Guard, Presence};
use crate::lift::{DoorState, LiftStatus};
use crate::task::TaskState;
use crate::wire::drill::DrillView;
use crate::wire::gateway::{Arbitration, Connection, ControlBeat, LiftReading, ReadRef, Verdict};
use crate::wire::gateway::{GatewayStatus, LiftCommand, Outcome};
use crate::wire::ledger::SessionPhase;
use crate::wire::live::Change;
use crate::wire::rest::{OrderRefusal, PlaceOrder, WithdrawalRefusal};
use crate::wire::vehicle::{AckVerdict, Instruction, Place, Progress};
use crate::wire::vehicle::{Heartbeat, VehicleAck, VehicleCommand, VehicleReport};
use crate::wire::view::{AlarmView, LiftView, NodeView, TaskView, VehicleView};

/// What the ledger does with a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ledger {
    Writes,
    Holds,
    Fails,
}

/// Steps one node beside a scripted fleet, one scripted lift and a ledger.
struct Bench {
    control: Control,
    plant: Plant,
    ms: u64,
    ledger: Ledger,
    entries: Vec<Entry>,
    held: Vec<(BatchId, Vec<Record>)>,
    fleet: BTreeMap<VehicleId, Heartbeat>,
    silent: BTreeSet<VehicleId>,
    /// Vehicles that do not follow an `openLink`.
    deaf: BTreeSet<VehicleId>,
    status: LiftStatus,
    verifying: Option<crate::ids::CommandId>,
    settling: Option<crate::wire::gateway::Settling>,
    foreign: Option<crate::wire::gateway::ForeignMove>,
    connection: Connection,
    /// As the gateway tells it.
    arbitration: (Arbitration, u32),
    /// The gateway tells its state.
    gateway_speaks: bool,
    /// How old the reads are that the gateway tells.
    read_age: Millis,
    tick: u64,
    /// The lease store grants at once.
    grants: bool,
    /// Its call records.
    calls: CallTable,
    /// It answers at once when a record is to be opened.
    records: bool,
    opening: VecDeque<CallRequest>,
    serial: u64,
    reports: u64,
    sent: VecDeque<VehicleCommand>,
    links_opened: Vec<VehicleCommand>,
    to_lift: VecDeque<LiftCommand>,
    leases: Vec<String>,
    asked: VecDeque<(LeaseNonce, Mono)>,
    /// The floor of the last of them, and the life of the store that it named.
    asked_by: (u64, StoreLife),
    /// By which priorities it was asked.
    priorities: Vec<LeasePriority>,
    /// Leases that are to be renewed, with when the store was asked. It answers nothing by itself.
    renewing: VecDeque<(HeldLease, Mono)>,
    answers: BTreeMap<RequestId, Result<Accepted, OrderRefusal>>,
    requests: u64,
    withdrawn: BTreeMap<RequestId, Result<TakenBack, WithdrawalRefusal>>,
    tasks: BTreeMap<TaskId, TaskView>,
    vehicles: BTreeMap<VehicleId, VehicleView>,
    lifts: BTreeMap<LiftId, LiftView>,
    alarms: BTreeMap<AlarmId, AlarmView>,
    drills: Vec<DrillView>,
    node: Option<NodeView>,
    beats: u64,
    beat: Option<ControlBeat>,
    /// What the store answers when it is probed; none while the shell says nothing.
    store: Option<bool>,
    rows: Rows,
    attended: Vec<(u64, u64)>,
    left: bool,
    superseded: bool,
}

impl Bench {
    fn with(plant: Plant) -> Self {
        let control = Control::new(NodeConfig { node: fixture::node("A"), drill: false }, plant.clone());
        let fleet = plant
            .vehicles
            .iter()
            .map(|(id, it)| (id.clone(), fixture::heartbeat(id.as_str(), it.home.as_str())))
            .collect();
        Self {
            control,
            plant,
            ms: 1000,
            ledger: Ledger::Writes,
            entries: Vec::new(),
            held: Vec::new(),
            fleet,
            silent: BTreeSet::new(),
            deaf: BTreeSet::new(),
            status: fixture::status("F1", DoorState::Closed),
            verifying: None,
            settling: None,
            foreign: None,
            connection: Connection::Up,
            arbitration: (Arbitration::Lease, 1),
            gateway_speaks: true,
            read_age: Millis(0),
            tick: 0,
            grants: true,
            calls: CallTable::default(),
            records: true,
            opening: VecDeque::new(),
            serial: 0,
            reports: 0,
            sent: VecDeque::new(),
            links_opened: Vec::new(),
            to_lift: VecDeque::new(),
            leases: Vec::new(),
            asked: VecDeque::new(),
            asked_by: (0, StoreLife::default()),
            priorities: Vec::new(),
            renewing: VecDeque::new(),
            answers: BTreeMap::new(),
            requests: 0,
            withdrawn: BTreeMap::new(),
            tasks: BTreeMap::new(),
            vehicles: BTreeMap::new(),
            lifts: BTreeMap::new(),
            alarms: BTreeMap::new(),
            drills: Vec::new(),
            node: None,
            beats: 0,
            beat: None,
            store: None,
            rows: Rows::default(),
            attended: Vec::new(),
            left: false,
            superseded: false,
        }
    }

    fn new() -> Self {
        let mut bench = Self::with(fixture::plant());
        bench.start();
        bench
    }

    /// A node that hears its fleet and has opened every link.
    fn ready() -> Self {
        let mut bench = Self::new();
        bench.run(Millis::seconds(2));
        bench
    }

    /// As [`Bench::ready`], with V2 switched off.
    fn with_one_vehicle() -> Self {
        let mut bench = Self::new();
        bench.silent.insert(fixture::vehicle("V2"));
        bench.run(Millis::seconds(2));
        bench
    }

    fn start(&mut self) {
        self.control.start(at(self.ms));
        self.pump();
    }

    /// The node is killed; another run of it starts from the ledger.
    fn restart(&mut self) {
        let mut control = Control::new(self.control.config.clone(), self.plant.clone());
        for entry in &self.entries {
            control.restore(entry).expect("the ledger fits");
        }
        self.control = control;
        self.held.clear();
        self.sent.clear();
        self.to_lift.clear();
        self.links_opened.clear();
        self.start();
    }

    fn handle(&mut self, event: Event) {
        self.control.handle(event, at(self.ms));
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(effect) = self.control.poll_effect() {
            match effect {
                Effect::Append { batch, records, guards } => self.append(batch, records, &guards),
                Effect::Answer { request, answer } => {
                    assert!(self.answers.insert(request, answer).is_none(), "answered twice");
                }
                Effect::AnswerWithdrawal { request, answer } => drop(self.withdrawn.insert(request, answer)),
                Effect::AcquireLease { nonce, floor, life, priority, .. } => {
                    self.priorities.push(priority);
                    self.asked_by = (floor, life);
                    self.lease_asked(nonce);
                }
                Effect::RenewLease(lease) => self.renewing.push_back((lease, Mono(self.ms))),
                Effect::OpenCall(request) => self.call_asked(request),
                Effect::SettleCall { lift, settled } => {
                    self.calls.settle(&lift, &settled, &LeaseTiming::default(), Mono(self.ms));
                }
                Effect::ReleaseLease { lift, token, settled, .. } => {
                    self.leases.push(format!("release {}", token.serial));
                    if let Some(settled) = settled {
                        self.calls.settle(&lift, &settled, &LeaseTiming::default(), Mono(self.ms));
                    }
                }
                Effect::SendVehicle { command, .. } => self.command_left(command),
                Effect::SendLift { command, .. } => self.to_lift.push_back(command),
                Effect::Beat(beat) => {
                    self.beats += 1;
                    self.beat = Some(beat);
                }
                Effect::ProbeStore => {
                    if let Some(reached) = self.store {
                        self.control.handle(Event::StoreProbed { reached }, at(self.ms));
                    }
                }
                Effect::Attend { run, beat, .. } => self.attended.push((run, beat)),
                Effect::Left => self.left = true,
                Effect::Superseded => self.superseded = true,
                Effect::Show(change) => self.shown(change),
            }
        }
    }

    fn append(&mut self, batch: BatchId, records: Vec<Record>, guards: &[Guard]) {
        match self.ledger {
            Ledger::Writes => {
                if let Err(conflict) = self.rows.check(guards) {
                    self.control.handle(Event::Conflicted { batch, conflict }, at(self.ms));
                    return;
                }
                let entries = self.store(records);
                self.control.handle(Event::Appended { batch, entries }, at(self.ms));
            }
            Ledger::Holds => self.held.push((batch, records)),
            Ledger::Fails => {
                let reason = "the disk is full".to_owned();
                self.control.handle(Event::AppendFailed { batch, reason }, at(self.ms));
            }
        }
    }

    fn store(&mut self, records: Vec<Record>) -> Vec<Entry> {
        let first = self.entries.len() as u64 + 1;
        let entries: Vec<Entry> = (first..)
            .zip(records)
            .map(|(sequence, record)| Entry {
                sequence: crate::ids::LedgerSequence(sequence),
                at: at(self.ms).wall,
                node: fixture::node("A"),
                record,
                drill: false,
            })
            .collect();
        for entry in &entries {
            self.rows.apply(&entry.node, &entry.record);
        }
        self.entries.extend(entries.clone());
        entries
    }

    /// The ledger stores what it held back, and holds nothing back any more.
    fn let_go(&mut self) {
        self.ledger = Ledger::Writes;
        self.store_held();
    }

    /// The ledger stores what it held back so far.
    fn store_held(&mut self) {
        for (batch, records) in std::mem::take(&mut self.held) {
            let entries = self.store(records);
            self.handle(Event::Appended { batch, entries });
        }
    }

    fn lease_asked(&mut self, nonce: LeaseNonce) {
        self.leases.push("ask".to_owned());
        self.asked.push_back((nonce, Mono(self.ms)));
        if self.grants {
            self.grant();
        }
    }

    /// The store answers the oldest request.
    fn grant(&mut self) {
        let Some((nonce, asked_at)) = self.asked.pop_front() else { return };
        self.serial += 1;
        let token = FencingToken { epoch: self.arbitration.1, serial: self.serial };
        let lease = HeldLease::granted(fixture::lift("L1"), nonce, token, asked_at);
        self.control.handle(Event::LeaseGranted { nonce, lease }, at(self.ms));
    }

    fn call_asked(&mut self, request: CallRequest) {
        self.opening.push_back(request);
        if self.records {
            self.open();
        }
    }

    /// The store opens the record that was asked for first, or tells how the same call stands.
    fn open(&mut self) {
        let Some(request) = self.opening.pop_front() else { return };
        let answer = Ok(self.calls.open(&request, &LeaseTiming::default(), Mono(self.ms)));
        let CallRequest { lift, command, .. } = request;
        self.control.handle(Event::CallAnswered { lift, command, answer }, at(self.ms));
    }

    fn command_left(&mut self, command: VehicleCommand) {
        if command.instruction != Instruction::OpenLink {
            self.sent.push_back(command);
            return;
        }
        let hears = !self.silent.contains(&command.vehicle) && !self.deaf.contains(&command.vehicle);
        if let Some(vehicle) = self.fleet.get_mut(&command.vehicle).filter(|_| hears) {
            vehicle.link = command.link;
            vehicle.link_open = true;
            vehicle.acknowledged = vehicle.acknowledged.max(command.sequence);
        }
        self.links_opened.push(command);
    }

    fn shown(&mut self, change: Change) {
        match change {
            Change::Node(view) => self.node = Some(view),
            Change::Vehicle(view) => drop(self.vehicles.insert(view.id.clone(), view)),
            Change::Lift(view) => drop(self.lifts.insert(view.id.clone(), view)),
            Change::Task(view) => drop(self.tasks.insert(view.id.clone(), view)),
            Change::TaskForgotten(id) => drop(self.tasks.remove(&id)),
            Change::Alarm(view) => drop(self.alarms.insert(view.id.clone(), view)),
            Change::AlarmGone(id) => drop(self.alarms.remove(&id)),
            Change::Drills(drills) => self.drills = drills,
            Change::Order(_) | Change::Nodes(_) => {}
        }
    }

    /// Time passes in steps of 100 ms: heartbeats, the gateway's states, deadlines.
    fn run(&mut self, span: Millis) {
        for _ in 0..span.0 / 100 {
            self.ms += 100;
            if self.ms.is_multiple_of(500) {
                self.beat_all();
            }
            if self.gateway_speaks && self.ms.is_multiple_of(200) {
                self.tell_state();
            }
            self.control.handle_timeout(at(self.ms));
            self.pump();
        }
    }

    /// Time passes until something is so; false after `most`.
    fn until(&mut self, most: Millis, so: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..most.0 / 100 {
            if so(self) {
                return true;
            }
            self.run(Millis(100));
        }
        so(self)
    }

    fn beat_all(&mut self) {
        let ids: Vec<VehicleId> =
            self.fleet.keys().filter(|id| !self.silent.contains(*id)).cloned().collect();
        for id in ids {
            let Some(heartbeat) = self.fleet.get_mut(&id) else { continue };
            heartbeat.beat += 1;
            let heartbeat = heartbeat.clone();
            self.handle(Event::Heartbeat(heartbeat));
        }
    }

    fn tell_state(&mut self) {
        self.tick += 1;
        let reading = LiftReading {
            lift: fixture::lift("L1"),
            read: ReadRef { boot: 1, tick: self.tick },
            status: Some(self.status.clone()),
            age_ms: self.read_age,
            connection: self.connection,
            epoch: self.arbitration.1,
            arbitration: self.arbitration.0,
            token: FencingToken::default(),
            verifying: self.verifying.clone(),
            settling: self.settling,
            connections_lost: 0,
            foreign: self.foreign.clone(),
        };
        let gateway = fixture::gateway("G1");
        let status = GatewayStatus {
            gateway,
            boot: 1,
            message: self.tick,
            messages_rejected: 0,
            lifts: vec![reading],
        };
        self.handle(Event::GatewayStatus(status));
    }
}

fn order(from: &str, to: &str) -> PlaceOrder {
    PlaceOrder {
        from: fixture::station(from),
        to: fixture::station(to),
        priority: 5,
        deadline: None,
        reference: None,
    }
}
