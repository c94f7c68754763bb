//! A real Redis for tests, on a free loopback port, stopped by its pid.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use server::lease::RedisUrl;
use tokio::time::{Duration, Instant, sleep};

use crate::brokers::{PATIENCE, free_address};

/// A Redis of our own, which keeps nothing on disk.
pub(crate) struct RedisServer {
    child: Child,
    dir: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

impl RedisServer {
    /// Starts it on a free port.
    pub(crate) async fn start() -> Self {
        let (dir, address) = (tempfile::tempdir().unwrap(), free_address());
        let server = Self { child: spawn(&dir, address), dir, address };
        server.wait_until_up().await;
        server
    }

    /// Where it is, for a client.
    pub(crate) fn url(&self) -> RedisUrl {
        self.text_url().parse().unwrap()
    }

    /// The same as text.
    pub(crate) fn text_url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Kills it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again at the same address, empty.
    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(&self.dir, self.address);
        self.wait_until_up().await;
    }

    /// Stops answering; sockets stay open.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Goes on, with what has come in meanwhile.
    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    /// One command by a connection of its own.
    pub(crate) async fn command(&self, words: &[&str]) -> redis::RedisResult<redis::Value> {
        let client = redis::Client::open(self.text_url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|it| {
            command.arg(it);
        });
        command.query_async(&mut connection).await
    }

    async fn wait_until_up(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.command(&["PING"]).await.is_err() {
            assert!(Instant::now() < deadline, "no Redis came up on {}", self.address);
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn spawn(dir: &tempfile::TempDir, address: SocketAddr) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
        .args(["--save", "", "--appendonly", "no", "--dir"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Redis is needed for this test: apt-get install redis-server")
}
