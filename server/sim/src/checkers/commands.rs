//! What reaches a PLC: in order, never against the ride, never while something is unknown, and told truly.

use std::collections::{BTreeMap, VecDeque};

use kernel::gateway::{CommandBlock, WriteResult};
use kernel::ids::{CommandId, Generation, LiftId, NodeId};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::{LiftAction, LiftStatus};
use kernel::plant::Plant;
use kernel::time::Mono;
use kernel::timing::PLC_SETTLE;
use kernel::wire::gateway::{LiftCommand, Outcome, Verdict};

use super::Checker;
use crate::plant::SimPlant;
use crate::vehicle::RideStage;

/// Commands of one lift that are remembered with what they carried.
const COMMANDS_MAX: usize = 128;
/// Numbers that a PLC took in one boot and that are remembered.
const TAKEN_MAX: usize = 128;

/// What a command carried.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Carried {
    id: CommandId,
    token: FencingToken,
    holder: (NodeId, LeaseNonce),
    session: Generation,
}

/// The last block that went to a PLC.
#[derive(Clone, Debug)]
struct Flight {
    number: u16,
    plc_boot: u16,
    known: bool,
    good_since: Option<Mono>,
    beats: u16,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LiftWatch {
    carried: VecDeque<Carried>,
    /// The highest that was written.
    highest: Option<Carried>,
    flight: Option<Flight>,
    /// Commands that were written, with number and boot of the PLC.
    written: VecDeque<(CommandId, u16, u16)>,
    /// Numbers that the PLC took, with its boot.
    taken: VecDeque<(u16, u16)>,
    boot: u16,
    contradictions: u64,
    reversals: bool,
    crowded: bool,
}

impl LiftWatch {
    pub(super) fn heard(&mut self, command: &LiftCommand) {
        self.carried.push_back(Carried {
            id: command.id.clone(),
            token: command.token,
            holder: (command.holder.clone(), command.nonce),
            session: command.session.generation,
        });
        if self.carried.len() > COMMANDS_MAX {
            self.carried.pop_front();
        }
    }

    pub(super) fn writes(
        &mut self,
        block: CommandBlock,
        command: Option<&CommandId>,
    ) -> Vec<(Checker, String)> {
        let mut found = Vec::new();
        if let Some(flight) = self.flight.as_ref().filter(|it| !it.known) {
            let detail = format!("number {} is written while {} is unknown", block.number, flight.number);
            found.push((Checker::NothingWhileVerifying, detail));
        }
        let carried = self.carried.iter().find(|it| Some(&it.id) == command).cloned();
        if let Some(carried) = carried {
            found.extend(self.is_stale(&carried).map(|detail| (Checker::NothingStale, detail)));
            let again = self
                .written
                .iter()
                .any(|(id, number, boot)| *id == carried.id && self.taken.contains(&(*number, *boot)));
            if again {
                found.push((Checker::NothingTwice, format!("{} is written again", carried.id)));
            }
            self.written.push_back((carried.id.clone(), block.number, self.boot));
            if self.written.len() > COMMANDS_MAX {
                self.written.pop_front();
            }
            self.highest = Some(carried);
        }
        self.flight = Some(Flight {
            number: block.number,
            plc_boot: self.boot,
            known: false,
            good_since: None,
            beats: 0,
        });
        found
    }

    fn is_stale(&self, carried: &Carried) -> Option<String> {
        let highest = self.highest.as_ref()?;
        if carried.token < highest.token {
            return Some(format!("{} carries {:?} after {:?}", carried.id, carried.token, highest.token));
        }
        if carried.token == highest.token && carried.holder != highest.holder {
            return Some(format!("{} carries the token of another holder", carried.id));
        }
        let stale = carried.session < highest.session;
        stale.then(|| format!("{} is of session generation {}", carried.id, carried.session))
    }

    pub(super) fn scanned(&mut self, status: &LiftStatus) {
        if self.taken.back() != Some(&(status.accepted, status.boot)) && status.accepted != 0 {
            self.taken.push_back((status.accepted, status.boot));
            if self.taken.len() > TAKEN_MAX {
                self.taken.pop_front();
            }
        }
        self.boot = status.boot;
    }

    pub(super) fn written(&mut self, number: u16, result: WriteResult) {
        if let Some(flight) = self.flight.as_mut().filter(|it| it.number == number) {
            flight.known |= result == WriteResult::NotSent;
        }
    }

    /// A write is known by its echo, or when the PLC has scanned and been read for as long as it needs to settle.
    pub(super) fn read(&mut self, now: Mono, status: &LiftStatus) {
        let Some(flight) = self.flight.as_mut().filter(|it| !it.known) else { return };
        let since = match flight.good_since {
            Some(since) if status.heartbeat != flight.beats => since,
            Some(_) | None => now,
        };
        flight.good_since = Some(since);
        flight.beats = status.heartbeat;
        let echoed = status.boot == flight.plc_boot && status.accepted == flight.number;
        flight.known = echoed || now.since(since) >= PLC_SETTLE;
    }

    pub(super) fn read_failed(&mut self) {
        if let Some(flight) = self.flight.as_mut() {
            flight.good_since = None;
        }
    }

    /// Why an outcome is not true.
    pub(super) fn told(&mut self, outcome: &Outcome) -> Option<String> {
        let mut tries = self.written.iter().filter(|(id, _, _)| *id == outcome.command);
        let taken = tries.clone().any(|(_, number, boot)| self.taken.contains(&(*number, *boot)));
        let was_written = tries.next().is_some();
        let command = &outcome.command;
        match outcome.verdict {
            Verdict::Accepted | Verdict::Ran if !taken => {
                Some(format!("{command} is told as done and never ran"))
            }
            Verdict::NotSent if taken => Some(format!("{command} is told as not sent and ran")),
            Verdict::Expired | Verdict::Refused { .. } if taken && was_written => {
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
            (LiftAction::GoTo, RideStage::Inside) if elsewhere => {
                return Some(format!("{lift} is sent to {target} with {id} in it"));
            }
            (LiftAction::GoTo | LiftAction::CloseDoor, RideStage::OnSill) => {
                return Some(format!("{lift} gets {:?} with {id} on the sill", block.action));
            }
            (
                LiftAction::GoTo | LiftAction::CloseDoor | LiftAction::OpenDoor,
                RideStage::Approaching | RideStage::Waiting | RideStage::OnSill | RideStage::Inside,
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
