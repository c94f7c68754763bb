//! The ledger's book of two tasks beside a model of them: whatever comes, comes twice, late, or about another command.

mod model;

use std::collections::BTreeMap;

use kernel::control::{Book, TaskBook};
use kernel::ids::{CommandId, LedgerSequence, TaskId};
use kernel::task::{ResumePoint, SuspendCause, TaskEvent};
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::rest::TransportOrder;
use kernel::wire::vehicle::{Instruction, Operation};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use self::model::{REASON, Task, Word, Work};
use crate::fixture::{self, at};

/// Longest run: some commands of each task with all that may be said about them.
const TURNS_MAX: usize = 60;

/// One event of one of the two tasks.
#[derive(Clone, Debug)]
struct Turn {
    task: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Issue(Work),
    Redeliver { which: Which, again: bool },
    Report { which: Which, word: Word },
    Suspend(SuspendCause),
    Fail,
    Withdraw,
}

/// Which command is spoken of.
#[derive(Clone, Copy, Debug)]
enum Which {
    Newest,
    Before,
    OfTheOther,
    NotYet,
}

#[derive(Clone, Debug)]
struct Model {
    tasks: [Task; 2],
    /// What the last turn appends.
    record: Option<Record>,
    /// Whether it changes the task.
    taken: bool,
}

impl Model {
    fn new() -> Self {
        Self { tasks: [Task::new(0), Task::new(1)], record: None, taken: false }
    }

    fn command(&self, task: usize, which: Which) -> CommandId {
        let of = |task: usize, back: usize| {
            let task = &self.tasks[task];
            task.command(task.works.len().saturating_sub(back))
        };
        match which {
            Which::Newest => of(task, 1),
            Which::Before => of(task, 2),
            Which::OfTheOther => of(1 - task, 1),
            Which::NotYet => of(task, 0),
        }
    }

    fn apply(&mut self, turn: &Turn) {
        let (id, nth) = (task_id(turn.task), turn.task);
        let named = |event| Record::TaskChanged { task: id.clone(), event };
        let (record, taken) = match &turn.what {
            What::Issue(work) => {
                let record = self.issued(nth, *work);
                (record, self.tasks[nth].issue(*work))
            }
            What::Redeliver { which, again } => {
                let command = self.command(nth, *which);
                let attempt = self.attempt(nth) + u8::from(*again);
                let event = TaskEvent::Redelivered { command: command.clone(), attempt };
                (named(event), self.tasks[nth].redeliver(&command, attempt))
            }
            What::Report { which, word } => {
                let command = self.command(nth, *which);
                let last = self.tasks[nth].works.last() == Some(&Work::Drop);
                let event = spoken(*word, command.clone(), last);
                (named(event), self.tasks[nth].report(&command, *word))
            }
            What::Suspend(cause) => {
                let resume = self.tasks[nth].resume_point();
                let event = TaskEvent::Suspended { cause: cause.clone(), resume };
                (named(event), self.tasks[nth].suspend(cause.clone()))
            }
            What::Fail => {
                let event = TaskEvent::ExecutionFailed { reason: REASON.to_owned() };
                (named(event), self.tasks[nth].fail())
            }
            What::Withdraw => {
                let event = TaskEvent::Withdrawn { reason: REASON.to_owned() };
                (named(event), self.tasks[nth].withdraw())
            }
        };
        (self.record, self.taken) = (Some(record), taken);
    }

    fn attempt(&self, task: usize) -> u8 {
        match self.tasks[task].resume_point() {
            ResumePoint::Command { attempt, .. } => attempt,
            ResumePoint::NextCommand => 1,
        }
    }

    fn issued(&self, task: usize, work: Work) -> Record {
        let id = self.command(task, Which::NotYet);
        let mut command = fixture::vehicle_command(id.as_str(), "V1", 1);
        command.task = Some(task_id(task));
        let order = fixture::order("O-1");
        let then = match work {
            Work::Stand => Operation::Stand,
            Work::Pick => Operation::Pick { order },
            Work::Drop => Operation::Drop { order },
        };
        command.instruction = Instruction::Drive { path: fixture::path(&["H1"]), then };
        Record::CommandIssued { command }
    }
}

fn task_id(nth: usize) -> TaskId {
    fixture::task(&format!("T-{nth}"))
}

fn spoken(word: Word, command: CommandId, last: bool) -> TaskEvent {
    match word {
        Word::Sent | Word::Acknowledged => TaskEvent::AckReceived { command },
        Word::Started => TaskEvent::Started { command },
        Word::Done if last => TaskEvent::Finished { command },
        Word::Done => TaskEvent::StepDone { command },
    }
}

struct Tasks;

impl ReferenceStateMachine for Tasks {
    type State = Model;
    type Transition = Turn;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new()).boxed()
    }

    fn transitions(_: &Model) -> BoxedStrategy<Turn> {
        let which = || {
            prop_oneof![
                12 => Just(Which::Newest),
                1 => Just(Which::Before),
                1 => Just(Which::OfTheOther),
                1 => Just(Which::NotYet),
            ]
        };
        let lift = fixture::lift("L1");
        let causes =
            vec![SuspendCause::Link, SuspendCause::Lift { lift }, SuspendCause::Person, SuspendCause::Fault];
        let words = vec![Word::Acknowledged, Word::Started, Word::Done];
        let works = prop_oneof![3 => Just(Work::Stand), 3 => Just(Work::Pick), 1 => Just(Work::Drop)];
        let what = prop_oneof![
            20 => works.prop_map(What::Issue),
            8 => (which(), any::<bool>()).prop_map(|(which, again)| What::Redeliver { which, again }),
            30 => (which(), select(words)).prop_map(|(which, word)| What::Report { which, word }),
            12 => select(causes).prop_map(What::Suspend),
            1 => Just(What::Fail),
            1 => Just(What::Withdraw),
        ];
        (0usize..2, what).prop_map(|(task, what)| Turn { task, what }).boxed()
    }

    fn preconditions(model: &Model, turn: &Turn) -> bool {
        !(matches!(turn.what, What::Issue(_)) && model.tasks[turn.task].is_executing())
    }

    fn apply(mut model: Model, turn: &Turn) -> Model {
        model.apply(turn);
        model
    }
}

/// A book with the entries that it was made from.
struct Bench {
    book: Book,
    entries: Vec<Entry>,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { book: Book::default(), entries: Vec::new() };
        for nth in 0..2 {
            let order = TransportOrder {
                id: fixture::order(&format!("O-{nth}")),
                from: fixture::station("A1"),
                to: fixture::station("A2"),
                priority: 5,
                deadline: None,
                reference: None,
            };
            let (task, idempotency_key) = (task_id(nth), format!("key-{nth}"));
            let placed = Record::OrderPlaced { order, task, idempotency_key, fingerprint: String::new() };
            bench.append(placed);
        }
        bench
    }

    fn append(&mut self, record: Record) {
        let n = self.entries.len() as u64 + 1;
        let entry = Entry {
            sequence: LedgerSequence(n),
            at: at(n * 1000).wall,
            node: fixture::node("A"),
            record,
            drill: false,
        };
        // One that does not fit is no error of the test: it has to change nothing.
        drop(self.book.apply(&entry));
        self.entries.push(entry);
    }
}

impl StateMachineTest for Tasks {
    type SystemUnderTest = Bench;
    type Reference = Self;

    fn init_test(_: &Model) -> Bench {
        Bench::new()
    }

    fn apply(mut bench: Bench, model: &Model, turn: Turn) -> Bench {
        let before = bench.book.clone();
        bench.append(model.record.clone().expect("a turn appends"));
        let (id, other) = (task_id(turn.task), task_id(1 - turn.task));
        assert_eq!(bench.book.tasks[&other], before.tasks[&other], "the other task");
        if !model.taken || before.tasks[&id].state.is_terminal() {
            // Rows move with the entry, whatever it means: the database moves them alike.
            let (sequence, rows) = (bench.book.sequence, bench.book.rows.clone());
            assert_eq!(bench.book, Book { sequence, rows, ..before }, "changes nothing");
        }
        bench
    }

    fn check_invariants(bench: &Bench, model: &Model) {
        for (nth, task) in model.tasks.iter().enumerate() {
            let id = task_id(nth);
            let book: &TaskBook = &bench.book.tasks[&id];
            assert_eq!(book.state, task.state());
            assert_eq!((book.steps, book.picked), (task.steps, task.picked));
            assert_eq!(book.state.is_terminal(), book.ended_at.is_some());
            assert_eq!(book.state.is_terminal(), !bench.book.open.contains(&id));
            assert_eq!(
                bench.book.ended.iter().filter(|it| **it == id).count(),
                usize::from(book.state.is_terminal())
            );
            if !book.state.is_terminal() {
                assert_eq!(book.resume_point(), task.resume_point());
            }
        }
    }

    /// A node that starts anew reads the same from the ledger.
    fn teardown(bench: Bench, _: Model) {
        let mut again = Book::default();
        for entry in &bench.entries {
            drop(again.apply(entry));
        }
        assert_eq!(again, bench.book);
    }
}

prop_state_machine! {
    #![proptest_config(crate::config())]

    /// C1, C7.
    #[test]
    fn a_task_takes_what_the_model_does(sequential 1..TURNS_MAX => Tasks);
}

/// The runs reach every state, and in each some events that are taken and some that are not.
#[test]
fn chance_reaches_every_state() {
    let mut runner = TestRunner::new(crate::config());
    let runs = Tasks::sequential_strategy(1..TURNS_MAX);
    let mut counts: BTreeMap<(&str, bool), u32> = BTreeMap::new();
    for _ in 0..256 {
        let (mut model, turns, _) = runs.new_tree(&mut runner).expect("a run").current();
        for turn in &turns {
            let before = model.tasks[turn.task].state().name();
            model.apply(turn);
            *counts.entry((before, model.taken)).or_default() += 1;
        }
    }
    let live =
        ["created", "issued", "acknowledged", "executing", "suspended"].map(|it| [(it, true), (it, false)]);
    let ended = ["completed", "failed", "withdrawn"].map(|it| (it, false));
    for key in live.into_iter().flatten().chain(ended) {
        let count = counts.get(&key).copied().unwrap_or_default();
        assert!(count >= 20, "{key:?} came {count} times: {counts:?}");
    }
}
