//! What a gateway promises for one lift (A7, A10 to A13), as short as it can be said: the highest marks, one queue, one
//! command in flight. It says what must be told and written; it does not say how.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use kernel::gateway::{CommandBlock, Event};
use kernel::ids::{CommandId, TaskId};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::{Expectation, LiftStatus};
use kernel::timing::PLC_ACK_DEADLINE;
use kernel::wire::gateway::{Authority, Connection, GatewayCommand, GatewayRefusal, LiftCommand, Verdict};

use super::plc::{FLOORS, Plc};
use super::steps::{Death, Step, Turn, task_name};
use crate::fixture;

/// Commands that may wait.
pub(super) const QUEUE_MAX: usize = 8;

/// What must be done, in this order.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Write {
        command: CommandId,
        block: CommandBlock,
    },
    /// One of these is told, or, if `or_again`, what was told of this command before.
    Tell {
        command: CommandId,
        any_of: Vec<Verdict>,
        or_again: bool,
    },
    Forward(CommandId),
}

/// What outlives the gateway's process.
#[derive(Clone, Debug, Default)]
pub(super) struct Durable {
    pub(super) boot: u64,
    pub(super) epoch: u32,
    pub(super) token: FencingToken,
    pub(super) holder: Option<(String, LeaseNonce)>,
    pub(super) session: u64,
    pub(super) claims: BTreeMap<TaskId, u64>,
    pub(super) number: u16,
    pub(super) in_flight: Option<Flight>,
    /// What waits.
    pub(super) queued: VecDeque<CommandId>,
    /// Final outcomes of what was written, and of what waited at a start.
    pub(super) settled: BTreeMap<CommandId, Verdict>,
}

#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) command: CommandId,
    pub(super) number: u16,
    pub(super) plc_boot: u16,
    pub(super) expects: Expectation,
}

/// How sure the gateway is of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The echo may still come, until then.
    Awaiting(u64),
    /// It is being found out. Since when reads come and the PLC is not frozen.
    Verifying(Option<u64>),
}

#[derive(Clone)]
pub(super) struct Model {
    pub(super) ms: u64,
    /// Whether control sends more than can be done.
    pub(super) eager: bool,
    pub(super) plc: Plc,
    pub(super) durable: Durable,
    pub(super) doubt: Doubt,
    /// When each read of this run came; the first is tick 1.
    pub(super) reads: Vec<u64>,
    pub(super) newest: Option<(LiftStatus, u64)>,
    pub(super) connection: Connection,
    pub(super) reads_since: Option<u64>,
    pub(super) alive_at: u64,
    pub(super) queue: VecDeque<(LiftCommand, u64)>,
    /// The last write of this run and whether it reached the PLC.
    pub(super) last_write: Option<(u16, bool)>,
    pub(super) sent: Vec<LiftCommand>,
    /// What waited when the gateway started: told first of all.
    pub(super) given_up: Vec<CommandId>,
    /// Refused or expired, and in which run.
    pub(super) refused: BTreeMap<CommandId, u64>,
    /// What is handed to the gateway in this step; none if only time passes.
    pub(super) event: Option<Event>,
    /// What must be done in this step, and what is durable before it.
    pub(super) acts: Vec<(Act, Durable)>,
}

/// All that differs between two beginnings.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { eager, durable: Durable { epoch, number, .. }, .. } = self;
        write!(f, "epoch {epoch}, number {number}, eager {eager}")
    }
}

impl Model {
    /// Before the gateway's first start.
    pub(super) fn new(epoch: u32, number: u16, eager: bool) -> Self {
        let mut model = Self {
            ms: 0,
            eager,
            plc: Plc::new(),
            durable: Durable { epoch, number, ..Durable::default() },
            doubt: Doubt::Verifying(None),
            reads: Vec::new(),
            newest: None,
            connection: Connection::Unknown,
            reads_since: None,
            alive_at: 0,
            queue: VecDeque::new(),
            last_write: None,
            sent: Vec::new(),
            given_up: Vec::new(),
            refused: BTreeMap::new(),
            event: None,
            acts: Vec::new(),
        };
        model.start();
        model
    }

    fn start(&mut self) {
        self.durable.boot += 1;
        self.doubt = Doubt::Verifying(None);
        self.reads.clear();
        self.newest = None;
        self.connection = Connection::Unknown;
        self.reads_since = None;
        self.alive_at = self.ms;
        self.queue.clear();
        self.given_up = self.durable.queued.drain(..).collect();
        let outcomes = self.given_up.iter().map(|id| (id.clone(), Verdict::NotSent));
        self.durable.settled.extend(outcomes);
        self.last_write = None;
    }

    pub(super) fn apply(&mut self, turn: &Turn) {
        let before = self.durable.clone();
        self.acts.clear();
        self.event = None;
        self.begin(&turn.step);
        if self.durable.in_flight.is_some()
            && matches!(self.doubt, Doubt::Awaiting(until) if until <= self.ms)
        {
            self.begin_doubt();
        }
        self.take_from_queue();
        match turn.death {
            None => {}
            Some(Death::AtOnce) => {
                self.acts.clear();
                self.durable = before;
            }
            Some(Death::After(n)) => {
                if let Some((_, durable)) = self.acts.get(n) {
                    self.durable = durable.clone();
                }
                self.acts.truncate(n);
            }
        }
        for (act, _) in &self.acts {
            if let Act::Write { block, .. } = act {
                self.last_write = Some((block.number, turn.reaches));
                self.plc.register = if turn.reaches { Some(*block) } else { self.plc.register };
            }
        }
        if turn.death.is_some() {
            self.start();
        }
    }

    fn begin(&mut self, step: &Step) {
        match step {
            Step::Ask(ask) => {
                let command = self.command(ask);
                self.sent.push(command.clone());
                self.commanded(command);
            }
            Step::Repeat(back) => {
                let nth = self.sent.len().checked_sub(back + 1);
                if let Some(command) = nth.and_then(|nth| self.sent.get(nth)).cloned() {
                    self.commanded(command);
                }
            }
            Step::Vehicle { task, claim } => {
                let claim = claim.to(self.claim(&task_name(*task)));
                self.vehicle_commanded(*task, claim);
            }
            Step::Read { after_ms, scans, finishes } => {
                self.ms += after_ms;
                if *scans {
                    self.plc.scan();
                }
                if *finishes {
                    self.plc.finish();
                }
                self.read();
            }
            Step::ReadFails { after_ms } => {
                self.ms += after_ms;
                self.event =
                    Some(Event::ReadFailed { lift: fixture::lift("L1"), reason: "timed out".into() });
                self.connection = Connection::Down;
                self.reads_since = None;
                self.quiet_from(None);
            }
            Step::Sleep { ms } => self.ms += ms,
            Step::Report { certain } => self.reported(*certain),
            Step::Plant(change) => self.plc.change(*change),
        }
    }

    // Commands.

    fn commanded(&mut self, command: LiftCommand) {
        self.event = Some(Event::Commanded(Box::new(GatewayCommand::Lift(command.clone()))));
        if let Some(verdict) = self.durable.settled.get(&command.id) {
            self.tell(&command.id, vec![verdict.clone()], false);
            return;
        }
        let refused_in = self.refused.get(&command.id).copied();
        if refused_in == Some(self.durable.boot) {
            self.tell(&command.id, Vec::new(), true);
        } else if !self.has(&command.id) {
            let mut reasons = self.reasons_against(&command);
            if reasons.is_empty() && self.queue.len() >= QUEUE_MAX {
                reasons.push(GatewayRefusal::QueueFull);
            }
            if reasons.is_empty() {
                self.adopt(&command);
                self.durable.queued.push_back(command.id.clone());
                self.queue.push_back((command, self.ms));
            } else {
                self.refuse(&command.id, reasons, refused_in.is_some());
            }
        }
    }

    fn has(&self, id: &CommandId) -> bool {
        self.durable.in_flight.as_ref().is_some_and(|it| it.command == *id)
            || self.queue.iter().any(|(command, _)| command.id == *id)
    }

    fn adopt(&mut self, command: &LiftCommand) {
        let durable = &mut self.durable;
        if let Authority::Lease { token, nonce } = command.authority {
            durable.token = token;
            durable.holder = Some((command.holder.to_string(), nonce));
        }
        durable.session = command.session.generation.0;
        durable.claims.insert(command.session.task.clone(), command.session.claim.0);
    }

    fn vehicle_commanded(&mut self, task: usize, claim: u64) {
        let mut command = fixture::vehicle_command(&format!("V{}", self.ms), "V1", claim);
        command.task = Some(task_name(task));
        self.event = Some(Event::Commanded(Box::new(GatewayCommand::Vehicle(command.clone()))));
        if claim < self.claim(&task_name(task)) {
            let reason = GatewayRefusal::StaleClaim;
            self.tell(&command.id, vec![Verdict::Refused { reason }], false);
        } else {
            self.durable.claims.insert(task_name(task), claim);
            self.acts.push((Act::Forward(command.id.clone()), self.durable.clone()));
            self.tell(&command.id, vec![Verdict::Forwarded], false);
        }
    }

    fn take_from_queue(&mut self) {
        while self.durable.in_flight.is_none() {
            let Some((command, arrived)) = self.queue.pop_front() else { return };
            self.durable.queued.pop_front();
            let reasons = self.reasons_against(&command);
            if self.ms - arrived > command.valid_for_ms.0 {
                self.refused.insert(command.id.clone(), self.durable.boot);
                self.tell(&command.id, vec![Verdict::Expired], false);
            } else if reasons.is_empty() {
                self.write(&command);
            } else {
                self.refuse(&command.id, reasons, false);
            }
        }
    }

    fn write(&mut self, command: &LiftCommand) {
        let Some((shown, _)) = &self.newest else { return };
        let taken = BTreeSet::from([0, shown.accepted, shown.completed]);
        let mut number = self.durable.number.wrapping_add(1);
        while taken.contains(&number) {
            number = number.wrapping_add(1);
        }
        let floor = if command.floor.as_str() == FLOORS[0] { 1 } else { 2 };
        self.durable.number = number;
        self.durable.in_flight = Some(Flight {
            command: command.id.clone(),
            number,
            plc_boot: shown.boot,
            expects: command.expects.clone(),
        });
        self.doubt = Doubt::Awaiting(self.ms + PLC_ACK_DEADLINE.0);
        let block = CommandBlock { number, action: command.action, floor };
        self.acts.push((Act::Write { command: command.id.clone(), block }, self.durable.clone()));
    }

    fn refuse(&mut self, id: &CommandId, reasons: Vec<GatewayRefusal>, again: bool) {
        self.refused.insert(id.clone(), self.durable.boot);
        let any_of = reasons.into_iter().map(|reason| Verdict::Refused { reason }).collect();
        self.tell(id, any_of, again);
    }

    pub(super) fn tell(&mut self, command: &CommandId, any_of: Vec<Verdict>, or_again: bool) {
        let act = Act::Tell { command: command.clone(), any_of, or_again };
        self.acts.push((act, self.durable.clone()));
    }
}
