//! What a vehicle says: the reliable road keeps its reports, the fast road forgets.

use kernel::time::Mono;
use kernel::wire::vehicle::{
    COMPLETIONS_MAX, Heartbeat, Place, Progress, Telemetry, VehicleReport, WorkState,
};

use super::work::Work;
use super::{Position, VehicleEffect, VehicleMessage, VehicleModel};

/// Hundredths of a percent per second: work drains a full battery in under three hours, and vehicles charge where
/// they wait. It never runs empty, since no order charges a vehicle yet.
const DRAIN: u16 = 1;
const CHARGE: u16 = 2;
const BATTERY_FULL: u16 = 10_000;
const BATTERY_LOW: u16 = 500;

impl VehicleModel {
    pub(super) fn say_heartbeat(&mut self, now: Mono) {
        self.beat += 1;
        if !self.connected {
            return;
        }
        let heartbeat = Heartbeat {
            vehicle: self.id.clone(),
            boot: self.memory.boot(),
            beat: self.beat,
            work: self.work.as_ref().map_or(WorkState::Idle, Work::state),
            command: self.work.as_ref().map(|work| work.command().clone()),
            acknowledged: self.acknowledged,
            completions: self.completions.iter().cloned().collect(),
            window_floor: self.memory.window_floor(),
            link: self.memory.link(),
            link_open: self.link_open,
            place: self.place(now),
            load: self.load.clone(),
        };
        self.send(VehicleMessage::Heartbeat(Box::new(heartbeat)));
    }

    pub(super) fn say_telemetry(&mut self, now: Mono) {
        self.sample += 1;
        self.battery = match self.work {
            Some(_) => self.battery.saturating_sub(DRAIN).max(BATTERY_LOW),
            None => (self.battery + CHARGE).min(BATTERY_FULL),
        };
        let signal = self.measure();
        if !self.connected {
            return;
        }
        let telemetry = Telemetry {
            vehicle: self.id.clone(),
            boot: self.memory.boot(),
            sample: self.sample,
            place: self.place(now),
            battery_pct: u8::try_from(self.battery / 100).unwrap_or(100),
            rssi_dbm: signal.rssi_dbm,
            loss_pct: signal.loss_pct,
        };
        self.send(VehicleMessage::Telemetry(telemetry));
    }

    pub(super) fn say_progress(&mut self, work: &Work, progress: Progress) {
        self.report += 1;
        let report = VehicleReport {
            command: work.command().clone(),
            task: work.task().cloned(),
            vehicle: self.id.clone(),
            boot: self.memory.boot(),
            report: self.report,
            progress,
        };
        self.undelivered.push_back(report.clone());
        if self.connected {
            self.send(VehicleMessage::Report(report));
        }
    }

    pub(super) fn remember_completion(&mut self, work: &Work) {
        self.completions.push_front(work.command().clone());
        self.completions.truncate(COMPLETIONS_MAX);
    }

    /// Where it is at this moment, as far as its sensors say.
    pub fn place(&self, now: Mono) -> Place {
        let now = self.frozen.map_or(now, |(since, _)| since);
        if let Some(seen) = self.work.as_ref().and_then(Work::seen_at) {
            return seen;
        }
        match (&self.position, self.work.as_ref().and_then(Work::driving)) {
            (Position::InCar(lift), _) => Place::InCar { lift: lift.clone() },
            (Position::At(point), None) => Place::At { point: point.clone() },
            (Position::At(_), Some((from, to))) => Place::Between {
                from: from.clone(),
                to: to.clone(),
                progress_pct: self.work.as_ref().map_or(0, |work| work.progress_pct(now)),
            },
        }
    }

    fn send(&mut self, message: VehicleMessage) {
        self.effects.push_back(VehicleEffect::Send(message));
    }
}
