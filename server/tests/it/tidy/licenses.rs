//! Licenses, sources and banned crates of everything that `Cargo.lock` brings in, held against `.deny.toml`: the
//! file that cargo-deny reads, for those who have it.

use std::process::Command;

use serde_json::Value;

use super::{read, root};

/// Everything that is built for the server's platform or the browser. What only other platforms need is not here to
/// be read.
fn packages() -> Vec<Value> {
    ["x86_64-unknown-linux-gnu", "wasm32-unknown-unknown"].into_iter().flat_map(packages_for).collect()
}

fn packages_for(platform: &str) -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", platform])
        .current_dir(root())
        .output()
        .expect("cargo lists the packages");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn settings() -> toml::Table {
    read(".deny.toml").parse().unwrap()
}

/// Whether an SPDX expression can be met with the allowed licenses. A slash is an old way to write OR.
fn allowed(expression: &str, licenses: &[&str]) -> bool {
    let text = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // With a parenthesis around an OR, each part of the AND needs one license that is allowed; without, an OR is met
    // by any of its sides. Both come to this for the expressions in use, and `rows` below holds that.
    if expression.contains('(') {
        return text.split(" AND ").all(|part| part.split(" OR ").any(|it| licenses.contains(&it)));
    }
    text.split(" OR ").any(|side| side.split(" AND ").all(|it| licenses.contains(&it)))
}

#[test]
fn expressions_are_understood() {
    let rows = [
        ("MIT", true),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND ISC", true),
        ("(GPL-2.0 OR GPL-3.0) AND ISC", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("Proprietary", false),
    ];
    let licenses = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    for (expression, expected) in rows {
        assert_eq!(allowed(expression, &licenses), expected, "{expression}");
    }
}

#[test]
fn every_license_is_permissive() {
    let settings = settings();
    let list = settings["licenses"]["allow"].as_array().unwrap();
    let licenses: Vec<&str> = list.iter().filter_map(toml::Value::as_str).collect();
    for package in packages() {
        let expression = package["license"].as_str().unwrap_or("none");
        assert!(
            allowed(expression, &licenses),
            "{}: the license `{expression}` is not allowed",
            package["name"]
        );
    }
}

#[test]
fn every_crate_comes_from_the_public_registry_and_none_is_banned() {
    let settings = settings();
    let banned = settings["bans"]["deny"].as_array().unwrap();
    let banned: Vec<&str> = banned.iter().filter_map(|it| it["crate"].as_str()).collect();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(&name), "{name} is banned");
        let source = package["source"].as_str();
        let public = source.is_none_or(|it| it == "registry+https://github.com/rust-lang/crates.io-index");
        assert!(public, "{name} comes from {source:?}");
    }
}
