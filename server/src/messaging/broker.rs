//! The broker inside the process, for `demo` and for tests: nothing to install on a fresh machine.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rumqttd::protocol::v5::V5;
use rumqttd::{ConnectionSettings, LinkType, Router, RouterConfig, Server, ServerSettings};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How long the listener may take to come up.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// A broker that takes connections, until it is stopped or the process ends. Clones are the same.
#[derive(Clone, Debug)]
pub struct Running {
    address: SocketAddr,
    stop: CancellationToken,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks its connections and takes none any more. What routes within it has no end of its own: that thread, and
    /// what it kept, sleep until the process ends.
    pub fn stop(&self) {
        self.stop.cancel();
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
    let stop = serve(server(address))?.drop_guard();
    let deadline = Instant::now() + START_DEADLINE;
    while TcpStream::connect(address).await.is_err() {
        anyhow::ensure!(Instant::now() < deadline, "the embedded broker did not come up on {address}");
        sleep(Duration::from_millis(10)).await;
    }
    Ok(Running { address, stop: stop.disarm() })
}

/// On a thread of its own, which takes all connections with it when it ends.
fn serve(settings: ServerSettings) -> anyhow::Result<CancellationToken> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("the broker has no runtime")?;
    let mut server = Server::new(settings, Router::new(0, router()).spawn(), V5);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let serve = move || {
        let serving = stopped.run_until_cancelled(server.start(LinkType::Remote));
        if let Some(Err(err)) = runtime.block_on(serving) {
            tracing::error!(error = %err, "the embedded broker ended");
        }
    };
    thread::Builder::new()
        .name("broker".to_owned())
        .spawn(serve)
        .context("cannot start the broker's thread")?;
    Ok(stop)
}

fn server(listen: SocketAddr) -> ServerSettings {
    let connections = ConnectionSettings {
        connection_timeout_ms: 5000,
        max_payload_size: 256 * 1024,
        max_inflight_count: 200,
        auth: None,
        external_auth: None,
        dynamic_filters: true,
    };
    ServerSettings { name: "mqtt5".to_owned(), listen, tls: None, next_connection_delay_ms: 1, connections }
}

fn router() -> RouterConfig {
    RouterConfig {
        // 500 vehicles, gateways, control nodes, with room; the memory is taken as it is used.
        max_connections: 1024,
        max_outgoing_packet_count: 200,
        // Kept for each filter; old messages are worth nothing here, and the broker never drops them before that.
        max_segment_size: 64 * 1024,
        max_segment_count: 4,
        custom_segment: None,
        initialized_filters: None,
        shared_subscriptions_strategy: rumqttd::Strategy::default(),
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

    #[tokio::test]
    async fn a_stopped_one_breaks_its_connections_and_takes_none() {
        let broker = start(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let mut connection = TcpStream::connect(broker.address()).await.unwrap();
        broker.stop();
        let mut end = [0];
        let read = tokio::io::AsyncReadExt::read(&mut connection, &mut end);
        let read = tokio::time::timeout(START_DEADLINE, read).await.expect("it breaks");
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
        let give_up = Instant::now() + START_DEADLINE;
        while TcpStream::connect(broker.address()).await.is_ok() {
            assert!(Instant::now() < give_up, "it still takes connections");
            sleep(Duration::from_millis(10)).await;
        }
    }
}
