//! A node that sleeps while it holds a lift's lease, and wakes up when the lift has another voice.

use std::time::{Duration, Instant};

use kernel::wire::ledger::Record;

use super::claims;
use super::hall::Hall;
use crate::processes::{RIDE_BOUND, START_BOUND, state_of};

/// It is stopped with the lease in hand and goes on in the moment in which the other node has it: what it still had in
/// mind to say reaches no PLC, the load is moved once, and the node takes part again.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_sleeps_on_a_lease_has_lost_the_lift_when_it_wakes() {
    let broken = sleeps_on_a_lease(Hall::start(2).await).await;
    println!("broken after {broken:.1?}");
}

/// With a longest hold beyond the life of a lease nobody breaks it, and it ends by itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes as long as a lease lives: make drills"]
async fn drill_a_node_that_sleeps_on_a_lease_until_it_ends() {
    let hall = Hall::start_told(2, &["--lease-hold-max", "60"]).await;
    let ended = sleeps_on_a_lease(hall).await;
    println!("ended after {ended:.1?}");
    // It slept from within its first second on.
    assert!(ended > Duration::from_secs(29), "{ended:?}");
}

/// After how long the other has the lease.
async fn sleeps_on_a_lease(hall: Hall) -> Duration {
    let placed = hall.place(0, "one", "P1-1", "D2-1").await.unwrap();
    let task = placed["task"].as_str().unwrap().to_owned();
    let owner = hall.owner_at_work(&task).await;
    let (name, other) = (hall.node(owner), 1 - owner);

    hall.freeze_with_lease(owner, "L1").await;
    let frozen = Instant::now();
    hall.lease_passes_to(other, "L1").await;
    let passed = frozen.elapsed();
    hall.thaw_node(owner);

    let path = format!("/api/v1/tasks/{task}");
    hall.wait(other, &path, RIDE_BOUND, |it| state_of(it) == "completed").await;
    let takes_part = |it: &serde_json::Value| it["standing"] == "running" && it["run"] == 2;
    hall.wait(other, &format!("/api/v1/nodes/{name}"), START_BOUND, takes_part).await;
    hall.place(owner, "two", "P2-2", "D2-2").await.unwrap();
    let over = |it: &serde_json::Value| {
        let tasks = it["items"].as_array().unwrap();
        tasks.len() == 2 && tasks.iter().all(|it| state_of(it) == "completed")
    };
    hall.wait(owner, "/api/v1/tasks", RIDE_BOUND, over).await;

    let entries = hall.entries().await;
    let both = [hall.node(owner), hall.node(other)];
    assert_eq!(claims(&entries, &task), [(&both[0], 1), (&both[1], 2)], "taken over once");
    let lost = |record: &Record| matches!(record, Record::NodeLost { node, run: 1 } if *node == both[0]);
    assert_eq!(entries.iter().filter(|it| lost(&it.record)).count(), 1);
    let counted = hall.counted().await;
    assert!(counted.len() == 2 && counted.values().all(|it| *it == (1, 1)), "{counted:?}");
    let lift = hall.lift().await;
    assert_eq!((&lift["contradictions"], &lift["vehiclesMax"]), (&0.into(), &1.into()), "{lift:#}");
    assert_eq!(lift["writes"], lift["taken"], "{lift:#}");
    passed
}
