//! The lease store of one process: the kernel's table behind a lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{
    CallAnswer, CallRequest, FencingToken, LeaseAnswer, LeaseNonce, LeaseRefusal, LeaseRequest, LeaseTable,
    LeaseTiming, SettledCall,
};
use kernel::time::{Millis, Mono};
use tokio::time::Instant;

use super::wakes::{Ear, Wakes, name_of};

/// A lease store of one process. Clones are the same store.
#[derive(Clone, Debug)]
pub struct InProcess {
    table: Arc<Mutex<LeaseTable>>,
    wakes: Wakes,
    timing: LeaseTiming,
    /// The table's clock counts from here.
    begun: Instant,
    /// It answers nobody: in drills alone.
    stopped: Arc<AtomicBool>,
}

impl InProcess {
    pub(super) fn new(timing: LeaseTiming) -> Self {
        let table = Arc::new(Mutex::new(LeaseTable::new(timing)));
        Self { table, wakes: Wakes::default(), timing, begun: Instant::now(), stopped: Arc::default() }
    }

    pub(super) fn timing(&self) -> LeaseTiming {
        self.timing
    }

    pub(super) fn listen(&self, request: &LeaseRequest) -> Ear {
        self.wakes.listen(name_of(&request.lift, &request.holder, request.nonce))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::Relaxed);
    }

    pub(super) fn forget(&self) {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).forget();
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
        if self.is_stopped() {
            return Err(LeaseRefusal::StoreDown);
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let changed =
            change(&mut table, Mono(u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)));
        while let Some(woken) = table.poll_woken() {
            self.wakes.wake(&name_of(&woken.lift, &woken.holder, woken.nonce), woken.token);
        }
        Ok(changed)
    }
}
