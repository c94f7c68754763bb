//! How long it takes from radio coverage after a ride to a vehicle that takes commands again.

use std::collections::BTreeMap;

use kernel::ids::{CommandId, VehicleId};
use kernel::time::{Millis, Mono};
use kernel::wire::ledger::Record;
use kernel::wire::vehicle::{Instruction, VehicleCommand};

/// What was measured of rides through dead cars.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// From coverage to the acknowledgement of the link that was opened anew, one for each return.
    pub gaps: Vec<Millis>,
    /// How long the radio was away, one for each return.
    pub silences: Vec<Millis>,
    /// Commands that were sent again.
    pub redelivered: u64,
    /// Commands that reached a vehicle which had them already.
    pub repeated: u64,
    /// Rides that were finished.
    pub rides: u64,
    lost: BTreeMap<VehicleId, Mono>,
    back: BTreeMap<VehicleId, (Mono, Millis)>,
    heard: BTreeMap<VehicleId, CommandId>,
}

impl Coverage {
    pub(super) fn radio(&mut self, now: Mono, vehicle: &VehicleId, up: bool) {
        if !up {
            self.lost.insert(vehicle.clone(), now);
            self.back.remove(vehicle);
        } else if let Some(since) = self.lost.remove(vehicle) {
            self.back.insert(vehicle.clone(), (now, now.since(since)));
        }
    }

    /// A command reached a vehicle, whose acknowledgement leaves at once.
    pub(super) fn heard(&mut self, now: Mono, command: &VehicleCommand) {
        if command.instruction == Instruction::OpenLink {
            if let Some((since, silence)) = self.back.remove(&command.vehicle) {
                self.gaps.push(now.since(since));
                self.silences.push(silence);
            }
            return;
        }
        let last = self.heard.insert(command.vehicle.clone(), command.id.clone());
        self.repeated += u64::from(last.as_ref() == Some(&command.id));
    }

    pub(super) fn recorded(&mut self, record: &Record) {
        use kernel::task::TaskEvent;
        use kernel::wire::ledger::SessionPhase;
        match record {
            Record::TaskChanged { event: TaskEvent::Redelivered { .. }, .. } => self.redelivered += 1,
            Record::SessionChanged { phase: SessionPhase::Released, .. } => self.rides += 1,
            Record::TaskChanged { .. }
            | Record::SessionChanged { .. }
            | Record::NodeStarted { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::CommandIssued { .. }
            | Record::LinkOpened { .. }
            | Record::SessionRequested { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. } => {}
        }
    }
}
