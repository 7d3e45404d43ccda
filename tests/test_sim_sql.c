/* The simulator's T-SQL, seen through FreeTDS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/client.h"
#include "tests/sim/sim.h"

static struct sim *start(const char *scenario)
{
    struct sim *sim = NULL;
    char error[SIM_ERROR_SIZE] = "";
    if (sim_start(scenario, &sim, error))
        fail_msg("%s", error);
    return sim;
}

static struct client *login_as(struct sim *sim, const char *user, const char *password)
{
    int number = 0;
    struct client *c = client_open(sim_port(sim), user, password, "", &number);
    if (!c)
        fail_msg("login of %s failed with %d", user, number);
    return c;
}

struct row {
    const char *sql, *want;
};

static void check_rows(struct client *c, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = client_text(c, rows[i].sql);
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s\n  gave <%s>, not <%s>", rows[i].sql, got, rows[i].want);
    }
}

static void check_error(struct client *c, const char *sql, int number)
{
    struct client_reply r;
    client_run(c, sql, &r);
    if (!client_find(&r, number))
        fail_msg("%s\n  gave %d (%s), not %d", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing", number);
    client_reply_free(&r);
}

static void expressions_compute_as_the_server_does(void **state)
{
    static const struct row rows[] = {
        {"SELECT 7 / 2", "3"},
        {"SELECT 7 / 2.0", "3.500000"},
        {"SELECT -7 % 3", "-1"},
        {"SELECT 1 + N'2'", "3"},
        {"SELECT N'a' + NULL", "(null)"},
        {"SELECT CONCAT(N'a', NULL, 5)", "a5"},
        {"SELECT CASE WHEN NULL = NULL THEN 'yes' ELSE 'no' END", "no"},
        {"SELECT CASE 3 WHEN 1 THEN 'one' WHEN 3 THEN 'three' END", "three"},
        {"SELECT IIF(1 < 2, N'less', N'more')", "less"},
        {"SELECT ISNULL(NULL, COALESCE(NULL, NULLIF(4, 4), 6))", "6"},
        {"SELECT LEN(N'日本😀  ')", "4"},
        {"SELECT DATALENGTH(N'ab')", "4"},
        {"SELECT CAST(1.5 AS int)", "1"},
        {"SELECT CAST(2.567 AS decimal(6, 2))", "2.57"},
        {"SELECT TRY_CAST(N'x' AS int)", "(null)"},
        {"SELECT CONVERT(varchar(30), CAST('2024-05-06 07:08:09.1234567' AS datetime2), 126)",
         "2024-05-06T07:08:09.1234567"},
        {"SELECT CONVERT(varchar(30), CAST('2024-05-06 07:08:09.123' AS datetime), 121)",
         "2024-05-06 07:08:09.123"},
        {"SELECT CONVERT(varchar(10), CAST('20240506' AS datetime), 112)", "20240506"},
        {"SELECT DATEDIFF(second, '2024-01-01 00:00:00.999', '2024-01-01 00:00:01.001')", "1"},
        {"SELECT DATEADD(month, 1, CAST('2024-01-31' AS date))", "2024-02-29"},
        {"SELECT DATEPART(weekday, '2024-05-06')", "2"},
        {"SELECT SUBSTRING(N'abcdef', 2, 3) + LEFT(N'xy', 1) + RIGHT(N'xyz', 1)", "bcdxz"},
        {"SELECT REPLACE(N'a]b]', N']', N']]')", "a]]b]]"},
        {"SELECT QUOTENAME(N'Odd ]name''s')", "[Odd ]]name's]"},
        {"SELECT CHARINDEX(N'B', N'abc')", "2"},
        {"SELECT UPPER(N'äb') + LOWER(N'ÄB')", "ÄBäb"},
        {"SELECT CASE WHEN N'ABC ' = N'abc' THEN 1 ELSE 0 END", "1"},
        {"SELECT CASE WHEN N'a_c' LIKE N'a\\_c' ESCAPE N'\\' THEN 1 ELSE 0 END", "1"},
        {"SELECT CASE WHEN N'abc' LIKE N'[a-c]%' AND N'x' NOT LIKE N'[^x]' THEN 1 ELSE 0 END", "1"},
        {"SELECT CONVERT(varchar(20), 0x0AFF, 1)", "0x0AFF"},
        {"SELECT CAST(CAST('00112233-4455-6677-8899-AABBCCDDEEFF' AS uniqueidentifier) AS "
         "varchar(36))",
         "00112233-4455-6677-8899-AABBCCDDEEFF"},
        {"SELECT 2147483647 + CAST(1 AS bigint)", "2147483648"},
        {"SELECT CAST(12345678901234567890123456789012345678 AS numeric(38,0))",
         "12345678901234567890123456789012345678"},
        {"DECLARE @a int = 3; SET @a += 4; SELECT @a", "7"},
        {"DECLARE @i int = 0; WHILE @i < 5 BEGIN SET @i = @i + 1; IF @i = 3 BREAK END; SELECT @i",
         "3"},
        {"BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "8134"},
        {"DECLARE @n int; EXEC sp_executesql N'SET @o = @i * 2', N'@i int, @o int OUTPUT', @i = "
         "21, "
         "@o = @n OUTPUT; SELECT @n",
         "42"},
    };
    struct sim *sim = start("{'time_scale':0}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    (void)state;
    check_rows(c, rows, sizeof(rows) / sizeof(*rows));
    client_close(c);
    sim_stop(sim);
}

static void queries_join_group_and_sort(void **state)
{
    static const struct row rows[] = {
        {"SELECT COUNT(*) FROM sys.databases", "7"},
        {"SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY name DESC", "Sales"},
        {"SELECT TOP (1) d.name FROM sys.databases AS d JOIN sys.master_files AS f ON "
         "f.database_id = "
         "d.database_id WHERE f.type = 0 ORDER BY f.size DESC",
         "Sales"},
        {"SELECT SUM(CAST(size AS bigint)) * 8 / 1024 FROM sys.master_files WHERE database_id = "
         "DB_ID(N'Sales') "
         "AND type = 0",
         "320"},
        {"SELECT type_desc FROM sys.master_files GROUP BY type_desc HAVING COUNT(*) = 7 ORDER BY 1",
         "LOG"},
        {"SELECT d.name FROM sys.databases d LEFT JOIN msdb.dbo.backupset b ON b.database_name = "
         "d.name "
         "WHERE b.backup_set_id IS NULL AND d.database_id = 5",
         "Sales"},
        {"SELECT v.total_bytes / 1048576 FROM sys.master_files f CROSS APPLY "
         "sys.dm_os_volume_stats("
         "f.database_id, f.file_id) v WHERE f.database_id = 5 AND f.file_id = 1",
         "65536"},
        {"SELECT COUNT(*) FROM sys.databases d OUTER APPLY (SELECT TOP (1) x.backup_set_id FROM "
         "msdb.dbo.backupset x WHERE x.database_name = d.name ORDER BY 1 DESC) b",
         "7"},
        {"WITH x AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT SUM(a) FROM x", "3"},
        {"SELECT MAX(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY name) AS r FROM sys.databases) t",
         "7"},
        {"SELECT STRING_AGG(n, N',') WITHIN GROUP (ORDER BY n DESC) FROM (VALUES (N'a'), (N'b')) "
         "v(n)",
         "b,a"},
        {"SELECT COUNT(DISTINCT type) FROM sys.master_files", "2"},
        {"SELECT name FROM sys.databases WHERE name IN (SELECT name FROM sys.databases WHERE "
         "database_id = 1)",
         "master"},
        {"SELECT 1 WHERE EXISTS (SELECT * FROM sys.databases WHERE name = N'Odd ]name''s')", "1"},
        {"SELECT name FROM sys.databases ORDER BY database_id OFFSET 2 ROWS FETCH NEXT 1 ROWS ONLY",
         "model"},
        {"SELECT [name] FROM [master].[sys].[databases] WITH (NOLOCK) WHERE [database_id]=4",
         "msdb"},
        {"SELECT RTRIM(counter_name) FROM sys.dm_os_performance_counters WHERE instance_name = "
         "N'Sales' AND "
         "counter_name LIKE N'Backup%'",
         "Backup/Restore Throughput/sec"},
        {"SELECT CAST(value_in_use AS int) FROM sys.configurations WHERE name = N'backup "
         "compression default'",
         "0"},
        {"SELECT text FROM sys.messages WHERE message_id = 3211 AND language_id = 3082",
         "%d por ciento procesado."},
    };
    struct sim *sim = start("{'time_scale':0}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    (void)state;
    check_rows(c, rows, sizeof(rows) / sizeof(*rows));
    client_close(c);
    sim_stop(sim);
}

static void what_it_does_not_know_gives_the_servers_error(void **state)
{
    static const struct {
        const char *sql;
        int number;
    } rows[] = {
        {"SELECT 1 +", 102},
        {"SELECT FROM x", 156},
        {"SELECT 'abc", 105},
        {"SELECT * FROM nosuch", 208},
        {"SELECT * FROM sys.dm_nosuch", 208},
        {"SELECT nosuch FROM sys.databases", 207},
        {"SELECT x.name FROM sys.databases d", 4104},
        {"SELECT database_id FROM sys.databases a JOIN sys.databases b ON 1 = 1", 209},
        {"SELECT @nosuch", 137},
        {"SELECT nosuch(1)", 195},
        {"SELECT LEN(1, 2)", 174},
        {"EXEC nosuch", 2812},
        {"USE nosuch", 911},
        {"SELECT 1 / 0", 8134},
        {"SELECT CAST(N'x' AS int)", 245},
        {"SELECT CAST(N'x' AS datetime)", 241},
        {"SELECT 2147483647 + 1", 8115},
        {"SELECT name, COUNT(*) FROM sys.databases", 8120},
        {"SELECT (SELECT name FROM sys.databases)", 512},
        {"COMMIT", 3902},
        {"ROLLBACK", 3903},
        {"SET NOSUCH ON", 195},
        {"DBCC NOSUCH", 2526},
        {"EXEC master.dbo.xp_cmdshell N'dir'", 15281},
        {"RAISERROR(N'x', 16, 1)", 50000},
        {"THROW 51000, N'mine', 1", 51000},
    };
    struct sim *sim = start("{'time_scale':0}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_error(c, rows[i].sql, rows[i].number);
    client_close(c);
    sim_stop(sim);
}

static void an_older_version_lacks_newer_views_and_columns(void **state)
{
    struct sim *sim = start("{'time_scale':0,'version':'10.50.6000.34','platform':'Windows'}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    (void)state;
    check_error(c, "SELECT * FROM sys.dm_os_host_info", 208);
    check_error(c, "SELECT * FROM sys.dm_exec_session_wait_stats", 208);
    check_error(c, "SELECT replica_id FROM sys.databases", 207);
    check_error(c, "SELECT compression_algorithm FROM msdb.dbo.backupset", 207);
    check_error(c, "SELECT physical_memory_kb FROM sys.dm_os_sys_info", 207);
    check_error(c, "SELECT CONCAT(1, 2)", 195);
    check_error(c, "EXEC master.sys.xp_delete_files N'D:\\Backup\\x.bak'", 2812);
    static const struct row rows[] = {
        {"SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(20))", "10.50.6000.34"},
        {"SELECT COL_LENGTH(N'msdb.dbo.backupset', N'compression_algorithm')", "(null)"},
        {"SELECT COL_LENGTH(N'msdb.dbo.backupset', N'compressed_backup_size')", "13"},
        {"SELECT OBJECT_ID(N'sys.dm_os_host_info')", "(null)"},
    };
    check_rows(c, rows, 4);
    client_close(c);
    sim_stop(sim);
}

static void rights_are_asked_for(void **state)
{
    struct sim *sim =
        start("{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"
              "{'name':'plain','password':'p'},"
              "{'name':'op','password':'p','permissions':['VIEW SERVER STATE'],"
              "'roles':{'Sales':['db_backupoperator'],'msdb':['db_datareader']}}]}");
    struct client *c = login_as(sim, "plain", "p");
    (void)state;
    check_error(c, "SELECT * FROM sys.dm_os_wait_stats", 300);
    check_error(c, "SELECT * FROM sys.dm_os_wait_stats", 297);
    check_error(c, "SELECT * FROM msdb.dbo.backupset", 229);
    check_error(c, "USE Sales", 916);
    check_error(c, "BACKUP DATABASE Sales TO DISK = N'NUL'", 916);
    check_error(c, "BACKUP DATABASE master TO DISK = N'NUL'", 262);
    check_error(c, "DBCC TRACEON (3042, -1)", 2571);
    check_error(c, "EXEC master.dbo.xp_delete_file 0, N'/x'", 229);
    assert_string_equal(client_text(c, "SELECT COUNT(*) FROM sys.master_files"), "0");
    assert_string_equal(client_text(c, "SELECT COUNT(*) FROM sys.dm_exec_sessions"), "1");
    client_close(c);
    c = login_as(sim, "op", "p");
    assert_string_equal(client_text(c, "SELECT COUNT(*) FROM sys.dm_os_host_info"), "1");
    assert_string_equal(
        client_text(c, "SELECT HAS_PERMS_BY_NAME(N'Sales', N'DATABASE', N'BACKUP DATABASE')"), "1");
    assert_string_equal(
        client_text(c, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE')"), "1");
    assert_string_equal(client_text(c, "SELECT IS_SRVROLEMEMBER(N'sysadmin')"), "0");
    struct client_reply r;
    client_run(c, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY", &r);
    assert_non_null(client_find(&r, 3014));
    client_reply_free(&r);
    client_close(c);
    sim_stop(sim);
}

static void tables_can_be_made_filled_and_rolled_back(void **state)
{
    struct sim *sim = start("{'time_scale':0}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    static const struct row rows[] = {
        {"CREATE TABLE Sales.dbo.t (id int IDENTITY PRIMARY KEY, n nvarchar(5) NOT NULL, d "
         "decimal(9,2) DEFAULT 1.5)",
         ""},
        {"INSERT INTO Sales.dbo.t (n) VALUES (N'a'), (N'b'); SELECT SUM(d) FROM Sales.dbo.t",
         "3.00"},
        {"BEGIN TRAN; DELETE Sales.dbo.t; ROLLBACK; SELECT COUNT(*) FROM Sales.dbo.t", "2"},
        {"BEGIN TRAN; UPDATE Sales.dbo.t SET d = d + id WHERE n = N'B'; COMMIT; SELECT MAX(d) FROM "
         "Sales.dbo.t",
         "3.50"},
        {"SELECT n INTO #copy FROM Sales.dbo.t WHERE id = 2; SELECT n FROM #copy", "b"},
        {"INSERT #copy EXEC (N'SELECT N''c'''); SELECT COUNT(*) FROM #copy", "2"},
        {"SELECT name FROM Sales.sys.tables", "t"},
        {"DROP TABLE Sales.dbo.t; SELECT OBJECT_ID(N'Sales.dbo.t')", "(null)"},
    };
    (void)state;
    check_rows(c, rows, 3);
    check_error(c, "INSERT INTO Sales.dbo.t (n) VALUES (NULL)", 515);
    check_error(c, "INSERT INTO Sales.dbo.t (n) VALUES (N'too long')", 2628);
    check_error(c, "INSERT INTO Sales.dbo.t (nosuch) VALUES (1)", 207);
    check_rows(c, rows + 3, sizeof(rows) / sizeof(*rows) - 3);
    check_error(c, "DROP TABLE nosuch", 3701);
    client_close(c);
    sim_stop(sim);
}

static void trace_flags_are_global_only_with_minus_one(void **state)
{
    struct sim *sim = start("{'time_scale':0,'trace_flags':[3226]}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    struct client_reply r;
    int flags[8];
    char error[SIM_ERROR_SIZE];
    (void)state;
    client_run(c, "DBCC TRACEON (3042) WITH NO_INFOMSGS", &r);
    client_reply_free(&r);
    client_run(c, "DBCC TRACESTATUS (3042, -1)", &r);
    assert_string_equal(r.rows[0][1], "0");
    assert_non_null(client_find(&r, 2528));
    client_reply_free(&r);
    client_run(c, "DBCC TRACEON (3042, -1)", &r);
    client_reply_free(&r);
    assert_int_equal(sim_flags(sim, flags, 8), 2);
    assert_int_equal(flags[1], 3042);
    assert_int_equal(sim_fault(sim, "{'do':'restart'}", error), 0);
    assert_int_equal(sim_flags(sim, flags, 8), 1);
    client_close(c);
    sim_stop(sim);
}

static void snapshots_need_every_file_and_go_with_drop(void **state)
{
    struct sim *sim = start("{'time_scale':0}");
    struct client *c = login_as(sim, "sa", "Sweetspot-1");
    (void)state;
    check_error(
        c, "CREATE DATABASE S1 ON (NAME = nosuch, FILENAME = '/tmp/s1.ss') AS SNAPSHOT OF Sales",
        5127);
    check_error(
        c, "CREATE DATABASE S1 ON (NAME = Sales, FILENAME = '/nowhere/s1.ss') AS SNAPSHOT OF Sales",
        5123);
    check_error(
        c, "CREATE DATABASE S1 ON (NAME = master, FILENAME = '/tmp/s1.ss') AS SNAPSHOT OF master",
        1830);
    assert_string_equal(
        client_text(c, "CREATE DATABASE S1 ON (NAME = Sales, FILENAME = '/tmp/s1.ss') AS SNAPSHOT "
                       "OF Sales; SELECT source_database_id FROM sys.databases WHERE name = 'S1'"),
        "5");
    assert_string_equal(
        client_text(c, "SELECT is_sparse FROM sys.master_files WHERE database_id = DB_ID('S1')"),
        "1");
    assert_string_equal(client_text(c, "SELECT physical_name FROM S1.sys.database_files"),
                        "/var/opt/mssql/data/Sales.mdf");
    check_error(c, "BACKUP DATABASE S1 TO DISK = 'NUL'", 3002);
    check_error(c, "DROP DATABASE Sales", 3709);
    assert_string_equal(client_text(c, "DROP DATABASE S1; SELECT COUNT(*) FROM sys.databases"),
                        "7");
    client_close(c);
    sim_stop(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_compute_as_the_server_does),
        cmocka_unit_test(queries_join_group_and_sort),
        cmocka_unit_test(what_it_does_not_know_gives_the_servers_error),
        cmocka_unit_test(an_older_version_lacks_newer_views_and_columns),
        cmocka_unit_test(rights_are_asked_for),
        cmocka_unit_test(tables_can_be_made_filled_and_rolled_back),
        cmocka_unit_test(trace_flags_are_global_only_with_minus_one),
        cmocka_unit_test(snapshots_need_every_file_and_go_with_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
