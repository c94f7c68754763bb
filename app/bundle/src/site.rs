//! Files that are served as they are, and a packed copy beside each that packs well.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::Layout;

/// What packs well. Fonts are packed already.
const PACKED: [&str; 6] = ["wasm", "js", "css", "svg", "json", "yaml"];

/// Copies `public/` into the site.
pub(crate) fn copy_public(layout: &Layout) -> anyhow::Result<()> {
    for from in files_under(&layout.public)? {
        let to = layout.site.join(from.strip_prefix(&layout.public)?);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        }
        fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
    }
    Ok(())
}

/// Writes the packed copies; returns the sizes of what every visitor loads.
pub(crate) fn compress(layout: &Layout) -> anyhow::Result<Vec<String>> {
    let mut notes = vec![];
    for path in files_under(&layout.site)? {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        if !PACKED.contains(&extension) {
            continue;
        }
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut encoder = GzEncoder::new(vec![], Compression::best());
        encoder.write_all(&bytes)?;
        let packed = encoder.finish()?;
        let name = path.strip_prefix(&layout.site)?.display().to_string();
        if matches!(extension, "wasm" | "js" | "css") {
            notes.push(format!("{name}: {}, gzip {}", kib(bytes.len() as u64), kib(packed.len() as u64)));
        }
        let to = PathBuf::from(format!("{}.gz", path.display()));
        fs::write(&to, packed).with_context(|| format!("writing {}", to.display()))?;
    }
    Ok(notes)
}

/// All files of a folder and those below, in a fixed order; none when it is not there.
pub(crate) fn files_under(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = vec![];
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        let entries = fs::read_dir(&folder).with_context(|| format!("listing {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// A size as people read it.
pub(crate) fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}
