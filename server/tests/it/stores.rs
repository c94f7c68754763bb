//! A real Redis for tests, on a free loopback port, stopped by its pid.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use server::lease::RedisUrl;
use tokio::time::{Duration, Instant, sleep};

use crate::brokers::{PATIENCE, free_address};

/// A Redis of our own.
pub(crate) struct RedisServer {
    child: Child,
    dir: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    /// What it was started with besides its address.
    options: Vec<String>,
}

impl RedisServer {
    /// Starts it on a free port; it keeps nothing on disk.
    pub(crate) async fn start() -> Self {
        Self::start_with(&["--appendonly", "no"]).await
    }

    /// One that has each write on its disk before it answers.
    pub(crate) async fn start_durable() -> Self {
        Self::start_with(&["--appendonly", "yes", "--appendfsync", "always"]).await
    }

    /// One that follows another.
    pub(crate) async fn start_replica(of: SocketAddr) -> Self {
        let (host, port) = (of.ip().to_string(), of.port().to_string());
        Self::start_with(&["--appendonly", "no", "--replicaof", &host, &port]).await
    }

    async fn start_with(options: &[&str]) -> Self {
        let (dir, address) = (tempfile::tempdir().unwrap(), free_address());
        let options: Vec<String> = options.iter().map(|&it| it.to_owned()).collect();
        let server = Self { child: spawn(&dir, address, &options), dir, address, options };
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

    /// Removes what it has on its disk; to be called while it is down.
    pub(crate) fn forget(&self) {
        for entry in std::fs::read_dir(self.dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
        }
    }

    /// Starts it again at the same address, with what it has on its disk.
    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(&self.dir, self.address, &self.options);
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

fn spawn(dir: &tempfile::TempDir, address: SocketAddr, options: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
        .args(["--save", "", "--dir"])
        .arg(dir.path())
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Redis is needed for this test: apt-get install redis-server")
}
