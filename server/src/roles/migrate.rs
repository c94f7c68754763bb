//! `hoistway migrate FILE`: bring a store to the newest schema without starting a node.
//!
//! Every role does the same when it opens its store; this one exists so that an upgrade can be tried on a copy.

use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::store;

/// Brings an existing store to the newest schema and says where it stands.
///
/// # Errors
/// There is no such file, it is no store, or its schema is newer than this program.
pub async fn run(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    ensure!(file.is_file(), "there is no store {name}; a role creates its store when it starts");
    let pool = store::open(file).await?;
    let version: i64 = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&pool)
        .await
        .with_context(|| format!("cannot read the schema of {name}"))?;
    pool.close().await;
    Ok(format!("{name}: schema {version}, the newest that this program knows\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_is_brought_to_the_newest_schema_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("store.db");
        let missing = run(&file).await.unwrap_err().to_string();
        assert!(missing.contains("there is no store"), "{missing}");
        assert!(!file.exists(), "a mistyped path leaves no file behind");

        store::open(&file).await.unwrap().close().await;
        let newest = store::MIGRATIONS.iter().map(|it| it.version).max().unwrap();
        assert!(run(&file).await.unwrap().contains(&format!("schema {newest},")));

        let other = dir.path().join("notes.txt");
        std::fs::write(&other, "this is not a database, however long it may be".repeat(100)).unwrap();
        assert!(run(&other).await.is_err());
    }
}
