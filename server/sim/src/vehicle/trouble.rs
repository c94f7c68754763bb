//! What goes wrong at a vehicle: its radio by place, and its own controller.

use kernel::ids::{FloorId, PointId, VehicleId};
use kernel::time::{Millis, Mono};

use super::{Position, VehicleEffect, VehicleModel};
use crate::radio::Cover;

/// Lost of a thousand frames, where nothing is wrong: 0.1 % in the hall, as the second field report has it.
const LOSS_NORMAL_PERMILLE: u16 = 1;
/// Before lift doors: half of what was seen at its worst there, 30 % and more, is called broken; a tenth of that is usual.
const LOSS_WEAK_PERMILLE: u16 = 50;

/// A broker gives a connection up after one and a half keep-alives of 20 s.
pub const FROZEN_MAX: Millis = Millis::seconds(29);

/// Where the radio is troubled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RadioPlace {
    /// All over the site.
    Everywhere,
    /// On one floor.
    Floor(FloorId),
    /// At these points and on the ways from them.
    Points(Vec<PointId>),
    /// Wherever this vehicle is.
    Vehicle(VehicleId),
}

/// What the radio suffers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioEffect {
    /// Nothing passes: a tunnel, a blind spot, an access point that is down.
    Cut,
    /// Frames are lost and the signal is weak.
    Thin {
        /// Lost of a thousand.
        loss_permille: u16,
    },
    /// Frames are lost although the signal is strong: two access points on one channel.
    Interference {
        /// Lost of a thousand.
        loss_permille: u16,
    },
    /// Frames come late.
    Slow {
        /// One way.
        by_ms: Millis,
    },
}

/// A trouble of the radio, until a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadioTrouble {
    /// Where.
    pub place: RadioPlace,
    /// What.
    pub effect: RadioEffect,
    /// Until when.
    pub until: Mono,
}

/// What a frame to or from a vehicle meets at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioRoad {
    /// Lost of a thousand frames.
    pub loss_permille: u16,
    /// Frames come later by so much.
    pub delay: Millis,
}

impl VehicleModel {
    /// The radio is troubled somewhere from now on.
    pub fn trouble_radio(&mut self, trouble: RadioTrouble, now: Mono) {
        self.radio_troubles.push(trouble);
        self.tune_radio(now);
    }

    /// A trouble of the radio is over before its time.
    pub fn mend_radio(&mut self, place: &RadioPlace, effect: RadioEffect, now: Mono) {
        self.radio_troubles.retain(|it| it.place != *place || it.effect != effect);
        self.tune_radio(now);
    }

    /// What its car sensor sees shows late for a while: that it is in the car, or out of it.
    pub fn trouble_sensor(&mut self, by_ms: Millis, until: Mono) {
        self.sensor_late = Some((by_ms, until));
    }

    /// By how much its car sensor is late now.
    pub(super) fn sensor_lag(&self) -> Option<Millis> {
        self.sensor_late.map(|(by_ms, _)| by_ms)
    }

    /// The controller stands still until a moment, and the vehicle with it. What reaches it waits until it goes on.
    pub fn freeze(&mut self, until: Mono, now: Mono) {
        let (since, before) = self.frozen.unwrap_or((now, until));
        self.frozen = Some((since, before.max(until)));
    }

    /// Until when the controller stands still, if it does.
    pub fn stands_still_until(&self) -> Option<Mono> {
        self.frozen.map(|(_, until)| until)
    }

    /// Whether the controller runs; one that goes on now finds its work as it left it, says where it is, and by its
    /// clock has heard nobody meanwhile.
    pub(super) fn is_awake(&mut self, now: Mono) -> bool {
        if let Some((since, until)) = self.frozen.take_if(|(_, until)| *until <= now) {
            if let Some(work) = &mut self.work {
                work.rest(since, until);
            }
            self.heartbeat_due = self.heartbeat_due.max(until);
            self.telemetry_due = self.telemetry_due.max(until);
        }
        self.frozen.is_none()
    }

    /// The controller starts again. It stands where it stood; its memory is kept, the work in hand is not.
    pub fn restart(&mut self, now: Mono) {
        self.memory = std::mem::take(&mut self.memory).started();
        self.frozen = None;
        self.waiting.clear();
        self.settle_where_it_stands();
        self.completions.clear();
        self.undelivered.clear();
        (self.link_open, self.connected) = (false, false);
        (self.beat, self.sample, self.report, self.acknowledged) = (0, 0, 0, 0);
        if self.radio.restart(now) {
            self.effects.push_back(VehicleEffect::Radio { up: false });
        }
        self.tune_radio(now);
    }

    /// A controller that stands still goes on before its time.
    pub fn go_on(&mut self, now: Mono) {
        if let Some((_, until)) = &mut self.frozen {
            *until = (*until).min(now);
        }
    }

    /// What a frame to or from it meets where it is.
    pub fn radio_road(&self) -> RadioRoad {
        let loss_permille = match self.cover() {
            Cover::Normal => LOSS_NORMAL_PERMILLE,
            Cover::Weak => LOSS_WEAK_PERMILLE,
            Cover::Dead => 1000,
        };
        let troubled = self.troubled_road();
        RadioRoad { loss_permille: loss_permille.max(troubled.loss_permille), ..troubled }
    }

    /// What troubles of the radio alone do to a frame where it is; nothing when there is none.
    pub fn troubled_road(&self) -> RadioRoad {
        let mut road = RadioRoad::default();
        for trouble in self.radio_troubles.iter().filter(|it| self.is_in(&it.place)) {
            match trouble.effect {
                RadioEffect::Cut => road.loss_permille = 1000,
                RadioEffect::Thin { loss_permille } | RadioEffect::Interference { loss_permille } => {
                    road.loss_permille = road.loss_permille.max(loss_permille);
                }
                RadioEffect::Slow { by_ms } => road.delay = road.delay.max(by_ms),
            }
        }
        road
    }

    pub(super) fn radio_trouble_ends(&self) -> Option<Mono> {
        self.radio_troubles.iter().map(|it| it.until).min()
    }

    pub(super) fn end_radio_troubles(&mut self, now: Mono) {
        let before = self.radio_troubles.len();
        self.radio_troubles.retain(|it| it.until > now);
        if self.radio_troubles.len() != before {
            self.tune_radio(now);
        }
    }

    pub(super) fn is_cut_off(&self) -> bool {
        self.radio_troubles.iter().any(|it| it.effect == RadioEffect::Cut && self.is_in(&it.place))
    }

    pub(super) fn interference(&self) -> Option<(i16, u8)> {
        self.radio_troubles.iter().filter(|it| self.is_in(&it.place)).find_map(|it| match it.effect {
            RadioEffect::Thin { loss_permille } => Some((-85, percent(loss_permille))),
            RadioEffect::Interference { loss_permille } => Some((-50, percent(loss_permille))),
            RadioEffect::Cut | RadioEffect::Slow { .. } => None,
        })
    }

    fn is_in(&self, place: &RadioPlace) -> bool {
        match place {
            RadioPlace::Everywhere => true,
            RadioPlace::Vehicle(vehicle) => *vehicle == self.id,
            RadioPlace::Floor(floor) => match &self.position {
                Position::At(point) => self.ways.floor_of(point) == Some(floor),
                Position::InCar(_) => false,
            },
            RadioPlace::Points(points) => match &self.position {
                Position::At(point) => points.contains(point),
                Position::InCar(_) => false,
            },
        }
    }
}

fn percent(permille: u16) -> u8 {
    u8::try_from(permille / 10).unwrap_or(100).min(100)
}
