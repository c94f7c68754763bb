//! What one executable can be. Each role is one function that runs until it is done or told to stop.

pub mod bench;
pub mod check_config;
pub mod control;
pub mod demo;
pub mod gateway;
pub mod lab;
pub mod migrate;
pub(crate) mod progress;
pub mod simulate;
