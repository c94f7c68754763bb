//! The site file: one TOML file that describes the plant, read once at the start of every role.
//!
//! A [`SiteFile`] is consistent: what does not fit together is refused, all problems at once, each with its line,
//! its key, the reason and what to do. Unknown keys are refused, since a mistyped key would silently mean its
//! default. Two sites ship within the executable: [`SMALL`] and [`DEMO`].
//!
//! Reading order: `reader` takes values out of TOML; `sections`, `ways`, `installation` and `plcs` know the keys; `check`
//! looks at the plant as a whole: ways, zones, doubles.

mod check;
mod installation;
mod limits;
mod plcs;
mod problem;
mod profiles;
mod reader;
mod sections;
#[cfg(test)]
mod tests;
mod ways;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::str::FromStr;

use kernel::ids::LiftId;
use kernel::plant::Plant;
use toml::de::{DeTable, DeValue};

pub use self::check::{Crossing, crossings};
use self::problem::Problems;
pub use self::problem::{Problem, SiteErrors};

use crate::fieldbus::wire::Wire;

/// Two floors, one lift, two vehicles.
pub const SMALL: &str = include_str!("../sites/small.toml");
/// Three floors, two lifts, twelve vehicles: what `hoistway demo` runs without a file.
pub const DEMO: &str = include_str!("../sites/demo.toml");

/// One floor, no lift, twelve vehicles: where `hoistway bench orders` runs.
pub const BENCH: &str = include_str!("../sites/bench.toml");

/// A site file that holds together.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteFile {
    /// What stands where.
    pub plant: Plant,
    /// How each lift's PLC is reached; one for each lift of the plant.
    pub plcs: BTreeMap<LiftId, Plc>,
    /// Register profiles that the file defines beside the built-in one, as they stand there.
    pub profiles: BTreeMap<String, toml::Table>,
}

/// How a lift's PLC is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plc {
    /// What leads there.
    pub wire: Wire,
    /// Modbus unit, 1 to 247; those that share a wire are told apart by it.
    pub unit: u8,
    /// Which register profile it speaks.
    pub profile: String,
}

/// A host by name or number, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    /// Name or IP address, without brackets.
    pub host: String,
    /// 1 to 65535.
    pub port: u16,
}

impl HostPort {
    /// The socket address, when the host is written as an IP address.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        self.host.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, self.port))
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string(), port: address.port() }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Why a text is not `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not HOST:PORT such as 127.0.0.1:1502, plc-1.hall.example:502 or [::1]:502")]
pub struct InvalidHostPort(String);

impl FromStr for HostPort {
    type Err = InvalidHostPort;

    fn from_str(text: &str) -> Result<Self, InvalidHostPort> {
        let refused = || InvalidHostPort(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(refused)?;
        let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let sound = match bracketed {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let letter = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '.';
                (1..=253).contains(&host.len()) && host.chars().all(letter)
            }
        };
        if !sound {
            return Err(refused());
        }
        Ok(Self { host: bracketed.unwrap_or(host).to_owned(), port })
    }
}

/// Reads a site file.
///
/// # Errors
/// Everything that is wrong with it, or why it cannot be read.
pub fn read(path: &Path) -> Result<SiteFile, SiteErrors> {
    let name = path.display().to_string();
    let text = load(path).map_err(|reason| SiteErrors::whole(&name, reason))?;
    parse(&text, &name)
}

/// Reads a site from text; `name` stands before each problem.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(text: &str, name: &str) -> Result<SiteFile, SiteErrors> {
    let mut problems = Problems::new(text);
    let (document, syntax) = DeTable::parse_recoverable(text);
    for error in &syntax {
        report_syntax(&mut problems, text, error);
    }
    // Half a tree would only bring problems that vanish with the first.
    if !problems.is_empty() {
        return Err(problems.into_errors(name));
    }
    know_keys(&mut problems, "", document.get_ref());
    let site = sections::site_file(&mut problems, document.get_ref());
    if let (Some(site), true) = (&site, problems.is_empty()) {
        check::check(&mut problems, site);
    }
    match site {
        Some(site) if problems.is_empty() => Ok(site),
        Some(_) | None => Err(problems.into_errors(name)),
    }
}

fn load(path: &Path) -> Result<String, String> {
    let cannot =
        |error: std::io::Error| format!("cannot be read: {error}; check the path and its permissions");
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    let n_read = file.take(limits::FILE_SIZE_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if n_read as u64 > limits::FILE_SIZE_MAX {
        let limit = limits::FILE_SIZE_MAX / 1024 / 1024;
        return Err(format!("is larger than {limit} MiB; is it a site file?"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not UTF-8 text from byte {at} on; save it as UTF-8")
    })
}

fn report_syntax(problems: &mut Problems, text: &str, error: &toml::de::Error) {
    let span = error.span().unwrap_or(0..0);
    let start = span.start.min(text.len().saturating_sub(1));
    if error.message().contains("duplicate key") {
        let key = text.get(span).unwrap_or_default().trim();
        problems.report_at(
            start,
            format!("`{key}` stands here a second time; a name is given once: rename or remove one"),
        );
    } else {
        problems.report_at(start, format!("this is not TOML: {}", error.message()));
    }
}

fn know_keys(problems: &mut Problems, path: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        let key_path =
            if path.is_empty() { key.get_ref().to_string() } else { format!("{path}.{}", key.get_ref()) };
        problems.know(key_path.clone(), key.span().start);
        know_value(problems, &key_path, value.get_ref());
    }
}

fn know_value(problems: &mut Problems, path: &str, value: &DeValue<'_>) {
    if let Some(table) = value.as_table() {
        know_keys(problems, path, table);
    }
    for (idx, item) in value.as_array().into_iter().flatten().enumerate() {
        let item_path = format!("{path}[{idx}]");
        problems.know(item_path.clone(), item.span().start);
        know_value(problems, &item_path, item.get_ref());
    }
}
