//! The lease store of one process: the kernel's table behind a lock.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    CallAnswer, CallRequest, FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal, LeaseRequest, LeaseTable,
    LeaseTiming, SettledCall, StoreLife,
};
use kernel::time::{Millis, Mono};
use tokio::time::Instant;

use super::wakes::{Ear, Wakes, name_of};

/// A copy is taken so often, where any is; one that takes over is as old as the last one.
const COPY_PERIOD: Millis = Millis::seconds(10);

/// What the table's clock shows when the store begins, so that it can be set back.
const BEGINNING_MS: u64 = 60 * 60 * 1000;

/// A lease store of one process. Clones are the same way to the same store.
#[derive(Clone, Debug)]
pub struct InProcess {
    kept: Arc<Mutex<Kept>>,
    wakes: Wakes,
    timing: LeaseTiming,
    /// The table's clock counts from here.
    begun: Instant,
    /// The table's clock is so much ahead: in drills alone.
    ahead_ms: Arc<AtomicI64>,
    /// It answers nobody: in drills alone.
    stopped: Arc<AtomicBool>,
    /// This way does not lead there: in drills alone.
    cut_off: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Kept {
    table: LeaseTable,
    /// How it stood, and when that was: in drills alone.
    copy: Option<(LeaseTable, Mono)>,
}

impl Kept {
    fn copy_when_due(&mut self, now: Mono) {
        if self.copy.as_ref().is_some_and(|(_, at)| now.since(*at) >= COPY_PERIOD) {
            self.copy = Some((self.table.clone(), now));
        }
    }
}

impl InProcess {
    pub(super) fn new(timing: LeaseTiming) -> Self {
        Self {
            kept: Arc::new(Mutex::new(Kept { table: LeaseTable::new(timing), copy: None })),
            wakes: Wakes::default(),
            timing,
            begun: Instant::now(),
            ahead_ms: Arc::default(),
            stopped: Arc::default(),
            cut_off: Arc::default(),
        }
    }

    /// Another way to the same store.
    pub(super) fn way(&self) -> Self {
        Self { cut_off: Arc::default(), ..self.clone() }
    }

    pub(super) fn timing(&self) -> LeaseTiming {
        self.timing
    }

    pub(super) fn listen(&self, request: &LeaseRequest) -> Ear {
        self.wakes.listen(name_of(&request.lift, &request.holder, request.nonce))
    }

    pub(super) fn is_away(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.cut_off.load(Ordering::Relaxed)
    }

    pub(super) fn set_cut_off(&self, cut_off: bool) {
        self.cut_off.store(cut_off, Ordering::Relaxed);
    }

    pub(super) fn set_clock(&self, ahead_ms: i64) {
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
    }

    /// From now on the store copies itself.
    pub(super) fn keep_copies(&self) {
        let mut kept = self.kept();
        if kept.copy.is_none() {
            kept.copy = Some((kept.table.clone(), self.now()));
        }
    }

    pub(super) fn promote_old_copy(&self) {
        let mut kept = self.kept();
        if let Some(copy) = kept.copy.as_ref().map(|(copy, _)| copy.clone()) {
            kept.table = copy;
            kept.table.take_over(new_life());
        }
    }

    pub(super) fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::Relaxed);
    }

    pub(super) fn forget(&self) {
        self.kept().table.forget(new_life());
    }

    pub(super) fn ask(&self, request: &LeaseRequest, stays: bool) -> Result<LeaseAnswer, LeaseRefusal> {
        self.with(|table, now| table.ask(request, stays, now))
    }

    pub(super) fn renew(
        &self,
        lift: &LiftId,
        asked: (&NodeId, LeaseNonce),
        token: FencingToken,
    ) -> Result<Millis, LeaseRefusal> {
        self.with(|table, now| table.renew(lift, asked, token, now))?
    }

    pub(super) fn open_call(
        &self,
        holder: &NodeId,
        request: &CallRequest,
    ) -> Result<CallAnswer, LeaseRefusal> {
        self.with(|table, now| table.open_call(holder, request, now))?
    }

    pub(super) fn settle_call(&self, lift: &LiftId, settled: &SettledCall) -> Result<(), LeaseRefusal> {
        self.with(|table, now| table.settle_call(lift, settled, now))
    }

    pub(super) fn release(
        &self,
        lift: &LiftId,
        asked: (&NodeId, LeaseNonce),
        token: FencingToken,
        settled: Option<&SettledCall>,
    ) -> Result<(), LeaseRefusal> {
        self.with(|table, now| {
            if let Some(settled) = settled {
                table.settle_call(lift, settled, now);
            }
            table.release(lift, asked, token, now)
        })?
    }

    fn with<T>(&self, change: impl FnOnce(&mut LeaseTable, Mono) -> T) -> Result<T, LeaseRefusal> {
        if self.is_away() {
            return Err(LeaseRefusal::StoreDown);
        }
        let (mut kept, now) = (self.kept(), self.now());
        kept.copy_when_due(now);
        let changed = change(&mut kept.table, now);
        while let Some(woken) = kept.table.poll_woken() {
            self.wakes.wake(&name_of(&woken.lift, &woken.holder, woken.nonce), woken.token);
        }
        Ok(changed)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Mono {
        let uptime_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Mono(
            uptime_ms
                .saturating_add(BEGINNING_MS)
                .saturating_add_signed(self.ahead_ms.load(Ordering::Relaxed)),
        )
    }
}

/// A name that no other life has. A new process needs none: its node's run is a new one.
fn new_life() -> StoreLife {
    StoreLife::try_new(&format!("{:016x}", super::by_chance())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kernel::lease::LeasePriority;

    use super::*;

    fn asked(node: &str, nonce: u64) -> LeaseRequest {
        let (lift, holder) = (LiftId::try_new("L1").unwrap(), NodeId::try_new(node).unwrap());
        LeaseRequest {
            lift,
            holder,
            nonce: LeaseNonce(nonce),
            epoch: 1,
            floor: 0,
            life: StoreLife::default(),
            priority: LeasePriority::default(),
        }
    }

    fn serial(answer: &Result<LeaseAnswer, LeaseRefusal>) -> Option<u64> {
        match answer {
            Ok(LeaseAnswer::Granted { token, .. }) => Some(token.serial),
            Ok(LeaseAnswer::Waits { .. } | LeaseAnswer::Refused { .. } | LeaseAnswer::Changed { .. })
            | Err(_) => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_copy_that_takes_over_grants_what_was_granted() {
        let store = InProcess::new(LeaseTiming::default());
        store.keep_copies();
        tokio::time::advance(Duration::from_millis(COPY_PERIOD.0)).await;
        assert_eq!(serial(&store.ask(&asked("A", 1), true)), Some(1));
        assert_eq!(serial(&store.ask(&asked("B", 1), true)), None, "A holds it");
        store.promote_old_copy();
        let changed = store.ask(&asked("B", 2), true);
        let Ok(LeaseAnswer::Changed { life }) = changed else { panic!("{changed:?}") };
        let named = LeaseRequest { life, ..asked("B", 2) };
        assert_eq!(serial(&store.ask(&named, true)), Some(1), "the copy is older than A's grant");
    }

    #[test]
    fn a_clock_that_is_set_ahead_ends_what_was_granted_and_one_that_is_set_back_does_not() {
        for (ahead_ms, expected) in [(60_000, Some(2)), (-60_000, None)] {
            let store = InProcess::new(LeaseTiming::default());
            assert_eq!(serial(&store.ask(&asked("A", 1), true)), Some(1));
            store.set_clock(ahead_ms);
            assert_eq!(serial(&store.ask(&asked("B", 1), true)), expected, "{ahead_ms}");
        }
    }

    #[test]
    fn one_way_is_cut_off_and_the_other_leads_to_the_same_store() {
        let store = InProcess::new(LeaseTiming::default());
        let (a, b) = (store.way(), store.way());
        a.set_cut_off(true);
        assert_eq!(a.ask(&asked("A", 1), true), Err(LeaseRefusal::StoreDown));
        assert_eq!((a.is_away(), b.is_away()), (true, false));
        assert_eq!(serial(&b.ask(&asked("B", 1), true)), Some(1));
        a.set_cut_off(false);
        assert_eq!(serial(&a.ask(&asked("A", 2), true)), None, "B holds it, and A sees that");
    }
}
