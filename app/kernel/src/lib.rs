//! All decisions of Hoistway, as pure state machines.
//!
//! Knows: the plant, orders, tasks, lifts, leases, fencing, and what a control node and a gateway decide.
//! Must not know: Redis, MQTT, Modbus, SQL, HTTP, Leptos, any clock, any randomness. `clippy.toml` beside the
//! manifest and the test `tidy::kernel_stays_pure` hold that.
//!
//! The two machines, [`control::Control`] and [`gateway::Gateway`], share one contract: `handle(event, now)`
//! takes what happened, `poll_effect()` yields what is to be done, `poll_timeout()` names the next deadline and
//! its reason. Reading order is the order of the modules below.

pub mod ids;
pub mod time;

pub mod plant;
pub mod route;
pub mod timing;

pub mod alarm;
pub mod drill;
pub mod lease;
pub mod lift;
pub mod safeguard;
pub mod task;

pub mod wire;

pub mod ledger;

pub mod control;
pub mod gateway;

pub mod health;

#[cfg(test)]
mod fixture;
