//! Who waits in this process, and how it is woken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::ids::{LiftId, NodeId};
use kernel::lease::LeaseNonce;
use tokio::sync::Notify;

/// The waiters of one store. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Wakes {
    waiting: Arc<Mutex<BTreeMap<String, Arc<Notify>>>>,
}

/// By which one waiter is woken, as long as it lives.
pub(super) struct Ear {
    wakes: Wakes,
    name: String,
    notify: Arc<Notify>,
}

/// The key of a lift's lease. The braces make all keys of a lift live on one node of a cluster.
pub(super) fn lease_key(lift: &str) -> String {
    format!("agv:lift:control:{{{lift}}}")
}

/// How a wake-up names the request that it is for.
pub(super) fn name_of(lift: &LiftId, holder: &NodeId, nonce: LeaseNonce) -> String {
    format!("{} {holder} {}", lease_key(lift.as_str()), nonce.0)
}

impl Wakes {
    /// Listens from now on: a wake-up before the first [`Ear::heard`] is not lost.
    pub(super) fn listen(&self, name: String) -> Ear {
        let notify = Arc::clone(self.waiting().entry(name.clone()).or_default());
        Ear { wakes: self.clone(), name, notify }
    }

    /// Wakes whoever waits by this name here.
    pub(super) fn wake(&self, name: &str) {
        if let Some(notify) = self.waiting().get(name) {
            notify.notify_one();
        }
    }

    /// Wakes everybody, to look again: wake-ups may have been missed.
    pub(super) fn wake_all(&self) {
        self.waiting().values().for_each(|it| it.notify_one());
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Notify>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear {
    /// Waits for a wake-up.
    pub(super) async fn heard(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut waiting = self.wakes.waiting();
        // One in the table, one here: nobody else listens by this name.
        if Arc::strong_count(&self.notify) == 2 {
            waiting.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wake_up_before_the_wait_is_not_lost_and_who_left_is_forgotten() {
        let wakes = Wakes::default();
        let (one, same, other) =
            (wakes.listen("a".to_owned()), wakes.listen("a".to_owned()), wakes.listen("b".to_owned()));
        wakes.wake("a");
        wakes.wake("nobody");
        one.heard().await;
        wakes.wake_all();
        drop(one);
        same.heard().await;
        other.heard().await;
        drop((same, other));
        assert!(wakes.waiting().is_empty());
    }
}
