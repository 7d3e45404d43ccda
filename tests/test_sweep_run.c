/* backup_sweep from curl to report, against the simulator. */
#include "server/clock.h"
#include "server/daemon.h"
#include "server/mem.h"
#include "tests/harness.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SWEEP(parameters, rest)                                                                    \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales'," parameters       \
    "}" rest "}"

static cJSON *report_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return report;
}

static cJSON *trials_of(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/trials?limit=500", id);
    cJSON *trials = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return trials;
}

static void a_sweep_finds_the_sweet_spot(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    char *id =
        harness_submit(house, SWEEP("'buffercount':['default',7,25,50,75,100,150,200,300,600]",
                                    ",'design':{'seed':42}"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    assert_string_equal(text_at(job, "cleanup"), "none");
    assert_int_equal(number_at(job, "progress/trials_done"), 60);
    assert_int_equal(number_at(job, "progress/trials_planned"), 60);

    cJSON *report = report_of(house, id);
    double buffers = number_at(report, "recommendation/settings/buffercount");
    assert_true(buffers >= 75 && buffers <= 150);
    assert_true(cJSON_IsFalse(at(report, "recommendation/keep_default")));
    assert_non_null(strstr(text_at(report, "recommendation/tsql"), "BUFFERCOUNT"));
    assert_true(cJSON_IsTrue(at(report, "arms/0/baseline")));
    assert_true(cJSON_IsTrue(at(report, "instance/simulated")));
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    assert_true(cJSON_IsTrue(at(report, "chain/log_chain_unchanged")));
    assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 0);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void the_default_arm_sends_no_buffercount_and_every_backup_is_copy_only(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    char *id = harness_submit(
        house, SWEEP("'buffercount':[50]", ",'design':{'repetitions':2,'warmups':0}"));
    cJSON_Delete(harness_wait(house, id));
    size_t count = 0;
    int backups = 0;
    int without = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(texts[i], "BACKUP", 6) != 0)
            continue;
        backups++;
        without += strstr(texts[i], "BUFFERCOUNT") == NULL;
        assert_non_null(strstr(texts[i], "COPY_ONLY"));
        assert_non_null(strstr(texts[i], "NO_COMPRESSION"));
        assert_null(strstr(texts[i], "INIT"));
        assert_null(strstr(texts[i], "FORMAT"));
    }
    assert_int_equal(backups, 4);
    assert_int_equal(without, 2);
    sim_texts_free(texts, count);
    free(id);
    harness_stop(house);
}

static void files_are_fresh_for_each_trial_and_gone_afterwards(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup']},"
                            "'limits':{'min_free_disk_mib':1}");
    char *id = harness_submit(house, SWEEP("'buffercount':['default',50],'files':[1,3],'targets':"
                                           "[{'name':'disk','paths':['/var/opt/mssql/backup']}]",
                                           ",'design':{'repetitions':2,'warmups':1}"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    assert_string_equal(text_at(job, "cleanup"), "done");
    size_t left = 1;
    struct sim_left *files = sim_files(house->sim, &left);
    for (size_t i = 0; i < left; i++)
        assert_null(strstr(files[i].path, "sweetspot_"));
    sim_files_free(files, left);
    cJSON *trials = trials_of(house, id);
    assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 12);
    assert_true(number_at(trials, "items/0/file_bytes") > 0);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_cancel_stops_the_running_backup(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char error[SIM_ERROR_SIZE];
    harness_register(house, NULL);
    assert_int_equal(sim_fault(house->sim, "{'do':'hold_at_percent','percent':40}", error), 0);
    char *id = harness_submit(house, SWEEP("'buffercount':['default',50]", ""));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    cJSON_Delete(harness_call(house, "POST", target, NULL, 409));
    cJSON_Delete(job);
    free(target);
    free(id);
    harness_stop(house);
}

static void an_unreachable_instance_leaves_the_job_waiting(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sim_stop(house->sim);
    house->sim = NULL;
    char *id = harness_submit(house, SWEEP("'buffercount':['default',50]", ""));
    cJSON *job = harness_wait_state(house, id, "waiting", "unreachable");
    assert_true(cJSON_IsString(at(job, "retry_at")));
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void a_refused_login_fails_at_once_with_the_servers_number(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIM", "wrong", 1), 0);
    char *first = harness_submit(house, SWEEP("'buffercount':['default',50]", ""));
    cJSON *job = harness_wait(house, first);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_int_equal(number_at(job, "error/number"), 18456);
    cJSON_Delete(job);
    char *second = harness_submit(house, SWEEP("'buffercount':['default',50]", ""));
    cJSON_Delete(harness_wait_state(house, second, "waiting", "unreachable"));
    free(first);
    free(second);
    harness_stop(house);
}

static void a_running_job_goes_on_from_its_stored_trials(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char error[SIM_ERROR_SIZE];
    harness_register(house, NULL);
    assert_int_equal(sim_fault(house->sim, "{'do':'hold_at_percent','percent':40,'nth':4}", error),
                     0);
    char *id =
        harness_submit(house, SWEEP("'buffercount':['default',50]", ",'design':{'repetitions':3}"));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    harness_stop_daemon(house);
    sim_fault_clear(house->sim);
    harness_start_daemon(house);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON *trials = trials_of(house, id);
    int ok = 0;
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items"))
        ok += strcmp(text_at(trial, "status"), "ok") == 0;
    assert_int_equal(ok, 8);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static void the_state_folder_is_made_with_its_parents(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    struct config config = house->config;
    struct daemon *daemon = NULL;
    struct err err = {0};
    struct stat info;
    char *parent = mem_format("%s/a/b", house->dir);
    config.state_dir = mem_format("%s//c", parent);
    config.store = mem_format("sqlite:%s/c/db", parent);
    config.key_file = mem_format("%s/c/key", parent);
    harness_stop_daemon(house); /* one daemon a process */
    if (daemon_start(&config, &daemon, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(daemon_stop(daemon, NULL));
    assert_int_equal(stat(parent, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(config.state_dir, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    parent[strlen(house->dir) + strlen("/a")] = '\0';
    assert_int_equal(nftw(parent, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(config.state_dir);
    free(config.store);
    free(config.key_file);
    free(parent);
    harness_start_daemon(house);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_folder_is_made_with_its_parents),
        cmocka_unit_test(a_sweep_finds_the_sweet_spot),
        cmocka_unit_test(the_default_arm_sends_no_buffercount_and_every_backup_is_copy_only),
        cmocka_unit_test(files_are_fresh_for_each_trial_and_gone_afterwards),
        cmocka_unit_test(a_cancel_stops_the_running_backup),
        cmocka_unit_test(an_unreachable_instance_leaves_the_job_waiting),
        cmocka_unit_test(a_refused_login_fails_at_once_with_the_servers_number),
        cmocka_unit_test(a_running_job_goes_on_from_its_stored_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
