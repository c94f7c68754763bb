//! That the runs are worth something: chance reaches every answer, and no safeguard can be taken away unseen.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kernel::safeguard::{Safeguard, Safeguards};
use kernel::wire::gateway::Verdict;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use super::model::{Act, Model};
use super::steps::Turn;
use super::{Admission, Bench, TURNS_MAX};

/// Runs in which every danger must have come up.
const RUNS: usize = 256;

/// The same runs each time.
fn runs() -> impl Iterator<Item = (Model, Vec<Turn>)> {
    let mut runner = TestRunner::new(crate::config());
    let strategy = Admission::sequential_strategy(1..TURNS_MAX);
    (0..RUNS).map(move |_| {
        let (model, turns, _) = strategy.new_tree(&mut runner).expect("a run").current();
        (model, turns)
    })
}

/// What happened in one step, by name.
fn seen(model: &Model, turn: &Turn) -> Vec<String> {
    let verdict = |it: &Verdict| match it {
        Verdict::Refused { reason } => format!("{reason:?}").split(' ').next().unwrap_or_default().to_owned(),
        Verdict::Accepted
        | Verdict::Forwarded
        | Verdict::Expired
        | Verdict::Unknown
        | Verdict::Ran
        | Verdict::NotSent => format!("{it:?}"),
    };
    let mut seen = Vec::new();
    for (act, _) in &model.acts {
        match act {
            Act::Write { .. } => seen.push("Write".to_owned()),
            Act::Forward(_) => seen.push("Forward".to_owned()),
            Act::Tell { any_of, or_again, .. } => {
                seen.extend(or_again.then(|| "Again".to_owned()));
                // Only what leaves the gateway no choice is certain to be told.
                if let [one] = any_of.as_slice() {
                    seen.push(verdict(one));
                }
            }
        }
    }
    if turn.death.is_some() && model.durable.in_flight.is_some() {
        seen.push("died in doubt".to_owned());
    }
    seen
}

/// The runs reach every answer, and each often enough that a wrong one would be noticed.
#[test]
fn chance_reaches_every_answer() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for (mut model, turns) in runs() {
        for turn in &turns {
            model.apply(turn);
            for name in seen(&model, turn) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let all = "Accepted Again CarOccupied Expired ExpectationMissed Forward NotNow NotSent OutOfService QueueFull \
               Ran StaleClaim StaleRead StaleSession StaleToken Unknown UnknownTarget Unreachable Verifying Write";
    for name in all.split(' ').chain(["died in doubt"]) {
        let count = counts.get(name).copied().unwrap_or_default();
        assert!(count >= 3, "{name} came {count} times: {counts:?}");
    }
}

/// The first run in which a gateway without this safeguard does something else than the model.
fn first_difference(safeguard: Safeguard) -> Option<usize> {
    runs().position(|(model, turns)| {
        let same = || {
            let (mut bench, mut model) = (Bench::new(&model, Safeguards::all_but(safeguard)), model);
            for turn in turns {
                model.apply(&turn);
                bench.step(&model, &turn);
                Admission::check_invariants(&bench, &model);
            }
        };
        catch_unwind(AssertUnwindSafe(same)).is_err()
    })
}

/// Each of the gateway's safeguards, taken away, is missed.
#[test]
fn no_safeguard_of_the_gateway_is_idle() {
    use Safeguard as S;
    for safeguard in Safeguard::ALL {
        let of_the_gateway = match safeguard {
            S::ClaimFence
            | S::TokenFence
            | S::TokenOwner
            | S::SessionFence
            | S::ReadAge
            | S::Expectation
            | S::Interlock
            | S::Validity
            | S::OutcomeMemory
            | S::FlightRecord
            | S::Verifying
            | S::BootCounter
            | S::FrozenRegisters
            | S::VehicleMode => true,
            S::CommandMemory
            | S::MemoryWindow
            | S::LinkFence
            | S::RoomInCar
            | S::ForeignMoves
            | S::EdgeArbitration
            | S::EdgeEntry
            | S::EdgeFence
            | S::EdgeTable
            | S::SteadyClock
            | S::TwoChannels
            | S::OneSession
            | S::LivingTask
            | S::AskedWithdrawal
            | S::Reconciliation
            | S::HeartbeatResults
            | S::ProvenLive
            | S::ConditionalWrites
            | S::LiveGrant
            | S::SameGrant
            | S::NewerRequest
            | S::OneHolder
            | S::OwnRelease
            | S::HoldLimit
            | S::SerialFloor
            | S::StoreLife
            | S::Takeover => false,
        };
        if of_the_gateway {
            let first = first_difference(safeguard);
            println!("{safeguard:?} off: run {first:?}");
            assert!(first.is_some(), "{safeguard:?} off is not noticed in {RUNS} runs");
        }
    }
}
