//! Where a Redis is, as the command line gives it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, ensure};

/// The address of a Redis: `redis://[user:password@]host:port[/database]`. It is never printed: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(String);

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
    /// A client that is not connected yet.
    ///
    /// # Errors
    /// What is wrong with the address, without repeating it.
    pub(crate) fn client(&self) -> anyhow::Result<redis::Client> {
        let Self(text) = self;
        ensure!(
            !text.starts_with("rediss://"),
            "the address of the lease store asks for TLS, which is not built in: use redis:// and a tunnel"
        );
        ensure!(
            text.starts_with("redis://") && !text.contains(['?', '#']),
            "the address of the lease store is not of the form redis://[user:password@]host:port[/database]"
        );
        redis::Client::open(text.as_str()).context("the address of the lease store cannot be read")
    }
}

/// Host, port and database, for people.
pub(super) fn shown(client: &redis::Client) -> String {
    let info = client.get_connection_info();
    let address = if let redis::ConnectionAddr::Tcp(host, port) = info.addr()
        && host.contains(':')
    {
        format!("[{host}]:{port}")
    } else {
        info.addr().to_string()
    };
    format!("{address}/{}", info.redis_settings().db())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_or_refused_and_its_password_is_never_told() {
        for (text, expected) in [
            ("redis://127.0.0.1:6379", "127.0.0.1:6379/0"),
            ("redis://:hush@cache.hall:6380/3", "cache.hall:6380/3"),
            ("redis://me:hush@[::1]:6380", "[::1]:6380/0"),
            ("rediss://:hush@cache.hall:6380", "tunnel"),
            ("redis://:hush@cache.hall:6380/x", "cannot be read"),
            ("redis://:hush@cache.hall:99999", "cannot be read"),
            ("redis://:hush@cache.hall:6380?protocol=resp3", "of the form"),
            ("unix:///run/redis.sock", "of the form"),
            ("cache.hall:hush", "of the form"),
            ("", "of the form"),
        ] {
            let url: RedisUrl = text.parse().unwrap_or_else(|never| match never {});
            let told = url.client().map_or_else(|error| format!("{error:#}"), |client| shown(&client));
            assert!(told.contains(expected), "{text}: {told}");
            assert!(!format!("{told} {url:?}").contains("hush"), "{text}: {told} {url:?}");
        }
    }
}
