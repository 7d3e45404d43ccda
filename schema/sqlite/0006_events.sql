-- Version 6: what happened, for those who watch; whether jobs may start; what ended, for metrics.
-- The database notes these itself, in the transaction that makes them true: no code can forget it,
-- and what a client was told is stored.

-- The newest row is never deleted: so no number comes twice.
CREATE TABLE event (
    id             INTEGER PRIMARY KEY,
    job            TEXT NOT NULL,
    what           TEXT NOT NULL, -- created, state, progress, trial, report
    at_s           INTEGER NOT NULL,
    seq            INTEGER, -- of a trial
    state          TEXT,    -- how the job stood then: created, state, progress
    state_reason   TEXT,
    phase          TEXT,
    trials_done    INTEGER,
    trials_planned INTEGER
) STRICT;

-- One job's events but its first, which is known without: that one is on the insert path.
CREATE INDEX event_by_job ON event (job, id) WHERE what <> 'created';

CREATE TRIGGER job_created AFTER INSERT ON job
BEGIN
    INSERT INTO event (job, what, at_s, state, state_reason, trials_done, trials_planned)
    VALUES (NEW.id, 'created', NEW.created_at / 1000, NEW.state, NEW.state_reason,
        NEW.trials_done, NEW.trials_planned);
END;

CREATE TRIGGER job_changed
AFTER UPDATE OF state, state_reason, phase, trials_done, trials_planned ON job
WHEN NEW.state <> OLD.state OR NEW.state_reason IS NOT OLD.state_reason
    OR NEW.phase IS NOT OLD.phase OR NEW.trials_done <> OLD.trials_done
    OR NEW.trials_planned <> OLD.trials_planned
BEGIN
    INSERT INTO event (job, what, at_s, state, state_reason, phase, trials_done, trials_planned)
    VALUES (NEW.id,
        CASE WHEN NEW.state <> OLD.state OR NEW.state_reason IS NOT OLD.state_reason
            THEN 'state' ELSE 'progress' END,
        unixepoch(), NEW.state, NEW.state_reason, NEW.phase, NEW.trials_done, NEW.trials_planned);
END;

CREATE TRIGGER trial_added AFTER INSERT ON trial
BEGIN
    INSERT INTO event (job, what, at_s, seq) VALUES (NEW.job, 'trial', unixepoch(), NEW.seq);
END;

CREATE TRIGGER report_added AFTER INSERT ON report
BEGIN
    INSERT INTO event (job, what, at_s) VALUES (NEW.job, 'report', unixepoch());
END;

CREATE TRIGGER report_replaced AFTER UPDATE ON report
BEGIN
    INSERT INTO event (job, what, at_s) VALUES (NEW.job, 'report', unixepoch());
END;

-- What holds for the whole service.
CREATE TABLE service (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO service (name, value) VALUES ('mode', 'active');

-- Counters that outlive a restart, and that no scrape must count anew.
CREATE TABLE job_total (
    kind  TEXT NOT NULL,
    state TEXT NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (kind, state)
) STRICT, WITHOUT ROWID;

-- A histogram of seconds from the start to the end: le is the bucket's upper end.
CREATE TABLE job_duration (
    le      REAL NOT NULL PRIMARY KEY,
    n       INTEGER NOT NULL,
    seconds REAL NOT NULL
) STRICT;
INSERT INTO job_duration (le, n, seconds) VALUES
    (1, 0, 0), (5, 0, 0), (15, 0, 0), (60, 0, 0), (300, 0, 0), (900, 0, 0), (1800, 0, 0),
    (3600, 0, 0), (7200, 0, 0), (14400, 0, 0), (28800, 0, 0), (9e999, 0, 0);

CREATE TRIGGER job_ended AFTER UPDATE OF finished_at ON job
WHEN OLD.finished_at = 0 AND NEW.finished_at > 0
BEGIN
    INSERT INTO job_total (kind, state, n) VALUES (NEW.kind, NEW.state, 1)
    ON CONFLICT (kind, state) DO UPDATE SET n = n + 1;
    UPDATE job_duration SET n = n + 1,
        seconds = seconds + max(0, NEW.finished_at - NEW.started_at) / 1000.0
    WHERE NEW.started_at > 0 AND le = (SELECT min(le) FROM job_duration
        WHERE le >= (NEW.finished_at - NEW.started_at) / 1000.0);
END;

CREATE TABLE intent_total (
    action TEXT NOT NULL PRIMARY KEY,
    n      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER intent_undone AFTER UPDATE OF state ON intent
WHEN NEW.state = 'undone' AND OLD.state <> 'undone'
BEGIN
    INSERT INTO intent_total (action, n) VALUES (NEW.action, 1)
    ON CONFLICT (action) DO UPDATE SET n = n + 1;
END;

CREATE TABLE delivery_total (
    webhook TEXT NOT NULL,
    state   TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (webhook, state)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER delivery_settled AFTER UPDATE OF state ON delivery
WHEN NEW.state <> OLD.state AND NEW.state IN ('delivered', 'dead')
BEGIN
    INSERT INTO delivery_total (webhook, state, n) VALUES (NEW.webhook, NEW.state, 1)
    ON CONFLICT (webhook, state) DO UPDATE SET n = n + 1;
END;

-- Of the last report that has a rate. No trigger: those may not read JSON where the schema is not
-- trusted.
CREATE TABLE instance_rate (
    instance TEXT NOT NULL PRIMARY KEY,
    mib_s    REAL NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 6;
