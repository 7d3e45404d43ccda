-- The results database, version 5: how long a job ran already, over all its tries, and which jobs
-- do not wait for a window.

ALTER TABLE job ADD COLUMN run_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN ignores_windows INTEGER NOT NULL DEFAULT 0
    CHECK (ignores_windows IN (0, 1));
UPDATE job SET ignores_windows = 1 WHERE json_extract(definition, '$.ignore_windows') = 1;

-- They may stand behind a job that waits for a window: they have a queue of their own beside.
CREATE INDEX job_ignoring ON job (instance, exclusive, priority DESC, id)
    WHERE state IN ('queued', 'waiting') AND ignores_windows = 1 AND ready_at = 0;

PRAGMA user_version = 5;
