//! Brokers for tests: the embedded one, and a real Mosquitto on a free loopback port, stopped by its pid.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use server::messaging::LinkOptions;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A loopback address that is free now.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A Mosquitto of our own.
pub(crate) struct Mosquitto {
    child: Child,
    config: PathBuf,
    pub(crate) address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Mosquitto {
    /// Starts it on a free port.
    pub(crate) async fn start() -> Self {
        Self::start_at(free_address()).await
    }

    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("mosquitto.conf");
        let text =
            format!("listener {} 127.0.0.1\nallow_anonymous true\npersistence false\n", address.port());
        std::fs::write(&config, text).unwrap();
        let child = spawn(&config);
        wait_for_listener(address).await;
        Self { child, config, address, _dir: dir }
    }

    /// Stops answering; sockets stay open.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Kills it as a power cut would, and starts a new one at the same address.
    pub(crate) async fn crash_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.config);
        wait_for_listener(self.address).await;
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn spawn(config: &PathBuf) -> Child {
    let program = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto"]
        .into_iter()
        .find(|it| std::path::Path::new(it).exists())
        .unwrap_or("mosquitto");
    Command::new(program)
        .arg("-c")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Mosquitto is needed for this test: apt-get install mosquitto")
}

async fn wait_for_listener(address: SocketAddr) {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(address).await.is_err() {
        assert!(Instant::now() < deadline, "no broker came up on {address}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Options of a client that keeps no session and listens to nothing.
pub(crate) fn client(address: SocketAddr, id: &str) -> LinkOptions {
    LinkOptions {
        host: address.ip().to_string(),
        port: address.port(),
        client_id: id.to_owned(),
        clean_start: true,
        session_expiry: Duration::ZERO,
        will: None,
        keep_alive: Duration::from_secs(60),
        subscriptions: Vec::new(),
        incoming_bound: 64,
    }
}

/// Looks until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
