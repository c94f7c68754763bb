//! What reaches a vehicle: at once, or, while its controller stands still, when it goes on.
//!
//! Frames wait in the socket of a program that does not run. They keep their order, and are read only after the timers
//! have looked at the clock: a beat that waited says nothing about the time in which nobody was heard.

use kernel::time::Mono;
use kernel::wire::vehicle::VehicleCommand;

use super::{VehicleEffect, VehicleMessage, VehicleModel};

/// So much waits for a controller that stands still, like a socket's buffer: the beats of eight nodes over the longest
/// standstill. What comes beyond it is lost; a session that begins or ends takes a full buffer with it.
pub(super) const WAITING_MAX: usize = 256;

/// Something that reached the vehicle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    Command(Box<VehicleCommand>),
    Beat,
    Connected,
    Disconnected,
    Delivered(u64),
}

impl VehicleModel {
    /// Takes a command, or says why not. Without radio it cannot have arrived, and is not heard.
    pub fn command(&mut self, command: &VehicleCommand, now: Mono) {
        if !self.waits(|| Arrival::Command(Box::new(command.clone()))) {
            self.hear_command(command, now);
        }
    }

    /// Its session with the broker stands. The link stays closed until it is opened anew, and what the broker does
    /// not have yet is said again. Without radio this is an echo from before, and ignored.
    pub fn connect(&mut self) {
        if self.waits(|| Arrival::Connected) || !self.radio.is_up() {
            return;
        }
        self.connected = true;
        self.link_open = false;
        for report in self.undelivered.clone() {
            self.effects.push_back(VehicleEffect::Send(VehicleMessage::Report(report)));
        }
    }

    /// Its session broke.
    pub fn disconnect(&mut self) {
        if !self.waits(|| Arrival::Disconnected) {
            self.connected = false;
        }
    }

    /// A control node lives.
    pub fn hear_beat(&mut self, now: Mono) {
        if !self.waits(|| Arrival::Beat) && self.connected {
            self.beat_heard = now;
        }
    }

    /// The broker has the report with this number of this boot.
    pub fn deliver(&mut self, report: u64) {
        if !self.waits(|| Arrival::Delivered(report)) {
            self.undelivered.retain(|it| it.report != report);
        }
    }

    /// Reads what waited, in the order in which it came.
    pub(super) fn read_what_waited(&mut self, now: Mono) {
        while let Some(arrival) = self.waiting.pop_front() {
            match arrival {
                Arrival::Command(command) => self.command(&command, now),
                Arrival::Beat => self.hear_beat(now),
                Arrival::Connected => self.connect(),
                Arrival::Disconnected => self.disconnect(),
                Arrival::Delivered(report) => self.deliver(report),
            }
        }
    }

    /// Whether this has to wait, and does.
    fn waits(&mut self, arrival: impl FnOnce() -> Arrival) -> bool {
        if self.frozen.is_none() {
            return false;
        }
        let arrival = arrival();
        let of_session = matches!(arrival, Arrival::Connected | Arrival::Disconnected);
        if self.waiting.len() >= WAITING_MAX && of_session {
            self.waiting.clear();
        }
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(arrival);
        }
        true
    }
}
