//! What a control node says to lifts, for a bench: the commands of a ride that it makes up, each on a fresh read.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kernel::ids::{CommandId, GatewayId, Generation, LiftId, NodeId, SessionId, SiteId, TaskId, VehicleId};
use kernel::lease::{FencingToken, LeaseNonce};
use kernel::lift::{DoorState, LiftAction};
use kernel::plant::Plant;
use kernel::timing::{LIFT_COMMAND_VALIDITY, LIFT_READ_AGE_MAX};
use kernel::wire::gateway::{
    Authority, Connection, GatewayCommand, GatewayStatus, LiftCommand, LiftReading, Outcome, SessionRef,
    Verdict,
};
use tokio::sync::mpsc;

use super::plc::Plc;
use crate::clock;
use crate::messaging::codec::{decode, encode};
use crate::messaging::topics::{GatewayRoad, Topic};
use crate::messaging::{self, Incoming, Link, Outbox, Publish, Road};
use crate::roles::control;
use crate::roles::progress::Progress;
use crate::site::HostPort;

/// A command is at its PLC, or refused, long before.
const BOUND: Duration = Duration::from_secs(30);
/// Lifts are commanded evenly within so much: the period of the gateway's status.
const SPREAD: Duration = Duration::from_millis(200);

/// The node.
pub(super) struct Node {
    name: NodeId,
    site: SiteId,
    gateway: GatewayId,
    link: Link,
    heard: mpsc::Receiver<Incoming>,
    lifts: BTreeMap<LiftId, Lift>,
}

/// A lift as the node commands it.
struct Lift {
    plc: Plc,
    /// The command that is on its way, and since when.
    said: Option<(CommandId, Instant)>,
    /// How many were said.
    serial: u64,
    /// How long those took that were taken.
    took: Vec<Duration>,
}

impl Node {
    /// A node of the site's one gateway; each lift's PLC in its hands, to see when it takes a command.
    ///
    /// # Errors
    /// The site has no gateway.
    pub(super) fn start(
        plant: &Plant,
        broker: &HostPort,
        plcs: BTreeMap<LiftId, Plc>,
    ) -> anyhow::Result<Self> {
        let name = NodeId::try_new("A")?;
        let gateway = plant.gateways.first().context("no gateway")?.clone();
        let road = control::link_options(&plant.site, &name, broker);
        let (link, heard) = messaging::connect(road, Outbox::memory());
        let fresh = |plc| Lift { plc, said: None, serial: 0, took: Vec::new() };
        let lifts = plcs.into_iter().map(|(id, plc)| (id, fresh(plc))).collect();
        Ok(Self { name, site: plant.site.clone(), gateway, link, heard, lifts })
    }

    /// Opens and shuts each lift's door in turn, until each PLC took `each` commands. Gives how long each took.
    ///
    /// # Errors
    /// Nothing is heard, or a command never arrives.
    pub(super) async fn command(
        &mut self,
        each: u32,
        progress: &mut Progress,
    ) -> anyhow::Result<Vec<Duration>> {
        let wanted = usize::try_from(each)?;
        let of = u64::from(each) * u64::try_from(self.lifts.len())?;
        while self.lifts.values().any(|it| it.took.len() < wanted) {
            let news = tokio::time::timeout(BOUND, self.heard.recv()).await.context("nothing is heard")?;
            let Some(news) = news else { bail!("the connection to the broker was given up") };
            let Incoming::Message { topic, payload } = news else { continue };
            if topic.ends_with("/outcome") {
                self.note(&decode(&topic, &payload)?);
            } else if topic.ends_with("/status") {
                let status: GatewayStatus = decode(&topic, &payload)?;
                self.look(status, wanted).await?;
            }
            let done: usize = self.lifts.values().map(|it| it.took.len()).sum();
            progress.tell(u64::try_from(done)?, of, "commands");
        }
        Ok(self.lifts.values().flat_map(|it| it.took.iter().copied()).collect())
    }

    /// What was refused is said anew on the next read: a bench's machine may stand still between read and command.
    fn note(&mut self, outcome: &Outcome) {
        let Some(lift) = outcome.lift.as_ref().and_then(|it| self.lifts.get_mut(it)) else { return };
        let refused = matches!(outcome.verdict, Verdict::Refused { .. } | Verdict::Expired);
        if refused && lift.said.as_ref().is_some_and(|(id, _)| *id == outcome.command) {
            lift.said = None;
        }
    }

    /// Counts what has arrived and says the next.
    async fn look(&mut self, status: GatewayStatus, wanted: usize) -> anyhow::Result<()> {
        let pause = SPREAD / u32::try_from(self.lifts.len().max(1))?;
        for reading in status.lifts {
            let Some(lift) = self.lifts.get_mut(&reading.lift) else { continue };
            lift.count();
            if let Some((id, since)) = &lift.said {
                anyhow::ensure!(since.elapsed() < BOUND, "command {id} does not reach its PLC");
            } else if lift.took.len() < wanted && is_settled(&reading) {
                self.say(&reading).await?;
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }

    async fn say(&mut self, reading: &LiftReading) -> anyhow::Result<()> {
        let command = self.make(reading)?;
        let Some(lift) = self.lifts.get_mut(&reading.lift) else { return Ok(()) };
        lift.said = Some((command.id.clone(), Instant::now()));
        let road = Road::Reliable { key: command.id.to_string(), valid_for: command.valid_for_ms };
        let topic = Topic::Gateway(self.gateway.clone(), GatewayRoad::Command).to_text(&self.site);
        let payload = encode(GatewayCommand::Lift(command), clock::now().wall)?;
        self.link.publish(Publish { topic, payload, road, retain: false }).await?;
        Ok(())
    }

    fn make(&mut self, reading: &LiftReading) -> anyhow::Result<LiftCommand> {
        let status = reading.status.as_ref().context("a lift without a read")?;
        let lift = self.lifts.get_mut(&reading.lift).context("a lift of nobody")?;
        lift.serial += 1;
        let (id, serial) = (&reading.lift, lift.serial);
        let shut = status.door == DoorState::Closed;
        Ok(LiftCommand {
            id: CommandId::try_new(&format!("C-{id}-{serial}"))?,
            lift: id.clone(),
            action: if shut { LiftAction::OpenDoor } else { LiftAction::CloseDoor },
            floor: status.floor.clone(),
            holder: self.name.clone(),
            sequence: serial,
            authority: Authority::Lease {
                token: FencingToken { epoch: reading.epoch, serial },
                nonce: LeaseNonce(serial),
            },
            session: SessionRef {
                session: SessionId::try_new(&format!("S-{id}"))?,
                generation: Generation(1),
                task: TaskId::try_new(&format!("T-{id}"))?,
                claim: Generation(1),
                link: Generation(1),
                vehicle: VehicleId::try_new("V1")?,
            },
            read: reading.read,
            expects: status.expectation(),
            valid_for_ms: LIFT_COMMAND_VALIDITY,
        })
    }
}

impl Lift {
    /// The PLC has taken what was said last.
    fn count(&mut self) {
        let taken = self.plc.taken();
        if let (Some((_, since)), Some(at)) = (&self.said, taken)
            && at >= *since
        {
            self.took.push(at - *since);
            self.said = None;
        }
    }
}

/// What was commanded before is over, and the read is young enough to rest a command on.
fn is_settled(reading: &LiftReading) -> bool {
    let over = reading.status.as_ref().is_some_and(|it| it.accepted == it.completed);
    over && reading.verifying.is_none()
        && reading.connection == Connection::Up
        && reading.age_ms < LIFT_READ_AGE_MAX
}
