//! The PLCs on the wire: one Modbus TCP server for each address, one unit for each lift behind it.
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
use kernel::ids::LiftId;
use sim::plant::SimEvent;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_modbus::server::Service;
use tokio_modbus::server::tcp::Server;
use tokio_modbus::{ExceptionCode, Request, Response, SlaveRequest};
use tokio_util::sync::CancellationToken;

use super::Input;
use super::rejections::Rejections;
use crate::fieldbus::profile::{Profile, Window};

/// Connections that an address accepts at once, as PLCs do; a further one is closed at once.
const CONNECTIONS_MAX: usize = 8;
/// After a failed accept, which means that the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// One lift behind an address.
pub(super) struct Unit {
    pub(super) lift: LiftId,
    pub(super) profile: Profile,
    /// The words of the status window, as of the last scan.
    pub(super) status: watch::Receiver<Vec<u16>>,
    /// The words of the command window, as written last.
    pub(super) command: Mutex<Vec<u16>>,
}

/// All units behind one address, by their Modbus unit number.
pub(super) type Units = BTreeMap<u8, Unit>;

/// A bound Modbus TCP server.
pub(super) struct PlcServer {
    listener: TcpListener,
    units: Arc<Units>,
}

impl PlcServer {
    /// Binds the address; port 0 takes a free one.
    pub(super) async fn bind(listen: SocketAddr, units: Units) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("the simulated PLC cannot listen on {listen}; is the port taken?"))?;
        Ok(Self { listener, units: Arc::new(units) })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
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
        let server = Server::new(self.listener);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                ended = server.serve(&on_connected, on_error.clone()) => {
                    let reason = ended.err().map_or_else(String::new, |error| error.to_string());
                    seen.note("modbus", "accepting failed", &reason);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
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
        match request {
            Request::ReadHoldingRegisters(address, count) => {
                unit.read(*address, *count).map(Response::ReadHoldingRegisters)
            }
            Request::WriteMultipleRegisters(address, words) => {
                self.write(unit, *address, words)?;
                let count = u16::try_from(words.len()).map_err(|_| ExceptionCode::IllegalDataValue)?;
                Ok(Response::WriteMultipleRegisters(*address, count))
            }
            Request::ReadCoils(..)
            | Request::ReadDiscreteInputs(..)
            | Request::WriteSingleCoil(..)
            | Request::WriteMultipleCoils(..)
            | Request::ReadInputRegisters(..)
            | Request::WriteSingleRegister(..)
            | Request::ReportServerId
            | Request::MaskWriteRegister(..)
            | Request::ReadWriteMultipleRegisters(..)
            | Request::ReadDeviceIdentification(..)
            | Request::Custom(..) => Err(ExceptionCode::IllegalFunction),
        }
    }

    fn write(&self, unit: &Unit, address: u16, words: &[u16]) -> Result<(), ExceptionCode> {
        let window = unit.profile.command_window();
        if address != window.start || words.len() != usize::from(window.count) {
            return Err(ExceptionCode::IllegalDataAddress);
        }
        let block =
            unit.profile.decode_command(address, words).map_err(|_| ExceptionCode::IllegalDataValue)?;
        let input = Input::Happened(SimEvent::CommandBlock { lift: unit.lift.clone(), block });
        // A full mailbox means that the plant does not keep up: the PLC says so and took nothing.
        self.inputs.try_send(input).map_err(|_| ExceptionCode::ServerDeviceBusy)?;
        words.clone_into(&mut unit.command.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

impl Unit {
    fn read(&self, address: u16, count: u16) -> Result<Vec<u16>, ExceptionCode> {
        let status = self.profile.status_window();
        let command = self.profile.command_window();
        let words = if count == 0 {
            None
        } else if status.covers(address, count) {
            slice(status, &self.status.borrow(), address, count)
        } else if command.covers(address, count) {
            let written = self.command.lock().unwrap_or_else(PoisonError::into_inner);
            slice(command, &written, address, count)
        } else {
            None
        };
        words.ok_or(ExceptionCode::IllegalDataAddress)
    }
}

fn slice(window: Window, words: &[u16], address: u16, count: u16) -> Option<Vec<u16>> {
    let start = usize::from(address.checked_sub(window.start)?);
    words.get(start..start + usize::from(count)).map(<[u16]>::to_vec)
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
