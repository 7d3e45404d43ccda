/* The events of a real run: what they show, held against what the other calls say. */
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/sse_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SWEEP                                                                                      \
    "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"                  \
    "'buffercount':[50,100]},'design':{'repetitions':2,'seed':7},"                                 \
    "'labels':{'change':'CHG-1042'},'requested_by':'SQL Agent 0x1F step 2'}"

#define EVENTS_MAX 200

/* All events of an ended job. */
struct told {
    char what[EVENTS_MAX][16];
    cJSON *data[EVENTS_MAX];
    size_t count;
};

static void listen_to(struct harness *house, const char *id, struct told *told)
{
    char *target = mem_format("/v1/jobs/%s/events", id);
    struct sse sse = sse_open(harness_port(house), target, -1);
    struct sse_event event = {0};
    int64_t last = -1;
    while (sse_next_event(&sse, &event)) {
        assert_true(told->count < EVENTS_MAX);
        if (event.id < 0) /* how far a trial is: from memory, told once in a while */
            continue;
        assert_true(event.id > last);
        last = event.id;
        memcpy(told->what[told->count], event.what, sizeof event.what);
        told->data[told->count] = cJSON_Parse(event.data);
        assert_non_null(told->data[told->count++]);
    }
    sse_close(&sse);
    free(target);
}

static void told_fini(struct told *told)
{
    for (size_t i = 0; i < told->count; i++)
        cJSON_Delete(told->data[i]);
}

static bool is_what(const struct told *told, size_t at, const char *what)
{
    return strcmp(told->what[at], what) == 0;
}

static cJSON *get(struct harness *house, const char *id, const char *rest)
{
    char *target = mem_format("/v1/jobs/%s%s", id, rest);
    cJSON *answer = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return answer;
}

static void assert_states(const struct told *told)
{
    double done = 0;
    assert_string_equal(text_at(told->data[0], "state"), "queued");
    assert_true(cJSON_IsNull(at(told->data[0], "started_at")));
    for (size_t i = 0; i < told->count; i++) {
        const cJSON *job = told->data[i];
        bool is_last = i == told->count - 1;
        if (!is_what(told, i, "state") && !is_what(told, i, "progress"))
            continue;
        assert_int_equal(cJSON_IsNull(at(job, "finished_at")), !is_last);
        assert_int_equal(cJSON_IsNull(at(job, "summary")), !is_last);
        assert_true(number_at(job, "progress/trials_done") >= done);
        done = number_at(job, "progress/trials_done");
    }
}

static void assert_phases(const struct told *told)
{
    static const char *const phases[] = {"preparing", "measuring", "analysing"};
    size_t at_phase = 0;
    for (size_t i = 0; i < told->count; i++) {
        if (!is_what(told, i, "state") && !is_what(told, i, "progress"))
            continue;
        const cJSON *phase = at(told->data[i], "phase");
        if (cJSON_IsString(phase) && at_phase < 3 &&
            strcmp(phase->valuestring, phases[at_phase]) == 0)
            at_phase++;
    }
    assert_int_equal(at_phase, 3);
}

static void a_run_is_told_as_it_was(void **state)
{
    struct harness *house = harness_start(NULL);
    struct told *told = mem_alloc(1, sizeof *told);
    (void)state;
    harness_register(house, NULL);
    char *id = harness_submit(house, SWEEP);
    listen_to(house, id, told); /* ends with the job */
    assert_states(told);
    assert_phases(told);
    cJSON *trials = get(house, id, "/trials?limit=500");
    int seen = 0;
    for (size_t i = 0; i < told->count; i++) {
        if (!is_what(told, i, "trial"))
            continue;
        assert_string_equal(text_at(told->data[i], "job"), id);
        cJSON_DeleteItemFromObject(told->data[i], "job");
        const cJSON *stored = cJSON_GetArrayItem(at(trials, "items"), seen++);
        assert_true(cJSON_Compare(told->data[i], stored, true));
    }
    assert_int_equal(seen, cJSON_GetArraySize(at(trials, "items")));
    assert_int_equal(seen, 9);
    cJSON *report = get(house, id, "/report");
    assert_string_equal(told->what[told->count - 2], "report");
    assert_true(cJSON_Compare(told->data[told->count - 2], report, true));
    cJSON *job = get(house, id, "");
    assert_string_equal(told->what[told->count - 1], "state");
    assert_true(cJSON_Compare(told->data[told->count - 1], job, true));
    assert_string_equal(text_at(job, "labels/change"), "CHG-1042");
    assert_string_equal(text_at(job, "requested_by"), "SQL Agent 0x1F step 2");
    assert_string_equal(text_at(job, "definition/labels/change"), "CHG-1042");
    assert_true(cJSON_IsNull(at(job, "retry_of")) && cJSON_IsNull(at(job, "error")));
    assert_null(strchr(text_at(job, "summary"), '\n'));
    cJSON_Delete(trials);
    cJSON_Delete(report);
    cJSON_Delete(job);
    told_fini(told);
    free(told);
    free(id);
    harness_stop(house);
}

static void a_running_trial_is_told_while_it_runs(void **state)
{
    struct harness *house = harness_start(NULL);
    struct sse_event event = {0};
    char error[SIM_ERROR_SIZE];
    (void)state;
    harness_register(house, NULL);
    assert_int_equal(sim_fault(house->sim,
                               "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                               "'percent':40}",
                               error),
                     0);
    char *id = harness_submit(house, SWEEP);
    char *target = mem_format("/v1/jobs/%s/events", id);
    struct sse sse = sse_open(harness_port(house), target, -1);
    double told = 0;
    while (!(told > 0) && sse_next_event(&sse, &event)) {
        cJSON *job = cJSON_Parse(event.data);
        if (event.id < 0) {
            assert_string_equal(event.what, "progress");
            assert_string_equal(text_at(job, "state"), "running");
            told = number_at(job, "progress/current/percent");
        }
        cJSON_Delete(job);
    }
    assert_true(told > 0 && told <= 40);
    sim_release(house->sim);
    bool is_state = false;
    while (sse_next_event(&sse, &event))
        is_state = strcmp(event.what, "state") == 0;
    assert_true(is_state); /* the last one */
    sse_close(&sse);
    free(event.data);
    free(target);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_told_as_it_was),
        cmocka_unit_test(a_running_trial_is_told_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
