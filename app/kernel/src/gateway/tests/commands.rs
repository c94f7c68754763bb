//! From the queue to the PLC: order of effects, numbers, the second admission, repeats, bounds.

use super::*;
use crate::ids::Generation;
use crate::lease::LeaseNonce;
use crate::timing::LIFT_COMMAND_VALIDITY;

#[test]
fn the_start_is_durable_before_anything_is_told_under_it() {
    let mut gateway = Gateway::new(fixture::gateway("G1"), &fixture::plant(), Marks::default(), at(0));
    gateway.handle_timeout(at(0));
    assert!(matches!(gateway.poll_effect(), Some(Effect::Persist(marks)) if marks.boot == 1));
    assert!(matches!(gateway.poll_effect(), Some(Effect::Status(state)) if state.boot == 1));
}

#[test]
fn a_number_is_durable_before_it_is_written() {
    let mut bench = Bench::ready();
    bench.open("C1");
    assert_eq!(
        bench.look(),
        ["persist number 0 flight - serial 1", "persist number 1 flight C1 serial 1", "write 1 OpenDoor 1",]
    );
    bench.written(1, WriteResult::Confirmed);
    assert_eq!(bench.look(), Vec::<String>::new(), "a confirmed write is not yet an accepted command");
    bench.echo(1);
    assert_eq!(bench.look(), ["persist number 1 flight - serial 1", "tell C1 Accepted"]);
}

#[test]
fn numbers_wrap_over_65535_and_never_repeat_what_the_plc_shows() {
    // Last number given, shown as accepted, shown as completed, the next one.
    let rows: &[(u16, u16, u16, u16)] = &[
        (0, 0, 0, 1),
        (7, 7, 7, 8),
        (65_535, 65_535, 65_535, 1),
        (65_534, 0, 0, 65_535),
        (65_535, 1, 1, 2),
        (65_535, 1, 2, 3),
        (7, 8, 7, 9),
        (7, 9, 8, 10),
        (7, 8, 9, 10),
    ];
    for (last, accepted, completed, next) in rows {
        let status = LiftStatus {
            accepted: *accepted,
            completed: *completed,
            ..fixture::status("F1", DoorState::Closed)
        };
        assert_eq!(channel::number_after(*last, &status), *next, "after {last} with {accepted}/{completed}");
    }
}

#[test]
fn numbers_go_on_after_a_restart() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.echo(1);
    let (marks, status) = (bench.marks.clone(), bench.status.clone());
    let mut bench = Bench::restarted(marks, 5000);
    bench.status = status;
    bench.read();
    bench.open("C2");
    assert!(bench.look().contains(&"write 2 OpenDoor 1".to_owned()));
}

#[test]
fn what_changed_while_a_command_was_queued_refuses_it_when_it_is_taken() {
    type Change = fn(&mut Bench);
    let rows: &[(&str, Change, &str)] = &[
        ("nothing", |_| {}, "write 2 OpenDoor 1"),
        ("the door opened", |it| it.status.door = DoorState::Open, "ExpectationMissed"),
        ("fire", |it| it.status.mode = crate::lift::LiftMode::Fire, "OutOfService"),
        ("the PLC is still at work", |it| it.status.completed = 0, "NotNow"),
        (
            "a later grant came in",
            |it| {
                let mut later = it.command("C3", LiftAction::OpenDoor, "F1");
                later.holder = fixture::node("B");
                let (token, nonce) = fixture::lease_of(&mut later);
                (token.serial, *nonce) = (2, LeaseNonce(9));
                it.send(later);
            },
            "StaleToken",
        ),
        (
            "a later session came in",
            |it| {
                let mut later = it.command("C3", LiftAction::OpenDoor, "F1");
                later.session.generation = Generation(2);
                it.send(later);
            },
            "StaleSession",
        ),
        (
            "a later claim came in",
            |it| {
                let mut later = fixture::vehicle_command("K1", "V1", 2);
                later.task = Some(fixture::task("T-1"));
                it.handle(Event::Commanded(Box::new(GatewayCommand::Vehicle(later))));
            },
            "StaleClaim",
        ),
    ];
    for (name, change, expected) in rows {
        let mut bench = Bench::ready();
        bench.open("C1");
        bench.open("C2");
        assert_eq!(bench.news(), ["write 1 OpenDoor 1"], "{name}: the second one waits");
        bench.status.accepted = 1;
        bench.status.completed = 1;
        change(&mut bench);
        bench.read();
        let news = bench.news();
        let about = |it: &&String| it.starts_with("tell C2") || it.starts_with("write 2");
        assert!(news.iter().find(about).is_some_and(|it| it.contains(expected)), "{name}: {news:?}");
    }
}

#[test]
fn a_command_expires_in_the_queue() {
    // How long the first command kept the second one waiting, and what became of the second.
    let validity = LIFT_COMMAND_VALIDITY.0 / 2;
    for (waited, expected) in [(validity, "write 2 OpenDoor 1"), (validity + 1, "tell C2 Expired")] {
        let mut bench = Bench::ready();
        bench.open("C1");
        let mut second = bench.command("C2", LiftAction::OpenDoor, "F1");
        second.valid_for_ms = Millis(validity);
        bench.send(second);
        bench.look();
        bench.ms += waited;
        bench.echo(1);
        assert_eq!(bench.news(), ["tell C1 Accepted", expected], "after {waited} ms");
    }
}

#[test]
fn a_repeated_command_is_told_its_outcome_and_never_written_twice() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.open("C2");
    bench.look();
    bench.open("C1");
    bench.open("C2");
    assert_eq!(bench.news(), Vec::<String>::new(), "in flight and queued: the outcome will be told");
    bench.echo(1);
    assert_eq!(bench.news(), ["tell C1 Accepted", "write 2 OpenDoor 1"]);
    bench.echo(2);
    assert_eq!(bench.news(), ["tell C2 Accepted"]);
    bench.open("C1");
    bench.open("C2");
    assert_eq!(bench.news(), ["tell C1 Accepted", "tell C2 Accepted"], "settled: told once more");
    let mut foreign = bench.command("C3", LiftAction::GoTo, "F9");
    foreign.floor = fixture::floor("F9");
    bench.send(foreign.clone());
    bench.send(foreign);
    let refused = "tell C3 Refused { reason: UnknownTarget }";
    assert_eq!(bench.news(), [refused, refused]);
}

#[test]
fn an_outcome_is_told_again_after_a_restart() {
    let mut bench = Bench::ready();
    bench.open("C1");
    bench.echo(1);
    let (marks, status) = (bench.marks.clone(), bench.status.clone());
    let mut bench = Bench::restarted(marks, 5000);
    bench.status = status;
    bench.read();
    bench.look();
    bench.open("C1");
    assert_eq!(bench.news(), ["tell C1 Accepted"]);
}

/// One was written, three wait. What was written is verified; nothing is replayed.
#[test]
fn what_waited_at_a_restart_was_not_sent_and_its_senders_are_told() {
    let mut bench = Bench::ready();
    for id in ["C0", "C1", "C2", "C3"] {
        bench.open(id);
    }
    let (marks, status) = (bench.marks.clone(), bench.status.clone());
    let mut bench = Bench::restarted(marks, 1000);
    let not_sent = ["tell C1 NotSent", "tell C2 NotSent", "tell C3 NotSent"];
    let start = bench.look();
    assert_eq!(start[0], "persist number 1 flight C0 serial 1", "it is durable before it is told");
    assert_eq!(start[1..], not_sent);
    bench.status = status;
    bench.open("C2");
    assert_eq!(bench.news(), ["tell C2 NotSent"], "a repeat is told the same");
    bench.run(Millis::seconds(10));
    let news = bench.news();
    assert_eq!(news, ["tell C0 NotSent"], "nothing of it is written");
    let (marks, status) = (bench.marks.clone(), bench.status.clone());
    let mut bench = Bench::restarted(marks, 20_000);
    assert_eq!(bench.news(), Vec::<String>::new(), "told once");
    bench.status = status;
    bench.read();
    bench.open("C3");
    assert_eq!(bench.news(), ["tell C3 NotSent"], "and remembered");
}

#[test]
fn what_was_taken_from_the_queue_or_void_in_it_waits_no_more_at_a_restart() {
    // How long the first command kept the second one waiting, and what a restart then tells.
    let rows = [(0, "flight C2"), (LIFT_COMMAND_VALIDITY.0 + 1, "flight -")];
    for (waited, expected) in rows {
        let mut bench = Bench::ready();
        bench.open("C1");
        bench.open("C2");
        assert_eq!(bench.marks.lifts[&fixture::lift("L1")].queued, [fixture::command_id("C2")]);
        bench.ms += waited;
        bench.echo(1);
        let mut bench = Bench::restarted(bench.marks.clone(), 9000);
        let start = bench.look();
        assert!(start.len() == 1 && start[0].contains(expected), "after {waited} ms: {start:?}");
    }
}

#[test]
fn marks_that_are_older_than_the_durable_queue_are_read() {
    let mut bench = Bench::ready();
    bench.open("C1");
    let mut older = serde_json::to_value(&bench.marks).unwrap();
    older["lifts"]["L1"].as_object_mut().unwrap().remove("queued");
    assert_eq!(serde_json::from_value::<Marks>(older).unwrap(), bench.marks);
}

#[test]
fn outcomes_are_remembered_up_to_a_bound_and_the_oldest_goes_first() {
    let mut bench = Bench::ready();
    for number in 1..=OUTCOMES_MAX + 1 {
        bench.open(&format!("C{number}"));
        bench.echo(u16::try_from(number).unwrap());
    }
    let kept = &bench.marks.lifts[&fixture::lift("L1")];
    assert_eq!(kept.outcomes.len(), OUTCOMES_MAX);
    assert_eq!(kept.outcome(&fixture::command_id("C1")), None);
    assert_eq!(kept.outcome(&fixture::command_id("C2")), Some(Verdict::Accepted));
}

#[test]
fn a_full_queue_refuses_and_keeps_what_waits() {
    let mut bench = Bench::ready();
    bench.open("C0");
    bench.look();
    for number in 1..=9 {
        bench.open(&format!("C{number}"));
    }
    assert_eq!(bench.news(), ["tell C9 Refused { reason: QueueFull }"]);
    bench.echo(1);
    assert_eq!(bench.news(), ["tell C0 Accepted", "write 2 OpenDoor 1"]);
}

#[test]
fn a_lift_of_another_gateway_is_refused() {
    let mut bench = Bench::ready();
    let mut command = bench.command("C1", LiftAction::OpenDoor, "F1");
    command.lift = fixture::lift("L9");
    bench.send(command);
    assert_eq!(bench.look(), ["tell C1 Refused { reason: UnknownTarget }"]);
}

#[test]
fn the_state_is_told_once_a_period() {
    let mut bench = Bench::ready();
    bench.states.clear();
    let (due, _) = bench.gateway.poll_timeout().expect("a deadline");
    assert_eq!(due.0, LIFT_POLL_PERIOD.0);
    for ms in (LIFT_POLL_PERIOD.0..=1000).step_by(50) {
        bench.ms = ms;
        bench.gateway.handle_timeout(at(ms));
        bench.collect();
    }
    let messages: Vec<u64> = bench.states.iter().map(|it| it.message).collect();
    assert_eq!(messages, [2, 3, 4, 5, 6]);
    let ages: Vec<u64> = bench.states.iter().map(|it| it.lifts[0].age_ms.0).collect();
    assert_eq!(ages, [200, 400, 600, 800, 1000]);
}
