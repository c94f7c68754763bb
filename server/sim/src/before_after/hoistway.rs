//! The third column: the control nodes and the gateway that ship, with all their safeguards, on the same site.
//!
//! Knows: the site, the load, and the roads that the other columns have. Must not know how control decides. Nothing is
//! fitted here: what comes out is counted at the plant, and at the lease store, as in the other columns. The checkers of
//! the lab watch every day of it.

use std::collections::{BTreeMap, BTreeSet};

use kernel::ids::{InvalidName, LiftId, PointId, VehicleId};
use kernel::lift::LiftMode;
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};

use super::calibration::Knobs;
use super::day::{ACK_LOSS_PERMILLE, BUS_MS, CLOSING, RADIO_MS, share};
use super::load::Order;
use super::policies::{LeaseCounts, STORE_ROUND_TRIP_US};
use super::record::DayRecord;
use super::site;
use crate::checkers::Violation;
use crate::fault::{Fault, FaultKind, Road, RoadEffect};
use crate::plant::PlantTrouble;
use crate::rng::Rng;
use crate::sites::nodes;
use crate::vehicle::{RadioEffect, RadioPlace};
use crate::world::{PlannedOrder, World, WorldConfig};

/// The plant is looked at this often: the shortest scan of a PLC.
const LOOK_PERIOD: Millis = Millis(100);
/// Two active nodes, as in the other columns.
const N_NODES: u8 = 2;

/// A day under way.
pub(super) struct HoistwayDay {
    world: World,
    lift: LiftId,
    vehicles: Vec<VehicleId>,
    waiting_points: BTreeSet<PointId>,
    landings: BTreeSet<PointId>,
    /// It ends when everything is moved, but not before this.
    ends: Mono,
    release: Millis,
    /// When people release a lift that stopped in emergency.
    released_at: Option<Mono>,
    looked_at: Mono,
    asked: BTreeMap<VehicleId, Mono>,
    record: DayRecord,
}

impl HoistwayDay {
    /// The site in the morning; orders come until `ends`.
    ///
    /// # Errors
    /// A name that is none, which a test excludes.
    pub(super) fn new(
        plant: &Plant,
        knobs: &Knobs,
        (seed, day): (u64, u32),
        (orders, ends): (Vec<Order>, Mono),
    ) -> Result<Self, InvalidName> {
        let mut rng = Rng::new(seed, &format!("world of day {day}"));
        let planned = |it: Order| PlannedOrder {
            at: it.placed.since(Mono(0)),
            from: it.from,
            to: it.to,
            withdrawn_after: None,
        };
        let config = WorldConfig {
            nodes: nodes(N_NODES)?,
            orders: orders.into_iter().map(planned).collect(),
            faults: roads(),
            bus_ms: Some(BUS_MS),
            ..WorldConfig::new(plant.clone(), rng.draw())
        };
        let lift = site::lift_id()?;
        let stops = || plant.lifts.get(&lift).into_iter().flat_map(|it| &it.stops);
        Ok(Self {
            vehicles: plant.vehicles.keys().cloned().collect(),
            waiting_points: stops().flat_map(|it| it.waiting.iter().cloned()).collect(),
            landings: stops().map(|it| it.landing.clone()).collect(),
            world: World::new(config),
            lift,
            ends,
            release: knobs.release_ms,
            released_at: None,
            looked_at: Mono(0),
            asked: BTreeMap::new(),
            record: DayRecord::default(),
        })
    }

    /// Runs until the day is over; `progress` hears how far it is, from 0 to 1, now and then.
    ///
    /// # Errors
    /// What a checker found.
    pub(super) fn run(mut self, progress: &mut dyn FnMut(f64)) -> Result<DayRecord, Violation> {
        let mut told = Mono(0);
        while !self.is_over() {
            self.world.run_for(LOOK_PERIOD);
            self.look();
            if let Some(violation) = self.world.violations().first() {
                return Err(violation.clone());
            }
            if self.looked_at.since(told) >= Millis::seconds(300) {
                told = self.looked_at;
                progress(share(told));
            }
        }
        self.world.compare();
        match self.world.violations().first() {
            Some(violation) => Err(violation.clone()),
            None => Ok(self.close()),
        }
    }

    fn is_over(&self) -> bool {
        // Orders are counted once in a while: it takes a look at each of them.
        let counts = self.looked_at >= self.ends && self.looked_at.0 % 1000 < LOOK_PERIOD.0;
        self.looked_at >= CLOSING || counts && self.world.ending().is_over()
    }

    fn close(mut self) -> DayRecord {
        for (_, load) in self.world.sim().loads().iter() {
            self.record.picked += u64::from(load.picked);
            self.record.dropped += u64::from(load.dropped);
        }
        let line = self.world.lease_line();
        self.record.leases = Some(LeaseCounts {
            asked: line.answered,
            granted: line.granted,
            waited_us: line.waited.0 * 1000 + line.granted * STORE_ROUND_TRIP_US,
        });
        self.record.unserved = self.asked.len() as u64;
        self.record
    }

    fn look(&mut self) {
        let now = Mono(self.world.elapsed().0);
        let span = now.since(self.looked_at);
        self.looked_at = now;
        if let Some(counters) = self.world.sim().lift(&self.lift).map(|it| it.counters()) {
            self.record.count(&counters, now);
            self.record.commands = counters.writes;
        }
        self.look_at_waits(now);
        let Some(status) = self.world.sim().lift_status(&self.lift) else { return };
        let stopped = status.mode == LiftMode::Emergency;
        let wanted = status.occupied || !self.asked.is_empty();
        self.record.spend(span, wanted, status.occupied && !stopped);
        if stopped && *self.released_at.get_or_insert(now + self.release) <= now {
            self.released_at = None;
            self.world.release_lift(&self.lift);
        }
    }

    /// A wait begins when a vehicle stands at a waiting point and ends when it stands in the car. Who drives away again
    /// did not wait for the lift.
    fn look_at_waits(&mut self, now: Mono) {
        for id in &self.vehicles {
            let Some(vehicle) = self.world.sim().vehicle(id) else { continue };
            if vehicle.in_car().is_some() {
                if let Some(asked) = self.asked.remove(id) {
                    self.record.waits.push((asked, now.since(asked)));
                }
                continue;
            }
            match vehicle.idles_at() {
                Some(point) if self.waiting_points.contains(point) => {
                    self.asked.entry(id.clone()).or_insert(now);
                }
                Some(point) if !self.landings.contains(point) => {
                    self.asked.remove(id);
                }
                Some(_) | None => {}
            }
        }
    }
}

/// The roads of the other columns: frames to vehicles take the mean of what they take there, and so many
/// acknowledgements of the lift are lost.
fn roads() -> Vec<Fault> {
    let by_ms = Millis(RADIO_MS.start().midpoint(*RADIO_MS.end()));
    let for_ms = CLOSING.since(Mono(0));
    let radio =
        PlantTrouble::Radio { place: RadioPlace::Everywhere, effect: RadioEffect::Slow { by_ms }, for_ms };
    let lost = FaultKind::Road {
        road: Road::Outcome,
        effect: RoadEffect::Drop,
        permille: u16::try_from(ACK_LOSS_PERMILLE).unwrap_or(u16::MAX),
        for_ms,
    };
    [FaultKind::Plant(radio), lost].map(|kind| Fault { at: Millis(0), kind }).into()
}

#[cfg(test)]
mod tests;
