//! A command under way as it is kept over a stop of the process.

use kernel::ids::{CommandId, FloorId, LiftId, OrderId, PointId, TaskId, VehicleId};
use kernel::time::{Millis, Mono};
use serde::{Deserialize, Serialize};

use super::{Goal, Stage, Work};
use crate::kept::{ThawError, before};
use crate::ways::Ways;

/// A command under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptWork {
    command: CommandId,
    task: Option<TaskId>,
    path: Vec<PointId>,
    goal: KeptGoal,
    stage: KeptStage,
    started: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptGoal {
    Stand,
    Pick(OrderId),
    Drop(OrderId),
    Ride { lift: LiftId, from: FloorId, to: FloorId, exit: PointId },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptStage {
    Fresh,
    Driving { leg: usize, since_ago_ms: Millis, until_in_ms: Millis },
    Handling { until_in_ms: Millis },
    Awaiting { until_in_ms: Millis },
    Entering { until_in_ms: Millis },
    Boarded { until_in_ms: Millis },
    Inside,
    Leaving { until_in_ms: Millis },
    Alighted { until_in_ms: Millis },
}

/// How far a vehicle is with a command: when it changes, the vehicle is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkMark {
    command: CommandId,
    stage: Stage,
}

impl Work {
    pub(crate) fn mark(&self) -> WorkMark {
        WorkMark { command: self.command.clone(), stage: self.stage }
    }

    /// It rests from a moment to another: what it lacked then it lacks now.
    pub(crate) fn rest(&mut self, from: Mono, to: Mono) {
        self.stage = thaw_stage(&keep_stage(self.stage, from), to);
    }

    /// All of it. Every field is named, so that a new one is not forgotten.
    pub(crate) fn kept(&self, now: Mono) -> KeptWork {
        let Self { command, task, path, goal, stage, started } = self;
        let goal = match goal.clone() {
            Goal::Stand => KeptGoal::Stand,
            Goal::Pick(order) => KeptGoal::Pick(order),
            Goal::Drop(order) => KeptGoal::Drop(order),
            Goal::Ride { lift, from, to, exit } => KeptGoal::Ride { lift, from, to, exit },
        };
        let (command, task, path) = (command.clone(), task.clone(), path.clone());
        KeptWork { command, task, path, goal, stage: keep_stage(*stage, now), started: *started }
    }

    /// The command as it was kept, if its ways still exist.
    pub(crate) fn thaw(
        kept: KeptWork,
        vehicle: &VehicleId,
        ways: &Ways,
        now: Mono,
    ) -> Result<Self, ThawError> {
        kept.fits(vehicle, ways)?;
        let KeptWork { command, task, path, goal, stage, started } = kept;
        let goal = match goal {
            KeptGoal::Stand => Goal::Stand,
            KeptGoal::Pick(order) => Goal::Pick(order),
            KeptGoal::Drop(order) => Goal::Drop(order),
            KeptGoal::Ride { lift, from, to, exit } => Goal::Ride { lift, from, to, exit },
        };
        Ok(Self { command, task, path, goal, stage: thaw_stage(&stage, now), started })
    }
}

impl KeptWork {
    fn fits(&self, vehicle: &VehicleId, ways: &Ways) -> Result<(), ThawError> {
        if let Some(point) = self.path.last()
            && !ways.lead_along(&self.path)
        {
            return Err(ThawError::UnknownWay { vehicle: vehicle.clone(), point: point.clone() });
        }
        if let KeptGoal::Ride { lift, from, to, exit } = &self.goal {
            let enters = ways.landing(lift, from);
            if enters.is_none() || enters != self.path.last() || ways.landing(lift, to) != Some(exit) {
                let (lift, from, to) = (lift.clone(), from.clone(), to.clone());
                return Err(ThawError::UnknownRide { vehicle: vehicle.clone(), lift, from, to });
            }
        }
        Ok(())
    }
}

fn keep_stage(stage: Stage, now: Mono) -> KeptStage {
    match stage {
        Stage::Fresh => KeptStage::Fresh,
        Stage::Driving { leg, since, until } => {
            KeptStage::Driving { leg, since_ago_ms: now.since(since), until_in_ms: until.since(now) }
        }
        Stage::Handling { until } => KeptStage::Handling { until_in_ms: until.since(now) },
        Stage::Awaiting { until } => KeptStage::Awaiting { until_in_ms: until.since(now) },
        Stage::Entering { until } => KeptStage::Entering { until_in_ms: until.since(now) },
        Stage::Boarded { until } => KeptStage::Boarded { until_in_ms: until.since(now) },
        Stage::Inside => KeptStage::Inside,
        Stage::Leaving { until } => KeptStage::Leaving { until_in_ms: until.since(now) },
        Stage::Alighted { until } => KeptStage::Alighted { until_in_ms: until.since(now) },
    }
}

fn thaw_stage(stage: &KeptStage, now: Mono) -> Stage {
    match *stage {
        KeptStage::Fresh => Stage::Fresh,
        KeptStage::Driving { leg, since_ago_ms, until_in_ms } => {
            Stage::Driving { leg, since: before(now, since_ago_ms), until: now + until_in_ms }
        }
        KeptStage::Handling { until_in_ms } => Stage::Handling { until: now + until_in_ms },
        KeptStage::Awaiting { until_in_ms } => Stage::Awaiting { until: now + until_in_ms },
        KeptStage::Entering { until_in_ms } => Stage::Entering { until: now + until_in_ms },
        KeptStage::Boarded { until_in_ms } => Stage::Boarded { until: now + until_in_ms },
        KeptStage::Inside => Stage::Inside,
        KeptStage::Leaving { until_in_ms } => Stage::Leaving { until: now + until_in_ms },
        KeptStage::Alighted { until_in_ms } => Stage::Alighted { until: now + until_in_ms },
    }
}
