//! Troubles of the radio as they are kept over a stop of the process.

use kernel::ids::{FloorId, PointId, VehicleId};
use kernel::time::{Millis, Mono};
use serde::{Deserialize, Serialize};

use crate::vehicle::{RadioEffect, RadioPlace, RadioTrouble};

/// A trouble of the radio, for so long yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptRadioTrouble {
    place: KeptPlace,
    effect: KeptEffect,
    until_in_ms: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptPlace {
    Everywhere,
    Floor(FloorId),
    Points(Vec<PointId>),
    Vehicle(VehicleId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptEffect {
    Cut,
    Thin { loss_permille: u16 },
    Interference { loss_permille: u16 },
    Slow { by_ms: Millis },
}

impl KeptRadioTrouble {
    pub(super) fn of(trouble: &RadioTrouble, now: Mono) -> Self {
        let place = match trouble.place.clone() {
            RadioPlace::Everywhere => KeptPlace::Everywhere,
            RadioPlace::Floor(floor) => KeptPlace::Floor(floor),
            RadioPlace::Points(points) => KeptPlace::Points(points),
            RadioPlace::Vehicle(vehicle) => KeptPlace::Vehicle(vehicle),
        };
        let effect = match trouble.effect {
            RadioEffect::Cut => KeptEffect::Cut,
            RadioEffect::Thin { loss_permille } => KeptEffect::Thin { loss_permille },
            RadioEffect::Interference { loss_permille } => KeptEffect::Interference { loss_permille },
            RadioEffect::Slow { by_ms } => KeptEffect::Slow { by_ms },
        };
        Self { place, effect, until_in_ms: trouble.until.since(now) }
    }

    pub(super) fn thaw(self, now: Mono) -> RadioTrouble {
        let place = match self.place {
            KeptPlace::Everywhere => RadioPlace::Everywhere,
            KeptPlace::Floor(floor) => RadioPlace::Floor(floor),
            KeptPlace::Points(points) => RadioPlace::Points(points),
            KeptPlace::Vehicle(vehicle) => RadioPlace::Vehicle(vehicle),
        };
        let effect = match self.effect {
            KeptEffect::Cut => RadioEffect::Cut,
            KeptEffect::Thin { loss_permille } => RadioEffect::Thin { loss_permille },
            KeptEffect::Interference { loss_permille } => RadioEffect::Interference { loss_permille },
            KeptEffect::Slow { by_ms } => RadioEffect::Slow { by_ms },
        };
        RadioTrouble { place, effect, until: now + self.until_in_ms }
    }
}
