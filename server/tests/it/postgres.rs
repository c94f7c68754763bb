//! A real PostgreSQL for tests, on a free loopback port, stopped by its process id.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant, sleep};

use crate::brokers::{PATIENCE, free_address};

/// The server that tests share which do it no harm. It ends with the last of them that runs.
static SHARED: Mutex<Weak<Postgres>> = Mutex::const_new(Weak::new());

/// The server's only user, whom it trusts.
pub(crate) const USER: &str = "hoist";

/// A PostgreSQL of our own.
pub(crate) struct Postgres {
    child: Option<Child>,
    dir: TempDir,
    pub(crate) address: SocketAddr,
    n_databases: AtomicU32,
}

impl Postgres {
    /// One that others use at the same time.
    pub(crate) async fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().await;
        if let Some(running) = shared.upgrade() {
            return running;
        }
        let started = Arc::new(Self::start().await);
        *shared = Arc::downgrade(&started);
        started
    }

    /// One to be maltreated.
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        give_to_its_user(dir.path());
        let made = program("initdb")
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-U", USER, "-D"])
            .arg(dir.path().join("data"))
            .stdin(Stdio::null())
            .output()
            .expect("PostgreSQL is needed for this test: apt-get install postgresql");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let address = free_address();
        let child = Some(spawn(dir.path(), address));
        let started = Self { child, dir, address, n_databases: AtomicU32::new(0) };
        started.wait().await;
        started
    }

    /// How to reach a database.
    pub(crate) fn options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host(&self.address.ip().to_string())
            .port(self.address.port())
            .username(USER)
            .database(database)
    }

    /// Creates a database and tells its name.
    pub(crate) async fn create(&self) -> String {
        let name = format!("hall{}", self.n_databases.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect_with(&self.options("postgres")).await.unwrap();
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::query(create).execute(&mut connection).await.unwrap();
        name
    }

    /// The address of a database as a command line has it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.address)
    }

    /// Stops answering; sockets stay open.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Goes on where it stood.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Kills it as a power cut would.
    pub(crate) fn crash(&mut self) {
        // None may act while the others die.
        self.freeze();
        self.signal("-KILL");
        self.child.take().unwrap().wait().unwrap();
    }

    /// Starts it again on the same data, after a crash.
    pub(crate) async fn restart(&mut self) {
        self.child = Some(spawn(self.dir.path(), self.address));
        self.wait().await;
    }

    /// To the server and to each of its processes, which are in groups of their own.
    fn signal(&self, signal: &str) {
        let Some(server) = self.child.as_ref().map(Child::id) else { return };
        let mut ids = vec![server];
        ids.extend(children(server));
        // One that has just ended is no failure.
        let ids = ids.iter().map(u32::to_string);
        Command::new("kill").arg(signal).args(ids).stderr(Stdio::null()).status().unwrap();
    }

    async fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        while PgConnection::connect_with(&self.options("postgres")).await.is_err() {
            assert!(Instant::now() < deadline, "no PostgreSQL came up on {}", self.address);
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.signal("-KILL");
        if let Some(mut child) = self.child.take() {
            child.wait().ok();
        }
    }
}

fn spawn(dir: &Path, address: SocketAddr) -> Child {
    // The machine does not lose its power in a test, so nothing has to be flushed.
    let settings = ["fsync=off", "full_page_writes=off", "unix_socket_directories=", "max_connections=60"];
    program("postgres")
        .arg("-D")
        .arg(dir.join("data"))
        .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string()])
        .args(settings.iter().flat_map(|it| ["-c", it]))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A program of PostgreSQL, as a user whom it obeys: it refuses root.
fn program(name: &str) -> Command {
    let path = directories().map(|it| it.join(name)).find(|it| it.exists()).unwrap_or_else(|| name.into());
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(path);
    command
}

/// Debian keeps the server's programs off the path, by version.
fn directories() -> impl Iterator<Item = PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|it| it.path().join("bin")).collect();
    found.sort();
    found.into_iter().rev().chain(["/usr/local/bin".into(), "/opt/homebrew/bin".into()])
}

fn is_root() -> bool {
    id(&["-u"]) == 0
}

fn id(arguments: &[&str]) -> u32 {
    let told = Command::new("id").args(arguments).output().unwrap().stdout;
    String::from_utf8_lossy(&told).trim().parse().expect("Debian's postgresql has a user postgres")
}

fn give_to_its_user(dir: &Path) {
    if is_root() {
        let (user, group) = (id(&["-u", "postgres"]), id(&["-g", "postgres"]));
        std::os::unix::fs::chown(dir, Some(user), Some(group)).unwrap();
    }
}

/// Process ids whose parent this is.
fn children(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| parent(*id) == Some(of)).collect()
}

/// The second field after the program's name, which stands in parentheses.
fn parent(of: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
