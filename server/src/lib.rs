//! Everything of Hoistway that touches the world: roles, shell, adapters, REST and the live stream.

pub mod clock;
pub mod fieldbus;
pub mod http;
pub mod journal;
pub mod live;
pub mod shell;
pub mod spelling;
pub mod store;
