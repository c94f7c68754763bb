//! What was said to each lift lately, and what became of it: for the screen, and for the ledger at the edge.

use crate::ids::{CommandId, LiftId};
use crate::lift::Asked;
use crate::time::{Mono, Now};
use crate::wire::gateway::{LiftCommand, Verdict};
use crate::wire::view::{LIFT_COMMANDS_SHOWN, LiftCommandView};

use super::Control;
use super::book::Touched;

impl Control {
    /// A command that another node sent, for the screen alone.
    pub(super) fn overheard(&mut self, command: &LiftCommand, now: Now) {
        let known =
            self.spoken.get(&command.lift).is_some_and(|it| it.iter().any(|(_, view)| view.id == command.id));
        if command.holder != self.config.node && !known && self.plant.lifts.contains_key(&command.lift) {
            self.note_command(command, now);
        }
    }

    pub(super) fn note_command(&mut self, command: &LiftCommand, now: Now) {
        let asked =
            Asked { by: &command.holder, action: command.action, floor: &command.floor, at: now.mono };
        let spoken = self.spoken.get(&command.lift).into_iter().flatten();
        let contradicted = spoken
            .filter(|(_, it)| it.joined.is_none())
            .find(|(at, it)| asked_by(it, *at).contradicts(&asked));
        let contradicts = contradicted.map(|(_, it)| it.id.clone());
        let view = LiftCommandView { contradicts, ..view_of(command, now) };
        self.note_view(&command.lift, view, now);
    }

    /// A command that was decided and not sent, since the same call had been made. Waiting for one is noted once.
    pub(super) fn note_joined(&mut self, command: &LiftCommand, by: &CommandId, now: Now) {
        let spoken = self.spoken.get(&command.lift);
        let known = spoken.is_some_and(|it| it.iter().any(|(_, view)| view.joined.as_ref() == Some(by)));
        if !known {
            let view = LiftCommandView { joined: Some(by.clone()), ..view_of(command, now) };
            self.note_view(&command.lift, view, now);
        }
    }

    /// The record says that the PLC took the call that was joined; when is not known.
    pub(super) fn note_acknowledged(&mut self, lift: &LiftId, by: &CommandId) {
        let spoken = self.spoken.get_mut(lift).into_iter().flatten();
        for (_, view) in spoken.filter(|(_, it)| it.joined.as_ref() == Some(by) && it.verdict.is_none()) {
            view.verdict = Some(Verdict::Accepted);
        }
    }

    fn note_view(&mut self, lift: &LiftId, view: LiftCommandView, now: Now) {
        let spoken = self.spoken.entry(lift.clone()).or_default();
        spoken.push_front((now.mono, view));
        spoken.truncate(LIFT_COMMANDS_SHOWN);
        self.touched.insert(Touched::Lift(lift.clone()));
    }

    pub(super) fn note_verdict(&mut self, lift: &LiftId, id: &CommandId, verdict: Verdict, now: Now) {
        let mut said = None;
        for (sent_at, view) in self.spoken.get_mut(lift).into_iter().flatten() {
            let joined = view.joined.as_ref() == Some(id);
            if view.id != *id && !joined {
                continue;
            }
            if !joined {
                said = Some(view.clone());
            }
            view.answered_after_ms = Some(now.mono.since(*sent_at));
            view.verdict = Some(verdict.clone());
        }
        if let Some(before) = said {
            self.note_edge_outcome(lift, &before, &verdict);
        }
        self.touched.insert(Touched::Lift(lift.clone()));
    }
}

fn asked_by(view: &LiftCommandView, at: Mono) -> Asked<'_> {
    Asked { by: &view.issuer, action: view.action, floor: &view.floor, at }
}

fn view_of(command: &LiftCommand, now: Now) -> LiftCommandView {
    LiftCommandView {
        id: command.id.clone(),
        at: now.wall,
        issuer: command.holder.clone(),
        token: command.authority.token(),
        action: command.action,
        floor: command.floor.clone(),
        verdict: None,
        answered_after_ms: None,
        joined: None,
        contradicts: None,
    }
}
