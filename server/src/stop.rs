//! The wish to stop, as one token that every task of a role watches.

use std::future::Future;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGINT or SIGTERM. A second signal ends the process at once, with the
/// exit code that shells expect (128 + signal): somebody does not want to wait.
///
/// # Errors
/// The signals cannot be listened to.
pub fn on_signal() -> anyhow::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be listened to")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be listened to")?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    tokio::spawn(async move {
        let mut received = 0;
        loop {
            let number = tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
            };
            received += 1;
            if received > 1 {
                std::process::exit(128 + number);
            }
            tracing::info!("stopping; a second signal ends the process at once");
            token.cancel();
        }
    });
    Ok(stop)
}

/// Plays a role until it ends or a signal asks it to stop: the one place that owns the runtime.
///
/// # Errors
/// The runtime or the signals are not to be had, or what ended the role.
pub fn play<T, F>(role: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async { role(on_signal()?).await })
}
