//! Lift health as a program and a Prometheus read it.

use chrono::{DateTime, TimeDelta, Utc};
use kernel::alarm::{Alarm, AlarmKind, Subject};
use kernel::control::{Effect, Event};
use kernel::ids::{AlarmId, Generation, LedgerSequence, LiftId, SessionId};
use kernel::lease::{FencingToken, HeldLease, LeaseNonce};
use kernel::time::{Mono, Now};
use kernel::wire::ledger::{Entry, Record, SessionPhase};
use reqwest::header::{CONTENT_TYPE, HOST};
use serde_json::{Value, json};

use super::problem;
use crate::web::{Control, Web, client};

fn name<T: TryFrom<String>>(text: &str) -> T {
    T::try_from(text.to_owned()).unwrap_or_else(|_| panic!("{text} is no name"))
}

/// A ride that began three minutes ago and is over, an emergency stop by fault 2, and a lease that took 7 ms.
fn live_through(web: &Web, now: DateTime<Utc>) {
    let lift: LiftId = name("L1");
    let session: SessionId = name("S-1.0");
    let becomes = |phase| Record::SessionChanged {
        session: session.clone(),
        phase,
        generation: Generation(1),
        lift: lift.clone(),
    };
    let asks = Record::SessionRequested {
        session: session.clone(),
        lift: lift.clone(),
        task: name("T-1"),
        vehicle: name("V01"),
        from: name("F1"),
        to: name("F2"),
    };
    let kind = AlarmKind::LiftEmergencyStopped;
    let id: AlarmId = name("LiftEmergencyStopped.L1");
    let stop = Alarm { id, kind, subject: Subject::Lift(lift.clone()), detail: "#2".to_owned() };
    let story = [
        (180, asks),
        (160, becomes(SessionPhase::Granted)),
        (120, becomes(SessionPhase::Riding)),
        (100, becomes(SessionPhase::Released)),
        (90, Record::AlarmRaised { alarm: stop }),
    ];
    let entries = (1..).zip(story).map(|(sequence, (ago, record))| Entry {
        sequence: LedgerSequence(sequence),
        at: now - TimeDelta::seconds(ago),
        node: name("A"),
        record,
        drill: false,
    });
    web.hub.know_ledger(&entries.collect::<Vec<_>>());
    let clock = |ms| Now { mono: Mono(ms), wall: now };
    let (nonce, token) = (LeaseNonce(1), FencingToken { epoch: 1, serial: 1 });
    let asked = Effect::AcquireLease {
        lift: lift.clone(),
        nonce,
        epoch: 1,
        floor: 0,
        life: kernel::lease::StoreLife::default(),
        priority: kernel::lease::LeasePriority::default(),
    };
    let lease = HeldLease::granted(lift, nonce, token, Mono(0));
    let mut health = web.hub.health();
    health.see(&asked, clock(0));
    health.hear(&Event::LeaseGranted { nonce, lease }, clock(7));
}

/// The sum of a figure over the shifts of an answer: the story may lie on both sides of midnight.
fn sum(health: &Value, pointer: &str) -> u64 {
    let shifts = health["shifts"].as_array().unwrap();
    shifts.iter().filter_map(|it| it.pointer(pointer)?.as_u64()).sum()
}

#[tokio::test]
async fn lift_health_is_read_shift_by_shift() {
    let web = Web::start(Control::Accepts).await;
    let empty = web.read("/api/v1/lifts/L1/health").await;
    assert_eq!((sum(&empty, "/elapsedMs"), &empty["shifts"][0]["heard"]), (0, &Value::Null));
    live_through(&web, Utc::now());
    let health = web.read("/api/v1/lifts/L1/health").await;
    assert_eq!((&health["lift"], &health["node"]), (&json!("L1"), &json!("A")));
    let figures = [
        ("/recorded/vehicleWait/count", 1),
        ("/recorded/vehicleWait/sumMs", 60_000),
        ("/recorded/turnWait/sumMs", 20_000),
        ("/recorded/heldMs", 60_000),
        ("/recorded/faultTickets", 1),
        ("/recorded/emergencyStops/0/fault", 2),
        ("/recorded/emergencyStops/0/count", 1),
        ("/heard/leases/asked", 1),
        ("/heard/leases/granted", 1),
        ("/heard/leases/wait/sumMs", 7),
        ("/heard/commands/sent", 0),
        ("/heard/conflicts/reached", 0),
    ];
    for (pointer, expected) in figures {
        assert_eq!(sum(&health, pointer), expected, "{pointer} in {health:#}");
    }
    // The plant of these tests names no shifts: each is a day of its time zone, Asia/Shanghai.
    for shift in health["shifts"].as_array().unwrap() {
        let starts: DateTime<Utc> = shift["startsAt"].as_str().unwrap().parse().unwrap();
        assert_eq!(starts.format("%H:%M").to_string(), "16:00", "midnight at the site");
    }
    assert!(sum(&health, "/elapsedMs") >= 180_000, "{health:#}");
    for unknown in ["L2", "L%209"] {
        let response = web.get(&format!("/api/v1/lifts/{unknown}/health")).await;
        let body = problem(response, 404, "not_found", unknown).await;
        assert!(body["detail"].as_str().unwrap().contains("GET /api/v1/lifts lists"), "{body}");
    }
}

/// The value of a series in Prometheus's text format.
fn value<'t>(text: &'t str, series: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

#[tokio::test]
async fn prometheus_scrapes_what_rest_tells() {
    let web = Web::start(Control::Accepts).await;
    live_through(&web, Utc::now());
    // As Prometheus asks, by the name that stands in its configuration.
    let host = format!("localhost:{}", web.address.port());
    let response = client().get(web.url("/metrics")).header(HOST, host).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.text().await.unwrap();
    let rows = [
        ("hoistway_ready", "1"),
        ("hoistway_broker_connected", "1"),
        ("hoistway_ledger_writable", "1"),
        ("hoistway_lease_store_reached", "1"),
        ("hoistway_drill", "0"),
        ("hoistway_lift_conflicts_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_contradicting_commands_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_emergency_stops_total{lift=\"L1\",fault=\"2\"}", "1"),
        ("hoistway_lift_fault_tickets_total{lift=\"L1\"}", "1"),
        ("hoistway_lift_commands_saved_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_foreign_moves_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_held_seconds_total{lift=\"L1\"}", "60.0"),
        ("hoistway_lift_edge_spells_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_edge_commands_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_lease_requests_total{lift=\"L1\"}", "1"),
        ("hoistway_lift_lease_answers_total{lift=\"L1\",answer=\"granted\"}", "1"),
        ("hoistway_lift_lease_answers_total{lift=\"L1\",answer=\"held\"}", "0"),
        ("hoistway_lift_lease_losses_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_commands_total{lift=\"L1\"}", "0"),
        ("hoistway_lift_command_outcomes_total{lift=\"L1\",outcome=\"fenced\"}", "0"),
        ("hoistway_lift_moving_seconds_total{lift=\"L1\"}", "0.0"),
        ("hoistway_lift_vehicle_wait_seconds_bucket{lift=\"L1\",le=\"30\"}", "0"),
        ("hoistway_lift_vehicle_wait_seconds_bucket{lift=\"L1\",le=\"60\"}", "1"),
        ("hoistway_lift_vehicle_wait_seconds_bucket{lift=\"L1\",le=\"+Inf\"}", "1"),
        ("hoistway_lift_vehicle_wait_seconds_sum{lift=\"L1\"}", "60.0"),
        ("hoistway_lift_turn_wait_seconds_count{lift=\"L1\"}", "1"),
        ("hoistway_lift_lease_wait_seconds_bucket{lift=\"L1\",le=\"0.005\"}", "0"),
        ("hoistway_lift_lease_wait_seconds_bucket{lift=\"L1\",le=\"0.007\"}", "1"),
    ];
    for (series, expected) in rows {
        assert_eq!(value(&text, series), Some(expected), "{series} in\n{text}");
    }
    for line in text.lines().filter(|it| !it.starts_with('#')) {
        let metric = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|it| metric.strip_suffix(it));
        let help = format!("# HELP {} ", family.unwrap_or(metric));
        assert!(text.contains(&help), "{metric} has no help");
    }
    web.leases.set_stopped(true);
    let text = web.get("/metrics").await.text().await.unwrap();
    assert_eq!(value(&text, "hoistway_lease_store_reached"), Some("0"));
}
