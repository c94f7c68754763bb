//! Build tool: turns the compiled app into what a browser loads, under `target/site`.
//!
//! Does the work of the wasm-bindgen command line with its library, so that the version is the one in `Cargo.lock`.
//! Skips what has not changed: a second start takes no time.

mod site;
mod stamp;
mod style;
mod wasm;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

/// Where things are, seen from the workspace's root.
pub(crate) struct Layout {
    /// What cargo made of the app for the browser.
    wasm_in: PathBuf,
    /// What is served.
    site: PathBuf,
    /// Style sheets; `main.css` says their order.
    style: PathBuf,
    /// Files that are served as they are.
    public: PathBuf,
    /// Where npm has put wasm-opt, if it has.
    wasm_opt: PathBuf,
    /// What the last run made, and from what.
    stamp: PathBuf,
}

impl Layout {
    fn of_workspace() -> anyhow::Result<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().context("finding the workspace's root")?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Ok(Self {
            wasm_in: target.join("wasm32-unknown-unknown/wasm-release/app.wasm"),
            site: target.join("site"),
            style: root.join("style"),
            public: root.join("public"),
            wasm_opt: root.join("end2end/node_modules/.bin/wasm-opt"),
            stamp: target.join("site.stamp"),
        })
    }
}

fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let layout = Layout::of_workspace()?;
    let input = stamp::of_inputs(&layout)?;
    if stamp::is_current(&layout, &input) {
        writeln!(out, "bundle: target/site is up to date")?;
        return Ok(());
    }
    let mut notes = wasm::bind(&layout)?;
    style::join(&layout)?;
    site::copy_public(&layout)?;
    let sizes = site::compress(&layout)?;
    stamp::write(&layout, &input)?;
    notes.extend(sizes);
    for note in notes {
        writeln!(out, "bundle: {note}")?;
    }
    Ok(())
}
