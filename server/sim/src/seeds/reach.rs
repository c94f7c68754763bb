//! How chance reaches what each safeguard prevents.

use kernel::safeguard::Safeguard;

/// Whether random worlds find the accident when a safeguard is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This seed does, with [`super::SPAN_DEFAULT`].
    Seed(u64),
    /// They cannot, and why.
    Out(&'static str),
}

impl Reach {
    /// Of one safeguard.
    pub fn of(safeguard: Safeguard) -> Self {
        match safeguard {
            Safeguard::CommandMemory => Self::Seed(73),
            Safeguard::LinkFence => Self::Seed(166),
            Safeguard::TokenFence => Self::Seed(5),
            Safeguard::MemoryWindow
            | Safeguard::ClaimFence
            | Safeguard::SessionFence
            | Safeguard::ReadAge
            | Safeguard::Expectation
            | Safeguard::Interlock
            | Safeguard::Validity
            | Safeguard::OutcomeMemory
            | Safeguard::FlightRecord
            | Safeguard::Verifying
            | Safeguard::BootCounter
            | Safeguard::FrozenRegisters
            | Safeguard::VehicleMode
            | Safeguard::SteadyClock
            | Safeguard::TwoChannels
            | Safeguard::OneSession
            | Safeguard::Reconciliation
            | Safeguard::HeartbeatResults => Self::Seed(0),
        }
    }
}
