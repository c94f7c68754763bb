//! A lease that is held: how it is renewed, and what its loss does to the work under it.

use super::voice::asking;
use super::*;
use crate::safeguard::{Safeguard, Safeguards};
use crate::timing::{LEASE_RENEWAL, LEASE_RENEWAL_RETRY, LIFT_ACK_DEADLINE};
use crate::wire::view::LiftWait;

/// How far the work under a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A read is awaited.
    Deciding,
    /// The call record is awaited.
    Calling,
    /// The outcome is awaited.
    Sent,
}

impl Bench {
    /// The store grants the lift for so long as is left of a grant that it tells again.
    fn grant_for(&mut self, left: Millis) {
        let (nonce, asked_at) = self.asked.pop_front().expect("a request");
        let token = FencingToken { epoch: 1, serial: 1 };
        let lease = HeldLease::granted_for(fixture::lift("L1"), nonce, token, asked_at, left);
        self.handle(Event::LeaseGranted { nonce, lease });
    }

    /// The store lets the lease live on that it was asked for first, or does not.
    fn renew(&mut self, answer: Result<(), LeaseRefusal>) {
        let (lease, asked_at) = self.renewing.pop_front().expect("a renewal");
        let (lift, nonce) = (lease.lift().clone(), lease.nonce());
        self.handle(match answer {
            Ok(()) => Event::LeaseRenewed(HeldLease::granted(lift, nonce, lease.token(), asked_at)),
            Err(reason) => Event::RenewalRefused { lift, nonce, reason },
        });
    }

    fn lost(&self) -> u64 {
        self.control.leases_lost(&fixture::lift("L1"))
    }
}

/// A renewal is on its way, with the work under the lease at that stage.
fn renewing_at(stage: Stage) -> Bench {
    let mut bench = asking();
    bench.records = stage == Stage::Sent;
    bench.gateway_speaks = stage != Stage::Deciding;
    bench.grant_for(Millis::seconds(20));
    bench.run(Millis(400));
    let far = (bench.opening.len(), bench.to_lift.len());
    assert_eq!(far, (usize::from(stage == Stage::Calling), usize::from(stage == Stage::Sent)));
    bench
}

/// The read comes so late that the outcome is due more than five seconds after the grant.
fn sent_late() -> (Bench, LiftCommand, Mono) {
    let mut bench = asking();
    let asked_at = bench.asked[0].1;
    bench.gateway_speaks = false;
    bench.grant();
    bench.run(Millis(2600));
    bench.gateway_speaks = true;
    assert!(bench.until(Millis(400), |it| !it.to_lift.is_empty()));
    let command = bench.to_lift.pop_front().expect("a command");
    assert!(bench.until(Millis::seconds(3), |it| !it.renewing.is_empty()));
    (bench, command, asked_at)
}

#[test]
fn a_lease_is_renewed_five_seconds_after_it_was_asked_for() {
    let (mut bench, _, asked_at) = sent_late();
    assert!(bench.renewing[0].1.since(asked_at + LEASE_RENEWAL) < Millis(100), "{:?}", bench.renewing);
    let before = bench.view().lease.clone().expect("a lease");
    bench.renew(Ok(()));
    let lease = bench.view().lease.clone().expect("a lease");
    assert_eq!((before.renewed_at, lease.renewed_at), (None, Some(at(bench.ms).wall)));
    assert!(lease.ends_at > before.ends_at && (lease.token, lease.since) == (before.token, before.since));
    bench.run(LEASE_RENEWAL_RETRY);
    assert!(bench.renewing.is_empty(), "not before five seconds more");
}

#[test]
fn a_grant_that_has_little_left_is_renewed_at_once() {
    for (left, at_once) in [(24_000, true), (30_000, false)] {
        let mut bench = asking();
        bench.grant_for(Millis(left));
        assert_eq!(!bench.renewing.is_empty(), at_once, "{left} ms");
    }
}

#[test]
fn a_renewal_that_finds_no_store_is_tried_again_until_the_lease_ends() {
    for reason in [LeaseRefusal::StoreDown, LeaseRefusal::Unknown, LeaseRefusal::NotReplicated] {
        let mut bench = asking();
        bench.gateway_speaks = false;
        bench.grant_for(Millis(2000));
        for nth in 1..=3 {
            assert_eq!(bench.lost(), 0, "{reason:?}, {nth}");
            bench.renew(Err(reason.clone()));
            bench.run(LEASE_RENEWAL_RETRY);
        }
        bench.run(Millis(300));
        assert_eq!((bench.lost(), bench.leases.len()), (1, 1), "{reason:?}: over, and not given back");
    }
}

/// The store says so: it had ended or was broken, and may be another's; or it is held for too long, and given back.
#[test]
fn what_was_not_sent_under_a_lost_lease_is_never_sent() {
    for (reason, given_back) in [(LeaseRefusal::Lost, false), (LeaseRefusal::HeldTooLong, true)] {
        for stage in [Stage::Deciding, Stage::Calling] {
            let mut bench = renewing_at(stage);
            bench.renew(Err(reason.clone()));
            assert_eq!(bench.leases.contains(&"release 1".to_owned()), given_back, "{reason:?} {stage:?}");
            let session = bench.view().session.clone().expect("a ride");
            assert_eq!(session.waits, LiftWait::LeaseLost { command: None }, "{reason:?} {stage:?}");
            bench.gateway_speaks = true;
            bench.open();
            bench.tell_state();
            bench.run(Millis(400));
            assert!(bench.to_lift.is_empty(), "{reason:?} {stage:?}");
            assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()), "it is asked for again");
            assert_eq!(bench.lost(), 1, "{reason:?} {stage:?}");
        }
    }
}

#[test]
fn what_was_sent_under_a_lost_lease_is_awaited_without_it() {
    for (reason, leases) in
        [(LeaseRefusal::Lost, vec!["ask"]), (LeaseRefusal::HeldTooLong, vec!["ask", "release 1"])]
    {
        for verdict in [Some(Verdict::Accepted), None] {
            let mut bench = renewing_at(Stage::Sent);
            let command = bench.to_lift.pop_front().expect("a command");
            bench.renew(Err(reason.clone()));
            let (view, id) = (bench.view().clone(), command.id.clone());
            let waits = view.session.expect("a ride").waits;
            assert_eq!((view.lease, waits), (None, LiftWait::LeaseLost { command: Some(id) }));
            match verdict.clone() {
                Some(verdict) => bench.lift_answers(&command, verdict),
                None => bench.run(LIFT_ACK_DEADLINE),
            }
            let told = bench.view().commands.iter().find(|it| it.id == command.id).expect("it is shown");
            assert_eq!(told.verdict, Some(verdict.unwrap_or(Verdict::Unknown)), "{reason:?}");
            assert_eq!(
                (bench.leases.clone(), bench.lost()),
                (leases.iter().map(ToString::to_string).collect(), 1)
            );
        }
    }
}

/// A node that slept finds out by its own clock: the store need not say so, and what is another's is left alone.
#[test]
fn a_lease_that_was_outslept_is_lost() {
    let (mut bench, command) = {
        let mut bench = renewing_at(Stage::Sent);
        let command = bench.to_lift.pop_front().expect("a command");
        (bench, command)
    };
    bench.ms += 31_000;
    bench.run(Millis(100));
    assert_eq!((bench.leases.clone(), bench.lost()), (vec!["ask".to_owned()], 1));
    let told = bench.view().commands.iter().find(|it| it.id == command.id).expect("it is shown");
    assert_eq!(told.verdict, Some(Verdict::Unknown));
}

/// It wakes with a lease that is due for renewal, and work that is over: that gives it back, and nothing follows.
#[test]
fn what_is_given_back_is_not_renewed_before() {
    let mut bench = asking();
    bench.grant();
    assert!(bench.until(Millis(400), |it| !it.to_lift.is_empty()));
    bench.ms += LEASE_RENEWAL.0 + 1000;
    bench.run(Millis(100));
    assert_eq!((bench.leases[..].last().map(String::as_str), bench.renewing.len()), (Some("release 1"), 0));
}

/// An answer to a renewal may come when the lease was given back.
#[test]
fn nothing_is_renewed_that_was_given_back() {
    for answer in [Ok(()), Err(LeaseRefusal::Lost), Err(LeaseRefusal::StoreDown)] {
        let (mut bench, command, _) = sent_late();
        bench.gateway_speaks = false;
        bench.lift_answers(&command, Verdict::Accepted);
        assert_eq!(bench.leases, ["ask", "release 1"]);
        bench.renew(answer.clone());
        bench.run(LEASE_RENEWAL.times(2));
        assert_eq!((bench.renewing.len(), bench.lost()), (0, 0), "{answer:?}");
        assert_eq!((bench.leases.len(), bench.view().lease.clone()), (2, None), "{answer:?}");
    }
}

/// The record comes when too little is left: the lease was alive when the command was decided on.
#[test]
fn the_life_of_the_lease_is_looked_at_last_before_the_send() {
    for (safeguards, sent) in [(Safeguards::ALL, 0), (Safeguards::all_but(Safeguard::LiveGrant), 1)] {
        let mut bench = asking();
        bench.control.safeguards = safeguards;
        bench.records = false;
        let granted = bench.ms;
        bench.asked[0].1 = Mono(granted);
        bench.grant_for(Millis(LIFT_ACK_DEADLINE.0 + 302 + 500));
        assert!(bench.until(Millis(500), |it| !it.opening.is_empty()), "decided in time");
        bench.run(Millis(granted + 600 - bench.ms));
        bench.open();
        bench.pump();
        assert_eq!(bench.to_lift.len(), sent);
    }
}

/// The store forgot, or fell back, and another node saw it first.
fn store_changed_elsewhere(bench: &mut Bench, life: &str) -> Vec<Entry> {
    let (lift, life) = (fixture::lift("L1"), StoreLife::try_new(life).expect("a name"));
    bench.store(vec![Record::LeaseStoreChanged { lift, life, generation: 1 }])
}

#[test]
fn a_lease_of_a_life_that_is_over_is_lost() {
    for stage in [Stage::Deciding, Stage::Calling, Stage::Sent] {
        let mut bench = renewing_at(stage);
        let entries = store_changed_elsewhere(&mut bench, "second");
        bench.handle(Event::Followed { entries });
        assert_eq!((bench.lost(), bench.view().lease.clone()), (1, None), "{stage:?}");
        let sent = bench.to_lift.len();
        bench.gateway_speaks = true;
        bench.open();
        bench.run(Millis(400));
        assert_eq!(bench.to_lift.len(), sent, "{stage:?}");
    }
}

#[test]
fn a_grant_by_a_life_that_is_over_is_given_back() {
    let mut bench = asking();
    let asked = bench.asked.front().cloned().expect("a request");
    let entries = store_changed_elsewhere(&mut bench, "second");
    bench.handle(Event::Followed { entries });
    bench.asked = [asked].into();
    bench.grant();
    bench.pump();
    assert_eq!(bench.leases.last().map(String::as_str), Some("release 1"));
    assert!(bench.to_lift.is_empty());
    assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
    assert_eq!(bench.asked_by.1, StoreLife::try_new("second").expect("a name"));
}

/// Two nodes are told of two lives at once: one proposal is stored, and the other node asks by that.
#[test]
fn of_two_lives_that_are_proposed_at_once_the_ledger_takes_one() {
    let mut bench = asking();
    let entries = store_changed_elsewhere(&mut bench, "third");
    let (nonce, _) = bench.asked.pop_front().expect("a request");
    let reason = LeaseRefusal::StoreChanged { life: StoreLife::try_new("second").expect("a name") };
    bench.handle(Event::LeaseRefused { nonce, lift: fixture::lift("L1"), reason });
    bench.pump();
    bench.handle(Event::Followed { entries });
    assert!(bench.until(Millis::seconds(2), |it| !it.asked.is_empty()));
    let stored = |it: &&Entry| matches!(it.record, Record::LeaseStoreChanged { .. });
    assert_eq!(bench.entries.iter().filter(stored).count(), 1);
    assert_eq!(bench.asked_by.1, StoreLife::try_new("third").expect("a name"));
}
