//! What everybody may see of the site now: the state behind REST reads and the live stream.

pub mod follower;
pub mod hub;
mod kept;
mod shown;
mod site_id;
