//! The log: what a role says to standard error while it runs.

use std::io::{self, IsTerminal as _, Write};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The environment variable with the filter, such as `info,server::fieldbus=debug`.
pub const FILTER_VARIABLE: &str = "HOISTWAY_LOG";

/// Filter without that variable: what an operator wants to know, nothing of the libraries' chatter. The embedded
/// broker calls every connection that ends an error; each side of it says the same better.
const FILTER_DEFAULT: &str = "info,rumqttd=off,rumqttc=warn,sqlx=warn,tower_http=warn";

/// The same for a role that tells figures: they are lost among lines of a machine that is meant to be busy.
const FILTER_QUIET: &str = "error,rumqttd=off";

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Plain,
    /// One JSON object a line, for collectors.
    Json,
}

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A role at work.
    Work,
    /// The demonstration with drills: each line says that it is one.
    Drill,
    /// A bench: what went wrong, and nothing else.
    Bench,
}

/// Starts the log; once in a process.
///
/// # Errors
/// The filter cannot be understood, or a log was started before.
pub fn start(format: LogFormat, occasion: Occasion) -> anyhow::Result<()> {
    let default = if occasion == Occasion::Bench { FILTER_QUIET } else { FILTER_DEFAULT };
    let text = std::env::var(FILTER_VARIABLE).unwrap_or_else(|_| default.to_owned());
    let filter = EnvFilter::try_new(&text).map_err(|error| {
        anyhow::anyhow!("{FILTER_VARIABLE}=`{text}` is no log filter: {error}; try `info`")
    })?;
    let colored = std::io::stderr().is_terminal();
    let lines = Lines { drill: (occasion == Occasion::Drill).then_some(format) };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_ansi(colored);
    let started = match format {
        LogFormat::Plain => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot start: {error}"))
}

/// Where lines go, and how those of a drill run are marked.
#[derive(Clone, Copy, Debug)]
struct Lines {
    drill: Option<LogFormat>,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Marked<io::Stderr>;
    fn make_writer(&'a self) -> Self::Writer {
        Marked { out: io::stderr(), drill: self.drill }
    }
}

/// Marks each line that is written through it. The log writes each of its lines in one piece.
struct Marked<W> {
    out: W,
    drill: Option<LogFormat>,
}

impl<W: Write> Write for Marked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        match self.drill {
            None => self.out.write_all(line)?,
            Some(LogFormat::Json) => {
                self.out.write_all(text.replacen('{', "{\"drill\":true,", 1).as_bytes())?
            }
            Some(LogFormat::Plain) => {
                self.out.write_all(format!("{} drill=true\n", text.trim_end_matches('\n')).as_bytes())?;
            }
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_drill_run_says_so_and_no_other() {
        let rows = [
            (None, "a line\n", "a line\n"),
            (Some(LogFormat::Plain), "a line x=1\n", "a line x=1 drill=true\n"),
            (Some(LogFormat::Json), "{\"a\":{}}\n", "{\"drill\":true,\"a\":{}}\n"),
        ];
        for (drill, line, expected) in rows {
            let mut marked = Marked { out: Vec::new(), drill };
            marked.write_all(line.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(marked.out).unwrap(), expected, "{drill:?}");
        }
    }
}
