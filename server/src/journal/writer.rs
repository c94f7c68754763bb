//! The one writer: takes proposals in order, commits them in groups, answers each. Says "not stored" only when that is
//! certain.

use kernel::ids::LedgerSequence;
use tokio::sync::{mpsc, watch};

use super::group::{self, Plan, Proposal};
use super::port::Port;
use super::{GROUP_MAX, JournalError, Runs, follow, read};

/// Runs until every journal handle is gone and the queue is empty.
pub(super) async fn run<P: Port>(
    mut port: P,
    runs: Runs,
    mut queue: mpsc::Receiver<Proposal>,
    moved: watch::Sender<LedgerSequence>,
) {
    let mut uncertain = None;
    let mut group = Vec::with_capacity(GROUP_MAX);
    while queue.recv_many(&mut group, GROUP_MAX).await > 0 {
        let proposals = std::mem::replace(&mut group, Vec::with_capacity(GROUP_MAX));
        let outcome = match &uncertain {
            Some(reason) => Err(JournalError::Uncertain(String::clone(reason))),
            None => commit(&mut port, runs, &proposals, &mut queue).await,
        };
        match outcome {
            Ok(plan) => {
                if let Some(last) = plan.entries.last() {
                    follow::raise(&moved, LedgerSequence(last.sequence));
                }
                for (proposal, answer) in proposals.into_iter().zip(plan.answers) {
                    proposal.answer(answer);
                }
            }
            Err(error) => {
                if let JournalError::Uncertain(reason) = &error {
                    tracing::error!(%reason, "the ledger takes no more entries until a restart");
                    uncertain = Some(reason.clone());
                }
                refuse(proposals, &error);
                if matches!(error, JournalError::Away(_)) {
                    // Who waited meanwhile need not wait as long again.
                    refuse(std::iter::from_fn(|| queue.try_recv().ok()), &error);
                }
            }
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
) -> Result<Plan, JournalError> {
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
            return Err(error);
        }
    };
    let failure = match tokio::time::timeout(patience.commit, port.commit()).await {
        Ok(Ok(())) => return Ok(plan),
        Ok(Err(error)) => error,
        Err(_) => JournalError::Away(format!("no answer to a commit within {} s", patience.commit.as_secs())),
    };
    port.abandon();
    settle(port, plan, failure, queue).await
}

async fn store<P: Port>(port: &mut P, runs: Runs, proposals: &[Proposal]) -> Result<Plan, JournalError> {
    let head = port.begin().await?;
    let rows = port.rows(&group::rows_of(proposals)).await?;
    let plan = group::plan(head, rows, runs, proposals);
    port.store(&plan.entries, &plan.rows).await?;
    Ok(plan)
}

/// Finds out whether a commit that failed holds after all. Whoever proposes meanwhile is told that the ledger is away.
async fn settle<P: Port>(
    port: &mut P,
    plan: Plan,
    failure: JournalError,
    queue: &mut mpsc::Receiver<Proposal>,
) -> Result<Plan, JournalError> {
    // The hash covers all that came before, so the first entry tells it for the whole group. When there is none, the
    // conflicts stand: they were seen under the lock.
    let Some(first) = plan.entries.first() else { return Ok(plan) };
    let (sequence, hash) = (LedgerSequence(first.sequence), read::hash_from(first.hash.clone())?);
    let away = JournalError::Away(format!("it is not known yet whether the last commit holds: {failure}"));
    let found = tokio::time::timeout(port.patience().settle, async {
        let mut asked = std::pin::pin!(found(port, sequence));
        loop {
            tokio::select! {
                found = &mut asked => return found,
                Some(proposal) = queue.recv() => proposal.answer(Err(away.clone())),
            }
        }
    });
    match found.await {
        Ok(Some(stored)) if stored == hash => Ok(plan),
        Ok(_) => Err(failure),
        Err(_) => {
            port.abandon();
            Err(JournalError::Uncertain(failure.to_string()))
        }
    }
}

/// The hash that stands at a place, as soon as the database tells: under the head's lock, which whatever is still in
/// flight has to let go of first.
async fn found<P: Port>(port: &mut P, sequence: LedgerSequence) -> Option<super::Hash> {
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
            Ok(Err(error)) => tracing::warn!("whether a commit holds cannot be asked yet: {error}"),
            Err(_) => tracing::warn!("whether a commit holds was not answered yet"),
        }
        tokio::time::sleep(patience.pause).await;
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
