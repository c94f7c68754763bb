//! What the programs of a drill run look at while they work, so that they can be made to stand still or be left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::ids::{GatewayId, NodeId};
use sqlx::SqliteConnection;
use tokio::sync::watch;

use super::roads::Roads;
use crate::clock::Clock;
use crate::journal::Journal;
use crate::lease::LeaseStore;
use crate::store;

/// The levers of one demonstration. They outlive its programs, which may die and be started again.
#[derive(Clone, Debug, Default)]
pub struct Levers {
    /// What messages suffer.
    pub roads: Roads,
    /// Whose loops stand still.
    pub pauses: Pauses,
    /// The clocks of programs.
    pub clocks: Clocks,
    /// How the lease store fails.
    pub leases: LeaseLever,
    /// Which nodes do not reach the ledger.
    pub ledger: LedgerLines,
}

/// A program that has a lever of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// A control node.
    Node(NodeId),
    /// A gateway.
    Gateway(GatewayId),
}

/// Lets loops stand still.
#[derive(Clone, Debug)]
pub struct Pauses {
    still: Arc<watch::Sender<BTreeSet<Program>>>,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { still: Arc::new(watch::Sender::default()) }
    }
}

impl Pauses {
    /// The loop of a program stands still from now on, or goes on.
    pub fn set(&self, program: Program, stands: bool) {
        self.still.send_modify(|it| _ = if stands { it.insert(program) } else { it.remove(&program) });
    }

    /// Waits while the loop of a program has to stand still.
    pub async fn wait(&self, program: &Program) {
        // The sender lives as long as this value, so it cannot fail.
        _ = self.still.subscribe().wait_for(|it| !it.contains(program)).await;
    }
}

/// The clocks of programs. A machine keeps its clock when a program on it starts again.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    of: Arc<Mutex<BTreeMap<Program, Clock>>>,
}

impl Clocks {
    /// The clock of a program.
    pub fn of(&self, program: &Program) -> Clock {
        let mut clocks = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        clocks.entry(program.clone()).or_default().clone()
    }

    /// The wall clock of a program is so much ahead of this machine's from now on.
    pub fn set(&self, program: &Program, ahead_ms: i64) {
        self.of(program).set_ahead(ahead_ms);
    }
}

/// Lets the lease store fail, for all nodes or for one.
#[derive(Clone, Debug, Default)]
pub struct LeaseLever {
    state: Arc<Mutex<LeaseState>>,
}

#[derive(Debug, Default)]
struct LeaseState {
    stopped: bool,
    /// Nodes that do not reach it.
    cut_off: BTreeSet<NodeId>,
    /// By which way each node reaches it.
    ways: BTreeMap<NodeId, LeaseStore>,
}

impl LeaseLever {
    /// A node has started, with its own way to the store.
    pub fn attach(&self, node: &NodeId, leases: &LeaseStore) {
        let mut state = self.state();
        leases.keep_copies();
        leases.set_stopped(state.stopped);
        leases.set_cut_off(state.cut_off.contains(node));
        state.ways.insert(node.clone(), leases.clone());
    }

    /// The store answers nobody from now on, or answers again.
    pub fn set_stopped(&self, stopped: bool) {
        let mut state = self.state();
        state.stopped = stopped;
        state.ways.values().for_each(|it| it.set_stopped(stopped));
    }

    /// A node does not reach the store from now on, or reaches it again.
    pub fn cut_off(&self, node: &NodeId, is_cut_off: bool) {
        let mut state = self.state();
        if is_cut_off {
            state.cut_off.insert(node.clone());
        } else {
            state.cut_off.remove(node);
        }
        if let Some(leases) = state.ways.get(node) {
            leases.set_cut_off(is_cut_off);
        }
    }

    /// The store forgets everything.
    pub fn forget(&self) {
        self.state().ways.values().for_each(LeaseStore::forget);
    }

    /// What the store knew some ten seconds ago takes the place of what it knows.
    pub fn promote_old_copy(&self) {
        // All ways lead to one store, and the copy stays what it is.
        self.state().ways.values().for_each(LeaseStore::promote_old_copy);
    }

    /// The store's clock is so much ahead of this machine's from now on.
    pub fn set_clock(&self, ahead_ms: i64) {
        self.state().ways.values().for_each(|it| it.set_clock(ahead_ms));
    }

    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lines of nodes to the ledger. A node keeps its line when it starts again.
#[derive(Clone, Debug, Default)]
pub struct LedgerLines {
    cut: Arc<Mutex<BTreeMap<NodeId, watch::Sender<bool>>>>,
    /// The ledger is away for all.
    away: Arc<watch::Sender<bool>>,
}

impl LedgerLines {
    /// The ledger as a node reaches it.
    pub fn of(&self, node: &NodeId, journal: &Journal) -> Journal {
        let mut lines = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        journal.on_line(lines.entry(node.clone()).or_default().subscribe())
    }

    /// The ledger is away from now on, or is there again.
    pub fn set_away(&self, is_away: bool) {
        self.away.send_replace(is_away);
    }

    /// Waits while the ledger is away.
    pub async fn until_there(&self) {
        // The sender lives as long as this value, so it cannot fail.
        _ = self.away.subscribe().wait_for(|it| !it).await;
    }

    /// A node does not reach the ledger from now on, or reaches it again.
    pub fn cut_off(&self, node: &NodeId, is_cut_off: bool) {
        let mut lines = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry(node.clone()).or_default().send_replace(is_cut_off);
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
