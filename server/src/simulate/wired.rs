//! Each lift's PLC on its wire: where it listens, and what it shows there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use kernel::gateway::CommandBlock;
use kernel::ids::LiftId;
use kernel::lift::LiftStatus;
use kernel::plant::Plant;
use sim::plant::SimPlant;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::plc::{Image, PlcServer, Unit, Units};
use super::rejections::Rejections;
use super::{Input, Options};
use crate::fieldbus::Profile;

/// Where a simulated PLC listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// For Modbus TCP; port 0 takes a free one.
    Tcp(SocketAddr),
    /// For RTU frames on a TCP connection, as a serial server does; port 0 takes a free one.
    RtuOverTcp(SocketAddr),
    /// On a pseudo-terminal that this path leads to.
    Rtu(PathBuf),
}

impl Listen {
    /// Takes a free port, whichever was meant.
    pub fn set_free_port(&mut self) {
        match self {
            Self::Tcp(address) | Self::RtuOverTcp(address) => address.set_port(0),
            Self::Rtu(_) => {}
        }
    }

    /// Lifts that name this same place are meant to share it.
    fn is_shared(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::RtuOverTcp(address) => address.port() != 0,
            Self::Rtu(_) => true,
        }
    }
}

/// The registers of a lift, as its PLC shows them.
pub(super) struct Registers {
    lift: kernel::plant::Lift,
    profile: Profile,
    shown: watch::Sender<Image>,
    /// The last number that was given to a command which brought none.
    numbered: u16,
    /// Where the car was last: contacts do not say at which stop a door is to move.
    stop: u16,
}

impl Registers {
    /// The model tells commands apart by number, and doors by stop; where the wire carries none, each write is another
    /// command, and means the door where the car is.
    pub(super) fn complete(&mut self, block: &mut CommandBlock) {
        if block.number == 0 && !self.profile.capabilities().echo {
            self.numbered = self.numbered.wrapping_add(1).max(1);
            block.number = self.numbered;
        }
        if block.floor == 0 && self.profile.n_stops().is_some() {
            block.floor = self.stop;
        }
    }

    pub(super) fn show(&mut self, status: &LiftStatus) {
        self.stop = self.lift.stop_number(&status.floor).unwrap_or(self.stop);
        match Image::of(&self.profile, &self.lift, status) {
            Ok(image) => {
                self.shown.send_replace(image);
            }
            Err(error) => tracing::error!(%error, "a status does not fit the registers"),
        }
    }
}

pub(super) type Bound = (BTreeMap<LiftId, Registers>, BTreeMap<LiftId, SocketAddr>);

/// Puts every PLC on its wire.
pub(super) async fn serve_plcs(
    plant: &Plant,
    sim: &SimPlant,
    options: &Options,
    inputs: &mpsc::Sender<Input>,
    seen: &Arc<Rejections>,
    stop: &CancellationToken,
) -> anyhow::Result<Bound> {
    let mut registers = BTreeMap::new();
    let mut servers: Vec<(Listen, Units)> = Vec::new();
    for (id, plc) in &options.plcs {
        let lift =
            plant.lifts.get(id).with_context(|| format!("there is no lift {id} in the plant"))?.clone();
        let status = sim.lift_status(id).with_context(|| format!("lift {id} has no stops"))?;
        let (shown, read) = watch::channel(Image::of(&plc.profile, &lift, &status)?);
        let profile = plc.profile.clone();
        let n_words = match &profile {
            Profile::Registers(registers) => registers.command_window().count,
            Profile::Contacts(_) => 0,
        };
        let command = Mutex::new(vec![0; usize::from(n_words)]);
        let unit = Unit { lift: id.clone(), profile: profile.clone(), status: read, command };
        let (numbered, stop) = (status.accepted, lift.stop_number(&status.floor).unwrap_or(1));
        registers.insert(id.clone(), Registers { lift, profile, shown, numbered, stop });
        let shared = servers.iter_mut().find(|(listen, _)| listen.is_shared() && *listen == plc.listen);
        match shared {
            Some((_, units)) => _ = units.insert(plc.unit, unit),
            None => servers.push((plc.listen.clone(), Units::from([(plc.unit, unit)]))),
        }
    }
    let mut addresses = BTreeMap::new();
    for (listen, units) in servers {
        let lifts: Vec<LiftId> = units.values().map(|unit| unit.lift.clone()).collect();
        let server = PlcServer::bind(&listen, units).await?;
        if let Some(address) = server.address()? {
            addresses.extend(lifts.into_iter().map(|lift| (lift, address)));
        }
        tokio::spawn(server.serve(inputs.clone(), Arc::clone(seen), stop.clone()));
    }
    Ok((registers, addresses))
}
