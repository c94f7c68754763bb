//! The rows of a ledger that is older than they are.

use kernel::ids::LedgerSequence;
use kernel::ledger::Rows;

use super::port::Port;
use super::{JournalError, READ_MAX, read};
use crate::store::Database;

/// Gives a ledger that has entries and no rows its rows, as its entries would have moved them.
pub(super) async fn rebuild<P: Port>(port: &mut P, database: &Database) -> Result<(), JournalError> {
    if read::has_rows(database).await? || read::head(database).await?.sequence.0 == 0 {
        return Ok(());
    }
    let mut rows = Rows::default();
    let mut folded = LedgerSequence::default();
    fold(database, &mut rows, &mut folded).await?;
    // What came meanwhile is little, and nothing more comes while the head is held.
    let head = port.begin().await?;
    fold(database, &mut rows, &mut folded).await?;
    let moved: Vec<_> = rows.iter().map(|(row, number)| (row.clone(), number)).collect();
    port.store(&[], &moved).await?;
    port.commit().await?;
    tracing::info!(entries = head.sequence.0, rows = moved.len(), "the ledger has got its rows");
    Ok(())
}

/// Moves the rows by all entries after `folded`, page by page.
async fn fold(database: &Database, rows: &mut Rows, folded: &mut LedgerSequence) -> Result<(), JournalError> {
    loop {
        let page = read::entries_after(database, *folded, READ_MAX).await?;
        let Some(last) = page.last() else { return Ok(()) };
        *folded = last.sequence;
        for entry in &page {
            rows.apply(&entry.node, &entry.record);
        }
    }
}
