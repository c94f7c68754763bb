//! The edge gateway: the one voice that a PLC hears, and the road of its vehicles.
//!
//! A command is admitted when it arrives and again when it is taken from the queue: token, generations, age,
//! expectation. Its PLC number is durable before it is written. Whatever was written is known to have run, known
//! not to have run, or being found out; nothing is sent meanwhile.

use serde::{Deserialize, Serialize};

use crate::ids::{GatewayId, LiftId, VehicleId};
use crate::lift::{LiftAction, LiftStatus};
use crate::vehicle::VehicleCommand;
use crate::wire::gateway::{GatewayCommand, GatewayStatus, Outcome};

/// What happens to a gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Control sent a command.
    Commanded(Box<GatewayCommand>),
    /// A lift was read.
    Read {
        /// Which.
        lift: LiftId,
        /// What it showed.
        status: LiftStatus,
    },
    /// A lift could not be read, or its connection broke.
    ReadFailed {
        /// Which.
        lift: LiftId,
        /// Why.
        reason: String,
    },
    /// What became of a write.
    Written {
        /// Which lift.
        lift: LiftId,
        /// The number that it carried.
        number: u16,
        /// How it went on the wire.
        result: WriteResult,
    },
}

/// How a write went on the wire (`research` calls these "executed: no, yes, unknown").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// The PLC confirmed the write. Whether it runs shows in the echo.
    Confirmed,
    /// It certainly never reached the PLC.
    NotSent,
    /// It may have.
    Unknown,
}

/// What a gateway wants done. The shell performs them in order, and each persisting before anything after it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make this durable before going on.
    Persist(Marks),
    /// Write one command block to a PLC, in one request.
    Write {
        /// Which lift.
        lift: LiftId,
        /// The block.
        block: CommandBlock,
    },
    /// Tell control what became of a command.
    Tell(Outcome),
    /// Pass a command on to a vehicle.
    Forward {
        /// To whom.
        vehicle: VehicleId,
        /// What.
        command: VehicleCommand,
    },
    /// Tell control the state.
    Status(GatewayStatus),
    /// Worth a line in the log: once per cause, not once per try.
    Log {
        /// About which lift.
        lift: LiftId,
        /// What.
        text: String,
    },
}

/// What is written to a PLC in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandBlock {
    /// 1 to 65535; the PLC runs a number once. 0 is reserved.
    pub number: u16,
    /// What to do.
    pub action: LiftAction,
    /// Stop number, from 1 at the lowest stop.
    pub floor: u16,
}

/// What a gateway must still know after a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// Which gateway's they are.
    pub gateway: Option<GatewayId>,
    /// Start of the gateway, rising.
    pub boot: u64,
}
