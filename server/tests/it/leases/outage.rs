//! A Redis that dies, hangs, comes back, or is not what it should be; and several processes on one.

use server::lease::ANSWER_MAX;

use super::*;
use crate::brokers::{free_address, until};

/// A store that does not answer is known to be away within this time.
const KNOWN_DOWN: Duration = Duration::from_millis(600);
/// A thousand of them take some seconds on a machine that does nothing else.
const HAND_OVERS_BOUND: Duration = Duration::from_secs(300);

async fn on_redis(timing: Timing) -> (RedisServer, LeaseStore) {
    let server = RedisServer::start().await;
    let store = patient(&server.url(), timing);
    (server, store)
}

/// What `acquire` answers.
async fn answer(store: &LeaseStore, who: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
    timeout(BOUND, acquire(store, who, nonce, 0)).await.expect("an answer, whatever the store does")
}

#[tokio::test]
async fn a_killed_store_is_down_and_a_new_one_is_found_by_itself_and_continues_the_serials() {
    let (mut server, store) = on_redis(calm()).await;
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
    let (mut server, store) = on_redis(calm()).await;
    acquire(&store, "A", 1, 0).await.unwrap();
    let (waited, ()) = tokio::join!(answer(&store, "B", 1), async { server.kill() });
    assert_eq!(waited, Err(LeaseRefusal::StoreDown));
}

#[tokio::test]
async fn a_store_that_was_never_there_is_down() {
    let url = format!("redis://{}", free_address()).parse().unwrap();
    let store = patient(&url, calm());
    assert_eq!(answer(&store, "A", 1).await, Err(LeaseRefusal::StoreDown));
    assert!(store.is_away());
}

/// What was asked of a store that hung is done when it goes on; the same nonce finds it.
#[tokio::test]
async fn a_store_that_hangs_is_unknown_and_the_same_request_finds_its_grant() {
    let (server, store) = on_redis(calm()).await;
    let brief = LeaseStore::redis(&server.url(), Timing::default(), ANSWER_MAX).unwrap();
    let mut granted = acquire(&store, "A", 1, 0).await.unwrap();
    for nonce in 2.. {
        release(&store, "A", &granted).await.unwrap();
        until("the store is found", || !brief.is_away()).await;
        server.freeze();
        // From here on nothing but the clock decides, and it goes on by itself.
        tokio::time::pause();
        let asked_at = tokio::time::Instant::now();
        let told = acquire(&brief, "A", nonce, 0).await;
        assert!(asked_at.elapsed() <= KNOWN_DOWN, "known after {:?}", asked_at.elapsed());
        let other = acquire(&brief, "B", nonce, 0).await;
        assert_eq!(other, Err(LeaseRefusal::StoreDown), "it is not even asked");
        tokio::time::resume();
        server.thaw();
        let before = granted.token().serial;
        granted = answer(&store, "A", nonce).await.unwrap();
        assert_eq!(granted.token().serial, before + 1, "granted once, while nobody heard it");
        // It may have found out by itself before it was asked.
        if told == Err(LeaseRefusal::Unknown) {
            break;
        }
        assert_eq!(told, Err(LeaseRefusal::StoreDown));
        assert!(nonce < 20, "it was never asked");
    }
    until("the store is found", || !brief.is_away()).await;
    let waits_little = Timing { wait: Millis(300), ..calm() };
    let other = patient(&server.url(), waits_little);
    assert_eq!(answer(&other, "B", 99).await, Err(held_by("A", 1)));
}

#[tokio::test]
async fn a_store_that_is_used_for_something_else_is_down_and_says_so_to_nobody_as_held() {
    let (server, store) = on_redis(calm()).await;
    server.command(&["SET", "agv:lift:control:{L1}", "of somebody else"]).await.unwrap();
    assert_eq!(answer(&store, "A", 1).await, Err(LeaseRefusal::StoreDown));
    server.command(&["DEL", "agv:lift:control:{L1}"]).await.unwrap();
    assert!(answer(&store, "A", 1).await.is_ok());
    let keys = server.command(&["KEYS", "*"]).await.unwrap();
    let keys = redis::from_redis_value::<Vec<String>>(keys).unwrap();
    assert!(keys.iter().all(|it| it.starts_with("agv:lift:control:{L1}")), "{keys:?}");
}

/// As a replica does after a change of masters: it answers, and grants nothing.
#[tokio::test]
async fn a_store_that_takes_no_writes_is_away() {
    let (server, store) = on_redis(calm()).await;
    until("the store is found", || !store.is_away()).await;
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]).await.unwrap();
    until("the store is found away by itself", || store.is_away()).await;
    assert_eq!(answer(&store, "A", 1).await, Err(LeaseRefusal::StoreDown));
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]).await.unwrap();
    until("the store is found again", || !store.is_away()).await;
    assert!(answer(&store, "A", 2).await.is_ok());
}

#[tokio::test]
async fn a_password_opens_the_store_and_a_wrong_one_does_not() {
    let server = RedisServer::start().await;
    let url = |password: &str| format!("redis://:{password}@{}", server.address).parse().unwrap();
    let right = patient(&url("hush"), calm());
    let wrong = patient(&url("loud"), calm());
    server.command(&["CONFIG", "SET", "requirepass", "hush"]).await.unwrap();
    assert_eq!(answer(&wrong, "A", 1).await, Err(LeaseRefusal::StoreDown));
    assert!(answer(&right, "A", 1).await.is_ok());
    assert!(!format!("{right:?} {wrong:?}").contains("hush"));
}

/// A grant then seems to lie in the future; it is broken all the same once the longest hold has passed.
#[tokio::test]
async fn a_store_whose_clock_is_set_back_does_not_keep_the_lift_for_a_dead_holder() {
    let (server, store) = on_redis(Timing { hold_max: Millis(300), poll: Millis(250), ..calm() }).await;
    let dead = acquire(&store, "A", 1, 0).await.unwrap();
    server.command(&["HSET", "agv:lift:control:{L1}", "since", "99999999999999"]).await.unwrap();
    assert!(acquire(&store, "B", 1, 0).await.unwrap().token() > dead.token());
}

/// With the poll off, nothing but its wake-up tells a waiter that its turn has come.
#[tokio::test]
async fn no_wake_up_is_lost_in_a_thousand_hand_overs_between_processes() {
    let still = Millis::seconds(600);
    let timing = Timing { ttl: still, hold_max: still, poll: still, claim: still, wait: still, ..calm() };
    let (server, one) = on_redis(timing).await;
    // Another client is to Redis what another process is.
    let two = patient(&server.url(), timing);
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
    timeout(HAND_OVERS_BOUND, all).await.expect("a wake-up was lost");
    let serial = server.command(&["GET", "agv:lift:control:{L1}:serial"]).await.unwrap();
    assert_eq!(redis::from_redis_value::<u64>(serial).unwrap(), 1000, "one serial for each grant");
}

/// The connection for wake-ups is cut again and again: the poll serves, and it is built anew.
#[tokio::test]
async fn waiters_are_served_without_wake_ups() {
    let (server, store) = on_redis(Timing { poll: Millis(250), ..calm() }).await;
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

/// A start of the server with what was on its disk: whatever it lacks, it grants nothing as if nothing had been.
#[tokio::test]
async fn a_store_that_came_back_with_its_data_has_another_life_and_continues_the_serials() {
    let mut server = RedisServer::start_durable().await;
    let store = patient(&server.url(), calm());
    let before = acquire(&store, "A", 1, 0).await.unwrap();
    let LeaseStore::Redis(redis) = &store else { panic!("{store:?}") };
    let life = LIVES.lock().unwrap()[&(format!("{redis:?}"), lift())].clone();
    server.kill();
    server.start_again().await;
    until("the store is found", || !store.is_away()).await;
    let named = LeaseRequest { life: life.clone(), ..request("B", 1, 0) };
    let told = store.acquire(&named).await;
    assert!(matches!(&told, Err(LeaseRefusal::StoreChanged { life: new }) if *new != life), "{told:?}");
    assert_eq!(store.renew(&before, &node("A")).await, Err(LeaseRefusal::Lost), "granted in another life");
    assert!(acquire(&store, "B", 1, 0).await.unwrap().token() > before.token());
}

/// What is left may be behind what was granted: it goes by another life then.
async fn goes_by_another_life(store: &LeaseStore, before: &HeldLease) {
    let LeaseStore::Redis(redis) = store else { panic!("{store:?}") };
    let life = LIVES.lock().unwrap()[&(format!("{redis:?}"), before.lift().clone())].clone();
    let named = LeaseRequest { life: life.clone(), ..request("B", 1, 0) };
    let told = store.acquire(&named).await;
    assert!(matches!(&told, Err(LeaseRefusal::StoreChanged { life: new }) if *new != life), "{told:?}");
    assert_eq!(store.renew(before, &node("A")).await, Err(LeaseRefusal::Lost), "granted in another life");
}

#[tokio::test]
async fn a_store_that_lost_its_serial_alone_has_another_life() {
    let (server, store) = on_redis(calm()).await;
    let before = acquire(&store, "A", 1, 0).await.unwrap();
    let serial = format!("agv:lift:control:{{{}}}:serial", lift());
    let gone = server.command(&["DEL", &serial]).await.unwrap();
    assert_eq!(redis::from_redis_value::<u8>(gone).unwrap(), 1);
    goes_by_another_life(&store, &before).await;
}

/// It never stopped, and has what its replica had when that took over: less than it gave itself.
#[tokio::test]
async fn a_master_that_was_replaced_and_takes_over_again_has_another_life() {
    let (first, store) = on_redis(calm()).await;
    let second = RedisServer::start_replica(first.address).await;
    let before = acquire(&store, "A", 1, 0).await.unwrap();
    let follows = |it: SocketAddr| ["REPLICAOF".to_owned(), it.ip().to_string(), it.port().to_string()];
    let tell = async |server: &RedisServer, words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        server.command(&words).await.unwrap();
    };
    let leads = ["REPLICAOF".to_owned(), "NO".to_owned(), "ONE".to_owned()];
    tell(&second, &leads).await;
    tell(&first, &follows(second.address)).await;
    let followed = async || {
        let told: String =
            redis::from_redis_value(first.command(&["INFO", "replication"]).await.unwrap()).unwrap();
        told.contains("master_link_status:up")
    };
    while !followed().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tell(&first, &leads).await;
    goes_by_another_life(&store, &before).await;
}
