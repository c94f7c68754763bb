//! Radio by place: what a vehicle hears where it stands.

mod kept;

use kernel::time::{Millis, Mono};

pub(crate) use kept::KeptRadio;

use crate::rng::Rng;

/// How well a place is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cover {
    /// Free hall.
    Normal,
    /// Before lift doors.
    Weak,
    /// A blind zone, or a car whose door is not open.
    Dead,
}

/// Signal as the vehicle measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Strength.
    pub rssi_dbm: i16,
    /// Lost of the last hundred frames.
    pub loss_pct: u8,
}

/// Reading of a receiver without any access point.
const DEAD: Signal = Signal { rssi_dbm: -95, loss_pct: 100 };
/// Readings swing this much to both sides.
const RSSI_SWING_DB: i16 = 3;
/// Association and address after the radio was dead: 1 to 3 s.
const REASSOCIATION_MS: std::ops::RangeInclusive<u64> = 1000..=3000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Association {
    Up,
    Dead,
    Returning { at: Mono },
}

/// The radio of one vehicle.
#[derive(Clone, Debug)]
pub struct Radio {
    cover: Cover,
    association: Association,
    /// When the place was last covered again.
    covered_at: Option<Mono>,
    rng: Rng,
}

impl Radio {
    /// A radio that is associated, unless its place is dead.
    pub fn new(cover: Cover, rng: Rng) -> Self {
        let association = if cover == Cover::Dead { Association::Dead } else { Association::Up };
        Self { cover, association, covered_at: None, rng }
    }

    /// When the radio last came back to a covered place; it is up some seconds later.
    pub fn covered_at(&self) -> Option<Mono> {
        self.covered_at
    }

    /// Whether frames pass.
    pub fn is_up(&self) -> bool {
        self.association == Association::Up
    }

    /// The vehicle came to a place with this cover. Says whether the radio came or went by that.
    pub fn enter(&mut self, cover: Cover, now: Mono) -> Option<bool> {
        self.cover = cover;
        match (cover, self.association) {
            (Cover::Dead, Association::Dead) => None,
            (Cover::Dead, Association::Up) => {
                self.association = Association::Dead;
                Some(false)
            }
            (Cover::Dead, Association::Returning { .. }) => {
                self.association = Association::Dead;
                None
            }
            (Cover::Normal | Cover::Weak, Association::Dead) => {
                let wait = Millis(self.rng.within(REASSOCIATION_MS));
                self.association = Association::Returning { at: now + wait };
                self.covered_at = Some(now);
                None
            }
            (Cover::Normal | Cover::Weak, Association::Up | Association::Returning { .. }) => None,
        }
    }

    /// Its controller starts again: it has to find its access point anew. Says whether it was up.
    pub fn restart(&mut self, now: Mono) -> bool {
        let was_up = self.is_up();
        self.association = match self.cover {
            Cover::Dead => Association::Dead,
            Cover::Normal | Cover::Weak => {
                Association::Returning { at: now + Millis(self.rng.within(REASSOCIATION_MS)) }
            }
        };
        was_up
    }

    /// When the radio is back, while it returns.
    pub fn returns_at(&self) -> Option<Mono> {
        match self.association {
            Association::Returning { at } => Some(at),
            Association::Up | Association::Dead => None,
        }
    }

    /// Completes a return that is due; says whether it did.
    pub fn step(&mut self, now: Mono) -> bool {
        let due = self.returns_at().is_some_and(|at| at <= now);
        if due {
            self.association = Association::Up;
        }
        due
    }

    /// A measurement.
    pub fn measure(&mut self) -> Signal {
        // Typical values and loss per thousand frames: 0.1 % in the hall; 5 % before the doors, where the report
        // saw the signal sink from −55 towards −90 dBm.
        let (typical_dbm, loss_permille) = match self.cover {
            Cover::Normal => (-55, 1),
            Cover::Weak => (-78, 50),
            Cover::Dead => return DEAD,
        };
        let swing = i16::try_from(self.rng.within(0..=6)).unwrap_or_default() - RSSI_SWING_DB;
        // The fraction of a percent shows as one lost frame in some of the readings.
        let extra = u64::from(self.rng.within(0..=9) < loss_permille % 10);
        let loss_pct = u8::try_from(loss_permille / 10 + extra).unwrap_or(100);
        Signal { rssi_dbm: typical_dbm + swing, loss_pct }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_place_cuts_at_once_and_the_way_back_takes_1_to_3_s() {
        for seed in 0..50 {
            let mut radio = Radio::new(Cover::Weak, Rng::new(seed, "V01"));
            assert_eq!(radio.enter(Cover::Dead, Mono(10)), Some(false));
            assert!(!radio.is_up());
            assert_eq!(radio.enter(Cover::Weak, Mono(100)), None);
            let back = radio.returns_at().expect("on its way back");
            assert!((1100..=3100).contains(&back.0), "{back:?}");
            assert!(!radio.step(Mono(back.0 - 1)) && !radio.is_up());
            assert!(radio.step(back) && radio.is_up());
        }
    }

    #[test]
    fn a_new_dead_place_ends_the_way_back() {
        let mut radio = Radio::new(Cover::Dead, Rng::new(1, "V01"));
        assert!(!radio.is_up());
        radio.enter(Cover::Normal, Mono(0));
        radio.enter(Cover::Dead, Mono(500));
        assert!(!radio.step(Mono(60_000)));
    }

    #[test]
    fn readings_follow_the_place() {
        let rows = [
            (Cover::Normal, -58..=-52, 0..=1),
            (Cover::Weak, -81..=-75, 5..=5),
            (Cover::Dead, -95..=-95, 100..=100),
        ];
        for (cover, rssi_dbm, loss_pct) in rows {
            let mut radio = Radio::new(cover, Rng::new(3, "V01"));
            for _ in 0..100 {
                let signal = radio.measure();
                assert!(rssi_dbm.contains(&signal.rssi_dbm), "{cover:?} {signal:?}");
                assert!(loss_pct.contains(&signal.loss_pct), "{cover:?} {signal:?}");
            }
        }
    }
}
