-- The ledger: append-only, each entry chained to the one before by its hash (C15).
CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
    -- RFC 3339 in UTC with microseconds, for people.
    at TEXT NOT NULL,
    node TEXT NOT NULL,
    -- JSON, exactly as it was hashed.
    record TEXT NOT NULL,
    prev_hash BLOB NOT NULL CHECK (length(prev_hash) = 32),
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- One row: where the chain ends. Whoever appends holds it, and it tells when the last entries were cut off.
CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

INSERT INTO head (id, sequence, hash) VALUES (1, 0, zeroblob(32));

CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only: an entry is never changed');
END;

CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only: an entry is never deleted');
END;

CREATE TRIGGER entries_are_chained BEFORE INSERT ON entries
WHEN NEW.sequence <> (SELECT sequence FROM head) + 1 OR NEW.prev_hash <> (SELECT hash FROM head)
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only: an entry follows the head');
END;

CREATE TRIGGER head_only_rises BEFORE UPDATE ON head
WHEN NEW.id <> 1 OR NEW.sequence <> OLD.sequence + 1
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only: its head only rises');
END;

CREATE TRIGGER head_is_never_deleted BEFORE DELETE ON head
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only: its head is never deleted');
END;

-- The head follows each entry by itself, so the two cannot disagree.
CREATE TRIGGER head_follows AFTER INSERT ON entries
BEGIN
    UPDATE head SET sequence = NEW.sequence, hash = NEW.hash WHERE id = 1;
END;
