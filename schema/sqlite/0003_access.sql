-- Version 3: who may call, and who changed what.

-- A token itself is never stored: digest is its SHA-256 in hexadecimal, lookup the first 16 digits of
-- that, by which the row is found; whether the rest is equal is compared in constant time.
CREATE TABLE token (
    name         TEXT NOT NULL PRIMARY KEY,
    scope        TEXT NOT NULL CHECK (scope IN ('read', 'submit', 'admin')),
    lookup       TEXT NOT NULL UNIQUE,
    digest       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- seq grows with time: the trail is read from its end without an index of its own, which every
-- submit would pay for.
CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    who        TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    request_id TEXT
) STRICT;

PRAGMA user_version = 3;
