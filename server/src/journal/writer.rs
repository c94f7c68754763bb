//! The one writer: takes proposals in order, commits them in groups, answers each. Says "not stored" only when that is
//! certain.

use std::sync::Arc;

use kernel::ids::LedgerSequence;
use tokio::sync::{mpsc, watch};

use super::group::{self, Plan, Proposal};
use super::port::Port;
use super::reach::{Side, Watched};
use super::{GROUP_MAX, JournalError, Runs, follow, read};

/// A group of which nothing was stored.
struct Unstored {
    error: JournalError,
    /// And the database is away.
    is_away: bool,
}

impl From<JournalError> for Unstored {
    fn from(error: JournalError) -> Self {
        let is_away = matches!(error, JournalError::Away(_));
        Self { error, is_away }
    }
}

/// Runs until every journal handle is gone and the queue is empty.
pub(super) async fn run<P: Port>(
    mut port: P,
    runs: Runs,
    mut queue: mpsc::Receiver<Proposal>,
    moved: watch::Sender<LedgerSequence>,
    reach: Arc<Watched>,
) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    loop {
        tokio::select! {
            n_taken = queue.recv_many(&mut group, GROUP_MAX) => if n_taken == 0 { return },
            () = reach.doubted() => {
                if let Err(error) = look(&mut port).await {
                    reach.failed(Side::Writes, &error);
                    come_back(&mut port, &mut queue, &reach, &error).await;
                }
                continue;
            }
        }
        let proposals = std::mem::replace(&mut group, Vec::with_capacity(GROUP_MAX));
        match commit(&mut port, runs, &proposals, &mut queue, &reach).await {
            Ok(plan) => {
                reach.answered(Side::Writes);
                if let Some(last) = plan.entries.last() {
                    follow::raise(&moved, LedgerSequence(last.sequence));
                }
                for (proposal, answer) in proposals.into_iter().zip(plan.answers) {
                    proposal.answer(answer);
                }
            }
            Err(Unstored { error, is_away: false }) => refuse(proposals, &error),
            Err(Unstored { error, is_away: true }) => {
                // First, so that whoever is refused finds it so.
                reach.failed(Side::Writes, &error);
                refuse(proposals, &error);
                come_back(&mut port, &mut queue, &reach, &error).await;
            }
        }
    }
}

/// Asks until the database gives the writer its turn again. Whoever proposes meanwhile is refused at once.
async fn come_back<P: Port>(
    port: &mut P,
    queue: &mut mpsc::Receiver<Proposal>,
    reach: &Watched,
    error: &JournalError,
) {
    let pause = port.patience().pause;
    let back = async {
        while let Err(error) = look(port).await {
            tracing::debug!("the ledger is still away: {error}");
            tokio::time::sleep(pause).await;
        }
    };
    if refusing(queue, error, back).await.is_some() {
        reach.answered(Side::Writes);
    }
}

/// Whether the database gives the writer its turn, and its way to the entries.
async fn look<P: Port>(port: &mut P) -> Result<(), JournalError> {
    let patience = port.patience();
    let turn = tokio::time::timeout(patience.store, async {
        let head = port.begin().await?;
        port.hash_of(head.sequence).await
    });
    let turn = turn.await;
    // It is not used, and a failed connection is of no more use.
    port.abandon();
    match turn {
        Ok(turn) => turn.map(drop),
        Err(_) => Err(JournalError::Away(format!("no answer within {} s", patience.store.as_secs()))),
    }
}

/// Waits for something, and refuses whoever proposes meanwhile. None when the journal was closed: nobody waits for it
/// any more.
async fn refusing<T>(
    queue: &mut mpsc::Receiver<Proposal>,
    error: &JournalError,
    asked: impl Future<Output = T>,
) -> Option<T> {
    let mut asked = std::pin::pin!(asked);
    loop {
        tokio::select! {
            answer = &mut asked => return Some(answer),
            proposal = queue.recv() => proposal?.answer(Err(error.clone())),
        }
    }
}

fn refuse(proposals: impl IntoIterator<Item = Proposal>, error: &JournalError) {
    for proposal in proposals {
        proposal.answer(Err(error.clone()));
    }
}

/// Stores a group in one transaction. The whole group shares one fate, so a bound around it suffices.
async fn commit<P: Port>(
    port: &mut P,
    runs: Runs,
    proposals: &[Proposal],
    queue: &mut mpsc::Receiver<Proposal>,
    reach: &Watched,
) -> Result<Plan, Unstored> {
    let patience = port.patience();
    let stored = tokio::time::timeout(patience.store, store(port, runs, proposals)).await;
    let stored = stored.unwrap_or_else(|_| {
        Err(JournalError::Away(format!("no answer within {} s", patience.store.as_secs())))
    });
    let plan = match stored {
        Ok(plan) => plan,
        Err(error) => {
            // Not committed, so this undoes it.
            port.abandon();
            return Err(error.into());
        }
    };
    let failure = match tokio::time::timeout(patience.commit, port.commit()).await {
        Ok(Ok(())) => return Ok(plan),
        Ok(Err(error)) => error,
        Err(_) => JournalError::Away(format!("no answer to a commit within {} s", patience.commit.as_secs())),
    };
    port.abandon();
    settle(port, plan, failure, queue, reach).await
}

async fn store<P: Port>(port: &mut P, runs: Runs, proposals: &[Proposal]) -> Result<Plan, JournalError> {
    let head = port.begin().await?;
    let rows = port.rows(&group::rows_of(proposals)).await?;
    let plan = group::plan(head, rows, runs, proposals);
    port.store(&plan.entries, &plan.rows).await?;
    Ok(plan)
}

/// Finds out whether a commit that failed holds after all, however long that takes: to say either without knowing
/// would lose an order or double it. Whoever proposes meanwhile is told that the ledger is away.
async fn settle<P: Port>(
    port: &mut P,
    plan: Plan,
    failure: JournalError,
    queue: &mut mpsc::Receiver<Proposal>,
    reach: &Watched,
) -> Result<Plan, Unstored> {
    // The hash covers all that came before, so the first entry tells it for the whole group. When there is none, the
    // conflicts stand: they were seen under the lock.
    let Some(first) = plan.entries.first() else { return Ok(plan) };
    let (sequence, hash) = (LedgerSequence(first.sequence), read::hash_from(first.hash.clone())?);
    let away = JournalError::Away(format!("it is not known yet whether the last commit holds: {failure}"));
    let found = refusing(queue, &away, found(port, sequence, &away, reach)).await;
    // Of a journal that was closed the next start reads what holds.
    let Some(found) = found else { return Err(failure.into()) };
    reach.answered(Side::Writes);
    if found == Some(hash) { Ok(plan) } else { Err(Unstored { error: failure, is_away: false }) }
}

/// The hash that stands at a place, as soon as the database tells: under the head's lock, which whatever is still in
/// flight has to let go of first.
async fn found<P: Port>(
    port: &mut P,
    sequence: LedgerSequence,
    away: &JournalError,
    reach: &Watched,
) -> Option<super::Hash> {
    let patience = port.patience();
    loop {
        let asked = tokio::time::timeout(patience.store, async {
            port.begin().await?;
            port.hash_of(sequence).await
        });
        let asked = asked.await;
        // The answer needs no commit, and a failed connection is of no more use.
        port.abandon();
        match asked {
            Ok(Ok(hash)) => return hash,
            Ok(Err(error)) => tracing::debug!("whether a commit holds cannot be asked yet: {error}"),
            Err(_) => tracing::debug!("whether a commit holds was not answered yet"),
        }
        reach.failed(Side::Writes, away);
        tokio::time::sleep(patience.pause).await;
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
