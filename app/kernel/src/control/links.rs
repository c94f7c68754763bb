//! Hearing vehicles, and opening their links.
//!
//! After a silence a vehicle takes nothing new until its link is opened again. It is opened only when what the
//! vehicle says and what the ledger says go together, and each opening has a higher generation, so that whatever a
//! broker kept from before is refused.

use crate::ids::{CommandId, VehicleId};
use crate::safeguard::Safeguard;
use crate::task::TaskState;
use crate::time::{Millis, Now};
use crate::wire::ledger::Record;
use crate::wire::vehicle::{Heartbeat, Instruction, Telemetry, VehicleCommand};
use crate::wire::view::Hearing;

use super::book::{TaskBook, Touched};
use super::ears::{GATEWAY_SILENT_AFTER, SILENT_AFTER};
use super::{Control, Effect, Lock};

/// An `openLink` that a vehicle does not follow is sent again so often: four heartbeats.
const OPEN_LINK_AGAIN: Millis = Millis(2000);

impl Control {
    pub(super) fn heartbeat_heard(&mut self, heartbeat: Heartbeat, now: Now) {
        let id = heartbeat.vehicle.clone();
        let Some(ear) = self.vehicles.get_mut(&id) else { return };
        if ear.hear(heartbeat, now) {
            self.touched.insert(Touched::Vehicle(id));
        }
    }

    pub(super) fn telemetry_heard(&mut self, telemetry: Telemetry, now: Now) {
        let id = telemetry.vehicle.clone();
        let Some(ear) = self.vehicles.get_mut(&id) else { return };
        if ear.watch(telemetry, now) {
            self.touched.insert(Touched::Vehicle(id));
        }
    }

    /// Presence is a hint: a vehicle that left the broker must show a steady heartbeat again. That it came back says
    /// nothing until it is heard: the broker may have retained it from before.
    pub(super) fn presence_heard(&mut self, vehicle: &VehicleId, online: bool, now: Now) {
        let Some(ear) = self.vehicles.get_mut(vehicle) else { return };
        if !online {
            ear.steady = 0;
        } else if !self.safeguards.holds(Safeguard::ProvenLive) {
            ear.beat_at = Some(now.mono);
        }
        self.touched.insert(Touched::Vehicle(vehicle.clone()));
    }

    /// Who has grown silent is shown so, although no message says it.
    pub(super) fn note_silences(&mut self, now: Now) {
        self.note_standings(now);
        for (id, ear) in &mut self.vehicles {
            let hearing = Some(ear.hearing(now));
            if ear.shown != hearing {
                ear.shown = hearing;
                self.touched.insert(Touched::Vehicle(id.clone()));
            }
        }
        for (id, ear) in &mut self.gateways {
            if now.mono.since(ear.at) > GATEWAY_SILENT_AFTER && !ear.silence_shown {
                ear.silence_shown = true;
                let lifts = self.plant.lifts.iter().filter(|(_, it)| it.gateway == *id);
                self.touched.extend(lifts.map(|(lift, _)| Touched::Lift(lift.clone())));
            }
        }
    }

    pub(super) fn drive_links(&mut self, now: Now) {
        let ids: Vec<VehicleId> = self.vehicles.keys().cloned().collect();
        for id in ids {
            self.drive_link(&id, now);
        }
    }

    fn drive_link(&mut self, id: &VehicleId, now: Now) {
        let ours = self.book.links.get(id).copied().unwrap_or_default();
        let Some(ear) = self.vehicles.get(id) else { return };
        let Some(heartbeat) = ear.steady(now) else { return };
        if self.link_is_open(id) {
            if let Some(ear) = self.vehicles.get_mut(id) {
                ear.opening = None;
            }
            return;
        }
        if !self.keeps_vehicle(id, now) {
            return;
        }
        let disagrees = self.disagreement(id, heartbeat).is_some();
        if disagrees && self.safeguards.holds(Safeguard::Reconciliation) {
            return;
        }
        if heartbeat.link < ours.generation {
            let due = ear.opening.is_none_or(|sent| now.mono.since(sent) >= OPEN_LINK_AGAIN);
            if due {
                self.open_link(id, now);
            }
            return;
        }
        let generation = heartbeat.link.max(ours.generation).next();
        let record = Record::LinkOpened { vehicle: id.clone(), generation };
        self.propose(now, vec![Lock::Vehicle(id.clone())], vec![record]);
    }

    /// The vehicle takes new commands, and by its last word the generation is ours.
    pub(super) fn link_is_open(&self, id: &VehicleId) -> bool {
        let ours = self.book.links.get(id).copied().unwrap_or_default();
        let heartbeat = self.vehicles.get(id).and_then(|ear| ear.heartbeat.as_ref());
        heartbeat.is_some_and(|it| it.link_open && it.link == ours.generation && ours.generation.0 > 0)
    }

    /// What a vehicle says about its work that the ledger contradicts: it holds a command that is not the one under
    /// way, or it began one and holds it no more without having finished it.
    pub(super) fn disagreement(&self, id: &VehicleId, heartbeat: &Heartbeat) -> Option<String> {
        use crate::task::TaskState as S;
        let task = self.book.task_of(id);
        let under_way = task.and_then(|(_, book)| book.under_way());
        if let Some(held) = &heartbeat.command {
            let known = |command: &CommandId| {
                under_way.is_some_and(|it| it.id == *command) || self.is_done(id, command)
            };
            if !known(held) {
                let ours = under_way.map_or("–".to_owned(), |it| it.id.to_string());
                return Some(format!("{held} ≠ {ours}"));
            }
            return None;
        }
        let (_, book) = task?;
        let command = under_way?;
        let begun = match &book.state {
            S::Acknowledged { .. } | S::Executing { .. } => true,
            S::Created
            | S::Issued { .. }
            | S::Suspended { .. }
            | S::Completed
            | S::Failed { .. }
            | S::Withdrawn { .. } => false,
        };
        let finished = heartbeat.completions.contains(&command.id);
        // A heartbeat from before the command says nothing about it.
        let later = heartbeat.acknowledged >= command.sequence;
        (begun && later && !finished).then(|| format!("– ≠ {}", command.id))
    }

    /// The ledger has it as done, or as the last of a task that was withdrawn: the vehicle finishes it.
    fn is_done(&self, id: &VehicleId, command: &CommandId) -> bool {
        let last = |it: &TaskBook| it.command.as_ref().is_some_and(|it| it.id == *command);
        self.book.tasks.values().filter(|it| it.vehicle.as_ref() == Some(id)).any(|it| {
            let withdrawn = matches!(it.state, TaskState::Withdrawn { .. });
            it.done.as_ref() == Some(command) || withdrawn && last(it)
        })
    }

    /// Sends the `openLink` of the generation that the ledger has.
    pub(super) fn open_link(&mut self, id: &VehicleId, now: Now) {
        let Some(link) = self.book.links.get(id).copied() else { return };
        let Some(vehicle) = self.plant.vehicles.get(id) else { return };
        let Ok(name) = CommandId::try_new(&format!("K-{id}.{}", link.generation)) else { return };
        let command = VehicleCommand {
            id: name,
            vehicle: id.clone(),
            sequence: link.sequence,
            task: None,
            step: 0,
            claim: crate::ids::Generation::default(),
            link: link.generation,
            valid_for_ms: OPEN_LINK_AGAIN,
            instruction: Instruction::OpenLink,
        };
        self.effects.push_back(Effect::SendVehicle { gateway: vehicle.gateway.clone(), command });
        if let Some(ear) = self.vehicles.get_mut(id) {
            ear.opening = Some(now.mono);
        }
    }

    /// Whether a vehicle is heard now.
    pub(super) fn hearing(&self, id: &VehicleId, now: Now) -> Hearing {
        self.vehicles.get(id).map_or(Hearing::Never, |ear| ear.hearing(now))
    }

    /// How long a vehicle has been silent, when it is. One that was never heard is silent since this run began, for it
    /// may have gone while no node listened; it is given the link's margin first, since this node has to find the
    /// broker, too.
    pub(super) fn silence(&self, id: &VehicleId, now: Now) -> Option<Millis> {
        let (since, patience) = match self.vehicles.get(id).and_then(|ear| ear.beat_at) {
            Some(heard) => (heard, SILENT_AFTER),
            None => (self.started, self.plant.link_budget.roaming_ms.max(SILENT_AFTER)),
        };
        let silence = now.mono.since(since);
        (silence >= patience).then_some(silence)
    }
}
