//! Drills as the ledger has them. Whoever conducts them says when one begins and ends; here that becomes a record.

use chrono::TimeDelta;

use crate::drill::{Drill, DrillEnd};
use crate::ids::DrillId;
use crate::ledger::Row;
use crate::time::Now;
use crate::wire::drill::DrillView;
use crate::wire::ledger::{Entry, Record};

use super::book::{Book, Touched};
use super::{Control, Lock};

/// Drills that are over and still shown.
pub const ENDED_DRILLS_MAX: usize = 20;
/// Notes that wait for the ledger. At most as many drills stand as the conductor lets begin, and each has two notes.
const NOTES_MAX: usize = 64;

impl Control {
    pub(super) fn drill_began(&mut self, drill: Drill) {
        let known = self.book.drills.iter().any(|it| it.id == drill.id);
        if !known {
            self.note_drill(Record::DrillStarted { drill });
        }
    }

    pub(super) fn drill_over(&mut self, drill: DrillId, end: DrillEnd) {
        let stands = self.book.drills.iter().any(|it| it.id == drill && it.end.is_none());
        let began = |it: &Record| matches!(it, Record::DrillStarted { drill: new } if new.id == drill);
        if stands || self.drill_notes.iter().any(began) {
            self.note_drill(Record::DrillEnded { drill, end });
        }
    }

    pub(super) fn drills_stand(&mut self, drills: &[DrillId]) {
        let left = self.book.drills.iter().filter(|it| it.end.is_none() && !drills.contains(&it.id));
        for drill in left.map(|it| it.id.clone()).collect::<Vec<_>>() {
            self.drill_over(drill, DrillEnd::Interrupted);
        }
    }

    /// Outside a drill run nothing may be marked as one. A note that is told again is one note.
    fn note_drill(&mut self, record: Record) {
        if !self.config.drill || self.drill_notes.len() >= NOTES_MAX {
            self.reject("drills", "a drill was told to a node that takes none");
        } else if !self.drill_notes.contains(&record) {
            self.drill_notes.push_back(record);
        }
    }

    /// Brings to the ledger what it does not have, again and again until it has.
    pub(super) fn drive_drills(&mut self, now: Now) {
        let records = self.drill_notes.iter().cloned().collect();
        self.propose(now, vec![Lock::Drills], records);
    }

    /// Whoever recorded it. A drill ends once, whatever this node was told of why.
    pub(super) fn drill_recorded(&mut self, record: &Record) {
        self.drill_notes.retain(|it| match (it, record) {
            (Record::DrillEnded { drill, .. }, Record::DrillEnded { drill: ended, .. }) => drill != ended,
            (note, record) => note != record,
        });
    }
}

impl Book {
    pub(super) fn begin_drill(&mut self, entry: &Entry, drill: &Drill) -> Vec<Touched> {
        let lasts = drill.for_ms.and_then(|it| i64::try_from(it.0).ok()).map(TimeDelta::milliseconds);
        self.drills.push_back(DrillView {
            id: drill.id.clone(),
            fault: drill.fault,
            at: drill.at.clone(),
            started_at: entry.at,
            ends_at: lasts.and_then(|it| entry.at.checked_add_signed(it)),
            ended_at: None,
            end: None,
        });
        vec![Touched::Drills]
    }

    pub(super) fn end_drill(
        &mut self,
        entry: &Entry,
        id: &DrillId,
        end: DrillEnd,
    ) -> Result<Vec<Touched>, String> {
        let found = self.drills.iter_mut().find(|it| it.id == *id);
        let drill = found.ok_or_else(|| format!("there is no drill {id}"))?;
        drill.ended_at = Some(entry.at);
        drill.end = Some(end);
        let n_ended = self.drills.iter().filter(|it| it.end.is_some()).count();
        if n_ended > ENDED_DRILLS_MAX
            && let Some(idx) = self.drills.iter().position(|it| it.end.is_some())
        {
            let forgotten = self.drills.remove(idx);
            forgotten.into_iter().for_each(|it| self.rows.forget(&Row::Drill(it.id)));
        }
        Ok(vec![Touched::Drills])
    }
}
