//! `hoistway bench` on a few orders: that it measures and tells, and not how fast anything is.

use std::process::{Command, Stdio};

use crate::postgres::Postgres;

/// Whether a line is `before`, a number, `between`, a number, and `after`.
fn tells(line: &str, before: &str, between: &str, after: &str) -> bool {
    let Some((rate, times)) = line.strip_prefix(before).and_then(|it| it.split_once(between)) else {
        return false;
    };
    let Some(times) = times.strip_suffix(after) else { return false };
    rate.trim().parse::<u32>().is_ok() && times.parse::<f64>().is_ok_and(f64::is_finite)
}

#[tokio::test]
async fn orders_are_measured_beside_bare_commits_on_either_database() {
    let server = Postgres::shared().await;
    let postgres = server.url(&server.create().await);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let own: &[&str] = &["--data", data];
    for (database, place) in [("SQLite", own), ("PostgreSQL", &["--ledger", &postgres])] {
        let output = Command::new(env!("CARGO_BIN_EXE_hoistway"))
            .args(["bench", "orders", "--count", "20", "--kills", "2"])
            .args(place)
            .env_remove("HOISTWAY_BENCH_LEDGER")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let why = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{why}");
        let lines: Vec<&str> = said.lines().collect();
        let [bare, one, many, takeover] = lines[..] else { panic!("four lines are told: {why}") };
        assert!(bare.starts_with(&format!("{database}: bare insert and commit ")), "{why}");
        assert!(tells(one, &format!("{database}: orders,  1 in flight "), " a second, ", " × bare"), "{why}");
        assert!(
            tells(many, &format!("{database}: orders, 64 in flight "), " a second, ", " × bare"),
            "{why}"
        );
        let took = takeover.strip_prefix(&format!("{database}: takeover, 2 kills   median ")).unwrap();
        let (median, worst) = took.split_once(" s, worst ").unwrap();
        let (worst, times) = worst.split_once(" s, ").unwrap();
        let seconds = [median, worst].map(|it| it.parse::<f64>().unwrap());
        assert!(seconds[0] > 4.0, "a node counts as lost after silence only: {why}");
        assert!(seconds[0] <= seconds[1] && times.ends_with(" that makes a node lost"), "{why}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what it wrote is removed");
}

#[test]
fn commands_are_measured_beside_bare_writes() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hoistway"))
        .args(["bench", "command", "--count", "10", "--lifts", "1,3", "--data"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{why}");
    let lines: Vec<&str> = said.lines().collect();
    let [write, commit, one, three] = lines[..] else { panic!("four lines are told: {why}") };
    assert!(write.starts_with("bare Modbus write "), "{why}");
    assert!(commit.starts_with("bare insert and commit "), "{why}");
    for (line, lifts, commands) in [(one, 1, 10), (three, 3, 15)] {
        assert!(line.starts_with(&format!("command,   {lifts} on a node     p50 ")), "{why}");
        assert!(line.ends_with(&format!(" × the bare write; {commands} commands")), "{why}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what it wrote is removed");
}
