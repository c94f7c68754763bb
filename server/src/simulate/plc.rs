//! The PLCs on the wire: one server for each place where one listens, one Modbus unit for each lift behind it.
//!
//! A request that no PLC of this kind understands is answered by an exception, counted, and logged once per cause.
//! The command block is taken in one request alone, as the profile says.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use kernel::gateway::CommandBlock;
use kernel::ids::LiftId;
use kernel::lift::LiftStatus;
use kernel::plant::Lift;
use sim::plant::SimEvent;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_modbus::server::{Service, rtu_over_tcp, tcp};
use tokio_modbus::{ExceptionCode, Request, Response, SlaveRequest};
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::rejections::Rejections;
use super::{Input, Listen};
use crate::fieldbus::Profile;
use crate::fieldbus::contacts::ContactProfile;
use crate::fieldbus::profile::{NoStop, RegisterProfile, Window};

/// Connections that an address accepts at once, as PLCs do; a further one is closed at once.
const CONNECTIONS_MAX: usize = 8;
/// After a failed accept, which means that the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// One lift behind an address.
pub(super) struct Unit {
    pub(super) lift: LiftId,
    pub(super) profile: Profile,
    /// What it shows, as of the last scan.
    pub(super) status: watch::Receiver<Image>,
    /// The words of the command window, as written last; contacts spring back.
    pub(super) command: Mutex<Vec<u16>>,
}

/// What a PLC shows, as it stands in what is read in one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Image {
    Words(Vec<u16>),
    Bits(Vec<bool>),
}

impl Image {
    pub(super) fn of(profile: &Profile, lift: &Lift, status: &LiftStatus) -> Result<Self, NoStop> {
        match profile {
            Profile::Registers(registers) => registers.encode_status(lift, status).map(Self::Words),
            Profile::Contacts(contacts) => Ok(Self::Bits(contacts.encode_inputs(lift, status))),
        }
    }
}

/// All units behind one address, by their Modbus unit number.
pub(super) type Units = BTreeMap<u8, Unit>;

/// A bound server.
pub(super) struct PlcServer {
    listener: TcpListener,
    framing: Framing,
    /// The line whose bytes it is given, when it does not serve the network.
    line: Option<Line>,
    units: Arc<Units>,
}

/// What is spoken on a connection.
enum Framing {
    Tcp,
    Rtu,
}

impl PlcServer {
    /// Binds the place.
    pub(super) async fn bind(listen: &Listen, units: Units) -> anyhow::Result<Self> {
        let (address, framing, line) = match listen {
            Listen::Tcp(address) => (*address, Framing::Tcp, None),
            Listen::RtuOverTcp(address) => (*address, Framing::Rtu, None),
            Listen::Rtu(path) => {
                (SocketAddr::from(([127, 0, 0, 1], 0)), Framing::Rtu, Some(Line::open(path.clone())?))
            }
        };
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("the simulated PLC cannot listen on {address}; is the port taken?"))?;
        Ok(Self { listener, framing, line, units: Arc::new(units) })
    }

    /// Where it listens on the network.
    pub(super) fn address(&self) -> io::Result<Option<SocketAddr>> {
        if self.line.is_some() { Ok(None) } else { self.listener.local_addr().map(Some) }
    }

    /// Serves until it is stopped.
    pub(super) async fn serve(
        self,
        inputs: mpsc::Sender<Input>,
        seen: Arc<Rejections>,
        stop: CancellationToken,
    ) {
        let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let units = self.units;
        let on_connected = |stream: TcpStream, peer: SocketAddr| {
            let service = Arc::clone(&slots).try_acquire_owned().ok().map(|slot| Plc {
                units: Arc::clone(&units),
                inputs: inputs.clone(),
                seen: Arc::clone(&seen),
                _slot: slot,
            });
            if service.is_none() {
                seen.note("modbus", "too many connections", &peer.to_string());
            }
            ready(Ok(service.map(|service| (service, stream))))
        };
        let on_error = {
            let seen = Arc::clone(&seen);
            move |error: io::Error| seen.note("modbus", "a connection broke", &error.to_string())
        };
        if let (Some(line), Ok(address)) = (self.line, self.listener.local_addr()) {
            let (seen, stop) = (Arc::clone(&seen), stop.clone());
            tokio::spawn(async move {
                if let Some(Err(error)) = stop.run_until_cancelled(line.carry(address)).await {
                    seen.note("modbus", "a serial line broke", &error.to_string());
                }
            });
        }
        let note_end = async |ended: io::Result<()>| {
            let reason = ended.err().map_or_else(String::new, |error| error.to_string());
            seen.note("modbus", "accepting failed", &reason);
            tokio::time::sleep(ACCEPT_PAUSE).await;
        };
        let serving = async {
            match self.framing {
                Framing::Tcp => {
                    let server = tcp::Server::new(self.listener);
                    loop {
                        note_end(server.serve(&on_connected, on_error.clone()).await).await;
                    }
                }
                Framing::Rtu => {
                    let server = rtu_over_tcp::Server::new(self.listener);
                    loop {
                        note_end(server.serve(&on_connected, on_error.clone()).await).await;
                    }
                }
            }
        };
        stop.run_until_cancelled(serving).await;
    }
}

/// What answers one connection.
struct Plc {
    units: Arc<Units>,
    inputs: mpsc::Sender<Input>,
    seen: Arc<Rejections>,
    _slot: OwnedSemaphorePermit,
}

impl Service for Plc {
    type Request = SlaveRequest<'static>;
    type Response = Response;
    type Exception = ExceptionCode;
    type Future = Ready<Result<Response, ExceptionCode>>;

    fn call(&self, asked: Self::Request) -> Self::Future {
        let Some(unit) = self.units.get(&asked.slave) else {
            self.seen.note("modbus", "a unit that nobody has", &asked.slave.to_string());
            return ready(Err(ExceptionCode::GatewayTargetDevice));
        };
        let answer = self.answer(unit, &asked.request);
        if let Err(exception) = answer {
            self.seen.note(unit.lift.as_str(), refusal_name(exception), &format!("{:?}", asked.request));
        }
        ready(answer)
    }
}

impl Plc {
    fn answer(&self, unit: &Unit, request: &Request<'_>) -> Result<Response, ExceptionCode> {
        match (&unit.profile, request) {
            (Profile::Registers(registers), Request::ReadHoldingRegisters(address, count)) => {
                unit.read(registers, *address, *count).map(Response::ReadHoldingRegisters)
            }
            (Profile::Registers(registers), Request::WriteMultipleRegisters(address, words)) => {
                let count = fitting(registers.command_window(), *address, words.len())?;
                let block = registers.decode_command(*address, words);
                self.take(unit, block.map_err(|_| ExceptionCode::IllegalDataValue)?)?;
                words.as_ref().clone_into(&mut unit.command.lock().unwrap_or_else(PoisonError::into_inner));
                Ok(Response::WriteMultipleRegisters(*address, count))
            }
            (Profile::Contacts(contacts), Request::ReadDiscreteInputs(address, count)) => {
                unit.read_inputs(contacts, *address, *count).map(Response::ReadDiscreteInputs)
            }
            (Profile::Contacts(contacts), Request::WriteMultipleCoils(address, coils)) => {
                let count = fitting(contacts.coil_window(), *address, coils.len())?;
                self.take(unit, contacts.decode_coils(coils).ok_or(ExceptionCode::IllegalDataValue)?)?;
                Ok(Response::WriteMultipleCoils(*address, count))
            }
            (Profile::Registers(_) | Profile::Contacts(_), _) => Err(ExceptionCode::IllegalFunction),
        }
    }

    fn take(&self, unit: &Unit, block: CommandBlock) -> Result<(), ExceptionCode> {
        let input = Input::Happened(SimEvent::CommandBlock { lift: unit.lift.clone(), block });
        // A full mailbox means that the plant does not keep up: the PLC says so and took nothing.
        self.inputs.try_send(input).map_err(|_| ExceptionCode::ServerDeviceBusy)
    }
}

impl Unit {
    fn read(&self, registers: &RegisterProfile, address: u16, count: u16) -> Result<Vec<u16>, ExceptionCode> {
        let (status, command) = (registers.status_window(), registers.command_window());
        let words = if count == 0 {
            None
        } else if status.covers(address, count) {
            match &*self.status.borrow() {
                Image::Words(words) => slice(status, words, address, count),
                Image::Bits(_) => None,
            }
        } else if command.covers(address, count) {
            let written = self.command.lock().unwrap_or_else(PoisonError::into_inner);
            slice(command, &written, address, count)
        } else {
            None
        };
        words.ok_or(ExceptionCode::IllegalDataAddress)
    }

    fn read_inputs(
        &self,
        contacts: &ContactProfile,
        address: u16,
        count: u16,
    ) -> Result<Vec<bool>, ExceptionCode> {
        let window = contacts.input_window();
        match &*self.status.borrow() {
            Image::Bits(bits) if count > 0 => slice(window, bits, address, count),
            Image::Bits(_) | Image::Words(_) => None,
        }
        .ok_or(ExceptionCode::IllegalDataAddress)
    }
}

fn slice<T: Clone>(window: Window, all: &[T], address: u16, count: u16) -> Option<Vec<T>> {
    let start = usize::from(address.checked_sub(window.start)?);
    all.get(start..start + usize::from(count)).map(<[T]>::to_vec)
}

/// How many are written, when that is the whole command.
fn fitting(window: Window, address: u16, n_written: usize) -> Result<u16, ExceptionCode> {
    let fits = address == window.start && n_written == usize::from(window.count);
    fits.then_some(window.count).ok_or(ExceptionCode::IllegalDataAddress)
}

fn refusal_name(exception: ExceptionCode) -> &'static str {
    match exception {
        ExceptionCode::IllegalFunction => "unknown function",
        ExceptionCode::IllegalDataAddress => "foreign registers",
        ExceptionCode::IllegalDataValue => "value without a meaning",
        ExceptionCode::ServerDeviceBusy => "plant does not keep up",
        ExceptionCode::ServerDeviceFailure
        | ExceptionCode::Acknowledge
        | ExceptionCode::MemoryParityError
        | ExceptionCode::GatewayPathUnavailable
        | ExceptionCode::GatewayTargetDevice
        | ExceptionCode::Custom(_) => "refused",
    }
}
