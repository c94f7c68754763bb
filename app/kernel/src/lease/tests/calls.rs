//! The rules of the call records, as scripts: when, what, and how it stands.

use super::*;
use crate::lease::{
    Call, CallAnswer, CallOutcome, CallRequest, CallTable, LeaseRefusal, LeaseTable, LeaseTiming, SettledCall,
};
use crate::lift::LiftAction;

/// At that millisecond a command is about to make a call (`?`), or it is acknowledged (`+`), came to nothing (`-`) or is
/// not known (`~`). The call: `go` or `open`, and the floor; then the serial and the number that the PLC had taken. And
/// the answer: `opened`, or how the same call stands and by which command.
type Step = (u64, &'static str, char, (&'static str, &'static str), (u32, u16), &'static str);

const GO: (&str, &str) = ("go", "F2");
const OPEN: (&str, &str) = ("open", "F2");

fn request(command: &str, (action, floor): (&str, &str), (epoch, accepted): (u32, u16)) -> CallRequest {
    let action = if action == "go" { LiftAction::GoTo } else { LiftAction::OpenDoor };
    CallRequest {
        lift: fixture::lift("L1"),
        nonce: LeaseNonce(1),
        token: FencingToken { epoch, serial: 1 },
        call: Call { floor: fixture::floor(floor), action },
        command: fixture::command_id(command),
        accepted,
    }
}

fn shown(answer: &CallAnswer) -> String {
    match answer {
        CallAnswer::Opened => "opened".to_owned(),
        CallAnswer::Joined { by, since } => format!("joined {by} {}", since.0),
        CallAnswer::Acknowledged { by } => format!("acknowledged {by}"),
        CallAnswer::Unknown { by } => format!("unknown {by}"),
    }
}

fn plays(steps: &[Step]) {
    let (mut table, timing) = (CallTable::default(), LeaseTiming::default());
    for step in steps {
        let &(now, command, what, call, which, expected) = step;
        let settled = |outcome| SettledCall { command: fixture::command_id(command), outcome };
        let mut settle = |outcome| {
            table.settle(&fixture::lift("L1"), &settled(outcome), &timing, Mono(now));
            String::new()
        };
        let answer = match what {
            '+' => settle(CallOutcome::Acknowledged),
            '-' => settle(CallOutcome::NotRun),
            '~' => settle(CallOutcome::Unknown),
            _ => shown(&table.open(&request(command, call, which), &timing, Mono(now))),
        };
        assert_eq!(answer, expected, "{step:?}");
    }
}

#[test]
fn a_duplicate_joins_the_pending_and_after_a_while_nobody_knows() {
    plays(&[
        (0, "C1", '?', GO, (1, 7), "opened"),
        (10, "C1", '?', GO, (1, 7), "opened"),
        (500, "C2", '?', GO, (1, 7), "joined C1 500"),
        (2999, "C2", '?', GO, (1, 7), "joined C1 2999"),
        (3000, "C2", '?', GO, (1, 7), "unknown C1"),
        (9_000_000, "C2", '?', GO, (1, 7), "unknown C1"),
    ]);
}

#[test]
fn a_record_says_what_became_of_its_call_and_nothing_else() {
    plays(&[
        (0, "C1", '?', GO, (1, 7), "opened"),
        (100, "C1", '~', GO, (1, 7), ""),
        (200, "C2", '?', GO, (1, 7), "unknown C1"),
        (300, "C9", '-', GO, (1, 7), ""),
        (300, "C9", '+', GO, (1, 7), ""),
        (400, "C2", '?', GO, (1, 7), "unknown C1"),
        // Whoever finds out says so.
        (500, "C1", '+', GO, (1, 7), ""),
        (600, "C2", '?', GO, (1, 7), "acknowledged C1"),
        // What is known does not become unknown, and is not known for longer by being said again.
        (700, "C1", '~', GO, (1, 7), ""),
        (800, "C1", '+', GO, (1, 7), ""),
        (5499, "C2", '?', GO, (1, 7), "acknowledged C1"),
        (5500, "C2", '?', GO, (1, 7), "opened"),
        (5600, "C2", '-', GO, (1, 7), ""),
        (5700, "C3", '?', GO, (1, 7), "opened"),
    ]);
}

#[test]
fn a_later_command_voids_whatever_stood_before() {
    let ends: [&[Step]; 3] = [&[], &[(1, "C1", '~', GO, (1, 7), "")], &[(1, "C1", '+', GO, (1, 7), "")]];
    let laters: [Step; 3] = [
        (2, "C2", '?', OPEN, (1, 7), "opened"),
        (2, "C2", '?', ("go", "F3"), (1, 7), "opened"),
        // As it was read, the PLC has taken something since: the call itself, or another.
        (2, "C2", '?', GO, (1, 8), "opened"),
    ];
    for end in ends {
        for later in laters {
            let first = (0, "C1", '?', GO, (1, 7), "opened");
            let again = (3, "C3", '?', GO, (1, 9), "opened");
            plays(&[&[first], end, &[later, again]].concat());
        }
    }
    // What the gateway admitted while it arbitrated by itself stands in no record.
    plays(&[(0, "C1", '?', GO, (1, 7), "opened"), (1, "C2", '?', GO, (3, 7), "opened")]);
}

#[test]
fn a_clock_that_is_set_back_keeps_no_record_for_longer_than_ever() {
    plays(&[
        (100_000, "C1", '?', GO, (1, 7), "opened"),
        (100_000, "C1", '+', GO, (1, 7), ""),
        (40_000, "C2", '?', GO, (1, 7), "acknowledged C1"),
        (45_000, "C2", '?', GO, (1, 7), "opened"),
    ]);
}

#[test]
fn a_record_is_of_one_lift() {
    let (mut table, timing) = (CallTable::default(), LeaseTiming::default());
    let first = request("C1", GO, (1, 7));
    let other = CallRequest { lift: fixture::lift("L2"), ..request("C2", GO, (1, 7)) };
    assert_eq!(table.open(&first, &timing, Mono(0)), CallAnswer::Opened);
    assert_eq!(table.open(&other, &timing, Mono(1)), CallAnswer::Opened);
    let third = request("C3", GO, (1, 7));
    assert_eq!(shown(&table.open(&third, &timing, Mono(2))), "joined C1 2");
}

#[test]
fn only_who_holds_the_lift_makes_calls_and_a_store_that_forgot_has_no_records() {
    let mut table = LeaseTable::new(LeaseTiming::default());
    let (lift, holder) = (fixture::lift("L1"), fixture::node("A"));
    let ask = |table: &mut LeaseTable, nonce| {
        let (lift, holder, nonce) = (lift.clone(), holder.clone(), LeaseNonce(nonce));
        table.ask(
            &crate::lease::LeaseRequest {
                lift,
                holder,
                nonce,
                epoch: 1,
                floor: 0,
                life: crate::lease::StoreLife::default(),
                priority: crate::lease::LeasePriority::default(),
            },
            true,
            Mono(0),
        )
    };
    ask(&mut table, 1);
    let call = request("C1", GO, (1, 7));
    let rows = [
        ("B", call.clone(), Err(LeaseRefusal::Lost)),
        ("A", CallRequest { nonce: LeaseNonce(2), ..call.clone() }, Err(LeaseRefusal::Lost)),
        (
            "A",
            CallRequest { token: FencingToken { epoch: 1, serial: 2 }, ..call.clone() },
            Err(LeaseRefusal::Lost),
        ),
        ("A", call.clone(), Ok(CallAnswer::Opened)),
    ];
    for (who, call, expected) in rows {
        assert_eq!(table.open_call(&fixture::node(who), &call, Mono(1)), expected, "{who} {call:?}");
    }
    table.forget(crate::lease::StoreLife::default());
    assert_eq!(table.open_call(&fixture::node("A"), &call, Mono(2)), Err(LeaseRefusal::Lost));
    ask(&mut table, 1);
    let second = request("C2", GO, (1, 7));
    assert_eq!(table.open_call(&fixture::node("A"), &second, Mono(3)), Ok(CallAnswer::Opened));
}
