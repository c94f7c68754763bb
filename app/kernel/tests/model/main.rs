//! Everything that can happen to one lift within stated bounds, tried to its end, on the kernel's own machines.
//!
//! Two nodes share the lift through a lease store; messages wait, come twice or never; a holder sleeps and wakes, the
//! store forgets, the gateway dies at any moment, the PLC is not read. Stores and gateways are the kernel's, the nodes
//! follow `control::voice`. Time passes in the few spans that make a difference.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and says what it counted, and so do the helpers around it"
)]

mod judge;
mod lab;
mod nodes;
mod plc;
mod promises;
mod sent;
mod world;

#[allow(dead_code, reason = "the kernel's own tests use all of it")]
#[path = "../../src/fixture.rs"]
mod fixture;

// The fixture names them as the kernel does.
use kernel::{ids, lease, lift, plant, time, timing, wire};

use std::collections::BTreeSet;

use kernel::safeguard::{Safeguard, Safeguards};
use stateright::{Checker, HasDiscoveries, Model};

use self::lab::{Bounds, Disk, Lab};
use self::promises::{DANGERS, Promise};

/// Explores all that can happen within the bounds; gives the dangers that came up.
fn explore(name: &str, bounds: Bounds) -> BTreeSet<&'static str> {
    let lab = Lab::new(Safeguards::ALL, bounds);
    let checker = lab.checker().threads(2).finish_when(HasDiscoveries::AllFailures).spawn_dfs().join();
    assert!(checker.is_done(), "{name}: not explored to its end");
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    println!("{name}: {states} states, {steps} steps");
    let found = checker.discoveries();
    for promise in Promise::ALL {
        if let Some(path) = found.get(promise.name()) {
            panic!("{name}: not kept: {}\n{:#?}", promise.name(), path.clone().into_actions());
        }
    }
    found.into_keys().collect()
}

#[test]
fn every_promise_holds_in_all_that_can_happen() {
    let mut dangers = explore("few of everything", Bounds::FEW);
    dangers.extend(explore("trouble on the wire", Bounds::TROUBLED));
    for (name, _) in DANGERS {
        assert!(dangers.contains(name), "it never came up that {name}");
    }
}

#[test]
#[ignore = "takes minutes: make model"]
fn every_promise_holds_in_all_that_the_stated_bounds_allow() {
    let dangers = explore("the stated bounds", Bounds::STATED);
    assert!(dangers.len() >= 15, "{dangers:?}");
}

/// A rule that is away, what happens, and the promise that breaks.
const MISSED: &[(Safeguard, Bounds, Promise)] = &[
    (Safeguard::TokenFence, Bounds::ASLEEP, Promise::NothingStaleByToken),
    (Safeguard::TokenOwner, Bounds::FORGOTTEN, Promise::NothingStaleByToken),
    (Safeguard::SessionFence, Bounds::CALM, Promise::NothingStaleBySession),
    (Safeguard::SessionFence, Bounds::CALM, Promise::NothingAgainstTheRider),
    (Safeguard::ClaimFence, Bounds::CALM, Promise::NothingStaleByClaim),
    (Safeguard::ReadAge, Bounds::CALM, Promise::NothingOnAnOldRead),
    (Safeguard::ReadAge, Bounds::CALM, Promise::GivenUpIsOver),
    (Safeguard::Expectation, Bounds::CALM, Promise::NothingUnexpected),
    (Safeguard::Interlock, Bounds::CALM, Promise::NoContradiction),
    (Safeguard::OutcomeMemory, Bounds::REPEATED, Promise::NothingTwice),
    (Safeguard::OutcomeMemory, Bounds::REPEATED, Promise::ToldTruly),
    (Safeguard::FlightRecord, Bounds::RESTARTED, Promise::NothingWhileUnknown),
    (Safeguard::Verifying, Bounds::TROUBLED, Promise::ToldTruly),
    (Safeguard::SteadyClock, Bounds::ASLEEP, Promise::LeaveEndsBeforeTheLease),
];

/// Finds the shortest way to break a promise, and tells it.
fn counter_example(name: &str, lab: Lab, promise: Promise) {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([promise.name()]));
    let checker = lab.checker().finish_when(until).spawn_bfs().join();
    let found = checker.discovery(promise.name());
    let path = found.unwrap_or_else(|| panic!("{name}: still {}", promise.name()));
    println!("{name}, not kept: {}", promise.name());
    for step in path.into_actions() {
        println!("    {step:?}");
    }
}

#[test]
fn each_rule_that_is_away_has_a_counter_example() {
    for (rule, bounds, promise) in MISSED {
        let lab = Lab::new(Safeguards::all_but(*rule), *bounds);
        counter_example(&format!("without {}", rule.name()), lab, *promise);
    }
}

#[test]
fn a_disk_that_breaks_its_word_has_a_counter_example() {
    let rows = [(Disk::Late, Promise::NumberFirst), (Disk::Forgetful, Promise::MarksNeverFall)];
    for (disk, promise) in rows {
        let lab = Lab { disk, ..Lab::new(Safeguards::ALL, Bounds::RESTARTED) };
        counter_example(&format!("disk {disk:?}"), lab, promise);
    }
}
