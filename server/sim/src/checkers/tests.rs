//! Each checker that no accident of the lab trips yet is shown to trip here.

use kernel::control::Book;
use kernel::ids::{Generation, LedgerSequence, NodeId, OrderId, PointId, SessionId};
use kernel::lift::LiftAction;
use kernel::task::{ResumePoint, SuspendCause, TaskEvent};
use kernel::time::{Millis, Now};
use kernel::wire::gateway::{Authority, ReadRef, SessionRef};
use kernel::wire::ledger::{Record, SessionPhase};

use super::*;
use crate::fixture;
use crate::loads::LoadBook;
use crate::plant::{SimEvent, SimSeed};
use crate::world::{World, WorldConfig};

fn entry(sequence: u64, record: Record) -> Entry {
    let at = Now::of(Mono(0), 0).wall;
    Entry {
        sequence: LedgerSequence(sequence),
        at,
        node: NodeId::try_new("A").expect("a name"),
        drill: false,
        record,
    }
}

fn session(n: u64) -> SessionId {
    SessionId::try_new(&format!("S-{n}")).expect("a name")
}

fn found(checkers: &Checkers) -> Vec<Checker> {
    checkers.violations().iter().map(|it| it.checker).collect()
}

fn sim() -> SimPlant {
    SimPlant::new(&fixture::plant(), SimSeed { seed: 1, boot: 0 }, Mono(0))
}

#[test]
fn who_is_overtaken_four_times_is_found() {
    let (mut checkers, sim) = (Checkers::new(&fixture::plant()), sim());
    let requested = |n: u64| Record::SessionRequested {
        session: session(n),
        lift: fixture::lift("L1"),
        task: fixture::task("T-1"),
        vehicle: fixture::vehicle("V1"),
        from: fixture::floor("F1"),
        to: fixture::floor("F2"),
    };
    let changed = |n: u64, phase| Record::SessionChanged {
        session: session(n),
        phase,
        generation: Default::default(),
        lift: fixture::lift("L1"),
    };
    checkers.recorded(Mono(0), &entry(1, requested(1)), &sim);
    for n in 2..=5 {
        assert_eq!(found(&checkers), [], "overtaken {} times", n - 2);
        for record in [requested(n), changed(n, SessionPhase::Granted), changed(n, SessionPhase::Released)] {
            checkers.recorded(Mono(0), &entry(n, record), &sim);
        }
    }
    assert_eq!(found(&checkers), [Checker::NobodyOvertaken]);
}

/// B is served by its fourth request while A, which came first, waits: by its word of the same moment, or of long ago.
#[test]
fn a_node_that_is_overtaken_four_times_is_found() {
    let request = |node: &str, nonce| LeaseRequest {
        lift: fixture::lift("L1"),
        holder: NodeId::try_new(node).expect("a name"),
        nonce: LeaseNonce(nonce),
        epoch: 1,
        floor: 0,
        life: kernel::lease::StoreLife::default(),
        priority: kernel::lease::LeasePriority::default(),
    };
    let token = |serial| FencingToken { epoch: 1, serial };
    for (lives, told_again, turns) in [(true, false, 4), (true, true, 4), (false, false, 9)] {
        let mut checkers = Checkers::new(&fixture::plant());
        let a = request("A", 1);
        checkers.waits(&a.lift, &a.holder, Mono(0));
        for n in 1..=turns {
            let (at, heard) = (Mono(n * 1000), if lives { n * 1000 } else { 0 });
            assert_eq!(found(&checkers), [], "{n}");
            checkers.waits(&a.lift, &a.holder, Mono(heard));
            for _ in 0..=u64::from(told_again) {
                checkers.granted(at, &request("B", n), token(0), token(n));
            }
        }
        let expected = if lives { vec![Checker::NobodyOvertaken] } else { Vec::new() };
        assert_eq!(found(&checkers), expected, "A lives {lives}, told again {told_again}");
    }
}

fn placed(n: u64, key: &str) -> Record {
    Record::OrderPlaced {
        order: kernel::wire::rest::TransportOrder {
            id: OrderId::try_new(&format!("O-{n}")).expect("a name"),
            from: kernel::ids::StationId::try_new("A1").expect("a name"),
            to: kernel::ids::StationId::try_new("A2").expect("a name"),
            priority: 5,
            deadline: None,
            reference: None,
        },
        task: fixture::task(&format!("T-{n}")),
        idempotency_key: key.to_owned(),
        fingerprint: String::new(),
    }
}

/// Each row: what is recorded, and whether something then has two owners.
#[test]
fn what_has_two_owners_is_found() {
    let task = |n: u64| fixture::task(&format!("T-{n}"));
    let claimed = |n, generation| Record::TaskClaimed { task: task(n), generation: Generation(generation) };
    let chosen = |n| Record::VehicleAssigned { task: task(n), vehicle: fixture::vehicle("V1") };
    let over = Record::TaskChanged {
        task: task(1),
        event: kernel::task::TaskEvent::Withdrawn { reason: "a test".to_owned() },
    };
    let rows = [
        (vec![placed(1, "a"), placed(2, "b")], false),
        (vec![placed(1, "a"), placed(2, "a")], true),
        (vec![placed(1, "a"), claimed(1, 1), claimed(1, 2)], false),
        (vec![placed(1, "a"), claimed(1, 1), claimed(1, 1)], true),
        (vec![placed(1, "a"), placed(2, "b"), chosen(1), over, chosen(2)], false),
        (vec![placed(1, "a"), placed(2, "b"), chosen(1), chosen(2)], true),
    ];
    for (records, two) in rows {
        let (mut checkers, sim) = (Checkers::new(&fixture::plant()), sim());
        checkers.withdrawal_asked(&OrderId::try_new("O-1").expect("a name"));
        for (sequence, record) in (1..).zip(&records) {
            checkers.recorded(Mono(0), &entry(sequence, record.clone()), &sim);
        }
        let expected = if two { vec![Checker::OneOwner] } else { vec![] };
        assert_eq!(found(&checkers), expected, "{records:?}");
    }
}

/// Each row: what happens to the order O-1 of the task T-1, in order, and whether that is found.
#[test]
fn what_is_withdrawn_and_not_over_is_found() {
    type Turn = fn(&mut WithdrawalWatch) -> Option<String>;
    fn order() -> OrderId {
        OrderId::try_new("O-1").expect("a name")
    }
    let asked: Turn = |it| {
        it.asked(&order());
        None
    };
    let withdrawn: Turn = |it| {
        let event = TaskEvent::Withdrawn { reason: "a test".to_owned() };
        it.recorded(&entry(2, Record::TaskChanged { task: fixture::task("T-1"), event }))
    };
    let told: Turn =
        |it| it.answered(RequestId(1), Some((&order(), &Ok(TakenBack::Withdrawn(fixture::task("T-1"))))));
    let promised: Turn =
        |it| it.answered(RequestId(3), Some((&order(), &Ok(TakenBack::Asked(fixture::task("T-1"))))));
    let wished: Turn = |it| it.recorded(&entry(3, Record::WithdrawalAsked { task: fixture::task("T-1") }));
    let goes_on: Turn = |it| {
        let command = VehicleCommand {
            task: Some(fixture::task("T-1")),
            ..fixture::command("T-1.1", 2, fixture::ride(&["W1", "D1"]))
        };
        it.recorded(&entry(4, Record::CommandIssued { command }))
    };
    let lines_up: Turn = |it| {
        let (from, to) = (fixture::floor("F1"), fixture::floor("F2"));
        let (lift, task, vehicle) = (fixture::lift("L1"), fixture::task("T-1"), fixture::vehicle("V1"));
        it.recorded(&entry(
            5,
            Record::SessionRequested { session: session(1), lift, task, vehicle, from, to },
        ))
    };
    let refused: Turn =
        |it| it.answered(RequestId(2), Some((&order(), &Err(WithdrawalRefusal::LoadOnItsWay(order())))));
    let moved: Turn = |it| {
        let mut loads = LoadBook::default();
        loads.picked(order(), PointId::try_new("S1").expect("a name"));
        it.moved(&loads)
    };
    let rows: [(&[Turn], bool); 16] = [
        (&[asked, withdrawn, told], false),
        (&[asked, refused, moved], false),
        (&[asked, withdrawn, told, told], true),
        (&[asked, told], true),
        (&[withdrawn], true),
        (&[asked, withdrawn, moved], true),
        (&[asked, refused, withdrawn], true),
        (&[asked, withdrawn, refused], true),
        (&[goes_on, asked, wished, promised, withdrawn, told], false),
        (&[asked, promised], true),
        (&[wished], true),
        (&[asked, wished, wished], true),
        (&[asked, refused, wished], true),
        (&[asked, wished, goes_on], true),
        (&[asked, lines_up, wished], false),
        (&[asked, wished, lines_up], true),
    ];
    for (n, (turns, expected)) in rows.into_iter().enumerate() {
        let mut watch = WithdrawalWatch::default();
        assert_eq!(watch.recorded(&entry(1, placed(1, "a"))), None);
        let found: Vec<_> = turns.iter().filter_map(|turn| turn(&mut watch)).collect();
        assert_eq!(!found.is_empty(), expected, "row {n}: {found:?}");
    }
}

/// The vehicle was told to ride, stands at home and knows nothing of it. Each row: whether the order is to be withdrawn, what
/// became of its task, and whether that is found.
#[test]
fn a_wish_that_nobody_follows_is_found() {
    let suspended = |cause| {
        let resume = ResumePoint::Command { command: fixture::command_id("T-1.1"), attempt: 1 };
        TaskEvent::Suspended { cause, resume }
    };
    let withdrawn = || TaskEvent::Withdrawn { reason: "a test".to_owned() };
    let mut sim = sim();
    // As long as its radio takes to come up.
    let now = Mono(10_000);
    for ms in (0..=now.0).step_by(100) {
        sim.handle(SimEvent::Tick, Mono(ms));
    }
    let rows = [
        (true, suspended(SuspendCause::Fault), true),
        (true, suspended(SuspendCause::Person), true),
        (true, suspended(SuspendCause::Link), false),
        (true, withdrawn(), false),
        (false, suspended(SuspendCause::Fault), false),
    ];
    for (wished, event, expected) in rows {
        let task = || fixture::task("T-1");
        let ride = fixture::command("V1", 2, fixture::ride(&["W1", "D1"]));
        let (id, of) = (fixture::command_id("T-1.1"), Some(task()));
        let mut records = vec![
            placed(1, "a"),
            Record::VehicleAssigned { task: task(), vehicle: fixture::vehicle("V1") },
            Record::CommandIssued { command: VehicleCommand { id, task: of, ..ride } },
        ];
        records.extend(wished.then(|| Record::WithdrawalAsked { task: task() }));
        records.push(Record::TaskChanged { task: task(), event: event.clone() });
        let mut book = Book::default();
        for (sequence, record) in (1..).zip(records) {
            book.apply(&entry(sequence, record)).expect("it fits");
        }
        let found = withdrawals::unfollowed_wish(&book, &fixture::plant(), &sim, now);
        assert_eq!(found.is_some(), expected, "{wished} {event:?}: {found:?}");
    }
}

#[test]
fn a_load_that_is_handled_twice_is_found() {
    let order = OrderId::try_new("O-1").expect("a name");
    let point = PointId::try_new("S1").expect("a name");
    let mut loads = LoadBook::default();
    loads.picked(order.clone(), point.clone());
    loads.dropped(order.clone(), point.clone());
    assert_eq!(orders::loads_handled_twice(&loads), None);
    loads.picked(order, point);
    assert_eq!(orders::loads_handled_twice(&loads).as_deref(), Some("O-1 was picked 2 and dropped 1 times"));
}

#[test]
fn a_door_that_commands_turn_round_three_times_is_found() {
    let (mut checkers, mut sim) = (Checkers::new(&fixture::plant()), sim());
    let lift = fixture::lift("L1");
    let mut now = Mono(0);
    // Each longer than a scan; the door, which takes 2.5 s, is never quite open and never quite shut.
    for (number, span) in (1..).zip([1500, 600, 600, 600]) {
        checkers.second(now, &sim);
        assert!(!found(&checkers).contains(&Checker::DoorReversals), "before number {number}");
        let action = if number % 2 == 1 { LiftAction::OpenDoor } else { LiftAction::CloseDoor };
        let block = CommandBlock { number, action, floor: 1 };
        sim.handle(SimEvent::CommandBlock { lift: lift.clone(), block }, now);
        now = now + Millis(span);
        sim.handle(SimEvent::Tick, now);
    }
    checkers.second(now, &sim);
    assert!(found(&checkers).contains(&Checker::DoorReversals), "{:?}", checkers.violations());
}

/// What became of the first is known once a read from after it shows the PLC at rest, and not before.
#[test]
fn a_number_that_is_written_while_another_is_unknown_is_found() {
    let lift = fixture::lift("L1");
    for (reads, expected) in [(true, vec![]), (false, vec![Checker::NothingWhileVerifying])] {
        let (mut checkers, mut sim) = (Checkers::new(&fixture::plant()), sim());
        for number in 1..=2 {
            let now = Mono(u64::from(number) * 20_000);
            let block = CommandBlock { number, action: LiftAction::OpenDoor, floor: 1 };
            checkers.gateway_writes(now, &lift, block, None, (Arbitration::Lease, 0));
            sim.handle(SimEvent::CommandBlock { lift: lift.clone(), block }, now);
            for ms in (0..10_000).step_by(100) {
                sim.handle(SimEvent::Tick, now + Millis(ms));
                if let Some(status) = sim.lift_status(&lift).filter(|_| reads) {
                    checkers.read(now + Millis(ms), &lift, &status);
                }
            }
        }
        assert_eq!(found(&checkers), expected, "reads: {reads}");
    }
}

/// A whole ride, watched by somebody who takes the car for smaller than it is.
#[test]
fn a_car_with_too_many_in_it_is_found() {
    let world = ridden();
    let mut smaller = world.plant().clone();
    for lift in smaller.lifts.values_mut() {
        lift.capacity_vehicles = 0;
    }
    for (plant, expected) in [(world.plant().clone(), vec![]), (smaller, vec![Checker::CarCapacity])] {
        let mut checkers = Checkers::new(&plant);
        checkers.second(Mono(0), world.sim());
        assert_eq!(found(&checkers), expected);
    }
}

/// The same comparison with a ledger that says something else, and with a screen that missed something.
#[test]
fn memory_and_screens_that_differ_are_found() {
    let world = ridden();
    let node = NodeId::try_new("A").expect("a name");
    let control = world.control(&node).expect("it is up");
    let snapshot = world.snapshot_of(0);
    let compare = |ledger: &[Entry], shown: &[Change]| {
        let mut checkers = Checkers::new(world.plant());
        for change in shown {
            checkers.shown(0, change.clone());
        }
        checkers.compare(Mono(0), (0, control), ledger, snapshot.clone());
        found(&checkers)
    };
    assert_eq!(compare(world.ledger(), &snapshot), []);
    let fewer: Vec<Entry> =
        world.ledger().iter().filter(|it| !matches!(it.record, Record::LinkOpened { .. })).cloned().collect();
    assert_eq!(compare(&fewer, &snapshot), [Checker::ReplayEqualsMemory]);
    assert_eq!(compare(world.ledger(), &snapshot[1..]), [Checker::DeltasEqualState]);
}

fn ridden() -> World {
    let plant = crate::sites::site(crate::sites::SiteShape { floors: 2, lifts: 1, vehicles: 1, gateways: 1 })
        .expect("a site");
    let station = |name: &str| kernel::ids::StationId::try_new(name).expect("a name");
    let order = crate::world::PlannedOrder {
        at: Millis::seconds(5),
        from: station("S1"),
        to: station("S2"),
        withdrawn_after: None,
    };
    let mut world = World::new(WorldConfig { orders: vec![order], ..WorldConfig::new(plant, 1) });
    let ending = world.finish(Millis::seconds(600));
    assert_eq!(ending.completed, 1, "{:?}", world.violations());
    world
}

fn lift_command(id: &str, holder: &str) -> LiftCommand {
    let expects = sim().lift_status(&fixture::lift("L1")).expect("it is there").expectation();
    LiftCommand {
        id: CommandId::try_new(id).expect("a name"),
        lift: fixture::lift("L1"),
        action: LiftAction::OpenDoor,
        floor: fixture::floor("F1"),
        holder: NodeId::try_new(holder).expect("a name"),
        sequence: 1,
        authority: Authority::Edge { epoch: 0 },
        session: SessionRef {
            session: session(1),
            generation: Generation(1),
            task: fixture::task("T-1"),
            claim: Generation(1),
            link: Generation(1),
            vehicle: fixture::vehicle("V1"),
        },
        read: ReadRef { boot: 1, tick: 1 },
        expects,
        valid_for_ms: Millis::seconds(2),
    }
}

/// What a node had heard when it asked, by statuses that reached it; and whether its grant is found to fall behind that.
#[test]
fn a_grant_below_what_the_asker_had_heard_is_found() {
    let token = |serial| FencingToken { epoch: 1, serial };
    let ask = |node: &str, nonce| LeaseRequest {
        lift: fixture::lift("L1"),
        holder: NodeId::try_new(node).expect("a name"),
        nonce: LeaseNonce(nonce),
        epoch: 1,
        floor: 0,
        life: kernel::lease::StoreLife::default(),
        priority: kernel::lease::LeasePriority::default(),
    };
    let rows = [
        ("nothing was heard", ask("A", 2), 0, 1, false),
        ("it is the highest", ask("A", 2), 6, 7, false),
        ("a higher one was heard", ask("A", 2), 7, 6, true),
        ("its own grant is told again", ask("B", 1), 7, 7, false),
        ("it is another request's", ask("B", 2), 7, 7, true),
        ("it is another node's", ask("A", 1), 7, 7, true),
    ];
    for (what, request, heard, granted, expected) in rows {
        let mut checkers = Checkers::new(&fixture::plant());
        let authority = Authority::Lease { token: token(7), nonce: LeaseNonce(1) };
        checkers.lift_commanded(Mono(0), &LiftCommand { authority, ..lift_command("C-B1", "B") });
        checkers.granted(Mono(0), &request, token(heard), token(granted));
        let expected = if expected { vec![Checker::TokensRise] } else { vec![] };
        assert_eq!(found(&checkers), expected, "{what}");
    }
}

/// Commands as they are written, each a token, a session, a task and its claim; and whether the last is found to be
/// below one of those before. Between them lies what is higher in one and lower in the other.
#[test]
fn a_command_below_the_highest_of_those_before_is_found() {
    type Row = (u64, u64, &'static str, u64);
    let rows: [(&[Row], bool); 7] = [
        (&[(5, 1, "T-1", 1), (6, 2, "T-2", 1)], false),
        (&[(5, 1, "T-1", 1), (5, 1, "T-1", 1)], false),
        (&[(5, 1, "T-1", 1), (4, 1, "T-1", 1)], true),
        (&[(5, 2, "T-1", 1), (6, 1, "T-2", 1)], true),
        (&[(5, 1, "T-1", 2), (6, 1, "T-2", 1), (7, 1, "T-1", 1)], true),
        (&[(7, 1, "T-1", 1), (5, 1, "T-1", 1), (6, 1, "T-1", 1)], true),
        (&[(5, 3, "T-1", 1), (6, 1, "T-1", 1), (7, 2, "T-1", 1)], true),
    ];
    for (commands, expected) in rows {
        let mut watch = LiftWatch::default();
        let mut found = Vec::new();
        for (number, (serial, generation, task, claim)) in (1..).zip(commands) {
            let mut command = lift_command(&format!("C-A1.{number}"), "A");
            let token = FencingToken { epoch: 1, serial: *serial };
            command.authority = Authority::Lease { token, nonce: LeaseNonce(*serial) };
            command.session.generation = Generation(*generation);
            (command.session.task, command.session.claim) = (fixture::task(task), Generation(*claim));
            watch.sent(Mono(0), &command);
            let block = CommandBlock { number, action: LiftAction::OpenDoor, floor: 1 };
            let written = watch.writes(Mono(0), block, Some(&command.id), (Arbitration::Lease, 0));
            found = written.into_iter().map(|(checker, _)| checker).collect();
        }
        let stale = found.contains(&Checker::NothingStale);
        assert_eq!(stale, expected, "{commands:?}");
    }
}

/// Seen by the look of each second, and by the comparison at the end of a world.
#[test]
fn a_load_that_is_not_moved_once_is_found() {
    let moved = ridden();
    let (order, point) =
        (moved.sim().loads().iter().map(|(order, _)| order.clone()).next(), fixture::point("S1"));
    let order = order.expect("it was moved");
    let mut twice = moved.clone();
    twice.loads_mut().picked(order, point);
    for (world, expected) in [(&moved, vec![]), (&twice, vec![Checker::LoadMovedOnce])] {
        let mut checkers = Checkers::new(world.plant());
        checkers.second(Mono(0), world.sim());
        assert_eq!(found(&checkers), expected);
    }
    let mut never = moved.clone();
    *never.loads_mut() = LoadBook::default();
    for (mut world, expected) in [(moved, vec![]), (never, vec![Checker::LoadMovedOnce])] {
        world.compare();
        let found: Vec<_> = world.violations().iter().map(|it| it.checker).collect();
        assert_eq!(found, expected);
    }
}
