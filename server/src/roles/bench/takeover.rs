//! How soon a node's tasks are another's after it was killed. The node that is killed is a process of its own.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use kernel::ids::NodeId;
use kernel::wire::view::{Activity, NodeStanding, PeerView, TaskView};
use tokio::process::{Child, Command};

use super::house::{House, START_BOUND};
use crate::roles::progress::Progress;
use crate::site;
use crate::store::address::LedgerUrl;

/// Orders that are placed before each kill: more than the site has vehicles, so that both nodes have work for some.
const ORDERS: u32 = 24;
/// So many tasks does the node drive at least when it is killed.
const TASKS_MIN: u32 = 2;
/// Looked at: more than the site has vehicles, so more than can be claimed.
const TASKS_MAX: usize = 100;
/// How often it is looked whether a task is another's: fine against seconds.
const LOOK: Duration = Duration::from_millis(5);
/// Kills are spread over so much, longer than a node's heartbeat, so that they meet it at each of its ages.
const SPREAD: Duration = Duration::from_secs(1);
/// A takeover is over long before: the promise is 10 s.
const BOUND: Duration = Duration::from_secs(60);

/// Raises the plant, then starts node B beside the house's A and kills it at work, so many times. Gives how long each
/// takeover took.
///
/// # Errors
/// The node does not start, an order is refused, or a takeover is not over within a minute.
pub(super) async fn measure(
    house: &House,
    ledger: &LedgerUrl,
    own: &Path,
    kills: u32,
    progress: &mut Progress,
) -> anyhow::Result<Vec<Duration>> {
    let site = own.join("site.toml");
    std::fs::write(&site, site::BENCH).with_context(|| format!("cannot write {}", site.display()))?;
    let vehicles = house.raise_plant(own).await?;
    let node = NodeId::try_new("B")?;
    let mut took = Vec::new();
    for nth in 0..kills {
        let mut process = spawn(house, ledger, own, &node)?;
        let is_up = || house.hub().peer(&node).is_some_and(|it| is_up(&it, u64::from(nth) + 1));
        tokio::select! {
            up = until(START_BOUND, is_up) => ensure!(up, "node {node} does not start:\n{}", log_of(own)),
            ended = process.wait() => bail!("node {node} ended ({}):\n{}", ended?, log_of(own)),
        }
        house.place(ORDERS, &format!("kill-{nth}"), 1).await?;
        ensure!(until(BOUND, || tasks_of(house, &node) >= TASKS_MIN).await, "node {node} gets no tasks");
        tokio::time::sleep(SPREAD * nth / kills).await;
        process.kill().await.context("cannot kill the node")?;
        let killed = Instant::now();
        ensure!(until(BOUND, || tasks_of(house, &node) == 0).await, "its tasks are not taken over");
        took.push(killed.elapsed());
        progress.tell(u64::from(nth) + 1, u64::from(kills), "kills");
    }
    vehicles.end().await?;
    Ok(took)
}

/// Whether this run of the node takes part.
fn is_up(peer: &PeerView, run: u64) -> bool {
    peer.run == run && peer.standing == NodeStanding::Running && peer.hears_broker == Some(true)
}

/// How many open tasks have this node's claim, whether it lives or not.
fn tasks_of(house: &House, node: &NodeId) -> u32 {
    let is_theirs = |it: &TaskView| it.activity != Activity::Ended && it.claimed_by.as_ref() == Some(node);
    let claimed = house.hub().tasks(None, TASKS_MAX, is_theirs).items;
    u32::try_from(claimed.len()).unwrap_or(u32::MAX)
}

/// Looks until it is so; false when it takes too long.
async fn until(bound: Duration, is_so: impl Fn() -> bool) -> bool {
    let look = async {
        while !is_so() {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(bound, look).await.is_ok()
}

/// A control node as it ships. It ends with its handle.
fn spawn(house: &House, ledger: &LedgerUrl, own: &Path, node: &NodeId) -> anyhow::Result<Child> {
    let log = File::options().create(true).append(true).open(own.join("node.log")).context("its log")?;
    Command::new(std::env::current_exe().context("where this program is")?)
        .args(["control", "--listen", "127.0.0.1:0", "--node", node.as_str()])
        .args(["--broker", &house.broker().to_string()])
        .arg("--site")
        .arg(own.join("site.toml"))
        // Not on its command line, which others of the machine can read.
        .env("HOISTWAY_LEDGER", ledger.with_password())
        .env_remove("HOISTWAY_LEASES")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the node")
}

/// What the node said last.
fn log_of(own: &Path) -> String {
    let log = std::fs::read_to_string(own.join("node.log")).unwrap_or_default();
    let lines: Vec<&str> = log.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
