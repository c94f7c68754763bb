//! The gateway of one lift beside a model of its admission: each write and each word must be the model's, whatever
//! comes, is lost, or dies in between.

mod dangers;
mod model;
mod plc;
mod rules;
mod settling;
mod steps;

use std::collections::BTreeMap;

use kernel::gateway::{Effect, Gateway, LiftMarks, Marks, OUTCOMES_MAX};
use kernel::ids::CommandId;
use kernel::safeguard::Safeguards;
use kernel::wire::gateway::{GatewayStatus, Outcome, Verdict};
use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use self::model::{Act, Durable, Model};
use self::plc::Plc;
use self::steps::{Death, Step, Turn};
use crate::fixture::{self, at};

/// Longest run: fills the queue and settles some commands, and has fewer of them than a gateway remembers.
const TURNS_MAX: usize = OUTCOMES_MAX;

struct Admission;

impl ReferenceStateMachine for Admission {
    type State = Model;
    type Transition = Turn;

    fn init_state() -> BoxedStrategy<Model> {
        // Near the end of the numbers too, where they begin again after 65535.
        (1u32..3, select(vec![0u16, 65_533, 65_534]), prop::bool::weighted(0.1))
            .prop_map(|(epoch, number, eager)| Model::new(epoch, number, eager))
            .boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Turn> {
        steps::turn(model.eager)
    }

    fn apply(mut model: Model, turn: &Turn) -> Model {
        model.apply(turn);
        model
    }
}

/// A gateway with what it kept and what it said.
struct Bench {
    gateway: Gateway,
    safeguards: Safeguards,
    kept: Marks,
    /// Numbers that were written, with the boot counter of the PLC that was known then.
    numbers: BTreeMap<u16, u16>,
    told: BTreeMap<CommandId, Verdict>,
    state: Option<GatewayStatus>,
}

impl Bench {
    fn new(model: &Model, safeguards: Safeguards) -> Self {
        let (epoch, number) = (model.durable.epoch, model.durable.number);
        let marks = LiftMarks { epoch, number, ..LiftMarks::default() };
        let kept = Marks { lifts: [(fixture::lift("L1"), marks)].into(), ..Marks::default() };
        let (numbers, told) = (BTreeMap::new(), BTreeMap::new());
        let gateway = started(kept.clone(), safeguards, model);
        let mut bench = Self { gateway, safeguards, kept, numbers, told, state: None };
        bench.keep_first(model);
        bench
    }

    /// The first thing that a gateway does is to make its start durable; then it tells what is not sent any more.
    fn keep_first(&mut self, model: &Model) {
        let Some(Effect::Persist(marks)) = self.gateway.poll_effect() else {
            panic!("a start that is not made durable first");
        };
        self.keep(marks);
        for id in &model.given_up {
            let told = self.gateway.poll_effect();
            let says = |it: &Outcome| (&it.command, &it.verdict) == (id, &Verdict::NotSent);
            assert!(matches!(&told, Some(Effect::Tell(it)) if says(it)), "{id}: {told:?}");
        }
        assert_eq!(self.gateway.poll_effect(), None);
        self.check_kept(&model.durable);
    }

    fn lift(&self) -> &LiftMarks {
        &self.kept.lifts[&fixture::lift("L1")]
    }

    /// Marks only rise.
    fn keep(&mut self, marks: Marks) {
        let (before, after) = (self.lift(), &marks.lifts[&fixture::lift("L1")]);
        assert!(
            before.epoch == after.epoch && before.token <= after.token && before.session <= after.session
        );
        assert!(before.token < after.token || before.holder.is_none() || before.holder == after.holder);
        assert!(self.kept.claims.iter().all(|(task, claim)| marks.claim_of(task) >= Some(*claim)));
        assert!(self.kept.boot <= marks.boot);
        self.kept = marks;
    }

    fn step(&mut self, model: &Model, turn: &Turn) {
        self.state = None;
        match &model.event {
            Some(event) => self.gateway.handle(event.clone(), at(model.ms)),
            None => self.gateway.handle_timeout(at(model.ms)),
        }
        let n_acts = match turn.death {
            None => usize::MAX,
            Some(Death::AtOnce) => 0,
            Some(Death::After(n)) => n,
        };
        let keeps = !matches!(turn.death, Some(Death::AtOnce));
        self.perform(model, n_acts, keeps);
        if turn.death.is_some() {
            self.gateway = started(self.kept.clone(), self.safeguards, model);
            self.keep_first(model);
            self.state = None;
        }
    }

    /// Does what the gateway wants, up to the act at which it dies.
    fn perform(&mut self, model: &Model, n_acts: usize, keeps: bool) {
        let mut due = model.acts.iter();
        let mut n_done = 0;
        while let Some(effect) = self.gateway.poll_effect() {
            match effect {
                Effect::Persist(marks) if keeps => self.keep(marks),
                Effect::Status(state) => self.state = Some(state),
                Effect::Persist(_) | Effect::Log { .. } => {}
                Effect::Write { .. } | Effect::Tell(_) | Effect::Forward { .. } if n_done == n_acts => return,
                Effect::Write { .. } | Effect::Tell(_) | Effect::Forward { .. } => {
                    let (act, durable) = due.next().unwrap_or_else(|| panic!("nobody asked for {effect:?}"));
                    self.check(&effect, act, durable, model);
                    n_done += 1;
                }
            }
        }
        assert!(due.next().is_none(), "not done: {:?}", model.acts.get(n_done));
    }

    /// What must be durable before the next act is.
    fn check_kept(&self, durable: &Durable) {
        let kept = self.lift();
        assert_eq!(
            (kept.number, kept.token, kept.session.0),
            (durable.number, durable.token, durable.session)
        );
        let (flight, due) = (kept.in_flight.as_ref(), durable.in_flight.as_ref());
        assert_eq!(flight.map(|it| &it.command), due.map(|it| &it.command));
        assert_eq!(kept.queued, durable.queued);
        for (command, verdict) in &durable.settled {
            assert_eq!(kept.outcome(command).as_ref(), Some(verdict), "{command}");
        }
        for (task, claim) in &durable.claims {
            assert_eq!(self.kept.claim_of(task).map(|it| it.0), Some(*claim), "{task}");
        }
    }

    fn check(&mut self, effect: &Effect, act: &Act, durable: &Durable, model: &Model) {
        self.check_kept(durable);
        match (effect, act) {
            (Effect::Write { block, .. }, Act::Write { command, block: due }) => {
                assert_eq!(block, due, "{command}");
                let plc_boot = durable.in_flight.as_ref().map_or(0, |it| it.plc_boot);
                let before = self.numbers.insert(block.number, plc_boot);
                assert!(block.number != 0 && before.is_none(), "{block:?} was used before");
            }
            (Effect::Forward { command, .. }, Act::Forward(due)) => assert_eq!(command.id, *due),
            (Effect::Tell(outcome), Act::Tell { command, any_of, or_again }) => {
                assert_eq!((&outcome.command, outcome.boot), (command, durable.boot));
                let verdict = &outcome.verdict;
                let again = *or_again && self.told.get(command) == Some(verdict);
                assert!(again || any_of.contains(verdict), "{command}: {verdict:?} and not {any_of:?}");
                self.is_true(verdict, outcome.number, &model.plc);
                self.told.insert(command.clone(), verdict.clone());
            }
            (Effect::Write { .. } | Effect::Tell(_) | Effect::Forward { .. }, _)
            | (Effect::Persist(_) | Effect::Status(_) | Effect::Log { .. }, _) => {
                panic!("{effect:?} and not {act:?}")
            }
        }
    }

    /// What is told of a write holds at the PLC. Only one that was started anew since may have run it unseen.
    fn is_true(&self, verdict: &Verdict, number: Option<u16>, plc: &Plc) {
        let Some(number) = number else { return };
        match verdict {
            Verdict::Accepted | Verdict::Ran => assert!(plc.took.contains(&number), "{number} never ran"),
            Verdict::NotSent => {
                let forgot = self.numbers.get(&number) != Some(&plc.shown.boot);
                assert!(!plc.may_run(number), "{number} may still run");
                assert!(forgot || !plc.took.contains(&number), "{number} has run");
            }
            Verdict::Unknown | Verdict::Forwarded | Verdict::Refused { .. } | Verdict::Expired => {}
        }
    }
}

fn started(marks: Marks, safeguards: Safeguards, model: &Model) -> Gateway {
    Gateway::new(fixture::gateway("G1"), &fixture::plant(), marks, at(model.ms)).under(safeguards)
}

impl StateMachineTest for Admission {
    type SystemUnderTest = Bench;
    type Reference = Self;

    fn init_test(model: &Model) -> Bench {
        Bench::new(model, Safeguards::ALL)
    }

    fn apply(mut bench: Bench, model: &Model, turn: Turn) -> Bench {
        bench.step(model, &turn);
        bench
    }

    /// The state that control sees is the model's.
    fn check_invariants(bench: &Bench, model: &Model) {
        let Some(state) = &bench.state else { return };
        let [lift] = state.lifts.as_slice() else { panic!("one lift: {state:?}") };
        let verifying = model.durable.in_flight.as_ref().filter(|_| model.is_verifying());
        assert_eq!(lift.verifying.as_ref(), verifying.map(|it| &it.command));
        assert_eq!((lift.connection, lift.epoch), (model.connection_now(), model.durable.epoch));
        assert_eq!(lift.status.as_ref(), model.newest.as_ref().map(|(status, _)| status));
    }

    /// Once the PLC is read again, whatever was written is settled, unless the PLC has forgotten and a person decides;
    /// whatever was queued since the last start has got its answer.
    fn teardown(mut bench: Bench, mut model: Model) {
        let step = Step::Read { after_ms: 200, scans: true, finishes: true };
        let turn = Turn { step, reaches: true, death: None };
        for _ in 0..30 {
            model.apply(&turn);
            bench.step(&model, &turn);
        }
        if let Some(flight) = &model.durable.in_flight {
            assert!(model.is_verifying() && flight.plc_boot != model.plc.shown.boot, "{flight:?}");
        } else {
            assert!(model.queue.is_empty());
        }
    }
}

prop_state_machine! {
    #![proptest_config(crate::config())]

    /// A7, A10 to A13.
    #[test]
    fn a_gateway_writes_and_says_what_the_model_does(sequential 1..TURNS_MAX => Admission);
}
