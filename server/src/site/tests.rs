//! Each row breaks one thing in a sound file; what the reader answers stands in `tests/it/expect/site-*.txt`
//! (`UPDATE_EXPECT=1` writes them anew).

use expect_test::{expect, expect_file};
use kernel::plant::ZoneKind;
use kernel::time::Millis;

use super::*;

/// Two floors, one lift, two vehicles, as short as it gets.
const BASE: &str = r#"[site]
id = "hall"
name = "Hall"
time_zone = "Asia/Shanghai"
shifts = ["06:00", "18:00"]
[[gateways]]
id = "G1"
[[floors]]
id = "1"
name = "Floor 1"
[[floors]]
id = "2"
name = "Floor 2"
[points]
A1 = { floor = "1", x = 0, y = 0 }
W1 = { floor = "1", x = 5, y = 0 }
Z1 = { floor = "1", x = 7, y = 0 }
L1 = { floor = "1", x = 10, y = 0 }
A2 = { floor = "2", x = 0, y = 0 }
W2 = { floor = "2", x = 5, y = 0 }
Z2 = { floor = "2", x = 7, y = 0 }
L2 = { floor = "2", x = 10, y = 0 }
[[edges]]
path = ["A1", "W1", "Z1", "L1"]
[[edges]]
path = ["A2", "W2", "Z2", "L2"]
[stations]
S1 = { point = "A1" }
S2 = { point = "A2" }
[lifts.L1]
gateway = "G1"
travel_per_floor_s = 6
door_s = 3
capacity_vehicles = 1
payload_kg = 1000
plc = { address = "127.0.0.1:1502" }
stops = [
  { floor = "1", landing = "L1", waiting = ["W1"] },
  { floor = "2", landing = "L2", waiting = ["W2"] },
]
[[zones]]
name = "Before the lift"
kind = "transition"
points = ["Z1", "L1", "Z2", "L2"]
[vehicles]
V01 = { gateway = "G1", home = "W1", speed_m_s = 1.2, creep_m_s = 0.3, weight_kg = 350, payload_kg = 500 }
V02 = { gateway = "G1", home = "W2", speed_m_s = 1.2, creep_m_s = 0.3, weight_kg = 350, payload_kg = 500 }
"#;

/// What stands in [`BASE`], and what stands there instead.
type Row = (&'static str, &'static str);

/// Breaks the base once for each row and lists what is answered.
fn check(rows: &[Row], expected: expect_test::ExpectFile) {
    let mut answers = String::new();
    for (replace, with) in rows {
        assert!(BASE.contains(replace), "the base has no `{replace}`");
        let answer = match parse(&BASE.replacen(replace, with, 1), "hall.toml") {
            Ok(_) => "accepted".to_owned(),
            Err(errors) => errors.to_string(),
        };
        answers.push_str(&format!("--- {}\n+++ {}\n{answer}\n\n", replace.trim_end(), with.trim_end()));
    }
    expected.assert_eq(&answers);
}

#[test]
fn sound_files_are_taken() {
    check(
        &[
            ("Hall", "北厅"),
            ("capacity_vehicles = 1", "capacity_vehicles = 2"),
            ("x = 5, y = 0", "x = 5.25, y = -1e0"),
            ("127.0.0.1:1502", "[::1]:502"),
            (
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]",
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]\none_way = false",
            ),
            ("[vehicles]", "[link_budget]\nroaming_s = 9\n[vehicles]"),
        ],
        expect_file!["../../tests/it/expect/site-sound.txt"],
    );
    for (text, name) in [(SMALL, "small.toml"), (DEMO, "demo.toml")] {
        parse(text, name).unwrap_or_else(|errors| panic!("{errors}"));
    }
}

#[test]
fn names_and_references_are_checked() {
    check(
        &[
            ("home = \"W2\"", "home = \"P99\""),
            ("home = \"W2\"", "home = \"W3\""),
            ("V02 =", "V01 ="),
            ("[[zones]]", "[lifts.L1]\n[[zones]]"),
            ("A2 =", "A1 ="),
            ("id = \"2\"", "id = \"1\""),
            ("[lifts.L1]\ngateway = \"G1\"", "[lifts.L1]\ngateway = \"G2\""),
            ("plc = { ", "plc = { profile = \"hoistwy-plc\", "),
            ("V02 =", "\"V 02\" ="),
            ("path = [\"A1\", \"W1\"", "path = [\"A1\", \"A1\", \"W1\""),
            ("\"Asia/Shanghai\"", "\"Asia/Shangai\""),
        ],
        expect_file!["../../tests/it/expect/site-names.txt"],
    );
}

#[test]
fn keys_and_values_are_checked() {
    check(
        &[
            ("[vehicles]", "[vehicles"),
            ("speed_m_s = 1.2", "speed_ms = 1.2"),
            ("[vehicles]", "[colours]\n[vehicles]"),
            ("name = \"Hall\"", "name = \"\""),
            ("[stations]\n", "[[stations]]\n"),
            ("\"18:00\"", "\"06:00\""),
            ("\"18:00\"", "\"24:00\""),
            ("door_s = 3", "door_s = 0"),
            ("travel_per_floor_s = 6", "travel_per_floor_s = -6"),
            ("door_s = 3", "door_s = nan"),
            ("door_s = 3", "door_s = \"3\""),
            ("capacity_vehicles = 1", "capacity_vehicles = 1.5"),
            ("x = 0, y = 0 }\nW1", "x = 99999, y = 0 }\nW1"),
            ("creep_m_s = 0.3", "creep_m_s = 0"),
            ("speed_m_s = 1.2", "speed_m_s = 0.2"),
            ("127.0.0.1:1502", "127.0.0.1"),
            ("[vehicles]", "[link_budget]\ntransport_s = 0\n[vehicles]"),
            ("kind = \"transition\"", "kind = \"quiet\""),
            ("[vehicles]", "[profiles.hoistway-plc]\n[vehicles]"),
            (
                "[vehicles]",
                "[profiles.acme.command]\nnumber = 1\naction = 2\nfloor = 4\n[profiles.acme.status]\nfloor = 1\nlevelled = 11\ndoor = 12\nmotion = 13\nmode = 14\nfault = 15\naccepted = 16\ncompleted = 17\nboot = 18\nheartbeat = 19\noccupied = 400\n[vehicles]",
            ),
            (
                "[vehicles]",
                "[profiles.acme.command]\nnumber = 1\nfloor = 2\n[profiles.acme.status]\n[vehicles]",
            ),
            (
                "[vehicles]",
                "[profiles.acme]\nreaction_s = 20\n[profiles.acme.command]\nnumber = 1\naction = 2\nfloor = 3\n[profiles.acme.status]\nfloor = 10\nlevelled = 11\ndoor = 12\nmotion = 13\nmode = 14\nfault = 15\noccupied = 16\n[vehicles]",
            ),
            (
                "[vehicles]",
                "[profiles.acme.command]\naction = 2\nfloor = 3\n[profiles.acme.status]\nfloor = 10\nlevelled = 11\nmotion = 13\nmode = 14\nfault = 15\n[vehicles]",
            ),
            ("[vehicles]", "[profiles.acme]\nkind = \"magic\"\n[vehicles]"),
            (
                "[vehicles]",
                "[profiles.relay]\nkind = \"contacts\"\ncoils = { call = [0, 1, 2], open = 3, close = 4 }\n[profiles.relay.inputs]\nat_stop = [0, 1, 2]\nclosed = 3\nopened = 4\nup = 5\ndown = 6\nvehicle = 7\nfire = 8\nmaintenance = 9\nemergency = 10\nfault = 11\n[vehicles]",
            ),
            ("plc = { ", "plc = { transport = \"canbus\", "),
            ("plc = { address", "plc = { transport = \"rtu\", address"),
            (
                "plc = { address = \"127.0.0.1:1502\"",
                "plc = { transport = \"rtu\", device = \"ttyS0\", baud = 300, parity = \"mark\"",
            ),
            ("plc = { address", "plc = { transport = \"rtu-over-tcp\", baud = 9600, address"),
        ],
        expect_file!["../../tests/it/expect/site-values.txt"],
    );
}

#[test]
fn lifts_and_places_must_fit() {
    check(
        &[
            ("  { floor = \"2\", landing = \"L2\", waiting = [\"W2\"] },\n", ""),
            ("landing = \"L2\"", "landing = \"L1\""),
            ("waiting = [\"W2\"]", "waiting = [\"W1\"]"),
            ("waiting = [\"W2\"]", "waiting = []"),
            ("waiting = [\"W2\"]", "waiting = [\"L2\"]"),
            ("home = \"W2\"", "home = \"W1\""),
            ("home = \"W2\"", "home = \"L2\""),
            ("S2 = { point = \"A2\" }", "S2 = { point = \"L2\" }"),
            ("path = [\"A1\", \"W1\"", "path = [\"A2\", \"W1\""),
            (
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]",
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]\n[[edges]]\nfrom = \"A1\"\nto = \"W1\"\nlength = 4.9",
            ),
            (
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]",
                "path = [\"A1\", \"W1\", \"Z1\", \"L1\"]\n[[edges]]\npath = [\"W1\", \"A1\"]",
            ),
            ("weight_kg = 350", "weight_kg = 900"),
            (
                "[[zones]]",
                "[lifts.L2]\ngateway = \"G1\"\ntravel_per_floor_s = 6\ndoor_s = 3\ncapacity_vehicles = 1\npayload_kg = 1000\nplc = { address = \"127.0.0.1:1502\" }\nstops = [\n{ floor = \"1\", landing = \"A1\", waiting = [\"W1\"] },\n{ floor = \"2\", landing = \"A2\", waiting = [\"W2\"] },\n]\n[[zones]]",
            ),
            (
                "[[zones]]",
                "[lifts.L2]\ngateway = \"G1\"\ntravel_per_floor_s = 6\ndoor_s = 3\ncapacity_vehicles = 1\npayload_kg = 1000\nplc = { transport = \"rtu-over-tcp\", address = \"127.0.0.1:1502\", unit = 2 }\nstops = [\n{ floor = \"1\", landing = \"A1\", waiting = [\"W1\"] },\n{ floor = \"2\", landing = \"A2\", waiting = [\"W2\"] },\n]\n[[zones]]",
            ),
        ],
        expect_file!["../../tests/it/expect/site-places.txt"],
    );
}

#[test]
fn every_place_must_be_reachable_both_ways() {
    check(
        &[
            ("path = [\"A1\", \"W1\", \"Z1\", \"L1\"]", "path = [\"W1\", \"Z1\", \"L1\"]"),
            (
                "path = [\"A2\", \"W2\", \"Z2\", \"L2\"]",
                "path = [\"A2\", \"W2\", \"Z2\", \"L2\"]\none_way = true",
            ),
            (
                "path = [\"A2\", \"W2\", \"Z2\", \"L2\"]",
                "path = [\"L2\", \"Z2\", \"W2\", \"A2\"]\none_way = true",
            ),
        ],
        expect_file!["../../tests/it/expect/site-ways.txt"],
    );
}

#[test]
fn a_transition_zone_outlasts_a_reconnect() {
    check(
        &[
            ("creep_m_s = 0.3", "creep_m_s = 0.6"),
            ("creep_m_s = 0.3", "creep_m_s = 0.7"),
            ("points = [\"Z1\", \"L1\", \"Z2\", \"L2\"]", "points = [\"Z1\", \"L1\"]"),
        ],
        expect_file!["../../tests/it/expect/site-zones.txt"],
    );
    let site = parse(BASE, "hall.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let lengths: Vec<_> = crossings(&site.plant).iter().map(|it| (it.zone_mm, it.time_ms)).collect();
    assert_eq!(lengths, [(3000, Millis(10_000)), (3000, Millis(10_000))]);
    assert!(
        site.plant.in_zone(&site.plant.lifts.values().next().unwrap().stops[0].landing, ZoneKind::Transition)
    );
}

#[test]
fn stops_stand_from_the_lowest_to_the_highest() {
    let (low, high) = (
        "  { floor = \"1\", landing = \"L1\", waiting = [\"W1\"] },\n",
        "  { floor = \"2\", landing = \"L2\", waiting = [\"W2\"] },\n",
    );
    let text = BASE.replacen(low, "", 1).replacen(high, &format!("{high}{low}"), 1);
    let swapped = parse(&text, "hall.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let sound = parse(BASE, "hall.toml").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(swapped, sound);
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_lines() {
    let text =
        BASE.replacen("home = \"W2\"", "home = \"P99\"", 1).replacen("x = 0, y = 0", "x = 1e9, y = 0", 1);
    let errors = parse(&text, "hall.toml").unwrap_err();
    assert_eq!(errors.problems.iter().map(|it| it.line).collect::<Vec<_>>(), [Some(15), Some(47)]);
}

#[test]
fn counts_are_bounded() {
    let vehicles: String = (0..501).map(|n| format!("X{n} = {{}}\n")).collect();
    let errors = parse(&BASE.replacen("[vehicles]\n", &format!("[vehicles]\n{vehicles}"), 1), "hall.toml")
        .unwrap_err();
    assert_eq!(errors.to_string(), "hall.toml:45: vehicles: has 503 entries; 1 to 500 are allowed");
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let missing = read(&dir.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml: cannot be read: No such file"), "{missing}");

    let large = dir.path().join("large.toml");
    std::fs::write(&large, vec![b'#'; 2 * 1024 * 1024 + 1]).unwrap();
    let refused = read(&large).unwrap_err().to_string();
    assert!(refused.ends_with("large.toml: is larger than 2 MiB; is it a site file?"), "{refused}");

    let binary = dir.path().join("binary.toml");
    std::fs::write(&binary, [b'#', 0xff]).unwrap();
    let refused = read(&binary).unwrap_err().to_string();
    assert!(
        refused.ends_with("binary.toml: is not UTF-8 text from byte 1 on; save it as UTF-8"),
        "{refused}"
    );
}

#[test]
fn the_small_site_reads_as_written() {
    let site = parse(SMALL, "small.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let plcs: Vec<_> = site
        .plcs
        .iter()
        .map(|(id, plc)| format!("{id}: {} unit {} {}", plc.wire, plc.unit, plc.profile))
        .collect();
    expect![[r#"["L1: 127.0.0.1:1502 unit 1 hoistway-plc"]"#]].assert_eq(&format!("{plcs:?}"));
    let plant = serde_json::to_string_pretty(&site.plant).unwrap();
    expect_file!["../../tests/it/expect/site-small.json"].assert_eq(&plant);
}

#[test]
fn a_contact_profile_has_contacts_for_each_stop_of_its_lift() {
    let profile = "[profiles.relay]\nkind = \"contacts\"\ncoils = { call = [0, 1, 2], open = 3, close = 4 }\n[profiles.relay.inputs]\nat_stop = [0, 1, 2]\nclosed = 3\nopened = 4\nup = 5\ndown = 6\nvehicle = 7\nfire = 8\nmaintenance = 9\nemergency = 10\nfault = 11\noccupied = 12\n[vehicles]";
    let text = SMALL
        .replace("profile = \"hoistway-plc\"", "profile = \"relay\"")
        .replace("\n[vehicles]", &format!("\n{profile}"));
    let expected = "lifts.L1.plc.profile: \"relay\" has contacts for 3 stops, the lift has 2";
    let refused = parse(&text, "small.toml").unwrap_err().to_string();
    assert!(refused.ends_with(expected), "{refused}");
    let site = parse(
        &text.replace("[0, 1, 2]", "[0, 1]").replace("open = 3, close = 4", "open = 2, close = 3"),
        "s",
    );
    let can = site.unwrap_or_else(|errors| panic!("{errors}")).plant.lifts.into_values().next().unwrap();
    assert!(!can.capabilities.echo && !can.capabilities.boot && !can.capabilities.heartbeat);
}
