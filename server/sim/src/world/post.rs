//! Everything that is on its way, in the order in which it arrives.

use std::collections::BTreeMap;

use kernel::control::{BatchId, Event};
use kernel::gateway::{CommandBlock, WriteResult};
use kernel::ids::{LiftId, NodeId, VehicleId};
use kernel::lease::{CallRequest, FencingToken, HeldLease, LeaseNonce, SettledCall};
use kernel::ledger::Guard;
use kernel::lift::LiftStatus;
use kernel::time::Mono;
use kernel::wire::gateway::{ControlBeat, GatewayCommand};
use kernel::wire::ledger::Record;
use kernel::wire::vehicle::VehicleCommand;

use super::ledger_road::Brought;
use super::store::Request;
use crate::vehicle::VehicleMessage;

/// Something on its way.
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    ToNode {
        node: usize,
        life: u32,
        event: Box<Event>,
    },
    /// What is late on its way to the broker reaches whichever run of the gateway is up then.
    ToGateway {
        gateway: usize,
        command: Box<GatewayCommand>,
    },
    NodeBeat {
        gateway: usize,
        beat: Box<ControlBeat>,
    },
    /// From a gateway to the broker.
    ToVehicle(Box<VehicleCommand>),
    /// From the broker to a vehicle, over this connection of it.
    OverRadio {
        command: Box<VehicleCommand>,
        expires: Mono,
        connection: u32,
        /// The broker's, when it sent this.
        broker: u32,
    },
    FromVehicle {
        vehicle: VehicleId,
        connection: u32,
        message: Box<VehicleMessage>,
    },
    /// The broker has taken a report.
    ReportTaken {
        vehicle: VehicleId,
        report: u64,
        connection: u32,
    },
    Beat {
        vehicle: VehicleId,
        connection: u32,
    },
    ToLedger {
        /// Which node, in which life, and its own name for it.
        author: (usize, u32, BatchId),
        records: Vec<Record>,
        guards: Vec<Guard>,
        brought: Brought,
    },
    /// A node asks what became of a proposal.
    AskLedger {
        author: (usize, u32, BatchId),
    },
    /// A node learns what the ledger holds, up to a batch.
    News {
        node: usize,
        life: u32,
        n_batches: usize,
    },
    /// A node says in the ledger that it lives.
    Attend {
        node: usize,
        life: u32,
        run: u64,
        beat: u64,
        hears_broker: bool,
    },
    ToStore(Request),
    Renew {
        /// Which node, in which life.
        asker: (usize, u32),
        holder: NodeId,
        lease: HeldLease,
        /// By the asker's own clock, before the request left.
        asked_at: Mono,
    },
    Release {
        lift: LiftId,
        holder: NodeId,
        nonce: LeaseNonce,
        token: FencingToken,
        settled: Option<SettledCall>,
    },
    /// A node is about to make a call.
    OpenCall {
        /// Which node, in which life.
        asker: (usize, u32),
        holder: NodeId,
        request: CallRequest,
    },
    SettleCall {
        lift: LiftId,
        settled: SettledCall,
    },
    Poll {
        lift: LiftId,
    },
    ReadDone {
        gateway: usize,
        life: u32,
        lift: LiftId,
        read: Result<LiftStatus, &'static str>,
    },
    Write {
        gateway: usize,
        life: u32,
        lift: LiftId,
        block: CommandBlock,
    },
    Written {
        gateway: usize,
        life: u32,
        lift: LiftId,
        number: u16,
        result: WriteResult,
    },
    Connect {
        vehicle: VehicleId,
    },
    /// A broken connection has shown at the broker.
    Missed {
        vehicle: VehicleId,
        connection: u32,
    },
    NodeUp {
        node: usize,
    },
    GatewayUp {
        gateway: usize,
    },
    BrokerBack,
    /// The broker reaches a node again.
    NodeReached {
        node: usize,
    },
    PlantBack,
    StoreLine,
    Order {
        planned: usize,
    },
    TakeBack {
        planned: usize,
    },
    Fault {
        idx: usize,
    },
    Second,
}

/// The queue of parcels.
#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    parcels: BTreeMap<(Mono, u64), Parcel>,
    n_sent: u64,
}

impl Post {
    pub(super) fn send(&mut self, at: Mono, parcel: Parcel) {
        self.n_sent += 1;
        self.parcels.insert((at, self.n_sent), parcel);
    }

    /// Puts a parcel back that could not be taken: it keeps its place among those that wait with it.
    pub(super) fn hold(&mut self, at: Mono, place: u64, parcel: Parcel) {
        self.parcels.insert((at, place), parcel);
    }

    pub(super) fn due(&self) -> Option<Mono> {
        self.parcels.keys().next().map(|(at, _)| *at)
    }

    pub(super) fn take(&mut self, now: Mono) -> Option<(u64, Parcel)> {
        let ((at, _), _) = self.parcels.first_key_value()?;
        if *at > now {
            return None;
        }
        self.parcels.pop_first().map(|((_, place), parcel)| (place, parcel))
    }
}
