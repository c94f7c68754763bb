//! Where a ledger is: in a file, or on PostgreSQL. Knows what must never be shown: the password in an address.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use sqlx::postgres::PgConnectOptions;

/// An address as it was given. It may hold a password, so it is neither shown nor refused before it is taken apart:
/// a command line that refuses a value prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct LedgerUrl(String);

impl FromStr for LedgerUrl {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for LedgerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerUrl(..)")
    }
}

impl LedgerUrl {
    /// That of a file.
    ///
    /// # Errors
    /// A path that is no text.
    pub fn file(path: &std::path::Path) -> anyhow::Result<Self> {
        let text = path.to_str().with_context(|| format!("{} is no text", path.display()))?;
        Ok(Self(text.to_owned()))
    }

    /// As it was given, for the environment of a process of one's own; never to be shown.
    pub fn with_password(&self) -> &str {
        &self.0
    }

    /// Takes it apart: `postgres://USER@HOST:PORT/DATABASE`, or else the path of a file.
    ///
    /// # Errors
    /// Another scheme, or no such address; the text does not repeat what was given.
    pub fn address(&self) -> anyhow::Result<LedgerAddress> {
        const SHAPE: &str = "write postgres://USER@HOST:PORT/DATABASE, or the path of a file";
        let Some((scheme, rest)) = self.0.split_once("://") else {
            ensure!(!self.0.is_empty(), "the address of the ledger is empty: {SHAPE}");
            return Ok(LedgerAddress::File(PathBuf::from(&self.0)));
        };
        if !["postgres", "postgresql"].contains(&scheme) {
            bail!("a ledger is not kept on {scheme:?}: {SHAPE}");
        }
        let named = rest.split(['?', '#']).next().unwrap_or_default().split_once('/');
        ensure!(
            named.is_some_and(|(_, database)| !database.is_empty()),
            "the address of the ledger names no database: {SHAPE}"
        );
        let options = PgConnectOptions::from_str(&self.0)
            .with_context(|| format!("the address of the ledger is not understood: {SHAPE}"))?;
        Ok(LedgerAddress::Postgres(Box::new(options)))
    }
}

/// Where a ledger is.
#[derive(Clone)]
pub enum LedgerAddress {
    /// A file, created when it is missing.
    File(PathBuf),
    /// A database that exists; its tables are created when they are missing.
    Postgres(Box<PgConnectOptions>),
}

impl fmt::Display for LedgerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(options) => f.write_str(&super::postgres::place(options)),
        }
    }
}

/// As it is shown: the derived one would tell the password.
impl fmt::Debug for LedgerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> anyhow::Result<LedgerAddress> {
        LedgerUrl::from_str(text).unwrap().address()
    }

    #[test]
    fn an_address_is_a_database_or_a_file() {
        let rows = [
            ("var/control/hoistway.db", "var/control/hoistway.db"),
            ("postgres://hoist@db.hall:5433/site", "postgres://hoist@db.hall:5433/site"),
            ("postgresql://hoist@[::1]/site", "postgres://hoist@[::1]:5432/site"),
        ];
        for (given, shown) in rows {
            assert_eq!(address(given).unwrap().to_string(), shown, "{given}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_shape_of_one() {
        let rows = [
            ("", "is empty"),
            ("mysql://hoist:secret@db/site", "is not kept on \"mysql\""),
            ("postgres://hoist:secret@db:5432", "names no database"),
            ("postgres://hoist:secret@db/?sslmode=disable", "names no database"),
            ("postgres://hoist:secret@db:port/site", "is not understood"),
        ];
        for (given, reason) in rows {
            let refused = format!("{:#}", address(given).unwrap_err());
            assert!(
                refused.contains(reason) && refused.contains("postgres://USER@HOST"),
                "{given}: {refused}"
            );
            assert!(!refused.contains("secret"), "{given}: {refused}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let given = LedgerUrl::from_str("postgres://hoist:secret@db:5432/site?password=secret").unwrap();
        let address = given.address().unwrap();
        for shown in [format!("{given:?}"), format!("{address:?}"), address.to_string()] {
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}
