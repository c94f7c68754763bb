//! The lab from the command line: what each command prints last, its exit code, and that a failure is told whole.

use std::process::{Command, Output, Stdio};

fn lab(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hoistway"))
        .arg("lab")
        .args(arguments.split_whitespace())
        .env_remove("HOISTWAY_LOG")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn each_command_ends_with_a_plain_line_and_its_exit_code() {
    let page = tempfile::tempdir().unwrap();
    let out = page.path().join("before-after.html");
    let before_after = format!("before-after --days 1 --page {}", out.display());
    let rows = [
        ("accidents --only late_command_after_reconnect", 0, "1 held, 0 failed, 0 pending"),
        ("accidents --only exit_landing_full --strict", 1, "1 pending"),
        ("seeds --count 3", 0, "every promise was kept in 3 worlds"),
        ("seeds --count 1 --from 12 --without link-fence", 1, "a promise was broken in 1 of 1 worlds"),
        ("replay 17", 0, "orders: "),
        ("replay 12 --without link-fence", 1, "broken: nothing_stale"),
        ("replay 12 --shrunk", 0, "orders: "),
        (
            "safeguards --only one-session",
            0,
            "each of 1 safeguards was missed when it was away, or has its reason",
        ),
        (
            "safeguards --only validity",
            0,
            "each of 1 safeguards was missed when it was away, or has its reason",
        ),
        ("safeguards --only validity --unreached --count 2", 0, "or has its reason"),
        (
            "safeguards --only frozen-registers --count 1",
            1,
            "1 of 1 safeguards are not as they are said to be",
        ),
        ("blind-zone --rides 20", 0, "every vehicle came back and every load was moved once"),
        ("speed --minutes 1", 0, "times as fast"),
        (before_after.as_str(), 0, "the page is "),
    ];
    for (arguments, code, ending) in rows {
        let output = lab(arguments);
        let said = stdout(&output);
        assert_eq!(output.status.code(), Some(code), "lab {arguments}: {said}");
        let last = said.lines().last().unwrap_or_default();
        assert!(last.contains(ending), "lab {arguments}: {last}");
    }
    assert!(std::fs::read_to_string(&out).unwrap().contains("<svg"), "a page with plots");
}

#[test]
fn a_failure_is_told_with_its_seed_what_it_needs_and_its_log() {
    let said = stdout(&lab("seeds --count 1 --from 12 --without link-fence"));
    for part in
        ["seed 12: ", "needs, after ", "an order from ", "the last of ", "hoistway lab replay 12 --shrunk"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let [one, other] = [1, 2].map(|_| stdout(&lab("replay 12 --shrunk --without link-fence")));
    assert!(one.lines().count() > 20, "{one}");
    assert_eq!(one, other, "two replays are the same to the byte");
}

#[test]
fn what_is_misspelled_is_told_with_its_neighbor() {
    for (arguments, hint) in [
        ("seeds --without linkfence", "did you mean `link-fence`"),
        ("accidents --only ack_lost_after_moved", "did you mean `ack_lost_after_move`"),
        ("seeds --count 0", "0 is not in 1..="),
        ("seeds --count 2 --from 18446744073709551615", "is not in"),
        ("replay no", "invalid digit"),
    ] {
        let output = lab(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "lab {arguments}: {said}");
        assert!(said.contains(hint), "lab {arguments}: {said}");
    }
}
