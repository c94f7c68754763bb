//! A relay on loopback before a PLC or before the broker: connections that break, or stand still, as real ones do.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Head of a Modbus TCP frame: transaction, protocol, length, unit.
const HEAD_LENGTH: usize = 7;
/// Longest frame that Modbus TCP allows.
const FRAME_LENGTH_MAX: usize = 260;
/// The functions that a gateway writes with: coils, registers.
const WRITES: [u8; 2] = [0x0F, 0x10];

/// Bytes that are on their way through it at once, in each direction.
const CARRIED_MAX: usize = 8192;

/// What a relay does to its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RelayFault {
    /// Nothing.
    #[default]
    Sound,
    /// It breaks them all and holds none.
    Down,
    /// Nothing passes, and nothing is lost: what is sent waits. It is for bytes only.
    Held,
    /// The other side acts, and its answer to a write is lost.
    AnswerLost,
    /// The other side takes a write, and the connection closes without an answer.
    ClosesInWrite,
}

/// What passes through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Modbus TCP, frame by frame.
    Modbus,
    /// RTU frames, frame by frame.
    Rtu,
    /// Bytes.
    Bytes,
}

/// A relay that runs. Clones steer the same one.
#[derive(Clone, Debug)]
pub struct Relay {
    address: SocketAddr,
    to: Arc<watch::Sender<SocketAddr>>,
    fault: Arc<watch::Sender<RelayFault>>,
}

impl Relay {
    /// Listens on a free loopback port and relays to `to` until `stop` is cancelled.
    ///
    /// # Errors
    /// No port is to be had.
    pub async fn start(to: SocketAddr, carries: Carries, stop: CancellationToken) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("a relay cannot listen")?;
        let address = listener.local_addr().context("a relay has no address")?;
        let (fault, seen) = watch::channel(RelayFault::Sound);
        let (to, leads_to) = watch::channel(to);
        let accepting = accept(listener, leads_to, carries, seen, stop.clone());
        tokio::spawn(async move { stop.run_until_cancelled(accepting).await });
        Ok(Self { address, to: Arc::new(to), fault: Arc::new(fault) })
    }

    /// Where to connect instead.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its next connections lead.
    pub fn lead_to(&self, to: SocketAddr) {
        self.to.send_replace(to);
    }

    /// What happens to its connections from now on.
    pub fn set(&self, fault: RelayFault) {
        self.fault.send_replace(fault);
    }
}

async fn accept(
    listener: TcpListener,
    to: watch::Receiver<SocketAddr>,
    carries: Carries,
    fault: watch::Receiver<RelayFault>,
    stop: CancellationToken,
) {
    loop {
        let Ok((near, _)) = listener.accept().await else {
            // No file descriptors are left: others close some.
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            continue;
        };
        if *fault.borrow() == RelayFault::Down {
            reset(near);
            continue;
        }
        let (mut fault, stop, to) = (fault.clone(), stop.clone(), *to.borrow());
        tokio::spawn(async move {
            tokio::select! {
                // Whoever talks notices a broken connection by itself, and the relay is no part of the system.
                _ = relay(near, to, carries, fault.clone()) => {}
                () = goes_down(&mut fault) => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

/// Also when nobody steers the relay any more.
async fn goes_down(fault: &mut watch::Receiver<RelayFault>) {
    _ = fault.wait_for(|it| *it == RelayFault::Down).await;
}

/// Closes at once, as a machine does on which nobody listens.
fn reset(stream: TcpStream) {
    if let Err(error) = stream.set_zero_linger() {
        tracing::debug!(%error, "a connection is closed with a farewell");
    }
}

async fn relay(
    mut near: TcpStream,
    to: SocketAddr,
    carries: Carries,
    fault: watch::Receiver<RelayFault>,
) -> io::Result<()> {
    let mut far = TcpStream::connect(to).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    match carries {
        Carries::Bytes => {
            let ((from_near, to_near), (from_far, to_far)) = (near.split(), far.split());
            let there = pass(from_near, to_far, fault.clone());
            let back = pass(from_far, to_near, fault);
            tokio::try_join!(there, back).map(|_| ())
        }
        Carries::Modbus | Carries::Rtu => loop {
            let (asked, answer, function) = if carries == Carries::Rtu {
                let asked = rtu_frame(&mut near, &[]).await?;
                far.write_all(&asked).await?;
                (asked, rtu_frame(&mut far, &READS).await?, 1)
            } else {
                let asked = frame(&mut near).await?;
                far.write_all(&asked).await?;
                (asked, frame(&mut far).await?, HEAD_LENGTH)
            };
            let is_write = asked.get(function).is_some_and(|it| WRITES.contains(it));
            let now = *fault.borrow();
            match (now, is_write) {
                (RelayFault::AnswerLost, true) => {}
                (RelayFault::ClosesInWrite, true) => return Ok(()),
                (RelayFault::Sound | RelayFault::Down | RelayFault::Held, _) | (_, false) => {
                    near.write_all(&answer).await?
                }
            }
        },
    }
}

/// Passes on what comes until it ends, and its end, too.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut fault: watch::Receiver<RelayFault>,
) -> io::Result<()> {
    let mut bytes = vec![0; CARRIED_MAX];
    loop {
        let n_read = from.read(&mut bytes).await?;
        // Also when nobody steers the relay any more.
        _ = fault.wait_for(|it| *it != RelayFault::Held).await;
        match bytes.get(..n_read) {
            None | Some([]) => return to.shutdown().await,
            Some(read) => to.write_all(read).await?,
        }
    }
}

/// The functions that a gateway reads with: their answers say how long they are.
const READS: [u8; 4] = [1, 2, 3, 4];

/// One RTU frame, which says how long it is by its function alone. `counted` are the functions whose frames of this
/// direction count their bytes right behind the function; writes of several do so in requests, behind what they write to.
async fn rtu_frame(stream: &mut TcpStream, counted: &[u8]) -> io::Result<Vec<u8>> {
    let mut frame = more(stream, Vec::new(), 2).await?;
    let function = frame.get(1).copied().unwrap_or_default();
    let is_answer = !counted.is_empty();
    let rest = if function >= 0x80 {
        3
    } else if counted.contains(&function) {
        frame = more(stream, frame, 1).await?;
        usize::from(frame.last().copied().unwrap_or_default()) + 2
    } else if WRITES.contains(&function) && !is_answer {
        frame = more(stream, frame, 5).await?;
        usize::from(frame.last().copied().unwrap_or_default()) + 2
    } else {
        6
    };
    more(stream, frame, rest).await
}

async fn more(stream: &mut TcpStream, mut frame: Vec<u8>, n: usize) -> io::Result<Vec<u8>> {
    let start = frame.len();
    frame.resize(start + n, 0);
    if let Some(rest) = frame.get_mut(start..) {
        stream.read_exact(rest).await?;
    }
    Ok(frame)
}

/// One Modbus TCP frame.
async fn frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEAD_LENGTH];
    stream.read_exact(&mut frame).await?;
    // The length counts the unit, which is read already.
    let length = frame.get(4..6).and_then(|it| <[u8; 2]>::try_from(it).ok()).map(u16::from_be_bytes);
    let rest = usize::from(length.unwrap_or_default().saturating_sub(1));
    if rest == 0 || HEAD_LENGTH + rest > FRAME_LENGTH_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no Modbus frame"));
    }
    frame.resize(HEAD_LENGTH + rest, 0);
    if let Some(body) = frame.get_mut(HEAD_LENGTH..) {
        stream.read_exact(body).await?;
    }
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const READ: [u8; 12] = [0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1];
    const WRITE: [u8; 15] = [0, 2, 0, 0, 0, 9, 1, 0x10, 0, 100, 0, 1, 2, 0, 7];
    const PATIENCE: Duration = Duration::from_secs(60);

    /// A device that echoes each frame and counts them.
    async fn echo(heard: watch::Sender<usize>) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let heard = heard.clone();
                tokio::spawn(async move {
                    while let Ok(frame) = frame(&mut stream).await {
                        heard.send_modify(|n| *n += 1);
                        stream.write_all(&frame).await.unwrap();
                    }
                });
            }
        });
        address
    }

    async fn ask(stream: &mut TcpStream, request: &[u8]) -> io::Result<Vec<u8>> {
        stream.write_all(request).await?;
        frame(stream).await
    }

    #[tokio::test]
    async fn a_write_reaches_the_plc_and_its_answer_suffers() {
        let (heard, mut hears) = watch::channel(0);
        let relay = Relay::start(echo(heard).await, Carries::Modbus, CancellationToken::new()).await.unwrap();
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(ask(&mut stream, &WRITE).await.unwrap(), WRITE);

        relay.set(RelayFault::AnswerLost);
        assert_eq!(ask(&mut stream, &READ).await.unwrap(), READ, "reads are answered");
        stream.write_all(&WRITE).await.unwrap();
        hears.wait_for(|n| *n == 3).await.unwrap();
        // The next answer is the read's: that of the write is gone.
        assert_eq!(ask(&mut stream, &READ).await.unwrap(), READ);

        relay.set(RelayFault::ClosesInWrite);
        assert!(tokio::time::timeout(PATIENCE, ask(&mut stream, &WRITE)).await.unwrap().is_err());
        assert_eq!(*hears.borrow(), 5, "the PLC took it");
    }

    #[tokio::test]
    async fn what_is_sent_while_it_is_held_waits_and_then_comes() {
        let (heard, hears) = watch::channel(0);
        let relay = Relay::start(echo(heard).await, Carries::Bytes, CancellationToken::new()).await.unwrap();
        let mut old = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(ask(&mut old, &READ).await.unwrap(), READ);
        relay.set(RelayFault::Held);
        let mut new = TcpStream::connect(relay.address()).await.unwrap();
        for stream in [&mut old, &mut new] {
            stream.write_all(&WRITE).await.unwrap();
        }
        let early = tokio::time::timeout(Duration::from_millis(200), frame(&mut old)).await;
        assert!(early.is_err(), "{early:?}");
        assert_eq!(*hears.borrow(), 1);
        relay.set(RelayFault::Sound);
        for stream in [&mut old, &mut new] {
            assert_eq!(tokio::time::timeout(PATIENCE, frame(stream)).await.unwrap().unwrap(), WRITE);
        }
    }

    #[tokio::test]
    async fn a_relay_that_is_down_breaks_every_connection_and_holds_none() {
        let (heard, _hears) = watch::channel(0);
        let relay = Relay::start(echo(heard).await, Carries::Bytes, CancellationToken::new()).await.unwrap();
        let mut stream = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(ask(&mut stream, &READ).await.unwrap(), READ);
        relay.set(RelayFault::Down);
        assert!(tokio::time::timeout(PATIENCE, frame(&mut stream)).await.unwrap().is_err());
        let mut next = TcpStream::connect(relay.address()).await.unwrap();
        assert!(tokio::time::timeout(PATIENCE, ask(&mut next, &READ)).await.unwrap().is_err());
        let (heard, hears) = watch::channel(0);
        relay.lead_to(echo(heard).await);
        relay.set(RelayFault::Sound);
        let mut sound = TcpStream::connect(relay.address()).await.unwrap();
        assert_eq!(ask(&mut sound, &READ).await.unwrap(), READ);
        assert_eq!(*hears.borrow(), 1, "it leads elsewhere now");
    }

    /// Requests and answers of RTU, by what tells how long they are; a last byte that is not theirs stays.
    #[tokio::test]
    async fn rtu_frames_are_cut_by_their_function() {
        let write_coils = [1, 0x0F, 0, 10, 0, 3, 1, 4, 0xAA, 0xBB];
        let write_registers = [1, 0x10, 0, 100, 0, 1, 2, 0, 7, 0xAA, 0xBB];
        let rows: [(&[u8], &[u8]); 7] = [
            (&[1, 3, 0, 0, 0, 11, 0xAA, 0xBB], &[]),
            (&write_coils, &[]),
            (&write_registers, &[]),
            (&[1, 3, 2, 0, 7, 0xAA, 0xBB], &READS),
            (&[1, 2, 1, 5, 0xAA, 0xBB], &READS),
            (&[1, 0x10, 0, 100, 0, 1, 0xAA, 0xBB], &READS),
            (&[1, 0x83, 2, 0xAA, 0xBB], &READS),
        ];
        for (expected, counted) in rows {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let mut far = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut near, _) = listener.accept().await.unwrap();
            far.write_all(&[expected, &[0xFF]].concat()).await.unwrap();
            assert_eq!(rtu_frame(&mut near, counted).await.unwrap(), expected);
        }
    }
}
