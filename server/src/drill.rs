//! Drills in a running demonstration: the lab's faults, injected into real wires and real programs.
//!
//! Knows: how each fault is done and undone. Must not know: what the system decides about it. An ordinary run has
//! none of this: no lever is built, no message passes a tap, no connection a relay.
//!
//! What the lab injects and a demonstration cannot suffer: set clocks (all its programs share this machine's), a
//! partition between nodes and an old copy of the lease store (it has one node and one store), and messages that the
//! broker forgets with its sessions (the embedded broker ends with the process).

mod conductor;
mod inject;
pub mod levers;
pub mod relay;
pub mod roads;

pub use conductor::{Conductor, DrillRefusal, RUNNING_MAX, Stage};
pub use inject::{Hands, ProgramOrder};
pub use levers::Levers;
