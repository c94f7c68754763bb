//! A radio as it is kept over a stop of the process.

use kernel::time::{Millis, Mono};
use serde::{Deserialize, Serialize};

use super::{Association, Cover, Radio};
use crate::rng::Rng;

/// The radio of one vehicle. Its cover is not kept: the vehicle's place tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptRadio {
    association: KeptAssociation,
    rng: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum KeptAssociation {
    Up,
    Dead,
    Returning { in_ms: Millis },
}

impl Radio {
    pub(crate) fn kept(&self, now: Mono) -> KeptRadio {
        let Self { cover: _, association, covered_at: _, rng } = self;
        let association = match association {
            Association::Up => KeptAssociation::Up,
            Association::Dead => KeptAssociation::Dead,
            Association::Returning { at } => KeptAssociation::Returning { in_ms: at.since(now) },
        };
        KeptRadio { association, rng: rng.state() }
    }

    pub(crate) fn thaw(cover: Cover, kept: &KeptRadio, now: Mono) -> Self {
        let association = match kept.association {
            KeptAssociation::Up => Association::Up,
            KeptAssociation::Dead => Association::Dead,
            KeptAssociation::Returning { in_ms } => Association::Returning { at: now + in_ms },
        };
        Self { cover, association, covered_at: None, rng: Rng::from_state(kept.rng) }
    }
}
