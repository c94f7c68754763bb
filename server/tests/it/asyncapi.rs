//! Holds `public/asyncapi.yaml` to the kernel's messages: what the code writes is what the file says, field by field
//! and variant by variant, and every example of the file is understood by the code.

mod samples;
mod schema;
mod yaml;

use std::collections::BTreeSet;

use kernel::ids::{GatewayId, NodeId, SiteId, VehicleId};
use kernel::wire::Envelope;
use kernel::wire::gateway::{ControlBeat, GatewayCommand, GatewayStatus, Outcome};
use kernel::wire::vehicle::{Heartbeat, Presence, Telemetry, VehicleAck, VehicleCommand, VehicleReport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use server::messaging::topics::{GatewayRoad, Topic, VehicleRoad};

use self::schema::Schemas;

fn document() -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../public/asyncapi.yaml");
    yaml::parse(&std::fs::read_to_string(path).unwrap())
}

/// A message as the file names it.
struct Row {
    name: &'static str,
    /// Values that together show each field and each variant.
    samples: Vec<Value>,
    /// Reads an envelope and writes it again.
    again: fn(Value) -> Result<Value, serde_json::Error>,
}

fn row<T: Serialize + DeserializeOwned>(name: &'static str, samples: Vec<T>) -> Row {
    let sent_at = "2026-11-30T14:32:07Z".parse().unwrap();
    let wrapped = samples.into_iter().map(|it| serde_json::to_value(Envelope::new(it, sent_at)).unwrap());
    Row {
        name,
        samples: wrapped.collect(),
        again: |value| serde_json::from_value::<Envelope<T>>(value).and_then(serde_json::to_value),
    }
}

fn rows() -> Vec<Row> {
    vec![
        row::<VehicleCommand>("vehicleCommand", samples::vehicle_commands()),
        row::<VehicleAck>("vehicleAck", samples::acks()),
        row::<VehicleReport>("vehicleReport", samples::reports()),
        row::<Heartbeat>("heartbeat", samples::heartbeats()),
        row::<Telemetry>("telemetry", samples::telemetry()),
        row::<Presence>("presence", samples::presence()),
        row::<GatewayCommand>("gatewayCommand", samples::gateway_commands()),
        row::<Outcome>("outcome", samples::outcomes()),
        row::<GatewayStatus>("gatewayStatus", samples::statuses()),
        row::<ControlBeat>("controlBeat", samples::beats()),
    ]
}

#[test]
fn asyncapi_is_true() {
    let document = document();
    let schemas = Schemas::of(&document);
    let mut shown = BTreeSet::new();
    for Row { name, samples, .. } in rows() {
        for sample in samples {
            let checked = schemas.check(&format!("{name}Envelope"), &sample, &mut shown);
            checked.unwrap_or_else(|reason| panic!("{name}: {reason}\n{sample:#}"));
        }
    }
    let untold: Vec<_> = schemas.everything().into_iter().filter(|it| !shown.contains(it)).collect();
    assert_eq!(untold, [""; 0], "asyncapi.yaml tells of these, and the code never writes them");
}

#[test]
fn each_example_is_understood() {
    let document = document();
    let schemas = Schemas::of(&document);
    let messages = document["components"]["messages"].as_object().unwrap();
    assert_eq!(messages.len(), rows().len(), "each message has its row here");
    for Row { name, again, .. } in rows() {
        let examples = messages[name]["examples"].as_array().unwrap();
        for payload in examples.iter().map(|it| &it["payload"]) {
            let checked = schemas.check(&format!("{name}Envelope"), payload, &mut BTreeSet::new());
            checked.unwrap_or_else(|reason| panic!("{name}: {reason}\n{payload:#}"));
            assert_eq!(again(payload.clone()).unwrap(), *payload, "{name}");
        }
    }
}

#[test]
fn fields_and_words_are_camel_case() {
    let document = document();
    for path in Schemas::of(&document).everything() {
        assert!(!path.contains('_'), "{path}");
    }
}

#[test]
fn each_reference_leads_somewhere() {
    let document = document();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(target) = value.get("$ref").and_then(Value::as_str) {
            assert!(document.pointer(&target[1..]).is_some(), "{target}");
        }
        open.extend(value.as_object().into_iter().flat_map(|it| it.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
}

#[test]
fn channels_are_the_topics_in_use() {
    let document = document();
    let site = SiteId::try_new("demo").unwrap();
    let channels = document["channels"].as_object().unwrap();
    let found: BTreeSet<String> = channels
        .values()
        .map(|channel| channel["address"].as_str().unwrap().replace("{site}", "demo"))
        .map(|text| ["{vehicle}", "{gateway}", "{node}"].iter().fold(text, |text, it| text.replace(it, "X")))
        .collect();
    for text in &found {
        let topic = Topic::parse(&site, text).unwrap_or_else(|error| panic!("{text} {error}"));
        assert_eq!(topic.to_text(&site), *text);
    }
    let vehicle = VehicleId::try_new("X").unwrap();
    let gateway = GatewayId::try_new("X").unwrap();
    let beat = Topic::ControlBeat(NodeId::try_new("X").unwrap());
    let vehicles = VehicleRoad::ALL.into_iter().map(|road| Topic::Vehicle(vehicle.clone(), road));
    let gateways = GatewayRoad::ALL.into_iter().map(|road| Topic::Gateway(gateway.clone(), road));
    let used: BTreeSet<String> = vehicles.chain(gateways).chain([beat]).map(|it| it.to_text(&site)).collect();
    assert_eq!(found, used);
}
