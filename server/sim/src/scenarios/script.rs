//! What a script is made of, and how its two plays are judged.

use kernel::ids::{InvalidName, StationId};
use kernel::plant::{Capabilities, Plant, Station};
use kernel::safeguard::{Safeguard, Safeguards};
use kernel::time::Millis;

use super::{Outcome, Play};
use crate::checkers::Checker;
use crate::sites::{SiteShape, nodes, site};
use crate::world::{PlannedOrder, World, WorldConfig};

/// The script of one accident.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    /// The rule that keeps it away.
    pub safeguard: Safeguard,
    /// Rules that would step in for it, and so hide what it is good for. It holds with them and without.
    pub backups: &'static [Safeguard],
    /// Who catches it when that rule is off, and its backups with it.
    pub checker: Checker,
    /// Where.
    pub site: Site,
    /// What the WMS asks for.
    pub orders: Orders,
    /// What goes wrong, and when.
    pub play: fn(&mut Play),
    /// Lines of the log by which the danger arose, in their order; in both plays.
    pub danger: &'static [&'static str],
    /// Lines of the log by which it was mastered, in their order; with all safeguards.
    pub expects: &'static [&'static str],
    /// Lines that must not be there; with all safeguards.
    pub never: &'static [&'static str],
    /// The orders end within this after the script.
    pub within: Millis,
}

/// A site for a script: halls over each other with one lift, a station `Sn` on floor n.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Floors.
    pub floors: u8,
    /// Control nodes, from A.
    pub nodes: u8,
    /// Vehicles; V1 is at home on the lowest floor, V2 on the one above, and so by turns.
    pub vehicles: u8,
    /// The first home on the lowest floor is a station, too: `B1`.
    pub home_station: bool,
    /// How long the lift travels from floor to floor.
    pub travel: Millis,
    /// Its PLC gives no echo and counts neither its starts nor its scans.
    pub mute: bool,
}

/// What the WMS asks for.
#[derive(Clone, Copy, Debug)]
pub enum Orders {
    /// At these seconds, from here, to there.
    Listed(&'static [(u64, &'static str, &'static str)]),
    /// To and fro, one after the other.
    Shuttle {
        /// How many.
        count: u64,
        /// One each so many seconds, from the fifth on.
        every: u64,
        /// The two stations.
        between: (&'static str, &'static str),
    },
}

impl Site {
    /// Two floors.
    pub const fn with(vehicles: u8) -> Self {
        Self { floors: 2, nodes: 1, vehicles, home_station: false, travel: Millis(3000), mute: false }
    }

    fn build(self) -> Result<Plant, InvalidName> {
        let shape = SiteShape { floors: self.floors, lifts: 1, vehicles: self.vehicles, gateways: 1 };
        let mut plant = site(shape)?;
        for lift in plant.lifts.values_mut() {
            lift.travel_per_floor_ms = self.travel;
            let told = !self.mute;
            let before = lift.capabilities;
            lift.capabilities = Capabilities { echo: told, boot: told, heartbeat: told, ..before };
        }
        let home = plant.vehicles.values().next().map(|it| it.home.clone());
        if let Some(point) = home.filter(|_| self.home_station) {
            plant.stations.insert(StationId::try_new("B1")?, Station { point });
        }
        Ok(plant)
    }
}

impl Orders {
    fn plan(self) -> Result<Vec<PlannedOrder>, InvalidName> {
        let order = |(at, from, to): (u64, &str, &str)| {
            let (from, to) = (StationId::try_new(from)?, StationId::try_new(to)?);
            Ok(PlannedOrder { at: Millis::seconds(at), from, to, withdrawn_after: None })
        };
        match self {
            Self::Listed(orders) => orders.iter().copied().map(order).collect(),
            Self::Shuttle { count, every, between: (here, there) } => {
                let leg = |n: u64| if n.is_multiple_of(2) { (here, there) } else { (there, here) };
                (0..count).map(|n| order((5 + n * every, leg(n).0, leg(n).1))).collect()
            }
        }
    }
}

impl Script {
    /// Plays it with all safeguards, with its own alone among its backups, and without any of these.
    pub fn judge(&self) -> Outcome {
        let mut held = vec![self.held()];
        if !self.backups.is_empty() {
            held.push(self.alone());
        }
        let played =
            held.into_iter().collect::<Result<Vec<_>, _>>().and_then(|held| Ok((held, self.open()?)));
        let (held, open) = match played {
            Ok(played) => played,
            Err(invalid) => return Outcome::Failed { reason: invalid.to_string() },
        };
        match held.iter().try_for_each(|it| self.judge_held(it)) {
            Ok(()) => self.judge_open(&open),
            Err(outcome) => outcome,
        }
    }

    /// Plays it with all safeguards.
    ///
    /// # Errors
    /// The script names what cannot be a name.
    pub fn held(&self) -> Result<Play, InvalidName> {
        self.act(Safeguards::ALL, None)
    }

    /// Plays it with its safeguard and without those that would step in for it. What these promise themselves is not
    /// kept then, so its own checker is what has to stay silent.
    fn alone(&self) -> Result<Play, InvalidName> {
        self.act(Safeguards::all_but_these(self.backups), Some(self.checker))
    }

    /// Plays it without its safeguard and its backups, until its checker reports.
    ///
    /// # Errors
    /// The script names what cannot be a name.
    pub fn open(&self) -> Result<Play, InvalidName> {
        let off = [self.backups, &[self.safeguard]].concat();
        self.act(Safeguards::all_but_these(&off), Some(self.checker))
    }

    fn act(&self, safeguards: Safeguards, awaited: Option<Checker>) -> Result<Play, InvalidName> {
        let (orders, plant, nodes) = (self.orders.plan()?, self.site.build()?, nodes(self.site.nodes)?);
        let config = WorldConfig { orders, nodes, safeguards, logged: true, ..WorldConfig::new(plant, 1) };
        let mut play = Play::new(World::new(config), awaited);
        (self.play)(&mut play);
        play.finish(self.within);
        Ok(play)
    }

    fn judge_held(&self, play: &Play) -> Result<(), Outcome> {
        let failed = |reason| Err(Outcome::Failed { reason });
        if let Some(found) = play.caught() {
            return failed(format!("with the safeguard on, {found}"));
        }
        self.judge_danger(play)?;
        let log = play.world().log();
        if let Some(pattern) = first_missing(log, self.expects) {
            return failed(format!("not decided, or not in this order: {pattern}"));
        }
        if let Some(line) = self.never.iter().find_map(|it| log.get(find(log, it)?)) {
            return failed(format!("this must not happen: {}", line.trim()));
        }
        let ending = play.world().ending();
        if ending.is_settled() { Ok(()) } else { failed(format!("the orders do not end: {ending:?}")) }
    }

    fn judge_open(&self, play: &Play) -> Outcome {
        if let Err(void) = self.judge_danger(play) {
            return void;
        }
        match play.caught() {
            Some(found) => Outcome::Held {
                safeguard: self.safeguard,
                caught_by: found.checker,
                after: play.world().age_at(found.at),
                caught: found.detail.clone(),
            },
            None => {
                let others: Vec<_> = play.world().violations().iter().map(|it| it.checker.name()).collect();
                let (safeguard, name) = (self.safeguard.name(), self.checker.name());
                let reason = format!("without {safeguard} not caught by {name}, only by {others:?}");
                Outcome::Failed { reason }
            }
        }
    }

    fn judge_danger(&self, play: &Play) -> Result<(), Outcome> {
        let missing = first_missing(play.world().log(), self.danger).map(|it| format!("no danger: {it}"));
        match play.missed().map(str::to_owned).or(missing) {
            Some(reason) => Err(Outcome::Void { reason }),
            None => Ok(()),
        }
    }
}

/// The first pattern without a line of its own after the lines of those before it.
fn first_missing(log: &[String], patterns: &[&'static str]) -> Option<&'static str> {
    let mut rest = log;
    for pattern in patterns {
        match find(rest, pattern) {
            Some(place) => rest = rest.get(place + 1..).unwrap_or_default(),
            None => return Some(pattern),
        }
    }
    None
}

/// Place of the first line that fits a pattern.
pub(super) fn find(log: &[String], pattern: &str) -> Option<usize> {
    log.iter().position(|line| fits(line, pattern))
}

/// The line holds the pieces of the pattern in their order.
fn fits(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split(" … ").all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::{State, all};

    /// One that is quickly played.
    fn late_command() -> Script {
        let scenario = all().into_iter().find(|it| it.name == "late_command_after_reconnect");
        match scenario.map(|it| it.state) {
            Some(State::Built(script)) => script,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_script_is_held_to_all_that_it_says() {
        let script = late_command();
        let rows = [
            (script, "held"),
            // The danger did not arise, by the plant or by the log.
            (Script { play: |_| {}, ..script }, "VOID"),
            (Script { danger: &["V1 is in the car of L9"], ..script }, "VOID"),
            // A decision is missing, or one was made that must not be.
            (Script { expects: &["T-A1 … Withdrawn"], ..script }, "FAILED"),
            (Script { never: &["T-A1 … Finished"], ..script }, "FAILED"),
            // Another safeguard is not what keeps it away, and another checker is not the one that is named.
            (Script { safeguard: Safeguard::Interlock, ..script }, "FAILED"),
            (Script { checker: Checker::OneRide, ..script }, "FAILED"),
        ];
        for (script, expected) in rows {
            let outcome = script.judge().to_string();
            assert!(outcome.starts_with(expected), "{expected}: {outcome}");
        }
    }

    #[test]
    fn pieces_of_a_pattern_stand_in_their_order() {
        let rows = [
            ("V1 hears T-A1.0 link 2", "V1 hears", true),
            ("V1 hears T-A1.0 link 2", "V1 … link 2", true),
            ("V1 hears T-A1.0 link 2", "link 2 … V1", false),
            ("V1 hears T-A1.0 link 2", "link 1", false),
        ];
        for (line, pattern, expected) in rows {
            assert_eq!(fits(line, pattern), expected, "{line} / {pattern}");
        }
    }

    #[test]
    fn each_pattern_needs_a_line_of_its_own_after_the_one_before() {
        let log = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(first_missing(&log, &["a", "b", "a"]), None);
        assert_eq!(first_missing(&log, &["a", "a", "b"]), Some("b"));
        assert_eq!(first_missing(&log, &["b", "b"]), Some("b"));
    }
}
