//! A PLC of a few lines on a real socket, that can misbehave on the wire, in Modbus TCP and in RTU frames.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How the PLC answers a write of the command block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnWrite {
    /// Runs it and confirms.
    Confirm,
    /// Runs it and closes the connection.
    RunAndHangUp,
    /// Closes the connection, runs nothing.
    HangUp,
    /// Runs it and confirms after the caller has given up.
    AnswerLate,
    /// Runs it and confirms another address.
    EchoWrongAddress,
    /// Runs it and confirms in the name of another unit.
    OtherUnit,
    /// Runs it and confirms another request, where requests are numbered.
    OtherTransaction,
    /// Runs nothing and says why.
    Except(u8),
}

/// How frames are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Tcp,
    /// With a check sum; a late answer goes to whoever is connected by then, as a serial server hands it on.
    Rtu,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Holding registers of the built-in profile.
    pub(crate) status: [u16; 11],
    pub(crate) on_write: OnWrite,
    /// Exception for reads.
    pub(crate) read_exception: Option<u8>,
    /// The next read is answered too late.
    pub(crate) read_late: bool,
    /// What is still on its way to whoever connects next.
    late: Vec<u8>,
    pub(crate) connections: usize,
    pub(crate) open_now: usize,
    pub(crate) open_most: usize,
    /// Numbers of the commands that were run.
    pub(crate) ran: Vec<u16>,
}

/// The PLC; gone when dropped.
pub(crate) struct Plc {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    _tasks: JoinSet<()>,
}

impl Plc {
    pub(crate) async fn start() -> Self {
        Self::framed(Framing::Tcp).await
    }

    /// Stands at the lowest stop, door closed.
    pub(crate) async fn framed(framing: Framing) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = State {
            status: [1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0],
            on_write: OnWrite::Confirm,
            read_exception: None,
            read_late: false,
            late: Vec::new(),
            connections: 0,
            open_now: 0,
            open_most: 0,
            ran: Vec::new(),
        };
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(state)));
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, framing, Arc::clone(&state)));
        Self { address, state, _tasks: tasks }
    }

    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }
}

async fn serve(listener: TcpListener, framing: Framing, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        {
            let mut state = state.lock().unwrap();
            state.connections += 1;
            state.open_now += 1;
            state.open_most = state.open_most.max(state.open_now);
        }
        let state = Arc::clone(&state);
        connections.spawn(async move {
            // The other side may go at any time.
            let _ = match framing {
                Framing::Tcp => talk(stream, &state).await,
                Framing::Rtu => talk_rtu(stream, &state).await,
            };
            state.lock().unwrap().open_now -= 1;
        });
    }
}

async fn talk(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    loop {
        let mut header = [0; 7];
        stream.read_exact(&mut header).await?;
        let mut pdu = vec![0; usize::from(u16::from_be_bytes([header[4], header[5]])) - 1];
        stream.read_exact(&mut pdu).await?;
        let Some((answer, late)) = answer(&pdu, &mut state.lock().unwrap()) else { return Ok(()) };
        if late {
            // So late that whoever asked has asked again or hung up.
            stream.peek(&mut [0]).await?;
        }
        let on_write = state.lock().unwrap().on_write;
        if pdu[0] == 16 && on_write == OnWrite::OtherUnit {
            header[6] = header[6].wrapping_add(1);
        } else if pdu[0] == 16 && on_write == OnWrite::OtherTransaction {
            header[1] = header[1].wrapping_add(1);
        }
        let length = u16::try_from(answer.len() + 1).unwrap().to_be_bytes();
        header[4..6].copy_from_slice(&length);
        stream.write_all(&[&header[..], &answer[..]].concat()).await?;
    }
}

async fn talk_rtu(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let late = std::mem::take(&mut state.lock().unwrap().late);
    stream.write_all(&late).await?;
    loop {
        let mut asked = vec![0; 7];
        stream.read_exact(&mut asked).await?;
        let rest = if asked[1] == 16 { usize::from(asked[6]) + 2 } else { 1 };
        asked.resize(7 + rest, 0);
        stream.read_exact(&mut asked[7..]).await?;
        let (frame, sum) = asked.split_at(asked.len() - 2);
        assert_eq!(sum, crc(frame), "a sound frame");
        let is_write = frame[1] == 16;
        let (answered, read_late, other_unit) = {
            let mut state = state.lock().unwrap();
            let read_late = !is_write && std::mem::take(&mut state.read_late);
            let other_unit = is_write && state.on_write == OnWrite::OtherUnit;
            (answer(&frame[1..], &mut state), read_late, other_unit)
        };
        let Some((pdu, late)) = answered else { return Ok(()) };
        let mut answer = [&[asked[0] + u8::from(other_unit)], &pdu[..]].concat();
        answer.extend(crc(&answer));
        if late || read_late {
            state.lock().unwrap().late = answer;
        } else {
            stream.write_all(&answer).await?;
        }
    }
}

fn crc(frame: &[u8]) -> [u8; 2] {
    let sum = frame.iter().fold(0xFFFF_u16, |sum, byte| {
        (0..8).fold(sum ^ u16::from(*byte), |it, _| if it & 1 == 1 { it >> 1 ^ 0xA001 } else { it >> 1 })
    });
    sum.to_le_bytes()
}

/// The answer and whether it is late; none to hang up.
fn answer(pdu: &[u8], state: &mut State) -> Option<(Vec<u8>, bool)> {
    let word = |at: usize| u16::from_be_bytes([pdu[at], pdu[at + 1]]);
    if pdu[0] == 3 {
        if let Some(code) = state.read_exception {
            return Some((vec![0x83, code], false));
        }
        state.status[9] = state.status[9].wrapping_add(1);
        let (start, count) = (usize::from(word(1)), usize::from(word(3)));
        let words = state.status[start..start + count].iter().flat_map(|it| it.to_be_bytes());
        let bytes = u8::try_from(2 * count).unwrap();
        return Some(([3, bytes].into_iter().chain(words).collect(), false));
    }
    assert_eq!((pdu[0], word(1), word(3)), (16, 100, 3), "one FC16 over the command block");
    let confirm = pdu[..5].to_vec();
    match state.on_write {
        OnWrite::HangUp => return None,
        OnWrite::Except(code) => return Some((vec![0x90, code], false)),
        OnWrite::Confirm
        | OnWrite::RunAndHangUp
        | OnWrite::AnswerLate
        | OnWrite::EchoWrongAddress
        | OnWrite::OtherUnit
        | OnWrite::OtherTransaction => {}
    }
    let (number, action, floor) = (word(6), word(8), word(10));
    state.ran.push(number);
    match action {
        1 => state.status[0] = floor,
        2 => state.status[2] = 3,
        _ => state.status[2] = 1,
    }
    state.status[6] = number;
    state.status[7] = number;
    match state.on_write {
        OnWrite::RunAndHangUp => None,
        OnWrite::AnswerLate => Some((confirm, true)),
        OnWrite::EchoWrongAddress => Some((vec![16, 0, 101, 0, 3], false)),
        OnWrite::Confirm
        | OnWrite::HangUp
        | OnWrite::OtherUnit
        | OnWrite::OtherTransaction
        | OnWrite::Except(_) => Some((confirm, false)),
    }
}
