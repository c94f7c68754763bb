//! Several nodes on one scripted ledger, beside a scripted fleet and lift.

use super::*;
use crate::ledger::Row;
use crate::wire::vehicle::WorkState;
use crate::wire::view::PeerView;

/// Whether a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    On,
    /// It stands still, and what it is told meanwhile is lost.
    Asleep,
    Off,
}

/// One node, and what left it.
pub(super) struct Member {
    pub(super) control: Control,
    pub(super) power: Power,
    /// The answers to its words in the ledger are lost.
    pub(super) deaf: bool,
    /// The broker does not reach it.
    pub(super) cut_off: bool,
    pub(super) sent: Vec<VehicleCommand>,
    pub(super) answers: BTreeMap<RequestId, Result<Accepted, OrderRefusal>>,
    pub(super) leases: Vec<&'static str>,
    pub(super) to_lift: Vec<LiftCommand>,
    /// The rows of its proposals that had moved.
    pub(super) conflicts: Vec<Row>,
    pub(super) n_words: u64,
    pub(super) left: bool,
    pub(super) superseded: bool,
    /// The nodes as it showed them last.
    pub(super) shown: Vec<PeerView>,
    life: u32,
    n_followed: usize,
}

/// Records that were stored together.
struct Batch {
    /// Which run of which member proposed it, and as what; none of another process.
    author: Option<(usize, u32, BatchId)>,
    entries: Vec<Entry>,
}

/// A proposal that the ledger holds back.
struct Held {
    author: (usize, u32, BatchId),
    records: Vec<Record>,
    guards: Vec<Guard>,
}

/// Some nodes, from A, that share everything but what they know.
pub(super) struct House {
    pub(super) ms: u64,
    pub(super) nodes: Vec<Member>,
    pub(super) fleet: BTreeMap<VehicleId, Heartbeat>,
    pub(super) silent: BTreeSet<VehicleId>,
    /// The ledger looks at what a proposal rests on.
    pub(super) conditional: bool,
    pub(super) ledger_away: bool,
    /// It stores nothing yet.
    pub(super) holds: bool,
    pub(super) gateway_speaks: bool,
    /// What the gateway tells of the lift.
    pub(super) status: LiftStatus,
    /// The store keeps call records; otherwise it forgets them at once.
    pub(super) records: bool,
    calls: CallTable,
    pub(super) rows: Rows,
    plant: Plant,
    safeguards: Safeguards,
    batches: Vec<Batch>,
    held: Vec<Held>,
    presences: BTreeMap<NodeId, Presence>,
    serial: u64,
    tick: u64,
    requests: u64,
}

/// The site of the fixture with so many vehicles.
fn fleet_of(vehicles: usize) -> Plant {
    let mut plant = fixture::plant();
    let model = plant.vehicles[&fixture::vehicle("V1")].clone();
    plant.vehicles = (1..=vehicles).map(|n| (fixture::vehicle(&format!("V{n}")), model.clone())).collect();
    plant
}

impl House {
    /// Nodes that have heard each other, and a fleet with open links.
    pub(super) fn ready(nodes: &[&str], vehicles: usize) -> Self {
        Self::under(Safeguards::ALL, nodes, vehicles)
    }

    pub(super) fn under(safeguards: Safeguards, nodes: &[&str], vehicles: usize) -> Self {
        let plant = fleet_of(vehicles);
        let beat = |id: &VehicleId| fixture::heartbeat(id.as_str(), "H1");
        let mut house = Self {
            ms: 1000,
            nodes: Vec::new(),
            fleet: plant.vehicles.keys().map(|id| (id.clone(), beat(id))).collect(),
            silent: BTreeSet::new(),
            conditional: true,
            ledger_away: false,
            holds: false,
            gateway_speaks: true,
            status: fixture::status("F2", DoorState::Closed),
            records: true,
            calls: CallTable::default(),
            rows: Rows::default(),
            plant,
            safeguards,
            batches: Vec::new(),
            held: Vec::new(),
            presences: BTreeMap::new(),
            serial: 0,
            tick: 0,
            requests: 0,
        };
        for name in nodes {
            house.join(name);
        }
        house.run(Millis::seconds(3));
        house
    }

    /// One more node starts.
    pub(super) fn join(&mut self, name: &str) {
        let config = NodeConfig { node: fixture::node(name), drill: false };
        self.nodes.push(Member {
            control: Control::new(config, self.plant.clone()),
            power: Power::On,
            deaf: false,
            cut_off: false,
            sent: Vec::new(),
            answers: BTreeMap::new(),
            leases: Vec::new(),
            to_lift: Vec::new(),
            conflicts: Vec::new(),
            n_words: 0,
            left: false,
            superseded: false,
            shown: Vec::new(),
            life: 0,
            n_followed: 0,
        });
        self.restart(self.nodes.len() - 1);
    }

    /// The node is killed, and another run of it starts from the ledger.
    pub(super) fn restart(&mut self, idx: usize) {
        let config = self.nodes[idx].control.config.clone();
        let mut control = Control::new(config, self.plant.clone()).under(self.safeguards);
        for entry in self.batches.iter().flat_map(|it| &it.entries) {
            control.restore(entry).expect("the ledger fits");
        }
        let node = &mut self.nodes[idx];
        (node.control, node.power) = (control, Power::On);
        node.life += 1;
        node.n_followed = self.batches.len();
        node.control.start(at(self.ms));
        self.pump(idx);
    }

    /// Something happens to one node, which has followed nothing since it last looked.
    pub(super) fn handle(&mut self, idx: usize, event: Event) {
        if self.nodes[idx].power == Power::On {
            self.nodes[idx].control.handle(event, at(self.ms));
            self.pump(idx);
        }
    }

    fn handle_all(&mut self, event: &Event) {
        for idx in 0..self.nodes.len() {
            if !self.nodes[idx].cut_off {
                self.handle(idx, event.clone());
            }
        }
    }

    /// The broker reaches a node, or does not; it finds out at once.
    pub(super) fn reach(&mut self, idx: usize, connected: bool) {
        self.nodes[idx].cut_off = !connected;
        self.handle(idx, Event::Broker { connected });
    }

    fn pump(&mut self, idx: usize) {
        while let Some(effect) = self.nodes[idx].control.poll_effect() {
            let life = self.nodes[idx].life;
            match effect {
                Effect::Append { batch, records, guards } => {
                    let proposal = Held { author: (idx, life, batch), records, guards };
                    if self.holds { self.held.push(proposal) } else { self.append(proposal) }
                }
                Effect::Attend { run, beat, hears_broker } => self.attended(idx, run, beat, hears_broker),
                Effect::Answer { request, answer } => {
                    let twice = self.nodes[idx].answers.insert(request, answer);
                    assert!(twice.is_none(), "answered twice");
                }
                Effect::AnswerWithdrawal { .. } => {}
                Effect::AcquireLease { lift, nonce, .. } => {
                    self.nodes[idx].leases.push("ask");
                    self.serial += 1;
                    let token = FencingToken { epoch: 1, serial: self.serial };
                    let lease = HeldLease::granted(lift, nonce, token, Mono(self.ms));
                    self.nodes[idx].control.handle(Event::LeaseGranted { nonce, lease }, at(self.ms));
                }
                Effect::ReleaseLease { lift, settled, .. } => {
                    self.nodes[idx].leases.push("release");
                    settled.iter().for_each(|it| self.settle(&lift, it));
                }
                Effect::OpenCall(request) => self.open(idx, &request),
                Effect::SettleCall { lift, settled } => self.settle(&lift, &settled),
                Effect::SendLift { command, .. } => self.nodes[idx].to_lift.push(command),
                Effect::SendVehicle { command, .. } => self.command_left(idx, command),
                Effect::Left => self.nodes[idx].left = true,
                Effect::Superseded => self.nodes[idx].superseded = true,
                Effect::Show(Change::Nodes(nodes)) => self.nodes[idx].shown = nodes,
                Effect::RenewLease(_) | Effect::Beat(_) | Effect::ProbeStore | Effect::Show(_) => {}
            }
        }
    }

    fn open(&mut self, idx: usize, request: &CallRequest) {
        if !self.records {
            self.calls = CallTable::default();
        }
        let answer = Ok(self.calls.open(request, &LeaseTiming::default(), Mono(self.ms)));
        let (lift, command) = (request.lift.clone(), request.command.clone());
        self.nodes[idx].control.handle(Event::CallAnswered { lift, command, answer }, at(self.ms));
    }

    fn settle(&mut self, lift: &LiftId, settled: &SettledCall) {
        self.calls.settle(lift, settled, &LeaseTiming::default(), Mono(self.ms));
    }

    /// Every node hears what became of a command to the lift.
    pub(super) fn lift_answers(&mut self, command: &LiftCommand, verdict: Verdict) {
        let (gateway, lift) = (fixture::gateway("G1"), Some(command.lift.clone()));
        let command = command.id.clone();
        self.handle_all(&Event::Outcome(Outcome { gateway, boot: 1, command, lift, number: None, verdict }));
    }

    fn command_left(&mut self, idx: usize, command: VehicleCommand) {
        if command.instruction != Instruction::OpenLink {
            self.nodes[idx].sent.push(command);
        } else if let Some(vehicle) = self.fleet.get_mut(&command.vehicle) {
            (vehicle.link, vehicle.link_open) = (command.link, true);
            vehicle.acknowledged = vehicle.acknowledged.max(command.sequence);
        }
    }

    fn attended(&mut self, idx: usize, run: u64, beat: u64, hears_broker: bool) {
        if self.ledger_away {
            return;
        }
        let node = self.name(idx);
        let (version, wall) = ("1.0.0".to_owned(), at(self.ms).wall);
        let presence = Presence { node: node.clone(), run, beat, version, hears_broker, at: wall };
        self.presences.insert(node, presence);
        self.nodes[idx].n_words += 1;
        if !self.nodes[idx].deaf {
            let peers = self.presences.values().cloned().collect();
            self.nodes[idx].control.handle(Event::Peers(peers), at(self.ms));
        }
    }

    fn append(&mut self, proposal: Held) {
        let Held { author: (idx, life, batch), records, guards } = proposal;
        let alive = self.nodes[idx].life == life;
        if self.ledger_away {
            let reason = "the ledger does not answer".to_owned();
            self.nodes[idx].control.handle(Event::AppendFailed { batch, reason }, at(self.ms));
        } else if let (Err(conflict), true) = (self.rows.check(&guards), self.conditional) {
            self.nodes[idx].conflicts.push(conflict.guard.row.clone());
            if alive {
                self.nodes[idx].control.handle(Event::Conflicted { batch, conflict }, at(self.ms));
            }
        } else {
            self.store(Some((idx, life, batch)), &self.name(idx), records);
            if alive {
                self.follow(idx);
            }
        }
    }

    fn store(&mut self, author: Option<(usize, u32, BatchId)>, node: &NodeId, records: Vec<Record>) {
        let first = self.entries().count() as u64 + 1;
        let entry = |(sequence, record)| Entry {
            sequence: crate::ids::LedgerSequence(sequence),
            at: at(self.ms).wall,
            node: node.clone(),
            record,
            drill: false,
        };
        let entries: Vec<Entry> = (first..).zip(records).map(entry).collect();
        for entry in &entries {
            self.rows.apply(&entry.node, &entry.record);
        }
        self.batches.push(Batch { author, entries });
    }

    /// Another process, of which this house knows nothing, appends.
    pub(super) fn appended_elsewhere(&mut self, node: &str, record: Record) {
        self.store(None, &fixture::node(node), vec![record]);
    }

    /// The ledger stores what it held back, and holds nothing back any more.
    pub(super) fn let_go(&mut self) {
        self.holds = false;
        for proposal in std::mem::take(&mut self.held) {
            let idx = proposal.author.0;
            self.append(proposal);
            self.pump(idx);
        }
    }

    /// A node takes in what the ledger has beyond what it followed.
    pub(super) fn follow(&mut self, idx: usize) {
        while let Some(batch) = self.batches.get(self.nodes[idx].n_followed) {
            let node = &mut self.nodes[idx];
            node.n_followed += 1;
            let entries = batch.entries.clone();
            let event = match batch.author {
                Some((author, life, batch)) if (author, life) == (idx, node.life) => {
                    Event::Appended { batch, entries }
                }
                Some(_) | None => Event::Followed { entries },
            };
            node.control.handle(event, at(self.ms));
        }
    }

    /// Time passes in steps of 100 ms: each node follows, hears the fleet and the gateway, and looks around.
    pub(super) fn run(&mut self, span: Millis) {
        for _ in 0..span.0 / 100 {
            self.ms += 100;
            for idx in 0..self.nodes.len() {
                if self.nodes[idx].power == Power::On && !self.ledger_away {
                    self.follow(idx);
                    self.pump(idx);
                }
            }
            if self.ms.is_multiple_of(500) {
                self.beat_all();
            }
            if self.gateway_speaks && self.ms.is_multiple_of(200) {
                self.tell_state();
            }
            for idx in 0..self.nodes.len() {
                if self.nodes[idx].power == Power::On {
                    self.nodes[idx].control.handle_timeout(at(self.ms));
                    self.pump(idx);
                }
            }
        }
    }

    fn beat_all(&mut self) {
        let silent = self.silent.clone();
        let mut beats = Vec::new();
        for (_, vehicle) in self.fleet.iter_mut().filter(|(id, _)| !silent.contains(*id)) {
            vehicle.beat += 1;
            beats.push(Event::Heartbeat(vehicle.clone()));
        }
        for beat in beats {
            self.handle_all(&beat);
        }
    }

    /// The gateway tells every node of the lift.
    pub(super) fn tell_state(&mut self) {
        self.tick += 1;
        let reading = LiftReading {
            lift: fixture::lift("L1"),
            read: ReadRef { boot: 1, tick: self.tick },
            status: Some(self.status.clone()),
            age_ms: Millis(0),
            connection: Connection::Up,
            epoch: 1,
            arbitration: Arbitration::Lease,
            token: FencingToken::default(),
            verifying: None,
            settling: None,
            connections_lost: 0,
            foreign: None,
        };
        let gateway = fixture::gateway("G1");
        let (message, lifts) = (self.tick, vec![reading]);
        let status = GatewayStatus { gateway, boot: 1, message, messages_rejected: 0, lifts };
        self.handle_all(&Event::GatewayStatus(status));
    }

    /// Asks one node for an order; the answer, if it came.
    pub(super) fn ask(&mut self, idx: usize, order: PlaceOrder, key: &str) -> RequestId {
        self.requests += 1;
        let request = RequestId(self.requests);
        let (idempotency_key, fingerprint) = (key.to_owned(), format!("{order:?}"));
        self.handle(idx, Event::OrderRequested { request, order, idempotency_key, fingerprint });
        request
    }

    /// A vehicle takes a command and finishes it, and every node hears so.
    pub(super) fn carry_out(&mut self, command: &VehicleCommand) {
        let vehicle = self.fleet.get_mut(&command.vehicle).expect("a vehicle of the fleet");
        vehicle.acknowledged = vehicle.acknowledged.max(command.sequence);
        vehicle.completions.insert(0, command.id.clone());
        vehicle.work = WorkState::Idle;
        if let Instruction::Drive { path, .. } = &command.instruction {
            vehicle.place = Place::At { point: path.last().expect("a path").clone() };
        }
        self.handle_all(&Event::Reported(done(command)));
    }

    pub(super) fn name(&self, idx: usize) -> NodeId {
        self.nodes[idx].control.config.node.clone()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.batches.iter().flat_map(|it| &it.entries)
    }

    /// What was recorded of one kind: by whom, and what it says.
    pub(super) fn found<T>(&self, of: impl Fn(&Record) -> Option<T>) -> Vec<(String, T)> {
        self.entries().filter_map(|it| Some((it.node.to_string(), of(&it.record)?))).collect()
    }
}

/// A vehicle's word that it has done a command.
pub(super) fn done(command: &VehicleCommand) -> VehicleReport {
    VehicleReport {
        command: command.id.clone(),
        task: command.task.clone(),
        vehicle: command.vehicle.clone(),
        boot: 1,
        report: command.sequence,
        progress: Progress::Done,
    }
}
