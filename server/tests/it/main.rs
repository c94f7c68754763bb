//! One integration binary: real sockets, real services, stopped by their process id.

mod asyncapi;
mod brokers;
mod messaging;
mod simulate;
mod tidy;
