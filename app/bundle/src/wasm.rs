//! The program: JavaScript bindings beside the wasm, made small where the tool for it is there.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::Layout;
use crate::site::kib;

/// Name of the program's files.
const NAME: &str = "hoistway";
/// What rustc emits; without these flags wasm-opt refuses it.
const WASM_OPT_FLAGS: [&str; 3] = ["-Oz", "--enable-bulk-memory", "--enable-nontrapping-float-to-int"];

/// Writes `pkg/`; returns what a person should know.
pub(crate) fn bind(layout: &Layout) -> anyhow::Result<Vec<String>> {
    if !layout.wasm_in.is_file() {
        bail!(
            "{} is not there: build it first with `cargo build -p app --lib --target wasm32-unknown-unknown \
             --no-default-features --features hydrate --profile wasm-release`",
            layout.wasm_in.display()
        );
    }
    let pkg = layout.site.join("pkg");
    if pkg.exists() {
        fs::remove_dir_all(&pkg).with_context(|| format!("removing {}", pkg.display()))?;
    }
    fs::create_dir_all(&pkg).with_context(|| format!("creating {}", pkg.display()))?;
    Bindgen::new()
        .input_path(&layout.wasm_in)
        .web(true)?
        .out_name(NAME)
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(&pkg)
        .with_context(|| format!("binding {}", layout.wasm_in.display()))?;
    fs::write(pkg.join("start.js"), include_str!("start.js")).context("writing start.js")?;
    let wasm = pkg.join(format!("{NAME}_bg.wasm"));
    Ok(vec![shrink(&layout.wasm_opt, &wasm)?])
}

/// Runs wasm-opt in place. Without it the program works as well and is larger.
fn shrink(wasm_opt: &Path, wasm: &Path) -> anyhow::Result<String> {
    let before = size(wasm)?;
    if !wasm_opt.exists() {
        return Ok(format!(
            "no wasm-opt (Node and `npm ci` in end2end bring it): the program is larger than it need be, {}",
            kib(before)
        ));
    }
    let run = Command::new(wasm_opt).args(WASM_OPT_FLAGS).arg(wasm).arg("-o").arg(wasm).output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            return Ok(format!("wasm-opt does not start ({error}): the program is larger, {}", kib(before)));
        }
    };
    if !output.status.success() {
        bail!("wasm-opt failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(format!("wasm-opt: {} became {}", kib(before), kib(size(wasm)?)))
}

fn size(path: &Path) -> anyhow::Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("reading {}", path.display()))?.len())
}
