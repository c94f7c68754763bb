//! The vehicles on the wire: an MQTT client for each, with a persistent session and a last will.
//!
//! Without radio the connection is cut, with no farewell, and not made again until the radio is back: the broker
//! then says "offline" for the vehicle, and keeps its commands. What a vehicle has to say on the reliable road is on the
//! disk until the broker has it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use kernel::ids::{SiteId, VehicleId};
use kernel::plant::Plant;
use kernel::time::Millis;
use kernel::wire::vehicle::Presence;
use serde::Serialize;
use sim::plant::{SimEvent, SimPlant};
use sim::vehicle::{VehicleMessage, VehicleModel};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::rejections::Rejections;
use super::{Input, Options};
use crate::clock;
use crate::drill::roads::{Reader, Roads};
use crate::messaging::codec::{self, ForVehicle};
use crate::messaging::topics::{self, Topic, VehicleRoad};
use crate::messaging::{Incoming, Link, LinkOptions, Outbox, Publish, Road, Subscription, Will, connect};
use crate::site::HostPort;

/// How long the broker keeps a silent vehicle's session, and a result is worth sending (C11).
const SESSION_EXPIRY: Duration = Duration::from_secs(30 * 60);
const RESULT_VALIDITY: Millis = Millis::seconds(30 * 60);
/// The broker forgets what it retains when its validity ends: a month outlives any shutdown of a site.
const PRESENCE_VALIDITY: Millis = Millis::seconds(30 * 24 * 60 * 60);
/// Between 20 and 40 s (C11).
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Messages that wait for the client. A vehicle says four a second; at the bound, which only a stuck client reaches,
/// a message is lost and counted: results are said again at the next connection, the rest is soon outdated.
const SAID_MAX: usize = 256;
/// What waits for the plant: commands are few, and the newest control beat is enough.
const INCOMING_MAX: usize = 64;
/// How long a stop waits for the farewells, a little more than a link's own bound of 2 s; after that the last will
/// speaks.
const FAREWELL: Duration = Duration::from_secs(3);

/// Every vehicle's client.
pub(super) struct Fleet {
    mouths: BTreeMap<VehicleId, Mouth>,
    clients: JoinSet<()>,
    seen: Arc<Rejections>,
}

/// The way to one client.
struct Mouth {
    said: mpsc::Sender<VehicleMessage>,
    radio: watch::Sender<bool>,
}

impl Fleet {
    /// Starts a client for each vehicle; they connect when the broker is there and their radio is up.
    ///
    /// # Errors
    /// What a vehicle still has to say cannot be read.
    pub(super) async fn connect(
        plant: &Plant,
        sim: &SimPlant,
        options: &Options,
        inputs: &mpsc::Sender<Input>,
        seen: &Arc<Rejections>,
    ) -> anyhow::Result<Self> {
        let mut mouths = BTreeMap::new();
        let mut clients = JoinSet::new();
        for vehicle in plant.vehicles.keys() {
            let (said, saying) = mpsc::channel(SAID_MAX);
            let up = sim.vehicle(vehicle).is_some_and(VehicleModel::radio_is_up);
            let (radio, radio_seen) = watch::channel(up);
            let client = Client {
                site: plant.site.clone(),
                vehicle: vehicle.clone(),
                ack_validity: plant.link_budget.ack_deadline(),
                roads: options.roads.clone(),
                inputs: inputs.clone(),
                seen: Arc::clone(seen),
            };
            let outbox = Outbox::sqlite(options.pool.clone(), &client.name(), clock::mono()).await?;
            clients.spawn(client.run(options.broker.clone(), outbox, saying, radio_seen));
            mouths.insert(vehicle.clone(), Mouth { said, radio });
        }
        Ok(Self { mouths, clients, seen: Arc::clone(seen) })
    }

    /// Hands a message to the vehicle's client.
    pub(super) fn say(&self, vehicle: &VehicleId, message: VehicleMessage) {
        let Some(mouth) = self.mouths.get(vehicle) else { return };
        if let Err(error) = mouth.said.try_send(message) {
            self.seen.note(vehicle.as_str(), "not sent", &error.to_string());
        }
    }

    /// The radio of a vehicle came or went.
    pub(super) fn set_radio(&self, vehicle: &VehicleId, up: bool) {
        if let Some(mouth) = self.mouths.get(vehicle) {
            mouth.radio.send_replace(up);
        }
    }

    /// Lets every client say goodbye.
    pub(super) async fn close(mut self) {
        self.mouths.clear();
        let farewells = async { while self.clients.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, farewells).await.is_err() {
            tracing::warn!("some vehicles could not say goodbye to the broker");
        }
    }
}

/// One vehicle's client.
struct Client {
    site: SiteId,
    vehicle: VehicleId,
    ack_validity: Millis,
    roads: Option<Roads>,
    inputs: mpsc::Sender<Input>,
    seen: Arc<Rejections>,
}

impl Client {
    async fn run(
        self,
        broker: HostPort,
        outbox: Outbox,
        mut saying: mpsc::Receiver<VehicleMessage>,
        mut radio: watch::Receiver<bool>,
    ) {
        let options = match self.options(broker) {
            Ok(options) => options,
            Err(error) => return self.seen.note(self.vehicle.as_str(), "no client", &error.to_string()),
        };
        while !*radio.borrow_and_update() {
            // Out of reach since the start; the fleet may stop before that ends.
            if radio.changed().await.is_err() {
                return;
            }
        }
        let (link, arriving) = connect(options, outbox);
        let mut arriving = match &self.roads {
            Some(roads) => roads.tap(&self.site, (Reader::Vehicle, self.vehicle.as_str()), arriving),
            None => arriving,
        };
        loop {
            tokio::select! {
                said = saying.recv() => match said {
                    Some(message) => self.publish(&link, message).await,
                    None => break,
                },
                changed = radio.changed() => {
                    let up = *radio.borrow_and_update();
                    match (changed, up) {
                        // The fleet stops; what was said before is still sent, then `saying` ends.
                        (Err(_), _) => {}
                        (Ok(()), true) => link.resume().await,
                        (Ok(()), false) => link.drop_hard().await,
                    }
                }
                incoming = arriving.recv() => match incoming {
                    Some(incoming) => self.hear(&link, incoming).await,
                    None => break,
                },
            }
        }
        self.show_presence(&link, false).await;
        link.close().await;
    }

    fn options(&self, broker: HostPort) -> anyhow::Result<LinkOptions> {
        let subscription = |filter| Subscription { filter, reliable: true };
        Ok(LinkOptions {
            host: broker.host,
            port: broker.port,
            client_id: self.name(),
            clean_start: false,
            session_expiry: SESSION_EXPIRY,
            will: Some(Will {
                topic: self.topic(VehicleRoad::Presence),
                payload: codec::encode(self.presence(false), Utc::now())?,
                retain: true,
            }),
            keep_alive: KEEP_ALIVE,
            subscriptions: vec![
                subscription(self.topic(VehicleRoad::Command)),
                Subscription { filter: topics::every_control_beat(&self.site), reliable: false },
            ],
            incoming_bound: INCOMING_MAX,
        })
    }

    /// Of the client at the broker.
    fn name(&self) -> String {
        format!("hoistway-{}-vehicle-{}", self.site, self.vehicle)
    }

    fn topic(&self, road: VehicleRoad) -> String {
        Topic::Vehicle(self.vehicle.clone(), road).to_text(&self.site)
    }

    fn presence(&self, online: bool) -> Presence {
        Presence { vehicle: self.vehicle.clone(), online }
    }

    async fn publish(&self, link: &Link, message: VehicleMessage) {
        match message {
            VehicleMessage::Ack(ack) => {
                let road =
                    Road::Reliable { key: format!("ack {}", ack.command), valid_for: self.ack_validity };
                self.send(link, VehicleRoad::Ack, &ack, road, false).await;
            }
            VehicleMessage::Report(report) => {
                let key = format!("report {} {}", report.boot, report.report);
                let road = Road::Reliable { key, valid_for: RESULT_VALIDITY };
                // The outbox keeps it from here on, over every reconnect.
                if self.send(link, VehicleRoad::Result, &report, road, false).await {
                    let (vehicle, report) = (self.vehicle.clone(), report.report);
                    self.happen(SimEvent::ReportDelivered { vehicle, report }).await;
                }
            }
            VehicleMessage::Heartbeat(beat) => {
                self.send(link, VehicleRoad::Heartbeat, &beat, Road::Fast, false).await;
            }
            VehicleMessage::Telemetry(sample) => {
                self.send(link, VehicleRoad::Telemetry, &sample, Road::Fast, false).await;
            }
        }
    }

    async fn show_presence(&self, link: &Link, online: bool) {
        let road = Road::Reliable { key: "presence".to_owned(), valid_for: PRESENCE_VALIDITY };
        self.send(link, VehicleRoad::Presence, &self.presence(online), road, true).await;
    }

    /// Says whether the link took it.
    async fn send<T: Serialize>(
        &self,
        link: &Link,
        to: VehicleRoad,
        body: &T,
        road: Road,
        retain: bool,
    ) -> bool {
        let payload = match codec::encode(body, Utc::now()) {
            Ok(payload) => payload,
            Err(error) => {
                self.seen.note(self.vehicle.as_str(), "not encoded", &error.to_string());
                return false;
            }
        };
        let publish = Publish { topic: self.topic(to), payload, road, retain };
        match link.publish(publish).await {
            Ok(()) => true,
            Err(error) => {
                self.seen.note(self.vehicle.as_str(), "not sent", &error.to_string());
                false
            }
        }
    }

    async fn hear(&self, link: &Link, incoming: Incoming) {
        let vehicle = self.vehicle.clone();
        match incoming {
            Incoming::Connected { .. } => {
                self.show_presence(link, true).await;
                self.happen(SimEvent::VehicleConnected { vehicle }).await;
            }
            Incoming::Disconnected { reason } => {
                tracing::debug!(%vehicle, reason, "the vehicle lost the broker");
                self.happen(SimEvent::VehicleDisconnected { vehicle }).await;
            }
            Incoming::Message { topic, payload } => {
                match codec::decode_for_vehicle(&self.site, &self.vehicle, &topic, &payload) {
                    Ok(ForVehicle::Command(command)) => {
                        self.happen(SimEvent::VehicleCommand(Box::new(command))).await;
                    }
                    Ok(ForVehicle::Beat(_)) => self.happen(SimEvent::ControlBeat { vehicle }).await,
                    Err(rejected) => {
                        self.seen.note(vehicle.as_str(), "message not understood", &rejected.to_string());
                    }
                }
            }
        }
    }

    /// Waits for room: what arrives then waits with the broker. The plant never waits for a client, so this ends.
    async fn happen(&self, event: SimEvent) {
        // The plant is gone only when everything stops.
        _ = self.inputs.send(Input::Happened(event)).await;
    }
}
