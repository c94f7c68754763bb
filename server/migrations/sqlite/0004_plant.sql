-- What a simulated plant is (`sim::kept`, JSON): a row for each part, written before anybody hears of it.
CREATE TABLE plant_parts (
    kind  TEXT NOT NULL CHECK (kind IN ('header', 'lift', 'vehicle', 'memory', 'load')),
    name  TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
