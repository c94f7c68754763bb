//! The broker inside the process, for `demo` and for tests: nothing to install on a fresh machine.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How long the listener may take to come up.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// A broker that takes connections. It cannot be stopped alone: it ends with the process.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    address: SocketAddr,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Starts a broker (MQTT 5) on a loopback address; port 0 for any free one. Returns when it takes connections.
///
/// # Errors
/// The address is not loopback or is taken, or the broker did not come up.
pub async fn start(listen: SocketAddr) -> anyhow::Result<Running> {
    anyhow::ensure!(
        listen.ip().is_loopback(),
        "the embedded broker listens on loopback only, not on {listen}"
    );
    // The broker cannot say which port it got, so a free one is found for it first; this also tells a taken address
    // apart, which the broker's own thread could only log.
    let probe = std::net::TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
    let address = probe.local_addr()?;
    drop(probe);
    let mut broker = Broker::new(settings(address));
    thread::Builder::new()
        .name("broker".to_owned())
        .spawn(move || {
            if let Err(err) = broker.start() {
                tracing::error!(error = %err, "the embedded broker ended");
            }
        })
        .context("cannot start the broker's thread")?;
    let deadline = Instant::now() + START_DEADLINE;
    while TcpStream::connect(address).await.is_err() {
        anyhow::ensure!(Instant::now() < deadline, "the embedded broker did not come up on {address}");
        sleep(Duration::from_millis(10)).await;
    }
    Ok(Running { address })
}

fn settings(listen: SocketAddr) -> Config {
    let connections = ConnectionSettings {
        connection_timeout_ms: 5000,
        max_payload_size: 256 * 1024,
        max_inflight_count: 200,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    let server = ServerSettings {
        name: "mqtt5".to_owned(),
        listen,
        tls: None,
        next_connection_delay_ms: 1,
        connections,
    };
    let router = RouterConfig {
        // 500 vehicles, gateways, control nodes, with room; the memory is taken as it is used.
        max_connections: 1024,
        max_outgoing_packet_count: 200,
        // Kept for each filter; old messages are worth nothing here, and the broker never drops them before that.
        max_segment_size: 64 * 1024,
        max_segment_count: 4,
        custom_segment: None,
        initialized_filters: None,
        shared_subscriptions_strategy: rumqttd::Strategy::default(),
    };
    Config {
        id: 0,
        router,
        v4: None,
        v5: Some(HashMap::from([("mqtt5".to_owned(), server)])),
        ws: None,
        cluster: None,
        console: None,
        bridge: None,
        prometheus: None,
        metrics: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_refuses_to_leave_loopback() {
        let refused = start(SocketAddr::from(([0, 0, 0, 0], 0))).await.unwrap_err();
        assert_eq!(refused.to_string(), "the embedded broker listens on loopback only, not on 0.0.0.0:0");
    }

    #[tokio::test]
    async fn a_taken_address_is_told() {
        let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = taken.local_addr().unwrap();
        let refused = start(address).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("cannot listen on {address}"));
    }
}
