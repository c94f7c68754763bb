//! What the house promises about its own text: layers, sizes, licenses, nothing of one machine.

mod licenses;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest source file, in lines.
const FILE_LINES_MAX: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every tracked file, relative to the root.
fn tracked() -> Vec<String> {
    let output = Command::new("git").args(["ls-files"]).current_dir(root()).output();
    let output = output.expect("git lists the tracked files; install git");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).unwrap();
    // A file that was removed and not yet committed is still listed.
    names.lines().filter(|name| root().join(name).is_file()).map(str::to_owned).collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn sources(under: &str) -> Vec<(String, String)> {
    let names = tracked().into_iter().filter(|name| name.starts_with(under) && name.ends_with(".rs"));
    names.map(|name| (name.clone(), read(&name))).collect()
}

/// Names and text of the files in which a line contains `needle`, comments apart.
fn files_with(under: &str, needle: &str) -> Vec<String> {
    let has =
        |text: &str| text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(needle));
    sources(under).into_iter().filter(|(_, text)| has(text)).map(|(name, _)| name).collect()
}

#[test]
fn kernel_stays_pure() {
    let rows: &[(&str, &[&str])] = &[
        ("app/kernel", &["chrono", "serde", "thiserror", "utoipa"]),
        ("server/sim", &["kernel", "serde", "thiserror"]),
    ];
    for (package, allowed) in rows {
        let manifest: toml::Table = read(&format!("{package}/Cargo.toml")).parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap().keys();
        for name in dependencies {
            assert!(allowed.contains(&name.as_str()), "{package} may not depend on {name}");
        }
        let lints = read(&format!("{package}/clippy.toml"));
        for banned in [
            "std::time::Instant::now",
            "std::time::SystemTime::now",
            "chrono::Utc::now",
            "std::thread::sleep",
            "std::collections::HashMap",
            "std::collections::HashSet",
        ] {
            assert!(
                lints.contains(&format!("\"{banned}\"")),
                "{package}/clippy.toml no longer bans {banned}"
            );
        }
        for needle in ["async ", ".await", "std::fs", "std::net", "std::env", "std::process", "println!"] {
            assert_eq!(
                files_with(&format!("{package}/src"), needle),
                [""; 0],
                "`{needle}` has no place in {package}"
            );
        }
    }
}

#[test]
fn every_dependency_is_used() {
    for package in ["app", "app/bundle", "app/kernel", "server", "server/sim"] {
        let manifest: toml::Table = read(&format!("{package}/Cargo.toml")).parse().unwrap();
        let inner = |name: &str| {
            package == "app" && (name.starts_with("app/kernel") || name.starts_with("app/bundle"))
                || package == "server" && name.starts_with("server/sim")
        };
        let text: Vec<String> =
            sources(package).into_iter().filter(|(name, _)| !inner(name)).map(|(_, text)| text).collect();
        let sections = ["dependencies", "dev-dependencies"];
        let tables = sections.into_iter().filter_map(|it| manifest.get(it)?.as_table());
        for name in tables.flat_map(toml::Table::keys) {
            let path = format!("{}::", name.replace('-', "_"));
            assert!(text.iter().any(|it| it.contains(&path)), "{package} does not use {name}: remove it");
        }
    }
}

#[test]
fn chrono_has_no_clock_in_the_kernel() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let chrono = &manifest["workspace"]["dependencies"]["chrono"];
    assert_eq!(chrono["default-features"].as_bool(), Some(false));
    let features: Vec<_> =
        chrono["features"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
    assert!(!features.contains(&"clock"), "chrono's clock would be in reach of the kernel");
}

#[test]
fn the_browser_has_no_second_api() {
    for needle in ["#[server", "server_fn", "create_resource", "rumqttc", "tokio_modbus", "sqlx"] {
        assert_eq!(
            files_with("app/src", needle),
            [""; 0],
            "`{needle}` has no place in app: REST up, websocket down"
        );
    }
}

#[test]
fn features_are_told_apart_in_two_files() {
    let rest: Vec<_> = files_with("app/src", "cfg(feature")
        .into_iter()
        .filter(|name| !["app/src/lib.rs", "app/src/live.rs"].contains(&name.as_str()))
        .collect();
    assert_eq!(rest, [""; 0], "only lib.rs and live.rs may ask for which side they are compiled");
}

#[test]
fn only_http_knows_status_codes() {
    let rest: Vec<_> =
        files_with("server/src", "StatusCode").into_iter().filter(|name| !name.contains("/http")).collect();
    assert_eq!(rest, [""; 0], "status codes belong into server/src/http");
}

#[test]
fn what_decides_is_not_serialised() {
    let derives = |(_, text): &(String, String)| {
        text.lines().any(|line| line.trim_start().starts_with("#[derive(") && line.contains("Serialize"))
    };
    let control = sources("app/kernel/src/control");
    let found: Vec<_> = control.iter().filter(|it| derives(it)).map(|(name, _)| name).collect();
    assert_eq!(
        found, [""; 0],
        "what a control node keeps is rebuilt from the ledger; wire/ is what is written down"
    );
}

/// What ships runs with all of them: only the lab, and the kernel's own tests, take one away.
#[test]
fn only_the_lab_takes_safeguards_away() {
    let allowed = [
        "server/sim/",
        "app/kernel/src/safeguard.rs",
        "app/kernel/tests/",
        "app/kernel/src/control/tests/",
        "app/kernel/src/gateway/tests/",
        "app/kernel/src/lease/tests/",
        "server/tests/it/tidy.rs",
    ];
    let callers: Vec<_> = tracked()
        .into_iter()
        .filter(|name| name.ends_with(".rs") && !allowed.iter().any(|it| name.starts_with(it)))
        .filter(|name| ["all_but", ".under(", "take_safeguards"].iter().any(|it| read(name).contains(it)))
        .collect();
    let own = ["app/kernel/src/control.rs", "app/kernel/src/gateway.rs", "app/kernel/src/gateway/channel.rs"];
    let strangers: Vec<_> = callers.into_iter().filter(|name| !own.contains(&name.as_str())).collect();
    assert_eq!(strangers, [""; 0], "the roles that ship take no safeguard away");
}

#[test]
fn files_stay_short() {
    let is_source = |name: &String| [".rs", ".mjs", ".css"].iter().any(|ending| name.ends_with(ending));
    let long: Vec<_> = tracked()
        .into_iter()
        .filter(is_source)
        .map(|name| (read(&name).lines().count(), name))
        .filter(|(n_lines, _)| *n_lines > FILE_LINES_MAX)
        .collect();
    assert_eq!(long, [], "split these files by what they know");
    // Clippy holds the length of functions; here only that it is asked to.
    for settings in [".clippy.toml", "app/kernel/clippy.toml", "server/sim/clippy.toml"] {
        assert!(read(settings).contains("too-many-lines-threshold = 70"), "{settings}");
    }
}

#[test]
fn nothing_of_one_machine_is_tracked() {
    // Put together at run time, so that this file does not find itself.
    let needles = ["work", "home", "root", "Users"].map(|name| format!("/{name}/"));
    let text_endings = ["rs", "toml", "md", "mjs", "json", "css", "sh", "yaml", "sql", "txt", "lock"];
    for name in tracked() {
        let ending = name.rsplit('.').next().unwrap_or_default();
        if !(text_endings.contains(&ending) || name.starts_with(".ci/") || name == "Makefile") {
            continue;
        }
        let text = read(&name);
        for (idx, line) in text.lines().enumerate() {
            let found = needles.iter().find(|needle| line.contains(needle.as_str()));
            assert_eq!(found, None, "{name}:{}: a path of one machine", idx + 1);
            let foreign = line.contains("\"resolved\":") && !line.contains("\"https://registry.npmjs.org/");
            assert!(!foreign, "{name}:{}: a registry that others cannot reach", idx + 1);
        }
    }
}

#[test]
fn each_invariant_of_the_readme_names_its_test() {
    let readme = read("README.md");
    let section =
        readme.split("\n## ").find(|it| it.starts_with("Invariants")).expect("README has `## Invariants`");
    let known: BTreeSet<String> = ["app", "server"]
        .iter()
        .flat_map(|under| sources(under))
        .flat_map(|(_, text)| test_names(&text))
        .collect();
    let invariants: Vec<&str> = section.split("\n- ").skip(1).collect();
    assert!(invariants.len() >= 5, "the invariants are a list");
    for invariant in invariants {
        let named: Vec<&str> =
            invariant.split('`').skip(1).step_by(2).filter(|it| known.contains(*it)).collect();
        assert!(!named.is_empty(), "no test of that name holds it: {invariant}");
    }
}

/// Names of the functions that follow a test attribute.
fn test_names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut after_attribute = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            after_attribute = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| after_attribute) {
            found.extend(rest.split('(').next().map(str::to_owned));
            after_attribute = false;
        }
    }
    found
}
