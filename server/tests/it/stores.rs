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

    /// One that watches a master, by the name "lifts".
    async fn start_sentinel(of: SocketAddr) -> Self {
        let (dir, address) = (tempfile::tempdir().unwrap(), free_address());
        let file = dir.path().join("sentinel.conf");
        let watched = format!("sentinel monitor lifts {} {} 2\n", of.ip(), of.port());
        let patience = "sentinel down-after-milliseconds lifts 60000\nsentinel failover-timeout lifts 2000\n";
        std::fs::write(&file, watched + patience).unwrap();
        let options = vec![file.to_str().unwrap().to_owned(), "--sentinel".to_owned()];
        let server = Self { child: spawn(&dir, address, &options), dir, address, options };
        server.wait_until_up().await;
        server
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
        command(self.address, words).await
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

/// One command to the Redis at an address.
pub(crate) async fn command(address: SocketAddr, words: &[&str]) -> redis::RedisResult<redis::Value> {
    let client = redis::Client::open(format!("redis://{address}"))?;
    // However slow the machine.
    let config = redis::AsyncConnectionConfig::new();
    let config = config.set_connection_timeout(Some(PATIENCE)).set_response_timeout(Some(PATIENCE));
    let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
    let mut command = redis::cmd(words[0]);
    words[1..].iter().for_each(|it| {
        command.arg(it);
    });
    command.query_async(&mut connection).await
}

/// Three masters that share the slots.
pub(crate) struct RedisCluster {
    pub(crate) servers: Vec<RedisServer>,
}

impl RedisCluster {
    pub(crate) async fn start() -> Self {
        let mut servers = Vec::new();
        for range in [("0", "5460"), ("5461", "10922"), ("10923", "16383")] {
            let bus = free_address().port().to_string();
            let options =
                ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "5000"];
            let server = RedisServer::start_with(&options).await;
            server.command(&["CLUSTER", "ADDSLOTSRANGE", range.0, range.1]).await.unwrap();
            let epoch = (servers.len() + 1).to_string();
            server.command(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]).await.unwrap();
            if let Some(first) = servers.first() {
                let first: &RedisServer = first;
                let port = server.address.port().to_string();
                first.command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await.unwrap();
            }
            servers.push(server);
        }
        let cluster = Self { servers };
        let deadline = Instant::now() + PATIENCE;
        while !cluster.is_whole().await {
            assert!(Instant::now() < deadline, "no cluster came up");
            sleep(Duration::from_millis(20)).await;
        }
        cluster
    }

    /// As a client is told of it: the first server leads to the others.
    pub(crate) fn text_url(&self) -> String {
        format!("redis-cluster://{},{}", free_address(), self.servers[0].address)
    }

    /// Gives a slot to this server, as when a cluster is cut anew.
    pub(crate) async fn give_slot(&self, slot: u16, to: usize) {
        let id = self.servers[to].command(&["CLUSTER", "MYID"]).await.unwrap();
        let (id, slot) = (redis::from_redis_value::<String>(id).unwrap(), slot.to_string());
        self.servers[to].command(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]).await.unwrap();
        for server in &self.servers {
            server.command(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]).await.unwrap();
        }
    }

    async fn is_whole(&self) -> bool {
        for server in &self.servers {
            let info = server.command(&["CLUSTER", "INFO"]).await.unwrap();
            let info: String = redis::from_redis_value(info).unwrap();
            if !(info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")) {
                return false;
            }
        }
        true
    }
}

/// A master, its replica, and three sentinels that watch them.
pub(crate) struct Sentinels {
    pub(crate) master: RedisServer,
    pub(crate) replica: RedisServer,
    pub(crate) sentinels: Vec<RedisServer>,
}

impl Sentinels {
    pub(crate) async fn start() -> Self {
        let master = RedisServer::start().await;
        let replica = RedisServer::start_replica(master.address).await;
        let mut sentinels = Vec::new();
        for _ in 0..3 {
            sentinels.push(RedisServer::start_sentinel(master.address).await);
        }
        Self { master, replica, sentinels }
    }

    /// As a client is told of it.
    pub(crate) fn text_url(&self) -> String {
        let all: Vec<_> = self.sentinels.iter().map(|it| it.address.to_string()).collect();
        format!("redis-sentinel://{}/lifts", all.join(","))
    }

    /// From now on they take a master for dead that does not answer for a while. Before that, a busy machine may stand
    /// still.
    pub(crate) async fn wake(&self) {
        for sentinel in &self.sentinels {
            let others = async || {
                let told = sentinel.command(&["SENTINEL", "MASTER", "lifts"]).await.unwrap();
                let told: std::collections::BTreeMap<String, String> = redis::from_redis_value(told).unwrap();
                (told["num-other-sentinels"].clone(), told["num-slaves"].clone())
            };
            let deadline = Instant::now() + PATIENCE;
            while others().await != ("2".to_owned(), "1".to_owned()) {
                assert!(Instant::now() < deadline, "the sentinels do not find each other");
                sleep(Duration::from_millis(50)).await;
            }
            let soon = ["SENTINEL", "SET", "lifts", "down-after-milliseconds", "500"];
            sentinel.command(&soon).await.unwrap();
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn spawn(dir: &tempfile::TempDir, address: SocketAddr, options: &[String]) -> Child {
    let mut command = Command::new("redis-server");
    // A file of options comes before all others.
    let (file, options) = match options.split_first() {
        Some((first, rest)) if !first.starts_with("--") => (Some(first), rest),
        _ => (None, options),
    };
    command.args(file).args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
    if file.is_none() {
        command.args(["--save", ""]);
    }
    command
        .arg("--dir")
        .arg(dir.path())
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("Redis is needed for this test: apt-get install redis-server")
}
