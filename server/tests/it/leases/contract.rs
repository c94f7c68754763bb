//! What every lease store promises. Requests of one test leave in the order in which they stand there.

use kernel::lease::LeasePriority::{Aboard, Ahead, Landing, OpenDoor};
use kernel::time::{Mono, Now};

use super::*;

/// Who has to wait is refused soon.
fn short_wait() -> Timing {
    Timing { wait: Millis(300), ..calm() }
}

fn short_life() -> Timing {
    Timing { ttl: Millis(500), ..calm() }
}

fn short_hold() -> Timing {
    Timing { hold_max: Millis(300), ..calm() }
}

fn short_ticket() -> Timing {
    Timing { ticket: Millis(200), ..short_wait() }
}

/// A waiter that died is passed over after two polls.
fn polled() -> Timing {
    Timing { poll: Millis::seconds(5), claim: Millis(400), ..calm() }
}

/// As it ships, but that nobody is refused however slow the machine.
fn claimed() -> Timing {
    Timing { wait: Millis::seconds(60), hold_max: Millis::seconds(300), ..Timing::default() }
}

contract! {
    one_holds_and_the_other_is_told_who_and_its_place: super::short_wait();
    waiters_are_served_in_order_at_each_release: super::calm();
    the_higher_priority_is_served_first: super::calm();
    who_is_overtaken_comes_before_a_fresh_higher_one: super::calm();
    the_same_request_gets_the_same_grant: super::short_wait();
    nobody_frees_the_lease_of_another: super::short_wait();
    a_lease_ends_by_itself: super::short_life();
    a_renewed_lease_lives_on: super::short_wait();
    a_lease_is_not_renewed_beyond_the_longest_hold_and_then_broken: super::short_hold();
    a_dead_waiter_does_not_keep_the_lift: super::polled();
    a_dead_waiter_of_a_higher_priority_costs_600_ms: super::claimed();
    a_place_in_the_line_outlives_a_refusal: super::short_wait();
    a_ticket_that_ended_is_no_place: super::short_ticket();
    a_serial_is_above_the_floor_whatever_is_forgotten: super::calm();
    a_node_that_asks_anew_has_given_up_what_it_held: super::short_wait();
    a_full_line_takes_nobody_in: super::short_wait();
    a_grant_that_is_told_again_has_less_left: super::short_wait();
    a_store_that_forgot_grants_nothing_before_its_new_life_is_named: super::short_wait();
}

async fn one_holds_and_the_other_is_told_who_and_its_place(bench: &Bench) {
    let first = bench.acquire("A", 1).await.unwrap();
    assert_eq!((first.token().epoch, first.nonce()), (EPOCH, LeaseNonce(1)));
    assert_eq!(bench.acquire("B", 1).await, Err(held_by("A", 1)));
    let other = LiftId::try_new(&format!("{}-other", bench.lift)).unwrap();
    let elsewhere = ask(&bench.store, LeaseRequest { lift: other, ..bench.request("B", 2, 0) }).await;
    assert!(elsewhere.is_ok(), "another lift is another lease");
}

async fn waiters_are_served_in_order_at_each_release(bench: &Bench) {
    let first = bench.acquire("A", 1).await.unwrap();
    let served = bench.served(("A", &first), &[("D", 1), ("B", 1), ("C", 1)]).await;
    assert_eq!(served.iter().map(|it| it.0).collect::<Vec<_>>(), ["D", "B", "C"]);
    let mut last = first.token();
    for (who, token) in served {
        assert!(token > last, "{who}: {token:?} after {last:?}");
        last = token;
    }
}

/// Plays a line: who asks in this order, and who is served in which.
async fn in_turn(bench: &Bench, asking: &[(&'static str, LeasePriority)], served: &[&str]) {
    let first = bench.acquire("A", 1).await.unwrap();
    let asking: Vec<_> = asking.iter().map(|(who, priority)| (*who, 1, *priority)).collect();
    let order = bench.served_by_priority(("A", &first), &asking).await;
    assert_eq!(order.iter().map(|it| it.0).collect::<Vec<_>>(), served);
    let tokens: Vec<_> = order.iter().map(|it| it.1).collect();
    assert!(tokens.is_sorted() && tokens[0] > first.token(), "{tokens:?}");
}

async fn the_higher_priority_is_served_first(bench: &Bench) {
    let asking = [("B", Ahead), ("C", OpenDoor), ("D", Aboard), ("E", OpenDoor)];
    in_turn(bench, &asking, &["D", "C", "B", "E"]).await;
}

async fn who_is_overtaken_comes_before_a_fresh_higher_one(bench: &Bench) {
    let asking = [("B", Ahead), ("C", Aboard), ("D", Aboard), ("E", Aboard), ("F", Aboard), ("G", Landing)];
    in_turn(bench, &asking, &["C", "D", "E", "B", "F", "G"]).await;
}

async fn the_same_request_gets_the_same_grant(bench: &Bench) {
    let first = bench.acquire("A", 1).await.unwrap();
    let (again, once_more) = tokio::join!(bench.acquire("A", 1), bench.acquire("A", 1));
    assert_eq!((again.unwrap().token(), once_more.unwrap().token()), (first.token(), first.token()));
    assert_eq!(
        bench.acquire("B", 1).await,
        Err(held_by("A", 1)),
        "equal nonces of two nodes are two requests"
    );
    assert_eq!(bench.release("A", &first).await, Ok(()));
    assert_eq!(bench.release("A", &first).await, Err(LeaseRefusal::Lost), "released once already");
}

async fn nobody_frees_the_lease_of_another(bench: &Bench) {
    let lease = bench.acquire("A", 5).await.unwrap();
    let token = lease.token();
    let forged = FencingToken { serial: token.serial + 1, ..token };
    for (who, nonce, token) in [("B", 5, token), ("A", 6, token), ("A", 5, forged)] {
        let released = bench.store.release(&bench.lift, &node(who), LeaseNonce(nonce), token, None).await;
        assert_eq!(released, Err(LeaseRefusal::Lost), "{who} {nonce} {token:?}");
    }
    assert_eq!(bench.renew("B", &lease).await, Err(LeaseRefusal::Lost));
    assert_eq!(bench.acquire("A", 5).await.unwrap().token(), token);
}

async fn a_lease_ends_by_itself(bench: &Bench) {
    let dead = bench.acquire("A", 1).await.unwrap();
    let next = bench.acquire_calm("B", 1).await.unwrap();
    assert!(next.token() > dead.token());
    assert_eq!(bench.renew("A", &dead).await, Err(LeaseRefusal::Lost));
    assert_eq!(bench.release("A", &dead).await, Err(LeaseRefusal::Lost));
    let again = bench.acquire_calm("B", 1).await.unwrap();
    assert_eq!(again.token(), next.token(), "the dead one's words do nothing");
}

async fn a_renewed_lease_lives_on(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    bench.acquire("B", 1).await.unwrap_err();
    let before = bench.acquire("A", 1).await.unwrap();
    let renewed = bench.renew("A", &lease).await.unwrap();
    assert_eq!(renewed.token(), lease.token());
    let since = server::clock::mono();
    assert!(
        sends(&renewed, since) >= sends(&before, since) + 200,
        "what went by while B waited is given back"
    );
}

/// For how many milliseconds from then on a lease permits to send.
fn sends(lease: &HeldLease, since: Mono) -> u64 {
    let permits = |ms: &u64| lease.permit(Now::of(since + Millis(*ms), 0)).is_ok();
    (0..40_000).take_while(permits).count() as u64
}

async fn a_lease_is_not_renewed_beyond_the_longest_hold_and_then_broken(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    let refused = async {
        loop {
            if let Err(refusal) = bench.renew("A", &lease).await {
                return refusal;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert_eq!(timeout(BOUND, refused).await, Ok(LeaseRefusal::HeldTooLong));
    let successor = bench.acquire("B", 1).await.unwrap();
    assert!(successor.token() > lease.token());
    assert_eq!(bench.renew("A", &lease).await, Err(LeaseRefusal::Lost));
}

async fn a_dead_waiter_does_not_keep_the_lift(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    tokio::select! {
        biased;
        told = bench.acquire("B", 1) => panic!("B waits, and dies: {told:?}"),
        () = bench.line_forms() => {}
    }
    let (next, released) = tokio::join!(bench.acquire("C", 1), bench.release("A", &lease));
    released.unwrap();
    assert!(next.unwrap().token().serial > lease.token().serial + 1, "B was granted first, and passed over");
}

async fn a_dead_waiter_of_a_higher_priority_costs_600_ms(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    let request = LeaseRequest { priority: Aboard, ..bench.request("B", 1, 0) };
    tokio::select! {
        biased;
        told = ask(&bench.store, request) => panic!("B waits, and dies: {told:?}"),
        () = bench.line_forms() => {}
    }
    let began = server::clock::mono();
    let (next, released) = tokio::join!(bench.acquire("C", 1), bench.release("A", &lease));
    released.unwrap();
    let (next, took) = (next.unwrap(), server::clock::mono().since(began));
    let passed_over = next.token().serial > lease.token().serial + 1;
    // A slow machine may let B end before the release.
    assert!(passed_over || !bench.masters.is_empty());
    assert!(took <= Millis(600) || !bench.masters.is_empty(), "{took}");
}

async fn a_place_in_the_line_outlives_a_refusal(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    assert_eq!(bench.acquire("B", 1).await, Err(held_by("A", 1)));
    let served = bench.served(("A", &lease), &[("C", 1), ("B", 2)]).await;
    assert_eq!(served.iter().map(|it| it.0).collect::<Vec<_>>(), ["B", "C"]);
}

async fn a_ticket_that_ended_is_no_place(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    assert_eq!(bench.acquire("B", 1).await, Err(held_by("A", 1)));
    // It waits for longer than the ticket of B lives.
    assert_eq!(bench.acquire("D", 1).await, Err(held_by("A", 1)));
    let served = bench.served(("A", &lease), &[("C", 1), ("B", 2)]).await;
    assert_eq!(served.iter().map(|it| it.0).collect::<Vec<_>>(), ["C", "B"]);
}

async fn a_serial_is_above_the_floor_whatever_is_forgotten(bench: &Bench) {
    let mut last = 0;
    // Beyond 2^53 not every number is one of Lua's.
    let rows =
        [(0, false), (1000, false), (0, false), (7, true), (5 << 32, true), (0, false), (1 << 60, false)];
    for (nonce, (floor, emptied)) in (1..).zip(rows) {
        if emptied {
            bench.empty().await;
        }
        let lease = bench.acquire_by(&bench.store, "A", (nonce, floor)).await.unwrap();
        let serial = lease.token().serial;
        assert!(serial > floor, "{serial} after {floor}");
        assert!(serial > last || emptied, "{serial} after {last}");
        bench.release("A", &lease).await.unwrap();
        last = serial;
    }
    assert_eq!(last, (1 << 60) + 1);
}

async fn a_node_that_asks_anew_has_given_up_what_it_held(bench: &Bench) {
    let lost = bench.acquire("A", 1).await.unwrap();
    let anew = bench.acquire("A", 2).await.unwrap();
    assert!(anew.token() > lost.token());
    assert_eq!(bench.renew("A", &lost).await, Err(LeaseRefusal::Lost));
    assert_eq!(bench.acquire("A", 1).await, Err(held_by("A", 1)), "a late request gets nothing");
    assert_eq!(bench.acquire("A", 2).await.unwrap().token(), anew.token());
}

async fn a_full_line_takes_nobody_in(bench: &Bench) {
    bench.acquire("A", 1).await.unwrap();
    let names: Vec<String> = (0..65).map(|n| format!("W{n}")).collect();
    let mut refused = futures_util::future::join_all(names.iter().map(|it| bench.acquire(it, 1))).await;
    assert_eq!(refused.pop(), Some(Err(held_by("A", 65))));
    assert!(refused.iter().all(|it| matches!(it, Err(LeaseRefusal::Held { .. }))), "{refused:?}");
}

async fn a_grant_that_is_told_again_has_less_left(bench: &Bench) {
    let lease = bench.acquire("A", 1).await.unwrap();
    bench.acquire("B", 1).await.unwrap_err();
    let again = bench.acquire("A", 1).await.unwrap();
    let since = server::clock::mono();
    let fresh = HeldLease::granted(bench.lift.clone(), LeaseNonce(1), lease.token(), since);
    assert!(sends(&again, since) + 200 <= sends(&fresh, since), "the wait of B went by");
}

async fn a_store_that_forgot_grants_nothing_before_its_new_life_is_named(bench: &Bench) {
    let told = async |request: &LeaseRequest| bench.store.acquire(request).await;
    let held = bench.acquire("A", 1).await.unwrap();
    bench.empty().await;
    let mut lives = Vec::new();
    for round in 0..3 {
        let (a, b) = (bench.request("A", 2 + round, 0), bench.request("B", 2 + round, 1 << 32));
        let a = LeaseRequest { life: lives.last().cloned().unwrap_or(StoreLife::try_new("x").unwrap()), ..a };
        let Err(LeaseRefusal::StoreChanged { life }) = told(&a).await else { panic!("round {round}") };
        assert_eq!(told(&a).await, Err(LeaseRefusal::StoreChanged { life: life.clone() }), "it stays");
        assert_eq!(bench.renew("A", &held).await, Err(LeaseRefusal::Lost));
        assert_eq!(bench.release("A", &held).await, Err(LeaseRefusal::Lost));
        assert!(!lives.contains(&life), "each life has its own name");
        let next = told(&LeaseRequest { life: life.clone(), ..b }).await.unwrap();
        assert!(next.token().serial > 1 << 32);
        lives.push(life);
        bench.empty().await;
    }
}
