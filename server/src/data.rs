//! The folder in which a role keeps its data, held by one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// A folder that this process holds. It is free again when the value is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
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
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => bail!(
                "another process plays {role} on {}; stop it, or give this one another --data folder",
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", lock_path.display()))
            }
        }
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
}
