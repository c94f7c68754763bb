//! What happens to the simulated plant, and what it wants done.

use kernel::gateway::CommandBlock;
use kernel::ids::{LiftId, VehicleId};
use kernel::lift::LiftStatus;
use kernel::wire::vehicle::VehicleCommand;

use super::PlantTrouble;
use crate::vehicle::VehicleMessage;

/// What happens to the simulated plant. Names that the plant does not know are ignored: they reach nobody.
#[derive(Clone, Debug, PartialEq)]
pub enum SimEvent {
    /// A command block was written to a PLC.
    CommandBlock {
        /// Which lift.
        lift: LiftId,
        /// The block.
        block: CommandBlock,
    },
    /// A command reached the vehicle that it names.
    VehicleCommand(Box<VehicleCommand>),
    /// A vehicle heard a control beat.
    ControlBeat {
        /// Who heard it.
        vehicle: VehicleId,
    },
    /// A vehicle's session with the broker stands.
    VehicleConnected {
        /// Whose.
        vehicle: VehicleId,
    },
    /// It broke.
    VehicleDisconnected {
        /// Whose.
        vehicle: VehicleId,
    },
    /// The broker has a report.
    ReportDelivered {
        /// Whose.
        vehicle: VehicleId,
        /// Its number within the present boot.
        report: u64,
    },
    /// Something goes wrong at the plant.
    Troubled(PlantTrouble),
    /// Time went by.
    Tick,
}

/// What the simulated plant wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum SimEffect {
    /// The registers of a PLC show this, once a scan.
    LiftStatus {
        /// Which lift.
        lift: LiftId,
        /// What they show.
        status: LiftStatus,
    },
    /// A vehicle's controller has read a command: nothing is to be done, and whoever watches sees it.
    VehicleHeard {
        /// Which.
        command: Box<VehicleCommand>,
        /// It began to work on it by that.
        began: bool,
    },
    /// A vehicle says something.
    VehicleSend {
        /// Who.
        vehicle: VehicleId,
        /// What.
        message: VehicleMessage,
    },
    /// A vehicle's radio came or went; without it, its session breaks.
    Radio {
        /// Whose.
        vehicle: VehicleId,
        /// It came.
        up: bool,
    },
}

/// From what a simulation starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimSeed {
    /// Of all chance.
    pub seed: u64,
    /// Starts of every vehicle and PLC before this one: their counters must rise over restarts of the simulation.
    pub boot: u64,
}
