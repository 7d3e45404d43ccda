#include "jobs/measure/action.h"
#include "jobs/measure/statement.h"
#include "jobs/measure/tsql.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define JOB "0193a7b2-4c5d-7e6f-8a9b-0c1d2e3f4a5b"
#define OWN "sweetspot_" JOB
#define LABEL "NAME = N'sweetspot:" JOB ":7', STATS = 5"
#define TO_NUL "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY"

static const char *const paths[] = {"D:\\Backup", "/var/opt/mssql/backup"};
static const struct statement_rules rules = {paths, COUNT(paths)};

static bool matches(enum statement statement, const char *text)
{
    return statement_matches(statement, text, &rules, NULL, NULL);
}

static void takes_what_a_run_sends(void **state)
{
    (void)state;
    static const struct {
        enum statement statement;
        const char *text;
    } cases[] = {
        {STATEMENT_BACKUP, TO_NUL ", " LABEL},
        {STATEMENT_BACKUP, TO_NUL ", BUFFERCOUNT = 50, MAXTRANSFERSIZE = 65536, BLOCKSIZE = 512, "
                                  "NO_COMPRESSION, " LABEL},
        {STATEMENT_BACKUP, TO_NUL ", COMPRESSION (ALGORITHM = ZSTD), " LABEL},
        {STATEMENT_BACKUP, TO_NUL ", COMPRESSION, " LABEL},
        {STATEMENT_BACKUP,
         "BACKUP DATABASE [a]]b'c \"d\"] TO DISK = N'D:\\Backup\\" OWN
         "_7_1.bak', DISK = N'd:\\backup\\it''s\\" OWN "_7_2.bak' WITH COPY_ONLY, " LABEL},
        {STATEMENT_DELETE_FILES, "EXECUTE master.sys.xp_delete_files N'/x/" OWN "_7_1.bak'"},
        {STATEMENT_DELETE_FILE, "EXECUTE master.dbo.xp_delete_file 0, N'/x/" OWN "_7_1.bak'"},
        {STATEMENT_FLAG_ON, "DBCC TRACEON (3042, -1)"},
        {STATEMENT_FLAG_OFF, "DBCC TRACEOFF (3042, -1)"},
        {STATEMENT_CREATE_SNAPSHOT,
         "CREATE DATABASE [" OWN "_7_1] ON (NAME = [a]]b], FILENAME = N'D:\\Backup\\" OWN
         "_7_1_1.ss'), (NAME = [b], FILENAME = N'D:\\Backup\\" OWN
         "_7_1_3.ss') AS SNAPSHOT OF [Sales]"},
        {STATEMENT_SELECT_INTO,
         "SELECT TOP (1000) * INTO [Sales].[dbo].[" OWN "_7] FROM [Sales].[s]]x].[Big]"},
        {STATEMENT_DROP_SNAPSHOT, "DROP DATABASE [" OWN "_7_1]"},
        {STATEMENT_DROP_TABLE, "DROP TABLE [Sales].[dbo].[" OWN "_7]"},
        {STATEMENT_FILEGROUPS, "SELECT COUNT(*) FROM [\xe8\xb3\x87\xe6\x96\x99].sys.filegroups "
                               "WHERE type = 'FX'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (!matches(cases[i].statement, cases[i].text))
            fail_msg("not taken: %s", cases[i].text);
}

static void takes_nothing_else(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        /* a real backup, and what may be around one */
        "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY",
        "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH DIFFERENTIAL, COPY_ONLY, " LABEL,
        "BACKUP LOG [Sales] TO DISK = N'NUL' WITH COPY_ONLY, " LABEL,
        TO_NUL ", FORMAT, " LABEL,
        TO_NUL ", INIT, " LABEL,
        TO_NUL ", " LABEL "; DROP DATABASE [Sales]",
        TO_NUL ", " LABEL " ",
        TO_NUL ", BUFFERCOUNT = -1, " LABEL,
        TO_NUL ", BUFFERCOUNT = , " LABEL,
        TO_NUL ", COMPRESSION (ALGORITHM = LZ4), " LABEL,
        TO_NUL ", NAME = N'nightly', STATS = 5",
        "BACKUP DATABASE [Sales] TO  WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'NUL', WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N' NUL ' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [] TO DISK = N'NUL' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales TO DISK = N'NUL' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'D:\\Other\\" OWN "_7_1.bak' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\..\\" OWN
        "_7_1.bak' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\sales.bak' WITH COPY_ONLY, " LABEL,
        "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\x'', DISK = N''" OWN
        "_7_1.bak' WITH COPY_ONLY, " LABEL,
        /* other people's files, flags, databases and tables */
        "EXECUTE master.sys.xp_delete_files N'D:\\Backup\\*.bak'",
        "EXECUTE master.sys.xp_delete_files N'D:\\Backup\\sales.bak'",
        "EXECUTE master.dbo.xp_delete_file 0, N'D:\\Backup', N'bak', N'2026-01-01'",
        "EXECUTE master.dbo.xp_delete_file 1, N'D:\\Backup\\" OWN "_7_1.bak'",
        "DBCC TRACEON (3042)",
        "DBCC TRACEON (3042, 3604, -1)",
        "DBCC TRACEOFF (-1)",
        "DBCC FREEPROCCACHE",
        "DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR)",
        "DROP DATABASE [Sales]",
        "DROP DATABASE [" OWN "]",
        "DROP DATABASE [" OWN "_7_1], [Sales]",
        "DROP TABLE [Sales].[dbo].[Big]",
        "DROP TABLE [Sales].[sys].[" OWN "_7]",
        "DROP TABLE [" OWN "_7]",
        "SELECT TOP (1000) * INTO [Sales].[dbo].[Big2] FROM [Sales].[dbo].[Big]",
        "CREATE DATABASE [" OWN "_7_1]",
        "CREATE DATABASE [Mine] ON (NAME = [a], FILENAME = N'D:\\Backup\\" OWN
        "_7_1_1.ss') AS SNAPSHOT OF [Sales]",
        "CREATE DATABASE [" OWN "_7_1] ON (NAME = [a], FILENAME = N'D:\\Backup\\sales.mdf') AS "
        "SNAPSHOT OF [Sales]",
        "CREATE DATABASE [" OWN "_7_1] ON (NAME = [a], FILENAME = N'C:\\Windows\\" OWN
        "_7_1_1.ss') AS SNAPSHOT OF [Sales]",
        "RESTORE DATABASE [Sales] FROM DATABASE_SNAPSHOT = '" OWN "_7_1'",
        "ALTER DATABASE [Sales] SET RECOVERY SIMPLE",
        "KILL 55",
        "EXECUTE sp_configure 'xp_cmdshell', 1",
        "EXECUTE xp_cmdshell 'dir'",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        for (int row = 0; row < STATEMENT_COUNT; row++)
            if (row != STATEMENT_CUSTOM && matches((enum statement)row, texts[i]))
                fail_msg("taken by \"%s\": %s", statement_text((enum statement)row), texts[i]);
}

static void every_backup_that_is_built_is_taken(void **state)
{
    (void)state;
    static const char *const databases[] = {
        "Sales", "a]b'c \"d\"", "\xe8\xb3\x87\xe6\x96\x99", "\xf0\x9f\x8d\xaf", "]", "''"};
    static const char *const words[] = {"default", "off", "on", "MS_XPRESS", "QAT_DEFLATE", "ZSTD"};
    static const char *const files[] = {"D:\\Backup\\it's\\" OWN "_7_1.bak",
                                        "/var/opt/mssql/backup/" OWN "_7_2.bak"};
    for (size_t database = 0; database < COUNT(databases); database++)
        for (size_t word = 0; word < COUNT(words); word++)
            for (int numbers = 0; numbers < 2; numbers++) {
                struct tsql_backup backup = {.database = databases[database],
                                             .devices = files,
                                             .device_count = COUNT(files),
                                             .buffercount = numbers * 600,
                                             .maxtransfersize = numbers * 4194304,
                                             .blocksize = numbers * 65536,
                                             .compression = words[word],
                                             .name = "sweetspot:" JOB ":7"};
                struct buf text = {0};
                struct err err = {0};
                assert_int_equal(tsql_backup(&backup, &text, &err), 0);
                if (!matches(STATEMENT_BACKUP, buf_text(&text)))
                    fail_msg("not taken: %s", buf_text(&text));
                buf_fini(&text);
            }
}

static void add_object(void *ctx, const char *action, const char *object)
{
    buf_format(ctx, "%s %s; ", action, object);
}

static void tells_what_a_statement_changes(void **state)
{
    (void)state;
    static const struct {
        enum statement statement;
        const char *text, *objects;
    } cases[] = {
        {STATEMENT_BACKUP, TO_NUL ", " LABEL, ""},
        {STATEMENT_BACKUP,
         "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\it''s\\" OWN
         "_7_1.bak', DISK = N'D:\\Backup\\" OWN "_7_2.bak' WITH COPY_ONLY, " LABEL,
         "file D:\\Backup\\it's\\" OWN "_7_1.bak; file D:\\Backup\\" OWN "_7_2.bak; "},
        {STATEMENT_FLAG_ON, "DBCC TRACEON (3042, -1)", "trace_flag 3042; "},
        {STATEMENT_DROP_TABLE, "DROP TABLE [Sales].[dbo].[" OWN "_7]", "table " OWN "_7; "},
        {STATEMENT_DROP_SNAPSHOT, "DROP DATABASE [" OWN "_7_1]", "snapshot " OWN "_7_1; "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf objects = {0};
        assert_true(
            statement_matches(cases[i].statement, cases[i].text, &rules, add_object, &objects));
        assert_string_equal(buf_text(&objects), cases[i].objects);
        buf_fini(&objects);
    }
}

static void only_known_rows_change_anything(void **state)
{
    (void)state;
    static const char *const reads[] = {"SELECT ",
                                        "SET LANGUAGE ",
                                        "SET IMPLICIT_TRANSACTIONS OFF",
                                        "EXEC master.dbo.xp_fileexist ?",
                                        "EXEC master.dbo.xp_fixeddrives",
                                        "DBCC TRACESTATUS ",
                                        "USE ",
                                        ("DECLARE @answer int; EXECUTE @answer = "
                                         "master.sys.sp_getapplock "),
                                        "EXECUTE master.sys.sp_releaseapplock "};
    for (int row = 0; row < STATEMENT_COUNT; row++) {
        const char *text = statement_text((enum statement)row);
        bool harmless = false;
        assert_non_null(text);
        for (size_t i = 0; i < COUNT(reads); i++)
            harmless = harmless || strncmp(text, reads[i], strlen(reads[i])) == 0;
        harmless = harmless && !strstr(text, " INTO ");
        if (harmless != statement_only_reads((enum statement)row))
            fail_msg("%s", text);
    }
}

static void shows_bound_values_as_the_server_names_them(void **state)
{
    (void)state;
    char *shown = statement_shown("SELECT OBJECT_ID(?), '?', HAS_DBACCESS(?)");
    assert_string_equal(shown, "SELECT OBJECT_ID(@P1), '?', HAS_DBACCESS(@P2)");
    free(shown);
    char *text = statement_in(STATEMENT_CUSTOM_DATABASE, "a]b");
    assert_string_equal(text, "USE [a]]b]");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_a_run_sends),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(every_backup_that_is_built_is_taken),
        cmocka_unit_test(tells_what_a_statement_changes),
        cmocka_unit_test(only_known_rows_change_anything),
        cmocka_unit_test(shows_bound_values_as_the_server_names_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
