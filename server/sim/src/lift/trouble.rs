//! What goes wrong at a lift: nothing of it is the fault of who commands it.

use kernel::lift::LiftMode;
use kernel::time::{Millis, Mono};

use super::{DoorMove, LiftModel, Travel};

/// How a PLC treats commands that reach it within one scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intake {
    /// The last one replaces those before.
    #[default]
    Overwrites,
    /// Each is taken in turn, one in a scan.
    Queues,
}

/// Something that goes wrong at a lift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiftTrouble {
    /// The door does not move.
    DoorStuck {
        /// For so long.
        for_ms: Millis,
    },
    /// Something stands on the sill, and it is no vehicle.
    SillBlocked {
        /// For so long.
        for_ms: Millis,
    },
    /// The PLC does not scan: its registers stand still, and what is written waits in them.
    Frozen {
        /// For so long.
        for_ms: Millis,
    },
    /// Each scan takes longer.
    Slow {
        /// How many times as long.
        factor: u8,
        /// For so long.
        for_ms: Millis,
    },
    /// A key switch, the fire service or an emergency button takes the lift from its vehicles. What it had in hand
    /// is dropped.
    Mode {
        /// Which mode.
        mode: LiftMode,
        /// For so long; then it serves vehicles again.
        for_ms: Millis,
    },
    /// The PLC starts again.
    Rebooted,
    /// Somebody in the hall calls the car.
    CalledByPeople {
        /// To which stop, from 1 at the lowest.
        stop: u16,
    },
    /// What its occupancy sensor sees shows late.
    SensorLate {
        /// By so much.
        by_ms: Millis,
        /// For so long.
        for_ms: Millis,
    },
    /// Its occupancy sensor shows an empty car, whoever is in it.
    SensorBlind {
        /// For so long.
        for_ms: Millis,
    },
}

/// Troubles that stand, each until a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Troubles {
    pub(super) stuck_until: Option<Mono>,
    pub(super) blocked_until: Option<Mono>,
    pub(super) frozen_until: Option<Mono>,
    pub(super) slow: Option<(u8, Mono)>,
    pub(super) mode_until: Option<Mono>,
    pub(super) late: Option<(Millis, Mono)>,
    /// What the late sensor sees, since when, and what it shows.
    pub(super) seen: (bool, Mono),
    pub(super) shown: bool,
}

impl LiftModel {
    /// Lets something go wrong, at any moment.
    pub fn trouble(&mut self, trouble: &LiftTrouble, now: Mono) {
        match trouble {
            LiftTrouble::DoorStuck { for_ms } => self.troubles.stuck_until = Some(now + *for_ms),
            LiftTrouble::SillBlocked { for_ms } => self.troubles.blocked_until = Some(now + *for_ms),
            LiftTrouble::Frozen { for_ms } => self.troubles.frozen_until = Some(now + *for_ms),
            LiftTrouble::Slow { factor, for_ms } => {
                self.troubles.slow = Some(((*factor).max(1), now + *for_ms));
            }
            LiftTrouble::Mode { mode, for_ms } => {
                self.troubles.mode_until = Some(now + *for_ms);
                self.leave_vehicle_mode(*mode);
            }
            LiftTrouble::Rebooted => self.reboot(),
            LiftTrouble::CalledByPeople { stop } => self.call_by_people(*stop),
            LiftTrouble::SensorLate { by_ms, for_ms } => {
                let occupied = self.vehicles > 0;
                self.troubles.late = Some((*by_ms, now + *for_ms));
                self.troubles.seen = (occupied, now);
                self.troubles.shown = occupied;
            }
            LiftTrouble::SensorBlind { for_ms } => {
                // A sensor that shows an empty car, and shows the next change only when all is over.
                self.troubles.late = Some((*for_ms, now + *for_ms));
                self.troubles.seen = (self.vehicles > 0, now);
                self.troubles.shown = false;
            }
        }
    }

    /// People have looked and turned the key: it serves vehicles again, with nothing in hand.
    pub fn reset(&mut self) {
        self.mode = LiftMode::Vehicle;
        self.fault = 0;
        self.completed = self.accepted;
        self.troubles.mode_until = None;
    }

    pub(super) fn occupied(&self) -> bool {
        if self.troubles.late.is_some() { self.troubles.shown } else { self.vehicles > 0 }
    }

    /// Ends what is over and moves the late sensor on. True when the PLC does not scan.
    pub(super) fn suffer(&mut self, now: Mono) -> bool {
        let over = |until: &mut Option<Mono>| until.take_if(|it| *it <= now).is_some();
        over(&mut self.troubles.stuck_until);
        over(&mut self.troubles.blocked_until);
        over(&mut self.troubles.frozen_until);
        self.troubles.slow.take_if(|(_, until)| *until <= now);
        if over(&mut self.troubles.mode_until) {
            self.reset();
        }
        self.troubles.late.take_if(|(_, until)| *until <= now);
        if let Some((by, _)) = self.troubles.late {
            let occupied = self.vehicles > 0;
            if self.troubles.seen.0 != occupied {
                self.troubles.seen = (occupied, now);
            }
            if now.since(self.troubles.seen.1) >= by {
                self.troubles.shown = self.troubles.seen.0;
            }
        }
        self.troubles.frozen_until.is_some()
    }

    /// Who may move the car now: commands in vehicle mode, keys and calls in the modes of people.
    pub(super) fn may_move(&self) -> bool {
        match self.mode {
            LiftMode::Vehicle | LiftMode::Human | LiftMode::Fire => true,
            LiftMode::Maintenance | LiftMode::Emergency => false,
        }
    }

    fn leave_vehicle_mode(&mut self, mode: LiftMode) {
        self.mode = mode;
        self.halt();
        if mode == LiftMode::Fire {
            // The fire service's recall: down to the lowest stop, and open.
            self.travel = Some(Travel { number: None, stop: 0 });
            self.door_move = Some(DoorMove { number: None, open: true, stop: 0 });
        }
    }

    fn call_by_people(&mut self, stop: u16) {
        let stop = usize::from(stop).wrapping_sub(1);
        if stop < self.floors.len() && self.may_move() && self.travel.is_none() {
            self.counters.called_by_people += 1;
            self.travel = Some(Travel { number: None, stop });
        }
    }
}
