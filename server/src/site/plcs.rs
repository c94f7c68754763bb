//! The PLCs: `lifts.NAME.plc`.

use std::collections::BTreeMap;

use super::limits as limit;
use super::problem::Problems;
use super::reader::{Table, text_of};
use super::sections::BUILT_IN_PROFILE;
use super::{HostPort, Plc};
use crate::fieldbus::wire::{BAUD, Parity, SerialLine, Wire};
use crate::fieldbus::{Profile, profile_named};
use crate::spelling::nearest;

/// How one lift's PLC is reached, and what it can tell.
pub(super) fn plc(
    problems: &mut Problems,
    mut table: Table<'_>,
    profiles: &BTreeMap<String, toml::Table>,
) -> Option<(Plc, Option<Profile>)> {
    let wire = wire(problems, &mut table);
    let unit =
        if table.optional("unit").is_some() { table.whole(problems, "unit", limit::UNIT) } else { Some(1) };
    let profile = match table.optional("profile") {
        None => Some(BUILT_IN_PROFILE),
        Some(value) => text_of(problems, &table.key("profile"), value),
    };
    let path = table.key("profile");
    table.finish(problems);
    let profile = profile.filter(|name| {
        let known = *name == BUILT_IN_PROFILE || profiles.contains_key(*name);
        if !known {
            let names = profiles.keys().map(String::as_str).chain([BUILT_IN_PROFILE]);
            let near = nearest(name, names).unwrap_or(BUILT_IN_PROFILE);
            problems.report(
                &path,
                format!(
                    "there is no profile \"{name}\"; did you mean \"{near}\"? Or add `[profiles.{name}]`"
                ),
            );
        }
        known
    });
    let profile = profile?.to_owned();
    // What is wrong with the profile was reported where it stands.
    let known = profile_named(&profile, profiles).ok();
    Some((Plc { wire: wire?, unit: u8::try_from(unit?).ok()?, profile }, known))
}

/// Transports by their names in a site file.
const TRANSPORTS: &str =
    "\"tcp\" (Modbus TCP), \"rtu-over-tcp\" (a serial server) or \"rtu\" (a serial line of this machine)";

fn wire(problems: &mut Problems, table: &mut Table<'_>) -> Option<Wire> {
    let path = table.key("transport");
    let transport = match table.optional("transport") {
        None => "tcp",
        Some(value) => text_of(problems, &path, value)?,
    };
    match transport {
        "tcp" => address(problems, table).map(Wire::Tcp),
        "rtu-over-tcp" => address(problems, table).map(Wire::RtuOverTcp),
        "rtu" => serial_line(problems, table).map(Wire::Rtu),
        other => {
            problems.report(&path, format!("\"{other}\" is no transport; use {TRANSPORTS}"));
            // What belongs to the transport that was meant is not to be told as unknown.
            for key in ["address", "device", "baud", "parity"] {
                table.optional(key);
            }
            None
        }
    }
}

fn address(problems: &mut Problems, table: &mut Table<'_>) -> Option<HostPort> {
    let text = table.text(problems, "address")?;
    text.parse::<HostPort>().map_err(|reason| problems.report(&table.key("address"), reason.to_string())).ok()
}

fn serial_line(problems: &mut Problems, table: &mut Table<'_>) -> Option<SerialLine> {
    let device = table.text(problems, "device").and_then(|text| {
        let sound = text.starts_with('/') && !text.chars().any(char::is_control);
        if !sound {
            let wanted = format!("\"{text}\" is no device; give its whole path, such as \"/dev/ttyS0\"");
            problems.report(&table.key("device"), wanted);
        }
        sound.then(|| text.to_owned())
    });
    let baud = if table.optional("baud").is_some() {
        table.whole(problems, "baud", limit::BAUD)
    } else {
        Some(BAUD)
    };
    let path = table.key("parity");
    let parity = match table.optional("parity") {
        None => Some(Parity::Even),
        Some(value) => text_of(problems, &path, value).and_then(|text| {
            let found = Parity::ALL.into_iter().find(|it| it.name() == text);
            if found.is_none() {
                problems.report(&path, format!("\"{text}\" is no parity; use \"even\", \"odd\" or \"none\""));
            }
            found
        }),
    };
    Some(SerialLine { device: device?, baud: baud?, parity: parity? })
}
