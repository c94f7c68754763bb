//! The parts of the screen.

pub(crate) mod alarms;
pub(crate) mod budget;
pub(crate) mod drills;
pub(crate) mod edge_strip;
pub(crate) mod header;
pub(crate) mod icon;
pub(crate) mod issuer;
pub(crate) mod lift_page;
pub(crate) mod lift_panel;
pub(crate) mod lift_sign;
pub(crate) mod nodes;
pub(crate) mod rail;
pub(crate) mod section;
pub(crate) mod tasks;
pub(crate) mod vehicle_sign;
pub(crate) mod veil;
