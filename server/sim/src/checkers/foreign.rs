//! Movements that nobody commanded: each is told, where nothing else is wrong.

use std::collections::BTreeMap;

use kernel::ids::LiftId;
use kernel::time::{Millis, Mono};
use kernel::wire::ledger::{Entry, Record};

use crate::fault::FaultKind;
use crate::lift::{LiftModel, LiftTrouble};
use crate::plant::{PlantTrouble, SimPlant};

/// A gateway reads five times a second, and a node writes down at once what it hears.
const TOLD_WITHIN: Millis = Millis::seconds(10);

/// Between two looks at the plant.
const LOOK: Millis = Millis::seconds(1);

/// A lift that was seen to travel unbidden.
#[derive(Clone, Copy, Debug)]
struct Travel {
    since: Mono,
    /// A second later, too: by then its gateway must have seen it.
    lasted: bool,
}

/// What moved, and whether it was told.
#[derive(Clone, Debug, Default)]
pub(super) struct ForeignWatch {
    travels: BTreeMap<LiftId, Travel>,
    /// When the ledger was told last.
    told: BTreeMap<LiftId, Mono>,
    /// Something else went wrong: a gateway, a link, a ledger may have been away when it should have told.
    disturbed: bool,
}

impl ForeignWatch {
    pub(super) fn suffers(&mut self, kind: &FaultKind) {
        let called = matches!(
            kind,
            FaultKind::Plant(PlantTrouble::Lift { trouble: LiftTrouble::CalledByPeople { .. }, .. })
        );
        self.disturbed |= !called;
    }

    pub(super) fn recorded(&mut self, now: Mono, entry: &Entry) {
        if let Record::ForeignMoved { lift, .. } = &entry.record {
            self.told.insert(lift.clone(), now);
        }
    }

    /// A second has gone by: says which lift traveled and was not told of.
    pub(super) fn second(&mut self, now: Mono, sim: &SimPlant) -> Vec<String> {
        let mut found = Vec::new();
        for (lift, _) in sim.lift_counters() {
            let unbidden = sim.lift(lift).is_some_and(LiftModel::travels_unbidden);
            match self.travels.get_mut(lift) {
                Some(travel) if unbidden => travel.lasted = true,
                None if unbidden => {
                    let travel = Travel { since: now, lasted: false };
                    self.travels.insert(lift.clone(), travel);
                }
                Some(travel) if now.since(travel.since) >= TOLD_WITHIN => {
                    // It may have been told before it was first looked at, a second after it began.
                    let told = self.told.get(lift).is_some_and(|at| *at + LOOK >= travel.since);
                    let untold = travel.lasted && !told && !self.disturbed;
                    found.extend(untold.then(|| format!("{lift} traveled unbidden, and nobody was told")));
                    self.travels.remove(lift);
                }
                Some(_) | None => {}
            }
        }
        found
    }
}
