-- The named statements of the SQLite dialect. schema/embed.py turns them into enum sql_id and
-- C texts: "-- name: x" starts SQL_X, the comment after it says why; "-- part: x" starts a text
-- that others include as {x}. A name that begins with a dialect exists in that dialect alone.

-- === connection ==================================================================================

-- name: sqlite_busy_timeout
-- Only a person's sqlite3 shell or a backup can hold a lock we wait for.
PRAGMA busy_timeout = 5000;

-- name: sqlite_application_id
-- Tells our file from another program's.
PRAGMA application_id;

-- name: sqlite_user_version
-- The number of the newest migration that ran.
PRAGMA user_version;

-- name: sqlite_object_count
-- An empty file is one that we may fill.
SELECT count(*) FROM sqlite_schema;

-- name: sqlite_quick_check
-- A damaged file must be found before something is written on top of it.
PRAGMA quick_check(3);

-- name: sqlite_journal_mode
-- Readers never wait for the writer, and a commit is one flush.
PRAGMA journal_mode = WAL;

-- name: sqlite_synchronous
-- What was answered survives a power cut: NORMAL would lose the last commits.
PRAGMA synchronous = FULL;

-- name: sqlite_foreign_keys
-- Off by default in SQLite.
PRAGMA foreign_keys = ON;

-- name: sqlite_trusted_schema
-- A schema somebody tampered with must not call functions with side effects.
PRAGMA trusted_schema = OFF;

-- name: sqlite_secure_delete
-- Deleted rows are overwritten: sealed URLs and paths do not linger in free pages.
PRAGMA secure_delete = ON;

-- name: sqlite_cell_size_check
-- Finds damaged pages when they are read, not when they have done harm.
PRAGMA cell_size_check = ON;

-- name: sqlite_journal_size_limit
-- After a burst the log file shrinks again.
PRAGMA journal_size_limit = 67108864;

-- name: sqlite_wal_autocheckpoint
-- Small and often: 4,000 pages tripled the longest commits.
PRAGMA wal_autocheckpoint = 1000;

-- name: sqlite_temp_store
-- Sorting needs no writable folder besides our own.
PRAGMA temp_store = MEMORY;

-- name: sqlite_query_only
-- A read connection cannot write, whatever runs on it.
PRAGMA query_only = ON;

-- === transactions ================================================================================

-- name: tx_begin
-- The writer's: takes the write lock now, so that no later statement finds it taken.
BEGIN IMMEDIATE;

-- name: tx_begin_read
-- A reader's: its statements see one state of the database.
BEGIN;

-- name: tx_commit
-- After this step what it holds is durable.
COMMIT;

-- name: tx_rollback
-- Undoes the whole transaction.
ROLLBACK;

-- name: work_begin
-- One work among several in a transaction.
SAVEPOINT work;

-- name: work_keep
-- Its changes join the transaction.
RELEASE work;

-- name: work_undo
-- Its changes alone are undone; work_keep must follow.
ROLLBACK TO work;

-- name: disk_try
-- A write for its own sake: after a disk failure only that tells that it is over.
INSERT INTO idempotency (key, fingerprint, job, created_at) VALUES ('', '', '', 0);

-- name: disk_tried
-- Never to be seen by anybody.
DELETE FROM idempotency WHERE key = '';

-- === instances ===================================================================================

-- part: instance_columns
name, definition, version, created_at, updated_at, held

-- name: instance_put
-- Inserts or replaces; no row comes back when the version (?4, -1 for any) is not the stored one.
INSERT INTO instance (name, definition, version, created_at, updated_at, held)
SELECT ?1, ?2, 1, ?3, ?3, NULL
WHERE ?4 = -1 OR EXISTS (SELECT 1 FROM instance WHERE name = ?1 AND version = ?4)
ON CONFLICT (name) DO UPDATE SET
    definition = excluded.definition, version = version + 1, updated_at = excluded.updated_at,
    held = NULL
RETURNING version, created_at, updated_at;

-- name: instance_get
-- By its name.
SELECT {instance_columns} FROM instance WHERE name = ?1;

-- name: instance_list
-- A page after a moment and a name, newest first.
SELECT {instance_columns} FROM instance WHERE created_at < ?1 OR (created_at = ?1 AND name < ?2)
ORDER BY created_at DESC, name DESC LIMIT ?3;

-- name: instance_guard
-- What decides whether it may go: its version, jobs that have not ended, things not undone.
SELECT version,
    EXISTS (SELECT 1 FROM job WHERE instance = ?1 AND exclusive IN (0, 1)
        AND state IN ('queued', 'waiting'))
    OR EXISTS (SELECT 1 FROM job WHERE state = 'running'
        AND state <> 'succeeded' AND instance = ?1),
    EXISTS (SELECT 1 FROM intent WHERE instance = ?1 AND state IN ('open', 'failed'))
FROM instance WHERE name = ?1;

-- name: instance_is_used
-- Whether a job began there that has not ended, or something there is not undone.
SELECT EXISTS (SELECT 1 FROM job WHERE instance = ?1 AND exclusive IN (0, 1)
        AND state IN ('queued', 'waiting') AND started_at <> 0)
    OR EXISTS (SELECT 1 FROM job WHERE state = 'running'
        AND state <> 'succeeded' AND instance = ?1)
    OR EXISTS (SELECT 1 FROM intent WHERE instance = ?1 AND state IN ('open', 'failed'));

-- name: instance_delete
-- Its ended jobs stay.
DELETE FROM instance WHERE name = ?1;

-- name: instance_hold
-- The reason why its jobs wait, or NULL.
UPDATE instance SET held = ?2 WHERE name = ?1;

-- === jobs ========================================================================================

-- part: job_columns
job.id, job.kind, job.instance, job.state, job.state_reason, job.phase, job.cleanup, job.priority,
job.not_before, job.deadline, job.retry_at, job.unreachable_since, job.attempts, job.exclusive,
job.cancel_asked, job.created_at, job.started_at, job.finished_at, job.requested_by, job.retry_of,
job.definition, job.summary, job.error, job.trials_done, job.trials_planned, job.version,
job.run_ms, job.ignores_windows

-- name: job_insert
-- The instance may have been deleted since the caller looked: then nothing is inserted.
INSERT INTO job (id, kind, instance, state, state_reason, phase, cleanup, priority,
    not_before, deadline, retry_at, unreachable_since, attempts, exclusive,
    cancel_asked, created_at, started_at, finished_at, requested_by, retry_of,
    definition, summary, error, trials_done, trials_planned, version, run_ms, ignores_windows,
    ready_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
    ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, max(?9, ?11)
WHERE EXISTS (SELECT 1 FROM instance WHERE name = ?3);

-- name: job_label_insert
-- The labels of a definition, as rows that a list can search.
INSERT INTO job_label (key, value, job)
SELECT key, value, ?1 FROM json_each(?2, '$.labels') WHERE type = 'text';

-- name: job_plan_put
-- The same plan again writes nothing.
INSERT INTO job_plan (job, document) VALUES (?1, ?2)
ON CONFLICT (job) DO UPDATE SET document = excluded.document
WHERE document IS NOT excluded.document;

-- name: job_get
-- With its plan.
SELECT {job_columns}, job_plan.document
FROM job LEFT JOIN job_plan ON job_plan.job = job.id WHERE job.id = ?1;

-- name: job_update
-- What may change, unless somebody changed it meanwhile. A moment already noticed stays so.
UPDATE job SET
    state = ?4, state_reason = ?5, phase = ?6, cleanup = ?7, priority = ?8, not_before = ?9,
    deadline = ?10, retry_at = ?11, unreachable_since = ?12, attempts = ?13, exclusive = ?14,
    cancel_asked = ?15, started_at = ?17, finished_at = ?18, requested_by = ?19, retry_of = ?20,
    summary = ?22, error = ?23, trials_done = ?24, trials_planned = ?25, version = version + 1,
    run_ms = ?27, ignores_windows = ?28,
    ready_at = CASE WHEN max(?9, ?11) = max(not_before, retry_at) THEN ready_at
        ELSE max(?9, ?11) END
WHERE id = ?1 AND version = ?26;

-- Parameters of all lists: 1 after, 2 lowest id, 3 created since, 4 state, 5 kind, 6 instance,
-- 7 label key, 8 label value, 9 limit. Which statement is used decides which key is walked;
-- the other conditions only filter what is met on the way.

-- part: job_filter
    AND job.created_at >= ?3
    AND (?4 IS NULL OR job.state = ?4)
    AND (?5 IS NULL OR job.kind = ?5)
    AND (?6 IS NULL OR job.instance = ?6)
    AND (?7 IS NULL OR EXISTS (SELECT 1 FROM job_label
        WHERE key = ?7 AND value = ?8 AND job_label.job = job.id))

-- name: job_list
-- Along the ids.
SELECT {job_columns} FROM job
WHERE job.id < coalesce(?1, '~') AND job.id >= ?2
{job_filter}
ORDER BY job.id DESC LIMIT ?9;

-- name: job_list_instance
-- Along one instance's jobs.
SELECT {job_columns} FROM job
WHERE job.instance = ?6 AND job.id < coalesce(?1, '~') AND job.id >= ?2
{job_filter}
ORDER BY job.id DESC LIMIT ?9;

-- name: job_list_label
-- Along the jobs that carry one label.
SELECT {job_columns} FROM job_label AS label CROSS JOIN job ON job.id = label.job
WHERE label.key = ?7 AND label.value = ?8 AND label.job < coalesce(?1, '~') AND label.job >= ?2
{job_filter}
ORDER BY label.job DESC LIMIT ?9;

-- name: job_list_state
-- Any state but succeeded.
SELECT {job_columns} FROM job
WHERE job.state = ?4 AND job.state <> 'succeeded'
    AND job.id < coalesce(?1, '~') AND job.id >= ?2
{job_filter}
ORDER BY job.id DESC LIMIT ?9;

-- name: job_wake
-- Jobs whose moment has come join those that may run now. Bounded: the rest comes next time.
UPDATE job SET ready_at = 0 WHERE rowid IN (
    SELECT rowid FROM job WHERE state IN ('queued', 'waiting') AND ready_at > 0 AND ready_at <= ?1
    ORDER BY ready_at LIMIT 1000);

-- name: job_shift_retries
-- Somebody set the clock so much on, or back: who waits for an instance that is away waits as long as
-- before.
UPDATE job SET retry_at = max(retry_at + ?1, 1), unreachable_since = max(unreachable_since + ?1, 1),
    ready_at = CASE WHEN ready_at > 0 THEN max(retry_at + ?1, 1) ELSE 0 END
WHERE rowid IN (SELECT job.rowid FROM instance CROSS JOIN job ON job.instance = instance.name
    AND job.state = 'waiting' AND job.state_reason = 'unreachable');

-- name: job_bound_retries
-- ?1 now, ?2 the longest pause: after a start nobody knows what the clock did meanwhile.
UPDATE job SET retry_at = min(retry_at, ?1 + ?2), unreachable_since = min(unreachable_since, ?1),
    ready_at = CASE WHEN ready_at > 0 THEN min(ready_at, ?1 + ?2) ELSE 0 END
WHERE rowid IN (SELECT job.rowid FROM instance CROSS JOIN job ON job.instance = instance.name
    AND job.state = 'waiting' AND job.state_reason = 'unreachable') AND retry_at > ?1;

-- name: job_heads
-- One look-up for each instance, exclusiveness and state, and the few that job_wake left. Those
-- that ignore windows have places of their own, too: they may start while the others wait.
WITH slot (exclusive, state) AS (
    VALUES (0, 'queued'), (0, 'waiting'), (1, 'queued'), (1, 'waiting')),
candidate (job) AS (
    SELECT (SELECT id FROM job
            WHERE job.instance = instance.name AND job.exclusive = slot.exclusive
                AND job.state = slot.state AND job.state IN ('queued', 'waiting')
                AND job.ready_at = 0
            ORDER BY job.priority DESC, job.id LIMIT 1)
    FROM instance CROSS JOIN slot
    UNION
    SELECT (SELECT id FROM job
            WHERE job.instance = instance.name AND job.exclusive = kind.exclusive
                AND job.ignores_windows = 1 AND job.state IN ('queued', 'waiting')
                AND job.ready_at = 0
            ORDER BY job.priority DESC, job.id LIMIT 1)
    FROM instance CROSS JOIN (SELECT 0 AS exclusive UNION ALL SELECT 1) AS kind
    UNION
    SELECT id FROM job
    WHERE state IN ('queued', 'waiting') AND ready_at > 0 AND ready_at <= ?1),
ranked (id, place, ignoring, own_place) AS (
    SELECT job.id,
        row_number() OVER (
            PARTITION BY job.instance, job.exclusive ORDER BY job.priority DESC, job.id),
        job.ignores_windows,
        row_number() OVER (PARTITION BY job.instance, job.exclusive, job.ignores_windows
            ORDER BY job.priority DESC, job.id)
    FROM candidate CROSS JOIN job ON job.id = candidate.job)
SELECT {job_columns}, job_plan.document
FROM ranked CROSS JOIN job ON job.id = ranked.id LEFT JOIN job_plan ON job_plan.job = job.id
WHERE ranked.place = 1 OR (ranked.ignoring = 1 AND ranked.own_place = 1)
ORDER BY job.priority DESC, job.id;

-- name: job_running
-- After a start: what was interrupted.
SELECT {job_columns}, job_plan.document
FROM job LEFT JOIN job_plan ON job_plan.job = job.id
WHERE job.state = 'running' AND job.state <> 'succeeded'
ORDER BY job.id;

-- part: job_marked
AND ready_at = 0 AND (?2 <> 'window' OR ignores_windows = 0)

-- name: job_mark_queued
-- ?1 instance, ?2 reason, ?3 at most. Who waits for a moment of its own (ready_at) keeps its reason.
UPDATE job SET state = 'waiting', state_reason = ?2, version = version + 1 WHERE rowid IN (
    SELECT rowid FROM job WHERE instance = ?1 AND exclusive IN (0, 1) AND state = 'queued'
        AND state IN ('queued', 'waiting') AND ready_at = 0
        AND (?2 <> 'window' OR ignores_windows = 0)
    LIMIT ?3);

-- name: job_mark_waiting
-- Ranges of the index instead of "not equal": those already marked so are not walked over.
UPDATE job SET state_reason = ?2, version = version + 1 WHERE rowid IN (
    SELECT rowid FROM (
        SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason IS NULL
            {job_marked}
        UNION ALL
        SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason < ?2
            {job_marked}
        UNION ALL
        SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason > ?2
            {job_marked})
    LIMIT ?3);

-- name: job_unmarked_queued
-- What job_mark_queued would mark, looked for without the writer.
SELECT 1 FROM job WHERE instance = ?1 AND exclusive IN (0, 1) AND state = 'queued'
    AND state IN ('queued', 'waiting') AND ready_at = 0
    AND (?2 <> 'window' OR ignores_windows = 0)
LIMIT 1;

-- name: job_unmarked_waiting
-- What job_mark_waiting would mark.
SELECT 1 FROM (
    SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason IS NULL
        {job_marked}
    UNION ALL
    SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason < ?2
        {job_marked}
    UNION ALL
    SELECT rowid FROM job WHERE state = 'waiting' AND instance = ?1 AND state_reason > ?2
        {job_marked})
LIMIT 1;

-- name: job_kept_back
-- Whether a job of the instance found its server taken by another service, and waits to try again.
SELECT 1 FROM job
WHERE instance = ?1 AND exclusive = 1 AND state = 'waiting' AND state IN ('queued', 'waiting')
    AND ready_at > ?2 AND state_reason = 'instance_busy'
LIMIT 1;

-- name: job_next_moment
-- The end of two small indexes.
SELECT min(moment) FROM (
    SELECT min(ready_at) AS moment FROM job
    WHERE state IN ('queued', 'waiting') AND ready_at > 0 AND ready_at > ?1
    UNION ALL
    SELECT min(deadline) FROM job
    WHERE state IN ('queued', 'waiting') AND deadline > 0 AND deadline > ?1);

-- name: job_overdue
-- Not started in time.
SELECT {job_columns}, job_plan.document
FROM job LEFT JOIN job_plan ON job_plan.job = job.id
WHERE job.state IN ('queued', 'waiting') AND job.deadline > 0 AND job.deadline <= ?1
ORDER BY job.deadline LIMIT 100;

-- === idempotency keys ============================================================================

-- name: key_claim
-- Changes nothing when the key is known.
INSERT INTO idempotency (key, fingerprint, job, created_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO NOTHING;

-- name: key_get
-- What the key stood for.
SELECT job, fingerprint FROM idempotency WHERE key = ?1;

-- name: key_expire
-- Among the oldest, so that a call ends soon.
DELETE FROM idempotency
WHERE seq IN (SELECT seq FROM idempotency ORDER BY seq LIMIT 1000) AND created_at < ?1;

-- === tokens and the audit trail ===================================================================

-- part: token_columns
name, scope, digest, created_at, last_used_at

-- name: token_insert
-- The name is there already: nothing changes, and the count says so.
INSERT INTO token (name, scope, lookup, digest, created_at, last_used_at)
VALUES (?1, ?2, ?3, ?4, ?5, 0) ON CONFLICT (name) DO NOTHING;

-- name: token_find
-- By the beginning of its digest; the caller compares the rest in constant time.
SELECT {token_columns} FROM token WHERE lookup = ?1;

-- name: token_any
-- Whether callers need one.
SELECT EXISTS (SELECT 1 FROM token);

-- name: token_list
-- All: people keep a handful.
SELECT {token_columns} FROM token ORDER BY name;

-- name: token_delete
-- From the next request on it is unknown.
DELETE FROM token WHERE name = ?1;

-- name: token_used
-- Never back in time: two requests may note their use in any order.
UPDATE token SET last_used_at = ?2 WHERE name = ?1 AND last_used_at < ?2;

-- name: audit_insert
-- In the transaction of the change that it tells of.
INSERT INTO audit (at, who, action, object, request_id) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: audit_list
-- Newest first, a page before a number.
SELECT seq, at, who, action, object, request_id FROM audit
WHERE seq < coalesce(CAST(?1 AS INTEGER), 9223372036854775807) ORDER BY seq DESC LIMIT ?2;

-- === trials and reports ==========================================================================

-- name: trial_insert
-- The same (job, seq) twice is refused by the key: no trial counts twice.
INSERT INTO trial (job, seq, document) VALUES (?1, ?2, ?3);

-- name: trial_list
-- Oldest first, after a seq; a limit of -1 is none.
SELECT document FROM trial WHERE job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;

-- name: report_put
-- A later report of the same job replaces it.
INSERT INTO report (job, document) VALUES (?1, ?2)
ON CONFLICT (job) DO UPDATE SET document = excluded.document;

-- name: report_rate_put
-- The recommended setting's rate, else the default's, for metrics; nothing when there is none.
INSERT INTO instance_rate (instance, mib_s)
SELECT job.instance, json_extract(arm.value, '$.rate_mib_s.median')
FROM job CROSS JOIN json_each(CASE WHEN json_valid(?2) THEN ?2 ELSE '{}' END, '$.arms') AS arm
WHERE job.id = ?1 AND job.kind LIKE 'backup%'
    AND json_extract(arm.value, '$.rate_mib_s.median') > 0
    AND json_extract(arm.value, '$.arm') = coalesce(json_extract(?2, '$.recommendation.arm'), 'a0')
LIMIT 1
ON CONFLICT (instance) DO UPDATE SET mib_s = excluded.mib_s;

-- name: report_get
-- Of one job.
SELECT document FROM report WHERE job = ?1;

-- name: evidence_put
-- With the report that was made from it.
INSERT INTO evidence (job, document) VALUES (?1, ?2)
ON CONFLICT (job) DO UPDATE SET document = excluded.document;

-- name: evidence_get
-- Of one job.
SELECT document FROM evidence WHERE job = ?1;

-- name: trial_get
-- One of them.
SELECT document FROM trial WHERE job = ?1 AND seq = ?2;

-- === events ======================================================================================

-- part: event_columns
id, job, what, seq, state, state_reason, phase, trials_done, trials_planned

-- name: event_list
-- What happened after an event, to all jobs.
SELECT {event_columns} FROM event WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: event_list_job
-- The same of one job, but its first.
SELECT {event_columns} FROM event
WHERE job = ?3 AND what <> 'created' AND id > ?1 ORDER BY id LIMIT ?2;

-- name: event_last
-- The newest; 0 when nothing ever happened.
SELECT coalesce(max(id), 0) FROM event;

-- name: event_expire
-- Among the oldest, so that a call ends soon; never the newest, so that no number comes twice.
DELETE FROM event
WHERE id IN (SELECT id FROM event ORDER BY id LIMIT 1000) AND at_s < ?1
    AND id < (SELECT max(id) FROM event);

-- === the service as a whole ======================================================================

-- name: service_get
-- One value.
SELECT value FROM service WHERE name = ?1;

-- name: service_put
-- The same again is not an error.
INSERT INTO service (name, value) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- === counts for metrics ==========================================================================

-- name: count_jobs
-- Those that have not ended: along the index of the states.
SELECT state, count(*) FROM job
WHERE state <> 'succeeded' AND state IN ('queued', 'waiting', 'running') GROUP BY state;

-- name: count_oldest
-- When the oldest job that has not started was made; ids sort by time. 0: none waits.
SELECT coalesce((SELECT created_at FROM job WHERE id = (SELECT min(id) FROM (
    SELECT min(id) AS id FROM job WHERE state = 'queued' AND state <> 'succeeded'
    UNION ALL
    SELECT min(id) FROM job WHERE state = 'waiting' AND state <> 'succeeded'))), 0);

-- name: count_ended
-- Since the database was made.
SELECT kind, state, n FROM job_total ORDER BY kind, state;

-- name: count_durations
-- By bucket, the shortest first.
SELECT le, n, seconds FROM job_duration ORDER BY le;

-- name: count_intents
-- What is not undone yet.
SELECT count(*) FROM instance CROSS JOIN intent
ON intent.instance = instance.name AND intent.state = 'open';

-- name: count_undone
-- Since the database was made.
SELECT action, n FROM intent_total ORDER BY action;

-- name: count_instances
-- Each, and whether its jobs may run: its login is not refused and no job waits to reach it.
SELECT name, held IS NULL AND NOT EXISTS (SELECT 1 FROM job
    WHERE job.state = 'waiting' AND job.instance = instance.name
        AND job.state_reason = 'unreachable')
FROM instance ORDER BY name LIMIT 500;

-- name: count_rates
-- Of the instances that still are.
SELECT instance, mib_s FROM instance_rate
WHERE instance IN (SELECT name FROM instance) ORDER BY instance LIMIT 500;

-- name: count_deliveries
-- Since the database was made, by the webhook's format; one that is gone has none.
SELECT coalesce(CASE WHEN json_valid(definition) THEN json_extract(definition, '$.format') END,
    'gone'), state, sum(n)
FROM delivery_total LEFT JOIN webhook ON webhook.name = delivery_total.webhook
GROUP BY 1, 2 ORDER BY 1, 2;

-- === intents =====================================================================================

-- part: intent_columns
id, job, instance, action, object, prior, state, detail, created_at, given_up_at

-- name: intent_insert
-- Committed before the change it announces is made.
INSERT INTO intent ({intent_columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: intent_close
-- Undone, or failed and why.
UPDATE intent SET state = ?2, detail = ?3 WHERE id = ?1;

-- name: intent_give_up
-- The session that made them may still be at it.
UPDATE intent SET given_up_at = ?2 WHERE job = ?1 AND state = 'open';

-- name: intent_list_leftover
-- For each instance where nothing measures and the login is not refused: the first thing that is not
-- undone.
SELECT {intent_columns} FROM intent WHERE intent.id IN (
    SELECT (SELECT open.id FROM intent AS open JOIN job ON job.id = open.job
        WHERE open.instance = instance.name AND open.state = 'open' AND job.state <> 'running'
        ORDER BY open.id LIMIT 1)
    FROM instance
    WHERE instance.held IS NULL AND NOT EXISTS (
        SELECT 1 FROM job WHERE job.state = 'running' AND job.state <> 'succeeded'
            AND job.exclusive = 1 AND job.instance = instance.name))
LIMIT 100;

-- name: intent_pending
-- ?1 instance, ?2 a job: whether another one, which does not run, has something to undo there.
SELECT EXISTS (SELECT 1 FROM intent CROSS JOIN job ON job.id = intent.job
    WHERE intent.instance = ?1 AND intent.state = 'open' AND intent.job <> ?2
        AND job.state <> 'running');

-- name: intent_list_job
-- In the order they were made.
SELECT {intent_columns} FROM intent WHERE job = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY id;

-- name: intent_list_instance
-- In the order they were made, over all jobs of the instance.
SELECT {intent_columns} FROM intent WHERE instance = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY id;

-- name: intent_list_instance_left
-- What is not undone: still open, or refused by the server when it was tried.
SELECT {intent_columns} FROM intent WHERE instance = ?1 AND state IN ('open', 'failed') ORDER BY id;

-- name: intent_abandon
-- The caller says so: what the server refused to undo is not tried any more, and holds nothing.
UPDATE intent SET state = 'abandoned' WHERE instance = ?1 AND state = 'failed';

-- name: intent_list_instance_state
-- The usual question (what is open?) must not walk over all that was ever undone.
SELECT {intent_columns} FROM intent WHERE instance = ?1 AND state = ?2 ORDER BY id;

-- === webhooks and the outbox =====================================================================

-- part: webhook_columns
name, definition, url_sealed, disabled, version, created_at, updated_at

-- name: webhook_put
-- Inserts or replaces; no row comes back when the version (?6, -1 for any) is not the stored one.
INSERT INTO webhook (name, definition, url_sealed, disabled, version, created_at, updated_at)
SELECT ?1, ?2, ?3, ?4, 1, ?5, ?5
WHERE ?6 = -1 OR EXISTS (SELECT 1 FROM webhook WHERE name = ?1 AND version = ?6)
ON CONFLICT (name) DO UPDATE SET
    definition = excluded.definition, url_sealed = excluded.url_sealed,
    disabled = excluded.disabled, version = version + 1, updated_at = excluded.updated_at
RETURNING version, created_at, updated_at;

-- name: webhook_get
-- By its name.
SELECT {webhook_columns} FROM webhook WHERE name = ?1;

-- name: webhook_list
-- A page after a moment and a name, newest first.
SELECT {webhook_columns} FROM webhook WHERE created_at < ?1 OR (created_at = ?1 AND name < ?2)
ORDER BY created_at DESC, name DESC LIMIT ?3;

-- name: webhook_delete
-- Its deliveries go with it.
DELETE FROM webhook WHERE name = ?1;

-- name: webhook_disable
-- The receiver answered 410: until the next PUT nothing is sent there.
UPDATE webhook SET disabled = 1, version = version + 1 WHERE name = ?1 AND disabled = 0;

-- name: sealed_list
-- All values that are sealed, by name after ?1; those that begin with ?2 (the newest key) are left
-- out, so that a look at what is still sealed with another costs no cipher.
SELECT name, url_sealed FROM webhook
WHERE url_sealed IS NOT NULL AND name > ?1
    AND (?2 IS NULL OR substr(url_sealed, 1, length(?2)) <> ?2)
ORDER BY name LIMIT ?3;

-- name: sealed_put
-- The same secret under another key: nothing that anybody sees has changed, so neither does the version.
UPDATE webhook SET url_sealed = ?2 WHERE name = ?1;

-- part: delivery_columns
delivery.id, delivery.webhook, delivery.event, delivery.job, delivery.payload, delivery.state,
delivery.attempts, delivery.last_status, delivery.last_error, delivery.next_at, delivery.created_at

-- name: delivery_insert
-- In the transaction that ends the job.
INSERT INTO delivery (id, webhook, event, job, payload, state, attempts, last_status, last_error,
    next_at, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: delivery_update
-- How a try went; not when somebody asked for it again meanwhile, since then it is due anew.
UPDATE delivery SET state = ?6, attempts = ?7, last_status = ?8, last_error = ?9, next_at = ?10
WHERE id = ?1 AND attempts = ?7 - 1;

-- name: delivery_again
-- Due now, with all its tries before it.
UPDATE delivery SET state = 'pending', attempts = 0, next_at = ?2 WHERE id = ?1;

-- name: outage_tell
-- No row changes when this webhook has been told of this outage.
INSERT INTO outage (instance, webhook, told_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING;

-- name: outage_end
-- The instance answered.
DELETE FROM outage WHERE instance = ?1;

-- name: delivery_get
-- To send it again.
SELECT {delivery_columns} FROM delivery WHERE id = ?1;

-- name: delivery_due
-- One look-up a webhook: a dead receiver's backlog does not slow the others down.
SELECT {delivery_columns} FROM webhook CROSS JOIN delivery
WHERE webhook.disabled = 0 AND delivery.id = (
    SELECT id FROM delivery AS head
    WHERE head.webhook = webhook.name AND head.state = 'pending' AND head.next_at <= ?1
    ORDER BY head.next_at, head.id LIMIT 1)
ORDER BY delivery.next_at, delivery.id LIMIT ?2;

-- name: delivery_list
-- Newest first.
SELECT {delivery_columns} FROM delivery
WHERE delivery.webhook = ?1 AND delivery.id < coalesce(?2, '~') ORDER BY delivery.id DESC LIMIT ?3;
