//! The two nodes are killed in turn under load, and what serves them between; then they are stopped in good order. Run
//! by `make drills`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use kernel::control::Book;
use kernel::ids::{NodeId, TaskId};
use kernel::wire::ledger::{Entry, Record};
use serde_json::Value;
use sim::rng::Rng;
use tokio::sync::RwLock;
use tokio::time::MissedTickBehavior;

use super::hall::{Beside, Hall};
use crate::processes::START_BOUND;

/// Vehicles on each of the two floors: enough that most orders find one on their own floor, for the lift carries no
/// more than one vehicle in half a minute.
const PER_FLOOR: usize = 24;
/// Kills, unless `KILLS` says otherwise. With their end, 15 take about eight minutes and 50 about sixteen.
const KILLS: usize = 15;
/// Orders a minute, unless `ORDERS` says otherwise: nearly as many as the vehicles carry.
const ORDERS: usize = 70;
/// So many are placed at least, also when the nodes have been struck before that.
const ORDERS_MIN: usize = 200;
/// Open orders at most, half as many as vehicles: with more, no vehicle of the own floor is free, and those of the other
/// come to stand in the line before the lift.
const OPEN_MAX: usize = 24;
/// Graceful stops, after the kills.
const STOPS: usize = 10;
/// What serves the nodes is struck in this turn.
const BESIDE: [Beside; 3] = [Beside::Gateway, Beside::Leases, Beside::Broker];
/// Between a start and the next end at least, and at most so much more, drawn by chance: a node may be struck in all that
/// it does.
const UP: Duration = Duration::from_millis(1500);
const UP_MORE_MS: u64 = 3000;
/// An order is over long before.
const BOUND: Duration = Duration::from_secs(600);

/// Promised for tasks of a node that was killed, and of one that stops.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(10);
const HANDED_OVER_MAX: Duration = Duration::from_secs(1);

/// How a node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Kill,
    Stop,
}

/// An end of a node: how, whose, and since when it counts.
struct End {
    blow: Blow,
    node: NodeId,
    at: DateTime<Utc>,
}

fn asked_for(name: &str, otherwise: usize) -> usize {
    std::env::var(name)
        .ok()
        .map_or(otherwise, |it| it.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The order of a number: mostly within a bay, each 81st to the other floor, since one lift carries one vehicle. These
/// go there and back in turn, or a floor would lose its vehicles.
fn ends(number: usize) -> (String, String) {
    let (floor, bay) = (1 + number % 2, 1 + (number / 2) % PER_FLOOR);
    let to = if number.is_multiple_of(81) { 3 - floor } else { floor };
    (format!("P{floor}-{bay}"), format!("D{to}-{bay}"))
}

/// Places orders, so many a minute and none while too many are open, until it is over and they are enough. Gives their
/// names, one for each order that was placed.
async fn load(hall: &RwLock<Hall>, a_minute: usize, over: &AtomicBool) -> Vec<String> {
    let mut accepted = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_secs(60) / u32::try_from(a_minute).unwrap());
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !over.load(Ordering::Relaxed) || accepted.len() < ORDERS_MIN {
        pace.tick().await;
        let number = accepted.len();
        let is_open = |it: &&Value| it["activity"] != "ended";
        let tasks = hall.read().await.look(number % 2, "/api/v1/tasks?limit=200").await;
        let n_open = tasks.map_or(0, |it| it["items"].as_array().unwrap().iter().filter(is_open).count());
        if n_open < OPEN_MAX {
            accepted.push(place(hall, number).await);
        }
    }
    accepted
}

/// Asks for an order with one key, at one node and the other, until it is accepted. Gives its name.
async fn place(hall: &RwLock<Hall>, number: usize) -> String {
    let (from, to) = ends(number);
    let give_up = Instant::now() + BOUND;
    for turn in number.. {
        let answer = hall.read().await.place(turn % 2, &format!("order-{number}"), &from, &to).await;
        if let Some(body) = answer {
            return body["order"]["id"].as_str().unwrap().to_owned();
        }
        if Instant::now() > give_up {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no node takes order {number}\n{}", hall.read().await.logs())
}

/// Ends a node while it has tasks, waits until the other has them, and starts it again.
async fn strike(hall: &RwLock<Hall>, idx: usize, blow: Blow) -> End {
    let node = hall.read().await.node(idx);
    let other_sees = async |path: &str, fits: &dyn Fn(&Value) -> bool| {
        hall.read().await.wait(1 - idx, path, START_BOUND, fits).await;
    };
    let has_tasks = |it: &Value| it["standing"] == "running" && it["tasks"] != 0;
    other_sees(&format!("/api/v1/nodes/{node}"), &has_tasks).await;
    let mut process = hall.write().await.take_node(idx);
    let at = match blow {
        Blow::Kill => {
            process.child.kill().unwrap();
            process.child.wait().unwrap();
            Utc::now()
        }
        Blow::Stop => {
            let at = Utc::now();
            process.terminate();
            let ended = process.ended().await;
            assert!(ended.success(), "{ended}\n{}", hall.read().await.logs());
            at
        }
    };
    let left = |it: &Value| it["activity"] != "ended" && it["claimedBy"] == node.as_str();
    let none_left = |it: &Value| !it["items"].as_array().unwrap().iter().any(left);
    other_sees("/api/v1/tasks?limit=200", &none_left).await;
    hall.write().await.start_node(idx);
    hall.read().await.wait(idx, "/readyz", START_BOUND, |it| it["ready"] == true).await;
    End { blow, node, at }
}

/// Ends one node, then the other, and so on; after each third kill it strikes what serves them.
async fn strike_in_turn(hall: &RwLock<Hall>, blow: Blow, times: usize, instants: &mut Rng) -> Vec<End> {
    let mut ends = Vec::new();
    for nth in 0..times {
        tokio::time::sleep(UP + Duration::from_millis(instants.within(0..=UP_MORE_MS))).await;
        ends.push(strike(hall, nth % 2, blow).await);
        if blow == Blow::Kill && nth % 3 == 2 {
            tokio::time::sleep(UP + Duration::from_millis(instants.within(0..=UP_MORE_MS))).await;
            strike_beside(hall, BESIDE[nth / 3 % BESIDE.len()]).await;
        }
    }
    ends
}

/// Kills and starts a program that serves the nodes, and waits until both find nothing amiss.
async fn strike_beside(hall: &RwLock<Hall>, beside: Beside) {
    hall.write().await.strike_beside(beside).await;
    let sound = |it: &Value| it["ready"] == true && it["degraded"].as_array().is_none_or(Vec::is_empty);
    for idx in [0, 1] {
        hall.read().await.wait(idx, "/readyz", START_BOUND, sound).await;
    }
}

/// How long after each end the last of the node's tasks was another's, by how it ended, shortest first. What a node
/// that stops still finishes is not handed over.
fn hand_overs(entries: &[Entry], ends: &[End]) -> [Vec<Duration>; 2] {
    let mut book = Book::default();
    let mut rest = entries.iter().peekable();
    let mut taken = [Vec::new(), Vec::new()];
    for (idx, end) in ends.iter().enumerate() {
        let stops = |it: &Entry| {
            it.at >= end.at && it.node == end.node && matches!(it.record, Record::NodeStopped { .. })
        };
        let before = |it: &&Entry| match end.blow {
            Blow::Kill => it.at <= end.at,
            Blow::Stop => !stops(it),
        };
        while let Some(entry) = rest.next_if(before) {
            book.apply(entry).unwrap();
        }
        let orphans: BTreeSet<&TaskId> = book
            .open_tasks()
            .filter(|(_, it)| it.claimed_by.as_ref() == Some(&end.node))
            .filter(|(_, it)| it.claimed_in == book.run_of(&end.node))
            .map(|(id, _)| id)
            .collect();
        let mut claimed: BTreeMap<&TaskId, DateTime<Utc>> = BTreeMap::new();
        for entry in rest.clone() {
            if let Record::TaskClaimed { task, .. } = &entry.record
                && let Some(task) = orphans.get(task)
            {
                claimed.entry(*task).or_insert(entry.at);
            }
        }
        assert_eq!(claimed.len(), orphans.len(), "tasks of end {idx} were left");
        let last = claimed.values().max().map(|at| (*at - end.at).to_std().unwrap_or_default());
        taken[usize::from(end.blow == Blow::Stop)].extend(last);
    }
    taken.iter_mut().for_each(|it| it.sort());
    taken
}

/// What the plant counted of each order, once all that were accepted are over or it takes too long.
async fn counted(hall: &Hall, accepted: &[String]) -> BTreeMap<String, (u64, u64)> {
    let deadline = Instant::now() + BOUND;
    loop {
        let counted = hall.counted().await;
        let over = accepted.iter().all(|it| counted.get(it).is_some_and(|it| it.1 > 0));
        if over || Instant::now() > deadline {
            return counted;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: run by `make drills`"]
async fn drill_each_of_two_nodes_is_killed_and_stopped_again_and_again() {
    let (kills, a_minute) = (asked_for("KILLS", KILLS), asked_for("ORDERS", ORDERS));
    let hall = RwLock::new(Hall::start(PER_FLOOR).await);
    let over = AtomicBool::new(false);
    // Other instants at each run; those of one that failed come again by its number, as far as a clock can do that.
    let seed = asked_for("SEED", usize::try_from(Utc::now().timestamp()).unwrap());
    println!("SEED={seed}");
    let mut instants = Rng::new(seed as u64, "strikes");
    let strikes = async {
        let mut ends = strike_in_turn(&hall, Blow::Kill, kills, &mut instants).await;
        ends.extend(strike_in_turn(&hall, Blow::Stop, STOPS, &mut instants).await);
        over.store(true, Ordering::Relaxed);
        ends
    };
    let (accepted, ends) = tokio::join!(load(&hall, a_minute, &over), strikes);
    let hall = hall.into_inner();

    let counted = counted(&hall, &accepted).await;
    let lost = accepted.iter().filter(|it| counted.get(*it).is_none_or(|it| it.1 == 0)).count();
    let doubled = counted.values().filter(|it| it.0 > 1 || it.1 > 1).count();
    let known: BTreeSet<&String> = accepted.iter().collect();
    let strange = counted.keys().filter(|it| !known.contains(it)).count();
    println!(
        "kills {kills}, of gateway, lease store or broker {}, graceful stops {STOPS}, orders accepted {}, lost {lost}, doubled {doubled}, unknown {strange}",
        kills / 3,
        accepted.len()
    );
    let entries = hall.entries().await;
    let [takeovers, hand_overs] = hand_overs(&entries, &ends);
    for (name, taken) in [("takeovers", &takeovers), ("hand-overs", &hand_overs)] {
        if let (Some(median), Some(worst)) = (taken.get(taken.len() / 2), taken.last()) {
            println!("{name} {}, median {median:.1?}, worst {worst:.1?}", taken.len());
        }
    }
    let lift = hall.lift().await;
    println!("{} entries; lift {lift}", entries.len());
    assert_eq!((known.len(), lost, doubled, strange), (accepted.len(), 0, 0, 0), "{}", hall.logs());
    assert_eq!((&lift["contradictions"], &lift["vehiclesMax"]), (&0.into(), &1.into()), "{lift:#}");
    // Both have twice the time that they need on a machine that does nothing else.
    for (taken, ends, bound) in [(&takeovers, kills, TAKEN_OVER_MAX), (&hand_overs, STOPS, HANDED_OVER_MAX)] {
        assert!(taken.len() * 2 > ends, "{} of {ends} ends had tasks to take over", taken.len());
        assert!(taken.last().is_some_and(|it| *it <= bound), "{taken:?}");
    }
}
