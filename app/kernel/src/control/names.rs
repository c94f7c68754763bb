//! Names that a node gives.

use crate::ids::NodeId;

/// What a name that a node gives begins with; its number follows. A node's name that ends in a digit is set off, so
/// that the first name of node 11 is not the eleventh of node 1.
pub(super) fn name_stem(prefix: &str, node: &NodeId) -> String {
    let gap = if node.as_str().ends_with(|it: char| it.is_ascii_digit()) { "-" } else { "" };
    format!("{prefix}-{node}{gap}")
}

/// The number of a name, if it begins so. The highest one counts, not how many were given: a number that was lost
/// with a failed proposal is not given again, and no later one twice.
pub(super) fn number_in(name: &str, stem: &str) -> Option<u64> {
    name.strip_prefix(stem)?.parse().ok()
}
