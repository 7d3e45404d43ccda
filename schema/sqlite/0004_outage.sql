-- Version 4: outages that were told of.

-- Which webhooks have been told that an instance is not reached: once an outage.
CREATE TABLE outage (
    instance TEXT NOT NULL REFERENCES instance (name) ON DELETE CASCADE,
    webhook  TEXT NOT NULL REFERENCES webhook (name) ON DELETE CASCADE,
    told_at  INTEGER NOT NULL,
    PRIMARY KEY (instance, webhook)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
