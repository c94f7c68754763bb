//! The admission function, row by row.

use std::fmt::Write as _;

use expect_test::expect;

use super::*;
use crate::fixture::{lift_command, status};
use crate::ids::{Generation, TaskId};
use crate::lease::{FencingToken, LeaseNonce};
use crate::lift::{LiftMode, Motion};
use crate::safeguard::Safeguards;
use crate::time::Mono;
use crate::timing::LIFT_READ_AGE_MAX;
use crate::wire::gateway::{Authority, Connection};

const BOOT: u64 = 7;

/// Everything that admission is asked with. As it stands it is admitted.
struct Case {
    command: LiftCommand,
    marks: LiftMarks,
    claims: VecDeque<(TaskId, Generation)>,
    status: Option<LiftStatus>,
    ticks: VecDeque<(u64, Mono)>,
    connection: Connection,
    verifying: bool,
    now: u64,
}

impl Case {
    fn admitted() -> Self {
        let seen = status("F1", DoorState::Closed);
        let mut command = lift_command("C1", LiftAction::GoTo, "F2", &seen, ReadRef { boot: BOOT, tick: 3 });
        command.authority =
            Authority::Lease { token: FencingToken { epoch: 1, serial: 5 }, nonce: LeaseNonce(50) };
        command.session.generation = Generation(4);
        command.session.claim = Generation(2);
        let marks = LiftMarks {
            token: FencingToken { epoch: 1, serial: 5 },
            holder: Some((fixture::node("A"), LeaseNonce(50))),
            session: Generation(4),
            ..LiftMarks::default()
        };
        Self {
            command,
            marks,
            claims: [(fixture::task("T-1"), Generation(2))].into(),
            status: Some(seen),
            ticks: [(2, Mono(800)), (3, Mono(1000))].into(),
            connection: Connection::Up,
            verifying: false,
            now: 1100,
        }
    }

    fn token(&mut self) -> &mut FencingToken {
        fixture::lease_of(&mut self.command).0
    }

    fn nonce(&mut self) -> &mut LeaseNonce {
        fixture::lease_of(&mut self.command).1
    }

    fn seen(&mut self) -> &mut LiftStatus {
        self.status.as_mut().expect("the case has a read")
    }

    /// The lift shows something, and the command was decided on it.
    fn expected(&mut self, change: impl FnOnce(&mut LiftStatus)) {
        change(self.seen());
        self.command.expects = self.seen().expectation();
    }

    fn admit(&self) -> Result<(), GatewayRefusal> {
        let plant = fixture::plant();
        let last = self.ticks.back().map_or(Mono(0), |(_, at)| *at);
        let view = View {
            lift: &plant.lifts[&fixture::lift("L1")],
            boot: BOOT,
            newest: self.status.as_ref().map(|it| (it, last)),
            ticks: &self.ticks,
            connection: self.connection,
            verifying: self.verifying,
            safeguards: Safeguards::ALL,
        };
        admit(&self.command, &self.marks, &self.claims, &view, at(self.now))
    }
}

type Row = (&'static str, fn(&mut Case), Result<(), GatewayRefusal>);

/// Each row differs from the admitted command in one thing.
fn check(rows: &[Row]) {
    for (name, change, expected) in rows {
        let mut case = Case::admitted();
        change(&mut case);
        assert_eq!(case.admit(), *expected, "{name}");
    }
}

#[test]
fn fences() {
    use GatewayRefusal as R;
    check(&[
        ("nothing", |_| {}, Ok(())),
        (
            "a higher token of another node",
            |it| {
                it.token().serial = 6;
                it.command.holder = fixture::node("B");
            },
            Ok(()),
        ),
        ("a lower token", |it| it.token().serial = 4, Err(R::StaleToken)),
        ("the same token of another node", |it| it.command.holder = fixture::node("B"), Err(R::StaleToken)),
        ("the same token of another request", |it| *it.nonce() = LeaseNonce(51), Err(R::StaleToken)),
        ("a later epoch than the gateway's", |it| it.token().epoch = 2, Err(R::StaleToken)),
        ("an earlier epoch", |it| *it.token() = FencingToken { epoch: 0, serial: 99 }, Err(R::StaleToken)),
        ("a higher session, car empty", |it| it.command.session.generation = Generation(5), Ok(())),
        (
            "a higher session, car occupied",
            |it| {
                it.command.session.generation = Generation(5);
                it.seen().occupied = true;
            },
            Err(R::CarOccupied),
        ),
        ("the same session, car occupied", |it| it.seen().occupied = true, Ok(())),
        ("a lower session", |it| it.command.session.generation = Generation(3), Err(R::StaleSession)),
        ("a higher claim", |it| it.command.session.claim = Generation(3), Ok(())),
        ("a lower claim", |it| it.command.session.claim = Generation(1), Err(R::StaleClaim)),
    ]);
}

/// The rows rest on a read being too old after 2500 ms.
#[test]
fn targets_and_reads() {
    use GatewayRefusal as R;
    assert_eq!(LIFT_READ_AGE_MAX.0, 2500);
    check(&[
        (
            "a floor that the lift does not serve",
            |it| it.command.floor = fixture::floor("F9"),
            Err(R::UnknownTarget),
        ),
        ("a read of an earlier start", |it| it.command.read.boot = BOOT - 1, Err(R::StaleRead)),
        ("a read that was never made", |it| it.command.read.tick = 4, Err(R::StaleRead)),
        ("a read that is forgotten", |it| it.command.read.tick = 1, Err(R::StaleRead)),
        (
            "a named read just young enough",
            |it| {
                it.command.read.tick = 2;
                it.now = 3300;
            },
            Ok(()),
        ),
        (
            "a named read just too old",
            |it| {
                it.command.read.tick = 2;
                it.now = 3301;
            },
            Err(R::StaleRead),
        ),
    ]);
}

#[test]
fn a_lift_to_which_nothing_may_be_sent() {
    use GatewayRefusal as R;
    check(&[
        ("an earlier command in doubt", |it| it.verifying = true, Err(R::Verifying)),
        ("no read yet", |it| it.status = None, Err(R::Unreachable)),
        ("a connection never made", |it| it.connection = Connection::Unknown, Err(R::Unreachable)),
        ("a broken connection", |it| it.connection = Connection::Down, Err(R::Unreachable)),
        ("a frozen PLC", |it| it.connection = Connection::Frozen, Err(R::Unreachable)),
        ("no read for too long", |it| it.now = 3501, Err(R::Unreachable)),
        ("fire", |it| it.expected(|seen| seen.mode = LiftMode::Fire), Err(R::OutOfService)),
        ("maintenance", |it| it.expected(|seen| seen.mode = LiftMode::Maintenance), Err(R::OutOfService)),
        ("people", |it| it.expected(|seen| seen.mode = LiftMode::Human), Err(R::OutOfService)),
        ("emergency stop", |it| it.expected(|seen| seen.mode = LiftMode::Emergency), Err(R::OutOfService)),
        ("a fault", |it| it.seen().fault = 12, Err(R::OutOfService)),
    ]);
}

#[test]
fn a_command_that_does_not_fit() {
    use GatewayRefusal as R;
    check(&[
        (
            "the door is open and nobody expected it",
            |it| it.seen().door = DoorState::Open,
            Err(R::ExpectationMissed { found: status("F1", DoorState::Open).expectation() }),
        ),
        (
            "the car is elsewhere and nobody expected it",
            |it| it.seen().floor = fixture::floor("F2"),
            Err(R::ExpectationMissed { found: status("F2", DoorState::Closed).expectation() }),
        ),
        ("travel with the door open", |it| it.expected(|seen| seen.door = DoorState::Open), Err(R::NotNow)),
        ("the car travels", |it| it.expected(|seen| seen.motion = Motion::Up), Err(R::NotNow)),
        ("the car is not level", |it| it.seen().levelled = false, Err(R::NotNow)),
        ("the PLC is at work", |it| it.seen().accepted = 9, Err(R::NotNow)),
    ]);
}

/// One line per action and door; a column per motion, place of the target and whether the PLC is at work.
fn table() -> String {
    let mut out = String::from("                      still            up               down\n");
    out.push_str("                      here   elsewhere here   elsewhere here   elsewhere\n");
    for action in [LiftAction::GoTo, LiftAction::OpenDoor, LiftAction::CloseDoor] {
        for door in [
            DoorState::Closed,
            DoorState::Opening,
            DoorState::Open,
            DoorState::Closing,
            DoorState::Obstructed,
        ] {
            let mut line = format!("{:<22}", format!("{action:?} {door:?}"));
            for motion in [Motion::Still, Motion::Up, Motion::Down] {
                for (floor, width) in [("F1", 7), ("F2", 10)] {
                    let cell = [false, true].map(|busy| cell(action, door, motion, floor, busy)).concat();
                    write!(line, "{cell:<width$}").expect("a string");
                }
            }
            writeln!(out, "{}", line.trim_end()).expect("a string");
        }
    }
    out
}

fn cell(action: LiftAction, door: DoorState, motion: Motion, floor: &str, busy: bool) -> &'static str {
    let mut case = Case::admitted();
    case.expected(|seen| {
        seen.door = door;
        seen.motion = motion;
        seen.accepted = u16::from(busy);
    });
    case.command.action = action;
    case.command.floor = fixture::floor(floor);
    match case.admit() {
        Ok(()) => "+",
        Err(GatewayRefusal::NotNow) => ".",
        Err(_) => "?",
    }
}

/// `+` is admitted, `.` is refused as "not now"; in each cell first with the PLC idle, then with it at work. The
/// lift stands at F1, so "here" is F1.
#[test]
fn the_admission_table() {
    expect![[r#"
                              still            up               down
                              here   elsewhere here   elsewhere here   elsewhere
        GoTo Closed           +.     +.        ..     ..        ..     ..
        GoTo Opening          ..     ..        ..     ..        ..     ..
        GoTo Open             ..     ..        ..     ..        ..     ..
        GoTo Closing          ..     ..        ..     ..        ..     ..
        GoTo Obstructed       ..     ..        ..     ..        ..     ..
        OpenDoor Closed       +.     ..        ..     ..        ..     ..
        OpenDoor Opening      ..     ..        ..     ..        ..     ..
        OpenDoor Open         +.     ..        ..     ..        ..     ..
        OpenDoor Closing      ..     ..        ..     ..        ..     ..
        OpenDoor Obstructed   +.     ..        ..     ..        ..     ..
        CloseDoor Closed      +.     ..        ..     ..        ..     ..
        CloseDoor Opening     ..     ..        ..     ..        ..     ..
        CloseDoor Open        +.     ..        ..     ..        ..     ..
        CloseDoor Closing     ..     ..        ..     ..        ..     ..
        CloseDoor Obstructed  +.     ..        ..     ..        ..     ..
    "#]]
    .assert_eq(&table());
}
