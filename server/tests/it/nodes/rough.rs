//! The lift is used all the time, and in turn everything between the programs that command it gives way. Run by
//! `make drills`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use server::drill::relay::RelayFault;
use tokio::sync::RwLock;

use super::hall::{Beside, Hall};
use super::roads::Road;
use crate::postgres::Postgres;
use crate::processes::{RIDE_BOUND, START_BOUND, state_of};
use crate::stores::RedisServer;

const LIFT: &str = "L1";
/// A look at a program.
const LOOK: Duration = Duration::from_millis(20);
/// Slow is a road on which this passes between a question and its answer: twice what a lease store has to answer in, and
/// less than a node waits for a turn.
const SLOW: Duration = Duration::from_millis(500);
/// So many pieces of a conversation are slow.
const SLOW_TIMES: u32 = 10;
/// An order is over long before.
const BOUND: Duration = Duration::from_secs(600);

/// What gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The node that holds the lift's lease sleeps, until the other one has it.
    NodeSleeps,
    /// The gateway is killed while a node holds the lease.
    GatewayKilled,
    /// The lease store is killed and comes back with nothing.
    LeasesEmptied,
    /// The same, with all that it had.
    LeasesKept,
    /// It stands still.
    LeasesPaused,
    /// It is killed, and a replica that has not heard the last of it takes its place.
    StaleReplica,
    /// Nothing on this road: connections break.
    Cut(Road),
    /// Nothing passes, and connections stay.
    HalfOpen(Road),
    /// All that passes is late.
    Slow(Road),
    /// The PLC acts, and its answer to a write is lost.
    AnswerLost,
    /// The PLC acts, and its connection breaks before it answers.
    ClosesInWrite,
}

const TROUBLES: [Trouble; 17] = [
    Trouble::NodeSleeps,
    Trouble::GatewayKilled,
    Trouble::LeasesKept,
    Trouble::LeasesEmptied,
    Trouble::LeasesPaused,
    Trouble::Cut(Road::Leases(0)),
    Trouble::HalfOpen(Road::Leases(1)),
    Trouble::Slow(Road::Leases(0)),
    Trouble::Cut(Road::Broker(1)),
    Trouble::HalfOpen(Road::Broker(0)),
    Trouble::Slow(Road::Broker(1)),
    Trouble::Cut(Road::GatewayBroker),
    Trouble::HalfOpen(Road::GatewayBroker),
    Trouble::Cut(Road::Plc),
    Trouble::AnswerLost,
    Trouble::ClosesInWrite,
    // Last: from here on the lease store is another one.
    Trouble::StaleReplica,
];

/// Two orders are open at a time, one for each floor, and each rides.
async fn load(hall: &RwLock<Hall>, over: &AtomicBool) -> Vec<String> {
    let mut accepted = Vec::new();
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let number = accepted.len();
        let hall = hall.read().await;
        let tasks = hall.look(number % 2, "/api/v1/tasks?limit=200").await;
        let Some(tasks) = tasks.as_ref().and_then(|it| it["items"].as_array()) else { continue };
        if tasks.iter().filter(|it| it["activity"] != "ended").count() >= 2 {
            continue;
        }
        let (from, to) = [("P1-1", "D2-1"), ("P2-2", "D1-2")][number % 2];
        // The same key at both nodes: one of them may be away.
        for idx in [number % 2, 1 - number % 2] {
            if let Some(body) = hall.place(idx, &format!("order-{number}"), from, to).await {
                accepted.push(body["order"]["id"].as_str().unwrap().to_owned());
                break;
            }
        }
    }
    accepted
}

/// Waits until some node holds the lift's lease, which says that it is about to command it. Gives which.
async fn holder(hall: &Hall) -> usize {
    let deadline = Instant::now() + RIDE_BOUND;
    loop {
        if let Some(name) = hall.lease_holder(LIFT).await {
            return usize::from(name == "B");
        }
        assert!(Instant::now() < deadline, "nobody commands the lift\n{}", hall.logs());
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until a node misses something.
async fn misses(hall: &Hall, idx: usize, what: &str) {
    let missing = |it: &Value| it["degraded"].as_array().is_some_and(|all| all.contains(&what.into()));
    hall.wait(idx, "/readyz", START_BOUND, missing).await;
}

async fn completed(hall: &Hall) -> usize {
    let tasks = hall.wait(0, "/api/v1/tasks?limit=200", START_BOUND, |_| true).await;
    tasks["items"].as_array().unwrap().iter().filter(|it| state_of(it) == "completed").count()
}

/// What a broken road shows: the node at its end misses what is at the other.
async fn is_noticed(hall: &Hall, road: Road) {
    match road {
        Road::Broker(idx) => misses(hall, idx, "broker").await,
        Road::GatewayBroker => misses(hall, 0, "gateway:G1").await,
        Road::Leases(idx) => misses(hall, idx, "lease").await,
        Road::Plc => {
            let path = format!("/api/v1/lifts/{LIFT}");
            hall.wait(0, &path, START_BOUND, |it| it["connection"] != "up").await;
        }
    }
}

/// The PLC hears a write, and the gateway does not learn of it by its answer.
async fn answers_are_lost(hall: &Hall, fault: RelayFault) {
    let path = format!("/api/v1/lifts/{LIFT}");
    let lost = async || hall.wait(0, &path, START_BOUND, |_| true).await["connectionsLost"].as_u64().unwrap();
    let (before, written) = (lost().await, hall.lift().await["writes"].as_u64().unwrap());
    hall.roads.set(Road::Plc, fault);
    let deadline = Instant::now() + RIDE_BOUND;
    while lost().await == before || hall.lift().await["writes"].as_u64().unwrap() == written {
        assert!(Instant::now() < deadline, "no answer was lost\n{}", hall.logs());
        tokio::time::sleep(LOOK).await;
    }
    hall.roads.set(Road::Plc, RelayFault::Sound);
}

/// The lease store is killed, and comes back with its keys or without.
async fn leases_are_killed(hall: &mut Hall, keeps: bool) {
    holder(hall).await;
    for idx in [0, 1] {
        hall.roads.set(Road::Leases(idx), RelayFault::Down);
    }
    hall.leases.kill();
    misses(hall, 0, "lease").await;
    if !keeps {
        hall.leases.forget();
    }
    hall.leases.start_again().await;
    let n_keys: u64 = redis::from_redis_value(hall.leases.command(&["DBSIZE"]).await.unwrap()).unwrap();
    assert_eq!(n_keys > 0, keeps, "{n_keys} keys");
    for idx in [0, 1] {
        hall.roads.set(Road::Leases(idx), RelayFault::Sound);
    }
}

async fn serial(store: &RedisServer) -> Option<u64> {
    let key = format!("agv:lift:control:{{{LIFT}}}:serial");
    redis::from_redis_value(store.command(&["GET", &key]).await.unwrap()).unwrap()
}

/// A replica stops to follow, leases are granted that it never hears of, and then it is the store.
async fn a_stale_replica_takes_over(hall: &mut Hall) {
    let road = hall.roads.lead_replica_to(hall.leases.address).await;
    let replica = RedisServer::start_replica(road).await;
    let deadline = Instant::now() + START_BOUND;
    while serial(&replica).await.is_none() {
        assert!(Instant::now() < deadline, "the replica never follows");
        tokio::time::sleep(LOOK).await;
    }
    hall.roads.stall_replica();
    let deadline = Instant::now() + RIDE_BOUND;
    while serial(&hall.leases).await <= serial(&replica).await {
        assert!(Instant::now() < deadline, "nothing was granted meanwhile\n{}", hall.logs());
        tokio::time::sleep(LOOK).await;
    }
    hall.leases.kill();
    replica.command(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
    hall.roads.lead_leases_to(replica.address);
    hall.leases = replica;
}

/// One trouble, from its beginning to its end. That it was one is seen in each.
async fn suffer(hall: &RwLock<Hall>, trouble: Trouble) {
    match trouble {
        Trouble::NodeSleeps => {
            let hall = hall.read().await;
            let idx = holder(&hall).await;
            hall.freeze_with_lease(idx, LIFT).await;
            hall.lease_passes_to(1 - idx, LIFT).await;
            hall.thaw_node(idx);
        }
        Trouble::GatewayKilled => {
            let mut hall = hall.write().await;
            holder(&hall).await;
            hall.strike_beside(Beside::Gateway).await;
        }
        Trouble::LeasesKept => leases_are_killed(&mut *hall.write().await, true).await,
        Trouble::LeasesEmptied => leases_are_killed(&mut *hall.write().await, false).await,
        Trouble::LeasesPaused => {
            let hall = hall.read().await;
            holder(&hall).await;
            hall.leases.freeze();
            misses(&hall, 0, "lease").await;
            misses(&hall, 1, "lease").await;
            hall.leases.thaw();
        }
        Trouble::StaleReplica => a_stale_replica_takes_over(&mut *hall.write().await).await,
        Trouble::Cut(road) | Trouble::HalfOpen(road) => {
            let hall = hall.read().await;
            holder(&hall).await;
            let cut = matches!(trouble, Trouble::Cut(_));
            hall.roads.set(road, if cut { RelayFault::Down } else { RelayFault::Held });
            is_noticed(&hall, road).await;
            hall.roads.set(road, RelayFault::Sound);
        }
        Trouble::Slow(road) => {
            let hall = hall.read().await;
            holder(&hall).await;
            for _ in 0..SLOW_TIMES {
                hall.roads.set(road, RelayFault::Held);
                tokio::time::sleep(SLOW).await;
                hall.roads.set(road, RelayFault::Sound);
                tokio::time::sleep(LOOK).await;
            }
        }
        Trouble::AnswerLost => answers_are_lost(&*hall.read().await, RelayFault::AnswerLost).await,
        Trouble::ClosesInWrite => answers_are_lost(&*hall.read().await, RelayFault::ClosesInWrite).await,
    }
}

/// Waits until nobody misses anything and another load has arrived.
async fn recovers(hall: &RwLock<Hall>, trouble: Trouble) -> Duration {
    let began = Instant::now();
    let hall = hall.read().await;
    let sound = |it: &Value| it["ready"] == true && it["degraded"].as_array().is_none_or(Vec::is_empty);
    for idx in [0, 1] {
        hall.wait(idx, "/readyz", START_BOUND, sound).await;
    }
    let before = completed(&hall).await;
    while completed(&hall).await <= before {
        assert!(began.elapsed() < BOUND, "{trouble:?}: no load arrives any more\n{}", hall.logs());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: run by `make drills`"]
async fn drill_what_carries_commands_gives_way_in_turn() {
    let leases = RedisServer::start_durable().await;
    let hall = RwLock::new(Hall::start_with(2, Postgres::shared().await, leases).await);
    let over = AtomicBool::new(false);
    let troubles = async {
        for trouble in TROUBLES {
            let began = Instant::now();
            suffer(&hall, trouble).await;
            let lasted = began.elapsed();
            println!(
                "{trouble:?}: lasted {lasted:.1?}, a load arrives {:.1?} later",
                recovers(&hall, trouble).await
            );
        }
        over.store(true, Ordering::Relaxed);
    };
    let (accepted, ()) = tokio::join!(load(&hall, &over), troubles);
    let hall = hall.into_inner();
    let deadline = Instant::now() + BOUND;
    let moved = |counted: &std::collections::BTreeMap<String, (u64, u64)>| {
        accepted.iter().all(|it| counted.get(it).is_some_and(|it| it.1 > 0))
    };
    let mut counted = hall.counted().await;
    while !moved(&counted) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_secs(1)).await;
        counted = hall.counted().await;
    }
    let lift = hall.lift().await;
    println!("troubles {}, orders {}, lift {lift}", TROUBLES.len(), accepted.len());
    let once = |it: &String| counted.get(it) == Some(&(1, 1));
    let wrong: BTreeSet<&String> = accepted.iter().filter(|it| !once(it)).collect();
    assert!(wrong.is_empty() && counted.len() == accepted.len(), "{wrong:?} {counted:?}\n{}", hall.logs());
    let zero = Value::from(0);
    assert_eq!((&lift["contradictions"], &lift["eStops"], &lift["vehiclesMax"]), (&zero, &zero, &1.into()));
    assert_eq!((&lift["writes"], &lift["rejected"]), (&lift["taken"], &zero), "each command is taken once");
}
