/* Every statement that a sweep sends fails in turn, once or for good, and loses its connection:
 * the job must end in a state that makes sense, and tell about everything it left. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAST "{'time_scale':0}"
#define OLD "{'time_scale':0,'version':'13.0.6300.2','platform':'Windows'}"
#define MOST 80        /* different statements */
#define PREFIX_MOST 90 /* bytes of a statement that tell it from the others */

struct prefixes {
    char *texts[MOST];
    size_t count;
};

/* What of a statement is the same in every job. */
static char *prefix_of(const char *statement)
{
    const char *own = strstr(statement, "sweetspot_");
    size_t length = own ? (size_t)(own - statement) : strlen(statement);
    const char *parameters = strstr(statement, " /*");
    if (parameters && (size_t)(parameters - statement) < length)
        length = (size_t)(parameters - statement);
    char *prefix = mem_copy(statement);
    prefix[length < PREFIX_MOST ? length : PREFIX_MOST] = '\0';
    return prefix;
}

static void add_prefix(struct prefixes *prefixes, const char *statement)
{
    char *prefix = prefix_of(statement);
    for (size_t i = 0; i < prefixes->count; i++)
        if (strcmp(prefixes->texts[i], prefix) == 0) {
            free(prefix);
            return;
        }
    assert_true(prefixes->count < MOST);
    prefixes->texts[prefixes->count++] = prefix;
}

/* One instance of many, swept side by side. */
struct place {
    struct sim *sim;
    char name[16];
    char *id;
};

static void place_start(struct harness *house, struct place *place, const char *scenario,
                        const char *fault)
{
    static int number;
    char error[SIM_ERROR_SIZE];
    bool windows = strstr(scenario, "Windows") != NULL;
    const char *folder = windows ? "D:\\\\Backup" : "/var/opt/mssql/backup";
    (void)snprintf(place->name, sizeof place->name, "sql%d", ++number);
    if (sim_start(scenario, &place->sim, error) < 0)
        fail_msg("%s", error);
    char *extra = mem_format("'allow':{'paths':['%s']},'limits':{'min_free_disk_mib':1}", folder);
    sweep_register(house, place->name, sim_port(place->sim), extra, 201);
    free(extra);
    if (fault)
        sweep_fault(place->sim, fault);
    char *body = mem_format("{'kind':'backup_sweep','instance':'%s','parameters':{'database':"
                            "'Sales','buffercount':[50],'targets':[{'name':'disk','paths':['%s']}]}"
                            ",'design':{'repetitions':2,'warmups':0,'max_repetitions':2}}",
                            place->name, folder);
    place->id = harness_submit(house, body);
    free(body);
}

static void place_stop(struct place *place)
{
    free(place->id);
    sim_stop(place->sim);
}

static void learn_statements(struct harness *house, const char *scenario, struct prefixes *out)
{
    struct place place;
    size_t count = 0;
    place_start(house, &place, scenario, NULL);
    cJSON *job = harness_wait(house, place.id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    char **statements = sim_statements(place.sim, &count);
    for (size_t i = 0; i < count; i++)
        add_prefix(out, statements[i]);
    sim_texts_free(statements, count);
    cJSON_Delete(job);
    place_stop(&place);
}

static char *fault_of(const char *verb, const char *prefix, int number, int times)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "do", verb);
    cJSON_AddStringToObject(tree, "match", prefix);
    cJSON_AddNumberToObject(tree, "number", number);
    cJSON_AddNumberToObject(tree, "times", times);
    char *text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    return text;
}

static int left_in_report(struct harness *house, const char *id)
{
    char *target = mem_format("/v1/jobs/%s/report", id);
    cJSON *report = harness_call(house, "GET", target, NULL, 200);
    int count = cJSON_GetArraySize(at(report, "left_behind"));
    cJSON_Delete(report);
    free(target);
    return count;
}

/* No step counts twice: two arms, two blocks. */
static void trials_make_sense(struct harness *house, const char *id, const char *state)
{
    cJSON *trials = sweep_trials_of(house, id);
    for (int arm = 0; arm < 2; arm++)
        for (int block = 1; block <= 2; block++) {
            int count = 0;
            const cJSON *trial;
            cJSON_ArrayForEach(trial, at(trials, "items"))
                count += text_at(trial, "arm")[1] == '0' + arm &&
                         (int)number_at(trial, "block") == block &&
                         strcmp(text_at(trial, "status"), "ok") == 0;
            assert_true(count <= 1);
            bool all = strcmp(state, "succeeded") == 0 && sweep_count(trials, NULL, "failed") == 0;
            if (all)
                assert_int_equal(count, 1);
        }
    cJSON_Delete(trials);
}

static void ends_sensibly(struct harness *house, const struct place *place, const char *what)
{
    cJSON *job = harness_wait(house, place->id);
    const char *state = text_at(job, "state");
    const char *cleanup = text_at(job, "cleanup");
    bool failed = strcmp(state, "failed") == 0;
    int left = sweep_files_left(place->sim);
    if (!failed && strcmp(state, "succeeded") != 0 && strcmp(state, "inconclusive") != 0)
        fail_msg("%s: %s", what, cJSON_PrintUnformatted(job));
    if (failed != cJSON_IsObject(at(job, "error")))
        fail_msg("%s: %s", what, cJSON_PrintUnformatted(job));
    if (left > 0 && strcmp(cleanup, "failed") != 0)
        fail_msg("%s: %d files left: %s", what, left, cJSON_PrintUnformatted(job));
    if (strcmp(cleanup, "failed") == 0)
        assert_true(left_in_report(house, place->id) >= left);
    trials_make_sense(house, place->id, state);

    cJSON_Delete(job);
}

/* What befalls each statement of a sweep against this scenario. */
struct walk {
    const char *scenario;
    const char *verb;
    int number;
    int times;
    struct prefixes prefixes;
    struct place places[MOST];
};

static void walk_start(struct harness *house, struct walk *walk)
{
    learn_statements(house, walk->scenario, &walk->prefixes);
    assert_true(walk->prefixes.count > 10);
    for (size_t i = 0; i < walk->prefixes.count; i++) {
        char *fault = fault_of(walk->verb, walk->prefixes.texts[i], walk->number, walk->times);
        place_start(house, &walk->places[i], walk->scenario, fault);
        free(fault);
    }
}

static void walk_end(struct harness *house, struct walk *walk)
{
    for (size_t i = 0; i < walk->prefixes.count; i++) {
        char *what = mem_format("%s %d x %d: %s", walk->verb, walk->number, walk->times,
                                walk->prefixes.texts[i]);
        ends_sensibly(house, &walk->places[i], what);
        free(what);
        place_stop(&walk->places[i]);
        free(walk->prefixes.texts[i]);
    }
}

/* All at once: those that wait for seconds wait together. */
static void walk_all(struct walk *walks, size_t count)
{
    struct harness *house = harness_start(FAST);
    for (size_t i = 0; i < count; i++)
        walk_start(house, &walks[i]);
    for (size_t i = 0; i < count; i++)
        walk_end(house, &walks[i]);
    harness_stop(house);
}

static void each_statement_may_be_denied(void **state)
{
    (void)state;
    struct walk walks[] = {
        {.scenario = FAST, .verb = "error", .number = 229, .times = 1},
        {.scenario = OLD, .verb = "error", .number = 229, .times = 1},
        {.scenario = FAST, .verb = "error", .number = 229, .times = -1},
        {.scenario = OLD, .verb = "error", .number = 229, .times = -1},
    };
    walk_all(walks, sizeof walks / sizeof walks[0]);
}

static void each_statement_may_name_what_is_not_there(void **state)
{
    (void)state;
    struct walk walks[] = {
        {.scenario = FAST, .verb = "error", .number = 208, .times = 1},
        {.scenario = OLD, .verb = "error", .number = 208, .times = -1},
    };
    walk_all(walks, sizeof walks / sizeof walks[0]);
}

static void each_statement_may_lose_a_deadlock_or_its_connection(void **state)
{
    (void)state;
    struct walk walks[] = {
        {.scenario = FAST, .verb = "error", .number = 1205, .times = 1},
        {.scenario = FAST, .verb = "drop_before", .times = 1},
        {.scenario = OLD, .verb = "drop_after", .times = 1},
    };
    walk_all(walks, sizeof walks / sizeof walks[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_statement_may_be_denied),
        cmocka_unit_test(each_statement_may_name_what_is_not_there),
        cmocka_unit_test(each_statement_may_lose_a_deadlock_or_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
