#pragma once
/* How many lines a job is expected to write to its server's error log, for its plan. Tables: what
 * writes a line, and how often each kind does it.
 *
 * Counted is what SQL Server is documented, or known from public logs, to write when all goes as
 * planned; trials that are repeated add their own:
 *  - a BACKUP that succeeded: one (18264), unless trace flag 3226 is on. Microsoft's page on trace
 *    flags, 3226: by default every successful backup adds an entry to the error log.
 *  - a BACKUP that failed: 3041 (and 18204 or 18210 for a device); none is expected.
 *  - DBCC TRACEON and TRACEOFF: one each ("DBCC TRACEON n, server process ID (SPID) …", seen in
 *    public logs).
 *  - CREATE DATABASE … AS SNAPSHOT OF: one, as the database starts (17137, "Starting up database";
 *    seen in public logs and in Microsoft's sample of DBCC CLONEDATABASE); dropping it: none.
 *  - SELECT INTO, deleting files, everything that only reads: none. */
#include "jobs/run.h"

/* From run->plan's arms and steps and the definition alone; the run need not be connected. Flags
 * are taken to be off before the job. */
int64_t log_lines_expected(struct run *run);
