/* Faults, cancels, and what the simulator leaves behind. */
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

static void *run_compressed(void *client)
{
    struct client_reply r;
    client_run(client,
               "BACKUP DATABASE Sales TO DISK = N'" BAK "c.bak' WITH COMPRESSION, COPY_ONLY", &r);
    client_reply_free(&r);
    return NULL;
}

static void *cancel_held(void *pointer)
{
    struct world *w = pointer;
    (void)sim_wait_for(w->sim, SIM_EVENT_HELD, NULL, 1, 5000);
    client_cancel(w->client);
    return NULL;
}

static void compressed_files_are_allocated_first_and_shrink(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':10}]}");
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_compressed, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_int_equal(files[0].size_bytes / 1048576, 320 / 3);
    assert_false(files[0].whole);
    sim_files_free(files, n);
    sim_release(w.sim);
    pthread_join(thread, NULL);
    files = sim_files(w.sim, &n);
    assert_true(files[0].size_bytes < 70 * 1048576);
    assert_true(files[0].whole);
    sim_files_free(files, n);
    world_stop(&w);
}

static void a_full_volume_gives_3202_and_leaves_a_part(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    world_fault(&w, "{'do':'fill_volume','path':'" BAK "','free_mib':100}");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "f.bak'", &r);
    assert_int_equal(r.messages[0].number, 3202);
    assert_non_null(strstr(r.messages[0].text, "112("));
    assert_non_null(client_find(&r, 3013));
    client_reply_free(&r);
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_false(files[0].whole);
    sim_files_free(files, n);
    assert_int_equal(sim_history_count(w.sim), 0);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "f.bak'", 3241);
    client_run(w.client, "EXEC master.dbo.xp_delete_file 0, N'" BAK "f.bak'", &r);
    assert_false(r.failed);
    client_reply_free(&r);
    n = world_file_count(&w);
    assert_int_equal(n, 1);
    client_run(w.client, "EXEC master.sys.xp_delete_files N'" BAK "*.bak'", &r);
    client_reply_free(&r);
    n = world_file_count(&w);
    assert_int_equal(n, 0);
    world_stop(&w);
}

static void a_cancelled_backup_says_3204_and_moves_nothing(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':60}]}");
    struct client_reply r;
    pthread_t thread;
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales");
    assert_int_equal(pthread_create(&thread, NULL, cancel_held, &w), 0);
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "g.bak'", &r);
    pthread_join(thread, NULL);
    assert_non_null(client_find(&r, 3204));
    assert_non_null(client_find(&r, 3013));
    assert_null(client_find(&r, 3014));
    client_reply_free(&r);
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_BACKUPS, NULL, 0, 5000), 0);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "g.bak' WITH FORMAT");
    world_stop(&w);
}

static void errors_and_drops_can_be_put_into_a_backup(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client_reply r;
    int number = 0;
    (void)state;
    world_fault(&w, "{'do':'error','match':'BACKUP','nth':2,'number':3201,'state':7}");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3201);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    world_fault(&w, "{'do':'error_at_percent','percent':30,'number':3202}");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3202);
    world_fault(&w, "{'do':'error_after_4035'}");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "l.bak'", &r);
    assert_non_null(client_find(&r, 4035));
    assert_non_null(client_find(&r, 3634));
    assert_null(client_find(&r, 3014));
    client_reply_free(&r);
    static const char *const drops[] = {"{'do':'drop_at_percent','percent':50}",
                                        "{'do':'drop_after_4035'}"};
    for (int i = 0; i < 2; i++) {
        world_fault(&w, drops[i]);
        client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'NUL'", &r);
        assert_true(r.failed);
        assert_null(client_find(&r, 3014));
        assert_int_equal(client_find(&r, 4035) != NULL, i);
        client_reply_free(&r);
        client_close(w.client);
        w.client = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
        assert_non_null(w.client);
    }
    world_stop(&w);
}

static void another_connection_sees_the_running_backup(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':40}]}");
    int number = 0;
    pthread_t thread;
    (void)state;
    struct client *other = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
    assert_int_equal(pthread_create(&thread, NULL, run_compressed, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    assert_string_equal(
        client_text(other, "SELECT CONCAT(command, ' ', CAST(percent_complete AS int)) FROM "
                           "sys.dm_exec_requests WHERE command LIKE 'BACKUP%'"),
        "BACKUP DATABASE 40");
    sim_release(w.sim);
    pthread_join(thread, NULL);
    world_fault(&w, "{'do':'foreign_backup'}");
    assert_string_equal(client_text(other,
                                    "SELECT session_id FROM sys.dm_exec_requests WHERE command = "
                                    "'BACKUP DATABASE'"),
                        "53");
    client_close(other);
    world_stop(&w);
}

static void the_control_procedure_makes_faults_from_outside(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    client_run(
        w.client,
        "EXEC sweetspot_sim.dbo.control N'{\"do\":\"error\",\"match\":\"BACKUP\",\"number\":3203}'",
        &r);
    assert_false(r.failed);
    client_reply_free(&r);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3203);
    world_refuses(&w, "EXEC sweetspot_sim.dbo.control N'{\"do\":\"dance\"}'", 50000);
    world_stop(&w);
}

static void snapshots_slow_changes_down_and_grow(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client *c = w.client;
    (void)state;
    assert_string_equal(
        client_text(c, "SELECT TOP (20000) a.message_id AS id INTO Sales.dbo.t FROM sys.messages a "
                       "CROSS JOIN sys.messages b; SELECT COUNT(*) FROM Sales.dbo.t"),
        "20000");
    assert_string_equal(
        client_text(c,
                    "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID "
                    "AND wait_type = 'PREEMPTIVE_OS_WRITEFILE'"),
        "0");
    assert_string_equal(
        client_text(c,
                    "CREATE DATABASE S1 ON (NAME = Sales, FILENAME = '/tmp/s1.ss') AS SNAPSHOT OF "
                    "Sales; CREATE DATABASE S2 ON (NAME = Sales, FILENAME = '/tmp/s2.ss') AS "
                    "SNAPSHOT OF Sales; UPDATE Sales.dbo.t SET id = id + 1; SELECT CASE WHEN "
                    "size_on_disk_bytes > 1000000 THEN 1 ELSE 0 END FROM "
                    "sys.dm_io_virtual_file_stats(DB_ID('S1'), 1)"),
        "1");
    assert_string_equal(
        client_text(c,
                    "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID "
                    "AND wait_type IN ('PREEMPTIVE_OS_WRITEFILE', 'FCB_REPLICA_WRITE')"),
        "2");
    world_fault(&w, "{'do':'fill_volume','path':'/tmp/s1.ss'}");
    assert_string_equal(
        client_text(c, "UPDATE Sales.dbo.t SET id = 1; SELECT state_desc FROM sys.databases WHERE "
                       "name = 'S1'"),
        "SUSPECT");
    assert_string_equal(
        client_text(c, "DROP DATABASE S1; DROP DATABASE S2; SELECT COUNT(*) FROM sys.databases"),
        "7");
    world_stop(&w);
}

static void somebody_elses_backups_are_in_the_history(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales");
    world_fault(&w, "{'do':'vss_snapshot','database':'Sales'}");
    assert_true(sim_differential_base(w.sim, "Sales") > base);
    assert_string_equal(
        client_text(w.client, "SELECT f.device_type FROM msdb.dbo.backupset s JOIN "
                              "msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id "
                              "WHERE s.is_snapshot = 1"),
        "7");
    world_fault(&w, "{'do':'foreign_backup'}");
    world_fault(&w, "{'do':'foreign_backup','on':false}");
    assert_int_equal(sim_history_count(w.sim), 2);
    world_stop(&w);
}

static void headers_can_be_read_from_whole_backups(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK
                       "r.bak' WITH NAME = N'mine', COPY_ONLY");
    assert_string_equal(client_text(w.client, "RESTORE HEADERONLY FROM DISK = N'" BAK "r.bak'"),
                        "mine");
    client_run(w.client, "RESTORE FILELISTONLY FROM DISK = N'" BAK "r.bak'", &r);
    assert_int_equal(r.row_count, 2);
    assert_string_equal(r.rows[1][0], "Sales_log");
    client_reply_free(&r);
    world_refuses(&w, "RESTORE HEADERONLY FROM DISK = N'" BAK "nosuch.bak'", 3201);
    world_stop(&w);
}

static void a_client_that_goes_away_aborts_its_backup(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'faults':[{'do':'hold_at_percent','match':'BACKUP'}]}");
    char error[SIM_ERROR_SIZE];
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_compressed, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    assert_int_equal(sim_fault(w.sim, "{'do':'drop_all'}", error), 0);
    pthread_join(thread, NULL);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_BACKUPS, NULL, 0, 5000), 0);
    assert_int_equal(sim_history_count(w.sim), 0);
    assert_int_equal(world_file_count(&w), 1);
    world_stop(&w);
}

static void deletion_can_be_made_to_do_nothing(void **state)
{
    struct world w = world_start("{'time_scale':0,'faults':[{'do':'delete_nothing'}]}");
    struct client_reply r;
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "d.bak' WITH COPY_ONLY");
    client_run(w.client, "EXEC master.sys.xp_delete_files N'" BAK "d.bak'", &r);
    assert_false(r.failed);
    client_reply_free(&r);
    client_run(w.client, "EXEC master.dbo.xp_delete_file 0, N'" BAK "d.bak'", &r);
    assert_false(r.failed);
    client_reply_free(&r);
    assert_int_equal(world_file_count(&w), 1);
    sim_fault_clear(w.sim);
    client_run(w.client, "EXEC master.dbo.xp_delete_file 0, N'" BAK "d.bak'", &r);
    client_reply_free(&r);
    assert_int_equal(world_file_count(&w), 0);
    world_stop(&w);
}

static void views_can_be_hidden_and_rights_refused(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'faults':[{'do':'hide','match':'dm_os_file_exists'},"
                    "{'do':'refuse_right','match':'VIEW SERVER STATE'},"
                    "{'do':'refuse_right','match':'BACKUP DATABASE'}]}");
    (void)state;
    world_refuses(&w, "SELECT * FROM sys.dm_os_file_exists(N'/tmp')", 208);
    world_refuses(&w, "SELECT * FROM sys.dm_os_wait_stats", 297);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 262);
    sim_fault_clear(w.sim);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_files_are_allocated_first_and_shrink),
        cmocka_unit_test(a_full_volume_gives_3202_and_leaves_a_part),
        cmocka_unit_test(a_cancelled_backup_says_3204_and_moves_nothing),
        cmocka_unit_test(errors_and_drops_can_be_put_into_a_backup),
        cmocka_unit_test(another_connection_sees_the_running_backup),
        cmocka_unit_test(the_control_procedure_makes_faults_from_outside),
        cmocka_unit_test(snapshots_slow_changes_down_and_grow),
        cmocka_unit_test(somebody_elses_backups_are_in_the_history),
        cmocka_unit_test(headers_can_be_read_from_whole_backups),
        cmocka_unit_test(a_client_that_goes_away_aborts_its_backup),
        cmocka_unit_test(deletion_can_be_made_to_do_nothing),
        cmocka_unit_test(views_can_be_hidden_and_rights_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
