//! Register profiles: where a PLC keeps the logical lift.
//!
//! All registers are holding registers, addressed from 0 as on the wire. The status block is read in one request
//! (FC03), the command block is written in one request (FC16), so neither is ever seen half changed. Another maker's
//! PLC is another table in the site file, `[profiles.NAME]`, not new code; one without registers is a profile of
//! [`super::contacts`]. No code of a field is 0 where 0 could be
//! the silence of a PLC that has not started: a block of zeros is refused, not believed.
//!
//! What is mapped is what the PLC can tell, and the gateway's rules follow that. `command.number`, `status.accepted` and
//! `status.completed` are its echo: all three, or none. `status.boot` and `status.heartbeat` may be left out. Without an
//! echo a command counts as accepted once the lift is seen to do it; `reaction_s`, 1 s unless it is said otherwise, is
//! the longest that it may take to show. All other fields are needed: no rule of a ride holds without them.
//!
//! The built-in profile `hoistway-plc`:
//!
//! | register | field | values |
//! |---|---|---|
//! | 0 | status.floor | stop number, from 1 at the lowest stop |
//! | 1 | status.levelled | 0 no, 1 yes |
//! | 2 | status.door | 1 closed, 2 opening, 3 open, 4 closing, 5 obstructed |
//! | 3 | status.motion | 1 still, 2 up, 3 down |
//! | 4 | status.mode | 1 vehicle, 2 human, 3 fire, 4 maintenance, 5 emergency |
//! | 5 | status.fault | the maker's fault code, 0 none |
//! | 6 | status.accepted | number of the last command taken, 0 none since the start |
//! | 7 | status.completed | number of the last command finished, 0 none since the start |
//! | 8 | status.boot | rises by one with each start of the PLC |
//! | 9 | status.heartbeat | rises by one with each scan |
//! | 10 | status.occupied | 0 no, 1 yes |
//! | 100 | command.number | 1 to 65535; the PLC runs a number once |
//! | 101 | command.action | 1 go to, 2 open door, 3 close door |
//! | 102 | command.floor | stop number, from 1 at the lowest stop |

use kernel::gateway::CommandBlock;
use kernel::ids::FloorId;
use kernel::lift::LiftStatus;
use kernel::plant::{Capabilities, Lift};
use thiserror::Error;

use super::codes;
pub use super::registers::{
    CommandRegisters, Field, InvalidProfile, READ_REGISTERS_MAX, Registers, StatusRegisters,
};

/// Name of the profile that needs no table in the site file.
pub const BUILT_IN: &str = "hoistway-plc";

/// Why registers make no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A register holds a value that the profile gives no meaning.
    #[error("register {register} ({field}) holds {value}: {expected}")]
    Value {
        /// Address.
        register: u16,
        /// Its field.
        field: &'static str,
        /// What it holds.
        value: u16,
        /// What it may hold.
        expected: &'static str,
    },
    /// A stop number that this lift does not have.
    #[error("register {register} ({field}) holds stop {value}, the lift has stops 1 to {stops}")]
    Stop {
        /// Address.
        register: u16,
        /// Its field.
        field: &'static str,
        /// What it holds.
        value: u16,
        /// How many there are.
        stops: usize,
    },
    /// Another number of registers than asked for, or from another address.
    #[error("{found} registers from {address} were given, {expected} from {start} are needed")]
    Window {
        /// First address given.
        address: u16,
        /// How many were given.
        found: usize,
        /// First address needed.
        start: u16,
        /// How many are needed.
        expected: u16,
    },
}

/// Why a status cannot be written to registers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the lift has no stop on floor {floor}")]
pub struct NoStop {
    /// The floor of the status.
    pub floor: FloorId,
}

/// A validated register profile.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterProfile {
    registers: Registers,
    status: Window,
    command: Window,
}

/// Registers, or contacts, next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First address.
    pub start: u16,
    /// How many; `start + count` is at most 65536.
    pub count: u16,
}

impl Window {
    pub(super) fn over(lowest: u16, highest: u16) -> Self {
        Self { start: lowest, count: (highest - lowest).saturating_add(1) }
    }

    /// Whether `count` of them from `address` lie inside.
    pub fn covers(&self, address: u16, count: u16) -> bool {
        let end = u32::from(address) + u32::from(count);
        address >= self.start && end <= u32::from(self.start) + u32::from(self.count)
    }
}

impl RegisterProfile {
    /// The profile [`BUILT_IN`].
    pub fn built_in() -> Self {
        let registers = Registers::built_in();
        Self { registers, status: Window { start: 0, count: 11 }, command: Window { start: 100, count: 3 } }
    }

    /// Validates a table of the site file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn try_new(registers: Registers) -> Result<Self, Vec<InvalidProfile>> {
        let (status, command) = (registers.status_fields(), registers.command_fields());
        let mut wrong = registers.claims();
        wrong.extend(super::registers::shared(&[&status[..], &command[..]].concat()));
        let bounds = |part: &[Field]| {
            let addresses = part.iter().map(|it| it.1);
            (addresses.clone().min().unwrap_or(0), addresses.max().unwrap_or(0))
        };
        let (lowest, highest) = bounds(&command);
        let (n_words, command) = (command.len(), Window::over(lowest, highest));
        if usize::from(command.count) != n_words {
            wrong.push(InvalidProfile::CommandScattered { lowest, highest });
        }
        let (lowest, highest) = bounds(&status);
        let span = u32::from(highest - lowest) + 1;
        if span > u32::from(READ_REGISTERS_MAX) {
            wrong.push(InvalidProfile::StatusTooWide { span, lowest, highest });
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Self { registers, status: Window::over(lowest, highest), command })
    }

    /// What the PLC tells.
    pub fn capabilities(&self) -> Capabilities {
        self.registers.capabilities()
    }

    /// What is read in one request.
    pub fn status_window(&self) -> Window {
        self.status
    }

    /// What is written in one request.
    pub fn command_window(&self) -> Window {
        self.command
    }

    /// The words of a command block, for [`Self::command_window`].
    pub fn encode_command(&self, block: &CommandBlock) -> Vec<u16> {
        let at = &self.registers.command;
        let mut words = vec![0; usize::from(self.command.count)];
        for (register, value) in [
            (at.number, block.number),
            (Some(at.action), codes::action_code(block.action)),
            (Some(at.floor), block.floor),
        ] {
            put(&mut words, self.command, register, value);
        }
        words
    }

    /// The command in words that were written from `address`: the PLC's side. Its number is 0 where none is mapped.
    ///
    /// # Errors
    /// The register and the value that make no sense. The floor is not checked against the stops of a lift.
    pub fn decode_command(&self, address: u16, words: &[u16]) -> Result<CommandBlock, DecodeError> {
        let read = Reading::over(self.command, address, words)?;
        let at = &self.registers.command;
        let action = read.code(at.action, "command.action", codes::ACTIONS, codes::action_of)?;
        Ok(CommandBlock { number: read.mapped(at.number), action, floor: read.word(at.floor) })
    }

    /// The words of a status, for [`Self::status_window`]; registers between the fields hold 0: the PLC's side.
    ///
    /// # Errors
    /// The floor, when the lift has no stop there.
    pub fn encode_status(&self, lift: &Lift, status: &LiftStatus) -> Result<Vec<u16>, NoStop> {
        let floor = lift.stop_number(&status.floor).ok_or_else(|| NoStop { floor: status.floor.clone() })?;
        let at = &self.registers.status;
        let mut words = vec![0; usize::from(self.status.count)];
        for (register, value) in [
            (Some(at.floor), floor),
            (Some(at.levelled), u16::from(status.levelled)),
            (Some(at.door), codes::door_code(status.door)),
            (Some(at.motion), codes::motion_code(status.motion)),
            (Some(at.mode), codes::mode_code(status.mode)),
            (Some(at.fault), status.fault),
            (at.accepted, status.accepted),
            (at.completed, status.completed),
            (at.boot, status.boot),
            (at.heartbeat, status.heartbeat),
            (Some(at.occupied), u16::from(status.occupied)),
        ] {
            put(&mut words, self.status, register, value);
        }
        Ok(words)
    }

    /// The status in the words of [`Self::status_window`]; what is not mapped is 0.
    ///
    /// # Errors
    /// The register and the value that make no sense.
    pub fn decode_status(&self, lift: &Lift, words: &[u16]) -> Result<LiftStatus, DecodeError> {
        let read = Reading::over(self.status, self.status.start, words)?;
        let at = &self.registers.status;
        let number = read.word(at.floor);
        let stop = lift.stop_by_number(number).ok_or(DecodeError::Stop {
            register: at.floor,
            field: "status.floor",
            value: number,
            stops: lift.stops.len(),
        })?;
        Ok(LiftStatus {
            floor: stop.floor.clone(),
            levelled: read.flag(at.levelled, "status.levelled")?,
            door: read.code(at.door, "status.door", codes::DOORS, codes::door_of)?,
            motion: read.code(at.motion, "status.motion", codes::MOTIONS, codes::motion_of)?,
            mode: read.code(at.mode, "status.mode", codes::MODES, codes::mode_of)?,
            fault: read.word(at.fault),
            accepted: read.mapped(at.accepted),
            completed: read.mapped(at.completed),
            boot: read.mapped(at.boot),
            heartbeat: read.mapped(at.heartbeat),
            occupied: read.flag(at.occupied, "status.occupied")?,
        })
    }
}

fn put(words: &mut [u16], window: Window, register: Option<u16>, value: u16) {
    let word = register.and_then(|it| words.get_mut(usize::from(it.saturating_sub(window.start))));
    if let Some(word) = word {
        *word = value;
    }
}

struct Reading<'a> {
    window: Window,
    words: &'a [u16],
}

impl<'a> Reading<'a> {
    fn over(window: Window, address: u16, words: &'a [u16]) -> Result<Self, DecodeError> {
        if address != window.start || words.len() != usize::from(window.count) {
            let (start, expected) = (window.start, window.count);
            return Err(DecodeError::Window { address, found: words.len(), start, expected });
        }
        Ok(Self { window, words })
    }

    /// A validated profile keeps its registers inside its window, and the length was compared.
    fn word(&self, register: u16) -> u16 {
        self.words.get(usize::from(register.saturating_sub(self.window.start))).copied().unwrap_or(0)
    }

    fn mapped(&self, register: Option<u16>) -> u16 {
        register.map_or(0, |it| self.word(it))
    }

    fn code<T>(
        &self,
        register: u16,
        field: &'static str,
        expected: &'static str,
        meaning: impl Fn(u16) -> Option<T>,
    ) -> Result<T, DecodeError> {
        let value = self.word(register);
        meaning(value).ok_or(DecodeError::Value { register, field, value, expected })
    }

    fn flag(&self, register: u16, field: &'static str) -> Result<bool, DecodeError> {
        self.code(register, field, codes::BOOLEANS, |value| match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
