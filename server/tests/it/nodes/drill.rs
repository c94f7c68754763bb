//! One of two nodes is killed again and again under load. Run by `make drills`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use kernel::control::Book;
use kernel::ids::{NodeId, TaskId};
use kernel::wire::ledger::{Entry, Record};

use super::hall::Hall;

/// Vehicles on each of the two floors: enough that most orders find one on their own floor, for the lift carries no
/// more than one vehicle in half a minute.
const PER_FLOOR: usize = 24;
/// Orders as long as nodes are killed, nearly as many as the vehicles carry.
const ORDERS_PER_KILL: usize = 14;
const ORDER_PERIOD: Duration = Duration::from_millis(850);
/// A killed node stays away for longer than it takes to be found silent.
const AWAY: Duration = Duration::from_secs(8);
/// Between a start and the next kill at least, and at most so much more.
const UP: Duration = Duration::from_millis(1500);
const UP_MORE_MS: u64 = 3000;
/// Kills, unless `KILLS` says otherwise. 15 take not quite three minutes.
const KILLS: usize = 15;
/// An order is over long before.
const BOUND: Duration = Duration::from_secs(600);

/// The order of a number: mostly within a bay, each fortieth to the other floor, since one lift carries one vehicle.
fn ends(number: usize) -> (String, String) {
    let (floor, bay) = (1 + number % 2, 1 + (number / 2) % PER_FLOOR);
    let to = if number.is_multiple_of(40) { 3 - floor } else { floor };
    (format!("P{floor}-{bay}"), format!("D{to}-{bay}"))
}

/// Places every order, with the same key at one node or the other until it is accepted. Gives the orders' names.
async fn load(hall: &tokio::sync::RwLock<Hall>, orders: usize) -> BTreeSet<String> {
    let mut accepted = BTreeSet::new();
    let mut due = Instant::now();
    for number in 0..orders {
        let (from, to) = ends(number);
        tokio::time::sleep_until(due.into()).await;
        due += ORDER_PERIOD;
        for turn in number.. {
            let answer = hall.read().await.place(turn % 2, &format!("order-{number}"), &from, &to).await;
            if let Some(body) = answer {
                accepted.insert(body["order"]["id"].as_str().unwrap().to_owned());
                break;
            }
            assert!(turn < number + 1000, "no node takes order {number}\n{}", hall.read().await.logs());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    accepted
}

/// Kills node B again and again; gives the moments.
async fn kill_again_and_again(hall: &tokio::sync::RwLock<Hall>, kills: usize) -> Vec<DateTime<Utc>> {
    let mut moments = Vec::new();
    for nth in 0..kills as u64 {
        // No two at one moment of what the node does.
        tokio::time::sleep(UP + Duration::from_millis(nth * 1733 % UP_MORE_MS)).await;
        hall.write().await.kill_node(1);
        moments.push(Utc::now());
        tokio::time::sleep(AWAY).await;
        let mut hall = hall.write().await;
        hall.start_node(1);
        drop(hall);
    }
    moments
}

/// How long after each kill the last of the dead node's tasks was another's or over.
fn takeovers(entries: &[Entry], kills: &[DateTime<Utc>], dead: &NodeId) -> Vec<Duration> {
    let mut book = Book::default();
    let mut rest = entries.iter().peekable();
    let mut taken = Vec::new();
    for (idx, kill) in kills.iter().enumerate() {
        while let Some(entry) = rest.next_if(|it| it.at <= *kill) {
            book.apply(entry).unwrap();
        }
        let orphans: BTreeSet<&TaskId> = book
            .open_tasks()
            .filter(|(_, it)| it.claimed_by.as_ref() == Some(dead) && it.claimed_in == book.run_of(dead))
            .map(|(id, _)| id)
            .collect();
        let until = kills.get(idx + 1).copied().unwrap_or(DateTime::<Utc>::MAX_UTC);
        let mut claimed: BTreeMap<&TaskId, DateTime<Utc>> = BTreeMap::new();
        for entry in rest.clone().take_while(|it| it.at <= until) {
            if let Record::TaskClaimed { task, .. } = &entry.record
                && let Some(task) = orphans.get(task)
            {
                claimed.entry(*task).or_insert(entry.at);
            }
        }
        assert_eq!(claimed.len(), orphans.len(), "tasks of kill {idx} were left");
        taken.extend(claimed.values().max().map(|at| (*at - *kill).to_std().unwrap_or_default()));
    }
    taken.sort();
    taken
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: run by `make drills`"]
async fn drill_one_of_two_nodes_is_killed_again_and_again() {
    let kills = std::env::var("KILLS").ok().map_or(KILLS, |it| it.parse().expect("KILLS is a number"));
    let orders = kills * ORDERS_PER_KILL;
    let hall = tokio::sync::RwLock::new(Hall::start(PER_FLOOR).await);
    let (accepted, moments) = tokio::join!(load(&hall, orders), kill_again_and_again(&hall, kills));
    let hall = hall.into_inner();

    let deadline = Instant::now() + BOUND;
    let counted = loop {
        let counted = hall.counted().await;
        let over = accepted.iter().all(|it| counted.get(it).is_some_and(|it| it.1 > 0));
        if over || Instant::now() > deadline {
            break counted;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let lost = accepted.iter().filter(|it| counted.get(*it).is_none_or(|it| it.1 == 0)).count();
    let doubled = counted.values().filter(|it| it.0 > 1 || it.1 > 1).count();
    let strange = counted.keys().filter(|it| !accepted.contains(*it)).count();
    let entries = hall.entries().await;
    let taken = takeovers(&entries, &moments, &hall.node(1));
    let (median, worst) = (taken.get(taken.len() / 2), taken.last());
    let lift = hall.lift().await;
    println!(
        "kills {}, orders accepted {}, lost {lost}, doubled {doubled}, unknown {strange}",
        moments.len(),
        accepted.len()
    );
    println!(
        "takeovers {}, median {median:?}, worst {worst:?}; {} entries; lift {lift}",
        taken.len(),
        entries.len()
    );
    assert_eq!((accepted.len(), lost, doubled, strange), (orders, 0, 0, 0), "{}", hall.logs());
    assert_eq!((&lift["contradictions"], &lift["vehiclesMax"]), (&0.into(), &1.into()), "{lift:#}");
    assert!(!taken.is_empty() && worst.is_some_and(|it| *it <= Duration::from_secs(10)), "{taken:?}");
}
