//! How entries are chained. The hash covers what is stored, byte for byte, so that checking needs no knowledge of
//! what a record means.

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash before the first entry.
pub const GENESIS: Hash = [0; 32];

/// Stands before the hash of the entry before, in an entry of a drill run.
const DRILL_MARK: &[u8] = b"drill";

/// What the hash of an entry covers, as stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub(super) sequence: u64,
    pub(super) at: &'a str,
    pub(super) node: &'a str,
    pub(super) record: &'a str,
    pub(super) drill: bool,
    pub(super) prev: &'a Hash,
}

/// Hash of an entry. Each text is preceded by its length, so that no two entries are written alike.
pub(super) fn hash(link: Link<'_>) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(link.sequence.to_be_bytes());
    for text in [link.at, link.node, link.record] {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    // Entries of ordinary runs are hashed as they were before there were drills.
    if link.drill {
        hasher.update(DRILL_MARK);
    }
    hasher.update(link.prev);
    hasher.finalize().into()
}

/// A hash as people read it.
pub fn hex(hash: &Hash) -> String {
    use std::fmt::Write;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Link<'static> =
        Link { sequence: 7, at: "t", node: "A", record: "{}", drill: false, prev: &GENESIS };

    #[test]
    fn every_field_counts() {
        let other_prev = [1; 32];
        let rows = [
            Link { sequence: 8, ..BASE },
            Link { at: "u", ..BASE },
            Link { node: "B", ..BASE },
            Link { record: "[]", ..BASE },
            Link { drill: true, ..BASE },
            Link { prev: &other_prev, ..BASE },
            // The border between two texts moves.
            Link { at: "tA", node: "", ..BASE },
        ];
        for row in rows {
            assert_ne!(hash(row), hash(BASE), "{row:?}");
        }
    }
}
