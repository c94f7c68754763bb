//! What a world is made of.

use std::ops::RangeInclusive;

use kernel::ids::{NodeId, StationId};
use kernel::plant::Plant;
use kernel::safeguard::Safeguards;
use kernel::time::Millis;

use crate::fault::Fault;
use crate::lift::Intake;

/// A world before its first event.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The site.
    pub plant: Plant,
    /// Of all chance.
    pub seed: u64,
    /// Control nodes by name: they share the ledger and the lease store.
    pub nodes: Vec<NodeId>,
    /// What the WMS asks for.
    pub orders: Vec<PlannedOrder>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Which safeguards hold.
    pub safeguards: Safeguards,
    /// How PLCs treat commands within one scan.
    pub intake: Intake,
    /// Scan period of all PLCs; each its own, from the seed, when none is given.
    pub scan: Option<Millis>,
    /// One way between gateways and PLCs in ms, drawn each time: a slow bus. A network's few, when none is given.
    pub bus_ms: Option<RangeInclusive<u64>>,
    /// Keep a line for each event that matters.
    pub logged: bool,
}

/// An order that the WMS will place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedOrder {
    /// How long after the start of the world.
    pub at: Millis,
    /// From this station.
    pub from: StationId,
    /// To that one.
    pub to: StationId,
    /// It takes it back so long after it first asked for it, if it does.
    pub withdrawn_after: Option<Millis>,
}

impl WorldConfig {
    /// One node A, no orders, no faults, all safeguards.
    pub fn new(plant: Plant, seed: u64) -> Self {
        Self {
            plant,
            seed,
            nodes: NodeId::try_new("A").into_iter().collect(),
            orders: Vec::new(),
            faults: Vec::new(),
            safeguards: Safeguards::ALL,
            intake: Intake::default(),
            scan: None,
            bus_ms: None,
            logged: false,
        }
    }
}
