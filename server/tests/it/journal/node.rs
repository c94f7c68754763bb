//! What the command line says of a ledger on PostgreSQL.

use std::process::{Command, Stdio};

use crate::postgres::Postgres;

pub(super) const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sites/small.toml");

pub(super) fn hoistway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoistway"));
    command.args(arguments).env_remove("HOISTWAY_LEDGER").stdin(Stdio::null());
    command
}

#[tokio::test]
async fn the_command_line_takes_either_store_and_never_shows_a_password() {
    let server = Postgres::shared().await;
    let url = server.url(&server.create().await);
    let secret = url.replace("hoist@", "hoist:secret@");
    let nowhere = secret.replace("/hall", "/nowhere");
    let rows: &[(&[&str], i32, &str)] = &[
        (&["migrate", &secret], 0, "schema 4, the newest"),
        (&["migrate", &nowhere], 1, "there is no such database"),
        (&["migrate", "mysql://hoist:secret@db/hall"], 1, "a ledger is not kept on \"mysql\""),
        (&["control", "--site", SITE, "--ledger", "http://hoist:secret@db/"], 1, "a ledger is not kept on"),
        (&["control", "--help"], 0, "--ledger <URL>"),
    ];
    for (arguments, code, said) in rows {
        let output = hoistway(arguments).env("HOISTWAY_LEDGER", &secret).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
        assert!(!text.contains("secret"), "{arguments:?}: {text}");
    }
}
