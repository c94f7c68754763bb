//! Drills in a running demonstration: the lab's faults, injected into real wires and real programs.
//!
//! Knows: how each fault is done and undone. Must not know: what the system decides about it. An ordinary run has
//! none of this: no lever is built, no message passes a tap, no connection a relay.
//!
//! What the lab injects and a demonstration does not: a node that is gone for good, a plant whose process goes away, and
//! the broker's clock. The README says why.

pub mod broker;
mod conductor;
mod inject;
pub mod levers;
pub mod relay;
pub mod roads;
pub mod stray;
mod trouble;

pub use conductor::{Conductor, DrillRefusal, RUNNING_MAX, Stage};
pub use inject::{Hands, ProgramOrder};
pub use levers::Levers;
