//! What a node makes of a movement that nobody commanded: a record of each, and an alarm until a person could see it.
//!
//! What is decided next rests on a read from after it, as always: the ride finds its car elsewhere and calls it again.

use crate::ids::LiftId;
use crate::time::{Millis, Now};
use crate::wire::gateway::LiftReading;
use crate::wire::ledger::Record;

use super::book::{Book, Touched};
use super::{Control, Lock};

/// The alarm stands for so long after a movement began, also when it is over: one that comes and goes in seconds would
/// be seen by nobody.
const SHOWN_FOR: Millis = Millis::seconds(60);

impl Control {
    /// Brings to the ledger what gateways saw and it does not have, once a minute at most. The gateway counts, so what was
    /// not told by itself shows as a gap.
    pub(super) fn drive_foreign(&mut self, now: Now) {
        let news: Vec<(LiftId, Record)> = self
            .lifts
            .iter()
            .filter(|(id, _)| self.keeps_lift(id, now))
            .filter_map(|(id, ear)| {
                let (boot, seen) = (ear.reading.read.boot, ear.reading.foreign.as_ref()?);
                let known =
                    self.book.foreign_moves.get(id).is_some_and(|it| it.0 == boot && it.1 >= seen.nth);
                let told = self.foreign_told.get(id).is_some_and(|at| now.mono.since(*at) < SHOWN_FOR);
                let (part, floor) = (seen.part, seen.floor.clone());
                let record = Record::ForeignMoved { lift: id.clone(), boot, nth: seen.nth, part, floor };
                (!known && !told).then(|| (id.clone(), record))
            })
            .collect();
        for (lift, record) in news {
            self.foreign_told.insert(lift.clone(), now.mono);
            self.propose(now, vec![Lock::ForeignMoves(lift)], vec![record]);
        }
    }
}

/// What the alarm says of it, as long as it stands.
pub(super) fn standing(reading: &LiftReading) -> Option<String> {
    let seen = reading.foreign.as_ref().filter(|it| !it.over || it.age_ms < SHOWN_FOR)?;
    Some(format!("{} · {}", seen.part.name(), seen.floor))
}

impl Book {
    pub(super) fn note_foreign(&mut self, lift: &LiftId, counted: (u64, u64)) -> Vec<Touched> {
        self.foreign_moves.insert(lift.clone(), counted);
        vec![Touched::Lift(lift.clone())]
    }
}
