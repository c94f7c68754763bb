//! One task per wire: the only one that talks on it.
//!
//! It reads each lift every poll period and writes between reads, a write first. Every call has a deadline, because
//! the library has none. After a timeout or anything unexpected the connection is thrown away: a late answer would
//! be taken for the answer to the next request. Echoes are compared here, because the library compares them in
//! debug builds only.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use kernel::gateway::{CommandBlock, Event, WriteResult};
use kernel::ids::LiftId;
use kernel::lift::LiftStatus;
use kernel::plant::Lift;
use kernel::timing::{LIFT_POLL_PERIOD, PLC_ACK_DEADLINE};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};
use tokio_modbus::client::{Client as _, Context};
use tokio_modbus::slave::SlaveContext as _;
use tokio_modbus::{Error, ExceptionCode, Request, Response, Slave};
use tokio_util::sync::CancellationToken;

use super::wire::Wire;
use super::{Memory, Profile};

/// Slowest scan of a PLC. Requests are served once per scan.
const SCAN_MAX: Duration = Duration::from_millis(300);
/// The wait before the next connection doubles from the first to the longest.
/// A connection that held for so long was a good one: five polls.
const STEADY_AFTER: Duration = Duration::from_millis(5 * LIFT_POLL_PERIOD.0);
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LONGEST: Duration = Duration::from_secs(5);
/// Writes that wait. The gateway has one command under way per lift, so this holds one for each lift of a large
/// serial server; beyond it a write is refused and was not sent.
const WRITES_MAX: usize = 32;
/// Longest reason, in characters: part of it may come from the PLC.
const REASON_LENGTH_MAX: usize = 200;

/// How long a PLC is waited for. [`Patience::default`] is what ships; tests lengthen what a slow machine must not decide.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the answer to a request.
    pub call: Duration,
    /// For a connection.
    pub connect: Duration,
    /// So long a wire of RTU must be silent before it is used: longer than any answer takes.
    pub quiet: Duration,
    /// A write that waited for so long is given up, and not sent.
    pub write: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            // A request that just missed a scan is answered after the second one; a fifth of a second more for the
            // network and a serial line behind it.
            call: 2 * SCAN_MAX + Duration::from_millis(200),
            // A PLC in the same hall answers in milliseconds; with a call it stays within the time that the gateway
            // gives a command.
            connect: Duration::from_secs(1),
            quiet: 2 * SCAN_MAX + Duration::from_millis(200),
            // The gateway has given it up by then; it must not run after that.
            write: Duration::from_millis(PLC_ACK_DEADLINE.0),
        }
    }
}

/// A lift on the wire.
#[derive(Clone, Debug)]
pub struct BusLift {
    /// Which.
    pub lift: LiftId,
    /// Its stops.
    pub model: Lift,
    /// Modbus unit.
    pub unit: u8,
    /// Where it keeps what.
    pub profile: Profile,
}

/// The way to the PLCs on one wire. The task ends when it is stopped.
#[derive(Clone, Debug)]
pub struct Bus {
    writes: mpsc::Sender<Write>,
}

/// Why a write was not taken: it was certainly not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusRefusal {
    /// Too many wait.
    #[error("{WRITES_MAX} writes wait already")]
    Full,
    /// The task has ended.
    #[error("the field bus was stopped")]
    Stopped,
}

#[derive(Clone, Debug)]
struct Write {
    lift: LiftId,
    block: CommandBlock,
    asked_at: Instant,
}

/// Starts to talk to the PLCs on a wire. What is read and what becomes of writes goes into
/// `events`; when that is full the task waits, so reads get rarer and nothing is lost. Needs a tokio runtime.
pub fn start(
    wire: Wire,
    lifts: Vec<BusLift>,
    patience: Patience,
    events: mpsc::Sender<Event>,
    stop: CancellationToken,
) -> Bus {
    let (writes, queue) = mpsc::channel(WRITES_MAX);
    let task = Task { wire, lifts, memories: BTreeMap::new(), patience, events, queue };
    tokio::spawn(async move { stop.run_until_cancelled(task.run()).await });
    Bus { writes }
}

impl Bus {
    /// Queues a write. What becomes of it comes as [`Event::Written`].
    ///
    /// # Errors
    /// The queue is full or the task has ended: nothing was and nothing will be sent.
    pub fn write(&self, lift: LiftId, block: CommandBlock) -> Result<(), BusRefusal> {
        let write = Write { lift, block, asked_at: Instant::now() };
        self.writes.try_send(write).map_err(|err| match err {
            mpsc::error::TrySendError::Full(_) => BusRefusal::Full,
            mpsc::error::TrySendError::Closed(_) => BusRefusal::Stopped,
        })
    }
}

struct Task {
    wire: Wire,
    lifts: Vec<BusLift>,
    memories: BTreeMap<LiftId, Memory>,
    patience: Patience,
    events: mpsc::Sender<Event>,
    queue: mpsc::Receiver<Write>,
}

/// Nobody wants to hear any more.
struct Unheard;

/// How a call ended.
enum Call {
    /// As asked.
    Answered(Response),
    /// The PLC answered that it would not.
    Refused(ExceptionCode),
    /// No usable answer: the connection is worth nothing any more.
    Broken(String),
}

impl Task {
    async fn run(mut self) {
        let mut attempt = 0;
        loop {
            let ended = match self.wire.open(&self.patience).await {
                Ok(mut context) => {
                    let opened = Instant::now();
                    let ended = self.serve(&mut context).await;
                    // A connection that breaks at once is as good as none: waiting grows all the same.
                    if opened.elapsed() >= STEADY_AFTER {
                        attempt = 0;
                    }
                    ended
                }
                Err(reason) => self.unreachable(&reason).await,
            };
            let wait = RETRY_FIRST.saturating_mul(1 << u32::min(attempt, 5)).min(RETRY_LONGEST);
            attempt += 1;
            if ended.is_err() || self.stand_by(wait).await.is_err() {
                return;
            }
        }
    }

    async fn unreachable(&self, reason: &str) -> Result<(), Unheard> {
        for lift in &self.lifts {
            self.read_failed(&lift.lift, reason).await?;
        }
        Ok(())
    }

    /// Waits without connection. A write is answered at once: it was not sent.
    async fn stand_by(&mut self, wait: Duration) -> Result<(), Unheard> {
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                write = self.queue.recv() => {
                    let write = write.ok_or(Unheard)?;
                    self.written(&write, WriteResult::NotSent).await?;
                }
            }
        }
    }

    /// Reads and writes until the connection breaks.
    async fn serve(&mut self, context: &mut Context) -> Result<(), Unheard> {
        let mut tick = interval(Duration::from_millis(LIFT_POLL_PERIOD.0));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let broken = tokio::select! {
                biased;
                write = self.queue.recv() => self.perform(context, write.ok_or(Unheard)?).await?,
                _ = tick.tick() => self.poll(context).await?,
            };
            if let Some(reason) = broken {
                return self.unreachable(&reason).await;
            }
        }
    }

    /// Reads each lift once, with writes in between. The reason, when the connection broke.
    async fn poll(&mut self, context: &mut Context) -> Result<Option<String>, Unheard> {
        for idx in 0..self.lifts.len() {
            while let Ok(write) = self.queue.try_recv() {
                let broken = self.perform(context, write).await?;
                if broken.is_some() {
                    return Ok(broken);
                }
            }
            let Some(lift) = self.lifts.get(idx) else { break };
            match self.call(context, lift.unit, lift.profile.read_request()).await {
                Call::Answered(answer) => match self.decode(idx, &answer) {
                    Some((lift, Ok(status))) => self.tell(Event::Read { lift, status }).await?,
                    Some((lift, Err(reason))) => self.read_failed(&lift, &reason).await?,
                    None => return Ok(Some(format!("a read was answered with {answer:?}"))),
                },
                Call::Refused(code) if is_orderly(code) => {
                    self.read_failed(&lift.lift, &refusal(code)).await?;
                }
                Call::Refused(code) => return Ok(Some(refusal(code))),
                Call::Broken(reason) => return Ok(Some(reason)),
            }
        }
        Ok(None)
    }

    /// What a lift shows by an answer; none when that is no answer to a read of it.
    fn decode(&mut self, idx: usize, answer: &Response) -> Option<(LiftId, Result<LiftStatus, String>)> {
        let lift = self.lifts.get(idx)?;
        let memory = self.memories.entry(lift.lift.clone()).or_default();
        let decoded = lift.profile.decode(&lift.model, answer, memory, Instant::now())?;
        Some((lift.lift.clone(), decoded))
    }

    /// Writes one command block in one request. The reason, when the connection broke.
    async fn perform(&self, context: &mut Context, write: Write) -> Result<Option<String>, Unheard> {
        let Some(lift) = self.lifts.iter().find(|it| it.lift == write.lift) else {
            return self.written(&write, WriteResult::NotSent).await.map(|()| None);
        };
        if write.asked_at.elapsed() >= self.patience.write {
            return self.written(&write, WriteResult::NotSent).await.map(|()| None);
        }
        let request = lift.profile.write_request(&write.block);
        let (result, broken) = match self.call(context, lift.unit, request).await {
            Call::Answered(answer) if lift.profile.confirms(&answer) => (WriteResult::Confirmed, None),
            Call::Answered(other) => {
                (WriteResult::Unknown, Some(format!("a write was answered with {other:?}")))
            }
            Call::Refused(code) if is_orderly(code) => {
                tracing::warn!(lift = %lift.lift, "a command was not taken: {}", refusal(code));
                (WriteResult::NotSent, None)
            }
            Call::Refused(code) => (WriteResult::Unknown, Some(refusal(code))),
            Call::Broken(reason) => (WriteResult::Unknown, Some(reason)),
        };
        self.written(&write, result).await?;
        Ok(broken)
    }

    async fn call(&self, context: &mut Context, unit: u8, request: Request<'_>) -> Call {
        context.set_slave(Slave(unit));
        let gap = self.wire.gap();
        if !gap.is_zero() {
            sleep(gap).await;
        }
        match timeout(self.patience.call, context.call(request)).await {
            Ok(Ok(Ok(response))) => Call::Answered(response),
            Ok(Ok(Err(code))) => Call::Refused(code),
            Ok(Err(Error::Transport(err))) if says_nothing(&err) => {
                Call::Broken("the PLC closed the connection".to_owned())
            }
            Ok(Err(err)) => Call::Broken(format!("the connection broke: {err}")),
            Err(_) => Call::Broken(format!("no answer within {} ms", self.patience.call.as_millis())),
        }
    }

    async fn written(&self, write: &Write, result: WriteResult) -> Result<(), Unheard> {
        self.tell(Event::Written { lift: write.lift.clone(), number: write.block.number, result }).await
    }

    async fn read_failed(&self, lift: &LiftId, reason: &str) -> Result<(), Unheard> {
        let reason = reason.chars().take(REASON_LENGTH_MAX).collect();
        self.tell(Event::ReadFailed { lift: lift.clone(), reason }).await
    }

    async fn tell(&self, event: Event) -> Result<(), Unheard> {
        self.events.send(event).await.map_err(|_| Unheard)
    }
}

/// At the end of the stream the library hands out whatever error the process met last, which has nothing to do with it.
fn says_nothing(err: &io::Error) -> bool {
    const EAGAIN: i32 = 11;
    const EINPROGRESS: i32 = 115;
    match err.raw_os_error() {
        Some(code) => matches!(code, 0 | EAGAIN | EINPROGRESS),
        None => matches!(err.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe),
    }
}

/// The PLC, or what stands before it, says that it certainly did nothing, and the connection is sound.
fn is_orderly(code: ExceptionCode) -> bool {
    match code {
        ExceptionCode::IllegalFunction
        | ExceptionCode::IllegalDataAddress
        | ExceptionCode::IllegalDataValue
        | ExceptionCode::ServerDeviceBusy => true,
        // 0x04 may have happened half way, 0x05 runs on, after 0x0A and 0x0B an earlier answer may still be on the
        // wire.
        ExceptionCode::ServerDeviceFailure
        | ExceptionCode::Acknowledge
        | ExceptionCode::MemoryParityError
        | ExceptionCode::GatewayPathUnavailable
        | ExceptionCode::GatewayTargetDevice
        | ExceptionCode::Custom(_) => false,
    }
}

fn refusal(code: ExceptionCode) -> String {
    format!("the PLC answered exception {:#04x}, {code}", u8::from(code))
}
