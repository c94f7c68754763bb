//! What this node hears: vehicles, gateways, lifts. Nothing of it is in the ledger, and nothing of it survives a
//! restart; until something is heard again it is unknown.

use chrono::{DateTime, Utc};

use crate::ids::CommandId;
use crate::time::{Millis, Mono, Now};
use crate::timing::{HEARTBEAT_PERIOD, HEARTBEATS_MISSED_MAX, HEARTBEATS_STEADY, LIFT_POLL_PERIOD};
use crate::wire::gateway::LiftReading;
use crate::wire::vehicle::{Heartbeat, Place, Telemetry};
use crate::wire::view::Hearing;

/// After this long without a heartbeat a vehicle is silent.
pub(super) const SILENT_AFTER: Millis = HEARTBEAT_PERIOD.times(HEARTBEATS_MISSED_MAX);
/// After this long without a status a gateway is silent: three seconds' worth of polls.
pub(super) const GATEWAY_SILENT_AFTER: Millis = LIFT_POLL_PERIOD.times(5 * HEARTBEATS_MISSED_MAX);

/// What is heard of a vehicle.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct VehicleEar {
    pub(super) heartbeat: Option<Heartbeat>,
    pub(super) telemetry: Option<Telemetry>,
    /// Where it last said that it was, by whichever message came last.
    pub(super) place: Option<(Place, DateTime<Utc>)>,
    pub(super) beat_at: Option<Mono>,
    pub(super) heard_at: Option<DateTime<Utc>>,
    pub(super) steady: u8,
    /// When the `openLink` that is on its way was sent last.
    pub(super) opening: Option<Mono>,
    /// What was shown last, so that growing silent is shown once.
    pub(super) shown: Option<Hearing>,
}

impl VehicleEar {
    /// Takes a heartbeat; false if it is a repeat or was overtaken.
    pub(super) fn hear(&mut self, heartbeat: Heartbeat, now: Now) -> bool {
        let last = self.heartbeat.as_ref().map(|it| (it.boot, it.beat));
        if last.is_some_and(|last| (heartbeat.boot, heartbeat.beat) <= last) {
            return false;
        }
        let in_time = self.beat_at.is_some_and(|at| now.mono.since(at) < SILENT_AFTER);
        let same_boot = last.is_some_and(|(boot, _)| boot == heartbeat.boot);
        self.steady = if in_time && same_boot { self.steady.saturating_add(1) } else { 1 };
        self.beat_at = Some(now.mono);
        self.heard_at = Some(now.wall);
        self.place = Some((heartbeat.place.clone(), now.wall));
        self.heartbeat = Some(heartbeat);
        true
    }

    /// Takes telemetry; false if it is a repeat or was overtaken.
    pub(super) fn watch(&mut self, telemetry: Telemetry, now: Now) -> bool {
        let last = self.telemetry.as_ref().map(|it| (it.boot, it.sample));
        if last.is_some_and(|last| (telemetry.boot, telemetry.sample) <= last) {
            return false;
        }
        self.heard_at = Some(now.wall);
        self.place = Some((telemetry.place.clone(), now.wall));
        self.telemetry = Some(telemetry);
        true
    }

    pub(super) fn hearing(&self, now: Now) -> Hearing {
        match self.beat_at {
            None => Hearing::Never,
            Some(at) if now.mono.since(at) < SILENT_AFTER => Hearing::Heard,
            Some(_) => Hearing::Silent,
        }
    }

    /// The heartbeat, if it is steady enough to decide on.
    pub(super) fn steady(&self, now: Now) -> Option<&Heartbeat> {
        let steady = self.hearing(now) == Hearing::Heard && self.steady >= HEARTBEATS_STEADY;
        self.heartbeat.as_ref().filter(|_| steady)
    }

    /// The vehicle says that it finished this command.
    pub(super) fn finished(&self, command: &CommandId) -> bool {
        self.heartbeat.as_ref().is_some_and(|it| it.completions.contains(command))
    }
}

/// What is heard of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GatewayEar {
    pub(super) boot: u64,
    pub(super) message: u64,
    pub(super) messages_rejected: u64,
    pub(super) at: Mono,
    /// That it has grown silent is on the screen.
    pub(super) silence_shown: bool,
}

/// What is heard of a lift.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LiftEar {
    pub(super) reading: LiftReading,
    pub(super) at: Mono,
    pub(super) read_at: DateTime<Utc>,
}

impl LiftEar {
    /// The lift was read after this moment, by the age that the gateway told: a read from before that only arrived
    /// later is none.
    pub(super) fn read_after(&self, moment: Mono) -> bool {
        self.at > moment + self.reading.age_ms
    }
}
