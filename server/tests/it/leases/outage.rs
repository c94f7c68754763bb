//! A Redis that dies, hangs, comes back, or is not what it should be; and several processes on one.

use super::*;
use crate::brokers::{PATIENCE, free_address, until};

async fn on_redis(timing: Timing) -> (RedisServer, LeaseStore) {
    let server = RedisServer::start().await;
    let store = LeaseStore::redis(&server.url(), timing).unwrap();
    (server, store)
}

/// What `acquire` answers, within a bound that no driver's own patience meets.
async fn answer(store: &LeaseStore, who: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
    timeout(BOUND, acquire(store, who, nonce, 0)).await.expect("an answer, whatever the store does")
}

#[tokio::test]
async fn a_killed_store_is_down_and_a_new_one_is_found_by_itself_and_continues_the_serials() {
    let (mut server, store) = on_redis(Timing::default()).await;
    let before = acquire(&store, "A", 1, 0).await.unwrap();
    assert!(!store.is_away());
    server.kill();
    assert_eq!(answer(&store, "A", 2).await, Err(LeaseRefusal::StoreDown));
    assert_eq!(timeout(BOUND, store.renew(&before, &node("A"))).await, Ok(Err(LeaseRefusal::StoreDown)));
    assert_eq!(timeout(BOUND, release(&store, "A", &before)).await, Ok(Err(LeaseRefusal::StoreDown)));
    assert!(store.is_away());

    server.start_again().await;
    until("the store is found", || !store.is_away()).await;
    let after = timeout(BOUND, acquire(&store, "B", 1, before.token().serial)).await.unwrap().unwrap();
    assert!(after.token() > before.token(), "the store is empty, the serial goes on all the same");
    assert_eq!(store.renew(&before, &node("A")).await, Err(LeaseRefusal::Lost));
}

#[tokio::test]
async fn a_store_that_dies_while_somebody_waits_is_down() {
    let (mut server, store) = on_redis(Timing { wait: Millis::seconds(60), ..Timing::default() }).await;
    acquire(&store, "A", 1, 0).await.unwrap();
    let (waited, ()) = tokio::join!(answer(&store, "B", 1), async { server.kill() });
    assert_eq!(waited, Err(LeaseRefusal::StoreDown));
}

#[tokio::test]
async fn a_store_that_was_never_there_is_down() {
    let url = format!("redis://{}", free_address()).parse().unwrap();
    let store = LeaseStore::redis(&url, Timing::default()).unwrap();
    assert_eq!(answer(&store, "A", 1).await, Err(LeaseRefusal::StoreDown));
    assert!(store.is_away());
}

/// What was asked of a store that hung is done when it goes on; the same nonce finds it.
#[tokio::test]
async fn a_store_that_hangs_is_unknown_and_the_same_request_finds_its_grant() {
    let (server, store) = on_redis(Timing::default()).await;
    let first = acquire(&store, "A", 1, 0).await.unwrap();
    release(&store, "A", &first).await.unwrap();
    server.freeze();
    assert_eq!(answer(&store, "A", 2).await, Err(LeaseRefusal::Unknown));
    assert_eq!(answer(&store, "B", 1).await, Err(LeaseRefusal::StoreDown), "it is not even asked");
    server.thaw();
    until("the store is found", || !store.is_away()).await;
    let granted = answer(&store, "A", 2).await.unwrap();
    assert_eq!(granted.token().serial, first.token().serial + 1, "granted once, while nobody heard it");
    assert_eq!(answer(&store, "B", 1).await, Err(held_by("A", 1)));
}

#[tokio::test]
async fn a_store_that_is_used_for_something_else_is_down_and_says_so_to_nobody_as_held() {
    let (server, store) = on_redis(Timing::default()).await;
    server.command(&["SET", "agv:lift:control:{L1}", "of somebody else"]).await.unwrap();
    assert_eq!(answer(&store, "A", 1).await, Err(LeaseRefusal::StoreDown));
    server.command(&["DEL", "agv:lift:control:{L1}"]).await.unwrap();
    assert!(answer(&store, "A", 1).await.is_ok());
    let keys = server.command(&["KEYS", "*"]).await.unwrap();
    let keys = redis::from_redis_value::<Vec<String>>(keys).unwrap();
    assert!(keys.iter().all(|it| it.starts_with("agv:lift:control:{L1}")), "{keys:?}");
}

#[tokio::test]
async fn a_password_opens_the_store_and_a_wrong_one_does_not() {
    let server = RedisServer::start().await;
    let url = |password: &str| format!("redis://:{password}@{}", server.address).parse().unwrap();
    let right = LeaseStore::redis(&url("hush"), Timing::default()).unwrap();
    let wrong = LeaseStore::redis(&url("loud"), Timing::default()).unwrap();
    server.command(&["CONFIG", "SET", "requirepass", "hush"]).await.unwrap();
    assert_eq!(answer(&wrong, "A", 1).await, Err(LeaseRefusal::StoreDown));
    assert!(answer(&right, "A", 1).await.is_ok());
    assert!(!format!("{right:?} {wrong:?}").contains("hush"));
}

/// A grant then seems to lie in the future; it is broken all the same once the longest hold has passed.
#[tokio::test]
async fn a_store_whose_clock_is_set_back_does_not_keep_the_lift_for_a_dead_holder() {
    let (server, store) = on_redis(Timing { hold_max: Millis(300), ..Timing::default() }).await;
    let dead = acquire(&store, "A", 1, 0).await.unwrap();
    server.command(&["HSET", "agv:lift:control:{L1}", "since", "99999999999999"]).await.unwrap();
    assert!(acquire(&store, "B", 1, 0).await.unwrap().token() > dead.token());
}

/// With the poll off, nothing but its wake-up tells a waiter that its turn has come.
#[tokio::test]
async fn no_wake_up_is_lost_in_a_thousand_hand_overs_between_processes() {
    let still = Millis::seconds(60);
    let timing = Timing {
        ttl: Millis::seconds(300),
        hold_max: still,
        poll: still,
        claim: still,
        wait: still,
        ..Timing::default()
    };
    let (server, one) = on_redis(timing).await;
    // Another client is to Redis what another process is.
    let two = LeaseStore::redis(&server.url(), timing).unwrap();
    let turns = |store: LeaseStore, who: &'static str| async move {
        for nonce in 1..=250 {
            let lease =
                acquire(&store, who, nonce, 0).await.unwrap_or_else(|it| panic!("{who} {nonce}: {it}"));
            release(&store, who, &lease).await.unwrap();
        }
    };
    let all = async {
        tokio::join!(
            turns(one.clone(), "A"),
            turns(two.clone(), "B"),
            turns(one.clone(), "C"),
            turns(two.clone(), "D")
        )
    };
    timeout(PATIENCE, all).await.expect("a wake-up was lost");
    let serial = server.command(&["GET", "agv:lift:control:{L1}:serial"]).await.unwrap();
    assert_eq!(redis::from_redis_value::<u64>(serial).unwrap(), 1000, "one serial for each grant");
}

/// The connection for wake-ups is cut again and again: the poll serves, and it is built anew.
#[tokio::test]
async fn waiters_are_served_without_wake_ups() {
    let (server, store) = on_redis(Timing::default()).await;
    for nonce in 1..=5 {
        let lease = acquire(&store, "A", nonce, 0).await.unwrap();
        let (next, ()) = tokio::join!(acquire(&store, "B", nonce, 0), async {
            server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await.unwrap();
            release(&store, "A", &lease).await.unwrap();
        });
        let next = next.unwrap();
        release(&store, "B", &next).await.unwrap();
    }
}
