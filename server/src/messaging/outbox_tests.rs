//! The outbox without a broker.

use super::*;
use crate::messaging::Publish;

fn message(key: &str, valid_for: Millis) -> Publish {
    let road = Road::Reliable { key: key.to_owned(), valid_for };
    Publish { topic: "t".to_owned(), payload: key.as_bytes().to_vec(), road, retain: false }
}

fn keys(outbox: &Outbox, now: Mono) -> Vec<String> {
    let mut cursor = 0;
    let mut keys = Vec::new();
    while let Some((sequence, entry)) = outbox.after(cursor, now) {
        cursor = sequence;
        keys.push(entry.key);
    }
    keys
}

async fn storages(dir: &tempfile::TempDir) -> (SqlitePool, [Outbox; 2]) {
    let pool = crate::store::open(&dir.path().join("store.db")).await.unwrap();
    let sqlite = Outbox::sqlite(pool.clone(), "L", Mono(0)).await.unwrap();
    (pool, [Outbox::memory(), sqlite])
}

#[tokio::test]
async fn messages_keep_their_order_until_they_expire() {
    let dir = tempfile::tempdir().unwrap();
    let (pool, outboxes) = storages(&dir).await;
    for outbox in &outboxes {
        for (key, valid_for) in [("a", 100), ("b", 50), ("c", 100)] {
            outbox.keep(message(key, Millis(valid_for)), Mono(1000)).await.unwrap();
        }
        outbox.keep(message("a", Millis(100)), Mono(1000)).await.unwrap();
        assert_eq!(keys(outbox, Mono(1000)), ["b", "c", "a"], "a repeat replaces");
        assert_eq!(keys(outbox, Mono(1050)), ["c", "a"]);
        assert_eq!(keys(outbox, Mono(1100)), [] as [&str; 0]);
        let expired = outbox.expired(Mono(1050));
        outbox.forget(&expired).await.unwrap();
        assert_eq!(outbox.len(), 2);
    }
    let found = Outbox::sqlite(pool.clone(), "L", Mono(5000)).await.unwrap();
    assert_eq!(keys(&found, Mono(5099)), ["c", "a"], "the validity counts from the start");
    assert!(Outbox::sqlite(pool, "another", Mono(0)).await.unwrap().is_empty());
}
