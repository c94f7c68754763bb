//! What the simulated plant could not understand: counted, and logged once for each cause.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Counts by source and cause. Sources are names of the plant and causes are constants, so it stays small.
#[derive(Debug, Default)]
pub(super) struct Rejections(Mutex<BTreeMap<(String, &'static str), u64>>);

impl Rejections {
    /// Counts one; the first of its kind is logged with its detail.
    pub(super) fn note(&self, source: &str, cause: &'static str, detail: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((source.to_owned(), cause)).or_default();
        *count += 1;
        if *count == 1 {
            tracing::warn!(source, cause, detail, "refused by the simulated plant; further ones are counted");
        }
    }

    /// Source, cause and count of each.
    pub(super) fn counts(&self) -> Vec<(String, &'static str, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|((source, cause), count)| (source.clone(), *cause, *count)).collect()
    }
}
