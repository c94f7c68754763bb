//! Everything of Hoistway that touches the world: files, sockets, brokers, PLCs, databases, browsers.
//!
//! Knows: how to read a site file, play a role, and turn the kernel's effects into I/O and replies into events.
//! Must not know: any decision about orders, lifts or vehicles; those are the kernel's.

pub mod cli;
pub mod clock;
pub mod data;
pub mod drill;
pub mod fieldbus;
pub mod http;
pub mod journal;
pub mod lease;
pub mod live;
pub mod messaging;
pub mod roles;
pub mod shell;
pub mod simulate;
pub mod site;
pub mod spelling;
pub mod stop;
pub mod store;
pub mod telemetry;
