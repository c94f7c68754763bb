//! The simulated plant on the real wire: each lift a PLC that is heard by Modbus, each vehicle an MQTT client of its own.
//!
//! One task owns the pure models of the crate `sim` and runs them at the pace of this machine's clock; everything
//! else only carries: registers out of it, command blocks and messages into it. What happened to loads and lifts is
//! counted here, outside the system, and shown by `GET /plant`. What others will see is on the disk before they see it,
//! so the plant goes on where it was, however its process ended.

mod fleet;
mod kept;
mod late;
mod line;
mod plc;
mod rejections;
mod report;
mod wired;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kernel::ids::{LiftId, VehicleId};
use kernel::plant::Plant;
use kernel::time::{Millis, Mono};
use sim::plant::{PlantTrouble, SimEffect, SimEvent, SimPlant, SimSeed};
use sim::rng::Rng;
use sim::vehicle::VehicleMessage;
use sqlx::SqlitePool;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::drill::roads::Roads;
use crate::fieldbus::Profile;
use crate::site::HostPort;
use fleet::Fleet;
use kept::KeptStore;
use late::{Frame, Late};
use rejections::Rejections;
use report::ReportServer;
use wired::{Registers, serve_plcs};

pub use line::Line;
pub use report::{LiftReport, LoadReport, PlantReport, RejectedReport};
pub use wired::Listen;

/// Inputs that wait for the plant. It handles one in microseconds, so this covers a flood from a whole fleet; beyond
/// it a PLC answers "busy" and vehicles are heard later.
const INPUTS_MAX: usize = 4096;
/// Inputs that are handled before their effects are performed: a burst of a whole fleet shares one commit.
const INPUTS_AT_ONCE_MAX: usize = 256;
/// The plant's own clock begins late, so that what began before the process did has its moment, too.
const BEGINNING: Mono = Mono(60 * 60 * 1000);

/// How the simulated plant is put on the wire.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the broker listens.
    pub broker: HostPort,
    /// Each lift's PLC; a lift without one is not on the wire.
    pub plcs: BTreeMap<LiftId, PlcOptions>,
    /// Where `GET /plant` is served, if anywhere; loopback.
    pub report: Option<SocketAddr>,
    /// Of all chance in a new plant: scans, radio, phases.
    pub seed: u64,
    /// Boot counters of the PLCs and vehicles of a new plant go on from here, so that nobody takes it for the one
    /// before.
    pub boot: u64,
    /// What the plant is, and what its vehicles have to say, is kept here; with it the plant goes on at the next start.
    pub pool: SqlitePool,
    /// What the vehicles' messages suffer, in a drill run.
    pub roads: Option<Roads>,
}

/// How one PLC is put on the wire.
#[derive(Clone, Debug)]
pub struct PlcOptions {
    /// Where it listens. Lifts that listen at one place share the server.
    pub listen: Listen,
    /// Its Modbus unit.
    pub unit: u8,
    /// Where it keeps what.
    pub profile: Profile,
}

/// A simulated plant that runs.
#[derive(Debug)]
pub struct Running {
    /// Where each lift's PLC listens, but for those on a serial line.
    pub plc_addresses: BTreeMap<LiftId, SocketAddr>,
    /// Where `GET /plant` is served.
    pub report_address: Option<SocketAddr>,
    inputs: mpsc::Sender<Input>,
    owner: JoinHandle<anyhow::Result<()>>,
}

impl Running {
    /// What was counted so far; none once it stops.
    pub async fn report(&self) -> Option<PlantReport> {
        report::ask(&self.inputs).await
    }

    /// A hand on the plant, to let things go wrong in it.
    pub fn hand(&self) -> PlantHand {
        PlantHand { inputs: self.inputs.clone() }
    }

    /// Waits until it has stopped: all that it is was kept, and every vehicle said goodbye to the broker.
    ///
    /// # Errors
    /// The disk refused, so it ended by itself; its stop token is cancelled then, too.
    pub async fn stopped(self) -> anyhow::Result<()> {
        drop(self.inputs);
        self.owner.await.context("the simulated plant ended badly")?
    }
}

/// Lets things go wrong in a plant that runs.
#[derive(Clone, Debug)]
pub struct PlantHand {
    inputs: mpsc::Sender<Input>,
}

impl PlantHand {
    /// Lets something go wrong, now. False when the plant has stopped.
    pub async fn trouble(&self, trouble: PlantTrouble) -> bool {
        self.inputs.send(Input::Happened(SimEvent::Troubled(trouble))).await.is_ok()
    }
}

/// What reaches the task that owns the plant.
#[derive(Debug)]
enum Input {
    Happened(SimEvent),
    ReportAsked(oneshot::Sender<PlantReport>),
}

/// Puts a plant on the wire, until `stop` is cancelled: the one that was kept, or a new one when none was.
///
/// # Errors
/// A port that is taken, a profile that does not fit its lift, a kept plant that does not fit the site.
pub async fn start(plant: &Plant, options: Options, stop: CancellationToken) -> anyhow::Result<Running> {
    let (inputs, arriving) = mpsc::channel(INPUTS_MAX);
    let seen = Arc::new(Rejections::default());
    let clock = Instant::now();
    let store = KeptStore::new(options.pool.clone());
    let mut sim = kept_or_new(plant, &options, &store).await?;
    if let Some(changes) = sim.take_changes(BEGINNING) {
        store.write(&changes).await?;
    }
    let (registers, addresses) = serve_plcs(plant, &sim, &options, &inputs, &seen, &stop).await?;
    let mut report_address = None;
    if let Some(listen) = options.report {
        let server = ReportServer::bind(listen).await?;
        report_address = Some(server.address()?);
        tokio::spawn(server.serve(inputs.clone(), stop.clone()));
    }
    let fleet = Fleet::connect(plant, &sim, &options, &inputs, &seen).await?;
    let frames = Rng::new(options.seed, "frames");
    let owner =
        Owner { sim, store, clock, registers, fleet, seen, asked: Vec::new(), frames, late: Late::default() };
    let owner = tokio::spawn(owner.run(arriving, stop));
    Ok(Running { plc_addresses: addresses, report_address, inputs, owner })
}

async fn kept_or_new(plant: &Plant, options: &Options, store: &KeptStore) -> anyhow::Result<SimPlant> {
    let thawed = match store.read(plant).await {
        Ok(None) => {
            let seed = SimSeed { seed: options.seed, boot: options.boot };
            return Ok(SimPlant::new(plant, seed, BEGINNING));
        }
        Ok(Some(kept)) => SimPlant::thaw(plant, kept, BEGINNING).map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    let thawed = thawed.context(
        "the simulated plant cannot go on as its data folder keeps it (give it the site file that it was kept with, \
         or begin afresh: `demo` with --fresh, `simulate` with another --data folder)",
    )?;
    tracing::info!("the simulated plant goes on as it was kept");
    Ok(thawed)
}

/// The task that owns the plant.
struct Owner {
    sim: SimPlant,
    store: KeptStore,
    clock: Instant,
    registers: BTreeMap<LiftId, Registers>,
    fleet: Fleet,
    seen: Arc<Rejections>,
    /// Who waits for a report.
    asked: Vec<oneshot::Sender<PlantReport>>,
    /// Which frames a troubled radio loses.
    frames: Rng,
    /// What a slow radio has not brought yet.
    late: Late,
}

impl Owner {
    async fn run(mut self, mut inputs: mpsc::Receiver<Input>, stop: CancellationToken) -> anyhow::Result<()> {
        let lived = self.live(&mut inputs, &stop).await;
        let ended = match lived {
            Ok(()) => self.rest(inputs).await,
            Err(error) => Err(error),
        };
        // A plant that its disk refused takes its role with it.
        stop.cancel();
        self.fleet.close().await;
        ended
    }

    async fn live(
        &mut self,
        inputs: &mut mpsc::Receiver<Input>,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        loop {
            self.perform().await?;
            let due = self.sim.poll_timeout().map(|(due, _)| due.since(BEGINNING));
            let wake = due.map(|due| self.clock + Duration::from_millis(due.0));
            let wake = [wake, self.late.due()].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.happen(SimEvent::Tick);
                    self.let_arrive();
                }
                input = inputs.recv() => match input {
                    Some(input) => self.take_all(input, inputs),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Takes what had arrived, and keeps all of the plant exactly as it then is.
    async fn rest(&mut self, mut inputs: mpsc::Receiver<Input>) -> anyhow::Result<()> {
        inputs.close();
        while let Some(input) = inputs.recv().await {
            self.take(input);
        }
        let now = self.now();
        self.sim.handle(SimEvent::Tick, now);
        self.perform().await?;
        self.store.write(&self.sim.kept(now)).await
    }

    /// The plant sleeps when the machine does: its clock needs no suspend.
    fn now(&self) -> Mono {
        let elapsed = self.clock.elapsed().as_millis();
        BEGINNING + Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn happen(&mut self, event: SimEvent) {
        let now = self.now();
        self.sim.handle(event, now);
    }

    fn take_all(&mut self, first: Input, inputs: &mut mpsc::Receiver<Input>) {
        self.take(first);
        for _ in 1..INPUTS_AT_ONCE_MAX {
            match inputs.try_recv() {
                Ok(input) => self.take(input),
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Happened(SimEvent::ControlBeat { vehicle }) if self.frame_is_lost(&vehicle) => {}
            Input::Happened(SimEvent::CommandBlock { lift, mut block }) => {
                if let Some(registers) = self.registers.get_mut(&lift) {
                    registers.complete(&mut block);
                }
                self.happen(SimEvent::CommandBlock { lift, block });
            }
            Input::Happened(event) => match addressee(&event).cloned() {
                Some(vehicle) => self.carry(&vehicle, Frame::Comes(event)),
                None => self.happen(event),
            },
            Input::ReportAsked(answer) => self.asked.push(answer),
        }
    }

    /// Nothing is said or shown before it is on the disk.
    async fn perform(&mut self) -> anyhow::Result<()> {
        if let Some(changes) = self.sim.take_changes(self.now()) {
            self.store.write(&changes).await?;
        }
        for answer in self.asked.drain(..) {
            // Whoever asked may have left.
            _ = answer.send(PlantReport::of(&self.sim, &self.seen));
        }
        while let Some(effect) = self.sim.poll_effect() {
            match effect {
                SimEffect::LiftStatus { lift, status } => {
                    if let Some(registers) = self.registers.get_mut(&lift) {
                        registers.show(&status);
                    }
                }
                SimEffect::VehicleSend { vehicle, message } => {
                    if is_reliable(&message) || !self.frame_is_lost(&vehicle) {
                        self.carry(&vehicle.clone(), Frame::Leaves(vehicle, message));
                    }
                }
                SimEffect::Radio { vehicle, up } => self.fleet.set_radio(&vehicle, up),
                SimEffect::VehicleHeard { .. } => {}
            }
        }
        Ok(())
    }

    /// Brings a frame to or from a vehicle, later where its radio is slow.
    fn carry(&mut self, vehicle: &VehicleId, frame: Frame) {
        let in_time = match self.sim.vehicle(vehicle).map(|it| it.troubled_road().delay).unwrap_or_default() {
            Millis(0) => Some(frame),
            Millis(delay) => self.late.hold(Instant::now() + Duration::from_millis(delay), frame),
        };
        if let Some(frame) = in_time {
            self.bring(frame);
        }
    }

    fn bring(&mut self, frame: Frame) {
        match frame {
            Frame::Comes(event) => self.happen(event),
            Frame::Leaves(vehicle, message) => self.fleet.say(&vehicle, message),
        }
    }

    fn let_arrive(&mut self) {
        for frame in self.late.arrived(Instant::now()) {
            self.bring(frame);
        }
    }

    /// Whether a troubled radio loses this frame. Where nothing is troubled none is lost: loopback loses none either.
    fn frame_is_lost(&mut self, vehicle: &VehicleId) -> bool {
        let road = self.sim.vehicle(vehicle).map(|it| it.troubled_road()).unwrap_or_default();
        road.loss_permille > 0 && self.frames.within(0..=999) < u64::from(road.loss_permille)
    }
}

/// The vehicle to which a frame comes by radio, if the event is one.
fn addressee(event: &SimEvent) -> Option<&VehicleId> {
    match event {
        SimEvent::ControlBeat { vehicle } => Some(vehicle),
        SimEvent::VehicleCommand(command) => Some(&command.vehicle),
        SimEvent::CommandBlock { .. }
        | SimEvent::VehicleConnected { .. }
        | SimEvent::VehicleDisconnected { .. }
        | SimEvent::ReportDelivered { .. }
        | SimEvent::Troubled(_)
        | SimEvent::Tick => None,
    }
}

/// TCP repeats a lost frame of these until it arrives; the others are said once.
fn is_reliable(message: &VehicleMessage) -> bool {
    match message {
        VehicleMessage::Ack(_) | VehicleMessage::Report(_) => true,
        VehicleMessage::Heartbeat(_) | VehicleMessage::Telemetry(_) => false,
    }
}
