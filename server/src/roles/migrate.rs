//! `hoistway migrate STORE`: bring a store to the newest schema without starting a node.
//!
//! Every role does the same when it opens its store; this one exists so that an upgrade can be tried on a copy.

use anyhow::{Context as _, ensure};

use crate::store::Database;
use crate::store::address::{LedgerAddress, LedgerUrl};

/// Brings an existing store to the newest schema and says where it stands.
///
/// # Errors
/// There is no such file or database, it is no store, or its schema is newer than this program.
pub async fn run(store: &LedgerUrl) -> anyhow::Result<String> {
    let address = store.address()?;
    if let LedgerAddress::File(file) = &address {
        let name = file.display();
        ensure!(file.is_file(), "there is no store {name}; a role creates its store when it starts");
    }
    let database = Database::open(&address).await?;
    let version = database.schema().await.with_context(|| format!("cannot read the schema of {address}"))?;
    database.close().await;
    Ok(format!("{address}: schema {version}, the newest that this program knows\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store;

    async fn migrate(file: &Path) -> anyhow::Result<String> {
        run(&file.to_str().unwrap().parse().unwrap()).await
    }

    #[tokio::test]
    async fn a_store_is_brought_to_the_newest_schema_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("store.db");
        let missing = migrate(&file).await.unwrap_err().to_string();
        assert!(missing.contains("there is no store"), "{missing}");
        assert!(!file.exists(), "a mistyped path leaves no file behind");

        store::open(&file).await.unwrap().close().await;
        let newest = store::MIGRATIONS.iter().map(|it| it.version).max().unwrap();
        assert!(migrate(&file).await.unwrap().contains(&format!("schema {newest},")));

        let newer = dir.path().join("newer.db");
        let pool = store::open(&newer).await.unwrap();
        let applied = "INSERT INTO _sqlx_migrations VALUES (999, 'later', '2026-01-01', 1, x'00', 1)";
        sqlx::query(applied).execute(&pool).await.unwrap();
        pool.close().await;
        let refused = format!("{:#}", migrate(&newer).await.unwrap_err());
        assert!(refused.contains("a newer hoistway has written it"), "{refused}");

        let other = dir.path().join("notes.txt");
        std::fs::write(&other, "this is not a database, however long it may be".repeat(100)).unwrap();
        assert!(migrate(&other).await.is_err());
    }
}
