//! How far a long run is, on standard error: one line that is written over on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Often enough to look alive on a terminal.
const TERMINAL_PERIOD: Duration = Duration::from_millis(200);
/// A log needs fewer.
const LOG_PERIOD: Duration = Duration::from_secs(10);

pub(crate) struct Progress {
    terminal: bool,
    started: Instant,
    told: Option<Instant>,
    dirty: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), started: Instant::now(), told: None, dirty: false }
    }

    /// Time since the start of the command.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Tells how far it is, unless it was told a moment ago.
    pub(crate) fn tell(&mut self, done: u64, of: u64, what: &str) {
        let period = if self.terminal { TERMINAL_PERIOD } else { LOG_PERIOD };
        let since = self.told.unwrap_or(self.started);
        if since.elapsed() < period {
            return;
        }
        self.told = Some(Instant::now());
        let seconds = self.elapsed().as_secs();
        let (before, after) = if self.terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        self.dirty = self.terminal;
        self.write(&format!("{before}{done} of {of} {what}, {seconds} s{after}"));
    }

    /// Clears the line that is written over, so that what follows stands alone.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        // Progress that nobody can see is no reason to stop.
        _ = std::io::stderr().write_all(text.as_bytes());
    }
}
