-- Entries of a drill run say so, and their hash covers it. A ledger never holds entries of both kinds of run.
ALTER TABLE entries ADD COLUMN drill INTEGER NOT NULL DEFAULT 0 CHECK (drill IN (0, 1));
