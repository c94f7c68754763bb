//! The log: what a role says to standard error while it runs.

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// The environment variable with the filter, such as `info,server::fieldbus=debug`.
pub const FILTER_VARIABLE: &str = "HOISTWAY_LOG";

/// Filter without that variable: what an operator wants to know, nothing of the libraries' chatter. The embedded
/// broker calls every connection that ends an error; each side of it says the same better.
const FILTER_DEFAULT: &str = "info,rumqttd=off,rumqttc=warn,sqlx=warn,tower_http=warn";

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Plain,
    /// One JSON object a line, for collectors.
    Json,
}

/// Starts the log; once in a process.
///
/// # Errors
/// The filter cannot be understood, or a log was started before.
pub fn start(format: LogFormat) -> anyhow::Result<()> {
    let text = std::env::var(FILTER_VARIABLE).unwrap_or_else(|_| FILTER_DEFAULT.to_owned());
    let filter = EnvFilter::try_new(&text).map_err(|error| {
        anyhow::anyhow!("{FILTER_VARIABLE}=`{text}` is no log filter: {error}; try `info`")
    })?;
    let colored = std::io::stderr().is_terminal();
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored);
    let started = match format {
        LogFormat::Plain => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot start: {error}"))
}
