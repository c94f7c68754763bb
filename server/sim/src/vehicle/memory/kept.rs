//! A vehicle's memory as it is kept over a stop of the process.

use kernel::ids::{CommandId, Generation, TaskId};
use kernel::wire::vehicle::AckVerdict;
use serde::{Deserialize, Serialize};

use super::{Remembered, VehicleMemory};

/// What a vehicle remembers of its commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMemory {
    boot: u64,
    link: Generation,
    commands: Vec<KeptCommand>,
    floor: u64,
    accepted: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptCommand {
    id: CommandId,
    sequence: u64,
    link: Generation,
    task: Option<TaskId>,
    claim: Generation,
    verdict: AckVerdict,
}

impl VehicleMemory {
    /// Rises whenever something is remembered.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// All of it. Every field is named, so that a new one is not forgotten.
    pub(crate) fn kept(&self) -> KeptMemory {
        let Self { boot, link, commands, floor, accepted, lowest: _, revision: _ } = self;
        let command = |(id, it): (&CommandId, &Remembered)| KeptCommand {
            id: id.clone(),
            sequence: it.sequence,
            link: it.link,
            task: it.task.clone(),
            claim: it.claim,
            verdict: it.verdict.clone(),
        };
        KeptMemory {
            boot: *boot,
            link: *link,
            commands: commands.iter().map(command).collect(),
            floor: *floor,
            accepted: *accepted,
        }
    }

    /// The memory as it was kept: the vehicle was not started again.
    pub(crate) fn thaw(kept: KeptMemory) -> Self {
        let remembered = |it: KeptCommand| {
            let KeptCommand { id, sequence, link, task, claim, verdict } = it;
            (id, Remembered { sequence, link, task, claim, verdict })
        };
        Self {
            boot: kept.boot,
            link: kept.link,
            lowest: kept.commands.iter().map(|it| it.sequence).min(),
            commands: kept.commands.into_iter().map(remembered).collect(),
            floor: kept.floor,
            accepted: kept.accepted,
            revision: 0,
        }
    }
}
