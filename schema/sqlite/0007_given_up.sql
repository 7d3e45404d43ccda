-- Version 7: since when the session that made a change is given up: the server did not answer a
-- cancel, and may still be at it (wall ms; 0: it was not given up).

ALTER TABLE intent ADD COLUMN given_up_at INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 7;
