//! What reaches a PLC: in order, never against the ride, never while something is unknown, and told truly.

use std::collections::{BTreeMap, VecDeque};

use kernel::gateway::{CommandBlock, WriteResult};
use kernel::ids::{CommandId, Generation, LiftId, NodeId, TaskId};
use kernel::lease::{FencingToken, LeaseNonce, LeaseRequest};
use kernel::lift::{Expectation, LiftAction, LiftMode, LiftStatus};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};
use kernel::timing::{LIFT_POLL_PERIOD, LIFT_READ_AGE_MAX, PLC_FROZEN, PLC_SETTLE};
use kernel::wire::gateway::{Arbitration, Authority, LiftCommand, Outcome, Verdict};

use super::Checker;
use super::arbiter::is_foreign;
use crate::plant::SimPlant;
use crate::vehicle::RideStage;

/// Commands of one lift that are remembered with what they carried.
const COMMANDS_MAX: usize = 128;
/// What a read shows is known to its gateway by the next poll, and acted upon by the one after.
const NOTICED_AFTER: Millis = LIFT_POLL_PERIOD.times(2);
/// Numbers that a PLC took in one boot and that are remembered.
const TAKEN_MAX: usize = 128;

/// What a command carried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Carried {
    id: CommandId,
    authority: Authority,
    holder: NodeId,
    session: Generation,
    claim: (TaskId, Generation),
    expects: Expectation,
    sent: Mono,
}

/// The last block that went to a PLC.
#[derive(Clone, Debug)]
struct Flight {
    command: Option<CommandId>,
    number: u16,
    plc_boot: u16,
    known: bool,
    good_since: Option<Mono>,
    /// The heartbeat register, and since when it shows that.
    beats: (u16, Mono),
}

/// A block as it reached a PLC.
#[derive(Clone, Debug)]
struct Written {
    command: CommandId,
    number: u16,
    /// What the PLC showed then.
    before: LiftStatus,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LiftWatch {
    carried: VecDeque<Carried>,
    /// The highest token that was written, and whose request it was.
    token: Option<(FencingToken, NodeId, LeaseNonce)>,
    /// The highest session that was written, and the highest claim of each task.
    session: Generation,
    claims: BTreeMap<TaskId, Generation>,
    flight: Option<Flight>,
    /// Commands that reached the PLC.
    written: VecDeque<Written>,
    /// Numbers that the PLC took, with its boot.
    taken: VecDeque<(u16, u16)>,
    newest: Option<LiftStatus>,
    /// Commands that were told as not run.
    denied: VecDeque<CommandId>,
    /// What the gateway read last.
    view: Option<Expectation>,
    /// Since when it has read without a failure.
    reads_since: Option<Mono>,
    /// Since when the PLC shows this heartbeat, and since when it serves vehicles or does not.
    beat: Option<(u16, Mono)>,
    serves: Option<(bool, Mono)>,
    contradictions: u64,
    reversals: bool,
    crowded: bool,
}

impl LiftWatch {
    pub(super) fn sent(&mut self, now: Mono, command: &LiftCommand) {
        self.carried.push_back(Carried {
            id: command.id.clone(),
            authority: command.authority,
            holder: command.holder.clone(),
            session: command.session.generation,
            claim: (command.session.task.clone(), command.session.claim),
            expects: command.expects.clone(),
            sent: now,
        });
        if self.carried.len() > COMMANDS_MAX {
            self.carried.pop_front();
        }
    }

    pub(super) fn writes(
        &mut self,
        now: Mono,
        block: CommandBlock,
        command: Option<&CommandId>,
        arbitration: (Arbitration, u32),
    ) -> Vec<(Checker, String)> {
        let mut found = Vec::new();
        if let Some(flight) = self.flight.as_ref().filter(|it| !it.known) {
            let detail = format!("number {} is written while {} is unknown", block.number, flight.number);
            found.push((Checker::NothingWhileVerifying, detail));
        }
        let carried = self.carried.iter().find(|it| Some(&it.id) == command).cloned();
        if let Some(carried) = carried {
            let stale = self.is_stale(&carried).or_else(|| self.sees_the_past(&carried, now));
            let foreign = is_foreign(carried.authority, arbitration);
            found.extend(foreign.map(|it| (Checker::OneArbiter, format!("{} {it}", carried.id))));
            found.extend(stale.map(|detail| (Checker::NothingStale, detail)));
            if self.written.iter().any(|it| it.command == carried.id && self.took(it)) {
                found.push((Checker::NothingTwice, format!("{} is written again", carried.id)));
            }
            self.note_highest(&carried);
        }
        self.flight = Some(Flight {
            number: block.number,
            plc_boot: self.newest.as_ref().map_or(0, |it| it.boot),
            known: false,
            good_since: None,
            beats: (0, Mono(0)),
            command: command.cloned(),
        });
        found
    }

    /// Below the highest that was written before, whatever came between.
    fn is_stale(&self, carried: &Carried) -> Option<String> {
        let id = &carried.id;
        if let (Authority::Lease { token, nonce }, Some((highest, holder, request))) =
            (carried.authority, &self.token)
        {
            if token < *highest {
                return Some(format!("{id} carries {token:?} after {highest:?}"));
            }
            if token == *highest && (&carried.holder, nonce) != (holder, *request) {
                return Some(format!("{id} carries the token of another holder"));
            }
        }
        let (task, claim) = &carried.claim;
        if let Some(highest) = self.claims.get(task).filter(|it| claim < *it) {
            return Some(format!("{id} is of claim {claim} of {task} after {highest}"));
        }
        let stale = carried.session < self.session;
        stale.then(|| format!("{id} is of session generation {} after {}", carried.session, self.session))
    }

    fn note_highest(&mut self, carried: &Carried) {
        if let Authority::Lease { token, nonce } = carried.authority
            && self.token.as_ref().is_none_or(|(highest, ..)| *highest < token)
        {
            self.token = Some((token, carried.holder.clone(), nonce));
        }
        self.session = self.session.max(carried.session);
        let (task, claim) = carried.claim.clone();
        let highest = self.claims.entry(task).or_default();
        *highest = claim.max(*highest);
    }

    /// A grant that could not be used, and whoever asked could have known: the gateway had admitted a higher token, or
    /// this one of another request, and the asker had heard so.
    pub(super) fn falls_behind(
        &self,
        request: &LeaseRequest,
        heard: FencingToken,
        token: FencingToken,
    ) -> Option<String> {
        let anothers = self.carried.iter().any(|it| match it.authority {
            Authority::Lease { token: theirs, nonce } => {
                theirs == token && (&it.holder, nonce) != (&request.holder, request.nonce)
            }
            Authority::Edge { .. } => false,
        });
        let behind = token < heard || token == heard && anothers;
        behind.then(|| format!("is granted by {token:?} after {heard:?}"))
    }

    /// It was decided longer ago than a read may be old, or on a view that is no longer true.
    fn sees_the_past(&self, carried: &Carried, now: Mono) -> Option<String> {
        let age = now.since(carried.sent);
        if age > LIFT_READ_AGE_MAX {
            return Some(format!("{} is written {age} after it was decided", carried.id));
        }
        let view = self.view.as_ref().filter(|it| **it != carried.expects)?;
        Some(format!("{} expects {:?} and the lift shows {view:?}", carried.id, carried.expects))
    }

    /// True when the PLC shows a command that it did not show before.
    pub(super) fn scanned(&mut self, now: Mono, status: &LiftStatus) -> bool {
        let took = self.taken.back() != Some(&(status.accepted, status.boot)) && status.accepted != 0;
        if took {
            self.taken.push_back((status.accepted, status.boot));
            if self.taken.len() > TAKEN_MAX {
                self.taken.pop_front();
            }
        }
        self.newest = Some(status.clone());
        if self.beat.is_none_or(|(beat, _)| beat != status.heartbeat) {
            self.beat = Some((status.heartbeat, now));
        }
        let serves = status.mode == LiftMode::Vehicle;
        if self.serves.is_none_or(|(served, _)| served != serves) {
            self.serves = Some((serves, now));
        }
        took
    }

    /// A command that was told as not run is one of those that the PLC took.
    pub(super) fn ran_after_all(&self) -> Option<String> {
        let (number, boot) = self.taken.back()?;
        let written = self.written.iter().rev().find(|it| it.number == *number && it.before.boot == *boot)?;
        let id = &written.command;
        self.denied.contains(id).then(|| format!("{id} was told as not run and runs"))
    }

    /// Why nothing may be written, as far as a gateway can know it that reads five times a second.
    pub(super) fn out_of_service(&self, now: Mono) -> Option<String> {
        let reading = now.since(self.reads_since?);
        if let Some((false, since)) = self.serves
            && now.since(since).min(reading) > NOTICED_AFTER
        {
            return Some(format!("is written {} after it ceased to serve vehicles", now.since(since)));
        }
        let (_, since) = self.beat?;
        let still = now.since(since);
        // After a failure the PLC counts as up only after it was read steadily, and as frozen a while later.
        let known = reading > PLC_SETTLE + PLC_FROZEN + NOTICED_AFTER;
        (known && still > PLC_FROZEN + NOTICED_AFTER)
            .then(|| format!("is written after {still} without a scan"))
    }

    /// A block reached the PLC, which shows this at that moment.
    pub(super) fn reached(&mut self, block: CommandBlock, before: LiftStatus) {
        let Some(flight) = self.flight.as_mut().filter(|it| it.number == block.number) else { return };
        flight.plc_boot = before.boot;
        if let Some(command) = flight.command.clone() {
            self.written.push_back(Written { command, number: block.number, before });
            if self.written.len() > COMMANDS_MAX {
                self.written.pop_front();
            }
        }
    }

    fn took(&self, written: &Written) -> bool {
        self.taken.contains(&(written.number, written.before.boot))
    }

    /// The PLC started again since, and the lift stands as it stood before: whatever was taken had no effect.
    fn left_no_trace(&self, written: &Written) -> bool {
        self.newest.as_ref().is_some_and(|now| {
            let same_stand = now.expectation() == written.before.expectation();
            now.boot != written.before.boot && same_stand && now.levelled == written.before.levelled
        })
    }

    pub(super) fn written(&mut self, number: u16, result: WriteResult) {
        if let Some(flight) = self.flight.as_mut().filter(|it| it.number == number) {
            flight.known |= result == WriteResult::NotSent;
        }
    }

    /// A write is known by its echo, or when the PLC has scanned and been read for as long as it needs to settle.
    pub(super) fn read(&mut self, now: Mono, status: &LiftStatus) {
        self.view = Some(status.expectation());
        self.reads_since.get_or_insert(now);
        let Some(flight) = self.flight.as_mut().filter(|it| !it.known) else { return };
        if status.heartbeat != flight.beats.0 {
            flight.beats = (status.heartbeat, now);
        }
        let (scans, fresh) = (now.since(flight.beats.1) < PLC_FROZEN, flight.beats.1 == now);
        let since = flight.good_since.filter(|_| scans).unwrap_or(now);
        flight.good_since = Some(since);
        let echoed = status.boot == flight.plc_boot && status.accepted == flight.number;
        flight.known = echoed || fresh && now.since(since) >= PLC_SETTLE;
    }

    pub(super) fn read_failed(&mut self) {
        self.reads_since = None;
        if let Some(flight) = self.flight.as_mut() {
            flight.good_since = None;
        }
    }

    /// Why an outcome is not true.
    pub(super) fn told(&mut self, outcome: &Outcome) -> Option<String> {
        let command = &outcome.command;
        if matches!(outcome.verdict, Verdict::NotSent | Verdict::Expired | Verdict::Refused { .. }) {
            self.denied.push_back(command.clone());
            if self.denied.len() > COMMANDS_MAX {
                self.denied.pop_front();
            }
        }
        let tries = || self.written.iter().filter(|it| it.command == *command);
        let taken = tries().any(|it| self.took(it));
        let ran = tries().any(|it| self.took(it) && !self.left_no_trace(it));
        match outcome.verdict {
            Verdict::Accepted | Verdict::Ran if !taken => {
                Some(format!("{command} is told as done and never ran"))
            }
            Verdict::NotSent if ran => Some(format!("{command} is told as not sent and ran")),
            Verdict::Expired | Verdict::Refused { .. } if ran => {
                Some(format!("{command} is told as refused and ran"))
            }
            Verdict::Accepted
            | Verdict::Ran
            | Verdict::NotSent
            | Verdict::Expired
            | Verdict::Refused { .. }
            | Verdict::Forwarded
            | Verdict::Unknown => None,
        }
    }
}

/// Whether a block contradicts the ride in progress: it would take a rider elsewhere, or shut the door on one.
pub(super) fn against_the_ride(
    plant: &Plant,
    lift: &LiftId,
    block: CommandBlock,
    sim: &SimPlant,
) -> Option<String> {
    let stop = usize::from(block.floor).wrapping_sub(1);
    let target = plant.lifts.get(lift)?.stops.get(stop).map(|it| &it.floor)?;
    for id in plant.vehicles.keys() {
        let Some(vehicle) = sim.vehicle(id) else { continue };
        let Some((rides, stage)) = vehicle.ride() else { continue };
        if rides != lift {
            continue;
        }
        let elsewhere = vehicle.rides_to() != Some(target);
        match (block.action, stage) {
            (LiftAction::GoTo, RideStage::Unsure | RideStage::Inside) if elsewhere => {
                return Some(format!("{lift} is sent to {target} with {id} in it"));
            }
            (LiftAction::GoTo | LiftAction::CloseDoor, RideStage::OnSill) => {
                return Some(format!("{lift} gets {:?} with {id} on the sill", block.action));
            }
            (
                LiftAction::GoTo | LiftAction::CloseDoor | LiftAction::OpenDoor,
                RideStage::Approaching
                | RideStage::Waiting
                | RideStage::OnSill
                | RideStage::Unsure
                | RideStage::Inside,
            ) => {}
        }
    }
    None
}

/// What the plant itself counted since the last look.
pub(super) fn counted(
    plant: &Plant,
    watches: &mut BTreeMap<LiftId, LiftWatch>,
    sim: &SimPlant,
) -> Vec<(Checker, String)> {
    let mut found = Vec::new();
    for (id, counters) in sim.lift_counters() {
        let Some(watch) = watches.get_mut(id) else { continue };
        if counters.contradictions > watch.contradictions {
            watch.contradictions = counters.contradictions;
            found.push((Checker::NoContradiction, format!("{id} got contradictory commands")));
        }
        if counters.door_reversals_most >= 3 && !watch.reversals {
            watch.reversals = true;
            found.push((Checker::DoorReversals, format!("the door of {id} was turned round three times")));
        }
        let capacity = plant.lifts.get(id).map_or(0, |it| it.capacity_vehicles);
        if counters.vehicles_max > capacity && !watch.crowded {
            watch.crowded = true;
            found.push((Checker::CarCapacity, format!("{} vehicles in {id}", counters.vehicles_max)));
        }
    }
    found
}
