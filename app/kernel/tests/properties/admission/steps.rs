//! What may happen beside a gateway, drawn by chance. A step is relative to where the model stands, so each one has a
//! meaning everywhere and a run can be cut shorter.

use kernel::ids::TaskId;
use kernel::lift::{DoorState, LiftAction, LiftMode, Motion};
use proptest::prelude::*;
use proptest::sample::select;

use super::plc::{Change, FLOORS};
use crate::fixture;

/// One step, how a write in it goes, and whether the gateway dies in it.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) step: Step,
    /// A block that is written in this step reaches the PLC.
    pub(super) reaches: bool,
    pub(super) death: Option<Death>,
}

/// When the gateway dies; it starts anew at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Death {
    /// Before anything of the step was performed or made durable.
    AtOnce,
    /// After so many writes and words of the step, what was to be durable before the next one being so.
    After(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Control sends a new command.
    Ask(Ask),
    /// One of the last commands comes once more, from 0 for the last.
    Repeat(usize),
    /// A vehicle command of a task passes the gateway.
    Vehicle { task: usize, claim: Relative },
    /// The lift is read: after how long, whether the PLC scanned and whether it finished before.
    Read { after_ms: u64, scans: bool, finishes: bool },
    /// The lift cannot be read.
    ReadFails { after_ms: u64 },
    /// Nothing is heard for so long.
    Sleep { ms: u64 },
    /// The wire tells how the last write went, or that it does not know.
    Report { certain: bool },
    /// Something happens to the lift.
    Plant(Change),
}

/// A command, as it differs from the one that fits.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// What to do where; none for something that fits what the lift shows.
    pub(super) want: Option<(LiftAction, &'static str)>,
    /// Of two movements that fit, the travel.
    pub(super) travel: bool,
    pub(super) epoch: Relative,
    pub(super) serial: Relative,
    /// Of the request that brought the highest token.
    pub(super) same_holder: bool,
    pub(super) same_nonce: bool,
    pub(super) session: Relative,
    pub(super) task: usize,
    pub(super) claim: Relative,
    /// How many reads ago.
    pub(super) read_back: u64,
    /// The read was of this run of the gateway.
    pub(super) this_boot: bool,
    /// It expects what the last read showed.
    pub(super) expects_shown: bool,
    pub(super) valid_for_ms: u64,
}

impl Ask {
    /// One that nothing is against.
    fn fitting() -> Self {
        Self {
            want: None,
            travel: false,
            epoch: Relative::Same,
            serial: Relative::Same,
            same_holder: true,
            same_nonce: true,
            session: Relative::Same,
            task: 0,
            claim: Relative::Same,
            read_back: 0,
            this_boot: true,
            expects_shown: true,
            valid_for_ms: 2500,
        }
    }
}

/// Against the highest that was seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Relative {
    Same,
    Above,
    Below,
}

/// There are two tasks.
pub(super) fn task_name(nth: usize) -> TaskId {
    fixture::task(if nth == 0 { "T-1" } else { "T-2" })
}

impl Relative {
    pub(super) fn to(self, highest: u64) -> u64 {
        match self {
            Self::Same => highest,
            Self::Above => highest + 1,
            Self::Below => highest.saturating_sub(1),
        }
    }
}

/// An eager control sends what fits, again and again: only so a queue fills within its commands' validity.
pub(super) fn turn(eager: bool) -> BoxedStrategy<Turn> {
    if eager {
        let read = Step::Read { after_ms: 200, scans: false, finishes: false };
        let step = prop_oneof![12 => Just(Step::Ask(Ask::fitting())), 2 => Just(read), 1 => step()];
        return step.prop_map(|step| Turn { step, reaches: false, death: None }).boxed();
    }

    let death = prop_oneof![
        24 => Just(None),
        1 => Just(Some(Death::AtOnce)),
        2 => (0usize..3).prop_map(|n| Some(Death::After(n))),
    ];
    (step(), prop::bool::weighted(0.7), death)
        .prop_map(|(step, reaches, death)| Turn { step, reaches, death })
        .boxed()
}

fn step() -> impl Strategy<Value = Step> {
    let after_ms = || select(vec![200u64, 150, 400, 1100, 2600]);
    let read = (after_ms(), prop::bool::weighted(0.75), any::<bool>());
    prop_oneof![
        10 => ask().prop_map(Step::Ask),
        2 => (0usize..4).prop_map(Step::Repeat),
        1 => (0usize..2, relative(6, 2, 2)).prop_map(|(task, claim)| Step::Vehicle { task, claim }),
        14 => read.prop_map(|(after_ms, scans, finishes)| Step::Read { after_ms, scans, finishes }),
        2 => after_ms().prop_map(|after_ms| Step::ReadFails { after_ms }),
        2 => select(vec![100u64, 900, 2499, 2500, 3000]).prop_map(|ms| Step::Sleep { ms }),
        4 => any::<bool>().prop_map(|certain| Step::Report { certain }),
        3 => change().prop_map(Step::Plant),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    use DoorState as D;
    prop_oneof![
        8 => Just(Change::Calm),
        2 => Just(Change::Reboot),
        1 => select(vec![LiftMode::Human, LiftMode::Fire, LiftMode::Maintenance, LiftMode::Emergency])
            .prop_map(Change::Mode),
        1 => (0u16..3).prop_map(Change::Fault),
        6 => any::<bool>().prop_map(Change::Occupied),
        2 => select(vec![D::Closed, D::Opening, D::Open, D::Closing, D::Obstructed]).prop_map(Change::Door),
        1 => select(vec![Motion::Still, Motion::Up, Motion::Down]).prop_map(Change::Motion),
        1 => any::<bool>().prop_map(Change::Levelled),
    ]
}

fn relative(same: u32, above: u32, below: u32) -> impl Strategy<Value = Relative> {
    prop_oneof![
        same => Just(Relative::Same),
        above => Just(Relative::Above),
        below => Just(Relative::Below),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let action = select(vec![LiftAction::GoTo, LiftAction::OpenDoor, LiftAction::CloseDoor]);
    let want = prop_oneof![
        10 => Just(None),
        2 => (action, select(FLOORS.to_vec())).prop_map(Some),
        1 => Just(Some((LiftAction::GoTo, "F9"))),
    ];
    let often = || prop::bool::weighted(0.95);
    let movement = (want, any::<bool>());
    let lease = (relative(40, 1, 1), relative(8, 3, 1), often(), often());
    let ride = (relative(12, 4, 3), 0usize..2, relative(12, 2, 3));
    let ground = (prop_oneof![8 => Just(0u64), 2 => 1u64..4, 1 => 8u64..20], often(), often());
    let valid_for_ms = select(vec![2500u64, 300, 20_000]);
    (movement, lease, ride, ground, valid_for_ms).prop_map(
        |(
            (want, travel),
            (epoch, serial, same_holder, same_nonce),
            (session, task, claim),
            ground,
            valid,
        )| {
            let (read_back, this_boot, expects_shown) = ground;
            Ask {
                want,
                travel,
                epoch,
                serial,
                same_holder,
                same_nonce,
                session,
                task,
                claim,
                read_back,
                this_boot,
                expects_shown,
                valid_for_ms: valid,
            }
        },
    )
}
