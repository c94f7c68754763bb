//! The same call twice: what a node sends, and what it leaves to the command that another one sent.

use super::house::House;
use super::*;
use crate::lease::LeaseRefusal;
use crate::lift::LiftAction;
use crate::timing::{CALL_RECORD_LIFE, LIFT_ACK_DEADLINE, LIFT_READ_AGE_MAX, PLC_SETTLE};
use crate::wire::gateway::GatewayRefusal;

/// Beyond this nobody waits for what is not known.
const FOUND_OUT: Millis = Millis(LIFT_READ_AGE_MAX.0 + PLC_SETTLE.0 + 1500);

impl House {
    /// Two nodes, the first of which has called the lift for a ride. The call does not show yet.
    pub(super) fn called(records: bool) -> (Self, LiftCommand) {
        let mut house = Self::ready(&["A", "B"], 1);
        house.records = records;
        house.ask(0, order("A1", "A2"), "key");
        while house.nodes[0].to_lift.is_empty() {
            house.run(Millis(100));
            if let Some(command) = house.nodes[0].sent.pop() {
                house.carry_out(&command);
            }
            assert!(house.ms < 60_000, "A never calls the lift: {:?}", house.nodes[0].leases);
        }
        let command = house.nodes[0].to_lift.remove(0);
        assert_eq!((command.action, command.floor.as_str()), (LiftAction::GoTo, "F1"));
        (house, command)
    }

    /// A stops, and B goes on with its task.
    fn hand_over(&mut self) {
        self.handle(0, Event::StopRequested);
        self.run(Millis(100));
        assert!(self.nodes[0].left, "A has left");
    }

    /// What B has sent to the lift since it was last looked at.
    fn sent_by_b(&mut self) -> Vec<String> {
        let sent = std::mem::take(&mut self.nodes[1].to_lift);
        sent.iter().map(|it| format!("{:?} {}", it.action, it.floor)).collect()
    }

    fn saved_by_b(&self) -> u64 {
        self.nodes[1].control.commands_saved(&fixture::lift("L1"))
    }

    /// The PLC has taken a call, and the car has come.
    fn car_comes(&mut self) {
        self.status = fixture::status("F1", DoorState::Closed);
        (self.status.accepted, self.status.completed) = (1, 1);
    }
}

#[test]
fn a_call_that_the_other_node_made_is_joined_and_not_sent() {
    // Without a record the same call is made again: that is the danger.
    for (records, expected) in [(true, vec![]), (false, vec!["GoTo F1"])] {
        let (mut house, _) = House::called(records);
        house.hand_over();
        house.run(Millis::seconds(2));
        assert_eq!(house.nodes[1].leases.first(), Some(&"ask"), "B wants the lift");
        assert_eq!(house.sent_by_b(), expected, "records {records}");
    }
}

#[test]
fn who_joined_a_call_goes_on_as_its_outcome_says() {
    let refused = Verdict::Refused { reason: GatewayRefusal::StaleRead };
    for (verdict, sent, saved) in
        [(Verdict::Accepted, "OpenDoor F1", 1), (refused, "GoTo F1", 0), (Verdict::Expired, "GoTo F1", 0)]
    {
        let (mut house, command) = House::called(true);
        house.hand_over();
        house.run(Millis::seconds(1));
        if verdict == Verdict::Accepted {
            house.car_comes();
        }
        house.lift_answers(&command, verdict.clone());
        house.run(Millis::seconds(2));
        assert_eq!((house.sent_by_b(), house.saved_by_b()), (vec![sent.to_owned()], saved), "{verdict:?}");
    }
}

/// Neither is told of as done or as failed before the lift shows it.
#[test]
fn who_joined_a_call_without_an_outcome_reads_what_became_of_it() {
    for (ran, sent, saved) in [(true, "OpenDoor F1", 1), (false, "GoTo F1", 0)] {
        let (mut house, _) = House::called(true);
        house.hand_over();
        house.run(LIFT_ACK_DEADLINE);
        assert_eq!(house.sent_by_b(), [""; 0], "ran {ran}");
        if ran {
            house.car_comes();
        }
        house.run(FOUND_OUT);
        assert_eq!((house.sent_by_b(), house.saved_by_b()), (vec![sent.to_owned()], saved), "ran {ran}");
    }
}

#[test]
fn what_nobody_knows_is_waited_for_and_not_for_good() {
    let (mut house, command) = House::called(true);
    house.lift_answers(&command, Verdict::Unknown);
    house.hand_over();
    house.run(LIFT_READ_AGE_MAX);
    assert_eq!(house.sent_by_b(), [""; 0]);
    assert!(house.nodes[1].control.is_verifying(&fixture::lift("L1")), "as if it had sent it itself");
    house.run(FOUND_OUT);
    assert_eq!(house.sent_by_b(), ["GoTo F1"]);
}

#[test]
fn an_acknowledged_call_is_not_made_again_for_five_seconds() {
    let (mut house, command) = House::called(true);
    house.lift_answers(&command, Verdict::Accepted);
    house.hand_over();
    house.run(Millis(CALL_RECORD_LIFE.0 - 1000));
    assert!(house.nodes[1].leases.len() > 2, "B asks, and asks again: {:?}", house.nodes[1].leases);
    assert_eq!((house.sent_by_b(), house.saved_by_b()), (vec![], 1));
    house.run(Millis::seconds(2));
    assert_eq!(house.sent_by_b(), ["GoTo F1"], "a lift that shows nothing of it is called again");
}

#[test]
fn an_acknowledged_call_of_which_the_lift_shows_that_it_was_undone_is_made_again() {
    let (mut house, command) = House::called(true);
    house.lift_answers(&command, Verdict::Accepted);
    (house.status.accepted, house.status.completed) = (1, 1);
    house.hand_over();
    house.run(Millis::seconds(2));
    assert_eq!((house.sent_by_b(), house.saved_by_b()), (vec!["GoTo F1".to_owned()], 0));
}

/// A bench whose decision waits for the record.
fn calling() -> Bench {
    let mut bench = super::voice::asking();
    bench.records = false;
    bench.grant();
    bench.run(Millis(400));
    assert_eq!((bench.opening.len(), bench.to_lift.len()), (1, 0));
    bench
}

#[test]
fn a_record_whose_answer_is_lost_leaves_the_call_unmade_and_it_is_decided_anew() {
    let mut bench = calling();
    bench.grants = true;
    bench.run(Millis::seconds(1));
    assert!(bench.to_lift.is_empty());
    assert_eq!(bench.leases[..2], ["ask", "release 1"]);
    bench.records = true;
    bench.opening.clear();
    assert!(bench.until(Millis::seconds(4), |it| !it.to_lift.is_empty()));
}

#[test]
fn a_store_that_keeps_no_record_leaves_it_to_the_read_and_the_fence() {
    for (refusal, sent, given_back) in [
        (LeaseRefusal::StoreDown, true, false),
        (LeaseRefusal::Unknown, true, false),
        (LeaseRefusal::Lost, false, false),
        (LeaseRefusal::HeldTooLong, false, true),
    ] {
        let mut bench = calling();
        let CallRequest { lift, command, .. } = bench.opening.pop_front().expect("a request");
        bench.handle(Event::CallAnswered { lift, command, answer: Err(refusal.clone()) });
        assert_eq!(bench.to_lift.len(), usize::from(sent), "{refusal:?}");
        assert_eq!(bench.leases.contains(&"release 1".to_owned()), given_back, "{refusal:?}");
    }
}

/// The read comes late, and the record later: an acknowledgement would come beyond the longest hold.
#[test]
fn a_record_that_comes_too_late_is_no_leave_to_send() {
    let mut bench = super::voice::asking();
    bench.records = false;
    bench.gateway_speaks = false;
    bench.grant();
    bench.run(Millis(2700));
    bench.gateway_speaks = true;
    bench.run(Millis(600));
    assert_eq!(bench.opening.len(), 1);
    bench.open();
    bench.pump();
    assert!(bench.to_lift.is_empty());
    assert_eq!(bench.leases[..2], ["ask", "release 1"]);
}

#[test]
fn a_record_that_was_asked_for_is_void_when_the_gateway_arbitrates() {
    let mut bench = calling();
    bench.arbitration = (Arbitration::Edge, 2);
    assert!(bench.until(Millis::seconds(2), |it| !it.to_lift.is_empty()));
    assert_eq!(bench.to_lift[0].authority, crate::wire::gateway::Authority::Edge { epoch: 2 });
    assert_eq!(bench.leases, ["ask", "release 1"]);
    bench.open();
    bench.pump();
    assert_eq!(bench.to_lift.len(), 1, "its answer is no leave to send");
}

/// Another voice's answer, or one to an earlier question.
#[test]
fn the_answer_for_another_command_changes_nothing() {
    let mut bench = calling();
    let lift = fixture::lift("L1");
    let answer = Ok(crate::lease::CallAnswer::Opened);
    bench.handle(Event::CallAnswered { lift, command: fixture::command_id("C-Z1.1"), answer });
    assert!(bench.to_lift.is_empty());
    bench.open();
    bench.pump();
    assert_eq!(bench.to_lift.len(), 1);
}

/// Between the decision and the answer of the store its ground may have gone.
#[test]
fn what_is_not_wanted_any_more_is_not_sent_when_its_record_opens() {
    type Row = (&'static str, fn(&mut Bench), usize);
    let rows: [Row; 3] = [
        ("all stands", |_| (), 1),
        ("the node leaves", |it| it.handle(Event::StopRequested), 0),
        (
            "people are served",
            |it| {
                it.status.mode = crate::lift::LiftMode::Human;
                it.tell_state();
            },
            0,
        ),
    ];
    for (what, change, sent) in rows {
        let mut bench = calling();
        change(&mut bench);
        let request = bench.opening.pop_front().expect("a record is asked for");
        let (lift, command) = (request.lift, request.command);
        bench.handle(Event::CallAnswered { lift, command, answer: Ok(crate::lease::CallAnswer::Opened) });
        assert_eq!(bench.to_lift.len(), sent, "{what}");
    }
}
