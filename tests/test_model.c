/* Drawn sequences of calls and restarts against a model of what each must answer: 15 of them, or as
 * many as the argument says (`test_model 2000`, with a seed behind it if another is wanted). While
 * the sequences are drawn the service is paused, so that the model knows where each job stands. */
#include "server/mem.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEQUENCES 15
#define STEPS 14
#define JOBS_MAX 64
#define KEYS 3
#define A_HOUSE 50 /* sequences, then a new store: lists by label look at every job */

static long sequences = SEQUENCES;
static uint64_t seed = 20261201;
static uint64_t drawn;
static long calls;

enum stand { OPEN, CANCELLED, RUN }; /* RUN: to its end; one repetition decides nothing */

/* What there must be of one sequence: its instance, its jobs, its keys. */
struct model {
    struct harness *house;
    long number; /* of the sequence; names and labels hold it */
    bool has_instance;
    size_t count;
    struct {
        char *id;
        enum stand stand;
    } jobs[JOBS_MAX];
    size_t key_jobs[KEYS]; /* 1 + the place of the job that the key made; 0: not used yet */
};

static size_t draw(size_t below)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return (size_t)(drawn % below);
}

/* One call, which must be answered so; the body, NULL without one. */
static cJSON *ask(const struct model *model, const char *method, const char *target,
                  const char *headers, const char *body, int status)
{
    char *json = body ? harness_json(body) : NULL;
    struct reply reply = call(harness_port(model->house), method, target, headers, json);
    if (reply.status != status)
        fail_msg("sequence %ld (seed %llu): %s %s: %d instead of %d: %s", model->number,
                 (unsigned long long)seed, method, target, reply.status, status, reply.body);
    cJSON *tree = reply.body_length ? cJSON_Parse(reply.body) : NULL;
    reply_fini(&reply);
    free(json);
    calls++;
    return tree;
}

static cJSON *ask_of_job(const struct model *model, const char *method, size_t job,
                         const char *what, int status)
{
    char *target = mem_format("/v1/jobs/%s%s", model->jobs[job].id, what);
    cJSON *answer = ask(model, method, target, NULL, NULL, status);
    free(target);
    return answer;
}

static void set_mode(const struct model *model, const char *mode)
{
    char *body = mem_format("{'mode':'%s'}", mode);
    cJSON_Delete(ask(model, "POST", "/v1/mode", NULL, body, 200));
    free(body);
}

static void expect_stand(const struct model *model, size_t job, const cJSON *answer)
{
    static const char *const words[] = {"queued", "cancelled", "inconclusive"};
    const char *state = text_at(answer, "state");
    enum stand stand = model->jobs[job].stand;
    bool waits = stand == OPEN && strcmp(state, "waiting") == 0; /* it is paused */
    if (!waits && strcmp(state, words[stand]) != 0)
        fail_msg("sequence %ld: job %s is %s, not %s", model->number, model->jobs[job].id, state,
                 words[stand]);
}

static size_t add_job(struct model *model, cJSON *answer)
{
    size_t job = model->count++;
    model->jobs[job].id = mem_copy(text_at(answer, "id"));
    model->jobs[job].stand = OPEN;
    cJSON_Delete(answer);
    return job;
}

/* --- steps ---------------------------------------------------------------------------------- */

static void submit_body(struct model *model, const char *headers, const char *extra, size_t *key)
{
    char *body = mem_format("{'kind':'backup_sweep','instance':'m%ld',"
                            "'parameters':{'database':'Sales','buffercount':[50%s]},"
                            "'design':{'repetitions':1,'warmups':0,'max_repetitions':1},"
                            "'labels':{'sequence':'%ld'}}",
                            model->number, extra, model->number);
    bool known = key && *key > 0;
    int status = known ? (*extra ? 422 : 200) : model->has_instance ? 202 : 400;
    cJSON *answer = ask(model, "POST", "/v1/jobs", headers, body, status);
    if (known && !*extra)
        assert_string_equal(text_at(answer, "id"), model->jobs[*key - 1].id);
    if (status == 202 && key)
        *key = 1 + add_job(model, answer);
    else if (status == 202)
        (void)add_job(model, answer);
    else
        cJSON_Delete(answer);
    free(body);
}

static void submit(struct model *model)
{
    submit_body(model, NULL, "", NULL);
}

/* The same again, or (now and then, when it is known) another body under the same key. */
static void submit_with_key(struct model *model)
{
    size_t place = draw(KEYS);
    size_t *key = &model->key_jobs[place];
    char *header = mem_format("Idempotency-Key: m%ld-%zu\r\n", model->number, place);
    submit_body(model, header, *key > 0 && draw(3) == 0 ? ",100" : "", key);
    free(header);
}

static void look_at_job(struct model *model)
{
    if (model->count == 0)
        return;
    size_t job = draw(model->count);
    cJSON *answer = ask_of_job(model, "GET", job, "", 200);
    expect_stand(model, job, answer);
    cJSON_Delete(answer);
    cJSON_Delete(
        ask_of_job(model, "GET", job, "/report", model->jobs[job].stand == RUN ? 200 : 404));
}

static void list_jobs(struct model *model)
{
    char *target = mem_format("/v1/jobs?limit=500&label=sequence:%ld", model->number);
    cJSON *answer = ask(model, "GET", target, NULL, NULL, 200);
    assert_int_equal(cJSON_GetArraySize(at(answer, "items")), model->count);
    for (size_t i = 0; i < model->count; i++) { /* newest first */
        const cJSON *item = cJSON_GetArrayItem(at(answer, "items"), (int)(model->count - 1 - i));
        assert_string_equal(text_at(item, "id"), model->jobs[i].id);
        expect_stand(model, i, item);
    }
    cJSON_Delete(answer);
    free(target);
}

static void cancel(struct model *model)
{
    if (model->count == 0)
        return;
    size_t job = draw(model->count);
    bool open = model->jobs[job].stand == OPEN;
    cJSON_Delete(ask_of_job(model, "POST", job, "/cancel", open ? 202 : 409));
    if (open)
        model->jobs[job].stand = CANCELLED;
}

static void retry(struct model *model)
{
    if (model->count == 0)
        return;
    size_t job = draw(model->count);
    bool may = model->jobs[job].stand != OPEN && model->has_instance;
    cJSON *answer = ask_of_job(model, "POST", job, "/retry", may ? 202 : 409);
    if (may)
        assert_string_equal(text_at(answer, "retry_of"), model->jobs[job].id);
    if (may)
        (void)add_job(model, answer);
    else
        cJSON_Delete(answer);
}

static char *instance_target(const struct model *model)
{
    return mem_format("/v1/instances/m%ld", model->number);
}

static void put_instance(struct model *model)
{
    char *target = instance_target(model);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}}",
                            sim_port(model->house->sim));
    cJSON_Delete(ask(model, "PUT", target, NULL, body, model->has_instance ? 200 : 201));
    cJSON_Delete(ask(model, "GET", target, NULL, NULL, 200));
    model->has_instance = true;
    free(body);
    free(target);
}

static void delete_instance(struct model *model)
{
    size_t open = 0;
    for (size_t i = 0; i < model->count; i++)
        open += model->jobs[i].stand == OPEN;
    char *target = instance_target(model);
    int status = !model->has_instance ? 404 : open > 0 ? 409 : 204;
    cJSON_Delete(ask(model, "DELETE", target, NULL, NULL, status));
    model->has_instance = model->has_instance && open > 0;
    cJSON_Delete(ask(model, "GET", target, NULL, NULL, model->has_instance ? 200 : 404));
    free(target);
}

static void restart(struct model *model)
{
    harness_stop_daemon(model->house);
    harness_start_daemon(model->house);
}

static void run_all(struct model *model)
{
    set_mode(model, "active");
    for (size_t i = 0; i < model->count; i++) {
        if (model->jobs[i].stand != OPEN)
            continue;
        cJSON *job = harness_wait(model->house, model->jobs[i].id);
        model->jobs[i].stand = RUN;
        expect_stand(model, i, job);
        cJSON_Delete(job);
    }
    set_mode(model, "paused");
}

/* --- sequences ------------------------------------------------------------------------------ */

static const struct {
    void (*step)(struct model *model);
    size_t weight;
} steps[] = {
    {submit, 5}, {submit_with_key, 5}, {look_at_job, 4},     {list_jobs, 2}, {cancel, 4},
    {retry, 4},  {put_instance, 3},    {delete_instance, 3}, {restart, 1},   {run_all, 1},
};

static void take_step(struct model *model)
{
    size_t all = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        all += steps[i].weight;
    size_t at_weight = draw(all);
    size_t i = 0;
    for (; at_weight >= steps[i].weight; i++)
        at_weight -= steps[i].weight;
    steps[i].step(model);
}

static void run_sequence(struct harness *house, long number)
{
    struct model model = {.house = house, .number = number};
    put_instance(&model);
    for (int i = 0; i < STEPS; i++)
        take_step(&model);
    run_all(&model);
    list_jobs(&model);
    delete_instance(&model);
    for (size_t i = 0; i < model.count; i++)
        free(model.jobs[i].id);
}

static void every_answer_is_what_the_model_says(void **state)
{
    (void)state;
    drawn = seed * 0x9E3779B97F4A7C15U | 1;
    struct harness *house = NULL;
    for (long i = 0; i < sequences; i++) {
        if (i % A_HOUSE == 0) {
            harness_stop(house);
            house = harness_start(NULL);
            set_mode(&(struct model){.house = house}, "paused");
        }
        run_sequence(house, i);
    }
    harness_stop(house);
    print_message("seed %llu: %ld sequences, %ld calls: 0 answers other than the model's\n",
                  (unsigned long long)seed, sequences, calls);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_what_the_model_says),
    };
    if (argc > 1)
        sequences = strtol(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
