//! One integration binary: real sockets, real services, stopped by their process id.

mod brokers;
mod messaging;
