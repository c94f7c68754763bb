//! The field bus: lifts behind Modbus.
//!
//! [`profile`] says where a PLC keeps what; the gateway and the simulated PLC share it. [`modbus`] is the one voice
//! that a PLC hears; [`wire`] is what it speaks over.

use std::collections::BTreeMap;

use anyhow::Context as _;

mod codes;
pub mod modbus;
pub mod profile;
mod registers;
pub mod wire;

use profile::{BUILT_IN, Profile, Registers};

/// The profile of this name: the built-in one, or one of the tables `[profiles.NAME]` of the site file.
///
/// # Errors
/// There is no such profile, or everything that is wrong with its table.
pub fn profile_named(name: &str, tables: &BTreeMap<String, toml::Table>) -> anyhow::Result<Profile> {
    if name == BUILT_IN {
        return Ok(Profile::built_in());
    }
    let table = tables.get(name).with_context(|| format!("there is no profile \"{name}\""))?;
    let registers: Registers =
        table.clone().try_into().with_context(|| format!("profiles.{name} is no register profile"))?;
    Profile::try_new(registers).map_err(|wrong| {
        let reasons: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("profiles.{name} cannot work: {}", reasons.join("; "))
    })
}
