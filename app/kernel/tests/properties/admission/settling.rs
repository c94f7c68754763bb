//! What reads and the wire say about the command in flight: unknown is not failed, and silence proves nothing.

use kernel::gateway::{Event, WriteResult};
use kernel::timing::{PLC_FROZEN, PLC_SETTLE};
use kernel::wire::gateway::{Connection, Verdict};

use super::model::{Doubt, Model};
use crate::fixture;

impl Model {
    /// How the PLC can be reached.
    pub(super) fn connection_now(&self) -> Connection {
        let frozen = self.connection == Connection::Up && self.ms - self.alive_at >= PLC_FROZEN.0;
        if frozen { Connection::Frozen } else { self.connection }
    }

    /// The gateway reads what the PLC shows now.
    pub(super) fn read(&mut self) {
        let shown = self.plc.shown.clone();
        self.event = Some(Event::Read { lift: fixture::lift("L1"), status: shown.clone() });
        self.reads.push(self.ms);
        let scan = |it: &kernel::lift::LiftStatus| (it.boot, it.heartbeat);
        let scanned = self.newest.as_ref().map(|(before, _)| scan(before)) != Some(scan(&shown));
        let since = *self.reads_since.get_or_insert(self.ms);
        let away = self.connection == Connection::Down && self.ms - since < PLC_SETTLE.0;
        if !away && self.connection != Connection::Up {
            self.connection = Connection::Up;
            self.alive_at = self.ms;
        }
        if scanned {
            self.alive_at = self.ms;
        }
        self.newest = Some((shown, self.ms));
        if self.connection_now() == Connection::Frozen {
            self.quiet_from(None);
        }
        self.judge(scanned);
    }

    /// The echo settles it. Without one, only a PLC that has scanned after a quiet time has certainly not taken it; and
    /// one that was started anew has forgotten its echo, so that then the lift must stand as before and rest.
    fn judge(&mut self, scanned: bool) {
        let Some(flight) = &self.durable.in_flight else { return };
        let shown = &self.plc.shown;
        let restarted = shown.boot != flight.plc_boot;
        let echoed = !restarted && shown.accepted == flight.number;
        let rests = shown.levelled && shown.accepted == shown.completed;
        let untouched = !restarted || rests && shown.expectation() == flight.expects;
        match self.doubt {
            Doubt::Awaiting(_) if restarted => self.begin_doubt(),
            Doubt::Awaiting(_) if echoed => self.settle(Verdict::Accepted),
            Doubt::Verifying(_) if echoed => self.settle(Verdict::Ran),
            Doubt::Verifying(Some(since)) if scanned && untouched && self.ms - since >= PLC_SETTLE.0 => {
                self.settle(Verdict::NotSent);
            }
            Doubt::Verifying(None) => self.quiet_from(Some(self.ms)),
            Doubt::Awaiting(_) | Doubt::Verifying(Some(_)) => {}
        }
    }

    pub(super) fn quiet_from(&mut self, since: Option<u64>) {
        if let Doubt::Verifying(quiet) = &mut self.doubt {
            *quiet = since;
        }
    }

    /// The wire reports on the last write, truly or not at all.
    pub(super) fn reported(&mut self, certain: bool) {
        let Some((number, reached)) = self.last_write else { return };
        let result = match (certain, reached) {
            (true, true) => WriteResult::Confirmed,
            (true, false) => WriteResult::NotSent,
            (false, _) => WriteResult::Unknown,
        };
        self.event = Some(Event::Written { lift: fixture::lift("L1"), number, result });
        let awaited = self.durable.in_flight.as_ref().is_some_and(|it| it.number == number);
        if !awaited || self.is_verifying() {
            return;
        }
        match result {
            WriteResult::Confirmed => {}
            WriteResult::NotSent => self.settle(Verdict::NotSent),
            WriteResult::Unknown => self.begin_doubt(),
        }
    }

    pub(super) fn begin_doubt(&mut self) {
        self.doubt = Doubt::Verifying(None);
        if let Some(flight) = self.durable.in_flight.clone() {
            self.tell(&flight.command, vec![Verdict::Unknown], false);
        }
    }

    fn settle(&mut self, verdict: Verdict) {
        let Some(flight) = self.durable.in_flight.take() else { return };
        self.durable.settled.insert(flight.command.clone(), verdict.clone());
        self.tell(&flight.command, vec![verdict], false);
    }
}
