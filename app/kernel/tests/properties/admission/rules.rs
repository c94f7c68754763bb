//! The rules of admission, one by one and in no order: a command is admitted when none is against it.

use kernel::ids::{Generation, TaskId};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::time::Millis;
use kernel::timing::LIFT_READ_AGE_MAX;
use kernel::wire::gateway::{Authority, Connection, GatewayRefusal, LiftCommand, ReadRef};

use super::model::{Doubt, Model};
use super::plc::FLOORS;
use super::steps::{Ask, task_name};
use crate::fixture;

impl Model {
    /// Everything that is against writing a command now.
    pub(super) fn reasons_against(&self, command: &LiftCommand) -> Vec<GatewayRefusal> {
        let age = self.newest.as_ref().map(|(_, at)| self.ms - at);
        let reachable =
            self.connection_now() == Connection::Up && age.is_some_and(|it| it <= LIFT_READ_AGE_MAX.0);
        let mut rules = vec![
            (FLOORS.contains(&command.floor.as_str()), GatewayRefusal::UnknownTarget),
            (reachable, GatewayRefusal::Unreachable),
            (!self.is_verifying(), GatewayRefusal::Verifying),
            (self.token_holds(command), GatewayRefusal::StaleToken),
            (command.session.generation.0 >= self.durable.session, GatewayRefusal::StaleSession),
            (command.session.claim.0 >= self.claim(&command.session.task), GatewayRefusal::StaleClaim),
            (self.named_read_is_fresh(command), GatewayRefusal::StaleRead),
        ];
        if let Some((shown, _)) = &self.newest {
            let served = shown.mode == LiftMode::Vehicle && shown.fault == 0;
            let passes_on = command.session.generation.0 > self.durable.session;
            let found = shown.expectation();
            rules.extend([
                (served, GatewayRefusal::OutOfService),
                (!(passes_on && shown.occupied), GatewayRefusal::CarOccupied),
                (command.expects == found, GatewayRefusal::ExpectationMissed { found }),
                (is_possible(command, shown), GatewayRefusal::NotNow),
            ]);
        }
        rules.into_iter().filter(|(holds, _)| !holds).map(|(_, reason)| reason).collect()
    }

    /// The highest token, and of equal ones the first that came.
    fn token_holds(&self, command: &LiftCommand) -> bool {
        let Authority::Lease { token, nonce } = command.authority else { return false };
        let first = (command.holder.to_string(), nonce);
        let same = self.durable.holder.as_ref() == Some(&first);
        token.epoch == self.durable.epoch
            && (token > self.durable.token || token == self.durable.token && same)
    }

    pub(super) fn claim(&self, task: &TaskId) -> u64 {
        self.durable.claims.get(task).copied().unwrap_or(0)
    }

    fn named_read_is_fresh(&self, command: &LiftCommand) -> bool {
        let nth = usize::try_from(command.read.tick).ok().and_then(|tick| tick.checked_sub(1));
        let at = nth.and_then(|nth| self.reads.get(nth));
        command.read.boot == self.durable.boot && at.is_some_and(|at| self.ms - at <= LIFT_READ_AGE_MAX.0)
    }

    pub(super) fn is_verifying(&self) -> bool {
        self.durable.in_flight.is_some() && matches!(self.doubt, Doubt::Verifying(_))
    }

    /// The command that a sender would make of it.
    pub(super) fn command(&self, ask: &Ask) -> LiftCommand {
        let shown = self.newest.as_ref().map_or(&self.plc.shown, |(shown, _)| shown);
        let (action, floor) = ask.want.unwrap_or_else(|| fitting(shown, ask.travel));
        let tick = (self.reads.len() as u64).saturating_sub(ask.read_back);
        let boot = if ask.this_boot { self.durable.boot } else { self.durable.boot - 1 };
        let id = format!("C{}", self.sent.len());
        let mut command = fixture::lift_command(&id, action, floor, shown, ReadRef { boot, tick });
        let serial = ask.serial.to(self.durable.token.serial);
        let epoch = ask.epoch.to(u64::from(self.durable.epoch));
        let token = FencingToken { epoch: u32::try_from(epoch).expect("a small epoch"), serial };
        let nonce = LeaseNonce(if ask.same_nonce { serial } else { serial + 1000 });
        command.authority = Authority::Lease { token, nonce };
        command.holder = fixture::node(if ask.same_holder { "A" } else { "B" });
        command.session.generation = Generation(ask.session.to(self.durable.session));
        command.session.task = task_name(ask.task);
        command.session.claim = Generation(ask.claim.to(self.claim(&command.session.task)));
        command.valid_for_ms = Millis(ask.valid_for_ms);
        if !ask.expects_shown {
            let shut = command.expects.door == DoorState::Closed;
            command.expects.door = if shut { DoorState::Open } else { DoorState::Closed };
        }
        command
    }
}

/// Nothing moves and nothing is under way; a travel has its door shut, a door command is for where the car stands.
fn is_possible(command: &LiftCommand, shown: &LiftStatus) -> bool {
    let rests = shown.accepted == shown.completed && shown.motion == Motion::Still && shown.levelled;
    rests
        && match command.action {
            LiftAction::GoTo => shown.door == DoorState::Closed,
            LiftAction::OpenDoor | LiftAction::CloseDoor => {
                shown.floor == command.floor && !matches!(shown.door, DoorState::Opening | DoorState::Closing)
            }
        }
}

fn fitting(shown: &LiftStatus, travel: bool) -> (LiftAction, &'static str) {
    let [low, high] = FLOORS;
    let (here, there) = if shown.floor.as_str() == low { (low, high) } else { (high, low) };
    match shown.door {
        DoorState::Closed if travel => (LiftAction::GoTo, there),
        DoorState::Closed | DoorState::Closing => (LiftAction::OpenDoor, here),
        DoorState::Open | DoorState::Opening | DoorState::Obstructed => (LiftAction::CloseDoor, here),
    }
}
