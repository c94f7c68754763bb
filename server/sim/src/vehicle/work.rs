//! The command under way: legs, handling, and the ride.

mod kept;

use kernel::ids::{CommandId, FloorId, LiftId, OrderId, PointId, TaskId};
use kernel::safeguard::Safeguard;
use kernel::time::{Millis, Mono};
use kernel::timing::SILENCE_LIMIT;
use kernel::wire::vehicle::{Instruction, Operation, Place, Progress, VehicleCommand, WorkState};

use super::{CarView, Position, RideStage, VehicleEffect, VehicleModel};
use crate::ways::Ways;

pub(super) use kept::{KeptWork, WorkMark};

/// A fork stroke with its sensors; well inside the 10 s that the link budget grants for execution.
const HANDLING_TIME: Millis = Millis::seconds(4);
/// A vehicle gives a car up only long after control has asked a person about it: both count the same limit, and
/// control's begins with the session, before the vehicle stands at the landing.
const CAR_WAIT_MAX: Millis = SILENCE_LIMIT;

#[derive(Clone, Debug)]
enum Goal {
    Stand,
    Pick(OrderId),
    Drop(OrderId),
    Ride { lift: LiftId, from: FloorId, to: FloorId, exit: PointId },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Accepted, not begun.
    Fresh,
    /// From `path[leg]` to the next point.
    Driving { leg: usize, since: Mono, until: Mono },
    /// Fork up or down.
    Handling { until: Mono },
    /// Before the door.
    Awaiting { until: Mono },
    /// Over the sill into the car.
    Entering { until: Mono },
    /// In the car, but its late sensor does not say so yet.
    Boarded { until: Mono },
    /// In the car.
    Inside,
    /// Over the sill out of the car.
    Leaving { until: Mono },
    /// Out of the car, but its late sensor does not say so yet.
    Alighted { until: Mono },
}

/// A command under way.
#[derive(Clone, Debug)]
pub(super) struct Work {
    command: CommandId,
    task: Option<TaskId>,
    path: Vec<PointId>,
    goal: Goal,
    stage: Stage,
    started: bool,
}

impl Work {
    /// None for an instruction that is complete at once.
    pub(super) fn new(command: &VehicleCommand) -> Option<Self> {
        let (path, goal) = match &command.instruction {
            Instruction::OpenLink => return None,
            Instruction::Drive { path, then } => {
                let goal = match then {
                    Operation::Stand => Goal::Stand,
                    Operation::Pick { order } => Goal::Pick(order.clone()),
                    Operation::Drop { order } => Goal::Drop(order.clone()),
                };
                (path.clone(), goal)
            }
            Instruction::Ride { lift, from, to, approach, exit, .. } => {
                let (lift, from, to, exit) = (lift.clone(), from.clone(), to.clone(), exit.clone());
                (approach.clone(), Goal::Ride { lift, from, to, exit })
            }
        };
        let (command, task) = (command.id.clone(), command.task.clone());
        Some(Self { command, task, path, goal, stage: Stage::Fresh, started: false })
    }

    pub(super) fn command(&self) -> &CommandId {
        &self.command
    }

    pub(super) fn task(&self) -> Option<&TaskId> {
        self.task.as_ref()
    }

    /// When its stage ends by itself.
    pub(super) fn due(&self) -> Option<Mono> {
        match self.stage {
            Stage::Driving { until, .. }
            | Stage::Handling { until }
            | Stage::Awaiting { until }
            | Stage::Entering { until }
            | Stage::Boarded { until }
            | Stage::Leaving { until }
            | Stage::Alighted { until } => Some(until),
            Stage::Fresh | Stage::Inside => None,
        }
    }

    /// Between which points it drives.
    pub(super) fn driving(&self) -> Option<(&PointId, &PointId)> {
        let Stage::Driving { leg, .. } = self.stage else { return None };
        Some((self.path.get(leg)?, self.path.get(leg + 1)?))
    }

    pub(super) fn progress_pct(&self, now: Mono) -> u8 {
        let Stage::Driving { since, until, .. } = self.stage else { return 0 };
        let whole = until.since(since).0.max(1);
        u8::try_from((now.since(since).0 * 100 / whole).min(100)).unwrap_or(100)
    }

    /// Where its late sensor still sees it: before the car that it has entered, or in the one that it has left.
    pub(super) fn seen_at(&self) -> Option<Place> {
        match (&self.goal, self.stage) {
            (_, Stage::Boarded { .. }) => self.path.last().map(|point| Place::At { point: point.clone() }),
            (Goal::Ride { lift, .. }, Stage::Alighted { .. }) => Some(Place::InCar { lift: lift.clone() }),
            (
                Goal::Stand | Goal::Pick(_) | Goal::Drop(_) | Goal::Ride { .. },
                Stage::Fresh
                | Stage::Driving { .. }
                | Stage::Handling { .. }
                | Stage::Awaiting { .. }
                | Stage::Entering { .. }
                | Stage::Inside
                | Stage::Leaving { .. }
                | Stage::Alighted { .. },
            ) => None,
        }
    }

    pub(super) fn state(&self) -> WorkState {
        match self.stage {
            Stage::Fresh
            | Stage::Driving { .. }
            | Stage::Entering { .. }
            | Stage::Boarded { .. }
            | Stage::Leaving { .. }
            | Stage::Alighted { .. } => WorkState::Driving,
            Stage::Handling { .. } => WorkState::Handling,
            Stage::Awaiting { .. } | Stage::Inside => WorkState::Waiting,
        }
    }
}

impl VehicleModel {
    /// The lift that it rides or is about to, and how far it is.
    pub fn ride(&self) -> Option<(&LiftId, RideStage)> {
        let work = self.work.as_ref()?;
        let Goal::Ride { lift, .. } = &work.goal else { return None };
        let stage = match work.stage {
            Stage::Entering { .. } | Stage::Leaving { .. } => RideStage::OnSill,
            Stage::Boarded { .. } => RideStage::Unsure,
            Stage::Inside => RideStage::Inside,
            Stage::Awaiting { .. } | Stage::Alighted { .. } => RideStage::Waiting,
            Stage::Fresh | Stage::Driving { .. } | Stage::Handling { .. } => RideStage::Approaching,
        };
        Some((lift, stage))
    }

    /// The lift in whose car it stands, whether or not it knows of a ride.
    pub fn in_car(&self) -> Option<&LiftId> {
        match &self.position {
            Position::InCar(lift) => Some(lift),
            Position::At(_) => None,
        }
    }

    /// The command in hand.
    pub fn working_on(&self) -> Option<&CommandId> {
        self.work.as_ref().map(Work::command)
    }

    /// Whether it says that it finished this command.
    pub fn has_completed(&self, command: &CommandId) -> bool {
        self.completions.contains(command)
    }

    /// Where its ride leads.
    pub fn rides_to(&self) -> Option<&FloorId> {
        match &self.work.as_ref()?.goal {
            Goal::Ride { to, .. } => Some(to),
            Goal::Stand | Goal::Pick(_) | Goal::Drop(_) => None,
        }
    }

    /// The car changed: drives in or out when it may. Says whether it began to.
    pub fn see_car(&mut self, view: &CarView, now: Mono) -> bool {
        self.car_passes_radio = view.radio_passes;
        let began = match self.work.take() {
            None => false,
            Some(work) if self.frozen.is_some() => {
                self.work = Some(work);
                false
            }
            Some(mut work) => {
                let began = self.cross_sill(&mut work, view, now);
                self.work = Some(work);
                began
            }
        };
        self.tune_radio(now);
        began
    }

    fn cross_sill(&mut self, work: &mut Work, view: &CarView, now: Mono) -> bool {
        let Goal::Ride { from, to, .. } = &work.goal else { return false };
        let open_at = |floor| view.open_at.as_ref() == Some(floor) && view.sill_free;
        let until = now + Ways::sill_time(&self.vehicle);
        let fits = view.has_room || !self.safeguards.holds(Safeguard::RoomInCar);
        match work.stage {
            Stage::Awaiting { .. } if open_at(from) && fits => {
                self.report_start(work);
                work.stage = Stage::Entering { until };
                true
            }
            Stage::Inside if open_at(to) => {
                work.stage = Stage::Leaving { until };
                true
            }
            Stage::Fresh
            | Stage::Driving { .. }
            | Stage::Handling { .. }
            | Stage::Awaiting { .. }
            | Stage::Entering { .. }
            | Stage::Boarded { .. }
            | Stage::Inside
            | Stage::Leaving { .. }
            | Stage::Alighted { .. } => false,
        }
    }

    /// The controller has forgotten its work: on a way it counts as standing at the point that it left, on a sill as
    /// in the car.
    pub(super) fn settle_where_it_stands(&mut self) {
        let Some(work) = self.work.take() else { return };
        if let (Goal::Ride { lift, .. }, Stage::Entering { .. } | Stage::Inside | Stage::Leaving { .. }) =
            (&work.goal, work.stage)
        {
            self.position = Position::InCar(lift.clone());
        }
    }

    pub(super) fn begin(&mut self, work: Work, now: Mono) {
        self.drive_on(work, 0, now);
        self.tune_radio(now);
    }

    pub(super) fn step_work(&mut self, now: Mono) {
        while self.work.as_ref().and_then(Work::due).is_some_and(|due| due <= now) {
            if let Some(work) = self.work.take() {
                self.end_stage(work, now);
            }
            self.tune_radio(now);
        }
    }

    fn end_stage(&mut self, mut work: Work, now: Mono) {
        match work.stage {
            Stage::Driving { leg, .. } => {
                if let Some(point) = work.path.get(leg + 1) {
                    self.position = Position::At(point.clone());
                }
                self.drive_on(work, leg + 1, now);
            }
            Stage::Handling { .. } => self.finish_handling(&work),
            Stage::Awaiting { .. } => self.give_up(&work),
            Stage::Entering { .. } => {
                if let Goal::Ride { lift, .. } = &work.goal {
                    self.position = Position::InCar(lift.clone());
                }
                match self.sensor_lag() {
                    Some(lag) => {
                        work.stage = Stage::Boarded { until: now + lag };
                        self.work = Some(work);
                    }
                    None => self.feel_car(work),
                }
            }
            Stage::Boarded { .. } => self.feel_car(work),
            Stage::Leaving { .. } => {
                if let Goal::Ride { exit, .. } = &work.goal {
                    self.position = Position::At(exit.clone());
                }
                match self.sensor_lag() {
                    Some(lag) => {
                        work.stage = Stage::Alighted { until: now + lag };
                        self.work = Some(work);
                    }
                    None => self.feel_landing(&work),
                }
            }
            Stage::Alighted { .. } => self.feel_landing(&work),
            Stage::Fresh | Stage::Inside => self.work = Some(work),
        }
    }

    /// Its sensor says that it is in the car, clear of the sill.
    fn feel_car(&mut self, mut work: Work) {
        self.say_progress(&work, Progress::Boarded);
        work.stage = Stage::Inside;
        self.work = Some(work);
    }

    /// Its sensor says that it is out of the car, clear of the sill.
    fn feel_landing(&mut self, work: &Work) {
        self.say_progress(work, Progress::Alighted);
        self.finish(work);
    }

    /// Drives from the point with this number to the next, or does what is to be done at the last one.
    fn drive_on(&mut self, mut work: Work, leg: usize, now: Mono) {
        let next = work.path.get(leg).zip(work.path.get(leg + 1));
        if let Some(time) = next.and_then(|(from, to)| self.ways.time(from, to, &self.vehicle)) {
            self.report_start(&mut work);
            work.stage = Stage::Driving { leg, since: now, until: now + time };
            self.work = Some(work);
            return;
        }
        match work.goal {
            Goal::Stand => {
                self.report_start(&mut work);
                self.finish(&work);
            }
            Goal::Pick(_) | Goal::Drop(_) => {
                self.report_start(&mut work);
                work.stage = Stage::Handling { until: now + HANDLING_TIME };
                self.work = Some(work);
            }
            Goal::Ride { .. } => {
                work.stage = Stage::Awaiting { until: now + CAR_WAIT_MAX };
                self.work = Some(work);
            }
        }
    }

    fn finish_handling(&mut self, work: &Work) {
        let (Position::At(point), goal) = (&self.position, &work.goal) else { return };
        match goal {
            Goal::Pick(order) => {
                self.load = Some(order.clone());
                let picked = VehicleEffect::Picked { order: order.clone(), at: point.clone() };
                self.effects.push_back(picked);
            }
            Goal::Drop(order) => {
                self.load = None;
                let dropped = VehicleEffect::Dropped { order: order.clone(), at: point.clone() };
                self.effects.push_back(dropped);
            }
            Goal::Stand | Goal::Ride { .. } => {}
        }
        self.finish(work);
    }

    fn finish(&mut self, work: &Work) {
        self.remember_completion(work);
        self.say_progress(work, Progress::Done);
    }

    fn give_up(&mut self, work: &Work) {
        let reason = format!("no car with an open door and room for {CAR_WAIT_MAX}");
        self.say_progress(work, Progress::Failed { reason });
    }

    fn report_start(&mut self, work: &mut Work) {
        if !work.started {
            work.started = true;
            self.say_progress(work, Progress::Started);
        }
    }
}
