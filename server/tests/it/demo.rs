//! The demonstration goes on where it was, however it ended.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::processes::{
    Process, RIDE_BOUND, START_BOUND, all_heard, free_port, place_order, state_of, tail, wait,
};

/// The small site as a demonstration, with a folder of its own.
struct Demo {
    folder: tempfile::TempDir,
    port: u16,
}

impl Demo {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("demo")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoistway"));
        command
            .args(["demo", "--site", concat!(env!("CARGO_MANIFEST_DIR"), "/sites/small.toml")])
            .args(["--listen", &format!("127.0.0.1:{}", self.port)])
            .args(["--data", self.data().to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    fn start(&self, arguments: &[&str]) -> Process {
        let log = || File::options().create(true).append(true).open(self.log()).unwrap();
        let child = self.command(arguments).stdout(log()).stderr(log()).spawn().unwrap();
        Process { child }
    }

    /// A start that ends at once.
    fn refused(&self) -> Output {
        self.command(&[]).output().unwrap()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("demo.log")
    }

    async fn wait(&self, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
        wait(self.port, path, RIDE_BOUND.max(START_BOUND), || tail(&self.log()), fits).await
    }

    /// What the plant counted, as its disk keeps it.
    async fn loads(&self) -> Vec<Value> {
        let pool = server::store::open(&self.data().join("plant.db")).await.unwrap();
        let states: Vec<String> = sqlx::query_scalar("SELECT state FROM plant_parts WHERE kind = 'load'")
            .fetch_all(&pool)
            .await
            .unwrap();
        pool.close().await;
        states.iter().map(|it| serde_json::from_str(it).unwrap()).collect()
    }
}

/// An order is under way in the car when the demonstration ends; the next one finishes it.
async fn goes_on(end: impl AsyncFnOnce(Process)) {
    let demo = Demo::new();
    let first = demo.start(&[]);
    demo.wait("/api/v1/vehicles", all_heard).await;
    let path = format!("/api/v1/tasks/{}", place_order(demo.port).await);
    demo.wait(&path, |it| it["activity"].get("rides").is_some()).await;
    end(first).await;
    let loads = demo.loads().await;
    assert_eq!(loads.len(), 1, "{}", tail(&demo.log()));
    assert_eq!((&loads[0]["picked"], &loads[0]["dropped"]), (&1.into(), &0.into()), "{loads:?}");

    let second = demo.start(&[]);
    demo.wait(&path, |it| state_of(it) == "completed").await;
    second.terminate();
    assert!(second.ended().await.success(), "{}", tail(&demo.log()));
    let loads = demo.loads().await;
    assert_eq!(loads.len(), 1, "{loads:?}");
    assert_eq!((&loads[0]["picked"], &loads[0]["dropped"]), (&1.into(), &1.into()), "{loads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_stopped_in_mid_ride_goes_on_at_the_next_start() {
    goes_on(async |demo: Process| {
        demo.terminate();
        assert!(demo.ended().await.success());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_killed_in_mid_ride_goes_on_at_the_next_start() {
    goes_on(async |demo: Process| drop(demo)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_demo_sets_the_earlier_one_aside_and_removes_nothing() {
    let demo = Demo::new();
    let first = demo.start(&[]);
    demo.wait("/readyz", |_| true).await;
    let path = format!("/api/v1/tasks/{}", place_order(demo.port).await);
    first.terminate();
    assert!(first.ended().await.success());

    let fresh = demo.start(&["--fresh"]);
    demo.wait("/api/v1/orders", |it| it["items"] == serde_json::json!([])).await;
    fresh.terminate();
    assert!(fresh.ended().await.success());
    let beside = |it: std::io::Result<std::fs::DirEntry>| {
        let name = it.unwrap().file_name().into_string().unwrap();
        name.starts_with("demo-").then_some(name)
    };
    let aside: Vec<String> = std::fs::read_dir(demo.folder.path()).unwrap().filter_map(beside).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert!(std::fs::read_to_string(demo.log()).unwrap().contains(&aside[0]), "it says where");

    // What was set aside is a demonstration like any other.
    std::fs::remove_dir_all(demo.data()).unwrap();
    std::fs::rename(demo.folder.path().join(&aside[0]), demo.data()).unwrap();
    let again = demo.start(&[]);
    demo.wait(&path, |it| it.get("state").is_some()).await;
    again.terminate();
    assert!(again.ended().await.success());

    std::fs::remove_file(demo.data().join("plant.db")).unwrap();
    let refused = demo.refused();
    let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{reason}");
    assert!(reason.contains("has a ledger and not the plant that it tells of"), "{reason}");
}
