/* The rows: all that a measured instance may be sent. */
#include "jobs/measure/statement.h"
#include "jobs/measure/statement_slots.h"
#include "jobs/measure/tsql.h"
#include "server/buf.h"

#include <string.h>

enum effect { READS, CHANGES };

#define HISTORY_COLUMNS_BEFORE                                                                     \
    "SELECT s.database_name, s.type, LEFT(s.name, 10), "                                           \
    "CONVERT(nvarchar(19), s.backup_start_date, 120), "                                            \
    "CONVERT(nvarchar(19), s.backup_finish_date, 120), s.time_zone, s.backup_size, "
#define HISTORY_COLUMNS_AFTER                                                                      \
    ", s.is_copy_only, s.is_snapshot, CASE WHEN s.server_name <> "                                 \
    "CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')) THEN 1 ELSE 0 END, "                     \
    "(SELECT MAX(CASE WHEN f.device_type = 7 THEN 2 WHEN UPPER(f.physical_device_name) IN "        \
    "(N'NUL', N'NUL:') THEN 1 ELSE 0 END) FROM msdb.dbo.backupmediafamily AS f "                   \
    "WHERE f.media_set_id = s.media_set_id) "                                                      \
    "FROM msdb.dbo.backupset AS s WHERE 1 = 1{filters} ORDER BY s.backup_set_id"

/* clang-format off */
static const struct {
    enum effect effect;
    unsigned users;    /* enum statement_user */
    int first, below;  /* major versions it is made for; 0: no bound (domain.md says which) */
    const char *text;
} rows[STATEMENT_COUNT] = {
    [STATEMENT_LANGUAGE]     = {READS, BY_ALL, 0, 0, "SET LANGUAGE us_english"},
    [STATEMENT_TRANSACTIONS] = {READS, BY_ALL, 0, 0, "SET IMPLICIT_TRANSACTIONS OFF"},

    /* one Sweetspot at a time: whoever holds this measures; any login may */
    [STATEMENT_TAKE_LOCK] = {READS, BY_TRIALS, 0, 0, "DECLARE @answer int; EXECUTE @answer = master.sys.sp_getapplock @Resource = N'sweetspot', @LockMode = N'Exclusive', @LockOwner = N'Session', @LockTimeout = 0; SELECT @answer"},
    [STATEMENT_DROP_LOCK] = {READS, BY_TRIALS, 0, 0, "EXECUTE master.sys.sp_releaseapplock @Resource = N'sweetspot', @LockOwner = N'Session'"},

    [STATEMENT_VERSION] = {READS, BY_ALL, 0, 0, "SELECT CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), CONVERT(int, SERVERPROPERTY('EngineEdition')), CONVERT(nvarchar(128), SERVERPROPERTY('Edition')), CONVERT(bigint, SERVERPROPERTY('EditionID')), CONVERT(nvarchar(128), SERVERPROPERTY('MachineName')), CONVERT(nvarchar(4000), @@VERSION)"},
    [STATEMENT_HARDWARE]     = {READS, BY_ALL, 0, 0, "SELECT cpu_count, physical_memory_kb / 1024 FROM sys.dm_os_sys_info"},
    [STATEMENT_HARDWARE_OLD] = {READS, BY_ALL, 0, 0, "SELECT cpu_count, physical_memory_in_bytes / 1048576 FROM sys.dm_os_sys_info"},
    [STATEMENT_CPU_COUNT]    = {READS, BY_ALL, 0, 0, "SELECT cpu_count, -1 FROM sys.dm_os_sys_info"},
    [STATEMENT_PLATFORM]     = {READS, BY_ALL, 14, 0, "SELECT host_platform FROM sys.dm_os_host_info"}, /* before 2017: Windows */
    [STATEMENT_UTC]          = {READS, BY_CHECK, 0, 0, "SELECT CONVERT(nvarchar(30), GETUTCDATE(), 126)"},

    [STATEMENT_MAY_BACKUP]          = {READS, BY_CHECK, 0, 0, "SELECT SIGN(COUNT(*)) FROM sys.databases WHERE database_id > 4 AND state = 0 AND source_database_id IS NULL AND (HAS_PERMS_BY_NAME(name, 'DATABASE', 'BACKUP DATABASE') = 1 OR HAS_PERMS_BY_NAME(QUOTENAME(name), 'DATABASE', 'BACKUP DATABASE') = 1)"},
    [STATEMENT_MAY_DELETE_FILE]     = {READS, BY_CHECK, 0, 15, "SELECT HAS_PERMS_BY_NAME('master.dbo.xp_delete_file', 'OBJECT', 'EXECUTE')"},
    [STATEMENT_MAY_DELETE_FILES]    = {READS, BY_CHECK, 15, 0, "SELECT HAS_PERMS_BY_NAME('master.sys.xp_delete_files', 'OBJECT', 'EXECUTE')"},
    [STATEMENT_MAY_SEE_STATE]       = {READS, BY_CHECK, 0, 16, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')"},
    [STATEMENT_MAY_SEE_PERFORMANCE] = {READS, BY_CHECK, 16, 0, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE')"},
    [STATEMENT_MAY_READ_MSDB]       = {READS, BY_CHECK, 0, 0, "SELECT HAS_PERMS_BY_NAME('msdb.dbo.backupset', 'OBJECT', 'SELECT')"},
    [STATEMENT_IS_SYSADMIN]         = {READS, BY_CHECK | BY_FLAG, 0, 0, "SELECT IS_SRVROLEMEMBER('sysadmin')"},
    [STATEMENT_MAY_TRACE]           = {READS, BY_CHECK, 0, 0, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER TRACE')"},
    [STATEMENT_MAY_CREATE]          = {READS, BY_CHECK, 0, 0, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'CREATE ANY DATABASE')"},

    [STATEMENT_DATABASES]   = {READS, BY_CHECK, 0, 0, "SELECT name, state_desc, is_read_only, user_access_desc, is_in_standby FROM sys.databases WHERE source_database_id IS NULL ORDER BY name"},
    [STATEMENT_REPLICAS]    = {READS, BY_CHECK | BY_TRIALS, 11, 0, "SELECT d.name, r.role FROM sys.dm_hadr_availability_replica_states AS r JOIN sys.databases AS d ON d.replica_id = r.replica_id WHERE r.is_local = 1"},
    [STATEMENT_MIRRORS]     = {READS, BY_CHECK, 0, 0, "SELECT d.name, m.mirroring_role FROM sys.database_mirroring AS m JOIN sys.databases AS d ON d.database_id = m.database_id WHERE m.mirroring_role IS NOT NULL"},
    [STATEMENT_FREE_MEMORY] = {READS, BY_CHECK | BY_SWEEP, 10, 0, "SELECT available_physical_memory_kb / 1024 FROM sys.dm_os_sys_memory"},

    [STATEMENT_USER_SESSIONS] = {READS, BY_CHECK | BY_TRIALS, 0, 0, "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND session_id <> @@SPID AND (program_name IS NULL OR program_name NOT LIKE 'sweetspot %')"},

    [STATEMENT_DATABASE]          = {READS, BY_TRIALS, 0, 0, "SELECT state, source_database_id, database_id, is_read_only, user_access, is_in_standby FROM sys.databases WHERE name = ?"},
    [STATEMENT_MIRRORING_ROLE]    = {READS, BY_TRIALS, 0, 0, "SELECT m.mirroring_role FROM sys.database_mirroring AS m JOIN sys.databases AS d ON d.database_id = m.database_id WHERE d.name = ?"},
    [STATEMENT_REPLICA_ROLE]      = {READS, BY_TRIALS, 11, 0, "SELECT r.role FROM sys.dm_hadr_availability_replica_states AS r JOIN sys.databases AS d ON d.replica_id = r.replica_id WHERE r.is_local = 1 AND d.name = ?"},
    /* what a snapshot may grow to; the log */
    [STATEMENT_DATABASE_SIZE]     = {READS, BY_TRIALS, 0, 0, "SELECT SUM(CASE WHEN f.type = 0 THEN CONVERT(bigint, f.size) ELSE 0 END) * 8192, SUM(CASE WHEN f.type = 1 THEN CONVERT(bigint, f.size) ELSE 0 END) * 8192, SUM(CASE WHEN f.type NOT IN (0, 1) THEN 1 ELSE 0 END) FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id WHERE d.name = ?"},
    /* master_files gives 0 for FILESTREAM and memory-optimized data */
    [STATEMENT_STREAM_SIZE]       = {READS, BY_TRIALS, 0, 0, "SELECT SUM(CONVERT(bigint, size)) * 8192 FROM {database}.sys.database_files WHERE type NOT IN (0, 1)"},
    [STATEMENT_LOG_USED]          = {READS, BY_TRIALS, 0, 0, "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE counter_name = 'Log File(s) Used Size (KB)' AND instance_name = ?"},
    [STATEMENT_ENCRYPTED]         = {READS, BY_BACKUPS, 10, 0, "SELECT CONVERT(int, is_encrypted) FROM sys.databases WHERE name = ?"},
    /* how often data files grew, as far back as the default trace's files go: log_N.trc, of which log.trc is the first */
    [STATEMENT_GROWTH]            = {READS, BY_THROUGHPUT, 0, 0, "SELECT COUNT(*), CONVERT(nvarchar(19), MIN(e.StartTime), 126) FROM sys.traces AS t CROSS APPLY sys.fn_trace_gettable(LEFT(t.path, LEN(t.path) - CHARINDEX('_', REVERSE(t.path))) + '.trc', DEFAULT) AS e WHERE t.is_default = 1 AND e.EventClass = 92 AND e.DatabaseName = ?"},
    [STATEMENT_DIFFERENTIAL_BASE] = {READS, BY_TRIALS, 0, 0, "SELECT CONVERT(nvarchar(40), MAX(f.differential_base_lsn)) FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id WHERE d.name = ? AND f.type = 0 GROUP BY f.database_id"},
    [STATEMENT_LAST_LOG_BACKUP]   = {READS, BY_TRIALS, 0, 0, "SELECT CONVERT(nvarchar(40), r.last_log_backup_lsn) FROM sys.database_recovery_status AS r JOIN sys.databases AS d ON d.database_id = r.database_id WHERE d.name = ?"},

    [STATEMENT_FILE_EXISTS]     = {READS, BY_BACKUPS, 14, 0, "SELECT CONVERT(int, file_exists) FROM sys.dm_os_file_exists(?)"},
    [STATEMENT_FILE_EXISTS_OLD] = {READS, BY_BACKUPS, 0, 0, "EXEC master.dbo.xp_fileexist ?"},
    [STATEMENT_ROOM_OF_DRIVES]  = {READS, BY_TRIALS | BY_CHECK, 0, 0, "SELECT fixed_drive_path, free_space_in_bytes FROM sys.dm_os_enumerate_fixed_drives"},
    [STATEMENT_ROOM_OF_VOLUMES] = {READS, BY_TRIALS | BY_CHECK, 0, 0, "SELECT DISTINCT v.volume_mount_point, v.available_bytes FROM sys.master_files AS f CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v"},
    [STATEMENT_ROOM_OLD]        = {READS, BY_TRIALS | BY_CHECK, 0, 0, "EXEC master.dbo.xp_fixeddrives"},
    [STATEMENT_RECORDED_SIZE]   = {READS, BY_BACKUPS, 0, 0, "SELECT TOP (1) CONVERT(bigint, compressed_backup_size), CONVERT(bigint, backup_size) FROM msdb.dbo.backupset WHERE name = ? AND database_name = ? ORDER BY backup_set_id DESC"},
    [STATEMENT_DELETE_FILES]    = {CHANGES, BY_BACKUPS, 15, 0, "EXECUTE master.sys.xp_delete_files {own_file}"},
    [STATEMENT_DELETE_FILE]     = {CHANGES, BY_BACKUPS, 0, 0, "EXECUTE master.dbo.xp_delete_file 0, {own_file}"}, /* after the other one, too */

    /* the server's process: 2008 R2 and newer */
    [STATEMENT_CPU]            = {READS, BY_TRIALS, 0, 0, "SELECT process_kernel_time_ms + process_user_time_ms, cpu_count FROM sys.dm_os_sys_info"},
    [STATEMENT_STARTED]        = {READS, BY_TRIALS, 0, 0, "SELECT CONVERT(nvarchar(40), sqlserver_start_time, 126) FROM sys.dm_os_sys_info"},
    /* 2016 and newer; a session may always see its own */
    [STATEMENT_SESSION_WAITS]  = {READS, BY_TRIALS, 0, 0, "SELECT wait_type, wait_time_ms, waiting_tasks_count FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID"},
    [STATEMENT_INSTANCE_WAITS] = {READS, BY_TRIALS, 0, 0, "SELECT wait_type, wait_time_ms, waiting_tasks_count FROM sys.dm_os_wait_stats WHERE waiting_tasks_count > 0"},
    /* dm_os_volume_stats: 2008 R2 SP1 and newer */
    [STATEMENT_READS]          = {READS, BY_TRIALS, 0, 0, "SELECT f.name, s.num_of_bytes_read, s.io_stall_read_ms, f.type, v.volume_mount_point FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id CROSS APPLY sys.dm_io_virtual_file_stats(f.database_id, f.file_id) AS s CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v WHERE d.name = ?"},
    [STATEMENT_READS_PLAIN]    = {READS, BY_TRIALS, 0, 0, "SELECT f.name, s.num_of_bytes_read, s.io_stall_read_ms, f.type FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id CROSS APPLY sys.dm_io_virtual_file_stats(f.database_id, f.file_id) AS s WHERE d.name = ?"},
    [STATEMENT_FOREIGN_WORK]   = {READS, BY_TRIALS | BY_CHECK, 0, 0, "SELECT TOP (1) command FROM sys.dm_exec_requests WHERE session_id <> @@SPID AND (command LIKE 'BACKUP%' OR command LIKE 'RESTORE%' OR command LIKE 'DBCC%' OR command LIKE 'Dbcc%')"},
    /* the same, with what the database is just now: before each trial */
    [STATEMENT_MOMENT]         = {READS, BY_TRIALS, 11, 0, "SELECT TOP (1) command, d.state, r.role FROM sys.databases AS d LEFT JOIN sys.dm_hadr_availability_replica_states AS r ON r.replica_id = d.replica_id AND r.is_local = 1 LEFT JOIN sys.dm_exec_requests ON session_id <> @@SPID AND (command LIKE 'BACKUP%' OR command LIKE 'RESTORE%' OR command LIKE 'DBCC%' OR command LIKE 'Dbcc%') WHERE d.name = ?"},

    /* what began and ended between two looks at the requests, VSS snapshots too (device_type 7) */
    [STATEMENT_FOREIGN_BACKUP] = {READS, BY_TRIALS, 0, 0, "SELECT TOP (1) backup_set_id, CONVERT(int, is_snapshot) FROM msdb.dbo.backupset WHERE name IS NULL OR LEFT(name, 10) <> 'sweetspot:' ORDER BY backup_set_id DESC"},
    /* what an earlier session of one job, by its program's name, is still at; and whether it would be seen: the first
     * right is 2022's, and NULL before */
    [STATEMENT_FORMER_WORK]    = {READS, BY_TRIALS, 0, 0, "SELECT COUNT(*), COALESCE(HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE'), HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')) FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id WHERE s.program_name = ? AND s.session_id <> @@SPID"},

    /* COPY_ONLY always: a benchmark must not become the base of somebody's differential backups */
    [STATEMENT_BACKUP] = {CHANGES, BY_BACKUPS, 0, 0, "BACKUP DATABASE {database} TO {devices} WITH COPY_ONLY{options}, NAME = {name}, STATS = 5"},

    [STATEMENT_FLAG_STATUS] = {READS, BY_FLAG, 0, 0, "DBCC TRACESTATUS ({number}, -1)"},
    [STATEMENT_FLAG_ON]     = {CHANGES, BY_FLAG, 0, 0, "DBCC TRACEON ({flag}, -1)"},
    [STATEMENT_FLAG_OFF]    = {CHANGES, BY_FLAG, 0, 0, "DBCC TRACEOFF ({flag}, -1)"},
    [STATEMENT_COMPRESSION_DEFAULT] = {READS, BY_FLAG, 0, 0, "SELECT CONVERT(int, value_in_use) FROM sys.configurations WHERE name = 'backup compression default'"},

    [STATEMENT_FILEGROUPS]        = {READS, BY_SNAPSHOT, 0, 0, "SELECT COUNT(*) FROM {database}.sys.filegroups WHERE type = 'FX'"},
    [STATEMENT_RECOVERY]          = {READS, BY_SNAPSHOT, 0, 0, "SELECT recovery_model FROM sys.databases WHERE name = ?"},
    [STATEMENT_FOREIGN_SNAPSHOTS] = {READS, BY_SNAPSHOT, 0, 0, "SELECT s.name FROM sys.databases AS s JOIN sys.databases AS d ON d.database_id = s.source_database_id WHERE d.name = ? AND s.name NOT LIKE ? ORDER BY s.name"},
    [STATEMENT_DATA_FILES]        = {READS, BY_SNAPSHOT, 0, 0, "SELECT f.name, f.file_id FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id WHERE d.name = ? AND f.type = 0 ORDER BY f.file_id"},
    /* data, log and containers: what a workload may let grow */
    [STATEMENT_FILE_PATHS]        = {READS, BY_SNAPSHOT, 0, 0, "SELECT f.physical_name FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id WHERE d.name = ? ORDER BY f.file_id"},
    [STATEMENT_SNAPSHOT_STATES]   = {READS, BY_SNAPSHOT, 0, 0, "SELECT name, state FROM sys.databases WHERE source_database_id IS NOT NULL AND name LIKE ?"},
    [STATEMENT_SNAPSHOT_SIZES]    = {READS, BY_SNAPSHOT, 0, 0, "SELECT SUM(s.size_on_disk_bytes) FROM sys.databases AS d CROSS APPLY sys.dm_io_virtual_file_stats(d.database_id, NULL) AS s WHERE d.source_database_id IS NOT NULL AND d.name LIKE ?"},
    [STATEMENT_SNAPSHOT_SPARSE]   = {READS, BY_SNAPSHOT, 0, 0, "SELECT MIN(CONVERT(int, f.is_sparse)) FROM sys.master_files AS f JOIN sys.databases AS d ON d.database_id = f.database_id WHERE d.source_database_id IS NOT NULL AND f.type = 0 AND d.name LIKE ?"},
    [STATEMENT_IS_SNAPSHOT]       = {READS, BY_SNAPSHOT, 0, 0, "SELECT source_database_id FROM sys.databases WHERE name = ?"},
    [STATEMENT_TABLE]             = {READS, BY_SNAPSHOT, 0, 0, "SELECT OBJECT_ID(?), HAS_DBACCESS(?)"},
    [STATEMENT_TABLE_SIZE]        = {READS, BY_SNAPSHOT, 0, 0, "SELECT SUM(p.row_count), SUM(p.used_page_count) * 8192 FROM {database}.sys.dm_db_partition_stats AS p WHERE p.object_id = OBJECT_ID(?) AND p.index_id IN (0, 1)"},
    /* needs no right to see the server's state */
    [STATEMENT_TABLE_SIZE_OLD]    = {READS, BY_SNAPSHOT, 0, 0, "SELECT SUM(CASE WHEN a.type = 1 THEN p.rows ELSE 0 END), SUM(a.used_pages) * 8192 FROM {database}.sys.partitions AS p JOIN {database}.sys.allocation_units AS a ON (a.type IN (1, 3) AND a.container_id = p.hobt_id) OR (a.type = 2 AND a.container_id = p.partition_id) WHERE p.object_id = OBJECT_ID(?) AND p.index_id IN (0, 1)"},
    [STATEMENT_CREATE_SNAPSHOT]   = {CHANGES, BY_SNAPSHOT, 0, 0, "CREATE DATABASE {snapshot} ON {snapshot_files} AS SNAPSHOT OF {database}"},
    [STATEMENT_SELECT_INTO]       = {CHANGES, BY_SNAPSHOT, 0, 0, "SELECT TOP ({number}) * INTO {database}.[dbo].{table} FROM {database}.{database}.{database}"},
    [STATEMENT_DROP_SNAPSHOT]     = {CHANGES, BY_SNAPSHOT, 0, 0, "DROP DATABASE {snapshot}"},
    [STATEMENT_DROP_TABLE]        = {CHANGES, BY_SNAPSHOT, 0, 0, "DROP TABLE {database}.[dbo].{table}"},
    [STATEMENT_CUSTOM_DATABASE]   = {READS, BY_SNAPSHOT, 0, 0, "USE {database}"},
    [STATEMENT_CUSTOM_ROLES]      = {READS, BY_SNAPSHOT, 0, 0, "SELECT IS_SRVROLEMEMBER('sysadmin'), IS_MEMBER('db_owner'), IS_MEMBER('db_backupoperator')"},
    [STATEMENT_CUSTOM]            = {CHANGES, BY_SNAPSHOT, 0, 0, "{custom}"}, /* where the instance allows it, in a session of its own login */

    [STATEMENT_LAST_SPEEDS] = {READS, BY_PLAN, 0, 0, "SELECT TOP (9) backup_size, DATEDIFF(second, backup_start_date, backup_finish_date) FROM msdb.dbo.backupset WHERE database_name = ? AND type = 'D' AND is_snapshot = 0 ORDER BY backup_set_id DESC"},
    [STATEMENT_ZONE]        = {READS, BY_HISTORY, 0, 0, "SELECT DATEDIFF(minute, GETUTCDATE(), GETDATE())"},
    [STATEMENT_HISTORY]     = {READS, BY_HISTORY, 10, 0, HISTORY_COLUMNS_BEFORE "s.compressed_backup_size" HISTORY_COLUMNS_AFTER},
    [STATEMENT_HISTORY_OLD] = {READS, BY_HISTORY, 0, 10, HISTORY_COLUMNS_BEFORE "CONVERT(numeric(20, 0), NULL)" HISTORY_COLUMNS_AFTER},
};
/* clang-format on */

const char *statement_text(enum statement statement)
{
    return rows[statement].text;
}

bool statement_only_reads(enum statement statement)
{
    return rows[statement].effect == READS;
}

bool statement_is_for(enum statement statement, unsigned user, int major)
{
    bool early = major >= 0 && major < rows[statement].first;
    bool late = rows[statement].below > 0 && major >= rows[statement].below;
    return (rows[statement].users & user) != 0 && !early && !late;
}

int statement_first_major(enum statement statement)
{
    return rows[statement].first;
}

bool statement_has_slots(enum statement statement)
{
    return strchr(rows[statement].text, '{') != NULL;
}

bool statement_matches(enum statement statement, const char *text,
                       const struct statement_rules *rules, statement_on_object *on_object,
                       void *ctx)
{
    struct slot_reader reader = {.at = text, .rules = rules, .on_object = on_object, .ctx = ctx};
    return slot_take_pattern(&reader, rows[statement].text) && *reader.at == '\0';
}

char *statement_in(enum statement statement, const char *database)
{
    static const char slot[] = "{database}";
    const char *text = rows[statement].text;
    struct buf out = {0};
    for (const char *at = strstr(text, slot); at; at = strstr(text, slot)) {
        buf_add_bytes(&out, text, (size_t)(at - text));
        (void)tsql_add_name(&out, database); /* one that cannot be written matches no row then */
        text = at + sizeof slot - 1;
    }
    buf_add(&out, text);
    return buf_take(&out);
}

char *statement_shown(const char *text)
{
    struct buf out = {0};
    int marks = 0;
    bool quoted = false;
    for (; *text; text++) {
        quoted = quoted != (*text == '\'');
        if (*text == '?' && !quoted)
            buf_format(&out, "@P%d", ++marks);
        else
            buf_add_char(&out, *text);
    }
    return buf_take(&out);
}
