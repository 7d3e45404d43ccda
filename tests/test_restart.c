/* Nothing that was accepted is lost: the daemon as a process of its own, killed again and again. */
#include "server/mem.h"
#include "tests/child_kit.h"
#include "tests/http_client.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define KILLS 14
#define MAIN_BODY                                                                                  \
    SWEEP(",'buffercount':[50]" TO_DISK, ",'design':{'repetitions':8,'warmups':1,'seed':5}")
#define SIDE_BODY SWEEP(",'buffercount':[75]", SHORT)

static void register_at(const struct child *child, const struct sim *sim)
{
    int status;
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}," ALLOW "}",
                            sim_port(sim));
    cJSON_Delete(child_ask(child, "PUT", "/v1/instances/sql01", NULL, body, &status));
    assert_int_equal(status, 201);
    free(body);
}

/* Sends the submit and does not wait for what comes of it. */
static void submit_and_kill(struct child *child, const char *key, const char *body)
{
    char *json = harness_json(body);
    char *request = mem_format("POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                               "Content-Type: application/json\r\nIdempotency-Key: %s\r\n"
                               "Content-Length: %zu\r\n\r\n%s",
                               key, strlen(json), json);
    struct client client = client_open(child->port);
    client_send(&client, request);
    int status = child_end(child, SIGKILL);
    assert_true(WIFSIGNALED(status));
    client_close(&client);
    free(request);
    free(json);
}

/* Every planned (arm, block, warm-up) has exactly one trial that is ok. */
static void trials_are_whole(const struct child *child, const char *id, int arms, int blocks,
                             int warmups)
{
    char *target = mem_format("/v1/jobs/%s/trials?limit=500", id);
    cJSON *trials = child_get(child, target);
    for (int arm = 0; arm < arms; arm++)
        for (int block = warmups ? 0 : 1; block <= blocks; block++) {
            int count = 0;
            const cJSON *trial;
            cJSON_ArrayForEach(trial, at(trials, "items"))
                count += strcmp(text_at(trial, "status"), "ok") == 0 &&
                         text_at(trial, "arm")[1] == '0' + arm &&
                         (int)number_at(trial, "block") == block;
            if (count != (block == 0 ? warmups : 1))
                fail_msg("arm %d block %d counts %d times: %s", arm, block, count,
                         cJSON_PrintUnformatted(trials));
        }
    cJSON_Delete(trials);
    free(target);
}

static void report_is_whole(const struct child *child, const char *id, int n)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = child_get(child, target);
    assert_int_equal(number_at(report, "arms/0/n"), n);
    assert_int_equal(number_at(report, "arms/1/n"), n);
    assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 0);
    assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
    cJSON_Delete(report);
    free(target);
}

/* The same points in every run: a fault must be found again. */
static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static int statements_so_far(struct sim *sim)
{
    return sim_count_statements(sim, "");
}

static void a_killed_daemon_loses_and_doubles_nothing(void **state)
{
    (void)state;
    struct child child;
    struct sim *sim = NULL;
    char error[SIM_ERROR_SIZE];
    char key[24];
    unsigned seed = 42;
    int status;
    child_make(&child, NULL);
    assert_int_equal(sim_start("{'time_scale':0}", &sim, error), 0);
    child_start(&child);
    register_at(&child, sim);
    char *main_id = child_submit(&child, "main", MAIN_BODY, &status);
    assert_int_equal(status, 202);
    char *parked = child_submit(&child, "parked",
                                SWEEP(",'buffercount':[75]", SHORT ",'not_before':"
                                                                   "'2099-01-01T00:00:00Z'"),
                                &status);
    assert_int_equal(status, 202);
    char *sides[KILLS];
    for (int i = 0; i < KILLS; i++) {
        int point = statements_so_far(sim) + 3 + (int)(next_random(&seed) % 40);
        (void)snprintf(key, sizeof key, "side-%d", i);
        (void)sim_wait_for(sim, SIM_EVENT_STATEMENTS, "", point, 2000); /* all done: kill it idle */
        submit_and_kill(&child, key, SIDE_BODY);
        child_start(&child);
        sides[i] =
            child_submit(&child, key, SIDE_BODY, &status); /* as a caller does who got no answer */
        assert_true(status == 202 || status == 200);
    }
    cJSON *job = child_wait_for_end(&child, main_id);
    if (strcmp(text_at(job, "state"), "succeeded") != 0)
        fail_msg("%s", cJSON_PrintUnformatted(job));
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_int_equal(number_at(job, "progress/trials_done"), 18);
    assert_int_equal(number_at(job, "progress/trials_planned"), 18);
    cJSON_Delete(job);
    trials_are_whole(&child, main_id, 2, 8, 1);
    report_is_whole(&child, main_id, 8);
    for (int i = 0; i < KILLS; i++) {
        job = child_wait_for_end(&child, sides[i]);
        assert_string_not_equal(text_at(job, "state"), "failed");
        cJSON_Delete(job);
        trials_are_whole(&child, sides[i], 2, 1, 0);
        report_is_whole(&child, sides[i], 1);
        (void)snprintf(key, sizeof key, "side-%d", i);
        char *again = child_submit(&child, key, SIDE_BODY, &status);
        assert_int_equal(status, 200);
        assert_string_equal(again, sides[i]);
        free(again);
        free(sides[i]);
    }
    cJSON *list = child_get(&child, "/v1/jobs?limit=500");
    assert_int_equal(cJSON_GetArraySize(at(list, "items")), KILLS + 2);
    cJSON_Delete(list);
    char *target = mem_format("/v1/jobs/%s", parked);
    job = child_get(&child, target);
    assert_string_equal(text_at(job, "state"), "waiting");
    cJSON_Delete(job);
    sweep_nothing_left(sim);
    assert_int_equal(child_end(&child, SIGTERM), 0);
    free(target);
    free(parked);
    free(main_id);
    sim_stop(sim);
    child_remove(&child);
}

static void a_sigterm_undoes_the_running_trial_and_the_job_goes_on_later(void **state)
{
    (void)state;
    struct child child;
    struct sim *sim = NULL;
    char error[SIM_ERROR_SIZE];
    int status;
    child_make(&child, NULL);
    assert_int_equal(sim_start("{'time_scale':0}", &sim, error), 0);
    child_start(&child);
    register_at(&child, sim);
    sweep_fault(sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','nth':5}");
    char *id = child_submit(&child, "one", MAIN_BODY, &status);
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *next = child_submit(&child, "two", SIDE_BODY, &status); /* its instance gets free now */
    assert_int_equal(status, 202);
    assert_int_equal(sweep_files_left(sim), 1);
    status = child_end(&child, SIGTERM);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sweep_nothing_left(sim);
    assert_int_equal(sim_count_statements(sim, "BACKUP DATABASE [Sales]"), 5); /* none was begun */
    sim_fault_clear(sim);
    child_start(&child);
    cJSON *job = child_wait_for_end(&child, id);
    assert_string_equal(text_at(job, "state"), "succeeded");
    cJSON_Delete(job);
    trials_are_whole(&child, id, 2, 8, 1);
    report_is_whole(&child, id, 8);
    cJSON_Delete(child_wait_for_end(&child, next));
    trials_are_whole(&child, next, 2, 1, 0);
    sweep_nothing_left(sim);
    assert_int_equal(child_end(&child, SIGTERM), 0);
    free(next);
    free(id);
    sim_stop(sim);
    child_remove(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_daemon_loses_and_doubles_nothing),
        cmocka_unit_test(a_sigterm_undoes_the_running_trial_and_the_job_goes_on_later),
    };
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
