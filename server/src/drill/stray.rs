//! A stranger: a program without a place in the ledger that calls a lift, as well formed as any node's call by edge
//! arbitration.
//!
//! Knows: what anybody hears on the roads, and which ride the gateway knows last. Must not know: whether the gateway
//! takes the call.

use std::time::Duration;

use anyhow::Context as _;
use kernel::ids::{CommandId, DrillId, FloorId, GatewayId, Generation, LiftId, NodeId, SessionId, TaskId};
use kernel::lift::LiftAction;
use kernel::plant::Plant;
use kernel::timing::LIFT_COMMAND_VALIDITY;
use kernel::wire::gateway::{Authority, GatewayCommand, GatewayStatus, LiftCommand, LiftReading, SessionRef};
use tokio::sync::mpsc;

use crate::clock;
use crate::messaging::codec::{decode, encode};
use crate::messaging::topics::{GatewayRoad, Topic};
use crate::messaging::{Incoming, LinkOptions, Outbox, Publish, Road, Subscription, connect};
use crate::site::HostPort;

/// A gateway that is heard at all says each second what it reads.
const PATIENCE: Duration = Duration::from_secs(10);
/// Its connection lives no longer than that, so it never has to say that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// One call of a stranger.
#[derive(Clone, Debug)]
pub struct Stray {
    /// The site.
    pub plant: Plant,
    /// The broker.
    pub broker: HostPort,
    /// Which lift it calls.
    pub lift: LiftId,
    /// Where to.
    pub floor: FloorId,
    /// Names the command.
    pub drill: DrillId,
    /// Of the ride that it makes up: above that of the last one, which the gateway knows.
    pub session: Generation,
}

impl Stray {
    /// Listens until the gateway has told of the lift, and calls it then.
    ///
    /// # Errors
    /// The gateway says nothing of the lift, or the call could not be sent.
    pub async fn call(self) -> anyhow::Result<()> {
        let model = self.plant.lifts.get(&self.lift).context("the site has no such lift")?;
        let gateway = model.gateway.clone();
        let (link, mut arriving) = connect(self.link_options(&gateway), Outbox::memory());
        let reading = tokio::time::timeout(PATIENCE, self.reading(&mut arriving)).await;
        let reading = reading.ok().flatten().context("the gateway says nothing of the lift")?;
        let command = self.command(&reading)?;
        let road = Road::Reliable { key: command.id.to_string(), valid_for: command.valid_for_ms };
        let topic = Topic::Gateway(gateway, GatewayRoad::Command).to_text(&self.plant.site);
        let payload = encode(GatewayCommand::Lift(command), clock::now().wall)?;
        link.publish(Publish { topic, payload, road, retain: false }).await?;
        link.close().await;
        Ok(())
    }

    fn link_options(&self, gateway: &GatewayId) -> LinkOptions {
        let site = &self.plant.site;
        let filter = Topic::Gateway(gateway.clone(), GatewayRoad::Status).to_text(site);
        LinkOptions {
            host: self.broker.host.clone(),
            port: self.broker.port,
            client_id: format!("hoistway-{site}-stray-{}", self.drill),
            clean_start: true,
            session_expiry: Duration::ZERO,
            will: None,
            keep_alive: KEEP_ALIVE,
            subscriptions: vec![Subscription { filter, reliable: false }],
            incoming_bound: 1,
        }
    }

    /// The next that the gateway tells of the lift.
    async fn reading(&self, arriving: &mut mpsc::Receiver<Incoming>) -> Option<LiftReading> {
        loop {
            let Incoming::Message { topic, payload } = arriving.recv().await? else { continue };
            let Ok(status) = decode::<GatewayStatus>(&topic, &payload) else { continue };
            let told = status.lifts.into_iter().find(|it| it.lift == self.lift && it.status.is_some());
            if told.is_some() {
                return told;
            }
        }
    }

    fn command(&self, reading: &LiftReading) -> anyhow::Result<LiftCommand> {
        let session = SessionRef {
            session: SessionId::try_new("S-stray")?,
            generation: self.session,
            task: TaskId::try_new("T-stray")?,
            claim: Generation(1),
            link: Generation(1),
            vehicle: self.plant.vehicles.keys().next().context("the site has no vehicle")?.clone(),
        };
        Ok(LiftCommand {
            id: CommandId::try_new(&format!("C-stray-{}", self.drill))?,
            lift: self.lift.clone(),
            action: LiftAction::GoTo,
            floor: self.floor.clone(),
            holder: NodeId::try_new("stray")?,
            sequence: 1,
            authority: Authority::Edge { epoch: reading.epoch },
            session,
            read: reading.read,
            expects: reading.status.as_ref().context("it was never read")?.expectation(),
            valid_for_ms: LIFT_COMMAND_VALIDITY,
        })
    }
}
