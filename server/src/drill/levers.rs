//! What a control node of a drill run looks at while it works, so that it can be made to stand still or be left alone.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::SqliteConnection;
use tokio::sync::watch;

use super::roads::Roads;
use crate::lease::LeaseStore;
use crate::store;

/// The levers of one demonstration. They outlive its control node, which may die and be started again.
#[derive(Clone, Debug, Default)]
pub struct Levers {
    /// What messages suffer.
    pub roads: Roads,
    /// Whether the control loop stands still.
    pub pause: Pause,
    /// How the lease store fails.
    pub leases: LeaseLever,
}

/// Lets a loop stand still.
#[derive(Clone, Debug)]
pub struct Pause {
    stands: Arc<watch::Sender<bool>>,
}

impl Default for Pause {
    fn default() -> Self {
        Self { stands: Arc::new(watch::Sender::new(false)) }
    }
}

impl Pause {
    /// The loop stands still from now on, or goes on.
    pub fn set(&self, stands: bool) {
        self.stands.send_replace(stands);
    }

    /// Waits while the loop has to stand still.
    pub async fn wait(&self) {
        // The sender lives as long as this value, so it cannot fail.
        _ = self.stands.subscribe().wait_for(|stands| !stands).await;
    }
}

/// Lets the lease store of a node fail; the store is another after each start of the node.
#[derive(Clone, Debug, Default)]
pub struct LeaseLever {
    state: Arc<Mutex<(bool, Option<LeaseStore>)>>,
}

impl LeaseLever {
    /// A node has started with this store.
    pub fn attach(&self, leases: &LeaseStore) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        leases.set_stopped(state.0);
        state.1 = Some(leases.clone());
    }

    /// The store answers nobody from now on, or answers again.
    pub fn set_stopped(&self, stopped: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = stopped;
        if let Some(leases) = &state.1 {
            leases.set_stopped(stopped);
        }
    }

    /// The store forgets everything.
    pub fn forget(&self) {
        if let Some(leases) = &self.state.lock().unwrap_or_else(PoisonError::into_inner).1 {
            leases.forget();
        }
    }
}

/// Holds the ledger's file, so that nobody else can write it; it is free again when the value is dropped.
pub struct LedgerHeld {
    _writes: SqliteConnection,
}

impl LedgerHeld {
    /// Takes the place of the one writer.
    ///
    /// # Errors
    /// The file cannot be opened, or the writer does not let go of it.
    pub async fn take(file: &Path) -> anyhow::Result<Self> {
        Ok(Self { _writes: store::hold_writes(file).await? })
    }
}
