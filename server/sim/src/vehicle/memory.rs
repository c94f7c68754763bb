//! What a vehicle keeps over a restart: its start counter, its highest link generation, its last commands.

mod kept;

use std::collections::BTreeMap;

use kernel::ids::{CommandId, Generation, TaskId};
use kernel::timing::COMMAND_MEMORY;
use kernel::wire::vehicle::{AckVerdict, VehicleCommand};

pub use kept::KeptMemory;

/// A command as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Remembered {
    sequence: u64,
    link: Generation,
    task: Option<TaskId>,
    claim: Generation,
    verdict: AckVerdict,
}

/// Kept over a restart: written before the vehicle acts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VehicleMemory {
    boot: u64,
    link: Generation,
    commands: BTreeMap<CommandId, Remembered>,
    /// The lowest sequence of these, kept because every heartbeat says it; none while there are none.
    lowest: Option<u64>,
    /// Commands with a lower sequence are forgotten; 0 while none is.
    floor: u64,
    /// The highest sequence that was accepted.
    accepted: u64,
    /// Rises whenever something is remembered.
    revision: u64,
}

impl VehicleMemory {
    /// An empty memory whose vehicle was started `boot` times.
    pub fn empty(boot: u64) -> Self {
        Self { boot, ..Self::default() }
    }

    /// Starts so far.
    pub fn boot(&self) -> u64 {
        self.boot
    }

    /// The highest link generation that was opened.
    pub fn link(&self) -> Generation {
        self.link
    }

    /// The lowest sequence that is remembered; 0 before the first command.
    pub fn window_floor(&self) -> u64 {
        self.lowest.unwrap_or(self.floor)
    }

    /// Whether a command's sequence lies below everything remembered.
    pub fn is_below_window(&self, sequence: u64) -> bool {
        sequence < self.floor
    }

    /// The highest claim generation seen for a task.
    pub fn claim(&self, task: &TaskId) -> Generation {
        let claims = self.commands.values().filter(|it| it.task.as_ref() == Some(task)).map(|it| it.claim);
        claims.max().unwrap_or_default()
    }

    /// The answer that a repeat gets again: always the same once it was accepted. What was refused was never taken,
    /// so it is judged afresh under a higher link generation, or while nothing newer was taken.
    pub fn answer(&self, command: &VehicleCommand) -> Option<AckVerdict> {
        let known = self.commands.get(&command.id)?;
        let refused = known.verdict != AckVerdict::Accepted;
        let afresh = refused && (command.link > known.link || known.sequence > self.accepted);
        (!afresh).then(|| known.verdict.clone())
    }

    pub(super) fn started(mut self) -> Self {
        self.boot += 1;
        self.revision += 1;
        self
    }

    pub(super) fn open_link(&mut self, link: Generation) {
        self.link = self.link.max(link);
        self.revision += 1;
    }

    /// Remembers an answer. Claims only rise; the lowest sequence is forgotten beyond [`COMMAND_MEMORY`] ids.
    pub(super) fn remember(&mut self, command: &VehicleCommand, verdict: AckVerdict) {
        self.revision += 1;
        if verdict == AckVerdict::Accepted {
            self.accepted = self.accepted.max(command.sequence);
        }
        let earlier = self.commands.get(&command.id).map(|it| it.claim).unwrap_or_default();
        let remembered = Remembered {
            sequence: command.sequence,
            link: command.link,
            task: command.task.clone(),
            claim: command.claim.max(earlier),
            verdict,
        };
        self.commands.insert(command.id.clone(), remembered);
        self.lowest = Some(self.lowest.map_or(command.sequence, |it| it.min(command.sequence)));
        if self.commands.len() > COMMAND_MEMORY {
            self.forget_lowest();
        }
    }

    fn forget_lowest(&mut self) {
        let lowest = self.commands.iter().min_by_key(|(_, it)| it.sequence);
        if let Some((id, sequence)) = lowest.map(|(id, it)| (id.clone(), it.sequence)) {
            self.commands.remove(&id);
            self.lowest = self.commands.values().map(|it| it.sequence).min();
            self.floor = self.floor.max(sequence.saturating_add(1));
        }
    }
}
