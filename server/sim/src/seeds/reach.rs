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
            Safeguard::CommandMemory => Self::Seed(30),
            Safeguard::LinkFence => Self::Seed(166),
            Safeguard::TokenFence => Self::Seed(2),
            Safeguard::ReadAge => Self::Seed(8),
            Safeguard::OutcomeMemory => Self::Seed(115),
            Safeguard::Verifying => Self::Seed(26),
            Safeguard::FrozenRegisters => Self::Seed(201),
            Safeguard::VehicleMode => Self::Seed(4),
            Safeguard::TwoChannels => Self::Seed(1),
            Safeguard::OneSession => Self::Seed(3),
            Safeguard::HeartbeatResults => Self::Seed(4),
            Safeguard::ConditionalWrites => Self::Seed(1),
            Safeguard::Takeover => Self::Seed(1),
            Safeguard::MemoryWindow => {
                Self::Out("a vehicle forgets an id after 500 newer ones, more than a world has")
            }
            Safeguard::ClaimFence => Self::Out("one node claims every task until nodes share a ledger"),
            Safeguard::SessionFence => {
                Self::Out("one node speaks of its newest ride alone, so an older ride carries an older token")
            }
            Safeguard::Expectation => Self::Out("what a late read hides, the interlock sees in the newest"),
            Safeguard::Interlock => Self::Out("what contradicts the movement also misses the expectation"),
            Safeguard::Validity => Self::Out("its 2.5 s are those of the read, whose age is refused first"),
            Safeguard::FlightRecord => {
                Self::Out("control misses the outcome of a gateway that died, and verifies by itself")
            }
            Safeguard::BootCounter => Self::Out(
                "a PLC has to start again in the few tenths of a second between a write and its echo",
            ),
            Safeguard::SteadyClock => {
                Self::Out("a clock has to be set in the same few seconds in which a command comes late")
            }
            Safeguard::Reconciliation => {
                Self::Out("an open link alone moves nothing: what was begun is not sent again")
            }
        }
    }
}
