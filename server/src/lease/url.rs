//! Where the Redis of a site is, as the command line gives it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, anyhow, bail, ensure};
use redis::{Client, ConnectionAddr};

/// More confirmations than this nobody waits for at each grant.
const REPLICAS_MAX: u32 = 16;
/// One answers for all, so a few suffice, and all of them are asked at once.
const SERVERS_MAX: usize = 32;

/// The address of a Redis, of the sentinels that know which one it is, or of a cluster. It is never printed: it may hold
/// a password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(String);

/// An address that was understood.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) road: Road,
    /// So many replicas must confirm a grant.
    pub(super) replicas: u32,
}

/// How one gets to a server that grants.
#[derive(Clone, Debug)]
pub(super) enum Road {
    /// It is this one.
    Single(Client),
    /// Sentinels know which one is the master by this name now.
    Sentinel {
        sentinels: Vec<Client>,
        name: String,
        /// User, password and database of the master, at no address.
        like: Client,
    },
    /// These know which of them has what. The first one's user and password are every one's.
    Cluster(Vec<Client>),
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redis://…")
    }
}

/// Any text is taken, and read at the start: what the command line refuses it prints.
impl FromStr for RedisUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl RedisUrl {
    /// What it says.
    ///
    /// # Errors
    /// What is wrong with the address, without repeating it.
    pub(super) fn address(&self) -> anyhow::Result<Address> {
        let Self(text) = self;
        ensure!(
            !text.starts_with("rediss"),
            "the address of the lease store asks for TLS, which is not built in: use redis:// and a tunnel"
        );
        let (scheme, rest) = text.split_once("://").ok_or_else(malformed)?;
        ensure!(!rest.contains('#'), malformed());
        let (rest, replicas) = match rest.split_once('?') {
            Some((rest, query)) => (rest, replicas(query)?),
            None => (rest, 0),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        let hosts: Vec<&str> = hosts.split(',').collect();
        ensure!(hosts.iter().all(|it| !it.is_empty()), malformed());
        ensure!(
            hosts.len() <= SERVERS_MAX,
            "the address of the lease store names over {SERVERS_MAX} servers"
        );
        let road = match scheme {
            "redis" => single(&user, &hosts, path),
            "redis-sentinel" => sentinel(&user, &hosts, path),
            "redis-cluster" => cluster(&user, &hosts, path),
            _ => bail!(malformed()),
        }?;
        Ok(Address { road, replicas })
    }

    /// A client of one Redis that is not connected yet.
    ///
    /// # Errors
    /// What is wrong with the address, without repeating it, or that it names no single one.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        match self.address()?.road {
            Road::Single(client) => Ok(client),
            Road::Sentinel { .. } | Road::Cluster(_) => {
                bail!("this measures one Redis: give it as redis://host:port")
            }
        }
    }
}

impl fmt::Display for Road {
    /// Hosts, ports and database or name, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |all: &[Client]| all.iter().map(host_of).collect::<Vec<_>>().join(",");
        match self {
            Self::Single(client) => write!(f, "{}", shown(client)),
            Self::Sentinel { sentinels, name, .. } => {
                write!(f, "{name} by the sentinels {}", names(sentinels))
            }
            Self::Cluster(servers) => write!(f, "the cluster of {}", names(servers)),
        }
    }
}

fn malformed() -> anyhow::Error {
    anyhow!(
        "the address of the lease store is not of the form redis://[user:password@]host:port[/database], \
         redis-sentinel://[user:password@]host:port,host:port/master-name[/database] or \
         redis-cluster://[user:password@]host:port,host:port, each with ?replicas=N after it where grants have to be \
         confirmed"
    )
}

fn replicas(query: &str) -> anyhow::Result<u32> {
    let number = query.strip_prefix("replicas=").and_then(|it| it.parse().ok());
    number.filter(|it| *it <= REPLICAS_MAX).ok_or_else(|| {
        anyhow!(
            "after its ? the address of the lease store takes replicas=N alone, N from 0 to {REPLICAS_MAX}"
        )
    })
}

fn single(user: &str, hosts: &[&str], path: &str) -> anyhow::Result<Road> {
    let [host] = hosts else {
        bail!(
            "the address of the lease store names several servers: redis-sentinel:// is for one master with its \
             replicas, redis-cluster:// for a cluster"
        )
    };
    Ok(Road::Single(open(user, host, path)?))
}

fn sentinel(user: &str, hosts: &[&str], path: &str) -> anyhow::Result<Road> {
    let (name, database) = path.split_once('/').unwrap_or((path, ""));
    let sound = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    ensure!(
        !name.is_empty() && name.chars().all(sound),
        "the address of the lease store lacks the name by which the sentinels know the master: \
         redis-sentinel://host:port,host:port/master-name"
    );
    let sentinels = hosts.iter().map(|it| {
        let port = if has_port(it) { "" } else { ":26379" };
        open("", &format!("{it}{port}"), "")
    });
    let sentinels = sentinels.collect::<anyhow::Result<_>>()?;
    Ok(Road::Sentinel { sentinels, name: name.to_owned(), like: open(user, "master", database)? })
}

fn cluster(user: &str, hosts: &[&str], path: &str) -> anyhow::Result<Road> {
    ensure!(matches!(path, "" | "0"), "a cluster has database 0 alone: leave the database out");
    Ok(Road::Cluster(hosts.iter().map(|it| open(user, it, "")).collect::<anyhow::Result<_>>()?))
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(before, _)| !before.contains('[') || before.ends_with(']'))
}

fn open(user: &str, host: &str, database: &str) -> anyhow::Result<Client> {
    let text = format!("redis://{user}{host}/{database}");
    Client::open(text.as_str()).context("the address of the lease store cannot be read")
}

/// Host, port and database of one server, for people.
fn shown(client: &Client) -> String {
    format!("{}/{}", host_of(client), client.get_connection_info().redis_settings().db())
}

/// Host and port.
pub(super) fn host_of(client: &Client) -> String {
    let address = client.get_connection_info().addr();
    if let ConnectionAddr::Tcp(host, port) = address
        && host.contains(':')
    {
        return format!("[{host}]:{port}");
    }
    address.to_string()
}

/// The same user, password and database at another address.
pub(super) fn at(like: &Client, host: &str, port: u16) -> redis::RedisResult<Client> {
    let info = like.get_connection_info().clone();
    Client::open(info.set_addr(ConnectionAddr::Tcp(host.to_owned(), port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "of the form";
    const ROWS: &[(&str, &str)] = &[
        ("redis://127.0.0.1:6379", "127.0.0.1:6379/0, 0"),
        ("redis://127.0.0.1:6379?replicas=2", "127.0.0.1:6379/0, 2"),
        ("redis://:hush@cache.hall:6380/3", "cache.hall:6380/3, 0"),
        ("redis://me:hush@[::1]:6380", "[::1]:6380/0, 0"),
        ("redis-sentinel://a:1,[::1]:2,c/lifts", "lifts by the sentinels a:1,[::1]:2,c:26379, 0"),
        ("redis-sentinel://:hush@a:1,[::1]/lifts/3?replicas=1", "lifts by the sentinels a:1,[::1]:26379, 1"),
        ("redis-cluster://:hush@a:7000,b:7001", "the cluster of a:7000,b:7001, 0"),
        ("redis-cluster://a:7000/0?replicas=0", "the cluster of a:7000, 0"),
        ("redis-cluster://a:7000/", "the cluster of a:7000, 0"),
        ("rediss://:hush@cache.hall:6380", "tunnel"),
        ("rediss-cluster://:hush@cache.hall:6380", "tunnel"),
        ("redis://:hush@cache.hall:6380/x", "cannot be read"),
        ("redis://:hush@cache.hall:99999", "cannot be read"),
        ("redis://:hush@cache.hall:6380?protocol=resp3", "replicas=N alone"),
        ("redis://:hush@cache.hall:6380?replicas=17", "from 0 to 16"),
        ("redis://:hush@cache.hall:6380?replicas=-1", "from 0 to 16"),
        ("redis://:hush@a:1,b:2", "names several servers"),
        ("redis-sentinel://:hush@a:1,b:2", "lacks the name"),
        ("redis-sentinel://:hush@a:1,b:2/", "lacks the name"),
        ("redis-sentinel://:hush@a:1/my%20master", "lacks the name"),
        ("redis-sentinel://:hush@a:1/lifts/x", "cannot be read"),
        ("redis-cluster://:hush@a:1,b:2/3", "database 0 alone"),
        ("redis-cluster://:hush@a:1,,b:2", FORM),
        ("redis-cluster://:hush@", FORM),
        ("redis-cluster://:hush@a:1#b", FORM),
        ("unix:///run/redis.sock", FORM),
        ("cache.hall:hush", FORM),
        ("", FORM),
    ];

    #[test]
    fn an_address_is_read_or_refused_and_its_password_is_never_told() {
        for (text, expected) in ROWS {
            let url: RedisUrl = text.parse().unwrap_or_else(|never| match never {});
            let told = match url.address() {
                Ok(Address { road, replicas }) => format!("{road}, {replicas}"),
                Err(error) => format!("{error:#}"),
            };
            assert!(told.contains(expected), "{text}: {told}");
            assert!(!format!("{told} {url:?}").contains("hush"), "{text}: {told} {url:?}");
        }
    }

    #[test]
    fn too_many_servers_are_refused() {
        let hosts = vec!["a:1"; SERVERS_MAX + 1].join(",");
        let url: RedisUrl = format!("redis-cluster://{hosts}").parse().unwrap_or_else(|never| match never {});
        assert!(url.address().is_err_and(|it| it.to_string().contains("over 32 servers")));
    }
}
