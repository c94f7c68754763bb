//! One integration binary: real sockets, real services, stopped by their process id.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and so do the helpers around it"
)]

mod asyncapi;
mod bench;
mod brokers;
mod cli;
mod demo;
mod desk;
mod drill_faults;
mod drills;
mod fieldbus;
mod gateway;
mod journal;
mod lab;
mod leases;
mod live;
mod messaging;
mod nodes;
mod openapi;
mod plc;
mod plc_kinds;
mod postgres;
mod processes;
mod rest;
mod simulate;
mod stores;
mod tidy;
mod web;
