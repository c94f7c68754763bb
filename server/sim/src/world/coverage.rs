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
    /// Since when it is covered, how long it was silent, and the link that it was offered.
    back: BTreeMap<VehicleId, (Mono, Millis, Option<CommandId>)>,
    heard: BTreeMap<VehicleId, CommandId>,
}

impl Coverage {
    pub(super) fn radio_lost(&mut self, now: Mono, vehicle: &VehicleId) {
        self.lost.entry(vehicle.clone()).or_insert(now);
        self.back.remove(vehicle);
    }

    pub(super) fn radio_back(&mut self, now: Mono, vehicle: &VehicleId, covered_at: Mono) {
        if let Some(since) = self.lost.remove(vehicle) {
            self.back.insert(vehicle.clone(), (covered_at, now.since(since), None));
        }
    }

    /// A command reached a vehicle.
    pub(super) fn heard(&mut self, command: &VehicleCommand) {
        if command.instruction == Instruction::OpenLink {
            if let Some((_, _, offered)) = self.back.get_mut(&command.vehicle) {
                *offered = Some(command.id.clone());
            }
            return;
        }
        let last = self.heard.insert(command.vehicle.clone(), command.id.clone());
        self.repeated += u64::from(last.as_ref() == Some(&command.id));
    }

    /// The broker has the vehicle's word that it accepted a command.
    pub(super) fn accepted(&mut self, now: Mono, vehicle: &VehicleId, command: &CommandId) {
        if let Some((since, silence, Some(offered))) = self.back.get(vehicle)
            && offered == command
        {
            self.gaps.push(now.since(*since));
            self.silences.push(*silence);
            self.back.remove(vehicle);
        }
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
            | Record::NodeStopped { .. }
            | Record::NodeLost { .. }
            | Record::OrderPlaced { .. }
            | Record::TaskClaimed { .. }
            | Record::VehicleAssigned { .. }
            | Record::CommandIssued { .. }
            | Record::LinkOpened { .. }
            | Record::WithdrawalAsked { .. }
            | Record::SessionRequested { .. }
            | Record::AlarmRaised { .. }
            | Record::AlarmCleared { .. }
            | Record::DifferenceFound { .. }
            | Record::ArbitrationChanged { .. }
            | Record::LeaseStoreChanged { .. }
            | Record::ForeignMoved { .. }
            | Record::EdgeDecided { .. }
            | Record::DrillStarted { .. }
            | Record::DrillEnded { .. } => {}
        }
    }
}
