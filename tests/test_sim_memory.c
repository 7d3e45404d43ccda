/* What the views tell of memory, version by version, and what buffers may take of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define MEMORY ",'memory_mib':8192,'server_memory_mib':2048,'free_memory_mib':1024}"

static void each_version_has_its_memory_columns(void **state)
{
    static const struct {
        const char *scenario, *column, *want; /* want NULL: 207, or 208 for a whole view */
    } rows[] = {
        {VERSION("9.0.5000.0") MEMORY, "physical_memory_in_bytes / 1048576", "8192"},
        {VERSION("9.0.5000.0") MEMORY, "bpool_committed / 128", "2048"},
        {VERSION("9.0.5000.0") MEMORY, "physical_memory_kb", NULL},
        {VERSION("9.0.5000.0") MEMORY, "sqlserver_start_time", NULL},
        {VERSION("10.0.6000.29") MEMORY, "bpool_commit_target / 128", "6144"},
        {VERSION("10.0.6000.29") MEMORY, "process_user_time_ms", NULL},
        {VERSION("10.50.6000.34") MEMORY, "process_user_time_ms * 0", "0"},
        {VERSION("10.50.6000.34") MEMORY, "committed_kb", NULL},
        {VERSION("11.0.7001.0") MEMORY, "committed_kb / 1024", "2048"},
        {VERSION("11.0.7001.0") MEMORY, "bpool_committed", NULL},
        {VERSION("11.0.7001.0") MEMORY, "physical_memory_in_bytes", NULL},
        {VERSION("12.0.6024.0") MEMORY, "visible_target_kb / 1024", "6144"},
        {VERSION("13.0.1601.5") MEMORY, "sql_memory_model_desc", NULL}, /* RTM */
        {VERSION("13.0.4001.0") MEMORY, "sql_memory_model_desc", "CONVENTIONAL"},
        {VERSION("13.0.4001.0") MEMORY, "socket_count", NULL},
        {VERSION("13.0.5026.0") MEMORY, "socket_count", "1"},
        {VERSION("15.0.2000.5") MEMORY, "container_type_desc", "NONE"},
        {VERSION("17.0.1000.7") MEMORY, "physical_memory_kb / 1024", "8192"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char sql[160];
        struct world w = world_start(rows[i].scenario);
        (void)snprintf(sql, sizeof(sql), "SELECT %s FROM sys.dm_os_sys_info", rows[i].column);
        if (rows[i].want)
            world_says(&w, sql, rows[i].want);
        else
            world_refuses(&w, sql, 207);
        world_stop(&w);
    }
}

static void free_memory_comes_from_the_scenario(void **state)
{
    static const struct {
        const char *scenario, *want;
    } rows[] = {
        {VERSION("10.0.6000.29") MEMORY, "8192 1024 Available physical memory is high"},
        {VERSION("16.0.4100.1") ",'memory_mib':4096,'free_memory_mib':100}",
         "4096 100 Physical memory usage is steady"},
        {VERSION("16.0.4100.1") ",'memory_mib':4096,'free_memory_mib':20}",
         "4096 20 Available physical memory is low"},
    };
    static const char sql[] =
        "SELECT CAST(total_physical_memory_kb / 1024 AS varchar(20)) + ' ' + "
        "CAST(available_physical_memory_kb / 1024 AS varchar(20)) + ' ' + system_memory_state_desc "
        "FROM sys.dm_os_sys_memory";
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct world w = world_start(rows[i].scenario);
        world_says(&w, sql, rows[i].want);
        world_stop(&w);
    }
    struct world w = world_start(VERSION("9.0.5000.0") MEMORY);
    world_refuses(&w, sql, 208); /* both views came with 2008 */
    world_refuses(&w, "SELECT * FROM sys.dm_os_process_memory", 208);
    world_stop(&w);
}

static void locked_pages_are_told(void **state)
{
    struct world w = world_start("{'time_scale':0,'memory_mib':4096,'lock_pages':true}");
    (void)state;
    world_says(&w,
               "SELECT locked_page_allocations_kb - physical_memory_in_use_kb FROM "
               "sys.dm_os_process_memory",
               "0");
    world_says(&w, "SELECT sql_memory_model FROM sys.dm_os_sys_info", "2");
    world_stop(&w);
}

static void buffers_over_what_is_free_give_701(void **state)
{
    struct world w = world_start("{'time_scale':0,'memory_mib':4096,'free_memory_mib':300}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 300");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 301", 701);
    world_backs_up(&w,
                   "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 100, COMPRESSION");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 101, COMPRESSION",
                  701);
    world_refuses(&w,
                  "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 80, MAXTRANSFERSIZE = "
                  "4194304",
                  701);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 75, "
                       "MAXTRANSFERSIZE = 4194304");
    world_stop(&w);
    w = world_start("{'time_scale':0,'backup_memory_mib':40}"); /* the engine's own limit */
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH BUFFERCOUNT = 41", 701);
    world_stop(&w);
}

static void memory_needs_the_right_to_see_the_state(void **state)
{
    static const char *const views[] = {"dm_os_sys_info", "dm_os_sys_memory",
                                        "dm_os_process_memory"};
    struct world w =
        world_start_as("{'time_scale':0,'logins':[{'name':'low','password':'x'}]}", "low", "x");
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char sql[80];
        (void)snprintf(sql, sizeof(sql), "SELECT * FROM sys.%s", views[i]);
        world_refuses(&w, sql, 300);
    }
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_memory_columns),
        cmocka_unit_test(free_memory_comes_from_the_scenario),
        cmocka_unit_test(locked_pages_are_told),
        cmocka_unit_test(buffers_over_what_is_free_give_701),
        cmocka_unit_test(memory_needs_the_right_to_see_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
