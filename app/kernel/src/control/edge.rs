//! Edge arbitration as a node takes part in it: it says whether it reaches the lease store, speaks without a lease while
//! the gateway arbitrates, and brings the store back under the gateway's epoch. All of it becomes records.
//!
//! Who arbitrates is the gateway's to decide alone; this only follows what it says.

use crate::ids::LiftId;
use crate::lease::HeldLease;
use crate::time::Now;
use crate::timing::EPOCH_FIRST;
use crate::wire::gateway::{Arbitration, Authority, ControlBeat, LiftCommand, StoredEpoch, Verdict};
use crate::wire::ledger::Record;
use crate::wire::view::LiftCommandView;

use super::book::{Book, Touched};
use super::hold::Under;
use super::voice::Voice;
use super::{Control, Effect, Lock};

/// Notes of edge decisions that wait for the ledger. When so many do, nothing is said by edge arbitration: what cannot be
/// recorded is not done.
const NOTES_MAX: usize = 64;

impl Control {
    /// Says that this node lives, and asks its shell for what the next beat says of the lease store.
    pub(super) fn beat(&mut self) {
        self.beats += 1;
        let epochs = self.lifts.iter().filter(|(id, ear)| {
            let reading = &ear.reading;
            reading.arbitration == Arbitration::Returning
                && self.stored_epochs.get(*id) == Some(&reading.epoch)
        });
        let epochs = epochs.map(|(id, ear)| StoredEpoch { lift: id.clone(), epoch: ear.reading.epoch });
        let beat = ControlBeat {
            node: self.config.node.clone(),
            beat: self.beats,
            reaches_store: self.reaches_store,
            epochs: epochs.collect(),
        };
        self.effects.push_back(Effect::Beat(beat));
        self.effects.push_back(Effect::ProbeStore);
    }

    pub(super) fn store_probed(&mut self, reached: bool) {
        if self.reaches_store.replace(reached) != Some(reached) {
            self.touched.insert(Touched::Node);
        }
    }

    pub(super) fn arbitration(&self, lift: &LiftId) -> Arbitration {
        self.lifts.get(lift).map_or(Arbitration::Lease, |ear| ear.reading.arbitration)
    }

    /// What a node that says nothing begins to say of a lift, by whoever arbitrates there.
    pub(super) fn begin_to_speak(&mut self, lift: &LiftId, now: Now) {
        let Some(epoch) = self.lifts.get(lift).map(|it| it.reading.epoch) else { return };
        match self.arbitration(lift) {
            Arbitration::Lease => {
                if self.wanted(lift, now).is_some() {
                    self.ask_for_lease(lift, now);
                }
            }
            Arbitration::Edge => self.decide_on_edge(lift, epoch, now),
            Arbitration::Returning => {
                let owed = self.stored_epochs.get(lift) != Some(&epoch);
                if owed && self.reaches_store == Some(true) {
                    self.ask_for_lease(lift, now);
                }
            }
        }
    }

    /// Decides on the newest read, and sends without a lease: the gateway is the one who says whose turn it is.
    fn decide_on_edge(&mut self, lift: &LiftId, epoch: u32, now: Now) {
        if self.edge_notes.len() >= NOTES_MAX {
            return;
        }
        let decided =
            self.wanted(lift, now).and_then(|wanted| Some((wanted, self.usable(lift, now)?.clone())));
        let Some((wanted, status)) = decided else { return };
        let Some(command) = self.lift_command(lift, wanted, &status, Authority::Edge { epoch }) else {
            return;
        };
        self.edge_notes.push_back(decision(&command));
        self.drive_edge_notes(now);
        self.send_decided(lift, command, Under::Edge, status.accepted, now);
    }

    /// A grant while leases do not count says only that the store grants under this epoch. True when it is no more.
    pub(super) fn keeps_epoch(&mut self, lift: &LiftId, lease: &HeldLease) -> bool {
        match self.arbitration(lift) {
            Arbitration::Lease => false,
            Arbitration::Edge => true,
            Arbitration::Returning => {
                self.stored_epochs.insert(lift.clone(), lease.token().epoch);
                true
            }
        }
    }

    /// What became of a command that this node sent by edge arbitration. `Unknown` is not the end.
    pub(super) fn note_edge_outcome(&mut self, lift: &LiftId, view: &LiftCommandView, verdict: &Verdict) {
        let settled = *verdict != Verdict::Unknown && view.verdict.as_ref() != Some(verdict);
        if view.token.is_none() && view.issuer == self.config.node && settled {
            self.edge_notes.push_back(Record::EdgeDecided {
                lift: lift.clone(),
                command: view.id.clone(),
                action: view.action,
                floor: view.floor.clone(),
                verdict: Some(verdict.clone()),
            });
        }
    }

    /// Brings to the ledger what it does not have: who arbitrates, and what was decided at the edge.
    pub(super) fn drive_edge(&mut self, now: Now) {
        let switched = self.lifts.iter().filter(|(id, ear)| {
            let told = (ear.reading.arbitration, ear.reading.epoch);
            told != self.book.arbitration_of(id) && self.keeps_lift(id, now)
        });
        let records: Vec<(LiftId, Record)> = switched
            .map(|(id, ear)| {
                let (lift, arbitration, epoch) = (id.clone(), ear.reading.arbitration, ear.reading.epoch);
                (id.clone(), Record::ArbitrationChanged { lift, arbitration, epoch })
            })
            .collect();
        for (lift, record) in records {
            self.propose(now, vec![Lock::Arbitration(lift)], vec![record]);
        }
        self.drive_edge_notes(now);
    }

    fn drive_edge_notes(&mut self, now: Now) {
        let records = self.edge_notes.iter().cloned().collect();
        self.propose(now, vec![Lock::EdgeNotes], records);
    }

    pub(super) fn edge_recorded(&mut self, record: &Record) {
        self.edge_notes.retain(|it| it != record);
    }

    /// Leases do not count any more, or not yet: whatever was asked of the store for a command is void.
    pub(super) fn leases_are_void(&self, lift: &LiftId, voice: &Voice) -> bool {
        match (self.arbitration(lift), voice) {
            (Arbitration::Edge, Voice::Asking { .. } | Voice::Deciding { .. } | Voice::Calling(_))
            | (Arbitration::Returning, Voice::Deciding { .. } | Voice::Calling(_)) => true,
            (
                Arbitration::Lease | Arbitration::Edge | Arbitration::Returning,
                Voice::Quiet { .. }
                | Voice::Asking { .. }
                | Voice::Deciding { .. }
                | Voice::Calling(_)
                | Voice::Joined { .. }
                | Voice::Sent { .. }
                | Voice::Verifying(_),
            ) => false,
        }
    }
}

impl Book {
    pub(super) fn change_arbitration(
        &mut self,
        lift: &LiftId,
        arbitration: Arbitration,
        epoch: u32,
    ) -> Vec<Touched> {
        self.arbitrations.insert(lift.clone(), (arbitration, epoch));
        vec![Touched::Lift(lift.clone())]
    }

    /// Who arbitrates at a lift, and under which epoch: as every lift begins, unless it was recorded otherwise.
    pub fn arbitration_of(&self, lift: &LiftId) -> (Arbitration, u32) {
        self.arbitrations.get(lift).copied().unwrap_or((Arbitration::Lease, EPOCH_FIRST))
    }
}

fn decision(command: &LiftCommand) -> Record {
    Record::EdgeDecided {
        lift: command.lift.clone(),
        command: command.id.clone(),
        action: command.action,
        floor: command.floor.clone(),
        verdict: None,
    }
}
