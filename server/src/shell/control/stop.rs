//! How a control node ends: it hands over, answers whoever waits, and leaves nothing running.
//!
//! Each step has a bound, and waits for no ledger that is known to be away: who waits then is told that it is not
//! known, the other nodes find this one silent, and the next start reads what holds.

use std::time::Duration;

use kernel::control::Event;
use kernel::time::Mono;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Running;
use super::ledger::until_away;
use crate::journal::Reach;

/// At a stop, what was proposed is waited for so long. A group commit takes tens of milliseconds.
const STOP_BOUND: Duration = Duration::from_secs(5);

impl Running {
    /// Hands the node's tasks over: says in the ledger that its run is over.
    pub(super) async fn leave(&mut self, answers: &mut mpsc::Receiver<Event>) -> anyhow::Result<()> {
        let mut reach = self.ledger.reach();
        self.handle(Event::StopRequested);
        let left = async { while self.over.is_none() && self.go_on(answers).await {} };
        if !bounded(left, &mut reach).await {
            tracing::warn!("the ledger does not answer: the other nodes will find this one silent");
        }
        self.ledger.check()
    }

    /// Takes what the ledger still brings until every request has its answer.
    pub(super) async fn answer_waiting(&mut self, answers: &mut mpsc::Receiver<Event>) {
        let mut reach = self.ledger.reach();
        let answered = async { while self.n_waiting() > 0 && self.go_on(answers).await {} };
        if !bounded(answered, &mut reach).await {
            tracing::warn!("{} requests are left without an answer", self.n_waiting());
        }
    }

    fn n_waiting(&self) -> usize {
        self.waiting.len() + self.withdrawing.len()
    }

    /// Takes the next answer, or what is due meanwhile. False when no more will come.
    async fn go_on(&mut self, answers: &mut mpsc::Receiver<Event>) -> bool {
        let due = self.machine.poll_timeout().map_or(Mono(u64::MAX), |(at, _)| at);
        let wait = Duration::from_millis(due.since(self.clock.now().mono).0);
        tokio::select! {
            event = answers.recv() => match event {
                Some(event) => self.handle(event),
                None => return false,
            },
            () = tokio::time::sleep(wait) => {
                self.machine.handle_timeout(self.clock.now());
                self.perform();
            }
        }
        true
    }
}

/// Does something for [`STOP_BOUND`] at most, and no longer once the ledger is known to be away. Whether it came to its
/// end.
async fn bounded(work: impl Future<Output = ()>, reach: &mut watch::Receiver<Reach>) -> bool {
    tokio::select! {
        biased;
        () = work => true,
        () = until_away(reach) => false,
        () = tokio::time::sleep(STOP_BOUND) => false,
    }
}

/// Ends the workers, after they have stored and sent what they were given.
pub(super) async fn finish(
    tasks: &TaskTracker,
    mut reach: watch::Receiver<Reach>,
    ledger_gone: &CancellationToken,
    sender: &JoinHandle<()>,
) {
    tasks.close();
    let wait = async {
        tasks.wait().await;
    };
    if !bounded(wait, &mut reach).await {
        // Nobody waits for it any more, and its worker would hold the ledger open.
        ledger_gone.cancel();
    }
    if tokio::time::timeout(STOP_BOUND, tasks.wait()).await.is_err() {
        tracing::warn!("the broker did not finish within {} s", STOP_BOUND.as_secs());
        sender.abort();
    }
}
