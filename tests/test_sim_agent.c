/* Jobs of SQL Server Agent in msdb, and the endpoint procedure, as clients make them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define ADD "EXEC msdb.dbo.sp_add_job @job_name = N'j';"
#define STEP "EXEC msdb.dbo.sp_add_jobstep @job_name = N'j', @step_name = N's'"

static void a_job_has_steps_in_order_and_a_server(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") "}");
    (void)state;
    world_runs(&w,
               "DECLARE @id uniqueidentifier; EXEC msdb.dbo.sp_add_job N'j', @job_id = @id OUTPUT; "
               "EXEC msdb.dbo.sp_add_jobstep @job_id = @id, @step_name = N'one', @subsystem = "
               "N'cmdexec', @command = N'a'; EXEC msdb.dbo.sp_add_jobstep @id, @step_name = "
               "N'two', @command = N'PRINT 1', @flags = 4; "
               "EXEC msdb.dbo.sp_add_jobserver @job_id = @id;");
    world_says(&w,
               "SELECT COUNT(*) FROM msdb.dbo.sysjobs j JOIN msdb.dbo.sysjobservers s ON "
               "s.job_id = j.job_id WHERE j.enabled = 1",
               "1");
    world_says(&w,
               "SELECT step_name + '/' + subsystem + '/' + database_name FROM "
               "msdb.dbo.sysjobsteps WHERE step_id = 2",
               "two/TSQL/master");
    world_says(&w, "SELECT on_fail_action FROM msdb.dbo.sysjobsteps WHERE step_id = 1", "2");
    world_refuses(&w, ADD, 14261);
    world_refuses(&w, "EXEC msdb.dbo.sp_add_jobserver @job_name = N'j'", 14269);
    world_stop(&w);
}

static void a_call_is_looked_at(void **state)
{
    static const struct {
        const char *sql;
        int number;
    } calls[] = {
        {"EXEC msdb.dbo.sp_add_job", 201},
        {"EXEC sp_add_job N'x'", 2812}, /* it is in msdb */
        {"EXEC msdb.dbo.sp_add_job N'x', @colour = 1", 8145},
        {"EXEC msdb.dbo.sp_add_jobstep @step_name = N's'", 14294},
        {"EXEC msdb.dbo.sp_add_jobstep @job_name = N'none', @step_name = N's'", 14262},
        {STEP ", @subsystem = N'Bash'", 14234},
        {STEP ", @on_success_action = 5", 14266},
        {"EXEC msdb.dbo.sp_add_jobstep @job_name = N'j'", 201},
        {"EXEC msdb.dbo.sp_add_jobserver @job_name = N'j', @server_name = N'OTHER'", 14262},
    };
    struct world w = world_start(VERSION("16.0.4100.1") "}");
    (void)state;
    world_runs(&w, ADD);
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        world_refuses(&w, calls[i].sql, calls[i].number);
    world_says(&w, "SELECT COUNT(*) FROM msdb.dbo.sysjobsteps", "0");
    world_stop(&w);
}

static void texts_are_as_long_as_the_parameters(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") "}");
    (void)state;
    world_runs(&w,
               "DECLARE @n nvarchar(300), @c nvarchar(max); SET @n = REPLICATE(N'x', 129); SET @c "
               "= REPLICATE(CAST(N'y' AS nvarchar(max)), 10000); EXEC msdb.dbo.sp_add_job @n; "
               "SET @n = LEFT(@n, 128); EXEC msdb.dbo.sp_add_jobstep @job_name = @n, @step_name = "
               "N's', @command = @c, @output_file_name = @c");
    world_says(&w, "SELECT LEN(name) FROM msdb.dbo.sysjobs", "128");
    world_says(&w, "SELECT LEN(command) FROM msdb.dbo.sysjobsteps", "10000");
    world_says(&w, "SELECT LEN(output_file_name) FROM msdb.dbo.sysjobsteps", "200");
    world_stop(&w);
}

static void a_rollback_takes_the_job_back(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") "}");
    (void)state;
    world_runs(&w, "BEGIN TRAN; " ADD STEP "; ROLLBACK");
    world_says(&w, "SELECT COUNT(*) FROM msdb.dbo.sysjobs", "0");
    world_runs(&w, "BEGIN TRAN; " ADD STEP "; COMMIT");
    world_says(&w, "SELECT COUNT(*) FROM msdb.dbo.sysjobsteps", "1");
    world_stop(&w);
}

static void agent_on_linux_has_t_sql_steps_only(void **state)
{
    struct world w = world_start("{'time_scale':0,'platform':'Linux'}");
    (void)state;
    world_runs(&w, ADD STEP);
    world_refuses(&w, STEP ", @subsystem = N'CmdExec'", 14234);
    world_refuses(&w, STEP ", @subsystem = N'PowerShell'", 14234);
    world_stop(&w);
}

static void a_login_needs_a_role_of_agent(void **state)
{
    struct world w = world_start_as(
        "{'time_scale':0,'logins':[{'name':'sa','password':'x','sysadmin':true},{'name':'low',"
        "'password':'p'},{'name':'user','password':'p','roles':{'msdb':['SQLAgentUserRole']}}]}",
        "low", "p");
    int number = 0;
    (void)state;
    world_refuses(&w, ADD, 229);
    client_close(w.client);
    w.client = client_open(sim_port(w.sim), "user", "p", "", &number);
    assert_non_null(w.client);
    world_runs(&w, ADD);
    world_refuses(&w, "SELECT * FROM msdb.dbo.sysjobs", 229); /* the role has the procedures only */
    world_stop(&w);
}

static void the_endpoint_procedure_is_off_and_of_2025(void **state)
{
    static const char call[] = "EXEC sys.sp_invoke_external_rest_endpoint @url = N'";
    struct world w = world_start(VERSION("17.0.1000.7") "}");
    struct world old = world_start(VERSION("16.0.4100.1") "}");
    char sql[200];
    (void)state;
    (void)snprintf(sql, sizeof sql, "%shttps://127.0.0.1:1/'", call);
    world_refuses(&old, sql, 2812);
    world_refuses(&w, sql, 15281);
    world_runs(&w, "EXEC sp_configure 'external rest endpoint enabled', 1");
    world_refuses(&w, sql, 31608); /* nobody listens */
    (void)snprintf(sql, sizeof sql, "%shttp://127.0.0.1:1/'", call);
    world_refuses(&w, sql, 31608);
    (void)snprintf(sql, sizeof sql, "%shttps://127.0.0.1:1/', @timeout = 231", call);
    world_refuses(&w, sql, 16902);
    (void)snprintf(sql, sizeof sql, "%shttps://127.0.0.1:1/', @credential = [none]", call);
    world_refuses(&w, sql, 15151);
    world_stop(&w);
    world_stop(&old);
}

static void json_value_finds_members(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") "}");
    (void)state;
    world_says(&w, "SELECT JSON_VALUE(N'{\"a\":{\"b\":\"x\"}}', N'$.a.b')", "x");
    world_says(&w, "SELECT JSON_VALUE(N'{\"a\":{\"b\":7}}', N'$.a.b')", "7");
    world_says(&w, "SELECT ISNULL(JSON_VALUE(N'{\"a\":{}}', N'$.a'), N'none')", "none");
    world_says(&w, "SELECT ISNULL(JSON_VALUE(N'{\"a\":1}', N'$.b.c'), N'none')", "none");
    world_refuses(&w, "SELECT JSON_VALUE(N'x', N'$.a')", 13609);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_has_steps_in_order_and_a_server),
        cmocka_unit_test(a_call_is_looked_at),
        cmocka_unit_test(texts_are_as_long_as_the_parameters),
        cmocka_unit_test(a_rollback_takes_the_job_back),
        cmocka_unit_test(agent_on_linux_has_t_sql_steps_only),
        cmocka_unit_test(a_login_needs_a_role_of_agent),
        cmocka_unit_test(the_endpoint_procedure_is_off_and_of_2025),
        cmocka_unit_test(json_value_finds_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
