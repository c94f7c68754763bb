-- What a gateway must still know after a restart (`kernel::gateway::Marks`, JSON): one row per gateway.
CREATE TABLE gateway_marks (
    gateway TEXT PRIMARY KEY,
    marks   TEXT NOT NULL
);
