//! One lift as its gateway has it: the newest read, the queue, the command in flight.

mod inferred;
mod settling;

use std::collections::{BTreeSet, VecDeque};

use crate::ids::{CommandId, LiftId};
use crate::lift::LiftStatus;
use crate::plant::Lift;
use crate::safeguard::{Safeguard, Safeguards};
use crate::time::{Mono, Now};
use crate::timing::{LIFT_POLL_PERIOD, LIFT_READ_AGE_MAX, PLC_ACK_DEADLINE, PLC_FROZEN, PLC_SETTLE};
use crate::wire::gateway::{Connection, GatewayRefusal, LiftCommand, LiftReading, ReadRef, Verdict};

use super::admission::View;
use super::edge::LiftState;
use super::foreign::ForeignWatch;
use super::marks::{Aim, InFlight, LiftMarks};
use super::{CommandBlock, WriteResult};

use self::inferred::Inferred;

/// Commands that wait for one lift. Control sends one at a time and each is void after seconds, so a longer line
/// would only hold void ones.
const QUEUE_MAX: usize = 8;
/// Reasons that are logged while a PLC is away; a PLC that finds more is only counted.
const REASONS_MAX: usize = 16;
/// Reads that can be named: as many as a named read may be old, and as many again.
const TICKS_MAX: usize = (2 * LIFT_READ_AGE_MAX.0 / LIFT_POLL_PERIOD.0) as usize;

/// What the lift does with the command that was taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Written, or being written; the echo is awaited.
    Awaiting {
        flight: InFlight,
        until: Mono,
        /// When the write was known to be over: a later read may show what came of it.
        wrote: Option<Mono>,
    },
    /// It may have run. Reads that succeed in one row since `good_since`, of a PLC that scans, settle it.
    Verifying {
        flight: InFlight,
        good_since: Option<Mono>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Channel {
    id: LiftId,
    lift: Lift,
    newest: Option<(LiftStatus, Mono)>,
    tick: u64,
    ticks: VecDeque<(u64, Mono)>,
    connection: Connection,
    alive_at: Mono,
    connections_lost: u64,
    /// Since when reads come without a failure between them.
    reads_since: Option<Mono>,
    /// Why reads failed since they last came steadily: each is logged once.
    reasons: BTreeSet<String>,
    queue: VecDeque<(LiftCommand, Mono)>,
    phase: Phase,
    concluded: VecDeque<(CommandId, Option<u16>, Verdict)>,
    foreign: ForeignWatch,
    inferred: Inferred,
    log: Vec<String>,
    safeguards: Safeguards,
}

impl Channel {
    pub(super) fn new(id: LiftId, lift: Lift, kept: &LiftMarks, now: Now) -> Self {
        let phase = match &kept.in_flight {
            Some(flight) => Phase::Verifying { flight: flight.clone(), good_since: None },
            None => Phase::Idle,
        };
        Self {
            id,
            lift,
            newest: None,
            tick: 0,
            ticks: VecDeque::new(),
            connection: Connection::Unknown,
            alive_at: now.mono,
            connections_lost: 0,
            reads_since: None,
            reasons: BTreeSet::new(),
            queue: VecDeque::new(),
            phase,
            concluded: VecDeque::new(),
            foreign: ForeignWatch::default(),
            inferred: Inferred::begin(kept),
            log: Vec::new(),
            safeguards: Safeguards::ALL,
        }
    }

    pub(super) fn take_safeguards(&mut self, safeguards: Safeguards) {
        self.safeguards = safeguards;
        if !safeguards.holds(Safeguard::FlightRecord) {
            self.phase = Phase::Idle;
        }
    }

    pub(super) fn view(&self, boot: u64, now: Now) -> View<'_> {
        View {
            lift: &self.lift,
            boot,
            newest: self.newest.as_ref().map(|(status, at)| (status, *at)),
            ticks: &self.ticks,
            connection: self.connection_at(now),
            verifying: matches!(self.phase, Phase::Verifying { .. }),
            safeguards: self.safeguards,
        }
    }

    pub(super) fn reading(&self, boot: u64, kept: &LiftMarks, now: Now) -> LiftReading {
        let age_ms = self.newest.as_ref().map(|(_, at)| now.mono.since(*at)).unwrap_or_default();
        let verifying = match &self.phase {
            Phase::Verifying { flight, .. } => Some(flight.command.clone()),
            Phase::Idle | Phase::Awaiting { .. } => None,
        };
        LiftReading {
            lift: self.id.clone(),
            read: ReadRef { boot, tick: self.tick },
            status: self.newest.as_ref().map(|(status, _)| status.clone()),
            age_ms,
            connection: self.connection_at(now),
            arbitration: kept.arbitration,
            epoch: kept.epoch,
            token: kept.token,
            verifying,
            settling: self.settling(now),
            connections_lost: self.connections_lost,
            foreign: self.foreign.newest(now),
        }
    }

    /// The command is in the queue or in flight: its outcome will be told.
    pub(super) fn knows(&self, id: &CommandId) -> bool {
        let in_flight = match &self.phase {
            Phase::Idle => false,
            Phase::Awaiting { flight, .. } | Phase::Verifying { flight, .. } => flight.command == *id,
        };
        in_flight || self.queue.iter().any(|(command, _)| command.id == *id)
    }

    /// This command is in flight, and that its write was confirmed is all that is known of it.
    pub(super) fn rests_on_the_write_of(&self, id: &CommandId) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Awaiting { flight, .. } | Phase::Verifying { flight, .. } => {
                flight.confirmed && flight.command == *id
            }
        }
    }

    /// Nothing waits, nothing is under way, and the lift is seen to rest.
    pub(super) fn is_settled(&self, now: Now) -> bool {
        let seen = self.newest.as_ref().filter(|(_, at)| now.mono.since(*at) <= LIFT_READ_AGE_MAX);
        let rests = seen.is_some_and(|(status, _)| LiftState::of(status).rests(status));
        self.queue.is_empty()
            && self.phase == Phase::Idle
            && self.connection_at(now) == Connection::Up
            && rests
    }

    pub(super) fn enqueue(&mut self, command: LiftCommand, now: Now) -> Result<(), GatewayRefusal> {
        if self.queue.len() >= QUEUE_MAX {
            return Err(GatewayRefusal::QueueFull);
        }
        self.queue.push_back((command, now.mono));
        Ok(())
    }

    /// The next command and whether its validity has ended; none while one is in flight.
    pub(super) fn dequeue(&mut self, now: Now) -> Option<(LiftCommand, bool)> {
        if self.phase != Phase::Idle {
            return None;
        }
        let (command, arrived) = self.queue.pop_front()?;
        let expired = now.mono.since(arrived) > command.valid_for_ms;
        Some((command, expired))
    }

    /// Begins to write an admitted command: what is persisted about it, and the block.
    pub(super) fn begin(
        &mut self,
        command: &LiftCommand,
        last_number: u16,
        now: Now,
    ) -> Option<(InFlight, CommandBlock)> {
        let (status, _) = self.newest.as_ref()?;
        let floor = self.lift.stop_number(&command.floor)?;
        let number = next_number(last_number, status);
        let flight = InFlight {
            command: command.id.clone(),
            number,
            plc_boot: status.boot,
            expects: command.expects.clone(),
            aim: Some(Aim { action: command.action, floor: command.floor.clone() }),
            confirmed: false,
        };
        self.inferred.forget_strays();
        let until = now.mono + PLC_ACK_DEADLINE;
        self.phase = Phase::Awaiting { flight: flight.clone(), until, wrote: None };
        Some((flight, CommandBlock { number, action: command.action, floor }))
    }

    /// `number` is the last that was given to a command.
    pub(super) fn read(&mut self, status: LiftStatus, number: u16, now: Now) {
        self.tick += 1;
        self.ticks.push_back((self.tick, now.mono));
        while self.ticks.len() > TICKS_MAX {
            self.ticks.pop_front();
        }
        self.note_good_read(now);
        let status = self.with_what_is_not_told(status, now);
        let before = self.newest.as_ref().map(|(status, _)| (status.boot, status.heartbeat));
        if self.lift.capabilities.boot && before.is_some_and(|(boot, _)| boot != status.boot) {
            self.log.push(format!("the PLC has restarted: its boot counter is {}", status.boot));
        }
        let scanned = before != Some((status.boot, status.heartbeat));
        if scanned {
            self.alive_at = now.mono;
        }
        self.watch_for_foreign(&status, number, now);
        self.newest = Some((status, now.mono));
        // A PLC that does not scan may have the command in its registers and run it once it thaws.
        if self.connection_at(now) == Connection::Frozen {
            self.begin_settling_anew();
        }
        self.judge(scanned, now);
    }

    fn watch_for_foreign(&mut self, status: &LiftStatus, number: u16, now: Now) {
        if !self.safeguards.holds(Safeguard::ForeignMoves) {
            return;
        }
        // What moved while nothing could be read may have been commanded, or served people.
        let recent = self.newest.as_ref().filter(|(_, at)| now.mono.since(*at) <= LIFT_READ_AGE_MAX);
        let before = recent.map(|(status, _)| status);
        if self.foreign.read(before, status, number, now) {
            self.log.push(format!("it moves at {} and nobody commanded that", status.floor));
        }
    }

    pub(super) fn read_failed(&mut self, reason: &str) {
        if self.reads_since.take().is_some() {
            self.connections_lost += 1;
            self.inferred.note_loss();
        }
        self.connection = Connection::Down;
        if self.reasons.len() < REASONS_MAX && self.reasons.insert(reason.to_owned()) {
            self.log.push(format!("the PLC cannot be read: {reason}"));
        }
        self.begin_settling_anew();
    }

    /// A PLC that was away is up again only after unbroken reads: one that answers and breaks off by turns would else
    /// come and go with every read, in the log, in the alarms, and under commands.
    fn note_good_read(&mut self, now: Now) {
        let since = *self.reads_since.get_or_insert(now.mono);
        let steady = match self.connection {
            Connection::Up | Connection::Frozen | Connection::Unknown => true,
            Connection::Down => now.mono.since(since) >= PLC_SETTLE,
        };
        if steady && self.connection != Connection::Up {
            self.log.push("the PLC is read".to_owned());
            self.connection = Connection::Up;
            self.alive_at = now.mono;
            self.reasons.clear();
        }
    }

    fn begin_settling_anew(&mut self) {
        if let Phase::Verifying { good_since, .. } = &mut self.phase {
            *good_since = None;
        }
    }

    pub(super) fn written(&mut self, number: u16, result: WriteResult, now: Now) {
        let Phase::Awaiting { flight, wrote, .. } = &mut self.phase else { return };
        if flight.number != number {
            return;
        }
        *wrote = Some(now.mono);
        flight.confirmed = result == WriteResult::Confirmed && !self.lift.capabilities.echo;
        let flight = flight.clone();
        match result {
            WriteResult::Confirmed => self.judge(false, now),
            WriteResult::NotSent => self.settle(flight, Verdict::NotSent),
            WriteResult::Unknown => self.doubt(flight),
        }
    }

    /// What time alone brings: an echo that did not come.
    pub(super) fn watch(&mut self, now: Now) {
        if let Phase::Awaiting { flight, until, .. } = &self.phase
            && *until <= now.mono
        {
            let flight = flight.clone();
            self.doubt(flight);
        }
    }

    pub(super) fn deadline(&self) -> Option<Mono> {
        match &self.phase {
            Phase::Awaiting { until, .. } => Some(*until),
            Phase::Idle | Phase::Verifying { .. } => None,
        }
    }

    pub(super) fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    pub(super) fn take_conclusion(&mut self) -> Option<(CommandId, Option<u16>, Verdict)> {
        self.concluded.pop_front()
    }

    /// What the newest read says about the command in flight, and whether that read has just come and shows a new scan.
    fn judge(&mut self, scanned: bool, now: Now) {
        let Some((status, _)) = &self.newest else { return };
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Awaiting { flight, .. }
                if status.boot != flight.plc_boot && self.safeguards.holds(Safeguard::BootCounter) =>
            {
                let flight = flight.clone();
                self.doubt(flight);
            }
            Phase::Awaiting { flight, .. } => {
                if status.accepted == flight.number {
                    let flight = flight.clone();
                    self.settle(flight, Verdict::Accepted);
                }
            }
            Phase::Verifying { flight, good_since } => {
                let since = *good_since.get_or_insert(now.mono);
                let flight = flight.clone();
                // A scan that was held up would still have taken the command.
                let settled = scanned && now.mono.since(since) >= self.settles_after();
                if self.has_run(&flight, status) {
                    self.settle(flight, Verdict::Ran);
                } else if settled && self.is_untouched(&flight, status) {
                    self.settle(flight, Verdict::NotSent);
                }
            }
        }
    }

    fn doubt(&mut self, flight: InFlight) {
        if !self.safeguards.holds(Safeguard::Verifying) {
            self.settle(flight, Verdict::NotSent);
            return;
        }
        self.log.push(format!("no echo of command {} (number {})", flight.command, flight.number));
        self.concluded.push_back((flight.command.clone(), Some(flight.number), Verdict::Unknown));
        self.phase = Phase::Verifying { flight, good_since: None };
    }

    fn settle(&mut self, flight: InFlight, verdict: Verdict) {
        self.concluded.push_back((flight.command, Some(flight.number), verdict));
        self.phase = Phase::Idle;
    }

    fn connection_at(&self, now: Now) -> Connection {
        match self.connection {
            Connection::Up
                if self.lift.capabilities.heartbeat
                    && now.mono.since(self.alive_at) >= PLC_FROZEN
                    && self.safeguards.holds(Safeguard::FrozenRegisters) =>
            {
                Connection::Frozen
            }
            other @ (Connection::Up | Connection::Unknown | Connection::Down | Connection::Frozen) => other,
        }
    }
}

/// The number after the last one, never 0 and never one that the PLC shows already.
fn next_number(last: u16, status: &LiftStatus) -> u16 {
    let mut number = last;
    loop {
        number = number.wrapping_add(1).max(1);
        if number != status.accepted && number != status.completed {
            return number;
        }
    }
}

#[cfg(test)]
pub(super) fn number_after(last: u16, status: &LiftStatus) -> u16 {
    next_number(last, status)
}
