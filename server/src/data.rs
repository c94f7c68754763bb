//! The folder in which a role keeps its data, held by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};

/// A folder that this process holds. It is free again when the value is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates the folder when it is missing, and takes it for `role`. Two roles may share a folder, two processes of
    /// one role may not: each would write over the other's journal or marks.
    ///
    /// # Errors
    /// It cannot be created or written, or another process has it.
    pub fn hold(path: &Path, role: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot create the data folder {}", path.display()))?;
        let lock_path = path.join(format!("{role}.lock"));
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .with_context(|| format!("cannot write {}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock_path, _lock: lock }),
            Err(TryLockError::WouldBlock) => bail!(
                "another process plays {role} on {}; stop it, or give this one another --data folder",
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", lock_path.display()))
            }
        }
    }

    /// Renames the folder to a sibling with this time in its name, and says which; none when it was empty. Nothing is
    /// removed.
    ///
    /// # Errors
    /// It cannot be listed or renamed, it holds what no role wrote, or another process works in it.
    pub fn set_aside(self, now: DateTime<Utc>) -> anyhow::Result<Option<PathBuf>> {
        // A link stays where it is: what it points to is set aside.
        let real =
            self.path.canonicalize().with_context(|| format!("cannot find {}", self.path.display()))?;
        let name = real.display();
        let mut n_files = 0;
        for entry in std::fs::read_dir(&real).with_context(|| format!("cannot list {name}"))? {
            let path = entry.with_context(|| format!("cannot list {name}"))?.path();
            self.may_be_moved(&path)?;
            n_files += 1;
        }
        // The one file that is always there is the lock.
        if n_files <= 1 {
            return Ok(None);
        }
        let folder = real.file_name().with_context(|| format!("{name} has no name to be set aside under"))?;
        let stamp = now.format("%Y%m%dT%H%M%S%.3fZ");
        let aside = real.with_file_name(format!("{}-{stamp}", folder.to_string_lossy()));
        std::fs::rename(&real, &aside)
            .with_context(|| format!("cannot rename {name} to {}", aside.display()))?;
        std::fs::create_dir(&real).with_context(|| format!("cannot create {name}"))?;
        Ok(Some(aside))
    }

    /// Only stores and locks of roles are moved, and no lock that another process holds.
    fn may_be_moved(&self, path: &Path) -> anyhow::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ours = [".db", ".db-wal", ".db-shm", ".lock"].iter().any(|ending| name.ends_with(ending));
        if !ours || !path.is_file() {
            bail!("will not set {} aside: {name} in it was not written by Hoistway", self.path.display());
        }
        if name.ends_with(".lock") && !self.holds(path) {
            let lock = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            if let Err(TryLockError::WouldBlock) = lock.try_lock() {
                bail!("will not set {} aside: another process holds {name}", self.path.display());
            }
        }
        Ok(())
    }

    fn holds(&self, lock: &Path) -> bool {
        self.lock_path.file_name() == lock.file_name()
    }

    /// A file of the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_by_one_process_of_a_role() {
        let folder = tempfile::tempdir().unwrap();
        let held = DataDir::hold(folder.path(), "control-A").unwrap();
        let refused = DataDir::hold(folder.path(), "control-A").unwrap_err().to_string();
        assert!(refused.contains("another process plays control-A"), "{refused}");
        assert!(DataDir::hold(folder.path(), "gateway-G1").is_ok());
        drop(held);
        assert!(DataDir::hold(folder.path(), "control-A").is_ok());
    }

    #[test]
    fn a_folder_is_set_aside_whole_and_only_if_something_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("demo");
        let aside = |now| DataDir::hold(&path, "demo").unwrap().set_aside(now).unwrap();
        assert_eq!(aside(DateTime::<Utc>::UNIX_EPOCH), None);
        std::fs::write(path.join("hoistway.db"), "everything").unwrap();
        let first = aside(DateTime::<Utc>::UNIX_EPOCH).unwrap();
        assert_eq!(first, parent.path().join("demo-19700101T000000.000Z"));
        assert_eq!(std::fs::read_to_string(first.join("hoistway.db")).unwrap(), "everything");
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "an empty folder stands where it was");
    }

    #[test]
    fn what_others_wrote_or_hold_is_not_set_aside() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("demo");
        let refused = || {
            let held = DataDir::hold(&path, "demo").unwrap();
            held.set_aside(DateTime::<Utc>::UNIX_EPOCH).unwrap_err().to_string()
        };
        let control = DataDir::hold(&path, "control").unwrap();
        assert!(refused().contains("another process holds control.lock"), "{}", refused());
        drop(control);
        std::fs::write(path.join("thesis.txt"), "mine").unwrap();
        assert!(refused().contains("thesis.txt in it was not written by Hoistway"), "{}", refused());
        assert_eq!(std::fs::read_to_string(path.join("thesis.txt")).unwrap(), "mine");
    }
}
