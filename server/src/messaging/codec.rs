//! Messages as bytes: the envelope, its bounds, and why a message is not taken.

use chrono::{DateTime, Utc};
use kernel::ids::SiteId;
use kernel::ids::{GatewayId, VehicleId};
use kernel::plant::Plant;
use kernel::wire::gateway::{ControlBeat, GatewayCommand, GatewayStatus, Outcome};
use kernel::wire::vehicle::{Heartbeat, Presence, Telemetry, VehicleAck, VehicleCommand, VehicleReport};
use kernel::wire::{Envelope, ROAD_VERSION, understands};
use kernel::{control, gateway};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::PAYLOAD_MAX;
use super::topics::{GatewayRoad, Topic, VehicleRoad};

/// Longest reason, in characters: it is shown and logged, and part of it came from outside.
const REASON_LENGTH_MAX: usize = 200;

/// A message that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a message on {topic} was not taken: {reason}")]
pub struct Rejected {
    /// Where it arrived.
    pub topic: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Rejected {
    fn new(topic: &str, reason: &str) -> Self {
        let shorten = |text: &str| text.chars().take(REASON_LENGTH_MAX).collect();
        Self { topic: shorten(topic), reason: shorten(reason) }
    }

    /// What the control machine is told.
    pub fn into_event(self) -> control::Event {
        control::Event::MessageRejected { topic: self.topic, reason: self.reason }
    }
}

/// Only this much is read before the version is known.
#[derive(Deserialize)]
struct Head {
    version: String,
}

/// A message in its envelope, as JSON.
///
/// # Errors
/// It cannot be written as JSON, or is longer than [`PAYLOAD_MAX`].
pub fn encode<T: Serialize>(body: T, sent_at: DateTime<Utc>) -> anyhow::Result<Vec<u8>> {
    let payload = serde_json::to_vec(&Envelope::new(body, sent_at))?;
    anyhow::ensure!(
        payload.len() <= PAYLOAD_MAX,
        "a message of {} bytes is too long, at most {PAYLOAD_MAX} are sent",
        payload.len()
    );
    Ok(payload)
}

/// Opens an envelope.
///
/// # Errors
/// Too long, not JSON, of a version that is not understood, or not what this topic carries.
pub fn decode<T: DeserializeOwned>(topic: &str, payload: &[u8]) -> Result<T, Rejected> {
    if payload.len() > PAYLOAD_MAX {
        let reason = format!("it is {} bytes long, at most {PAYLOAD_MAX} are taken", payload.len());
        return Err(Rejected::new(topic, &reason));
    }
    let head: Head = serde_json::from_slice(payload).map_err(|err| {
        let what = if err.is_data() { "it has no envelope" } else { "it is not JSON" };
        Rejected::new(topic, &format!("{what}: {err}"))
    })?;
    if !understands(&head.version) {
        let reason = format!("its version is {}, this side speaks {ROAD_VERSION}", head.version);
        return Err(Rejected::new(topic, &reason));
    }
    let envelope: Envelope<T> = serde_json::from_slice(payload)
        .map_err(|err| Rejected::new(topic, &format!("its content does not fit the topic: {err}")))?;
    Ok(envelope.body)
}

/// A message for a control node.
///
/// # Errors
/// What is wrong with it, unknown senders and bodies that speak for somebody else included.
pub fn decode_for_control(
    plant: &Plant,
    topic: &str,
    payload: &[u8],
) -> Result<Option<control::Event>, Rejected> {
    use control::Event;
    let event = match parse(plant, topic)? {
        Topic::Gateway(_, GatewayRoad::Command) => {
            // What other nodes say to lifts is shown here, too; what they say to vehicles is in the ledger.
            return Ok(match decode(topic, payload)? {
                GatewayCommand::Lift(command) => Some(Event::Overheard(Box::new(command))),
                GatewayCommand::Vehicle(_) => None,
            });
        }
        Topic::Gateway(id, GatewayRoad::Outcome) => {
            let body: Outcome = decode(topic, payload)?;
            same(topic, &id, &body.gateway).map(|()| Event::Outcome(body))
        }
        Topic::Gateway(id, GatewayRoad::Status) => {
            let body: GatewayStatus = decode(topic, payload)?;
            same(topic, &id, &body.gateway).map(|()| Event::GatewayStatus(body))
        }
        Topic::Vehicle(id, VehicleRoad::Ack) => {
            let body: VehicleAck = decode(topic, payload)?;
            same(topic, &id, &body.vehicle).map(|()| Event::Acknowledged(body))
        }
        Topic::Vehicle(id, VehicleRoad::Result) => {
            let body: VehicleReport = decode(topic, payload)?;
            same(topic, &id, &body.vehicle).map(|()| Event::Reported(body))
        }
        Topic::Vehicle(id, VehicleRoad::Heartbeat) => {
            let body: Heartbeat = decode(topic, payload)?;
            same(topic, &id, &body.vehicle).map(|()| Event::Heartbeat(body))
        }
        Topic::Vehicle(id, VehicleRoad::Telemetry) => {
            let body: Telemetry = decode(topic, payload)?;
            same(topic, &id, &body.vehicle).map(|()| Event::Telemetry(body))
        }
        Topic::Vehicle(id, VehicleRoad::Presence) => {
            let body: Presence = decode(topic, payload)?;
            let event = Event::Presence { vehicle: body.vehicle.clone(), online: body.online };
            same(topic, &id, &body.vehicle).map(|()| event)
        }
        Topic::Vehicle(_, VehicleRoad::Command) | Topic::ControlBeat(_) => {
            Err(Rejected::new(topic, "nothing for a control node arrives here"))
        }
    };
    event.map(Some)
}

/// A message for a gateway.
///
/// # Errors
/// What is wrong with it.
pub fn decode_for_gateway(
    plant: &Plant,
    id: &GatewayId,
    topic: &str,
    payload: &[u8],
) -> Result<gateway::Event, Rejected> {
    match parse(plant, topic)? {
        Topic::Gateway(addressee, GatewayRoad::Command) => {
            same(topic, id, &addressee)?;
            let command: GatewayCommand = decode(topic, payload)?;
            Ok(gateway::Event::Commanded(Box::new(command)))
        }
        Topic::ControlBeat(node) => {
            let beat: ControlBeat = decode(topic, payload)?;
            same(topic, &node, &beat.node).map(|()| gateway::Event::Beat(beat))
        }
        Topic::Gateway(_, GatewayRoad::Outcome | GatewayRoad::Status) | Topic::Vehicle(..) => {
            Err(Rejected::new(topic, "nothing for a gateway arrives here"))
        }
    }
}

/// What a vehicle can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForVehicle {
    /// A command.
    Command(VehicleCommand),
    /// A control node lives.
    Beat(ControlBeat),
}

/// A message for a vehicle.
///
/// # Errors
/// What is wrong with it.
pub fn decode_for_vehicle(
    site: &SiteId,
    id: &VehicleId,
    topic: &str,
    payload: &[u8],
) -> Result<ForVehicle, Rejected> {
    match Topic::parse(site, topic).map_err(|err| Rejected::new(topic, &format!("the topic {err}")))? {
        Topic::Vehicle(addressee, VehicleRoad::Command) => {
            same(topic, id, &addressee)?;
            let command: VehicleCommand = decode(topic, payload)?;
            same(topic, id, &command.vehicle).map(|()| ForVehicle::Command(command))
        }
        Topic::ControlBeat(node) => {
            let beat: ControlBeat = decode(topic, payload)?;
            same(topic, &node, &beat.node).map(|()| ForVehicle::Beat(beat))
        }
        Topic::Vehicle(..) | Topic::Gateway(..) => {
            Err(Rejected::new(topic, "nothing for a vehicle arrives here"))
        }
    }
}

fn parse(plant: &Plant, topic: &str) -> Result<Topic, Rejected> {
    let parsed =
        Topic::parse(&plant.site, topic).map_err(|err| Rejected::new(topic, &format!("the topic {err}")))?;
    let unknown = match &parsed {
        Topic::Gateway(id, _) if !plant.gateways.contains(id) => Some(format!("there is no gateway {id}")),
        Topic::Vehicle(id, _) if !plant.vehicles.contains_key(id) => {
            Some(format!("there is no vehicle {id}"))
        }
        Topic::Gateway(..) | Topic::Vehicle(..) | Topic::ControlBeat(_) => None,
    };
    unknown.map_or(Ok(parsed), |reason| Err(Rejected::new(topic, &reason)))
}

fn same<T: PartialEq + std::fmt::Display>(topic: &str, named: &T, spoken: &T) -> Result<(), Rejected> {
    if named == spoken {
        return Ok(());
    }
    Err(Rejected::new(topic, &format!("the topic names {named}, the message {spoken}")))
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
