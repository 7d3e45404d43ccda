#pragma once
/* What we may do to an instance that must be undone: the names of actions in the journal. */
#define JOURNAL_FILE "file"         /* a backup file of ours; object: its full path */
#define JOURNAL_FLAG "trace_flag"   /* object: its number; prior: {"on", "started"} */
#define JOURNAL_SNAPSHOT "snapshot" /* a snapshot of ours; object: its name */
#define JOURNAL_TABLE "table"       /* object: its name; prior: {"database": "Sales"} */
