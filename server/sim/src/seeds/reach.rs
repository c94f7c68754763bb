//! How chance reaches what each safeguard prevents.

use kernel::safeguard::Safeguard;

/// Whether random worlds find the accident when a safeguard is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This seed does, with [`super::SPAN_DEFAULT`].
    Seed(u64),
    /// None of the first 2,000 does, and why.
    Out(&'static str),
}

impl Reach {
    /// Of one safeguard.
    pub fn of(safeguard: Safeguard) -> Self {
        match safeguard {
            Safeguard::CommandMemory => Self::Seed(45),
            Safeguard::LinkFence => Self::Seed(12),
            Safeguard::ReadAge => Self::Seed(38),
            Safeguard::OutcomeMemory => Self::Seed(63),
            Safeguard::Verifying => Self::Seed(1),
            Safeguard::BootCounter => Self::Out(
                "a PLC has to start anew between taking a command and the next read, within 200 ms, and to lose the answer",
            ),
            Safeguard::FrozenRegisters => Self::Seed(266),
            Safeguard::VehicleMode => Self::Seed(11),
            Safeguard::ForeignMoves => Self::Seed(457),
            Safeguard::TwoChannels => Self::Seed(1),
            Safeguard::OneSession => Self::Seed(3),
            Safeguard::LivingTask => Self::Seed(5),
            Safeguard::AskedWithdrawal => Self::Seed(26),
            Safeguard::HeartbeatResults => Self::Seed(5),
            Safeguard::ProvenLive => Self::Out(
                "a vehicle has to stay away, with an alarm that is taken back at the end of the world",
            ),
            Safeguard::ConditionalWrites => Self::Seed(1),
            Safeguard::Takeover => Self::Seed(31),
            Safeguard::MemoryWindow => Self::Out("500 newer ids are more than a world has"),
            Safeguard::RoomInCar => Self::Out("sessions let one vehicle at a time enter"),
            Safeguard::ClaimFence => Self::Seed(88),
            Safeguard::TokenFence => Self::Out(
                "serials rise over whatever the store forgets, and a command late enough to be outranked names an old read",
            ),
            Safeguard::TokenOwner => Self::Out(
                "two holders of one token need a copy of the store from before a grant, and a command that waits for both",
            ),
            Safeguard::LiveGrant => {
                Self::Out("a node that outslept its grant hears on waking that it was taken for lost")
            }
            Safeguard::SameGrant => Self::Out("it costs some seconds: the next request gets the lift"),
            Safeguard::NewerRequest => {
                Self::Out("it costs some seconds: the longest hold is over then, and the lift free")
            }
            Safeguard::OneHolder => Self::Out("two nodes want one lift only while one has lost its task"),
            Safeguard::OwnRelease => Self::Out("a release has to outlast the longest hold on its way"),
            Safeguard::HoldLimit => Self::Out("it costs half a minute: then the lease of a dead node ends"),
            Safeguard::SerialFloor => Self::Seed(1),
            Safeguard::StoreLife => Self::Out("a serial that is granted once more is refused by the gateway"),
            Safeguard::SessionFence => Self::Out(
                "a ride is granted after the last one's commands, so an older ride carries an older token",
            ),
            Safeguard::Expectation => Self::Out("what a late read hides, the interlock sees in the newest"),
            Safeguard::Interlock => Self::Out("what contradicts the movement also misses the expectation"),
            Safeguard::Validity => Self::Out("its 2.5 s are those of the read, whose age is refused first"),
            Safeguard::FlightRecord => {
                Self::Out("control misses the outcome of a gateway that died, and verifies by itself")
            }
            Safeguard::EdgeArbitration => {
                Self::Out("an outage in a random world is over soon, and its orders go on by leases then")
            }
            Safeguard::EdgeEntry => Self::Seed(291),
            Safeguard::EdgeFence => Self::Out(
                "a command has to be on its way in the tenths of a second in which arbitration changes hands",
            ),
            Safeguard::EdgeTable => {
                Self::Out("only a stranger calls a car that control knows to be another ride's")
            }
            Safeguard::SteadyClock => {
                Self::Out("a clock has to be set in the same few seconds in which a command comes late")
            }
            Safeguard::Reconciliation => {
                Self::Out("an open link alone moves nothing: what was begun is not sent again")
            }
        }
    }
}
