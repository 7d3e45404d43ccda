/* Somebody else: VSS snapshots during our backups, and requests that begin and end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

static void a_vss_snapshot_comes_while_our_backup_runs(void **state)
{
    struct world w = world_start(
        "{'time_scale':0,'timeline':[{'at_backup':2,'at_percent':40,'fault':{'do':'vss_snapshot',"
        "'database':'Sales','seconds':0}}]}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY, NAME = N'one'");
    assert_int_equal(sim_history_count(w.sim), 1);
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY, NAME = N'two'");
    assert_int_equal(sim_history_count(w.sim), 3);
    assert_true(sim_differential_base(w.sim, "Sales") > base); /* a copy is ours, not theirs */
    world_says(&w,
               "SELECT CONCAT(s.is_snapshot, s.is_copy_only, f.device_type, ' ', s.user_name) FROM "
               "msdb.dbo.backupset s JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = "
               "s.media_set_id WHERE s.name IS NULL",
               "107 NT SERVICE\\SQLWriter");
    world_says(&w,
               "SELECT COUNT(*) FROM msdb.dbo.backupset o JOIN msdb.dbo.backupset v ON "
               "v.database_name = o.database_name AND v.is_snapshot = 1 AND v.backup_finish_date "
               "BETWEEN o.backup_start_date AND o.backup_finish_date WHERE o.name = 'two'",
               "1");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    assert_int_equal(sim_history_count(w.sim), 4); /* it came once */
    world_stop(&w);
}

static void a_copy_only_snapshot_moves_nothing(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales");
    world_fault(&w, "{'do':'vss_snapshot','copy_only':true}");
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    world_says(&w, "SELECT is_copy_only FROM msdb.dbo.backupset WHERE is_snapshot = 1", "1");
    world_stop(&w);
}

static const char foreign[] =
    "SELECT CAST(session_id AS varchar(9)) + ' ' + command + ' ' + CAST(CAST(percent_complete AS "
    "int) AS varchar(9)) FROM sys.dm_exec_requests WHERE session_id <> @@SPID";

static void requests_begin_and_end_at_their_moments(void **state)
{
    static const struct {
        const char *kind, *want;
        int sets;
    } rows[] = {
        {"backup", "52 BACKUP DATABASE 50", 1},   {"backup_log", "52 BACKUP LOG 50", 1},
        {"checkdb", "52 DBCC TABLE CHECK 50", 0}, {"shrink", "52 DbccFilesCompact 50", 0},
        {"restore", "52 RESTORE DATABASE 50", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char scenario[300];
        (void)snprintf(scenario, sizeof(scenario),
                       "{'time_scale':0,'version':'10.50.6000.34','platform':'Windows','timeline':["
                       "{'at_s':1000,'fault':{'do':'foreign_request','kind':'%s','database':"
                       "'Sales','seconds':4000}}]}",
                       rows[i].kind);
        struct world w = world_start(scenario);
        world_says(&w, foreign, "");
        world_runs(&w, "WAITFOR DELAY '00:50:00'"); /* 3000 s */
        world_says(&w, foreign, rows[i].want);
        world_says(&w,
                   "SELECT DATEDIFF(second, start_time, GETDATE()) / 10 FROM sys.dm_exec_requests "
                   "WHERE session_id = 52",
                   "200");
        world_runs(&w, "WAITFOR DELAY '00:50:00'");
        world_says(&w, foreign, "");
        assert_int_equal(sim_history_count(w.sim), rows[i].sets);
        world_stop(&w);
    }
}

static void *back_up(void *client)
{
    struct client_reply r;
    client_run(client, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY", &r);
    client_reply_free(&r);
    return NULL;
}

static void a_request_can_be_around_our_backup_only(void **state)
{
    struct world w = world_start(
        "{'time_scale':0,'timeline':["
        "{'at_backup':1,'at_percent':10,'fault':{'do':'foreign_request','kind':'checkdb'}},"
        "{'at_backup':1,'at_percent':60,'fault':{'do':'hold_at_percent','percent':70}},"
        "{'at_backup':1,'at_percent':90,'fault':{'do':'foreign_request','kind':'checkdb',"
        "'on':false}}]}");
    int number = 0;
    (void)state;
    struct client *other = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
    assert_string_equal(client_text(other, foreign), "");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, back_up, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    assert_string_equal(client_text(other, "SELECT command FROM sys.dm_exec_requests WHERE command "
                                           "LIKE 'DBCC%'"),
                        "DBCC TABLE CHECK");
    sim_release(w.sim);
    pthread_join(thread, NULL);
    assert_string_equal(client_text(other, foreign), "");
    client_close(other);
    world_stop(&w);
}

static void a_restore_is_in_its_history(void **state)
{
    struct world w = world_start("{'time_scale':0,'timeline':[{'at_s':0,'fault':{'do':"
                                 "'foreign_request','kind':'restore','seconds':30}}]}");
    (void)state;
    world_says(&w, "SELECT COUNT(*) FROM msdb.dbo.restorehistory", "0");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 927); /* it is restored over */
    world_runs(&w, "WAITFOR DELAY '00:00:31'");
    world_says(&w, "SELECT destination_database_name FROM msdb.dbo.restorehistory", "Sales");
    world_stop(&w);
}

static void somebody_elses_log_backup_takes_the_log(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales"), log = sim_last_log_lsn(w.sim, "Sales");
    world_fault(&w, "{'do':'foreign_request','kind':'backup_log'}");
    assert_true(sim_last_log_lsn(w.sim, "Sales") == log);
    world_fault(&w, "{'do':'foreign_request','kind':'backup_log','on':false}");
    assert_true(sim_last_log_lsn(w.sim, "Sales") > log);
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    world_says(&w, "SELECT type FROM msdb.dbo.backupset", "L");
    world_stop(&w);
}

static void others_are_seen_with_the_right_and_can_be_killed(void **state)
{
    static const char scenario[] =
        "{'time_scale':0,'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"
        "{'name':'low','password':'x'}],'timeline':[{'at_s':0,'fault':{'do':'foreign_request',"
        "'kind':'shrink'}},{'at_s':0,'fault':{'do':'foreign_request','kind':'backup_log',"
        "'percent':5}}]}";
    struct world w = world_start_as(scenario, "low", "x");
    (void)state;
    world_says(&w, foreign, "");
    world_stop(&w);
    w = world_start(scenario);
    world_says(&w, "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID", "2");
    world_says(&w,
               "SELECT COUNT(*) FROM sys.dm_exec_sessions s JOIN sys.dm_exec_requests r ON "
               "r.session_id = s.session_id WHERE s.login_name = 'someone_else'",
               "2");
    world_runs(&w, "KILL 52");
    world_says(&w, foreign, "53 BACKUP LOG 5");
    world_fault(&w, "{'do':'restart'}"); /* ends everybody's work */
    world_says(&w, foreign, "");
    world_stop(&w);
}

static void the_clock_goes_on_during_a_backup(void **state)
{
    struct world w = world_start(
        "{'time_scale':0,'timeline':[{'at_s':0,'fault':{'do':'slow','factor':1000}},{'at_s':20,"
        "'fault':{'do':'foreign_request','kind':'checkdb','seconds':10}},{'at_backup':1,"
        "'at_percent':100,'fault':{'do':'trace_flag','number':3042}}]}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    world_says(&w,
               "SELECT CASE WHEN backup_finish_date <= GETDATE() AND DATEDIFF(second, "
               "backup_finish_date, GETDATE()) < 3 THEN 'now' ELSE 'not' END FROM "
               "msdb.dbo.backupset",
               "now");
    world_says(&w, foreign, ""); /* it came and went meanwhile */
    assert_int_equal(sim_flags(w.sim, NULL, 0), 1);
    world_stop(&w);
}

static void a_timeline_that_cannot_be_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{'timeline':[{'fault':{'do':'restart'}}]}",
        "{'timeline':[{'at_s':1,'at_backup':1,'fault':{'do':'restart'}}]}",
        "{'timeline':[{'at_s':1}]}",
        "{'timeline':[{'at_s':-1,'fault':{'do':'restart'}}]}",
        "{'timeline':[{'at_s':1,'fault':{'do':'foreign_request','kind':'dance'}}]}",
        "{'timeline':[{'at_s':1,'fault':{'do':'dance'}}]}",
        "{'timeline':[{'at_s':1,'when':2,'fault':{'do':'restart'}}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct sim *sim = NULL;
        char error[SIM_ERROR_SIZE] = "";
        assert_int_equal(sim_start(wrong[i], &sim, error), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vss_snapshot_comes_while_our_backup_runs),
        cmocka_unit_test(a_copy_only_snapshot_moves_nothing),
        cmocka_unit_test(requests_begin_and_end_at_their_moments),
        cmocka_unit_test(a_request_can_be_around_our_backup_only),
        cmocka_unit_test(a_restore_is_in_its_history),
        cmocka_unit_test(somebody_elses_log_backup_takes_the_log),
        cmocka_unit_test(others_are_seen_with_the_right_and_can_be_killed),
        cmocka_unit_test(the_clock_goes_on_during_a_backup),
        cmocka_unit_test(a_timeline_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
