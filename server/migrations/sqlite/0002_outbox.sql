-- Reliable messages that a broker has not acknowledged yet. `sequence` is the order in which they were handed in,
-- `link` the client that sends them. Rows leave when the broker acknowledged or the validity ended.
CREATE TABLE outbox (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    link         TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    topic        TEXT    NOT NULL,
    payload      BLOB    NOT NULL,
    retain       INTEGER NOT NULL,
    valid_for_ms INTEGER NOT NULL,
    UNIQUE (link, key)
);
