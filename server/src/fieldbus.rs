//! The field bus: lifts behind Modbus TCP.
//!
//! [`profile`] says where a PLC keeps what; the gateway and the simulated PLC share it.

pub mod profile;

mod codes;
mod registers;
