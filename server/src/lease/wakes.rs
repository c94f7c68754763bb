//! Who waits in this process, and how it is woken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::ids::{LiftId, NodeId};
use kernel::lease::{FencingToken, LeaseNonce};
use tokio::sync::Notify;

/// The waiters of one store. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Wakes {
    waiting: Arc<Mutex<BTreeMap<String, Arc<Bell>>>>,
}

/// What one waiter hears.
#[derive(Debug, Default)]
struct Bell {
    rings: Notify,
    /// The grant that came with the wake-up.
    granted: Mutex<Option<FencingToken>>,
}

/// By which one waiter is woken, as long as it lives.
pub(super) struct Ear {
    wakes: Wakes,
    name: String,
    bell: Arc<Bell>,
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
        let bell = Arc::clone(self.waiting().entry(name.clone()).or_default());
        Ear { wakes: self.clone(), name, bell }
    }

    /// Wakes whoever waits by this name here, and tells it what it was granted.
    pub(super) fn wake(&self, name: &str, granted: FencingToken) {
        if let Some(bell) = self.waiting().get(name) {
            *bell.granted.lock().unwrap_or_else(PoisonError::into_inner) = Some(granted);
            bell.rings.notify_one();
        }
    }

    /// Wakes by a message of the store: epoch, serial, and the name. One of another form wakes nobody.
    pub(super) fn wake_by(&self, message: &str) {
        let mut parts = message.splitn(3, ' ');
        let mut number = || parts.next()?.parse::<u64>().ok();
        if let (Some(epoch), Some(serial)) = (number().and_then(|it| u32::try_from(it).ok()), number())
            && let Some(name) = parts.next()
        {
            self.wake(name, FencingToken { epoch, serial });
        }
    }

    /// Wakes everybody, to look again: wake-ups may have been missed.
    pub(super) fn wake_all(&self) {
        self.waiting().values().for_each(|it| it.rings.notify_one());
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Bell>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear {
    /// What was granted before now is not news: whoever asks after it hears how it stands.
    pub(super) fn forget(&self) {
        self.bell.granted.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits for a wake-up; gives what was granted by it, if it says.
    pub(super) async fn heard(&self) -> Option<FencingToken> {
        self.bell.rings.notified().await;
        self.bell.granted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut waiting = self.wakes.waiting();
        // One in the table, one here: nobody else listens by this name.
        if Arc::strong_count(&self.bell) == 2 {
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
            (wakes.listen("a b".to_owned()), wakes.listen("a b".to_owned()), wakes.listen("c".to_owned()));
        let granted = FencingToken { epoch: 3, serial: 1 << 60 };
        for message in ["3 1152921504606846976 nobody", "-1 4 a b", "3 x a b", "4294967296 4 a b", "3 4", ""]
        {
            wakes.wake_by(message);
        }
        wakes.wake_by("3 1152921504606846976 a b");
        assert_eq!(one.heard().await, Some(granted));
        wakes.wake("a b", granted);
        one.forget();
        assert_eq!(one.heard().await, None, "a grant from before the last question is not believed");
        wakes.wake_all();
        drop(one);
        assert_eq!((same.heard().await, other.heard().await), (None, None));
        drop((same, other));
        assert!(wakes.waiting().is_empty());
    }
}
