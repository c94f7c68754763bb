//! What the site was made from: one hash over every input, this tool included.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::Layout;
use crate::site::files_under;

/// The hash over everything that the site is made from.
pub(crate) fn of_inputs(layout: &Layout) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    let mut add = |path: &Path| -> anyhow::Result<()> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
        Ok(())
    };
    if layout.wasm_in.is_file() {
        add(&layout.wasm_in)?;
    }
    for folder in [&layout.style, &layout.public] {
        for path in files_under(folder)? {
            add(&path)?;
        }
    }
    hash.update(include_str!("start.js"));
    hash.update(include_str!("wasm.rs"));
    hash.update([u8::from(layout.wasm_opt.exists())]);
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

/// Whether the site was made from just that.
pub(crate) fn is_current(layout: &Layout, input: &str) -> bool {
    layout.site.is_dir() && fs::read_to_string(&layout.stamp).is_ok_and(|stamp| stamp == input)
}

/// Remembers it; the last thing of a run, so that a run that was cut short is done again.
pub(crate) fn write(layout: &Layout, input: &str) -> anyhow::Result<()> {
    fs::write(&layout.stamp, input).context("writing the stamp of the site")
}
