//! Faults as data: what goes wrong, when and for how long. Placed by a script or drawn from a seed.

use std::fmt;

use kernel::ids::{FloorId, GatewayId, LiftId, NodeId};
use kernel::time::Millis;

use crate::plant::PlantTrouble;

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How long after the start of the world.
    pub at: Millis,
    /// What.
    pub kind: FaultKind,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A node stands still, as under SIGSTOP: its clock runs on, it does nothing, and then it does everything at once.
    NodePaused {
        /// Which.
        node: NodeId,
        /// For so long.
        for_ms: Millis,
    },
    /// A gateway stands still in the same way.
    GatewayPaused {
        /// Which.
        gateway: GatewayId,
        /// For so long.
        for_ms: Millis,
    },
    /// The broker stands still in the same way: what is sent over it waits, in its order. Shorter than a keep-alive, so
    /// no connection breaks by it.
    BrokerPaused {
        /// For so long.
        for_ms: Millis,
    },
    /// A node dies, and is started again.
    NodeKilled {
        /// Which.
        node: NodeId,
        /// It is away for so long.
        for_ms: Millis,
    },
    /// A node dies and never comes back.
    NodeGone {
        /// Which.
        node: NodeId,
    },
    /// A node is asked to stop, hands over, and is started again.
    NodeStopped {
        /// Which.
        node: NodeId,
        /// It is away for so long after it has ended.
        for_ms: Millis,
    },
    /// A gateway dies, and is started again.
    GatewayKilled {
        /// Which.
        gateway: GatewayId,
        /// It is away for so long.
        for_ms: Millis,
    },
    /// The process of the simulated plant ends, and goes on with what it kept: as if time had stood still for it.
    PlantAway {
        /// It is away for so long.
        for_ms: Millis,
        /// It is killed, and finds what it had made durable before anybody saw it; else it keeps all that it is.
        killed: bool,
    },
    /// A wall clock is set; no decision may rest on it.
    ClockStepped {
        /// Whose.
        machine: Machine,
        /// Forwards or backwards.
        by_ms: i64,
    },
    /// The lease store fails.
    Store(StoreFault),
    /// The ledger answers nothing that is written.
    LedgerAway {
        /// For so long.
        for_ms: Millis,
    },
    /// A node and the ledger do not reach each other: nothing that it proposes is stored, it follows nothing, and does not
    /// say there that it lives. The broker and the lease store are reached.
    LedgerCutOff {
        /// Which.
        node: NodeId,
        /// For so long.
        for_ms: Millis,
    },
    /// The broker is gone.
    BrokerAway {
        /// For so long.
        for_ms: Millis,
        /// It comes back without the sessions that it kept, and without what it retained.
        forgets: bool,
    },
    /// A node and the broker do not reach each other; the ledger and the lease store are reached.
    NodeCutOff {
        /// Which.
        node: NodeId,
        /// For so long.
        for_ms: Millis,
    },
    /// A gateway and the broker do not reach each other: it hears nobody, and what it tells and passes on is lost. Its
    /// PLCs are reached.
    GatewayCutOff {
        /// Which.
        gateway: GatewayId,
        /// For so long.
        for_ms: Millis,
    },
    /// Messages of one road suffer.
    Road {
        /// Which.
        road: Road,
        /// What.
        effect: RoadEffect,
        /// How many of a thousand.
        permille: u16,
        /// For so long.
        for_ms: Millis,
    },
    /// A program that takes part without a place in the ledger calls a lift, for a ride that it makes up: as well formed
    /// as any command by edge arbitration.
    StrayCall {
        /// Which.
        lift: LiftId,
        /// Where to.
        floor: FloorId,
        /// It speaks for the ride that the gateway knows, and not for the next one.
        poses: bool,
    },
    /// The connection between a gateway and a PLC suffers.
    PlcLink {
        /// Whose PLC.
        lift: LiftId,
        /// What.
        effect: PlcLinkEffect,
        /// For so long.
        for_ms: Millis,
    },
    /// The plant itself.
    Plant(PlantTrouble),
}

/// Whose clock.
///
/// Others have no wall clock that could be set. A vehicle says and judges nothing by the time of day: its messages are
/// ordered by boot and number, and a validity is a span. A PLC shows a counter that lives, and no time. The ledger
/// stores the time that the proposing node gives: to set its clock is to set the node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A node's.
    Node(NodeId),
    /// A gateway's.
    Gateway(GatewayId),
    /// The lease store's; leases end by it.
    Store,
    /// The broker's; the validity of what it keeps ends by it.
    Broker,
}

/// How the lease store fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// It is gone, and comes back with what it had.
    Stopped {
        /// For so long.
        for_ms: Millis,
    },
    /// One node does not reach it.
    Partitioned {
        /// Which.
        node: NodeId,
        /// For so long.
        for_ms: Millis,
    },
    /// It has forgotten everything.
    Emptied,
    /// A replica with what was true ten seconds ago takes over.
    OldCopyPromoted,
}

/// A way that messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Road {
    /// Commands from control to a gateway.
    Command,
    /// What became of them, from a gateway to control.
    Outcome,
    /// State of lifts, from a gateway to control.
    Status,
    /// Commands from a gateway to a vehicle.
    VehicleCommand,
    /// Acknowledgements and results of vehicles.
    VehicleAnswer,
    /// Heartbeats and telemetry of vehicles.
    VehicleState,
    /// Control beats to vehicles.
    Beat,
    /// Control beats to gateways.
    GatewayBeat,
    /// Requests to the lease store, and its answers.
    Store,
    /// Proposals to the ledger, and what comes back. Each node's arrive in their order, those of several nodes in any.
    /// When the request or the answer is lost, the node's shell asks until it knows whether the proposal was stored,
    /// tells the machine neither before, and refuses meanwhile what else is proposed. A copy is refused: it names the
    /// end of the ledger that it was made for. A lost notification is made up for by the poll behind it.
    Ledger,
}

/// What messages of a road suffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoadEffect {
    /// They are lost.
    Drop,
    /// They arrive twice.
    Duplicate {
        /// The second comes later by so much.
        after_ms: Millis,
    },
    /// They come late, and others overtake them.
    Delay {
        /// By so much.
        by_ms: Millis,
    },
}

/// What the connection to a PLC suffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlcLinkEffect {
    /// The PLC acts and its answer to a write is lost.
    AnswerLost,
    /// The PLC closes the connection in the middle of each write, after it has taken it.
    ClosesInWrite,
    /// It refuses every connection.
    Down,
}

/// Kinds of faults that a random world draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultFamily {
    /// Nodes that stand still.
    Pause,
    /// Nodes, gateways and vehicles that die, and a plant whose process goes away.
    Restart,
    /// Clocks that are set.
    Clock,
    /// The lease store.
    Store,
    /// The ledger.
    Ledger,
    /// The broker and its roads.
    Road,
    /// Radio by place.
    Radio,
    /// PLCs and their connections.
    Plc,
    /// Doors and sensors.
    Door,
}

impl FaultFamily {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Pause,
        Self::Restart,
        Self::Clock,
        Self::Store,
        Self::Ledger,
        Self::Road,
        Self::Radio,
        Self::Plc,
        Self::Door,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: {:?}", self.at, self.kind)
    }
}
