//! What a browser names when it resumes: the site, its plant and its ledger.

use std::fmt::Write as _;

use kernel::plant::Plant;
use kernel::wire::ledger::Entry;
use sha2::{Digest, Sha256};

/// Bytes of the digest that are written: enough to tell apart what one site ever had.
const DIGEST_BYTES: usize = 8;

/// Name of the site with a digest of its plant and of the first entry of its ledger: the same on all nodes that share
/// both. Of the entry's time whole milliseconds count, which every store keeps. None when the plant cannot be written
/// as JSON; then nothing is resumed.
pub(super) fn of(plant: &Plant, first: &Entry) -> Option<String> {
    let mut hasher = Sha256::new();
    hasher
        .update(serde_json::to_vec(&(plant, first.at.timestamp_millis(), &first.node, &first.record)).ok()?);
    let mut text = format!("{}.", plant.site);
    for byte in hasher.finalize().iter().take(DIGEST_BYTES) {
        write!(text, "{byte:02x}").ok()?;
    }
    Some(text)
}
