//! Who decides between nodes at a lift: by the beats that its gateway was handed, and by what it wrote.

use std::collections::BTreeMap;

use kernel::ids::{GatewayId, LiftId};
use kernel::time::{Millis, Mono};
use kernel::timing::{NODE_SILENT_AFTER, STORE_OUTAGE, STORE_STEADY};
use kernel::wire::gateway::{Arbitration, Authority, ControlBeat};

/// Clocks and roads are known to so much.
const SLACK: Millis = Millis(100);

/// What gateways were told, and what they made of it.
#[derive(Clone, Debug, Default)]
pub(super) struct ArbiterWatch {
    heard: BTreeMap<GatewayId, Heard>,
    stands: BTreeMap<LiftId, (Arbitration, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Heard {
    first: Option<Mono>,
    /// A node said that it does not reach the store, or that it does or may.
    dark: Option<Mono>,
    light: Option<Mono>,
    stored: BTreeMap<LiftId, u32>,
}

impl ArbiterWatch {
    pub(super) fn heard(&mut self, now: Mono, gateway: &GatewayId, beat: &ControlBeat) {
        let heard = self.heard.entry(gateway.clone()).or_default();
        heard.first.get_or_insert(now);
        match beat.reaches_store {
            Some(false) => heard.dark = Some(now),
            Some(true) | None => heard.light = Some(now),
        }
        heard.stored.extend(beat.epochs.iter().map(|it| (it.lift.clone(), it.epoch)));
    }

    /// A gateway keeps this of a lift from now on; what is wrong with that.
    pub(super) fn stands(
        &mut self,
        now: Mono,
        gateway: &GatewayId,
        lift: &LiftId,
        (next, epoch): (Arbitration, u32),
    ) -> Option<String> {
        let before = self.stands.insert(lift.clone(), (next, epoch));
        let (last, last_epoch) = before.unwrap_or((Arbitration::Lease, epoch));
        if last == next {
            return (epoch != last_epoch).then(|| format!("{lift}: epoch {epoch} without a switch"));
        }
        let heard = self.heard.entry(gateway.clone()).or_default();
        let since = |moment: Option<Mono>| now.since(moment.unwrap_or(Mono(0))) + SLACK;
        let wrong = match (last, next) {
            (_, Arbitration::Edge) if epoch <= last_epoch => Some("under the old epoch"),
            (_, Arbitration::Edge) if since(heard.dark) > NODE_SILENT_AFTER + SLACK.times(2) => {
                Some("with no node in the dark")
            }
            (_, Arbitration::Edge) if since(heard.light.or(heard.first)) < STORE_OUTAGE => {
                Some("while a node reaches the store")
            }
            (Arbitration::Edge, Arbitration::Returning) if epoch <= last_epoch => Some("under the old epoch"),
            (Arbitration::Edge, Arbitration::Returning) if since(heard.first) < STORE_STEADY => {
                Some("too soon")
            }
            (Arbitration::Edge, Arbitration::Lease) => Some("with an epoch that the store never had"),
            (_, Arbitration::Lease) if heard.stored.get(lift) != Some(&epoch) => {
                Some("with an epoch that the store never had")
            }
            (Arbitration::Lease, Arbitration::Returning) => Some("out of nothing"),
            (Arbitration::Lease | Arbitration::Edge | Arbitration::Returning, _) => None,
        };
        wrong.map(|why| format!("{lift} goes from {last:?} to {next:?} {why}"))
    }
}

/// Why a command is not to be written under this arbitration.
pub(super) fn is_foreign(authority: Authority, (arbitration, epoch): (Arbitration, u32)) -> Option<String> {
    let fits = match (authority, arbitration) {
        (Authority::Lease { token, .. }, Arbitration::Lease) => token.epoch == epoch,
        (Authority::Edge { epoch: of }, Arbitration::Edge) => of == epoch,
        (Authority::Lease { .. } | Authority::Edge { .. }, _) => false,
    };
    (!fits).then(|| format!("is by {authority:?} and written under {arbitration:?} {epoch}"))
}
