/* What the guards do in whole runs: volumes that fill while a backup runs, the server's memory,
 * other people's work. Time is passed by the tests (server/clock.h). */
#include "server/clock.h"
#include "server/json.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILLS (getenv("SWEETSPOT_TEST_LONG") ? 100 : 25)
#define TWO ",'design':{'repetitions':2,'warmups':0,'order':'sequential'}"
#define HOLD "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','percent':40}"
#define MARGIN "'allow':{'paths':['/var/opt/mssql/backup']},'limits':{'min_free_disk_mib':1024}"

/* --- room ----------------------------------------------------------------------------------- */

static void fill_once(struct harness *house)
{
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':20480}");
    sweep_fault(house->sim, HOLD);
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, TWO));
    harness_wait_held(house);
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':700}");
    clock_pass_ms(1000);
    cJSON *job = harness_wait(house, id);
    cJSON *trials = sweep_trials_of(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(trials, "items/0/status"), "failed");
    assert_non_null(strstr(text_at(trials, "items/0/error/message"), "fell to 700 MiB free"));
    assert_non_null(strstr(text_at(trials, "items/0/error/message"), "keeps 1024 MiB"));
    assert_int_equal(sweep_files_left(house->sim), 0);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void a_volume_that_fills_cancels_the_backup_while_there_is_room(void **state)
{
    struct harness *house = *state;
    harness_register(house, MARGIN);
    for (int i = 0; i < FILLS; i++)
        fill_once(house);
    assert_true(sim_count_statements(house->sim, "(attention)") >= FILLS);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP DATABASE [Sales]"), FILLS);
    print_message("%d of %d backups cancelled above 0 free\n", FILLS, FILLS);
}

static void only_backups_to_disk_are_looked_at(void **state)
{
    struct harness *house = *state;
    harness_register(house, ALLOW);
    sweep_fault(house->sim, HOLD);
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
    harness_wait_held(house);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_SESSIONS, NULL, 1, 20000), 0);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    free(id);
    sweep_fault(house->sim, HOLD);
    id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
    harness_wait_held(house);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_SESSIONS, NULL, 2, 20000), 0);
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_SESSIONS, NULL, 0, 20000), 0);
    free(id);
}

static void a_cancel_meets_a_backup_that_is_watched(void **state)
{
    struct harness *house = *state;
    harness_register(house, MARGIN);
    sweep_fault(house->sim, HOLD);
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
    harness_wait_held(house);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    free(target);
    free(id);
}

/* --- memory --------------------------------------------------------------------------------- */

static void buffers_get_a_quarter_of_the_free_memory(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'free_memory_mib':400}");
    harness_register(house, NULL);
    cJSON_Delete(sweep_run_to(house, SWEEP(",'buffercount':[100]", SHORT), "inconclusive", NULL));
    sim_forget_statements(house->sim);
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[101]", SHORT), "failed", NULL);
    assert_true(sweep_error_says(job, "101 buffers of 1048576 bytes in 1 set(s) are 101 MiB; 25 % "
                                      "of the server's 400 MiB of available memory are 100 MiB"));
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    harness_stop(house);
}

static void memory_that_cannot_be_seen_is_said(void **state)
{
    struct harness *house = *state;
    char *id = NULL;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'hide','match':'dm_os_sys_memory'}");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &id));
    cJSON *report = sweep_report_of(house, id);
    char *text = cJSON_PrintUnformatted(at(report, "warnings"));
    assert_non_null(strstr(text, "how much memory the server has free cannot be seen"));
    free(text);
    cJSON_Delete(report);
    free(id);
}

/* --- others --------------------------------------------------------------------------------- */

static void other_people_s_work_is_waited_for(void **state)
{
    static const char *const kinds[] = {"backup", "backup_log", "checkdb", "shrink"};
    struct harness *house = *state;
    harness_register(house, NULL);
    for (size_t i = 0; i < JSON_COUNT(kinds); i++) {
        char *on = mem_format("{'do':'foreign_request','kind':'%s'}", kinds[i]);
        char *off = mem_format("{'do':'foreign_request','kind':'%s','on':false}", kinds[i]);
        sim_forget_statements(house->sim);
        sweep_fault(house->sim, on);
        char *id = harness_submit(house, SWEEP(",'buffercount':[50]", SHORT));
        cJSON_Delete(harness_wait_state(house, id, "running", NULL));
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "SELECT TOP (1) command", 2,
                                      20000), /* the preflight's, and one that waits */
                         0);
        clock_pass_ms(30000);
        assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
        sweep_fault(house->sim, off);
        clock_pass_ms(1000);
        cJSON_Delete(harness_wait(house, id));
        cJSON *trials = sweep_trials_of(house, id);
        assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
        assert_int_equal(sweep_count(trials, NULL, "contaminated"), 0);
        cJSON_Delete(trials);
        free(id);
        free(off);
        free(on);
    }
}

/* --- what a look that failed once means ------------------------------------------------------- */

static void a_deadlock_in_a_look_is_not_taken_for_a_missing_view(void **state)
{
    struct harness *house = *state;
    char *id = NULL;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'error','match':'SELECT process_kernel_time_ms','number':1205,"
                            "'severity':13,'state':45}");
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", TWO), &id));
    cJSON *trials = sweep_trials_of(house, id);
    assert_true(cJSON_IsNull(at(trials, "items/0/cpu_s")));
    assert_true(cJSON_IsNumber(at(trials, "items/1/cpu_s")));
    cJSON_Delete(trials);
    free(id);
    sweep_fault(house->sim, "{'do':'hide','match':'dm_os_sys_info'}");
    sim_forget_statements(house->sim);
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", TWO), NULL));
    assert_int_equal(sim_count_statements(house->sim, "SELECT process_kernel_time_ms"), 1);
}

#define GUARDED(name)                                                                              \
    cmocka_unit_test_setup_teardown(name, harness_set_up_timed, harness_tear_down_timed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARDED(a_volume_that_fills_cancels_the_backup_while_there_is_room),
        GUARDED(only_backups_to_disk_are_looked_at),
        GUARDED(a_cancel_meets_a_backup_that_is_watched),
        cmocka_unit_test(buffers_get_a_quarter_of_the_free_memory),
        GUARDED(memory_that_cannot_be_seen_is_said),
        GUARDED(other_people_s_work_is_waited_for),
        GUARDED(a_deadlock_in_a_look_is_not_taken_for_a_missing_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
