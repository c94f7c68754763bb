//! The shell of a gateway: one loop that steps the machine and performs its effects in order.
//!
//! What is to be persisted is on the disk before any later effect is performed. When the disk refuses, the gateway
//! ends rather than write a number that it could not remember.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kernel::gateway::{Effect, Event, Gateway, Marks, WriteResult};
use kernel::ids::{GatewayId, LiftId};
use kernel::plant::Plant;
use kernel::time::Millis;
use kernel::wire::gateway::{Outcome, Verdict};
use serde::Serialize;
use sqlx::SqlitePool;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::{self, Clock};
use crate::drill::Levers;
use crate::drill::levers::Program;
use crate::drill::roads::Reader;
use crate::fieldbus::Profile;
use crate::fieldbus::modbus::{self, Bus, BusLift, Patience};
use crate::fieldbus::wire::Wire;
use crate::messaging::codec::{decode_for_gateway, encode};
use crate::messaging::topics::{GatewayRoad, Topic, VehicleRoad, every_control_beat};
use crate::messaging::{Incoming, Link, LinkOptions, Outbox, Publish, Road, Subscription, connect};

/// Reads and results that wait for the loop. A hundred lifts read five times a second fill it in half a second;
/// beyond it reads get rarer and nothing is lost.
const BUS_EVENTS_MAX: usize = 256;
/// Commands that wait for the loop. Beyond it they stay with the broker until their validity ends.
const COMMANDS_MAX: usize = 64;
/// An outcome that control has not heard after this long is found out by its own reading of the lift.
const OUTCOME_VALIDITY: Millis = Millis::seconds(600);
/// Different reasons for rejecting messages that are logged; further ones are only counted.
const LOGGED_REASONS_MAX: usize = 64;

/// How a gateway reaches the world.
#[derive(Clone, Debug)]
pub struct GatewayOptions {
    /// Name or address of the broker.
    pub broker_host: String,
    /// Its port.
    pub broker_port: u16,
    /// Marks and outbox are kept here.
    pub pool: SqlitePool,
    /// How each lift of this gateway is reached.
    pub plcs: BTreeMap<LiftId, PlcLink>,
    /// By which a drill run makes it fail; none in an ordinary run.
    pub levers: Option<Levers>,
}

/// How a PLC is reached.
#[derive(Clone, Debug)]
pub struct PlcLink {
    /// What leads there.
    pub wire: Wire,
    /// Modbus unit.
    pub unit: u8,
    /// Where it keeps what.
    pub profile: Profile,
}

/// A gateway at work.
#[derive(Debug)]
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Running {
    /// Ends it: outcomes are sent, the connection is closed with a farewell. What is under way in a PLC is found
    /// out at the next start.
    ///
    /// # Errors
    /// What had ended it before.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.wait().await
    }

    /// Ends it as a kill would: no farewell, and what it had in hand is lost. What it had made durable is.
    pub async fn kill(self) {
        self.task.abort();
        self.stop.cancel();
        // It ends by being aborted.
        _ = self.task.await;
    }

    /// Waits until it ends by itself: its token was cancelled, or the disk refused.
    ///
    /// # Errors
    /// What ended it.
    pub async fn wait(self) -> anyhow::Result<()> {
        self.task.await.context("the gateway's task broke")?
    }
}

/// Starts a gateway. It ends when `stop` is cancelled.
///
/// # Errors
/// The store cannot be read, or a lift of the gateway has no PLC in the options.
pub async fn start(
    plant: Arc<Plant>,
    id: GatewayId,
    options: GatewayOptions,
    stop: CancellationToken,
) -> anyhow::Result<Running> {
    let marks = load(&options.pool, &id).await?;
    let (events_tx, events) = mpsc::channel(BUS_EVENTS_MAX);
    let buses = start_buses(&plant, &id, &options.plcs, &events_tx, &stop)?;
    let link_name = format!("hoistway-{}-gateway-{id}", plant.site);
    let outbox = Outbox::sqlite(options.pool.clone(), &link_name, clock::mono()).await?;
    let commands = Topic::Gateway(id.clone(), GatewayRoad::Command).to_text(&plant.site);
    let link_options = LinkOptions {
        host: options.broker_host,
        port: options.broker_port,
        client_id: link_name,
        clean_start: true,
        session_expiry: Duration::ZERO,
        will: None,
        keep_alive: Duration::from_secs(20),
        subscriptions: vec![
            Subscription { filter: commands, reliable: true },
            Subscription { filter: every_control_beat(&plant.site), reliable: false },
        ],
        incoming_bound: COMMANDS_MAX,
    };
    let (link, incoming) = connect(link_options, outbox);
    let incoming = match &options.levers {
        Some(levers) => levers.roads.tap(&plant.site, (Reader::Gateway, id.as_str()), incoming),
        None => incoming,
    };
    let program = Program::Gateway(id.clone());
    let clock = options.levers.as_ref().map(|it| it.clocks.of(&program)).unwrap_or_default();
    let machine = Gateway::new(id.clone(), &plant, marks, clock.now());
    let (pool, levers, logged) = (options.pool, options.levers, BTreeSet::new());
    let shell = Shell { plant, id, machine, pool, buses, link, levers, clock, logged };
    let task = tokio::spawn(shell.run(events, incoming, stop.clone()));
    Ok(Running { stop, task })
}

/// One task per wire, for all lifts on it.
fn start_buses(
    plant: &Plant,
    id: &GatewayId,
    plcs: &BTreeMap<LiftId, PlcLink>,
    events: &mpsc::Sender<Event>,
    stop: &CancellationToken,
) -> anyhow::Result<BTreeMap<LiftId, Bus>> {
    let mut behind: BTreeMap<&Wire, Vec<BusLift>> = BTreeMap::new();
    for (lift, model) in plant.lifts.iter().filter(|(_, it)| it.gateway == *id) {
        let plc = plcs.get(lift).with_context(|| format!("lift {lift} has no PLC"))?;
        behind.entry(&plc.wire).or_default().push(BusLift {
            lift: lift.clone(),
            model: model.clone(),
            unit: plc.unit,
            profile: plc.profile.clone(),
        });
    }
    let mut buses = BTreeMap::new();
    for (wire, lifts) in behind {
        let names: Vec<LiftId> = lifts.iter().map(|it| it.lift.clone()).collect();
        let bus = modbus::start(wire.clone(), lifts, Patience::default(), events.clone(), stop.clone());
        buses.extend(names.into_iter().map(|lift| (lift, bus.clone())));
    }
    Ok(buses)
}

/// What a gateway has made durable in its store.
///
/// # Errors
/// It cannot be read or understood.
pub async fn load(pool: &SqlitePool, id: &GatewayId) -> anyhow::Result<Marks> {
    let kept: Option<String> = sqlx::query_scalar("SELECT marks FROM gateway_marks WHERE gateway = $1")
        .bind(id.as_str())
        .fetch_optional(pool)
        .await
        .context("the gateway's marks cannot be read")?;
    // Marks that cannot be read must not be taken for none: a fence would be forgotten.
    kept.map_or(Ok(Marks::default()), |text| {
        serde_json::from_str(&text).with_context(|| format!("the marks of gateway {id} cannot be understood"))
    })
}

struct Shell {
    plant: Arc<Plant>,
    id: GatewayId,
    machine: Gateway,
    pool: SqlitePool,
    buses: BTreeMap<LiftId, Bus>,
    link: Link,
    levers: Option<Levers>,
    clock: Clock,
    logged: BTreeSet<String>,
}

impl Shell {
    async fn run(
        mut self,
        mut events: mpsc::Receiver<Event>,
        mut incoming: mpsc::Receiver<Incoming>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let program = Program::Gateway(self.id.clone());
        let ended = loop {
            if let Some(levers) = &self.levers {
                tokio::select! {
                    () = levers.pauses.wait(&program) => {}
                    () = stop.cancelled() => break Ok(()),
                }
            }
            if let Err(err) = self.perform_all().await {
                stop.cancel();
                break Err(err);
            }
            let due = self.machine.poll_timeout().map_or(LONG, |(at, _)| at.since(clock::mono()));
            tokio::select! {
                () = stop.cancelled() => break Ok(()),
                Some(event) = events.recv() => self.machine.handle(event, self.clock.now()),
                news = incoming.recv() => match news {
                    Some(news) => self.hear(news),
                    None => break Err(anyhow::anyhow!("the connection to the broker was given up")),
                },
                () = sleep_until(Instant::now() + Duration::from_millis(due.0)) => {
                    self.machine.handle_timeout(self.clock.now());
                }
            }
        };
        self.link.close().await;
        ended
    }

    fn hear(&mut self, news: Incoming) {
        let Incoming::Message { topic, payload } = news else { return };
        match decode_for_gateway(&self.plant, &self.id, &topic, &payload) {
            Ok(event) => self.machine.handle(event, self.clock.now()),
            Err(rejected) => {
                self.machine.handle(Event::MessageRejected, self.clock.now());
                let text = rejected.to_string();
                if self.logged.len() < LOGGED_REASONS_MAX && self.logged.insert(text.clone()) {
                    tracing::warn!(gateway = %self.id, "{text}");
                }
            }
        }
    }

    async fn perform_all(&mut self) -> anyhow::Result<()> {
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Persist(marks) => self.persist(&marks).await?,
                Effect::Write { lift, block } => {
                    let refused =
                        self.buses.get(&lift).is_none_or(|bus| bus.write(lift.clone(), block).is_err());
                    if refused {
                        let (number, result) = (block.number, WriteResult::NotSent);
                        self.machine.handle(Event::Written { lift, number, result }, self.clock.now());
                    }
                }
                Effect::Tell(outcome) => {
                    let road = Road::Reliable { key: outcome_key(&outcome), valid_for: OUTCOME_VALIDITY };
                    let topic = Topic::Gateway(self.id.clone(), GatewayRoad::Outcome);
                    self.send(&topic, &outcome, road).await;
                }
                Effect::Forward { vehicle, command } => {
                    let key = format!("command/{}", command.id);
                    let road = Road::Reliable { key, valid_for: command.valid_for_ms };
                    self.send(&Topic::Vehicle(vehicle, VehicleRoad::Command), &command, road).await;
                }
                Effect::Status(status) => {
                    let topic = Topic::Gateway(self.id.clone(), GatewayRoad::Status);
                    self.send(&topic, &status, Road::Fast).await;
                }
                Effect::Log { lift, text } => tracing::info!(gateway = %self.id, %lift, "{text}"),
            }
        }
        Ok(())
    }

    async fn persist(&self, marks: &Marks) -> anyhow::Result<()> {
        let text = serde_json::to_string(marks).context("the gateway's marks cannot be written as JSON")?;
        sqlx::query("INSERT OR REPLACE INTO gateway_marks (gateway, marks) VALUES ($1, $2)")
            .bind(self.id.as_str())
            .bind(text)
            .execute(&self.pool)
            .await
            .context(
                "the gateway's marks cannot be stored; it ends, since it could not remember what it sends",
            )?;
        Ok(())
    }

    /// What cannot be sent is logged and left: control finds out by its own deadlines and asks again.
    async fn send<T: Serialize + Sync>(&self, topic: &Topic, body: &T, road: Road) {
        let topic = topic.to_text(&self.plant.site);
        let sent = match encode(body, self.clock.now().wall) {
            Ok(payload) => {
                let publish = Publish { topic: topic.clone(), payload, road, retain: false };
                self.link.publish(publish).await.map_err(anyhow::Error::from)
            }
            Err(err) => Err(err),
        };
        if let Err(err) = sent {
            tracing::error!(gateway = %self.id, topic, error = %err, "a message was not sent");
        }
    }
}

/// Longest sleep without a deadline; the machine always names one.
const LONG: Millis = Millis::seconds(1);

/// A command has up to three outcomes on its way, each told on its own.
fn outcome_key(outcome: &Outcome) -> String {
    let verdict = match outcome.verdict {
        Verdict::Accepted => "accepted",
        Verdict::Forwarded => "forwarded",
        Verdict::Refused { .. } => "refused",
        Verdict::Expired => "expired",
        Verdict::Unknown => "unknown",
        Verdict::Ran => "ran",
        Verdict::NotSent => "not-sent",
    };
    format!("outcome/{}/{verdict}", outcome.command)
}
