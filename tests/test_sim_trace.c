/* The default trace: how it is found, what it says of files that grow, who may read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define GROWTHS                                                                                    \
    ",'default_trace':{'number':7,'growths':["                                                     \
    "{'database':'Sales','file':'Sales','mib':64,'ms':2500,'ago_s':7200,'trace':6},"               \
    "{'database':'Sales','file':'Sales','mib':64,'ms':1250,'ago_s':3600},"                         \
    "{'database':'Sales','file':'Sales_log','mib':10,'ms':300,'ago_s':60}]}"
#define GROWN "WHERE EventClass IN (92, 93) AND DatabaseName = 'Sales'"

static void the_view_names_the_file_and_the_function_reads_it(void **state)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT path FROM sys.traces WHERE is_default = 1 AND status = 1", "C:\\Data\\log_7.trc"},
        {"SELECT CONCAT(id, ' ', max_files, ' ', max_size) FROM sys.traces", "1 5 20"},
        {"SELECT value_in_use FROM sys.configurations WHERE name = 'default trace enabled'", "1"},
        {"SELECT COUNT(*) FROM sys.fn_trace_gettable(N'C:\\Data\\log_7.trc', default) " GROWN, "2"},
        {"SELECT COUNT(*) FROM fn_trace_gettable(N'C:\\Data\\log_6.trc', DEFAULT) " GROWN, "3"},
        {"SELECT COUNT(*) FROM fn_trace_gettable(N'C:\\Data\\log_6.trc', 1) " GROWN, "1"},
        {"SELECT COUNT(*) FROM fn_trace_gettable(N'C:\\Data\\log.trc', default) " GROWN, "3"},
        {"SELECT COUNT(*) FROM sys.traces t CROSS APPLY sys.fn_trace_gettable(t.path, default) "
         "WHERE t.is_default = 1 AND EventClass = 93",
         "1"},
        {"SELECT FileName FROM sys.fn_trace_gettable(N'C:\\Data\\log_7.trc', default) WHERE "
         "EventClass = 93",
         "Sales_log"},
        {"SELECT SUM(Duration) FROM fn_trace_gettable(N'C:\\Data\\log.trc', default) " GROWN,
         "4050000"}, /* microseconds */
        {"SELECT SUM(IntegerData) / 128 FROM fn_trace_gettable(N'C:\\Data\\log.trc', "
         "default) " GROWN " AND EventClass = 92",
         "128"}, /* pages of 8 KB */
        {"SELECT DATEDIFF(ms, StartTime, EndTime) / 10 FROM fn_trace_gettable("
         "N'C:\\Data\\log_6.trc', 1) " GROWN,
         "250"},
        {"SELECT DATEDIFF(minute, MIN(StartTime), GETDATE()) FROM "
         "fn_trace_gettable(N'C:\\Data\\log.trc', default) " GROWN,
         "120"},
    };
    struct world w = world_start(VERSION("16.0.4100.1") GROWTHS "}");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        world_says(&w, rows[i].sql, rows[i].want);
    world_refuses(&w, "SELECT * FROM sys.fn_trace_gettable(N'C:\\Data\\log_2.trc', default)", 567);
    world_refuses(&w, "SELECT * FROM sys.fn_trace_gettable(N'C:\\other.trc', default)", 567);
    world_stop(&w);
}

static void other_events_are_in_it_too(void **state)
{
    static const char sql[] =
        "SELECT COUNT(*) FROM sys.traces t CROSS APPLY sys.fn_trace_gettable(t.path, default) ";
    char text[200];
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    (void)snprintf(text, sizeof(text), "%sWHERE EventClass = 115 AND DatabaseName = 'Sales'", sql);
    world_says(&w, text, "1");
    (void)snprintf(text, sizeof(text), "%sWHERE EventClass IN (92, 93)", sql);
    world_says(&w, text, "0");
    world_stop(&w);
}

static void a_file_that_grows_is_larger_and_in_the_trace(void **state)
{
    static const char size[] = "SELECT size / 128 FROM Sales.sys.database_files WHERE type = 1";
    static const char events[] =
        "SELECT SUM(IntegerData) / 128 FROM sys.traces t CROSS APPLY sys.fn_trace_gettable(t.path, "
        "default) WHERE EventClass = 93";
    struct world w = world_start(VERSION("9.0.5000.0") "}");
    (void)state;
    world_says(&w, size, "32");
    world_fault(&w, "{'do':'grow_file','name':'Sales_log','mib':16,'seconds':0.75}");
    world_says(&w, size, "48");
    world_says(&w, events, "16");
    world_fault(&w, "{'do':'restart'}"); /* a new file; the old one is still there */
    world_says(&w, "SELECT path FROM sys.traces", "C:\\Data\\log_6.trc");
    world_says(&w, events, "(null)");
    world_says(&w,
               "SELECT COUNT(*) FROM fn_trace_gettable('C:\\Data\\log.trc', default) WHERE "
               "EventClass = 93",
               "1");
    world_stop(&w);
}

static void growth_can_come_at_its_moment(void **state)
{
    static const char events[] =
        "SELECT DATEDIFF(second, MIN(StartTime), GETDATE()) FROM sys.traces t CROSS APPLY "
        "sys.fn_trace_gettable(t.path, default) WHERE EventClass = 92";
    struct world w = world_start("{'time_scale':0,'timeline':[{'at_s':30,'fault':{'do':'grow_file',"
                                 "'name':'Sales','mib':8}}]}");
    (void)state;
    world_says(&w, events, "(null)");
    world_runs(&w, "WAITFOR DELAY '00:00:40'");
    world_says(&w, events, "10");
    world_stop(&w);
}

static void off_means_no_row(void **state)
{
    struct world w = world_start("{'time_scale':0,'configurations':{'default trace enabled':0}}");
    (void)state;
    world_says(&w, "SELECT COUNT(*) FROM sys.traces", "0");
    world_says(&w, "SELECT value_in_use FROM sys.configurations WHERE configuration_id = 1568",
               "0");
    world_fault(&w, "{'do':'grow_file','name':'Sales','mib':8}");
    world_runs(&w, "EXEC sp_configure 'default trace enabled', 1");
    world_says(&w, "SELECT COUNT(*) FROM sys.traces", "1");
    world_says(&w,
               "SELECT COUNT(*) FROM sys.traces t CROSS APPLY sys.fn_trace_gettable(t.path, "
               "default) WHERE EventClass = 92",
               "0");
    world_stop(&w);
}

static void reading_needs_alter_trace_and_nothing_else(void **state)
{
    static const char scenario[] = VERSION("16.0.4100.1") GROWTHS
        ",'logins':[{'name':'viewer','password':'x','permissions':"
        "['VIEW SERVER STATE']},{'name':'tracer','password':'x','permissions':['ALTER TRACE']}]}";
    (void)state;
    struct world w = world_start_as(scenario, "viewer", "x");
    struct client_reply r;
    client_run(w.client, "SELECT * FROM sys.traces", &r);
    assert_non_null(client_find(&r, 8189));
    assert_non_null(strstr(client_find(&r, 8189)->text, "'SYS.TRACES'"));
    client_reply_free(&r);
    client_run(w.client, "SELECT * FROM sys.fn_trace_gettable(N'C:\\Data\\log_7.trc', 1)", &r);
    assert_non_null(strstr(client_find(&r, 8189)->text, "'FN_TRACE_GETTABLE'"));
    client_reply_free(&r);
    world_says(&w, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER TRACE')", "0");
    world_stop(&w);
    w = world_start_as(scenario, "tracer", "x");
    world_says(&w, "SELECT COUNT(*) FROM fn_trace_gettable('C:\\Data\\log.trc', -1) " GROWN, "3");
    world_stop(&w);
}

static void a_growth_of_nothing_is_refused(void **state)
{
    struct sim *sim = NULL;
    char error[SIM_ERROR_SIZE] = "";
    (void)state;
    assert_int_equal(
        sim_start("{'default_trace':{'growths':[{'database':'Sales','file':'x'}]}}", &sim, error),
        -1);
    assert_non_null(strstr(error, "growths"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_view_names_the_file_and_the_function_reads_it),
        cmocka_unit_test(other_events_are_in_it_too),
        cmocka_unit_test(a_file_that_grows_is_larger_and_in_the_trace),
        cmocka_unit_test(growth_can_come_at_its_moment),
        cmocka_unit_test(off_means_no_row),
        cmocka_unit_test(reading_needs_alter_trace_and_nothing_else),
        cmocka_unit_test(a_growth_of_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
