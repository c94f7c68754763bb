-- The ledger: append-only, each entry chained to the one before by its hash (C15).
CREATE TABLE entries (
    sequence  BIGINT  PRIMARY KEY CHECK (sequence > 0),
    -- RFC 3339 in UTC with microseconds, for people.
    at        TEXT    NOT NULL,
    node      TEXT    NOT NULL,
    -- JSON, exactly as it was hashed: JSONB would write it anew.
    record    TEXT    NOT NULL,
    -- Entries of a drill run say so, and their hash covers it.
    drill     BOOLEAN NOT NULL,
    prev_hash BYTEA   NOT NULL CHECK (length(prev_hash) = 32),
    hash      BYTEA   NOT NULL CHECK (length(hash) = 32)
);

-- One row: where the chain ends. Whoever appends locks it, so that several processes write one chain.
CREATE TABLE head (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    sequence BIGINT  NOT NULL CHECK (sequence >= 0),
    hash     BYTEA   NOT NULL CHECK (length(hash) = 32)
);

INSERT INTO head (id, sequence, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

-- What only one node may move at a time (`kernel::ledger::Row`): moved in the same transaction as the entries, and
-- looked at before them.
CREATE TABLE rows (
    kind   TEXT   NOT NULL,
    name   TEXT   NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- Who is there (`kernel::ledger::Presence`): outside the chain.
CREATE TABLE nodes (
    node    TEXT   PRIMARY KEY,
    run     BIGINT NOT NULL,
    beat    BIGINT NOT NULL,
    version TEXT   NOT NULL,
    at      TEXT   NOT NULL
);

CREATE FUNCTION hoistway_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: %', TG_ARGV[0];
END $$;

CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
    FOR EACH ROW EXECUTE FUNCTION hoistway_refuse('an entry is never changed');
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
    FOR EACH ROW EXECUTE FUNCTION hoistway_refuse('an entry is never deleted');
CREATE TRIGGER entries_are_never_truncated BEFORE TRUNCATE ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION hoistway_refuse('an entry is never deleted');
CREATE TRIGGER head_is_never_deleted BEFORE DELETE ON head
    FOR EACH ROW EXECUTE FUNCTION hoistway_refuse('its head is never deleted');
CREATE TRIGGER head_is_never_truncated BEFORE TRUNCATE ON head
    FOR EACH STATEMENT EXECUTE FUNCTION hoistway_refuse('its head is never deleted');
CREATE TRIGGER head_only_rises BEFORE UPDATE ON head
    FOR EACH ROW WHEN (NEW.id <> 1 OR NEW.sequence <> OLD.sequence + 1)
    EXECUTE FUNCTION hoistway_refuse('its head only rises');

-- The head follows each entry by itself, so the two cannot disagree. Before the row, not after it: the rows of one
-- statement are checked one after the other, each against the head that the one before has left.
CREATE FUNCTION hoistway_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE head SET sequence = NEW.sequence, hash = NEW.hash
        WHERE id = 1 AND sequence = NEW.sequence - 1 AND hash = NEW.prev_hash;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the ledger is append-only: an entry follows the head';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER entries_are_chained BEFORE INSERT ON entries
    FOR EACH ROW EXECUTE FUNCTION hoistway_follow();

-- Tells who listens where the chain ends, once the transaction holds.
CREATE FUNCTION hoistway_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('hoistway_ledger', (SELECT sequence::text FROM head WHERE id = 1));
    RETURN NULL;
END $$;

CREATE TRIGGER entries_are_told AFTER INSERT ON entries
    FOR EACH STATEMENT EXECUTE FUNCTION hoistway_tell();
