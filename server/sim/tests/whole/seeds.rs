//! Random worlds.

use std::fmt::Write as _;

use kernel::plant::Capabilities;
use kernel::safeguard::Safeguard;
use sim::checkers::{Checker, Violation};
use sim::fault::FaultFamily;
use sim::seeds::{RandomWorld, Reach, SPAN_DEFAULT, Tally, shrink};
use sim::world::{Stage, Withdrawals};

const WORLDS: u64 = 200;
/// Each kind of fault is in at least so many percent of them.
const FAMILY_PERCENT_MIN: u64 = 20;

fn draw(seed: u64) -> RandomWorld {
    RandomWorld::draw(seed, SPAN_DEFAULT).expect("a world")
}

#[test]
fn random_worlds_keep_every_promise() {
    let mut tally = Tally::default();
    for seed in 1..=WORLDS {
        tally.add(&draw(seed).run().1);
    }
    for family in FaultFamily::ALL {
        let worlds = tally.families.get(&family).copied().unwrap_or_default();
        assert!(worlds * 100 >= WORLDS * FAMILY_PERCENT_MIN, "{family:?} is in {worlds} worlds");
    }
    let mut found = String::new();
    for (seed, violation) in &tally.failed {
        writeln!(found, "hoistway lab replay {seed} --shrunk: {violation}").expect("a string");
    }
    assert!(tally.failed.is_empty(), "{found}");
    let [planned, completed, ..] = tally.orders;
    let Withdrawals { withdrawn, asked, refused } = &tally.withdrawals;
    let taken_back: u64 = withdrawn.values().chain(asked.values()).sum();
    assert!(completed * 10 >= (planned - taken_back) * 8, "{completed} of {planned} orders completed");
    for stage in [Stage::Waiting, Stage::Approaching, Stage::InLine, Stage::Riding, Stage::Loaded] {
        let tried = [withdrawn, asked, refused].iter().any(|it| it.contains_key(&stage));
        assert!(tried, "{stage:?}: {:?}", tally.withdrawals);
    }
}

/// What a PLC does not tell costs time and alarms, and no promise but the one that only a heartbeat can keep: that nothing
/// is written to a PLC that hangs.
#[test]
fn random_worlds_keep_every_promise_with_plcs_that_tell_less() {
    let rows = [(false, true, true), (true, false, true), (false, false, true), (false, false, false)];
    for (echo, boot, heartbeat) in rows {
        let (mut found, mut orders) = (String::new(), [0; 2]);
        for seed in 1..=WORLDS / 2 {
            let mut world = draw(seed);
            for lift in world.config.plant.lifts.values_mut() {
                lift.capabilities = Capabilities { echo, boot, heartbeat, ..lift.capabilities };
            }
            let outcome = world.run().1;
            let unseen = |it: &Violation| !heartbeat && it.checker == Checker::NothingOutOfService;
            if let Some(violation) = outcome.violation.filter(|it| !unseen(it)) {
                writeln!(found, "seed {seed}: {violation}").expect("a string");
            }
            orders[0] += outcome.ending.planned;
            orders[1] += outcome.ending.completed;
        }
        assert!(found.is_empty(), "echo {echo}, boot {boot}, heartbeat {heartbeat}: {found}");
        assert!(orders[1] * 10 >= orders[0] * 7, "{orders:?} planned and completed");
    }
}

#[test]
fn one_seed_gives_one_log_to_the_byte() {
    for seed in 1..=10 {
        let logs = [1, 2].map(|_| draw(seed).logged().run().0.log().join("\n"));
        assert!(logs[0].lines().count() > 20, "seed {seed} logs too little");
        assert_eq!(logs[0], logs[1], "seed {seed}");
    }
    assert_ne!(draw(1).logged().run().0.log(), draw(2).logged().run().0.log());
}

/// The seed of each safeguard that chance reaches; `hoistway lab safeguards` finds others when worlds are drawn anew.
#[test]
fn each_safeguard_is_missed_when_it_is_away() {
    for safeguard in Safeguard::ALL {
        match Reach::of(safeguard) {
            Reach::Seed(seed) => {
                assert_eq!(draw(seed).run().1.violation, None, "seed {seed} with all safeguards");
                let found = draw(seed).without(safeguard).run().1.violation;
                assert!(found.is_some(), "seed {seed} does not miss {}", safeguard.name());
            }
            Reach::Out(reason) => assert!(reason.len() > 20, "{} has no reason", safeguard.name()),
        }
    }
}

#[test]
fn a_failure_is_shrunk_to_what_it_needs() {
    let Reach::Seed(seed) = Reach::of(Safeguard::LinkFence) else { panic!("chance reaches it") };
    let world = draw(seed).without(Safeguard::LinkFence);
    let shrunk = shrink(&world).expect("it fails");
    let (before, after) = (world.config.faults.len(), shrunk.world.config.faults.len());
    assert!(after < before, "{after} of {before} faults are left");
    for idx in 0..after {
        let mut fewer = shrunk.world.clone();
        fewer.config.faults.remove(idx);
        let same = fewer.run().1.violation.is_some_and(|it| it.checker == shrunk.violation.checker);
        assert!(!same, "fault {idx} is not needed");
    }
    assert!(shrink(&draw(seed)).is_none(), "nothing to shrink in a world that keeps its promises");
}
