//! Everything of Hoistway that touches the world: roles, adapters, HTTP.

pub mod clock;
pub mod fieldbus;
pub mod store;
