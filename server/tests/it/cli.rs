//! The executable as a shell sees it: what it prints where, and its exit code.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn hoistway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hoistway"))
        .args(arguments)
        .env_remove("HOISTWAY_LOG")
        .env_remove("HOISTWAY_LOG_FORMAT")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn site(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sites").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn exit_codes_tell_what_happened() {
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("broken.toml");
    let text = std::fs::read_to_string(site("small.toml")).unwrap();
    std::fs::write(&broken, text.replacen("home = \"H2\"", "home = \"P99\"", 1)).unwrap();
    let broken = broken.to_str().unwrap();
    let (small, demo) = (site("small.toml"), site("demo.toml"));
    let rows: &[(&[&str], i32, &str, &str)] = &[
        (&["check-config", &small], 0, "deadline            28.0 s", ""),
        (&["check-config", &demo], 0, "is sound.", ""),
        (&["check-config", broken], 1, "", "vehicles.V02.home: there is no point \"P99\""),
        (&["check-config", "none.toml"], 1, "", "none.toml: cannot be read"),
        (&["check-config"], 2, "", "<FILE>"),
        (&["fly"], 2, "", "unrecognized subcommand 'fly'"),
        (&["migrate", "none.db"], 1, "", "hoistway: there is no store none.db"),
        (&["control", "--site", &small, "--leases", "redis://:hush@x:y"], 1, "", "--leases: the address"),
        (&["control", "--site", &small, "--leases", "hush"], 1, "", "redis://[user:password@]host:port"),
        (&["--help"], 0, "HOISTWAY_LOG", ""),
        (&["--version"], 0, "hoistway ", ""),
    ];
    for (arguments, code, out, err) in rows {
        let output = hoistway(arguments);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}\n{stdout}\n{stderr}");
        assert!(stdout.contains(out), "{arguments:?}: standard output lacks `{out}`:\n{stdout}");
        assert!(stderr.contains(err), "{arguments:?}: standard error lacks `{err}`:\n{stderr}");
        assert!(
            !stdout.contains("hush") && !stderr.contains("hush"),
            "{arguments:?} tells a password:\n{stderr}"
        );
        assert_eq!(
            stdout.is_empty(),
            out.is_empty(),
            "{arguments:?}: results go to standard output:\n{stdout}"
        );
    }
}

#[test]
fn the_help_tells_no_password() {
    let output = Command::new(env!("CARGO_BIN_EXE_hoistway"))
        .args(["control", "--help"])
        .env("HOISTWAY_LEASES", "redis://:hush@127.0.0.1:6379")
        .output()
        .unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("HOISTWAY_LEASES") && !help.contains("hush"), "{help}");
}

#[test]
fn a_senseless_log_filter_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_hoistway"))
        .args(["check-config", &site("small.toml")])
        .env("HOISTWAY_LOG", "info,=,=")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("HOISTWAY_LOG=`info,=,=` is no log filter"), "{stderr}");
}
