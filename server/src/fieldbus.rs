//! The field bus: lifts behind Modbus.
//!
//! A profile says where a PLC keeps what, in registers ([`profile`]) or on dry contacts ([`contacts`]); the gateway and
//! the simulated PLC share it. [`modbus`] is the one voice that a PLC hears; [`wire`] is what it speaks over.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::Context as _;
use kernel::gateway::CommandBlock;
use kernel::lift::LiftStatus;
use kernel::plant::{Capabilities, Lift};
use tokio::time::Instant;
use tokio_modbus::{Request, Response};

mod codes;
pub mod contacts;
pub mod modbus;
pub mod profile;
mod registers;
pub mod wire;

pub use contacts::Memory;
use contacts::{ContactProfile, Contacts};
use profile::{BUILT_IN, RegisterProfile, Registers};

/// Kinds of profiles by their names in a site file.
const KINDS: &str = "\"registers\" or \"contacts\"";

/// Where a PLC keeps the logical lift.
#[derive(Clone, Debug, PartialEq)]
pub enum Profile {
    /// In holding registers.
    Registers(RegisterProfile),
    /// On coils and discrete inputs, one for each thing that it does or tells.
    Contacts(ContactProfile),
}

/// One thing that is wrong with a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The key that it is about, from the profile's table on; none when all of it is meant.
    pub at: Option<&'static str>,
    /// What is wrong.
    pub text: String,
}

impl Profile {
    /// The profile [`BUILT_IN`].
    pub fn built_in() -> Self {
        Self::Registers(RegisterProfile::built_in())
    }

    /// A table `[profiles.NAME]` of the site file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn of_table(table: &toml::Table) -> Result<Self, Vec<Wrong>> {
        let mut table = table.clone();
        let kind = table.remove("kind").unwrap_or_else(|| "registers".into());
        let shape =
            |error: toml::de::Error| vec![Wrong { at: None, text: error.message().trim_end().to_owned() }];
        match kind.as_str() {
            Some("registers") => {
                let registers: Registers = table.try_into().map_err(shape)?;
                RegisterProfile::try_new(registers).map(Self::Registers).map_err(|wrong| {
                    wrong.iter().map(|it| Wrong { at: it.field(), text: it.to_string() }).collect()
                })
            }
            Some("contacts") => {
                let contacts: Contacts = table.try_into().map_err(shape)?;
                ContactProfile::try_new(contacts).map(Self::Contacts).map_err(|wrong| {
                    wrong.iter().map(|it| Wrong { at: it.field(), text: it.to_string() }).collect()
                })
            }
            Some(_) | None => Err(vec![Wrong {
                at: Some("kind"),
                text: format!("{kind} is no kind of profile; use {KINDS}"),
            }]),
        }
    }

    /// What the PLC tells.
    pub fn capabilities(&self) -> Capabilities {
        match self {
            Self::Registers(profile) => profile.capabilities(),
            Self::Contacts(profile) => profile.capabilities(),
        }
    }

    /// How many stops it has contacts for; none when it does not matter.
    pub fn n_stops(&self) -> Option<usize> {
        match self {
            Self::Registers(_) => None,
            Self::Contacts(profile) => Some(profile.n_stops()),
        }
    }

    /// Reads all that the lift shows.
    pub(crate) fn read_request(&self) -> Request<'static> {
        match self {
            Self::Registers(profile) => {
                let window = profile.status_window();
                Request::ReadHoldingRegisters(window.start, window.count)
            }
            Self::Contacts(profile) => {
                let window = profile.input_window();
                Request::ReadDiscreteInputs(window.start, window.count)
            }
        }
    }

    /// What the lift shows by the answer to [`Self::read_request`]; none when that is no answer to it.
    pub(crate) fn decode(
        &self,
        lift: &Lift,
        answer: &Response,
        memory: &mut Memory,
        now: Instant,
    ) -> Option<Result<LiftStatus, String>> {
        match (self, answer) {
            (Self::Registers(profile), Response::ReadHoldingRegisters(words)) => {
                Some(profile.decode_status(lift, words).map_err(|err| err.to_string()))
            }
            (Self::Contacts(profile), Response::ReadDiscreteInputs(bits)) => {
                Some(profile.decode_inputs(lift, bits, memory, now).map_err(|err| err.to_string()))
            }
            (Self::Registers(_) | Self::Contacts(_), _) => None,
        }
    }

    /// Gives one command.
    pub(crate) fn write_request(&self, block: &CommandBlock) -> Request<'static> {
        match self {
            Self::Registers(profile) => {
                let words = profile.encode_command(block);
                Request::WriteMultipleRegisters(profile.command_window().start, Cow::Owned(words))
            }
            Self::Contacts(profile) => {
                let bits = profile.encode_coils(block);
                Request::WriteMultipleCoils(profile.coil_window().start, Cow::Owned(bits))
            }
        }
    }

    /// The answer confirms the write of a command.
    pub(crate) fn confirms(&self, answer: &Response) -> bool {
        match (self, answer) {
            (Self::Registers(profile), Response::WriteMultipleRegisters(start, count)) => {
                let window = profile.command_window();
                (*start, *count) == (window.start, window.count)
            }
            (Self::Contacts(profile), Response::WriteMultipleCoils(start, count)) => {
                let window = profile.coil_window();
                (*start, *count) == (window.start, window.count)
            }
            (Self::Registers(_) | Self::Contacts(_), _) => false,
        }
    }
}

/// The profile of this name: the built-in one, or one of the tables `[profiles.NAME]` of the site file.
///
/// # Errors
/// There is no such profile, or everything that is wrong with its table.
pub fn profile_named(name: &str, tables: &BTreeMap<String, toml::Table>) -> anyhow::Result<Profile> {
    if name == BUILT_IN {
        return Ok(Profile::built_in());
    }
    let table = tables.get(name).with_context(|| format!("there is no profile `{name}`"))?;
    Profile::of_table(table).map_err(|wrong| {
        let reasons: Vec<String> = wrong.into_iter().map(|it| it.text).collect();
        anyhow::anyhow!("profiles.{name}: {}", reasons.join("; "))
    })
}
