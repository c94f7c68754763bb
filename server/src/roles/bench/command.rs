//! `hoistway bench command`: from a node's decision to the write that reaches the PLC, through link, broker, gateway and
//! its marks, beside one bare Modbus write.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kernel::ids::LiftId;
use tokio_modbus::client::{Writer as _, tcp};
use tokio_util::sync::CancellationToken;

use super::node::Node;
use super::plc::Plc;
use super::{orders, percentile, say, shown};
use crate::messaging::broker;
use crate::roles::gateway;
use crate::roles::progress::Progress;
use crate::site::{self, HostPort, SiteFile};
use crate::store::{self, Database};

pub(super) const HELP: &str = "\
Example:
  hoistway bench command --count 200

The yardsticks are one write of a command block on a Modbus TCP connection and its answer, on the same PLCs, and one bare
insert and commit on the same disk, in the same run. A command is measured from the moment in which the node hands it to its link until the PLC has it: MQTT by the
embedded broker, what the gateway checks, the marks that it makes durable on the disk of --data, and the write. Lease and
ledger come before that and are measured by `bench lease` and `bench orders`. The PLCs take a command at once. Lifts are
commanded one after the other, evenly within the gateway's status period.";

/// Bare writes.
const BARE: u16 = 1000;
/// A lift has so many commands at least.
const EACH_MIN: u32 = 5;

/// Arguments of `hoistway bench command`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Commands of each measurement, shared out among its lifts; a lift has at least five
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=10_000))]
    count: u32,
    /// Lifts on the node, one measurement each
    #[arg(long, value_name = "N,…", default_value = "1,10,100", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=100))]
    lifts: Vec<u16>,
    /// Where the gateway's marks are written; removed afterwards
    #[arg(long, value_name = "DIR", default_value = "var/bench")]
    data: PathBuf,
}

/// Measures and tells.
///
/// # Errors
/// The gateway does not start, a command does not reach its PLC, or output cannot be written.
pub(super) async fn run(args: Args, stop: CancellationToken) -> anyhow::Result<()> {
    let own = args.data.join(std::process::id().to_string());
    std::fs::create_dir_all(&own).with_context(|| format!("cannot create {}", own.display()))?;
    let measured = tokio::select! {
        measured = measure(&args, &own) => measured,
        () = stop.cancelled() => Ok(()),
    };
    std::fs::remove_dir_all(&own).with_context(|| format!("cannot remove {}", own.display()))?;
    measured
}

async fn measure(args: &Args, own: &Path) -> anyhow::Result<()> {
    let site = site_of(1)?;
    let plc = Plc::start(site.plant.lifts.values().next().context("no lift")?).await?;
    let bare = percentile(&mut bare_writes(plc.address).await?, 50);
    say(&format!("bare Modbus write          p50 {}\n", shown(bare)))?;
    let pool = store::open(&own.join("bare.db")).await?;
    let commits = orders::bare_commits(&Database::Sqlite(pool.clone())).await;
    pool.close().await;
    say(&format!("bare insert and commit    mean {}\n", shown(Duration::from_secs_f64(commits?.recip()))))?;
    for lifts in &args.lifts {
        let each = (args.count / u32::from(*lifts)).max(EACH_MIN);
        let mut took = commands(*lifts, each, own).await?;
        let (p50, p99) = (percentile(&mut took, 50), percentile(&mut took, 99));
        let (times, n) = (p50.as_secs_f64() / bare.as_secs_f64(), took.len());
        let (p50, p99) = (shown(p50), shown(p99));
        say(&format!(
            "command, {lifts:>3} on a node     p50 {p50}, p99 {p99}, {times:.1} × the bare write; {n} commands\n"
        ))?;
    }
    Ok(())
}

/// How long a write of a command block and its answer take.
async fn bare_writes(plc: SocketAddr) -> anyhow::Result<Vec<Duration>> {
    let mut context = tcp::connect(plc).await.context("the PLC does not answer")?;
    let mut took = Vec::new();
    for nth in 0..BARE {
        let began = Instant::now();
        // Door open and door shut in turn, at the lowest stop.
        context.write_multiple_registers(100, &[nth + 1, 2 + nth % 2, 1]).await??;
        took.push(began.elapsed());
    }
    Ok(took)
}

/// How long commands took to the PLCs of so many lifts, `each` for each of them.
async fn commands(lifts: u16, each: u32, own: &Path) -> anyhow::Result<Vec<Duration>> {
    let site = site_of(lifts)?;
    let broker = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let at = HostPort { host: broker.address().ip().to_string(), port: broker.address().port() };
    let mut plcs: BTreeMap<LiftId, Plc> = BTreeMap::new();
    for (id, lift) in &site.plant.lifts {
        plcs.insert(id.clone(), Plc::start(lift).await?);
    }
    let plc_addresses = plcs.iter().map(|(id, it)| (id.clone(), it.address)).collect();
    let pool = store::open(&own.join(format!("gateway-{lifts}.db"))).await?;
    let wires = gateway::Wires { broker: &at, plc_addresses: &plc_addresses, levers: None };
    let stop = CancellationToken::new();
    let running = gateway::start(&site, "G1", wires, pool.clone(), stop.clone()).await?;
    let mut progress = Progress::new();
    let mut node = Node::start(&site.plant, &at, plcs)?;
    let measured = node.command(each, &mut progress).await;
    progress.clear();
    stop.cancel();
    let ended = running.wait().await;
    pool.close().await;
    ended?;
    measured
}

/// So many lifts over two floors, side by side; nobody rides.
fn site_of(lifts: u16) -> anyhow::Result<SiteFile> {
    let mut text = String::from(
        "[site]\nid = \"bench\"\nname = \"Bench\"\ntime_zone = \"UTC\"\nshifts = [\"06:00\"]\n[[gateways]]\nid = \"G1\"\n\
         [[floors]]\nid = \"1\"\nname = \"1\"\n[[floors]]\nid = \"2\"\nname = \"2\"\n[points]\n",
    );
    let every = || (1..=lifts).flat_map(|nth| [1, 2].map(|floor| (nth, floor)));
    for (nth, floor) in every() {
        for (name, y) in [("W", 0), ("Z", 3), ("L", 6)] {
            writeln!(text, "{name}{nth}-{floor} = {{ floor = \"{floor}\", x = {}.0, y = {y}.0 }}", 3 * nth)?;
        }
    }
    // A site has a vehicle and two stations; they take no part.
    text += "H = { floor = \"1\", x = 0.0, y = -3.0 }\nP = { floor = \"1\", x = 0.0, y = 0.0 }\n";
    text += "D = { floor = \"1\", x = 1.0, y = 0.0 }\n[[edges]]\npath = [\"H\", \"P\", \"D\", \"W1-1\"]\n";
    for floor in [1, 2] {
        let line: Vec<String> = (1..=lifts).map(|nth| format!("\"W{nth}-{floor}\"")).collect();
        if lifts > 1 {
            writeln!(text, "[[edges]]\npath = [{}]", line.join(", "))?;
        }
    }
    for (nth, floor) in every() {
        writeln!(text, "[[edges]]\npath = [\"W{nth}-{floor}\", \"Z{nth}-{floor}\", \"L{nth}-{floor}\"]")?;
        writeln!(text, "[[zones]]\nname = \"{nth}-{floor}\"\nkind = \"transition\"")?;
        writeln!(text, "points = [\"Z{nth}-{floor}\", \"L{nth}-{floor}\"]")?;
    }
    for nth in 1..=lifts {
        let stop = |floor| {
            format!("{{ floor = \"{floor}\", landing = \"L{nth}-{floor}\", waiting = [\"W{nth}-{floor}\"] }}")
        };
        writeln!(
            text,
            "[lifts.L{nth}]\ngateway = \"G1\"\ntravel_per_floor_s = 3.0\ndoor_s = 1.5\ncapacity_vehicles = 1\npayload_kg = 2000\n\
             plc = {{ address = \"127.0.0.1:{}\", unit = 1, profile = \"hoistway-plc\" }}\nstops = [{}, {}]",
            // Replaced by the address of the bench's own PLC; no two are alike.
            10_000 + nth,
            stop(1),
            stop(2)
        )?;
    }
    text += "[stations]\nP = { point = \"P\" }\nD = { point = \"D\" }\n[vehicles.V1]\ngateway = \"G1\"\nhome = \"H\"\n";
    text += "speed_m_s = 1.2\ncreep_m_s = 0.3\nweight_kg = 350\npayload_kg = 500\n";
    text += "[link_budget]\ntransport_s = 1.5\nexecution_s = 10.0\nlift_s = 10.0\nroaming_s = 5.0\n";
    Ok(site::parse(&text, "the bench's site")?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn its_sites_are_sound() {
        for lifts in [1, 2, 100] {
            assert_eq!(super::site_of(lifts).unwrap().plant.lifts.len(), usize::from(lifts));
        }
    }
}
