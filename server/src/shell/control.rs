//! The loop around a control node: what arrives becomes events, effects are performed in order.
//!
//! Nothing in it waits: the ledger, the lease store and the broker each have a worker, and their answers come back
//! as events. The machine itself sends nothing before the ledger has it.

mod leases;
mod ledger;
mod stop;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context;
use kernel::control::{Control, Effect, Event, NodeConfig, RequestId, TakenBack};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::lease::LeaseRequest;
use kernel::plant::Plant;
use kernel::time::Mono;
use kernel::wire::gateway::GatewayCommand;
use kernel::wire::live::Change;
use kernel::wire::view::NodeView;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;
use crate::drill::Levers;
use crate::drill::levers::Program;
use crate::journal::{Journal, JournalError};
use crate::lease::LeaseStore;
use crate::live::hub::Hub;
use crate::messaging::topics::{GatewayRoad, Topic};
use crate::messaging::{Incoming, Link, Publish, Road, codec};
use crate::shell::ControlRequest;

use self::ledger::{LedgerRoad, Speaker, Word};

/// Answers of the ledger and the lease store that wait for the loop: each belongs to one proposal or request in
/// flight, and the machine has at most one per task, vehicle, lift and alarm.
const ANSWERS_MAX: usize = 16_384;
/// Messages that wait for the broker's worker. When it is full the message is dropped: a command's redelivery is due
/// by its own deadline, a beat is followed by the next.
const OUTGOING_MAX: usize = 1024;
/// A start waits so long for its turn at the ledger. What an earlier process has left there takes seconds at most.
const TURN_BOUND: Duration = Duration::from_secs(60);
/// Between two attempts to get it.
const TURN_PAUSE: Duration = Duration::from_millis(250);
/// Kinds of messages that are logged when they cannot be understood; further kinds are counted only.
const REJECTIONS_LOGGED_MAX: usize = 256;
/// Entries read at once when the ledger is taken in.
const RESTORE_PAGE: u32 = 1000;

/// Everything that a control node is connected to.
pub struct ControlShell {
    /// Its name.
    pub node: NodeId,
    /// The site.
    pub plant: Plant,
    /// The ledger.
    pub journal: Journal,
    /// What browsers and REST see.
    pub hub: Hub,
    /// The broker.
    pub link: Link,
    /// What comes from the broker.
    pub incoming: mpsc::Receiver<Incoming>,
    /// What HTTP asks.
    pub requests: mpsc::Receiver<ControlRequest>,
    /// Where leases come from.
    pub leases: LeaseStore,
    /// By which a drill run makes it fail; none in an ordinary run.
    pub levers: Option<Levers>,
}

type Answers = oneshot::Sender<Result<kernel::control::Accepted, kernel::wire::rest::OrderRefusal>>;

/// How a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// It handed its tasks over.
    Left,
    /// Another process runs under the node's name.
    Superseded,
}

type Withdrawn = oneshot::Sender<Result<TakenBack, kernel::wire::rest::WithdrawalRefusal>>;

struct Running {
    machine: Control,
    node: NodeId,
    plant: Plant,
    hub: Hub,
    leases: LeaseStore,
    levers: Option<Levers>,
    clock: Clock,
    ledger: LedgerRoad,
    /// What ended the run, when it was over by itself.
    over: Option<Over>,
    outgoing: mpsc::Sender<Publish>,
    events: mpsc::Sender<Event>,
    tasks: TaskTracker,
    waiting: BTreeMap<RequestId, Answers>,
    withdrawing: BTreeMap<RequestId, Withdrawn>,
    /// The node as the machine shows it.
    view: Option<NodeView>,
    n_requests: u64,
    rejected: BTreeSet<(String, String)>,
}

impl ControlShell {
    /// Takes in the ledger, then runs until `stop`. Everything that was accepted is durable when it returns.
    ///
    /// # Errors
    /// The ledger cannot be read, or does not fit.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let machine = tokio::select! {
            restored = restore(&self) => restored?,
            () = stop.cancelled() => return Ok(()),
        };
        let (events, answers) = mpsc::channel(ANSWERS_MAX);
        let tasks = TaskTracker::new();
        let (outgoing, to_send) = mpsc::channel(OUTGOING_MAX);
        let sender = tasks.spawn(send_all(self.link.clone(), to_send));
        let taken_in = machine.book().sequence;
        let clock = self.clock();
        let roads = self.levers.as_ref().map(|it| it.roads.clone());
        let speaker = Speaker { node: self.node.clone(), clock: clock.clone(), roads };
        let ledger = LedgerRoad::start(&self.journal, speaker, taken_in, &events, &tasks);
        if let Some(levers) = &self.levers {
            levers.leases.attach(&self.node, &self.leases);
        }
        let mut running = Running {
            machine,
            node: self.node,
            plant: self.plant,
            hub: self.hub,
            leases: self.leases,
            levers: self.levers,
            clock,
            ledger,
            over: None,
            outgoing,
            events,
            tasks: tasks.clone(),
            waiting: BTreeMap::new(),
            withdrawing: BTreeMap::new(),
            view: None,
            n_requests: 0,
            rejected: BTreeSet::new(),
        };
        // A run that is killed leaves no worker behind that waits for a ledger which is away.
        let _killed = running.ledger.gone().drop_guard();
        running.machine.start(running.clock.now());
        running.perform();
        let mut answers = answers;
        let ended = running.turn(self.incoming, self.requests, &mut answers, &stop).await;
        let ended = match ended {
            Ok(()) if running.over.is_none() => running.leave(&mut answers).await,
            ended => ended,
        };
        // Who was promised an answer gets it: the requests' mailbox is closed by now, so no more come.
        running.answer_waiting(&mut answers).await;
        let (reach, gone) = (running.ledger.reach(), running.ledger.gone());
        drop(running);
        drop(answers);
        stop::finish(&tasks, reach, &gone, &sender).await;
        ended
    }
}

impl ControlShell {
    fn clock(&self) -> Clock {
        let program = Program::Node(self.node.clone());
        self.levers.as_ref().map(|it| it.clocks.of(&program)).unwrap_or_default()
    }
}

impl Running {
    async fn turn(
        &mut self,
        mut incoming: mpsc::Receiver<Incoming>,
        mut requests: mpsc::Receiver<ControlRequest>,
        answers: &mut mpsc::Receiver<Event>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        let mut reach = self.ledger.reach();
        let program = Program::Node(self.node.clone());
        loop {
            if let Some(levers) = self.levers.clone() {
                tokio::select! {
                    () = levers.pauses.wait(&program) => {}
                    () = stop.cancelled() => return Ok(()),
                }
            }
            let due = self.machine.poll_timeout().map_or(Mono(u64::MAX), |(at, _)| at);
            let wait = Duration::from_millis(due.since(self.clock.now().mono).0);
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some(event) = answers.recv() => {
                    self.ledger.check()?;
                    self.handle(event);
                }
                Some(message) = incoming.recv() => self.hear(message),
                Some(request) = requests.recv() => self.ask(request),
                Ok(()) = reach.changed() => self.show_reach(),
                () = tokio::time::sleep(wait) => {
                    self.machine.handle_timeout(self.clock.now());
                    self.perform();
                }
            }
            self.ledger.check()?;
            refuse_foreign(&self.machine, &self.plant)?;
            match self.over {
                Some(Over::Superseded) => anyhow::bail!(
                    "another process has started as node {} on this ledger; give one of the two another --node",
                    self.node
                ),
                Some(Over::Left) => return Ok(()),
                None => {}
            }
        }
    }

    fn handle(&mut self, event: Event) {
        if let Event::Appended { entries, .. } | Event::Followed { entries } = &event {
            self.hub.know_ledger(entries);
        }
        let now = self.clock.now();
        self.hub.health().hear(&event, now);
        self.machine.handle(event, now);
        self.perform();
    }

    fn hear(&mut self, message: Incoming) {
        let event = match message {
            Incoming::Connected { .. } => Event::Broker { connected: true },
            Incoming::Disconnected { reason } => {
                tracing::warn!(reason, "the broker is away");
                Event::Broker { connected: false }
            }
            Incoming::Message { topic, payload } => {
                match codec::decode_for_control(&self.plant, &topic, &payload) {
                    Ok(Some(event)) => event,
                    Ok(None) => return,
                    Err(rejected) => {
                        self.note_rejected(&rejected);
                        rejected.into_event()
                    }
                }
            }
        };
        self.handle(event);
    }

    /// Logged once per topic and reason: whoever sends nonsense sends it often. The count is shown.
    fn note_rejected(&mut self, rejected: &codec::Rejected) {
        let seen = (rejected.topic.clone(), rejected.reason.clone());
        if self.rejected.len() < REJECTIONS_LOGGED_MAX && self.rejected.insert(seen) {
            tracing::warn!(
                topic = rejected.topic,
                "a message was not understood: {}",
                rejected.reason.escape_debug()
            );
        }
    }

    fn ask(&mut self, request: ControlRequest) {
        match request {
            ControlRequest::PlaceOrder { order, idempotency_key, fingerprint, reply } => {
                self.n_requests += 1;
                let request = RequestId(self.n_requests);
                self.waiting.insert(request, reply);
                self.handle(Event::OrderRequested { request, order, idempotency_key, fingerprint });
            }
            ControlRequest::WithdrawOrder { order, reply } => {
                self.n_requests += 1;
                let request = RequestId(self.n_requests);
                self.withdrawing.insert(request, reply);
                self.handle(Event::WithdrawRequested { request, order });
            }
            ControlRequest::Drill(note) => self.handle(note.into_event()),
        }
    }

    fn perform(&mut self) {
        let (mut changes, mut refused) = (Vec::new(), Vec::new());
        let (mut placed, mut withdrawn) = (Vec::new(), Vec::new());
        let now = self.clock.now();
        while let Some(effect) = self.machine.poll_effect() {
            self.hub.health().see(&effect, now);
            match effect {
                Effect::Append { batch, records, guards } => {
                    refused.extend(self.ledger.append(batch, records, guards));
                }
                Effect::Attend { run, beat, hears_broker } => {
                    self.ledger.attend(Word { run, beat, hears_broker });
                }
                Effect::Left => drop(self.over.get_or_insert(Over::Left)),
                Effect::Superseded => self.over = Some(Over::Superseded),
                Effect::Answer { request, answer } => {
                    placed.extend(self.waiting.remove(&request).map(|reply| (reply, answer)));
                }
                Effect::AnswerWithdrawal { request, answer } => {
                    withdrawn.extend(self.withdrawing.remove(&request).map(|reply| (reply, answer)));
                }
                Effect::AcquireLease { lift, nonce, epoch, floor, life, priority } => {
                    let holder = self.node.clone();
                    self.acquire_lease(LeaseRequest { lift, holder, nonce, epoch, floor, life, priority });
                }
                Effect::RenewLease(lease) => self.renew_lease(lease),
                Effect::OpenCall(request) => self.open_call(request),
                Effect::SettleCall { lift, settled } => self.settle_call(lift, settled),
                Effect::ReleaseLease { lift, nonce, token, settled } => {
                    self.release_lease(lift, nonce, token, settled);
                }
                Effect::SendVehicle { gateway, command } => {
                    let (key, valid_for) = (command.id.to_string(), command.valid_for_ms);
                    let topic = Topic::Gateway(gateway, GatewayRoad::Command);
                    let body = GatewayCommand::Vehicle(command);
                    self.send(&topic, body, Road::Reliable { key, valid_for });
                }
                Effect::SendLift { gateway, command } => {
                    let (key, valid_for) = (command.id.to_string(), command.valid_for_ms);
                    let topic = Topic::Gateway(gateway, GatewayRoad::Command);
                    self.send(&topic, GatewayCommand::Lift(command), Road::Reliable { key, valid_for });
                }
                Effect::Beat(beat) => {
                    let topic = Topic::ControlBeat(self.node.clone());
                    self.send(&topic, beat, Road::Fast);
                }
                Effect::ProbeStore => {
                    let reached = !self.leases.is_away();
                    if let Err(error) = self.events.try_send(Event::StoreProbed { reached }) {
                        tracing::warn!("what the lease store answered was dropped: {error}");
                    }
                }
                Effect::Show(change) => changes.push(self.within_reach(change)),
            }
        }
        for lift in self.plant.lifts.keys() {
            self.hub.health().saved(lift, self.machine.commands_saved(lift), now);
            if self.hub.health().lost(lift, self.machine.leases_lost(lift), now) > 0 {
                tracing::warn!(%lift, "the lease was lost with work in hand: what was not sent is given up");
            }
        }
        self.hub.show_at(self.machine.book().sequence, changes);
        // What is answered is shown by then. Whoever asked may have gone; the order stands all the same.
        for (reply, answer) in placed {
            let _ = reply.send(answer);
        }
        for (reply, answer) in withdrawn {
            let _ = reply.send(answer);
        }
        // After a refusal the machine proposes nothing for a while, so this ends.
        for event in refused {
            self.handle(event);
        }
    }

    /// The machine learns by its proposals alone that the ledger is away, and tries again after a while. It is shown as
    /// what it is all the time.
    fn within_reach(&mut self, change: Change) -> Change {
        let Change::Node(view) = change else { return change };
        self.view = Some(view.clone());
        let there = self.ledger.reach().borrow().away().is_none();
        Change::Node(NodeView { ledger_writable: view.ledger_writable && there, ..view })
    }

    /// The ledger went away or came back.
    fn show_reach(&mut self) {
        if let Some(view) = self.view.clone() {
            let change = self.within_reach(Change::Node(view));
            self.hub.show_at(self.machine.book().sequence, vec![change]);
        }
    }

    fn send<T: serde::Serialize>(&self, topic: &Topic, body: T, road: Road) {
        let topic = topic.to_text(&self.plant.site);
        let payload = match codec::encode(body, self.clock.now().wall) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::error!(%topic, "a message cannot be written: {error:#}");
                return;
            }
        };
        let message = Publish { topic, payload, road, retain: false };
        if let Err(error) = self.outgoing.try_send(message) {
            tracing::warn!("a message was dropped before the broker: {error}");
        }
    }
}

/// Reads the whole ledger into a new machine.
async fn restore(shell: &ControlShell) -> anyhow::Result<Control> {
    let ControlShell { journal, node, plant, levers, hub, .. } = shell;
    wait_for_turn(shell).await.context("the ledger does not take this node")?;
    let config = NodeConfig { node: node.clone(), drill: levers.is_some() };
    let mut machine = Control::new(config, plant.clone());
    let mut after = LedgerSequence::default();
    loop {
        let page = journal.entries_after(after, RESTORE_PAGE).await.context("the ledger cannot be read")?;
        let Some(last) = page.last() else { break };
        after = last.sequence;
        hub.know_ledger(&page);
        for entry in &page {
            machine.restore(entry).map_err(|reason| {
                anyhow::anyhow!("entry {} of the ledger does not fit: {reason}", entry.sequence)
            })?;
        }
    }
    refuse_foreign(&machine, plant)?;
    let run = machine.book().run_of(node) + 1;
    tracing::info!(entries = after.0, run, "the ledger is taken in");
    Ok(machine)
}

/// A ledger is one site's.
fn refuse_foreign(machine: &Control, plant: &Plant) -> anyhow::Result<()> {
    match machine.foreign_site() {
        Some(site) => anyhow::bail!(
            "the ledger belongs to site {site}, the site file describes {}; use another ledger (--ledger or --data) or \
             the other file",
            plant.site
        ),
        None => Ok(()),
    }
}

/// Waits until nothing is on its way to the ledger any more that an earlier process of this name may have left there:
/// an empty proposal has its turn after it. A start that came to stand only now would be taken for that of another
/// process.
async fn wait_for_turn(shell: &ControlShell) -> anyhow::Result<()> {
    let ControlShell { journal, node, .. } = shell;
    let give_up = tokio::time::Instant::now() + TURN_BOUND;
    while let Err(error) = journal.append(node.clone(), shell.clock().now().wall, vec![], vec![]).await {
        if error == JournalError::Closed || tokio::time::Instant::now() >= give_up {
            return Err(error.into());
        }
        tracing::debug!("the ledger does not give this node its turn yet: {error}");
        tokio::time::sleep(TURN_PAUSE).await;
    }
    Ok(())
}

async fn send_all(link: Link, mut outgoing: mpsc::Receiver<Publish>) {
    while let Some(message) = outgoing.recv().await {
        let topic = message.topic.clone();
        if let Err(error) = link.publish(message).await {
            tracing::warn!(topic, "a message was not sent: {error}");
        }
    }
}
