-- The results database, version 1. Each migration runs in one transaction and ends by saying its
-- number.
-- Ids are UUIDv7 in lower case: they sort by time, so that their index only grows at its end.
-- Times are wall milliseconds, 0 for none. JSON is stored as text exactly as given.
-- What is inserted with every submit has few indexes: each costs an eighth of the insert rate.

PRAGMA application_id = 0x53575350; -- "SWSP"

CREATE TABLE instance (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    held       TEXT
) STRICT, WITHOUT ROWID;

-- No foreign key to instance: the history of a deleted instance stays.
CREATE TABLE job (
    id                TEXT NOT NULL PRIMARY KEY,
    kind              TEXT NOT NULL,
    instance          TEXT NOT NULL,
    state             TEXT NOT NULL,
    state_reason      TEXT,
    phase             TEXT,
    cleanup           TEXT NOT NULL,
    priority          INTEGER NOT NULL,
    not_before        INTEGER NOT NULL,
    deadline          INTEGER NOT NULL,
    retry_at          INTEGER NOT NULL,
    unreachable_since INTEGER NOT NULL,
    attempts          INTEGER NOT NULL,
    exclusive         INTEGER NOT NULL CHECK (exclusive IN (0, 1)),
    cancel_asked      INTEGER NOT NULL CHECK (cancel_asked IN (0, 1)),
    created_at        INTEGER NOT NULL,
    started_at        INTEGER NOT NULL,
    finished_at       INTEGER NOT NULL,
    requested_by      TEXT,
    retry_of          TEXT,
    definition        TEXT NOT NULL,
    summary           TEXT,
    error             TEXT,
    trials_done       INTEGER NOT NULL,
    trials_planned    INTEGER NOT NULL,
    version           INTEGER NOT NULL,
    -- The later of not_before and retry_at, and 0 as soon as that has passed and been noticed
    -- (job_wake): what may run now stands in one run of job_claim, in the order of the queue.
    ready_at          INTEGER NOT NULL
) STRICT;

-- The queues: who is next on an instance is one look-up, however many wait behind.
CREATE INDEX job_claim ON job (instance, exclusive, state, ready_at, priority DESC, id)
    WHERE state IN ('queued', 'waiting');
-- The list of one instance's jobs.
CREATE INDEX job_by_instance ON job (instance, id);
-- The list of one state's jobs; the many that succeeded are found soon without it. One more index
-- on the insert path, since sorting 100,000 queued jobs for each page took a quarter of a second.
CREATE INDEX job_by_state ON job (state, id) WHERE state <> 'succeeded';
-- Not on the insert path, from here on: rows that are few, or come later in a job's life.
CREATE INDEX job_waiting ON job (instance, state_reason) WHERE state = 'waiting';
CREATE INDEX job_ready ON job (ready_at) WHERE state IN ('queued', 'waiting') AND ready_at > 0;
CREATE INDEX job_deadline ON job (deadline) WHERE state IN ('queued', 'waiting') AND deadline > 0;

-- A plan may be large and hardly changes; in the job's row each step of progress would rewrite it.
CREATE TABLE job_plan (
    job      TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

CREATE TABLE job_label (
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    job   TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    PRIMARY KEY (key, value, job)
) STRICT, WITHOUT ROWID;

-- seq grows with time, so that expiry starts at the oldest without an index of its own.
CREATE TABLE idempotency (
    seq         INTEGER PRIMARY KEY,
    key         TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    job         TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE trial (
    job      TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT;

CREATE TABLE report (
    job      TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

CREATE TABLE intent (
    id         TEXT NOT NULL PRIMARY KEY,
    job        TEXT NOT NULL,
    instance   TEXT NOT NULL,
    action     TEXT NOT NULL,
    object     TEXT NOT NULL,
    prior      TEXT,
    state      TEXT NOT NULL,
    detail     TEXT,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX intent_by_job ON intent (job, id);
CREATE INDEX intent_by_instance ON intent (instance, state, id);

CREATE TABLE webhook (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL,
    url_sealed TEXT,
    disabled   INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE delivery (
    id          TEXT NOT NULL PRIMARY KEY,
    webhook     TEXT NOT NULL REFERENCES webhook (name) ON DELETE CASCADE,
    event       TEXT NOT NULL,
    job         TEXT,
    payload     TEXT NOT NULL,
    state       TEXT NOT NULL,
    attempts    INTEGER NOT NULL,
    last_status INTEGER NOT NULL,
    last_error  TEXT,
    next_at     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX delivery_by_webhook ON delivery (webhook, id);
CREATE INDEX delivery_pending ON delivery (webhook, next_at, id) WHERE state = 'pending';

PRAGMA user_version = 1;
