//! The safeguards by name, so that the lab can show what each is for by taking one away.
//!
//! What ships runs with [`Safeguards::ALL`], which is the default everywhere. [`Safeguards::all_but`] is called by the
//! crate `sim` and the kernel's own tests alone; the test `tidy::only_the_lab_takes_safeguards_away` holds that.

/// One rule that keeps an accident away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Safeguard {
    /// Vehicle: a repeated id gets its first answer again and is not done again (C6).
    CommandMemory,
    /// Vehicle: an id below the remembered window is refused (C6).
    MemoryWindow,
    /// Vehicle: nothing new under a link generation that was not opened since the last connection (C10).
    LinkFence,
    /// Gateway and vehicle: a lower claim generation of a task is refused (C16).
    ClaimFence,
    /// Vehicle: drives only into a car that has room for it, as its own scanners see it.
    RoomInCar,
    /// Gateway: a lower token is refused (A7).
    TokenFence,
    /// Gateway: an equal token of another request is refused (A7).
    TokenOwner,
    /// Control: a send needs a grant that outlives the worst command; this is looked at last of all (A6).
    LiveGrant,
    /// Lease store: a request that comes again gets the grant that it got (A4).
    SameGrant,
    /// Lease store: a node that asks anew holds nothing by what it asked before (A4).
    NewerRequest,
    /// Lease store: a lift has one holder at a time (A1).
    OneHolder,
    /// Lease store: a lease is given back by the request alone that it was granted to (A4).
    OwnRelease,
    /// Lease store: who holds a lift for longer than any command takes is passed over (A3).
    HoldLimit,
    /// Control: the serial of a grant lies above the highest that the gateway has admitted (A7).
    SerialFloor,
    /// Lease store: one that forgot or fell back grants nothing before the ledger knows (A7).
    StoreLife,
    /// Gateway: a lower session generation, and a new session while the car may be occupied, are refused (B1).
    SessionFence,
    /// Gateway: the read that a command names is at most 2.5 s old and of this boot (A10).
    ReadAge,
    /// Gateway: the newest read shows what the command expects (A10).
    Expectation,
    /// Gateway: no movement that contradicts the one in progress (A1).
    Interlock,
    /// Gateway: a command that waited beyond its validity is void (A13).
    Validity,
    /// Gateway: a repeated id gets its outcome again and is not written again (A13).
    OutcomeMemory,
    /// Gateway: a command in flight outlives a restart, and is verified (A13).
    FlightRecord,
    /// Gateway and control: an outcome that is not known is found out before anything else is sent (A12).
    Verifying,
    /// Gateway: an echo of another boot of the PLC proves nothing (A11).
    BootCounter,
    /// Gateway: registers whose heartbeat stands still are no reads (A16).
    FrozenRegisters,
    /// Gateway and control: nothing is sent to a lift that does not serve vehicles (A16).
    VehicleMode,
    /// Gateway: a movement that nobody commanded is seen and told (A16).
    ForeignMoves,
    /// Gateway: while no node reaches the lease store it arbitrates by itself (A14).
    EdgeArbitration,
    /// Gateway: a node alone in the dark is no outage of the lease store (A15).
    EdgeEntry,
    /// Gateway: a command counts under the arbitration and epoch that it was made for alone (A15).
    EdgeFence,
    /// Gateway: edge arbitration decides by lift state, command, session and occupancy (A14).
    EdgeTable,
    /// Every machine: spans run on a clock that nobody sets (A5). The kernel is given that clock; the lab takes it away.
    SteadyClock,
    /// Control: in or out of the car is what sensor and vehicle both say (B4).
    TwoChannels,
    /// Control: one session holds a lift (B1).
    OneSession,
    /// Control: a ride without a living task leaves the line, and gives its lift back (B7).
    LivingTask,
    /// Control: a task that is to be taken back after its ride is told nothing more (B7).
    AskedWithdrawal,
    /// Control: a link is opened only when vehicle and ledger agree (C10).
    Reconciliation,
    /// Control: a heartbeat brings what a lost result would have said (C8).
    HeartbeatResults,
    /// Control: a vehicle lives by its own heartbeats; that a broker has it as online proves nothing (C11).
    ProvenLive,
    /// Ledger: a proposal that rests on what has moved is refused (C16).
    ConditionalWrites,
    /// Control: the tasks of a node that is gone are taken over (C16).
    Takeover,
}

impl Safeguard {
    fn bit(self) -> u64 {
        1 << self as u64
    }

    /// All of them.
    pub const ALL: [Self; 41] = [
        Self::CommandMemory,
        Self::MemoryWindow,
        Self::LinkFence,
        Self::ClaimFence,
        Self::RoomInCar,
        Self::TokenFence,
        Self::TokenOwner,
        Self::LiveGrant,
        Self::SameGrant,
        Self::NewerRequest,
        Self::OneHolder,
        Self::OwnRelease,
        Self::HoldLimit,
        Self::SerialFloor,
        Self::StoreLife,
        Self::SessionFence,
        Self::ReadAge,
        Self::Expectation,
        Self::Interlock,
        Self::Validity,
        Self::OutcomeMemory,
        Self::FlightRecord,
        Self::Verifying,
        Self::BootCounter,
        Self::FrozenRegisters,
        Self::VehicleMode,
        Self::ForeignMoves,
        Self::EdgeArbitration,
        Self::EdgeEntry,
        Self::EdgeFence,
        Self::EdgeTable,
        Self::SteadyClock,
        Self::TwoChannels,
        Self::OneSession,
        Self::LivingTask,
        Self::AskedWithdrawal,
        Self::Reconciliation,
        Self::HeartbeatResults,
        Self::ProvenLive,
        Self::ConditionalWrites,
        Self::Takeover,
    ];

    /// Its name on the command line of the lab.
    pub fn name(self) -> &'static str {
        match self {
            Self::CommandMemory => "command-memory",
            Self::MemoryWindow => "memory-window",
            Self::LinkFence => "link-fence",
            Self::ClaimFence => "claim-fence",
            Self::RoomInCar => "room-in-car",
            Self::TokenFence => "token-fence",
            Self::TokenOwner => "token-owner",
            Self::LiveGrant => "live-grant",
            Self::SameGrant => "same-grant",
            Self::NewerRequest => "newer-request",
            Self::OneHolder => "one-holder",
            Self::OwnRelease => "own-release",
            Self::HoldLimit => "hold-limit",
            Self::SerialFloor => "serial-floor",
            Self::StoreLife => "store-life",
            Self::SessionFence => "session-fence",
            Self::ReadAge => "read-age",
            Self::Expectation => "expectation",
            Self::Interlock => "interlock",
            Self::Validity => "validity",
            Self::OutcomeMemory => "outcome-memory",
            Self::FlightRecord => "flight-record",
            Self::Verifying => "verifying",
            Self::BootCounter => "boot-counter",
            Self::FrozenRegisters => "frozen-registers",
            Self::VehicleMode => "vehicle-mode",
            Self::ForeignMoves => "foreign-moves",
            Self::EdgeArbitration => "edge-arbitration",
            Self::EdgeEntry => "edge-entry",
            Self::EdgeFence => "edge-fence",
            Self::EdgeTable => "edge-table",
            Self::SteadyClock => "steady-clock",
            Self::TwoChannels => "two-channels",
            Self::OneSession => "one-session",
            Self::LivingTask => "living-task",
            Self::AskedWithdrawal => "asked-withdrawal",
            Self::Reconciliation => "reconciliation",
            Self::HeartbeatResults => "heartbeat-results",
            Self::ProvenLive => "proven-live",
            Self::ConditionalWrites => "conditional-writes",
            Self::Takeover => "takeover",
        }
    }
}

/// Which safeguards hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Safeguards {
    /// A bit for each that does not.
    off: u64,
}

impl Safeguards {
    /// As it ships.
    pub const ALL: Self = Self { off: 0 };

    /// All but one, for the lab.
    #[must_use]
    pub fn all_but(off: Safeguard) -> Self {
        Self::all_but_these(&[off])
    }

    /// All but these, for the lab: what one of them alone is good for shows when those that would step in are away.
    #[must_use]
    pub fn all_but_these(off: &[Safeguard]) -> Self {
        Self { off: off.iter().fold(0, |bits, it| bits | it.bit()) }
    }

    /// Whether this one holds.
    #[must_use]
    pub fn holds(self, safeguard: Safeguard) -> bool {
        self.off & safeguard.bit() == 0
    }
}
