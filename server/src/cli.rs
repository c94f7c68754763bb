//! The command line: one executable, one role a process.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};

use crate::store::address::LedgerUrl;
use crate::telemetry::{self, LogFormat, Occasion};
use crate::{roles, stop};

/// Said below every help.
const AFTER_HELP: &str = "\
Environment:
  HOISTWAY_LOG   which lines of the log are written to standard error, such as `info,server=debug`

Exit codes: 0 done, 1 it failed and said why, 2 the command line is wrong.

Hoistway commands; it does not protect. Door interlocks, obstruction sensors, vehicle scanners and emergency stops do.";

const DEMO_HELP: &str = "\
Example:
  hoistway demo
  curl -i http://127.0.0.1:8080/api/v1/orders -H \"Idempotency-Key: $(date +%s)\" --json '{\"from\":\"A31\",\"to\":\"D14\"}'
  hoistway demo --fresh
  hoistway demo --drills
  curl -i http://127.0.0.1:8080/api/v1/drills --json '{\"fault\":\"doorStuck\",\"at\":{\"lift\":\"L1\"},\"forMs\":30000}'

Nothing is short-cut: the parts talk MQTT and Modbus TCP over real sockets, as separate processes would. Stopped or
killed, it goes on where it was at the next start: the simulated plant stands still meanwhile. With --drills faults can
be injected from the page and over REST, and everything that the run records and shows is marked as a drill.";

const CONTROL_HELP: &str = "\
Example:
  hoistway control --site hall.toml --node A --broker 10.0.0.5:1883 --data /var/lib/hoistway
  PGPASSWORD=… hoistway control --site hall.toml --node B --ledger postgres://hoist@10.0.0.6:5432/hall

The ledger is all that a node needs to go on after it was killed: a file in the data folder, or, for nodes that share
one, a PostgreSQL database, which has to exist; its tables are created at the first start. While PostgreSQL is away
orders are refused with 503 and /readyz says so; nothing that was accepted is lost. TLS is not spoken: keep the way to
the server inside the plant's network or in a tunnel.
Nodes that share lifts keep their leases on one Redis, which may come and go: without it /readyz says
`degraded: [\"lease\"]`, no lift is commanded, and after 30 s the gateways decide between the nodes by themselves. An
address with a password is better given by HOISTWAY_LEASES, for the command line of a process can be read by others:
  redis://[user:password@]host:port[/database]                                       one Redis
  redis-sentinel://[user:password@]host:port,host:port/master-name[/database]        the master that sentinels name
  redis-cluster://[user:password@]host:port,host:port                                a cluster, by any of its servers
With ?replicas=N after it, a grant that N replicas have not confirmed in 100 ms is given back, and a store whose replicas
confirm nothing counts as away.
Until there are accounts a node listens on loopback only.";

const GATEWAY_HELP: &str = "\
Example:
  hoistway gateway --site hall.toml --id G1 --broker 10.0.0.5:1883 --data /var/lib/hoistway

Only this gateway may write the PLCs of its lifts: never start two with one name. SIGINT or SIGTERM ends it; what is
under way in a PLC is found out at the next start.";

const CHECK_CONFIG_HELP: &str = "\
Example:
  hoistway check-config hall.toml

Every problem is printed with its line, its key, the reason and what to do. A sound file prints what follows from it:
the acknowledgement deadline in its four parts, the hold limit of each lift, the time in each transition zone.

Exit codes: 0 sound, 1 not sound or not readable, 2 the command line is wrong.";

const MIGRATE_HELP: &str = "\
Example:
  cp site/store.db trial.db && hoistway migrate trial.db
  createdb trial && pg_dump site | psql -q trial && hoistway migrate postgres://hoist@db:5432/trial

Every role does the same to its own store at its start; try it on a copy before an upgrade.";

const SIMULATE_HELP: &str = "\
Example:
  hoistway simulate --site small.toml --broker 127.0.0.1:1883 --report 127.0.0.1:8090
  curl http://127.0.0.1:8090/plant

The plant runs at the pace of the clock, and stands in for PLCs and vehicles on loopback alone. The report counts
loads, contradictory commands, door reversals and emergency stops outside the system. Stopped or killed, the plant
stands still until the next start on its data folder, as if time had stopped.";

/// Control rooms for sites where vehicles ride lifts.
#[derive(Debug, Parser)]
#[command(name = "hoistway", version, about = "Control rooms for sites where vehicles ride lifts", after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    /// How lines of the log are written.
    #[arg(long, global = true, env = "HOISTWAY_LOG_FORMAT", value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// Which role this process plays.
    #[command(subcommand)]
    pub role: Role,
}

/// What one process can be.
#[derive(Debug, Subcommand)]
pub enum Role {
    /// The whole house in one process on loopback: broker, simulated plant, gateways, two control nodes with their pages.
    #[command(after_help = DEMO_HELP)]
    Demo(roles::demo::Args),
    /// A control node: ledger, decisions, REST, the live stream and the page.
    #[command(after_help = CONTROL_HELP)]
    Control(roles::control::Args),
    /// Check a site file and print what follows from it.
    #[command(after_help = CHECK_CONFIG_HELP)]
    CheckConfig {
        /// The site file, TOML.
        file: PathBuf,
    },
    /// Bring a store to the newest schema, without starting a node.
    #[command(after_help = MIGRATE_HELP)]
    Migrate {
        /// The store: an SQLite file that a role has created, or postgres://USER@HOST:PORT/DATABASE of a ledger.
        store: LedgerUrl,
    },
    /// Put the simulated plant of a site on the wire: a Modbus TCP server for each lift, an MQTT client for each
    /// vehicle.
    #[command(after_help = SIMULATE_HELP)]
    Simulate(roles::simulate::Args),
    /// Run whole sites in virtual time: random faults, named accidents, measured rides. Nothing real is touched.
    #[command(subcommand)]
    Lab(roles::lab::Lab),
    /// Measure the product beside what the machine can do at best, in the same run.
    #[command(subcommand)]
    Bench(roles::bench::Bench),
    /// Stand beside the PLCs: the one voice that they hear, and the road of its vehicles.
    #[command(after_help = GATEWAY_HELP)]
    Gateway(roles::gateway::GatewayArgs),
}

/// Plays the role that the command line names.
///
/// # Errors
/// Why the role could not start, or what ended it.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let occasion = if matches!(&cli.role, Role::Demo(args) if args.drills) {
        Occasion::Drill
    } else if matches!(&cli.role, Role::Bench(_)) {
        Occasion::Bench
    } else {
        Occasion::Work
    };
    telemetry::start(cli.log_format, occasion)?;
    match cli.role {
        Role::Demo(args) => {
            stop::play(|stop| roles::demo::run(args, stop))?;
            Ok(ExitCode::SUCCESS)
        }
        Role::Control(args) => {
            stop::play(|stop| roles::control::run(args, stop))?;
            Ok(ExitCode::SUCCESS)
        }
        Role::CheckConfig { file } => check_config(&file),
        Role::Lab(lab) => roles::lab::run(lab),
        Role::Bench(bench) => roles::bench::run(bench),
        Role::Migrate { store } => {
            let text = stop::play(|_| roles::migrate::run(&store))?;
            say(&mut std::io::stdout(), &text)?;
            Ok(ExitCode::SUCCESS)
        }
        Role::Simulate(args) => {
            stop::play(|stop| roles::simulate::run(args, stop))?;
            Ok(ExitCode::SUCCESS)
        }
        Role::Gateway(args) => {
            stop::play(|stop| roles::gateway::run(args, stop))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check_config(file: &std::path::Path) -> anyhow::Result<ExitCode> {
    match roles::check_config::run(file) {
        Ok(text) => {
            say(&mut std::io::stdout(), &text)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(errors) => {
            let n_problems = errors.problems.len();
            let ending = if n_problems == 1 { "1 problem" } else { &format!("{n_problems} problems") };
            say(&mut std::io::stderr(), &format!("{errors}\n{}: {ending}, not a sound site\n", errors.file))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Writes for people. A reader that went away (`hoistway check-config x | head`) is no failure.
pub(crate) fn say(stream: &mut dyn std::io::Write, text: &str) -> anyhow::Result<()> {
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write"),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints why a role ended, with every cause, and names the exit code.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    // When even standard error is gone, the exit code is all that is left to say.
    let _ = writeln!(std::io::stderr(), "hoistway: {error:#}");
    ExitCode::FAILURE
}

/// The address, if nobody but this machine can reach it. Hoistway has no accounts, so whoever reaches a port may
/// move vehicles.
///
/// # Errors
/// The address is not a loopback address.
pub fn loopback(address: SocketAddr) -> anyhow::Result<SocketAddr> {
    if address.ip().is_loopback() {
        return Ok(address);
    }
    let port = address.port();
    bail!(
        "will not listen on {address}: there are no accounts yet, so whoever reached it could move lifts and \
         vehicles; use 127.0.0.1:{port} or [::1]:{port}, and a tunnel to reach it from elsewhere"
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn only_loopback_is_listened_on() {
        for (address, allowed) in [
            ("127.0.0.1:8080", true),
            ("127.8.8.8:1", true),
            ("[::1]:8080", true),
            ("0.0.0.0:8080", false),
            ("192.168.1.4:8080", false),
            ("[::]:8080", false),
            ("[::ffff:127.0.0.1]:8080", false),
        ] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(loopback(address).is_ok(), allowed, "{address}");
        }
        let refusal = loopback("0.0.0.0:8080".parse().unwrap()).unwrap_err().to_string();
        assert!(refusal.contains("use 127.0.0.1:8080"), "{refusal}");
    }
}
