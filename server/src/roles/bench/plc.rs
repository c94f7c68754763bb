//! PLCs that take a command at once, for a bench: no scan, no door, no travel, so that nothing but the road is measured.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::Context as _;
use kernel::gateway::CommandBlock;
use kernel::lift::{DoorState, LiftAction, LiftMode, LiftStatus, Motion};
use kernel::plant::Lift;
use tokio::net::{TcpListener, TcpStream};
use tokio_modbus::server::Service;
use tokio_modbus::server::tcp::Server;
use tokio_modbus::{ExceptionCode, Request, Response, SlaveRequest};
use tokio_util::task::AbortOnDropHandle;

use crate::fieldbus::profile::RegisterProfile;

/// A PLC of one lift, gone with its handle.
pub(super) struct Plc {
    /// Where it listens.
    pub(super) address: SocketAddr,
    state: Arc<State>,
    _serving: AbortOnDropHandle<()>,
}

struct State {
    lift: Lift,
    profile: RegisterProfile,
    shown: Mutex<Shown>,
}

struct Shown {
    status: LiftStatus,
    /// When the last command was taken.
    taken: Option<Instant>,
}

impl Plc {
    /// Stands at the lowest stop, its door shut, and listens on a free port of loopback.
    ///
    /// # Errors
    /// The lift has no stop, or there is no port.
    pub(super) async fn start(lift: &Lift) -> anyhow::Result<Self> {
        let floor = lift.stops.first().context("a lift without stops")?.floor.clone();
        let status = LiftStatus {
            floor,
            levelled: true,
            door: DoorState::Closed,
            motion: Motion::Still,
            mode: LiftMode::Vehicle,
            fault: 0,
            accepted: 0,
            completed: 0,
            boot: 1,
            heartbeat: 0,
            occupied: false,
        };
        let shown = Mutex::new(Shown { status, taken: None });
        let state = Arc::new(State { lift: lift.clone(), profile: RegisterProfile::built_in(), shown });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for a PLC")?;
        let address = listener.local_addr().context("a PLC without an address")?;
        let serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, Arc::clone(&state))));
        Ok(Self { address, state, _serving: serving })
    }

    /// When it took its last command.
    pub(super) fn taken(&self) -> Option<Instant> {
        self.state.shown().taken
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let connected = |stream: TcpStream, _| ready(Ok(Some((Voice(Arc::clone(&state)), stream))));
    // A bench whose PLC is gone says so by its own bound.
    let broken = |error: io::Error| tracing::debug!("a PLC of the bench: {error}");
    if let Err(error) = Server::new(listener).serve(&connected, broken).await {
        tracing::error!("a PLC of the bench does not listen any more: {error}");
    }
}

/// What answers one connection.
struct Voice(Arc<State>);

impl Service for Voice {
    type Request = SlaveRequest<'static>;
    type Response = Response;
    type Exception = ExceptionCode;
    type Future = Ready<Result<Response, ExceptionCode>>;

    fn call(&self, asked: Self::Request) -> Self::Future {
        ready(match asked.request {
            Request::ReadHoldingRegisters(address, count) => self.0.read(address, count),
            Request::WriteMultipleRegisters(address, words) => self.0.write(address, &words),
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
        })
    }
}

impl State {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each read is a scan: the heartbeat rises with it.
    fn read(&self, address: u16, count: u16) -> Result<Response, ExceptionCode> {
        let window = self.profile.status_window();
        if (address, count) != (window.start, window.count) {
            return Err(ExceptionCode::IllegalDataAddress);
        }
        let mut shown = self.shown();
        shown.status.heartbeat = shown.status.heartbeat.wrapping_add(1);
        let words = self.profile.encode_status(&self.lift, &shown.status);
        words.map(Response::ReadHoldingRegisters).map_err(|_| ExceptionCode::ServerDeviceFailure)
    }

    /// Taken and done at once.
    fn write(&self, address: u16, words: &[u16]) -> Result<Response, ExceptionCode> {
        let taken = Instant::now();
        let block =
            self.profile.decode_command(address, words).map_err(|_| ExceptionCode::IllegalDataValue)?;
        let CommandBlock { number, action, floor: _ } = block;
        let mut shown = self.shown();
        shown.status.door = match action {
            LiftAction::OpenDoor => DoorState::Open,
            LiftAction::CloseDoor => DoorState::Closed,
            LiftAction::GoTo => return Err(ExceptionCode::IllegalDataValue),
        };
        (shown.status.accepted, shown.status.completed, shown.taken) = (number, number, Some(taken));
        let count = u16::try_from(words.len()).map_err(|_| ExceptionCode::IllegalDataValue)?;
        Ok(Response::WriteMultipleRegisters(address, count))
    }
}
