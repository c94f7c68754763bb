-- What only one node may move at a time (`kernel::ledger::Row`): moved in the same transaction as the entries, and
-- looked at before them. A ledger that is older gets its rows from its entries when it is opened.
CREATE TABLE rows (
    kind   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
-- Who is there (`kernel::ledger::Presence`): outside the chain.
CREATE TABLE nodes (
    node    TEXT    PRIMARY KEY,
    run     INTEGER NOT NULL,
    beat    INTEGER NOT NULL,
    version TEXT    NOT NULL,
    at      TEXT    NOT NULL
) STRICT;
