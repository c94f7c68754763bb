//! A folder for each run of the demo.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use chrono::{DateTime, Utc};

use crate::data::DataDir;

/// The role under which a demo holds the folder of its run.
pub(super) const GATEWAYS: &str = "gateways";
/// Runs whose folders are kept.
const RUNS_KEPT: usize = 5;
/// Marks the folders that are ours to remove.
const PREFIX: &str = "run-";

/// Makes the folder of a new run and removes the oldest ones beyond [`RUNS_KEPT`].
///
/// # Errors
/// The folder cannot be made or listed, or an old run cannot be removed.
pub(super) fn begin(folder: &Path, now: DateTime<Utc>) -> anyhow::Result<PathBuf> {
    let run = folder.join(format!("{PREFIX}{}", now.format("%Y%m%dT%H%M%S%.3fZ")));
    std::fs::create_dir_all(&run)
        .with_context(|| format!("cannot create the data folder {}", run.display()))?;
    let mut runs: Vec<PathBuf> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot list {}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.is_dir() && path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(PREFIX))
        })
        .collect();
    runs.sort();
    for old in runs.iter().rev().skip(RUNS_KEPT) {
        // A demo that still runs on the same folder keeps its own.
        if DataDir::hold(old, GATEWAYS).is_err() {
            continue;
        }
        std::fs::remove_dir_all(old)
            .with_context(|| format!("cannot remove the old run {}", old.display()))?;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_runs_are_kept_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("mine")).unwrap();
        let start = DateTime::<Utc>::UNIX_EPOCH;
        for n in 0..8 {
            begin(folder.path(), start + chrono::TimeDelta::seconds(n)).unwrap();
        }
        let mut left: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left.len(), RUNS_KEPT + 1);
        assert_eq!(left[0], "mine");
        assert_eq!(left[1], "run-19700101T000003.000Z");
    }
}
