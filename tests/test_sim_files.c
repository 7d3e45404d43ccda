/* Files by type: rows, log, FILESTREAM and memory-optimised containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define MIXED                                                                                      \
    ",'databases':[{'name':'Mixed','active_log_mib':3,'files':[{'name':'a','mib':20,'used_mib':"   \
    "10},"                                                                                         \
    "{'name':'b','mib':8,'used_mib':6},{'name':'l','type':'LOG','mib':16},"                        \
    "{'name':'docs','type':'FILESTREAM','mib':40},"                                                \
    "{'name':'imoltp','type':'MEMORY_OPTIMIZED','mib':5}]}]}"

static void each_type_has_its_rows_and_sizes(void **state)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT COUNT(*) FROM sys.master_files WHERE database_id = 5 AND type_desc = 'ROWS'", "2"},
        {"SELECT SUM(size) / 128 FROM sys.master_files WHERE database_id = 5 AND type = 0", "28"},
        {"SELECT SUM(size) / 128 FROM sys.master_files WHERE database_id = 5 AND type = 1", "16"},
        {"SELECT COUNT(*) FROM sys.master_files WHERE database_id = 5 AND type = 2 AND size = 0",
         "2"}, /* containers: the size is known in the database only */
        {"SELECT SUM(size) / 128 FROM Mixed.sys.database_files WHERE type_desc = 'FILESTREAM'",
         "45"},
        {"SELECT MIN(file_id) FROM Mixed.sys.database_files WHERE type = 2", "65537"},
        {"SELECT f.name FROM Mixed.sys.database_files f JOIN Mixed.sys.filegroups g ON "
         "g.data_space_id = f.data_space_id WHERE g.type = 'FX'",
         "imoltp"},
        {"SELECT f.name FROM Mixed.sys.database_files f JOIN Mixed.sys.filegroups g ON "
         "g.data_space_id = f.data_space_id WHERE g.type = 'FD'",
         "docs"},
        {"SELECT SERVERPROPERTY('FilestreamEffectiveLevel')", "2"},
        {"SELECT COUNT(*) FROM sys.dm_io_virtual_file_stats(5, NULL)", "5"},
        {"SELECT COUNT(*) FROM sys.master_files m CROSS APPLY sys.dm_io_virtual_file_stats("
         "m.database_id, m.file_id) s WHERE m.database_id = 5 AND s.num_of_reads = 0",
         "5"},
        {"SELECT size_on_disk_bytes / 1048576 FROM sys.dm_io_virtual_file_stats(5, 65537)", "40"},
    };
    struct world w = world_start(VERSION("16.0.4100.1") MIXED);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        world_says(&w, rows[i].sql, rows[i].want);
    world_stop(&w);
}

static void a_full_backup_counts_data_containers_and_active_log(void **state)
{
    static const char *const want[] = {"Processed 1280 pages for database 'Mixed', file 'a' ",
                                       "Processed 768 pages for database 'Mixed', file 'b' ",
                                       "Processed 5120 pages for database 'Mixed', file 'docs' ",
                                       "Processed 640 pages for database 'Mixed', file 'imoltp' ",
                                       "Processed 384 pages for database 'Mixed', file 'l' "};
    struct world w = world_start(VERSION("16.0.4100.1") MIXED);
    struct client_reply r;
    (void)state;
    client_run(w.client, "BACKUP DATABASE Mixed TO DISK = N'NUL'", &r);
    assert_int_equal(r.message_count, 6);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.messages[i].number, 4035);
        assert_non_null(strstr(r.messages[i].text, want[i]));
    }
    assert_int_equal(r.messages[5].number, 3014);
    assert_non_null(strstr(r.messages[5].text, " processed 8192 pages "));
    client_reply_free(&r);
    world_says(&w, "SELECT num_of_bytes_read / 8192 FROM sys.dm_io_virtual_file_stats(5, 65538)",
               "640");
    world_says(&w, "SELECT backed_up_page_count FROM msdb.dbo.backupfile WHERE file_type = 'S'",
               "5120");
    world_runs(&w, "BACKUP DATABASE Mixed TO DISK = N'NUL' WITH DIFFERENTIAL");
    world_stop(&w);
}

static void containers_are_listed_in_the_backup(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") MIXED);
    struct client_reply r;
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Mixed TO DISK = N'D:\\Backup\\m.bak' WITH COPY_ONLY");
    client_run(w.client, "RESTORE FILELISTONLY FROM DISK = N'D:\\Backup\\m.bak'", &r);
    assert_int_equal(r.row_count, 5);
    assert_string_equal(r.rows[3][2], "S");
    assert_string_equal(r.rows[4][3], "MEMORY_OPTIMIZED");
    client_reply_free(&r);
    world_stop(&w);
}

static void versions_and_platforms_have_the_types_they_have(void **state)
{
    static const struct {
        const char *scenario;
        int good;
    } rows[] = {
        {VERSION("12.0.6024.0") MIXED, 0},
        {VERSION("11.0.7001.0") MIXED, -1}, /* In-Memory OLTP came with 2014 */
        {VERSION("10.0.6000.0") ",'databases':[{'name':'F','files':[{'name':'f'},{'name':'c','type'"
                                ":'FILESTREAM'},{'name':'l','type':'LOG'}]}]}",
         0},
        {VERSION("9.0.5000.0") ",'databases':[{'name':'F','files':[{'name':'f'},{'name':'c','type':"
                               "'FILESTREAM'},{'name':'l','type':'LOG'}]}]}",
         -1},
        {"{'databases':[{'name':'F','files':[{'name':'f'},{'name':'c','type':'FILESTREAM'}]}]}",
         -1},
        {"{'databases':[{'name':'F','files':[{'name':'f'},{'name':'c','type':'MEMORY_OPTIMIZED'}]}]"
         "}",
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sim *sim = NULL;
        char error[SIM_ERROR_SIZE] = "";
        if (sim_start(rows[i].scenario, &sim, error) != rows[i].good)
            fail_msg("row %zu: %s", i, error);
        sim_stop(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_its_rows_and_sizes),
        cmocka_unit_test(a_full_backup_counts_data_containers_and_active_log),
        cmocka_unit_test(containers_are_listed_in_the_backup),
        cmocka_unit_test(versions_and_platforms_have_the_types_they_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
