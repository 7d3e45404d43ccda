-- Version 2: what a report was made from, sealed with a checksum when the job ended. It repeats the
-- trials as they were then: a row of trial that is damaged later must not look like evidence.

CREATE TABLE evidence (
    job      TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

PRAGMA user_version = 2;
