//! The embedded broker of a drill run, behind its relay.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;

use super::relay::{Relay, RelayFault};
use crate::messaging::broker::{self, Running};

/// How often it may forget in one run. What routes within a broker sleeps on with what it kept when another has taken its
/// place: some megabytes each.
const FORGETS_MAX: usize = 16;

/// A broker that can be away, stand still, and forget. Clones steer the same one.
#[derive(Clone, Debug)]
pub struct DrilledBroker {
    relay: Relay,
    lives: Arc<Mutex<Lives>>,
}

#[derive(Debug)]
struct Lives {
    running: Running,
    n_forgets: usize,
}

impl DrilledBroker {
    /// `relay` leads to `running`.
    pub fn new(relay: Relay, running: Running) -> Self {
        Self { relay, lives: Arc::new(Mutex::new(Lives { running, n_forgets: 0 })) }
    }

    /// Where to connect.
    pub fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    /// What happens to its connections from now on.
    pub fn set(&self, fault: RelayFault) {
        self.relay.set(fault);
    }

    /// It is away, and comes back without what it kept.
    ///
    /// # Errors
    /// It has forgotten as often as it may; it stays.
    pub fn go_to_forget(&self) -> anyhow::Result<()> {
        let mut lives = self.lives.lock().unwrap_or_else(PoisonError::into_inner);
        anyhow::ensure!(
            lives.n_forgets < FORGETS_MAX,
            "the broker has forgotten {FORGETS_MAX} times; start the demonstration again for more"
        );
        lives.n_forgets += 1;
        self.relay.set(RelayFault::Down);
        Ok(())
    }

    /// Comes back. The embedded broker cannot be told to forget, so another takes its place and the old one is stopped.
    ///
    /// # Errors
    /// No other came up: it is back with what it kept.
    pub async fn come_back_empty(&self) -> anyhow::Result<()> {
        let fresh = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        self.replace(fresh).context("the broker is back with what it kept")
    }

    fn replace(&self, fresh: anyhow::Result<Running>) -> anyhow::Result<()> {
        let replaced = fresh.map(|fresh| {
            self.relay.lead_to(fresh.address());
            let mut lives = self.lives.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut lives.running, fresh).stop();
        });
        // The drill is over, whatever came of it.
        self.relay.set(RelayFault::Sound);
        replaced
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpStream;
    use tokio_util::sync::CancellationToken;

    use super::super::relay::Carries;
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    async fn start() -> (DrilledBroker, SocketAddr) {
        let running = broker::start(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let first = running.address();
        let relay = Relay::start(first, Carries::Bytes, CancellationToken::new()).await.unwrap();
        (DrilledBroker::new(relay, running), first)
    }

    /// A broker waits five seconds for the first word; a relay that is down closes at once.
    async fn holds(broker: &DrilledBroker) -> bool {
        let mut connection = TcpStream::connect(broker.address()).await.unwrap();
        tokio::time::timeout(Duration::from_secs(1), connection.read_u8()).await.is_err()
    }

    #[tokio::test]
    async fn it_is_back_whether_another_took_its_place_or_not() {
        let (broker, first) = start().await;
        broker.go_to_forget().unwrap();
        assert!(!holds(&broker).await);
        let failed = broker.replace(Err(anyhow::anyhow!("no port is left")));
        assert_eq!(failed.unwrap_err().to_string(), "no port is left");
        assert!(holds(&broker).await, "with what it kept");

        broker.go_to_forget().unwrap();
        broker.come_back_empty().await.unwrap();
        assert!(holds(&broker).await, "another");
        let stopped = async { while TcpStream::connect(first).await.is_ok() {} };
        tokio::time::timeout(PATIENCE, stopped).await.expect("the old one takes no connections any more");
    }

    #[tokio::test]
    async fn it_forgets_so_often_and_stays_then() {
        let (broker, _) = start().await;
        for _ in 0..FORGETS_MAX {
            broker.go_to_forget().unwrap();
        }
        broker.set(RelayFault::Sound);
        assert!(broker.go_to_forget().unwrap_err().to_string().contains("start the demonstration again"));
        assert!(holds(&broker).await);
    }
}
