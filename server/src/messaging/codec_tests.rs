//! What is not taken, and why.

use kernel::plant::{Plant, Vehicle};
use kernel::timing::LinkBudget;

use super::*;

fn plant() -> Plant {
    let gateway = GatewayId::try_new("G1").unwrap();
    let vehicle = Vehicle {
        gateway: gateway.clone(),
        home: kernel::ids::PointId::try_new("P1").unwrap(),
        speed_mm_s: 1000,
        creep_mm_s: 200,
        weight_kg: 400,
        payload_kg: 1000,
    };
    Plant {
        site: SiteId::try_new("small").unwrap(),
        name: "Small".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        shift_starts_min: vec![0],
        floors: Vec::new(),
        points: [].into(),
        edges: Vec::new(),
        stations: [].into(),
        lifts: [].into(),
        zones: Vec::new(),
        vehicles: [(VehicleId::try_new("V01").unwrap(), vehicle)].into(),
        gateways: vec![gateway],
        link_budget: LinkBudget::REPORTED,
    }
}

fn presence(vehicle: &str) -> Vec<u8> {
    encode(Presence { vehicle: VehicleId::try_new(vehicle).unwrap(), online: true }, DateTime::UNIX_EPOCH)
        .unwrap()
}

#[test]
fn a_message_arrives_as_its_event() {
    let event = decode_for_control(&plant(), "hoistway/v1/small/vehicle/V01/presence", &presence("V01"));
    let vehicle = VehicleId::try_new("V01").unwrap();
    assert_eq!(event, Ok(Some(control::Event::Presence { vehicle, online: true })));
}

#[test]
fn a_newer_minor_version_and_unknown_fields_are_taken() {
    let text = r#"{"version":"1.7","sentAt":"1970-01-01T00:00:00Z","extra":1,"body":{"vehicle":"V01","online":true,"colour":"red"}}"#;
    assert!(decode_for_control(&plant(), "hoistway/v1/small/vehicle/V01/presence", text.as_bytes()).is_ok());
}

#[test]
fn what_is_not_taken_says_why() {
    let other = String::from_utf8(presence("V01")).unwrap().replace(r#""1.0""#, r#""2.0""#);
    let long = vec![b' '; PAYLOAD_MAX + 1];
    let rows: &[(&str, &[u8], &str)] = &[
        ("vehicle/V01/presence", b"hello", "it is not JSON: expected value at line 1 column 1"),
        ("vehicle/V01/presence", b"", "it is not JSON: EOF while parsing a value at line 1 column 0"),
        ("vehicle/V01/presence", &[0xff, 0xfe], "it is not JSON: expected value at line 1 column 1"),
        ("vehicle/V01/presence", b"{}", "it has no envelope: missing field `version` at line 1 column 2"),
        (
            "vehicle/V01/presence",
            b"[1]",
            "it has no envelope: invalid type: integer `1`, expected a string at line 1 column 2",
        ),
        ("vehicle/V01/presence", other.as_bytes(), "its version is 2.0, this side speaks 1.0"),
        (
            "vehicle/V01/ack",
            br#"{"version":"1.0","sentAt":"1970-01-01T00:00:00Z","body":{}}"#,
            "its content does not fit the topic: missing field `command` at line 1 column 58",
        ),
        ("vehicle/V01/presence", &long, "it is 65537 bytes long, at most 65536 are taken"),
        ("vehicle/V02/presence", &presence("V02"), "there is no vehicle V02"),
        ("gateway/G2/status", b"", "there is no gateway G2"),
        ("vehicle/V01/presence", &presence("V02"), "the topic names V01, the message V02"),
        ("vehicle/V01/command", b"", "nothing for a control node arrives here"),
        ("vehicle/V01/song", b"", "the topic is no topic of site small"),
    ];
    for (topic, payload, expected) in rows {
        let topic = format!("hoistway/v1/small/{topic}");
        let rejected = decode_for_control(&plant(), &topic, payload).unwrap_err();
        assert_eq!((rejected.topic.as_str(), rejected.reason.as_str()), (topic.as_str(), *expected));
    }
}

#[test]
fn a_gateway_takes_its_own_commands_and_every_nodes_beats() {
    let id = GatewayId::try_new("G1").unwrap();
    let node = kernel::ids::NodeId::try_new("A").unwrap();
    let beat = ControlBeat { node, beat: 7, reaches_store: Some(false), epochs: Vec::new() };
    let payload = encode(beat.clone(), DateTime::UNIX_EPOCH).unwrap();
    let taken = decode_for_gateway(&plant(), &id, "hoistway/v1/small/control/A/beat", &payload);
    assert_eq!(taken, Ok(gateway::Event::Beat(beat)));
    let foreign = decode_for_gateway(&plant(), &id, "hoistway/v1/small/control/B/beat", &payload);
    assert_eq!(foreign.unwrap_err().reason, "the topic names B, the message A");
    let rows = [
        ("gateway/G1/status", "nothing for a gateway arrives here"),
        ("gateway/G1/command", "it is not JSON: EOF while parsing a value at line 1 column 0"),
        ("gateway/G2/command", "there is no gateway G2"),
    ];
    for (topic, expected) in rows {
        let topic = format!("hoistway/v1/small/{topic}");
        assert_eq!(decode_for_gateway(&plant(), &id, &topic, b"").unwrap_err().reason, expected);
    }
}

#[test]
fn a_vehicle_takes_its_own_commands_and_beats() {
    let (site, id) = (SiteId::try_new("small").unwrap(), VehicleId::try_new("V01").unwrap());
    let node = kernel::ids::NodeId::try_new("A").unwrap();
    let beat = ControlBeat { node, beat: 7, reaches_store: Some(true), epochs: Vec::new() };
    let payload = encode(beat.clone(), DateTime::UNIX_EPOCH).unwrap();
    let taken = decode_for_vehicle(&site, &id, "hoistway/v1/small/control/A/beat", &payload);
    assert_eq!(taken, Ok(ForVehicle::Beat(beat)));
    let rows = [
        ("hoistway/v1/small/control/B/beat", "the topic names B, the message A"),
        ("hoistway/v1/small/vehicle/V02/command", "the topic names V01, the message V02"),
        ("hoistway/v1/small/vehicle/V01/ack", "nothing for a vehicle arrives here"),
        ("hoistway/v1/other/control/A/beat", "the topic is no topic of site small"),
    ];
    for (topic, expected) in rows {
        assert_eq!(decode_for_vehicle(&site, &id, topic, &payload).unwrap_err().reason, expected);
    }
}

#[test]
fn a_reason_from_outside_is_bounded() {
    let text = format!(r#"{{"version":"{}"}}"#, "9".repeat(1000));
    let rejected = decode::<Presence>("t", text.as_bytes()).unwrap_err();
    assert_eq!(rejected.reason.chars().count(), REASON_LENGTH_MAX);
}
