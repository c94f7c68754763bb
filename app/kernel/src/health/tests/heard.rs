//! What is one node's own.

use super::*;
use crate::lease::{FencingToken, HeldLease, LeaseNonce, LeaseRefusal};
use crate::lift::{DoorState, Motion};
use crate::wire::gateway::{
    Connection, GatewayRefusal, GatewayStatus, LiftCommand, LiftReading, Outcome, ReadRef, Verdict,
};

/// What the node wants done, or what happens to it.
enum Step {
    See(Box<Effect>),
    Hear(Event),
}
use Step::{Hear, See};

fn ask(nonce: u64) -> Step {
    let (lift, nonce) = (fixture::lift("L1"), LeaseNonce(nonce));
    let (life, priority) = (crate::lease::StoreLife::default(), crate::lease::LeasePriority::default());
    See(Box::new(Effect::AcquireLease { lift, nonce, epoch: 1, floor: 0, life, priority }))
}

fn grant(nonce: u64) -> Step {
    let (nonce, token) = (LeaseNonce(nonce), FencingToken { epoch: 1, serial: 1 });
    let lease = HeldLease::granted(fixture::lift("L1"), nonce, token, at(0).mono);
    Hear(Event::LeaseGranted { nonce, lease })
}

fn refuse(nonce: u64, reason: LeaseRefusal) -> Step {
    Hear(Event::LeaseRefused { nonce: LeaseNonce(nonce), lift: fixture::lift("L1"), reason })
}

fn held_by_b() -> LeaseRefusal {
    LeaseRefusal::Held { holder: fixture::node("B"), position: 1 }
}

fn command(id: &str, holder: &str, action: LiftAction) -> LiftCommand {
    let (seen, read) = (fixture::status("F1", DoorState::Closed), ReadRef { boot: 1, tick: 1 });
    LiftCommand { holder: fixture::node(holder), ..fixture::lift_command(id, action, "F1", &seen, read) }
}

fn send(id: &str, action: LiftAction) -> Step {
    See(Box::new(Effect::SendLift { gateway: fixture::gateway("G1"), command: command(id, "A", action) }))
}

fn overhear(id: &str, holder: &str, action: LiftAction) -> Step {
    Hear(Event::Overheard(Box::new(command(id, holder, action))))
}

fn told(id: &str, verdict: Verdict) -> Step {
    Hear(Event::Outcome(Outcome {
        gateway: fixture::gateway("G1"),
        boot: 1,
        command: fixture::command_id(id),
        lift: Some(fixture::lift("L1")),
        number: None,
        verdict,
    }))
}

fn refused(reason: GatewayRefusal) -> Verdict {
    Verdict::Refused { reason }
}

fn beat() -> Step {
    Hear(Event::StoreProbed { reached: true })
}

fn read(motion: Motion, connection: Connection, age_ms: u64) -> Step {
    let reading = LiftReading {
        lift: fixture::lift("L1"),
        read: ReadRef { boot: 1, tick: 1 },
        status: Some(crate::lift::LiftStatus { motion, ..fixture::status("F1", DoorState::Closed) }),
        age_ms: Millis(age_ms),
        connection,
        arbitration: Arbitration::Lease,
        epoch: 1,
        token: FencingToken::default(),
        verifying: None,
        settling: None,
        connections_lost: 0,
        foreign: None,
    };
    let gateway = fixture::gateway("G1");
    let lifts = vec![reading];
    Hear(Event::GatewayStatus(GatewayStatus { gateway, boot: 1, message: 1, messages_rejected: 0, lifts }))
}

type Row = (&'static str, Vec<(u64, Step)>, fn(&HeardHealth) -> Vec<u64>, &'static [u64]);

fn check(rows: Vec<Row>) {
    for (name, story, show, expected) in rows {
        let mut health = health();
        health.take(&entry(0, edge(Arbitration::Lease)));
        for (ms, step) in story {
            match step {
                See(effect) => health.see(&effect, at(ms)),
                Hear(event) => health.hear(&event, at(ms)),
            }
        }
        let heard = total(&health, HOUR).heard;
        assert_eq!(show(&heard), expected, "{name}");
        health.hear(&Event::StopRequested, at(HOUR));
        assert_eq!(shifts_of(&health, HOUR, |it| it.heard.clone()), [Some(heard)], "{name}, in the shift");
    }
}

#[test]
fn each_figure_of_leases_counts_what_it_says() {
    fn leases(it: &HeardHealth) -> Vec<u64> {
        let it = &it.leases;
        vec![it.asked, it.granted, it.refused_held, it.refused_store_down, it.refused_otherwise]
    }
    fn wait(it: &HeardHealth) -> Vec<u64> {
        vec![it.leases.wait.count, it.leases.wait.sum_ms.0, it.leases.wait.max_ms.0]
    }
    check(vec![
        ("granted", vec![(0, ask(1)), (7, grant(1))], leases, &[1, 1, 0, 0, 0]),
        ("the wait", vec![(0, ask(1)), (7, grant(1)), (100, ask(2)), (103, grant(2))], wait, &[2, 10, 7]),
        ("held by another", vec![(0, ask(1)), (2000, refuse(1, held_by_b()))], leases, &[1, 0, 1, 0, 0]),
        (
            "the store is down",
            vec![(0, ask(1)), (600, refuse(1, LeaseRefusal::StoreDown))],
            leases,
            &[1, 0, 0, 1, 0],
        ),
        ("lost", vec![(0, ask(1)), (600, refuse(1, LeaseRefusal::Lost))], leases, &[1, 0, 0, 0, 1]),
        (
            "a refusal has no wait",
            vec![(0, ask(1)), (2000, refuse(1, held_by_b())), (2500, ask(2)), (2501, grant(2))],
            wait,
            &[1, 1, 1],
        ),
        (
            "an answer that was lost is waited for on",
            vec![(0, ask(1)), (500, refuse(1, LeaseRefusal::Unknown)), (500, ask(1)), (900, grant(1))],
            wait,
            &[1, 900, 900],
        ),
        ("and asked for once", vec![(0, ask(1)), (500, ask(1)), (900, grant(1))], leases, &[1, 1, 0, 0, 0]),
        (
            "an answer to what was given up counts nothing",
            vec![(0, ask(1)), (500, ask(2)), (600, grant(1)), (700, refuse(1, held_by_b()))],
            leases,
            &[2, 0, 0, 0, 0],
        ),
    ]);
}

#[test]
fn each_figure_of_commands_counts_what_it_says() {
    use LiftAction::OpenDoor;
    use Verdict::{Accepted, Expired, NotSent, Ran, Unknown};
    /// Sent, acknowledged, refused, fenced, unwritten, unknown.
    fn commands(it: &HeardHealth) -> Vec<u64> {
        let it = &it.commands;
        vec![it.sent, it.acknowledged, it.refused, it.fenced, it.unwritten, it.unknown]
    }
    let sent = |verdicts: Vec<(u64, Verdict)>| {
        let told = verdicts.into_iter().map(|(ms, verdict)| (ms, told("C-1", verdict)));
        std::iter::once((0, send("C-1", OpenDoor))).chain(told).collect::<Vec<_>>()
    };
    let stale = || refused(GatewayRefusal::StaleToken);
    check(vec![
        ("sent", sent(vec![]), commands, &[1, 0, 0, 0, 0, 0]),
        ("accepted", sent(vec![(9, Accepted)]), commands, &[1, 1, 0, 0, 0, 0]),
        ("told twice", sent(vec![(9, Accepted), (10, Accepted)]), commands, &[1, 1, 0, 0, 0, 0]),
        ("refused", sent(vec![(9, refused(GatewayRefusal::NotNow))]), commands, &[1, 0, 1, 0, 0, 0]),
        ("stopped by a fence", sent(vec![(9, stale())]), commands, &[1, 0, 1, 1, 0, 0]),
        ("expired", sent(vec![(9, Expired)]), commands, &[1, 0, 0, 0, 1, 0]),
        ("unknown", sent(vec![(9, Unknown)]), commands, &[1, 0, 0, 0, 0, 1]),
        ("unknown, then ran", sent(vec![(9, Unknown), (99, Ran)]), commands, &[1, 1, 0, 0, 0, 1]),
        ("unknown, then never sent", sent(vec![(9, Unknown), (99, NotSent)]), commands, &[1, 0, 0, 0, 1, 1]),
        (
            "no outcome in time",
            vec![(0, send("C-1", OpenDoor)), (2999, beat()), (3000, beat()), (3001, beat())],
            commands,
            &[1, 0, 0, 0, 0, 1],
        ),
        (
            "in time",
            vec![(0, send("C-1", OpenDoor)), (2999, beat()), (2999, told("C-1", Accepted)), (3001, beat())],
            commands,
            &[1, 1, 0, 0, 0, 0],
        ),
        (
            "overtaken by the next one",
            vec![(0, send("C-1", OpenDoor)), (50, send("C-2", OpenDoor)), (60, told("C-1", Accepted))],
            commands,
            &[2, 0, 0, 0, 0, 1],
        ),
        (
            "another node's",
            vec![(0, overhear("C-1", "B", OpenDoor)), (9, told("C-1", Accepted))],
            commands,
            &[0; 6],
        ),
    ]);
}

#[test]
fn each_fence_counts_as_one() {
    use GatewayRefusal::{CarOccupied, QueueFull, StaleClaim, StaleRead, StaleSession, WrongArbitration};
    let rows = [
        (StaleSession, 1),
        (StaleClaim, 1),
        (WrongArbitration, 1),
        (CarOccupied, 1),
        (StaleRead, 0),
        (QueueFull, 0),
    ];
    for (reason, expected) in rows {
        let mut health = health();
        for step in [send("C-1", LiftAction::OpenDoor), told("C-1", refused(reason.clone()))] {
            match step {
                See(effect) => health.see(&effect, at(0)),
                Hear(event) => health.hear(&event, at(1)),
            }
        }
        assert_eq!(total(&health, HOUR).heard.commands.fenced, expected, "{reason:?}");
    }
}

#[test]
fn commands_of_two_nodes_conflict_within_a_scan() {
    use LiftAction::{CloseDoor, OpenDoor};
    use Verdict::{Accepted, Ran};
    /// Sent, reached.
    fn conflicts(it: &HeardHealth) -> Vec<u64> {
        vec![it.conflicts.sent, it.conflicts.reached]
    }
    let pair = |ms, holder, action| vec![(0, send("C-1", OpenDoor)), (ms, overhear("C-2", holder, action))];
    let then = |mut story: Vec<(u64, Step)>, verdicts: [(&str, Verdict); 2]| {
        story.extend(verdicts.map(|(id, verdict)| (400, told(id, verdict))));
        story
    };
    let stale = refused(GatewayRefusal::StaleToken);
    check(vec![
        ("within a scan", pair(300, "B", CloseDoor), conflicts, &[1, 0]),
        ("later", pair(301, "B", CloseDoor), conflicts, &[0, 0]),
        ("of the same wish", pair(7, "B", OpenDoor), conflicts, &[0, 0]),
        ("its own, heard on the road", pair(7, "A", CloseDoor), conflicts, &[0, 0]),
        (
            "both reach the PLC",
            then(pair(7, "B", CloseDoor), [("C-1", Accepted), ("C-2", Ran)]),
            conflicts,
            &[1, 1],
        ),
        (
            "one is refused",
            then(pair(7, "B", CloseDoor), [("C-1", Accepted), ("C-2", stale)]),
            conflicts,
            &[1, 0],
        ),
        (
            "told twice",
            then(pair(7, "B", CloseDoor), [("C-2", Accepted), ("C-2", Accepted)]),
            conflicts,
            &[1, 0],
        ),
        (
            "heard twice",
            vec![
                (0, send("C-1", OpenDoor)),
                (7, overhear("C-2", "B", CloseDoor)),
                (9, overhear("C-2", "B", CloseDoor)),
            ],
            conflicts,
            &[1, 0],
        ),
        (
            "two others, neither of them this node",
            vec![(0, overhear("C-1", "B", OpenDoor)), (7, overhear("C-2", "C", CloseDoor))],
            conflicts,
            &[1, 0],
        ),
    ]);
}

#[test]
fn commands_that_are_remembered_are_bounded() {
    let mut health = health();
    for n in 0..100 {
        let event = Event::Overheard(Box::new(command(&format!("C-{n}"), "B", LiftAction::OpenDoor)));
        health.hear(&event, at(n));
    }
    assert_eq!(health.lifts[&fixture::lift("L1")].ear.said_count(), 32);
}

#[test]
fn travel_is_timed_between_reads() {
    use Motion::{Down, Still, Up};
    /// Moving, watched.
    fn times(it: &HeardHealth) -> Vec<u64> {
        vec![it.moving_ms.0, it.watched_ms.0]
    }
    let up = Connection::Up;
    let rows: Vec<Row> = vec![
        ("one read", vec![(0, read(Up, up, 0))], times, &[0, 0]),
        (
            "up, down, still",
            vec![
                (0, read(Up, up, 0)),
                (200, read(Down, up, 0)),
                (400, read(Still, up, 0)),
                (600, read(Still, up, 0)),
            ],
            times,
            &[400, 600],
        ),
        ("out of sight", vec![(0, read(Up, up, 0)), (2501, read(Up, up, 0))], times, &[0, 0]),
        ("too old", vec![(0, read(Up, up, 0)), (200, read(Up, up, 2501))], times, &[0, 0]),
        (
            "out of reach",
            vec![(0, read(Up, up, 0)), (200, read(Up, Connection::Down, 0)), (400, read(Up, up, 0))],
            times,
            &[0, 0],
        ),
    ];
    check(rows);
}

#[test]
fn a_node_counts_from_its_start_on() {
    let mut health = health();
    health.take(&entry(0, edge(Arbitration::Lease)));
    health.hear(&Event::StopRequested, at(9 * HOUR));
    let since = shifts_of(&health, 17 * HOUR, |it| (it.heard_since, it.heard.is_some()));
    let expected = [(Some(at(16 * HOUR).wall), true), (Some(at(9 * HOUR).wall), true), (None, false)];
    assert_eq!(since, expected);
}

/// The machine tells a total; each shift has its part.
#[test]
fn what_was_not_sent_is_counted_once() {
    let mut health = health();
    for (ms, total) in [(0, 0), (1000, 2), (2000, 2), (3000, 3)] {
        health.saved(&fixture::lift("L1"), total, at(ms));
    }
    assert_eq!(total(&health, HOUR).heard.commands.saved, 3);
}

#[test]
fn a_lost_lease_is_counted_once() {
    let mut health = health();
    let lost = [(0, 0), (1000, 1), (2000, 1), (3000, 3)]
        .map(|(ms, total)| health.lost(&fixture::lift("L1"), total, at(ms)));
    assert_eq!((lost, total(&health, HOUR).heard.leases.lost), ([0, 1, 0, 2], 3));
}
