//! The wire to a PLC: Modbus TCP, RTU through a serial server, RTU on a serial line of this machine.
//!
//! RTU numbers no request, so an answer that comes late looks like the answer to the next one. A serial server even hands
//! it to the connection after. A wire is used only once it has been silent for longer than any answer takes.

use std::fmt;
use std::io;
use std::time::Duration;

use serial2_tokio::{SerialPort, Settings};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_modbus::client::{Context, rtu, tcp};

use super::modbus::Patience;
use crate::site::HostPort;

/// Baud of a serial line, unless it is said otherwise: the default of the Modbus specification.
pub const BAUD: u32 = 19_200;
/// A wire that does not fall silent in so long has another master on it.
const NOISE_MAX: Duration = Duration::from_secs(5);
/// Of a line behind a serial server nobody knows the baud; this is the slowest that is in use.
const BAUD_BEHIND_SERVER: u32 = 9600;

/// The wire to one or more PLCs. Modbus units tell apart those that share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wire {
    /// Modbus TCP.
    Tcp(HostPort),
    /// RTU frames on a TCP connection, as a serial server takes them.
    RtuOverTcp(HostPort),
    /// RTU on a serial line.
    Rtu(SerialLine),
}

/// A serial line of this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SerialLine {
    /// Path of its device.
    pub device: String,
    /// Bits per second.
    pub baud: u32,
    /// With none there are two stop bits, as the specification wants it; a PLC that sends one is understood all the same.
    pub parity: Parity,
}

/// The check bit of each character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parity {
    /// None.
    None,
    /// Even: what the specification wants of every device.
    Even,
    /// Odd.
    Odd,
}

impl Parity {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Even, Self::Odd];

    /// Its name in a site file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Even => "even",
            Self::Odd => "odd",
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::RtuOverTcp(address) => write!(f, "{address}, RTU"),
            Self::Rtu(line) => {
                write!(f, "{}, RTU, {} baud, parity {}", line.device, line.baud, line.parity.name())
            }
        }
    }
}

impl Wire {
    /// Where it leads, whatever is spoken there.
    pub fn place(&self) -> String {
        match self {
            Self::Tcp(address) | Self::RtuOverTcp(address) => address.to_string(),
            Self::Rtu(line) => line.device.clone(),
        }
    }

    /// Connects, and waits until nothing of an earlier connection is on its way any more.
    pub(super) async fn open(&self, patience: &Patience) -> Result<Context, String> {
        match self {
            Self::Tcp(address) => Ok(tcp::attach(connect(address, patience).await?)),
            Self::RtuOverTcp(address) => {
                let mut stream = connect(address, patience).await?;
                fall_silent(&mut stream, patience.quiet).await?;
                Ok(rtu::attach(stream))
            }
            Self::Rtu(line) => {
                let mut port = line.open().map_err(|err| format!("{} cannot be used: {err}", line.device))?;
                fall_silent(&mut port, patience.quiet).await?;
                Ok(rtu::attach(port))
            }
        }
    }

    /// The silence before a request: RTU frames are told apart by 3.5 characters of eleven bits, and by 1.75 ms at least.
    pub(super) fn gap(&self) -> Duration {
        let baud = match self {
            Self::Tcp(_) => return Duration::ZERO,
            Self::RtuOverTcp(_) => BAUD_BEHIND_SERVER,
            Self::Rtu(line) => line.baud,
        };
        Duration::from_micros((38_500_000 / u64::from(baud.max(1))).max(1750))
    }
}

impl SerialLine {
    fn open(&self) -> io::Result<SerialPort> {
        use serial2_tokio::{CharSize, FlowControl, Parity as Bit, StopBits};
        let (bit, stops) = match self.parity {
            Parity::None => (Bit::None, StopBits::Two),
            Parity::Even => (Bit::Even, StopBits::One),
            Parity::Odd => (Bit::Odd, StopBits::One),
        };
        SerialPort::open(&self.device, |mut settings: Settings| {
            settings.set_raw();
            settings.set_baud_rate(self.baud)?;
            settings.set_char_size(CharSize::Bits8);
            settings.set_parity(bit);
            settings.set_stop_bits(stops);
            settings.set_flow_control(FlowControl::None);
            Ok(settings)
        })
    }
}

async fn connect(address: &HostPort, patience: &Patience) -> Result<TcpStream, String> {
    let connecting = timeout(patience.connect, TcpStream::connect(address.to_string())).await;
    let stream = match connecting {
        Ok(Ok(stream)) => stream,
        Ok(Err(err)) => return Err(format!("no connection to {address}: {err}")),
        Err(_) => return Err(format!("no connection to {address} within {:?}", patience.connect)),
    };
    // A half-open connection could hold the one place that many serial servers have: close by reset.
    let options = stream.set_nodelay(true).and_then(|()| stream.set_zero_linger());
    options.map_err(|err: io::Error| format!("the socket to {address} cannot be set up: {err}"))?;
    Ok(stream)
}

/// Throws away what comes until nothing does.
async fn fall_silent(wire: &mut (impl AsyncRead + Unpin), quiet: Duration) -> Result<(), String> {
    let (began, mut late) = (Instant::now(), [0; 256]);
    loop {
        match timeout(quiet, wire.read(&mut late)).await {
            Err(_) => return Ok(()),
            Ok(Ok(0)) => return Err("the connection was closed at once".to_owned()),
            Ok(Ok(_)) if began.elapsed() >= NOISE_MAX => {
                return Err("the line does not fall silent: is there another master on it?".to_owned());
            }
            Ok(Ok(_)) => {}
            Ok(Err(err)) => return Err(format!("the connection broke: {err}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stand_as_far_apart_as_the_line_needs() {
        let line =
            |baud| Wire::Rtu(SerialLine { device: "/dev/ttyS0".to_owned(), baud, parity: Parity::Even });
        let address = HostPort { host: "plc".to_owned(), port: 502 };
        let rows = [
            (line(1200), 32_083),
            (line(9600), 4010),
            (line(19_200), 2005),
            (line(115_200), 1750),
            (Wire::RtuOverTcp(address.clone()), 4010),
            (Wire::Tcp(address), 0),
        ];
        for (wire, expected) in rows {
            assert_eq!(wire.gap().as_micros(), expected, "{wire}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wire_is_used_once_it_is_silent() {
        use tokio::io::AsyncWriteExt as _;
        let quiet = Duration::from_millis(800);
        let (mut near, mut far) = tokio::io::duplex(64);
        let chatter = tokio::spawn(async move {
            for _ in 0..3 {
                far.write_all(b"late").await.unwrap();
                tokio::time::sleep(quiet / 2).await;
            }
            far
        });
        let began = Instant::now();
        fall_silent(&mut near, quiet).await.unwrap();
        assert!(began.elapsed() >= quiet * 2, "{:?}", began.elapsed());
        let mut far = chatter.await.unwrap();
        far.write_all(b"asked").await.unwrap();
        let mut answer = [0; 5];
        near.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"asked", "nothing of what came late");
        let noisy = tokio::spawn(async move {
            while far.write_all(b"other master").await.is_ok() {
                tokio::time::sleep(quiet / 2).await;
            }
        });
        let refused = fall_silent(&mut near, quiet).await.unwrap_err();
        assert!(refused.contains("another master"), "{refused}");
        drop(near);
        noisy.await.unwrap();
    }
}
