//! The simulated plant, as pure state machines, and the lab that runs whole sites of it in virtual time.
//!
//! Knows: the kernel's types. Must not know: any clock, any socket. Time is an argument, chance comes from one seed,
//! so a run is repeated exactly by its seed and its events. The wire role and virtual time drive the same models.
//!
//! [`plant::SimPlant`] joins them and shares the kernel's contract: `handle(event, now)` takes what happened,
//! `poll_effect()` yields what is to be done, `poll_timeout()` names the next deadline and its reason. What is to
//! outlive the process is in [`kept`].

pub mod rng;

pub mod lift;
pub mod loads;
pub mod radio;
pub mod vehicle;
pub mod ways;

pub mod kept;
pub mod plant;

pub mod before_after;
pub mod blind_zone;
pub mod checkers;
pub mod fault;
mod figure;
pub mod scenarios;
pub mod seeds;
pub mod sites;
pub mod speed;
pub mod world;

pub use figure::figure;

#[cfg(test)]
mod fixture;
