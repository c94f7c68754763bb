//! Which register map each lift's PLC speaks.

use anyhow::{Context as _, anyhow};
use kernel::ids::LiftId;

use super::SiteFile;
use crate::fieldbus::profile::{BUILT_IN, Profile, Registers};

impl SiteFile {
    /// The register profile of a lift's PLC.
    ///
    /// # Errors
    /// A lift that the file does not have, a profile that it does not define, or everything that is wrong with it.
    pub fn register_profile(&self, lift: &LiftId) -> anyhow::Result<Profile> {
        let plc = self.plcs.get(lift).with_context(|| format!("there is no lift {lift} in the site file"))?;
        let name = &plc.profile;
        let Some(table) = self.profiles.get(name) else {
            let known = (name == BUILT_IN).then(Profile::built_in);
            return known.with_context(|| format!("lifts.{lift}.plc.profile: there is no profile `{name}`"));
        };
        let registers: Registers =
            table.clone().try_into().with_context(|| format!("profiles.{name} is not a register map"))?;
        Profile::try_new(registers).map_err(|problems| {
            let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow!("profiles.{name}: {}", reasons.join("; "))
        })
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
            found.map(|it| it.command_window().start).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(start(BUILT_IN, ""), Ok(100));
        assert_eq!(start("other", &sound), Ok(0));
        let rows = [
            ("nobody", "", "lifts.L1.plc.profile: there is no profile `nobody`"),
            ("other", "command = 7", "profiles.other is not a register map"),
            ("other", &scattered, "profiles.other: the three command registers are not next to each other"),
        ];
        for (profile, table, expected) in rows {
            let error = start(profile, table).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
