//! The contract on the other kinds of servers, started once each; then what only they can do.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::brokers::{free_address, until};
use crate::stores::{RedisCluster, Sentinels};

/// A store that does not answer is known to be away within this time.
const KNOWN_DOWN: Duration = Duration::from_millis(600);

/// Benches at one address, each on a lift of its own.
fn benches(url: String, masters: Vec<SocketAddr>) -> impl Fn(Timing) -> Bench {
    let nth = AtomicU32::new(0);
    move |timing| {
        Bench::at(&url, masters.clone(), &format!("L{}", nth.fetch_add(1, Ordering::Relaxed)), timing)
    }
}

fn redis_of(store: &LeaseStore) -> &server::lease::Redis {
    if let LeaseStore::Redis(redis) = store { redis } else { panic!("it is in this process") }
}

async fn answer(store: &LeaseStore, lift: &str, nonce: u64) -> Result<HeldLease, LeaseRefusal> {
    let lift = LiftId::try_new(lift).unwrap();
    let asked = ask(store, LeaseRequest { lift, ..request("A", nonce, 0) });
    timeout(BOUND, asked).await.expect("an answer, whatever the store does")
}

#[tokio::test]
async fn the_contract_holds_on_a_cluster_and_a_lift_follows_its_slot() {
    let mut cluster = RedisCluster::start().await;
    let masters = cluster.servers.iter().map(|it| it.address).collect();
    let bench = benches(cluster.text_url(), masters);
    futures_util::future::join(contract::hold(&bench), calls::hold(&bench)).await;
    let store = patient(&cluster.text_url().parse().unwrap(), calm());
    until("the store is found", || !store.is_away()).await;
    follows_slots(&cluster, &store).await;
    loses_a_master(&mut cluster, &store).await;
}

/// The key of N9 has slot 2489 and was on the first of them.
async fn follows_slots(cluster: &RedisCluster, store: &LeaseStore) {
    answer(store, "M1", 1).await.unwrap();
    cluster.give_slot(2489, 2).await;
    answer(store, "N9", 1).await.unwrap();
    let there = cluster.servers[2].command(&["EXISTS", "agv:lift:control:{N9}"]).await.unwrap();
    assert_eq!(redis::from_redis_value::<u8>(there).unwrap(), 1);
}

/// Then no lift gets a lease by it for long: either it is on the lost one, or the cluster says that it is not whole.
async fn loses_a_master(cluster: &mut RedisCluster, store: &LeaseStore) {
    cluster.servers[1].kill();
    until("the store is found away by itself", || store.is_away()).await;
    // The key of L2 has slot 7856.
    let refused = answer(store, "L2", 1).await.unwrap_err();
    assert!(matches!(refused, LeaseRefusal::StoreDown | LeaseRefusal::Unknown), "{refused}");
    cluster.servers[1].start_again().await;
    until("the store is found again", || !store.is_away()).await;
    answer(store, "L2", 2).await.unwrap();
}

#[tokio::test]
async fn the_contract_holds_by_sentinels_and_a_new_master_is_found() {
    let mut servers = Sentinels::start().await;
    let bench = benches(servers.text_url(), vec![servers.master.address]);
    futures_util::future::join(contract::hold(&bench), calls::hold(&bench)).await;
    let store = patient(&servers.text_url().parse().unwrap(), calm());
    let before = answer(&store, "M1", 1).await.unwrap();
    servers.wake().await;
    servers.master.kill();
    servers.sentinels[0].kill();
    assert_eq!(answer(&store, "M1", 2).await, Err(LeaseRefusal::StoreDown));
    until("the new master is found", || !store.is_away()).await;
    let lift = before.lift().clone();
    let life = LIVES.lock().unwrap()[&(format!("{:?}", redis_of(&store)), lift.clone())].clone();
    let asked = LeaseRequest { lift, ..request("A", 1, before.token().serial) };
    let told = store.acquire(&LeaseRequest { life, ..asked.clone() }).await;
    assert!(matches!(told, Err(LeaseRefusal::StoreChanged { .. })), "it may be behind: {told:?}");
    let after = ask(&store, asked).await.unwrap();
    assert!(after.token() > before.token());
    let key = ["EXISTS", "agv:lift:control:{M1}"];
    let there = servers.replica.command(&key).await.unwrap();
    assert_eq!(redis::from_redis_value::<u8>(there).unwrap(), 1);
    servers.sentinels.clear();
    assert!(answer(&store, "M2", 1).await.is_ok(), "the master does its work without them");
}

/// Neither those who know nor the store itself: what is waited for adds up to less than the bound.
#[tokio::test]
async fn sentinels_and_clusters_that_hang_are_known_to_be_away() {
    let hung = [RedisServer::start().await, RedisServer::start().await];
    hung.iter().for_each(RedisServer::freeze);
    let hosts = format!("{},{}", hung[0].address, hung[1].address);
    tokio::time::pause();
    for url in [format!("redis-sentinel://{hosts}/lifts"), format!("redis-cluster://{hosts}")] {
        let store =
            LeaseStore::redis(&url.parse().unwrap(), Timing::default(), server::lease::ANSWER_MAX).unwrap();
        let asked_at = tokio::time::Instant::now();
        assert_eq!(answer(&store, "L1", 1).await, Err(LeaseRefusal::StoreDown), "{url}");
        assert!(asked_at.elapsed() <= KNOWN_DOWN, "{url} known after {:?}", asked_at.elapsed());
    }
}

/// What is at the address is not what the address says.
#[tokio::test]
async fn an_address_of_the_wrong_kind_is_a_store_that_is_down() {
    let server = RedisServer::start().await;
    let (there, nowhere) = (server.address, free_address());
    for url in [
        format!("redis-sentinel://{there}/lifts"),
        format!("redis-sentinel://{nowhere}/lifts"),
        format!("redis-cluster://{there}"),
        format!("redis-cluster://{nowhere}"),
    ] {
        let store = patient(&url.parse().unwrap(), calm());
        assert_eq!(answer(&store, "L1", 1).await, Err(LeaseRefusal::StoreDown), "{url}");
        assert!(store.is_away());
    }
}

/// A grant that no replica has confirmed in time could be granted again after a change of masters: it is given back.
#[tokio::test]
async fn what_too_few_replicas_confirm_is_not_granted() {
    let master = RedisServer::start().await;
    let replica = RedisServer::start_replica(master.address).await;
    let plain = patient(&master.url(), Timing { wait: Millis(300), ..calm() });
    for (wanted, stalled, expected) in
        [(1, false, true), (2, false, false), (1, true, false), (0, true, true)]
    {
        let url = format!("{}?replicas={wanted}", master.text_url());
        let answer_max = Millis::seconds(5);
        let store = LeaseStore::redis(&url.parse().unwrap(), calm(), answer_max).unwrap();
        if wanted == 1 {
            until("the replica confirms", || !store.is_away()).await;
        }
        if stalled {
            replica.freeze();
        }
        let told = answer(&store, "L1", 1).await;
        let row = format!("{wanted} {stalled}");
        if expected {
            let lease = told.unwrap();
            assert!(store.renew(&lease, &node("A")).await.is_ok(), "{row}");
            release(&store, "A", &lease).await.unwrap();
        } else {
            assert_eq!(told, Err(LeaseRefusal::NotReplicated), "{row}");
            assert!(store.is_away(), "{row}: it grants nothing");
            let other = acquire(&plain, "B", 1, 0).await.expect("what was not confirmed was given back");
            release(&plain, "B", &other).await.unwrap();
        }
    }
    replica.thaw();
}
