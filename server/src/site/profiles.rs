//! The register maps, `[profiles.NAME]`, and which one each lift's PLC speaks.

use std::collections::BTreeMap;

use anyhow::Context as _;
use kernel::ids::LiftId;
use toml::de::DeValue;

use super::SiteFile;
use super::limits::Count;
use super::problem::Problems;
use super::reader::Table;
use crate::fieldbus::profile::BUILT_IN;
use crate::fieldbus::{Profile, profile_named};

const PROFILES: Count = Count { min: 0, max: 50 };

/// What every PLC must tell, and why. The rest of what is missing is said by the reader of TOML.
const NEEDED: [(&str, &str, &str); 5] = [
    ("status", "door", NO_DOOR),
    ("status", "occupied", NO_OCCUPANCY),
    ("inputs", "closed", NO_DOOR),
    ("inputs", "opened", NO_DOOR),
    ("inputs", "occupied", NO_OCCUPANCY),
];
const NO_DOOR: &str = "without the position of the door no rule of a ride can hold";
const NO_OCCUPANCY: &str = "without knowing whether the car is occupied no rule of a ride can hold";

/// Every profile of the file, as it stands there.
pub(super) fn tables(problems: &mut Problems, root: &mut Table<'_>) -> BTreeMap<String, toml::Table> {
    let mut found = BTreeMap::new();
    for (name, path, value) in root.entries(problems, "profiles", PROFILES).unwrap_or_default() {
        if name == BUILT_IN {
            problems.report(&path, format!("\"{name}\" is built in; give your profile another name"));
        }
        match plain(value) {
            Some(toml::Value::Table(table)) => {
                profile(problems, &path, &table);
                found.insert(name.to_owned(), table);
            }
            Some(_) | None => problems.report(&path, "must be a table of registers"),
        }
    }
    found
}

/// Reports what is wrong with a profile.
fn profile(problems: &mut Problems, path: &str, table: &toml::Table) {
    for (section, key, why) in NEEDED {
        let section_table = table.get(section).and_then(toml::Value::as_table);
        if section_table.is_some_and(|it| !it.contains_key(key)) {
            problems.report(&format!("{path}.{section}.{key}"), format!("`{key}` is missing; map it: {why}"));
        }
    }
    let said = |text: &str| NEEDED.iter().any(|(_, key, _)| text == format!("missing field `{key}`"));
    for wrong in Profile::of_table(table).err().into_iter().flatten().filter(|it| !said(&it.text)) {
        let at = wrong.at.map_or_else(|| path.to_owned(), |it| format!("{path}.{it}"));
        problems.report(&at, wrong.text);
    }
}

/// The value without its places in the file.
fn plain(value: &DeValue<'_>) -> Option<toml::Value> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(integer) => {
            toml::Value::Integer(i64::from_str_radix(integer.as_str(), integer.radix()).ok()?)
        }
        DeValue::Float(float) => toml::Value::Float(float.as_str().parse().ok()?),
        DeValue::Boolean(flag) => toml::Value::Boolean(*flag),
        DeValue::Datetime(at) => toml::Value::Datetime(*at),
        DeValue::Array(items) => {
            toml::Value::Array(items.iter().map(|item| plain(item.get_ref())).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(key, value)| Some((key.get_ref().to_string(), plain(value.get_ref())?)));
            toml::Value::Table(entries.collect::<Option<_>>()?)
        }
    })
}

impl SiteFile {
    /// The register profile of a lift's PLC.
    ///
    /// # Errors
    /// A lift that the file does not have, a profile that it does not define, or everything that is wrong with it.
    pub fn register_profile(&self, lift: &LiftId) -> anyhow::Result<Profile> {
        let plc = self.plcs.get(lift).with_context(|| format!("there is no lift {lift} in the site file"))?;
        let named = profile_named(&plc.profile, &self.profiles);
        named.with_context(|| format!("lifts.{lift}.plc.profile"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site;

    fn site_with(profile: &str, table: &str) -> SiteFile {
        let mut site = site::parse(site::SMALL, "small").unwrap();
        for plc in site.plcs.values_mut() {
            profile.clone_into(&mut plc.profile);
        }
        if !table.is_empty() {
            site.profiles.insert("other".to_owned(), table.parse().unwrap());
        }
        site
    }

    #[test]
    fn a_lift_speaks_the_profile_that_its_plc_names() {
        let status = "status = { floor = 10, levelled = 11, door = 12, motion = 13, mode = 14, fault = 15, \
                      accepted = 16, completed = 17, boot = 18, heartbeat = 19, occupied = 20 }";
        let sound = format!("command = {{ number = 0, action = 1, floor = 2 }}\n{status}");
        let scattered = format!("command = {{ number = 0, action = 1, floor = 9 }}\n{status}");
        let lift = LiftId::try_new("L1").unwrap();
        let start = |profile: &str, table: &str| {
            let found = site_with(profile, table).register_profile(&lift);
            let start = |it| match it {
                Profile::Registers(registers) => registers.command_window().start,
                Profile::Contacts(contacts) => contacts.coil_window().start,
            };
            found.map(start).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(start(BUILT_IN, ""), Ok(100));
        assert_eq!(start("other", &sound), Ok(0));
        let rows = [
            ("nobody", "", "lifts.L1.plc.profile: there is no profile `nobody`"),
            ("other", "command = 7", "lifts.L1.plc.profile: profiles.other: invalid type: integer `7`"),
            (
                "other",
                &scattered,
                "lifts.L1.plc.profile: profiles.other: the command registers are not next to each other",
            ),
        ];
        for (profile, table, expected) in rows {
            let error = start(profile, table).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
