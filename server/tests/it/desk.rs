//! What control says to a gateway of the small site, and hears of it.

use std::net::SocketAddr;

use kernel::ids::{CommandId, FloorId, Generation, LiftId, NodeId, SessionId, TaskId, VehicleId};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::LiftAction;
use kernel::time::Millis;
use kernel::wire::gateway::{
    Authority, Connection, GatewayCommand, GatewayRefusal, GatewayStatus, LiftCommand, LiftReading, Outcome,
    SessionRef, Verdict,
};
use server::clock;
use server::messaging::codec::{decode, encode};
use server::messaging::{Incoming, Link, LinkOptions, Outbox, Publish, Road, Subscription, connect};
use server::site::SiteFile;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use crate::brokers::{PATIENCE, client};

/// A machine does not stand still again and again between a read and a command.
const ATTEMPTS_MAX: usize = 20;

pub(crate) struct Desk {
    pub(crate) site: SiteFile,
    pub(crate) control: Link,
    heard: Receiver<Incoming>,
}

impl Desk {
    pub(crate) fn open(site: SiteFile, broker: SocketAddr) -> Self {
        let options = LinkOptions {
            subscriptions: vec![Subscription { filter: "hoistway/v1/small/#".to_owned(), reliable: true }],
            ..client(broker, "control")
        };
        let (control, heard) = connect(options, Outbox::memory());
        Self { site, control, heard }
    }

    pub(crate) fn lift(&self) -> LiftId {
        self.site.plant.lifts.keys().next().unwrap().clone()
    }

    pub(crate) async fn next(&mut self, ending: &str) -> (String, Vec<u8>) {
        loop {
            let news = timeout(PATIENCE, self.heard.recv()).await.expect("something is heard").unwrap();
            if let Incoming::Message { topic, payload } = news
                && topic.ends_with(ending)
            {
                return (topic, payload.to_vec());
            }
        }
    }

    /// The first status in which the lift is as wanted.
    pub(crate) async fn reading(&mut self, wanted: impl Fn(&LiftReading) -> bool) -> LiftReading {
        loop {
            let (topic, payload) = self.next("/status").await;
            let status: GatewayStatus = decode(&topic, &payload).unwrap();
            let reading = status.lifts.into_iter().next().unwrap();
            if reading.status.is_some() && wanted(&reading) {
                return reading;
            }
        }
    }

    /// Waits until the gateway says that it rejected so many messages.
    pub(crate) async fn rejected(&mut self, expected: u64) {
        loop {
            let (topic, payload) = self.next("/status").await;
            let status: GatewayStatus = decode(&topic, &payload).unwrap();
            assert!(status.messages_rejected <= expected, "{}", status.messages_rejected);
            if status.messages_rejected == expected {
                return;
            }
        }
    }

    pub(crate) async fn outcome(&mut self) -> Outcome {
        let (topic, payload) = self.next("/outcome").await;
        decode(&topic, &payload).unwrap()
    }

    pub(crate) async fn send(&self, id: &str, command: GatewayCommand) {
        let payload = encode(command, clock::now().wall).unwrap();
        let road = Road::Reliable { key: id.to_owned(), valid_for: Millis::seconds(60) };
        let topic = "hoistway/v1/small/gateway/G1/command".to_owned();
        self.control.publish(Publish { topic, payload, road, retain: false }).await.unwrap();
    }

    /// Sends a command made from the newest read, and another as long as the gateway finds that too old. Gives the
    /// last one and the gateway's first word on it.
    pub(crate) async fn decided(
        &mut self,
        id: &str,
        action: LiftAction,
        serial: u64,
    ) -> (LiftCommand, Verdict) {
        self.decided_at(id, action, None, serial).await
    }

    /// The same, of a floor where the car does not stand.
    pub(crate) async fn decided_at(
        &mut self,
        id: &str,
        action: LiftAction,
        floor: Option<&str>,
        serial: u64,
    ) -> (LiftCommand, Verdict) {
        for attempt in 1.. {
            let steady = |it: &LiftReading| it.verifying.is_none() && it.connection == Connection::Up;
            let reading = self.reading(|it| steady(it) && it.age_ms < Millis(500)).await;
            let id = format!("{id}-{attempt}");
            let mut command = LiftCommand { action, ..self.command(&id, &reading, serial) };
            command.floor = floor.map_or(command.floor, |it| FloorId::try_new(it).unwrap());
            self.send(&id, GatewayCommand::Lift(command.clone())).await;
            let outcome = self.outcome().await;
            assert_eq!(outcome.command, command.id);
            let too_old = matches!(
                outcome.verdict,
                Verdict::Refused { reason: GatewayRefusal::StaleRead | GatewayRefusal::Unreachable }
            );
            if !too_old || attempt == ATTEMPTS_MAX {
                return (command, outcome.verdict);
            }
        }
        unreachable!("the last attempt is told")
    }

    pub(crate) fn command(&self, id: &str, reading: &LiftReading, serial: u64) -> LiftCommand {
        let status = reading.status.clone().unwrap();
        LiftCommand {
            id: CommandId::try_new(id).unwrap(),
            lift: self.lift(),
            action: LiftAction::OpenDoor,
            floor: status.floor.clone(),
            holder: NodeId::try_new("A").unwrap(),
            sequence: serial,
            authority: Authority::Lease {
                token: FencingToken { epoch: reading.epoch, serial },
                nonce: LeaseNonce(serial),
            },
            session: SessionRef {
                session: SessionId::try_new("S1").unwrap(),
                generation: Generation(1),
                task: TaskId::try_new("T1").unwrap(),
                claim: Generation(1),
                link: Generation(1),
                vehicle: VehicleId::try_new("V01").unwrap(),
            },
            read: reading.read,
            expects: status.expectation(),
            valid_for_ms: Millis::seconds(60),
        }
    }
}
