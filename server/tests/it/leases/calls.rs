//! What every lease store promises of call records (A9).

use kernel::ids::{CommandId, FloorId};
use kernel::lease::{Call, CallAnswer, CallOutcome, CallRequest, SettledCall};
use kernel::lift::LiftAction;

use super::*;

/// No call becomes unknown by itself, and no record ends, while a machine stands still for some seconds.
fn long() -> Timing {
    let long = Millis::seconds(300);
    Timing { outcome: long, record: long, ..calm() }
}

fn brief_record() -> Timing {
    Timing { record: Millis(200), ..long() }
}

fn brief_outcome() -> Timing {
    Timing { outcome: Millis(0), ..long() }
}

fn brief_life() -> Timing {
    Timing { ttl: Millis(500), ..long() }
}

contract! {
    a_duplicate_joins_what_is_pending: super::long();
    a_duplicate_is_told_what_became_of_the_call: super::long();
    a_later_call_voids_the_record_of_the_one_before: super::long();
    a_record_ends_some_time_after_its_acknowledgement: super::brief_record();
    a_call_without_an_outcome_is_unknown_and_has_no_end: super::brief_outcome();
    the_record_of_a_dead_holder_outlives_its_lease: super::brief_life();
    who_does_not_hold_the_lift_makes_no_call: super::long();
    a_store_that_forgot_has_no_records: super::long();
}

const GO: (LiftAction, &str) = (LiftAction::GoTo, "F2");
const OPEN: (LiftAction, &str) = (LiftAction::OpenDoor, "F2");

fn command(name: &str) -> CommandId {
    CommandId::try_new(name).unwrap()
}

fn request(lease: &HeldLease, name: &str, (action, floor): (LiftAction, &str), accepted: u16) -> CallRequest {
    let call = Call { floor: FloorId::try_new(floor).unwrap(), action };
    let (nonce, token) = (lease.nonce(), lease.token());
    CallRequest { lift: lease.lift().clone(), nonce, token, call, command: command(name), accepted }
}

fn joined_by(answer: &Result<CallAnswer, LeaseRefusal>) -> Option<&str> {
    if let Ok(CallAnswer::Joined { by, .. }) = answer { Some(by.as_str()) } else { None }
}

impl Bench {
    /// Makes a call that wants the lift at F2, on a read by which the PLC had taken 7.
    async fn call(&self, who: &str, lease: &HeldLease, name: &str) -> Result<CallAnswer, LeaseRefusal> {
        self.call_for(who, lease, name, GO, 7).await
    }

    async fn call_for(
        &self,
        who: &str,
        lease: &HeldLease,
        name: &str,
        what: (LiftAction, &str),
        accepted: u16,
    ) -> Result<CallAnswer, LeaseRefusal> {
        self.store.open_call(&node(who), &request(lease, name, what, accepted)).await
    }

    async fn settle(&self, name: &str, outcome: CallOutcome) {
        self.store.settle_call(&self.lift, &SettledCall { command: command(name), outcome }).await.unwrap();
    }

    /// A makes a call and gives the lift back to B, with or without a word on what became of the call.
    async fn handed_over(&self, outcome: Option<CallOutcome>) -> HeldLease {
        let first = self.acquire("A", 1).await.unwrap();
        assert_eq!(self.call("A", &first, "C1").await, Ok(CallAnswer::Opened));
        let settled = outcome.map(|outcome| SettledCall { command: command("C1"), outcome });
        let (nonce, token) = (first.nonce(), first.token());
        self.store.release(&self.lift, &node("A"), nonce, token, settled.as_ref()).await.unwrap();
        self.acquire("B", 1).await.unwrap()
    }

    /// The keys of call records on Redis with the milliseconds that each has left, -1 without an end; in one process
    /// there is nothing to see.
    async fn keys(&self) -> Option<Vec<(String, i64)>> {
        if self.masters.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for key in self.found(&format!("agv:lift:order:{{{}}}*", self.lift)).await {
            let left = self.command(&["PTTL", &key]).await;
            found.push((key, redis::from_redis_value(left).unwrap()));
        }
        Some(found)
    }
}

async fn a_duplicate_joins_what_is_pending(bench: &Bench) {
    let next = bench.handed_over(None).await;
    let answer = bench.call("B", &next, "C2").await;
    assert_eq!(joined_by(&answer), Some("C1"), "{answer:?}");
    assert_eq!(
        bench.call("B", &next, "C1").await,
        Ok(CallAnswer::Opened),
        "a lost answer is asked for again"
    );
    if let Some(keys) = bench.keys().await {
        let last = format!("agv:lift:order:{{{}}}", bench.lift);
        assert_eq!(keys, [(last.clone(), -1), (format!("{last}:F2:goTo"), -1)]);
    }
}

async fn a_duplicate_is_told_what_became_of_the_call(bench: &Bench) {
    let by = command("C1");
    let acknowledged = CallAnswer::Acknowledged { by: by.clone() };
    // Told with the release; told later by whoever heard; and the answer.
    let rows = [
        (Some(CallOutcome::Acknowledged), None, acknowledged.clone()),
        (Some(CallOutcome::NotRun), None, CallAnswer::Opened),
        (Some(CallOutcome::Unknown), None, CallAnswer::Unknown { by: by.clone() }),
        (None, Some(CallOutcome::Acknowledged), acknowledged.clone()),
        (None, Some(CallOutcome::NotRun), CallAnswer::Opened),
        (Some(CallOutcome::Unknown), Some(CallOutcome::Acknowledged), acknowledged.clone()),
        (Some(CallOutcome::Unknown), Some(CallOutcome::NotRun), CallAnswer::Opened),
        (Some(CallOutcome::Acknowledged), Some(CallOutcome::Unknown), acknowledged),
    ];
    for (with_release, later, expected) in rows {
        bench.empty().await;
        let next = bench.handed_over(with_release).await;
        bench.settle("C9", CallOutcome::NotRun).await;
        if let Some(outcome) = later {
            bench.settle("C1", outcome).await;
        }
        let answer = bench.call("B", &next, "C2").await;
        assert_eq!(answer, Ok(expected), "{with_release:?} {later:?}");
    }
}

async fn a_later_call_voids_the_record_of_the_one_before(bench: &Bench) {
    for outcome in [None, Some(CallOutcome::Unknown), Some(CallOutcome::Acknowledged)] {
        for (what, accepted) in [(OPEN, 7), ((LiftAction::GoTo, "F3"), 7), (GO, 8)] {
            bench.empty().await;
            let next = bench.handed_over(outcome).await;
            let later = bench.call_for("B", &next, "C2", what, accepted).await;
            assert_eq!(later, Ok(CallAnswer::Opened), "{outcome:?} {what:?} {accepted}");
            bench.settle("C1", CallOutcome::NotRun).await;
            let answer = bench.call_for("B", &next, "C3", what, accepted).await;
            assert_eq!(joined_by(&answer), Some("C2"), "what is void is not settled: {answer:?}");
            let again = bench.call_for("B", &next, "C4", GO, 9).await;
            assert_eq!(again, Ok(CallAnswer::Opened), "{outcome:?} {what:?} {accepted}");
            assert!(bench.keys().await.is_none_or(|it| it.len() == 2), "one record for a lift");
        }
    }
    // Another epoch: the gateway arbitrated between.
    bench.empty().await;
    let next = bench.handed_over(None).await;
    bench.release("B", &next).await.unwrap();
    let other =
        ask(&bench.store, LeaseRequest { epoch: EPOCH + 2, ..bench.request("B", 2, 0) }).await.unwrap();
    assert_eq!(bench.call("B", &other, "C2").await, Ok(CallAnswer::Opened));
}

async fn a_record_ends_some_time_after_its_acknowledgement(bench: &Bench) {
    let next = bench.handed_over(Some(CallOutcome::Acknowledged)).await;
    if let Some(keys) = bench.keys().await {
        assert!(keys.iter().all(|(_, left)| *left != -1), "{keys:?}");
    }
    let ended = async {
        while bench.call("B", &next, "C2").await != Ok(CallAnswer::Opened) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(BOUND, ended).await.expect("the record ends");
    let answer = bench.call("B", &next, "C3").await;
    assert_eq!(joined_by(&answer), Some("C2"), "the new one has no end: {answer:?}");
    assert!(bench.keys().await.is_none_or(|it| it.iter().all(|(_, left)| *left == -1)));
}

async fn a_call_without_an_outcome_is_unknown_and_has_no_end(bench: &Bench) {
    let next = bench.handed_over(None).await;
    let unknown = Ok(CallAnswer::Unknown { by: command("C1") });
    assert_eq!(bench.call("B", &next, "C2").await, unknown);
    assert!(bench.keys().await.is_none_or(|it| it.iter().all(|(_, left)| *left == -1)));
    bench.settle("C1", CallOutcome::NotRun).await;
    assert_eq!(bench.keys().await.unwrap_or_default(), []);
}

async fn the_record_of_a_dead_holder_outlives_its_lease(bench: &Bench) {
    let dead = bench.acquire("A", 1).await.unwrap();
    assert_eq!(bench.call("A", &dead, "C1").await, Ok(CallAnswer::Opened));
    let next = bench.acquire_calm("B", 1).await.unwrap();
    let call = request(&next, "C2", GO, 7);
    let answer = bench.calm.open_call(&node("B"), &call).await.unwrap();
    let of_the_dead = match answer {
        CallAnswer::Joined { by, .. } | CallAnswer::Unknown { by } => by,
        other @ (CallAnswer::Opened | CallAnswer::Acknowledged { .. }) => panic!("{other:?}"),
    };
    assert_eq!(of_the_dead, command("C1"));
}

async fn who_does_not_hold_the_lift_makes_no_call(bench: &Bench) {
    let lease = bench.acquire("A", 5).await.unwrap();
    let call = request(&lease, "C1", GO, 7);
    let token = lease.token();
    let forged = FencingToken { serial: token.serial + 1, ..token };
    let elsewhere = FencingToken { epoch: token.epoch + 1, ..token };
    for (who, nonce, token) in [("B", 5, token), ("A", 6, token), ("A", 5, forged), ("A", 5, elsewhere)] {
        let call = CallRequest { nonce: LeaseNonce(nonce), token, ..call.clone() };
        let answer = bench.store.open_call(&node(who), &call).await;
        assert_eq!(answer, Err(LeaseRefusal::Lost), "{who} {nonce} {token:?}");
    }
    bench.release("A", &lease).await.unwrap();
    assert_eq!(bench.call("A", &lease, "C1").await, Err(LeaseRefusal::Lost));
}

/// Then there is no record to go by, and whoever asks knows that.
#[tokio::test]
async fn a_store_that_is_away_keeps_no_record() {
    let mut bench = Bench::on_redis(long()).await;
    let lease = bench.acquire("A", 1).await.unwrap();
    bench.server.as_mut().unwrap().kill();
    assert_eq!(bench.call("A", &lease, "C1").await, Err(LeaseRefusal::StoreDown));
    let settled = SettledCall { command: command("C1"), outcome: CallOutcome::Acknowledged };
    assert_eq!(bench.store.settle_call(&bench.lift, &settled).await, Err(LeaseRefusal::StoreDown));
}

/// It saves no command then, and says nothing that is not so.
async fn a_store_that_forgot_has_no_records(bench: &Bench) {
    for outcome in [None, Some(CallOutcome::Unknown), Some(CallOutcome::Acknowledged)] {
        bench.empty().await;
        bench.handed_over(outcome).await;
        bench.empty().await;
        bench.settle("C1", CallOutcome::Acknowledged).await;
        let again = bench.acquire("B", 2).await.unwrap();
        assert_eq!(bench.call("B", &again, "C2").await, Ok(CallAnswer::Opened), "{outcome:?}");
        bench.release("B", &again).await.unwrap();
    }
}
