//! Listening and stopping.

use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use tokio::net::TcpListener;

use super::{AppState, router};
use crate::cli::loopback;

/// A stop takes at most so long: requests in flight end, websockets close, the rest is cut off.
pub const STOP_BOUND: Duration = Duration::from_secs(5);

/// Listens on a loopback address. Port 0 takes a free one.
///
/// # Errors
/// The address is not loopback, or it cannot be listened on.
pub async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let address = loopback(address)?;
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; is another server running there? Choose another port")
    })
}

/// Serves until the state's stop token is cancelled, then ends within [`STOP_BOUND`].
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, state: AppState) -> anyhow::Result<()> {
    let stop = state.stop().clone();
    let sockets = state.sockets().clone();
    let graceful = stop.clone().cancelled_owned();
    let mut server =
        tokio::spawn(axum::serve(listener, router(state)).with_graceful_shutdown(graceful).into_future());
    tokio::select! {
        ended = &mut server => return ended?.context("the HTTP listener failed"),
        () = stop.cancelled() => {}
    }
    sockets.close();
    // Graceful shutdown does not know websockets: they are waited for by themselves.
    let ended = tokio::time::timeout(STOP_BOUND, async {
        sockets.wait().await;
        (&mut server).await
    });
    match ended.await {
        Ok(result) => result?.context("the HTTP listener failed"),
        Err(_) => {
            tracing::warn!("connections did not end within {} s and were cut off", STOP_BOUND.as_secs());
            server.abort();
            Ok(())
        }
    }
}

/// Changes with each build of the server, so that a browser with an older page reloads it: the version, and size
/// and time of the executable.
pub fn build_id() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let built =
        std::env::current_exe().and_then(std::fs::metadata).and_then(|it| Ok((it.len(), it.modified()?)));
    match built {
        Ok((length, modified)) => {
            let since_epoch = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{version}-{:x}-{length:x}", since_epoch.as_millis())
        }
        Err(_) => version.to_owned(),
    }
}
