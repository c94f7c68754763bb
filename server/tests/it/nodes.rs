//! Two control processes on one PostgreSQL, one Redis and one Mosquitto, with a gateway and the plant beside them.

mod drill;
mod hall;
mod roads;
mod rough;
mod sleeper;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kernel::control::{Book, NodeEnd};
use kernel::ids::{LedgerSequence, NodeId};
use kernel::wire::ledger::{Entry, Record};
use kernel::wire::view::{Activity, Knowledge, TaskView};
use serde_json::Value;

use self::hall::Hall;
use crate::live::Browser;
use crate::live::resume::Page;
use crate::postgres::Postgres;
use crate::processes::{RIDE_BOUND, START_BOUND, state_of};

fn claims<'a>(entries: &'a [Entry], task: &'a str) -> Vec<(&'a NodeId, u64)> {
    let claim = |it: &'a Entry| {
        let Record::TaskClaimed { task: claimed, generation } = &it.record else { return None };
        (claimed.as_str() == task).then_some((&it.node, generation.0))
    };
    entries.iter().filter_map(claim).collect()
}

fn fold(entries: &[Entry]) -> Book {
    entries.iter().fold(Book::default(), |mut book, entry| {
        book.apply(entry).unwrap();
        book
    })
}

/// An order is asked for at both nodes at once, and is one order. It rides, so that it is under way for long. The node
/// that has it is stopped in mid task, then the other is killed with another one: each time the task goes on at the other,
/// and nothing is done twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_on_at_the_other_node() {
    let mut hall = Hall::start(2).await;
    let (first, second) =
        tokio::join!(hall.place(0, "one", "P1-1", "D2-1"), hall.place(1, "one", "P1-1", "D2-1"));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first["order"]["id"], second["order"]["id"], "one key is one order");
    let task = first["task"].as_str().unwrap().to_owned();
    let owner = hall.owner_at_work(&task).await;
    let other = 1 - owner;

    hall.stop_node(owner).await;
    let entries = hall.entries().await;
    let names = [0, 1].map(|idx| hall.node(idx));
    assert_eq!(fold(&entries).nodes[&names[owner]].end, Some(NodeEnd::Stopped));
    hall.wait(other, &format!("/api/v1/tasks/{task}"), RIDE_BOUND, |it| state_of(it) == "completed").await;
    let entries = hall.entries().await;
    assert_eq!(claims(&entries, &task), [(&names[owner], 1), (&names[other], 2)], "handed over once");
    let stopped = entries.iter().find(|it| matches!(it.record, Record::NodeStopped { .. })).unwrap();
    let taken = entries.iter().rfind(|it| matches!(it.record, Record::TaskClaimed { .. })).unwrap();
    println!("handed over in {} ms", (taken.at - stopped.at).num_milliseconds());

    hall.start_node(owner);
    hall.wait(owner, "/readyz", START_BOUND, |it| it["ready"] == true).await;
    health_is_alike(&hall, owner, other).await;
    let placed = hall.place(owner, "two", "P2-1", "D1-1").await.unwrap();
    let task = placed["task"].as_str().unwrap().to_owned();
    let owner = hall.owner_at_work(&task).await;
    let other = 1 - owner;
    hall.kill_node(owner);
    hall.wait(other, &format!("/api/v1/tasks/{task}"), RIDE_BOUND, |it| state_of(it) == "completed").await;
    let entries = hall.entries().await;
    assert_eq!(fold(&entries).nodes[&names[owner]].end, Some(NodeEnd::Lost));
    assert_eq!(claims(&entries, &task), [(&names[owner], 1), (&names[other], 2)], "taken over once");

    let counted = hall.counted().await;
    assert_eq!(counted.len(), 2, "{counted:?}");
    assert!(counted.values().all(|it| *it == (1, 1)), "{counted:?}");
}

/// After one ride: what the ledger tells of the lift is the same at who lived through it and at who was started anew; what
/// a node did itself is known to it alone.
async fn health_is_alike(hall: &Hall, restarted: usize, lived: usize) {
    // Two statuses of the gateway have come.
    let watches = |it: &Value| it["shifts"][0]["heard"]["watchedMs"].as_u64() > Some(0);
    let health = async |idx| {
        let health = hall.wait(idx, "/api/v1/lifts/L1/health", START_BOUND, watches).await;
        health["shifts"].as_array().unwrap().clone()
    };
    let (anew, lived) = (health(restarted).await, health(lived).await);
    let recorded = |shifts: &[Value]| shifts.iter().map(|it| it["recorded"].clone()).collect::<Vec<_>>();
    assert_eq!(recorded(&anew), recorded(&lived));
    let sum = |shifts: &[Value], pointer: &str| -> u64 {
        shifts.iter().filter_map(|it| it.pointer(pointer)?.as_u64()).sum()
    };
    assert_eq!(sum(&lived, "/recorded/vehicleWait/count"), 1, "{lived:#?}");
    assert!(sum(&lived, "/recorded/heldMs") > 3000, "{lived:#?}");
    for figure in ["leases/granted", "commands/sent", "commands/acknowledged", "movingMs"] {
        assert!(sum(&lived, &format!("/heard/{figure}")) > 0, "{figure}: {lived:#?}");
    }
    assert_eq!(sum(&anew, "/heard/commands/sent"), 0, "{anew:#?}");
}

/// More orders than vehicles: one that waits is taken back at the other node, one whose load is about to be taken up is
/// not, and neither is one that is over.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_taken_back_at_either_node() {
    let hall = Hall::start(2).await;
    let mut orders = Vec::new();
    for n in 0..8 {
        // The first is under way for long: it rides.
        let (from, to) = if n == 0 { ("P1-1", "D2-1") } else { [("P1-1", "D1-1"), ("P2-1", "D2-1")][n % 2] };
        let placed = hall.place(0, &format!("order-{n}"), from, to).await.unwrap();
        let name = |it: &Value| it.as_str().unwrap().to_owned();
        orders.push((name(&placed["order"]["id"]), name(&placed["task"])));
    }
    let waits = orders.pop().unwrap().0;
    hall.wait(1, &format!("/api/v1/orders/{waits}"), START_BOUND, |_| true).await;
    hall.owner_at_work(&orders[0].1).await;
    assert_eq!(hall.withdraw(1, &waits).await, (200, "withdrawn".to_owned()));
    assert_eq!(hall.withdraw(0, &waits).await, (200, "withdrawn".to_owned()), "again, elsewhere");
    assert_eq!(hall.withdraw(1, &orders[0].0).await, (409, "load_on_its_way".to_owned()));
    for (_, task) in &orders {
        hall.wait(1, &format!("/api/v1/tasks/{task}"), RIDE_BOUND, |it| state_of(it) == "completed").await;
    }
    assert_eq!(hall.withdraw(0, &orders[0].0).await, (409, "order_over".to_owned()));
    assert_eq!(hall.withdraw(0, "O-Z9").await, (404, "not_found".to_owned()));
    let counted = hall.counted().await;
    assert_eq!(counted.len(), orders.len(), "{counted:?}");
    assert!(!counted.contains_key(&waits) && counted.values().all(|it| *it == (1, 1)), "{counted:?}");
}

/// The vehicle of one floor is busy, so that the other one rides to the second load; its order is taken back on the way, at
/// the node that has not to be the one that drives it.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_taken_back_while_its_vehicle_rides_to_the_load() {
    let hall = Hall::start(1).await;
    hall.place(0, "one", "P1-1", "D1-1").await.unwrap();
    let placed = hall.place(0, "two", "P1-1", "D1-1").await.unwrap();
    let name = |it: &Value| it.as_str().unwrap().to_owned();
    let (order, task) = (name(&placed["order"]["id"]), name(&placed["task"]));
    let rides = |it: &Value| it["session"]["phase"] == "riding" && it["session"]["task"] == task.as_str();
    hall.wait(1, "/api/v1/lifts/L1", RIDE_BOUND, rides).await;
    let (status, told) = hall.withdraw(1, &order).await;
    assert_eq!(status, 202, "{told}");
    for idx in [0, 1] {
        hall.wait(idx, &format!("/api/v1/tasks/{task}"), RIDE_BOUND, |it| state_of(it) == "withdrawn").await;
    }
    assert_eq!(hall.withdraw(0, &order).await, (200, "withdrawn".to_owned()));
    let free = |it: &Value| it["session"].is_null();
    hall.wait(0, "/api/v1/lifts/L1", RIDE_BOUND, free).await;
    let counted = hall.counted().await;
    assert!(!counted.contains_key(&order) && counted.len() <= 1, "{counted:?}");
}

/// The car is on its way with a vehicle in it when PostgreSQL goes away: it comes to its floor and the door opens. The
/// rest waits for the ledger, and the load is moved once.
#[tokio::test(flavor = "multi_thread")]
async fn a_ride_goes_on_while_postgresql_is_away() {
    let postgres = Arc::new(Postgres::start().await);
    let hall = Hall::start_on(1, postgres.clone()).await;
    let placed = hall.place(0, "one", "P1-1", "D2-1").await.unwrap();
    let order = placed["order"]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/tasks/{}", placed["task"].as_str().unwrap());
    hall.wait(0, &path, RIDE_BOUND, |it| it["activity"].get("rides").is_some()).await;
    postgres.freeze();
    let at_its_floor = |it: &Value| {
        let status = &it[0]["status"];
        (&status["floor"], &status["door"]) == (&"2".into(), &"open".into())
    };
    for idx in [0, 1] {
        hall.wait(idx, "/api/v1/lifts", RIDE_BOUND, at_its_floor).await;
        assert_eq!(hall.place(idx, "two", "P1-1", "D1-1").await, None, "nothing is accepted");
    }
    assert_eq!(hall.counted().await[&order], (1, 0), "the load is aboard");
    postgres.thaw();
    hall.wait(0, &path, RIDE_BOUND, |it| state_of(it) == "completed").await;
    let counted = hall.counted().await;
    assert_eq!((counted.len(), counted[&order]), (1, (1, 1)), "{counted:?}");
    let lift = hall.lift().await;
    assert_eq!((&lift["contradictions"], &lift["vehiclesMax"]), (&0.into(), &1.into()), "{lift:#}");
}

/// Of each task what a node knows from the ledger, at each place of the ledger at which it showed something.
type Shown = BTreeMap<LedgerSequence, Vec<TaskView>>;

/// Follows a node until so many tasks are over.
async fn follow(address: SocketAddr, n_tasks: usize) -> Shown {
    let (mut page, mut browser) = Page::begin(Browser::at(address, "").await).await;
    let mut shown = Shown::new();
    loop {
        let known = known(&page.shown.tasks);
        let over = known.len() == n_tasks && known.iter().all(|it| it.state.is_terminal());
        if let Some(before) = shown.insert(page.shown.sequence, known.clone()) {
            assert_eq!(before, known, "the ledger says no more than before");
        }
        if over {
            return shown;
        }
        page.step(&mut browser).await;
    }
}

/// Without what the node hears for itself, in an order that does not hang on how it came about.
fn known(tasks: &[TaskView]) -> Vec<TaskView> {
    let unheard = |it: &TaskView| TaskView {
        knowledge: Knowledge::Confirmed,
        activity: Activity::Ended,
        next_delivery_at: None,
        ..it.clone()
    };
    let mut known: Vec<TaskView> = tasks.iter().map(unheard).collect();
    known.sort_by(|a, b| a.id.cmp(&b.id));
    known
}

/// Wherever both nodes stand at one place of the ledger, they show the same of it: while orders are under way, and after.
#[tokio::test(flavor = "multi_thread")]
async fn both_nodes_show_the_same() {
    const ORDERS: usize = 4;
    let hall = Hall::start(2).await;
    let place = async {
        for n in 0..ORDERS {
            let (from, to) = [("P1-1", "D1-1"), ("P2-1", "D2-1")][n % 2];
            hall.place(n % 2, &format!("order-{n}"), from, to).await.unwrap();
        }
    };
    let all = async { tokio::join!(follow(hall.address(0), ORDERS), follow(hall.address(1), ORDERS), place) };
    let (a, b, ()) = tokio::time::timeout(RIDE_BOUND, all).await.expect("all orders are carried out");
    let mut n_under_way = 0;
    for (sequence, of_a) in &a {
        let Some(of_b) = b.get(sequence) else { continue };
        assert_eq!(of_a, of_b, "at entry {sequence}");
        n_under_way += usize::from(of_a.iter().any(|it| !it.state.is_terminal()));
    }
    println!("compared at {n_under_way} places under way");
    assert!(n_under_way > 3, "they hardly ever stood at one place: {:?} and {:?}", a.keys(), b.keys());

    let shown = async |idx| {
        let mut seen = Vec::new();
        for path in ["/api/v1/tasks", "/api/v1/orders"] {
            seen.push(hall.wait(idx, path, START_BOUND, |_| true).await);
        }
        seen
    };
    let (a, b): (Vec<Value>, Vec<Value>) = (shown(0).await, shown(1).await);
    assert_eq!(a, b);
}
