/* The connection cut at every statement of every kind, before it and after it; every error of the
 * catalogue (domain.md 2.2) at every statement; a full disk; errors that pass.
 * In the short form a sample of them, the same in every run; `drill_wire long`: every cut, and each
 * error at each statement that says something else than those before it (names of jobs and numbers
 * apart), which takes most of an hour; `drill_wire long 200`: every cut, and 200 pairs of any
 * statement and error of each kind. A third argument (0 to 5) takes one kind only. */
#include "jobs/ending.h"
#include "jobs/inside.h"
#include "jobs/runner.h"
#include "server/mem.h"
#include "tests/faults/drill_kit.h"
#include "tests/harness.h"
#include "tests/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEED 7u

/* Of each kind: statements, each cut before and after; pairs of statement and error; 0: all. */
static const int cuts_of[] = {[DRILL_SMALL] = 1, [DRILL_SHORT] = 3, [DRILL_LONG] = 0};
static const int errors_of[] = {[DRILL_SMALL] = 4, [DRILL_SHORT] = 16, [DRILL_LONG] = 0};
static int cuts_a_kind; /* these are set by main */
static int errors_a_kind;
static int only_kind = -1; /* -1: all */

/* clang-format off */
/* Number and severity: domain.md 2.2. */
static const struct { int number, severity; } catalogue[] = {
    {3013, 16}, {3201, 16}, {3202, 16}, {3203, 16}, {3204, 16}, {3271, 16}, {3634, 16}, {3633, 16},
    {18204, 16}, {18210, 16}, {3063, 16}, {3021, 16}, {3023, 16}, {3002, 16}, {3003, 10}, {3007, 16},
    {3024, 16}, {3033, 16}, {3035, 16}, {3036, 16}, {3059, 16}, {3098, 16}, {3231, 16}, {3132, 16},
    {3101, 16}, {3205, 16}, {3250, 16}, {3253, 16}, {3272, 16}, {3291, 16}, {1205, 13}, {1222, 16},
    {701, 19}, {802, 17}, {8645, 17}, {9002, 17}, {911, 16}, {916, 14}, {942, 14}, {926, 14},
    {927, 14}, {945, 16}, {921, 14}, {922, 14}, {923, 14}, {924, 14}, {952, 16}, {954, 14},
    {976, 14}, {978, 14}, {979, 14}, {983, 14}, {262, 16}, {229, 14}, {297, 16}, {300, 14},
    {2571, 14}, {4060, 11}, {18456, 14}, {1844, 16}, {5127, 16}, {5128, 17}, {3147, 16}, {3702, 16},
    {3009, 16}, {15247, 16},
};
/* clang-format on */
#define ERRORS (sizeof catalogue / sizeof catalogue[0])

struct place {
    struct harness *house;
    int runs;
    int left; /* reported as left behind, since the server refused to undo it twice */
};

static void register_again(struct place *place)
{
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'encryption':'request','password':{'env':'SWEETSPOT_SECRET_SIM'}," //
                            DRILL_ALLOW "}",
                            sim_port(place->house->sim));
    char *json = harness_json(body);
    struct reply reply = call(harness_port(place->house), "PUT", "/v1/instances/sql01", NULL, json);
    assert_true(reply.status == 200 || reply.status == 201);
    reply_fini(&reply);
    free(json);
    free(body);
}

static void place_make(struct place *place)
{
    jobs_set_tick(5);
    *place = (struct place){.house = harness_start(NULL)};
    sim_stop(place->house->sim); /* the one of the drills has a table to copy */
    place->house->sim = drill_sim_start(NULL);
    ending_set_first_retry(1);
    runner_set_first_pause(1);
    register_again(place);
}

static void inject(struct place *place, const char *fault)
{
    char error[SIM_ERROR_SIZE];
    if (sim_fault(place->house->sim, fault, error) < 0)
        fail_msg("%s: %s", fault, error);
}

/* Runs one job with this fault (NULL: none); the job at its end. Its id goes to *out_id. */
static cJSON *run(struct place *place, const struct drill *drill, const char *fault, char **out_id)
{
    drill_set_flag(place->house->sim, drill);
    sim_forget_statements(place->house->sim);
    if (fault)
        inject(place, fault);
    *out_id = harness_submit(place->house, drill->body);
    cJSON *job = harness_wait(place->house, *out_id);
    sim_fault_clear(place->house->sim);
    place->runs++;
    return job;
}

static cJSON *part_of(struct place *place, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    cJSON *tree = harness_call(place->house, "GET", target, NULL, 200);
    free(target);
    return tree;
}

static void expect_nothing_open(struct place *place, const char *context)
{
    cJSON *open = harness_call(place->house, "POST", "/v1/instances/sql01/reconcile",
                               "{'dry_run':true}", 200);
    if (cJSON_GetArraySize(at(open, "intents")) != 0)
        fail_msg("%s: %s", context, cJSON_PrintUnformatted(open));
    cJSON_Delete(open);
}

/* How many statements an undisturbed job sends. */
static int count_statements(struct place *place, const struct drill *drill)
{
    char *id = NULL;
    cJSON_Delete(run(place, drill, NULL, &id));
    free(id);
    return sim_count_statements(place->house->sim, "");
}

/* --- cuts ----------------------------------------------------------------------------------- */

/* A lost connection says nothing against an arm: the job ends as if nothing had been. */
static void cut(struct place *place, const struct drill *drill, const char *verb, int nth)
{
    char fault[80];
    char context[160];
    char *id = NULL;
    (void)snprintf(fault, sizeof fault, "{'do':'%s','match':'','nth':%d}", verb, nth);
    (void)snprintf(context, sizeof context, "%s, %s", drill->name, fault);
    cJSON *job = run(place, drill, fault, &id);
    cJSON *trials = part_of(place, id, "trials?limit=500");
    cJSON *report = part_of(place, id, "report");
    drill_expect_whole(drill, job, trials, report, context);
    drill_expect_clean(place->house->sim, drill, context);
    expect_nothing_open(place, context);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
}

static void a_cut_connection_leaves_nothing_and_loses_nothing(void **state)
{
    (void)state;
    struct place place;
    int cuts = 0;
    for (size_t i = 0; i < drill_count; i++) {
        if (only_kind >= 0 && (int)i != only_kind)
            continue;
        place_make(&place); /* else msdb's history grows over all of them */
        int statements = count_statements(&place, &drills[i]);
        int step = cuts_a_kind > 0 && statements > cuts_a_kind ? statements / cuts_a_kind : 1;
        int before = cuts;
        for (int nth = 1; nth <= statements; nth += step) {
            cut(&place, &drills[i], "drop_before", nth);
            cut(&place, &drills[i], "drop_after", nth);
            cuts += 2;
        }
        print_message("%s: %d statements, %d cuts\n", drills[i].name, statements, cuts - before);
        harness_stop(place.house);
    }
    print_message(
        "%d cuts in %zu drills: 0 flags, snapshots, tables and files left, 0 trials lost, "
        "0 doubled\n",
        cuts, drill_count);
}

/* --- errors --------------------------------------------------------------------------------- */

/* Whatever it means: the job ends, nothing is left, and no good trial counts twice. */
static void refuse(struct place *place, const struct drill *drill, int nth, size_t error)
{
    char fault[160];
    char context[240];
    char *id = NULL;
    (void)snprintf(fault, sizeof fault,
                   "{'do':'error','match':'','nth':%d,'number':%d,'severity':%d,'text':'drill'}",
                   nth, catalogue[error].number, catalogue[error].severity);
    (void)snprintf(context, sizeof context, "%s, %s", drill->name, fault);
    cJSON *job = run(place, drill, fault, &id);
    if (strcmp(text_at(job, "cleanup"), "pending") == 0 ||
        strcmp(text_at(job, "cleanup"), "failed") == 0)
        fail_msg("%s: %s", context, cJSON_PrintUnformatted(job));
    drill_expect_clean(place->house->sim, drill, context);
    expect_nothing_open(place, context);
    cJSON_Delete(job);
    free(id);
    register_again(place); /* a refused login holds the instance */
}

/* Writes what a statement says: without the digits and ids in it. */
static void cut_numbers(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (!strchr("0123456789-", *at) && !(*at >= 'a' && *at <= 'f'))
            *to++ = *at;
    *to = '\0';
}

/* Which statements of an undisturbed job are to be refused, counted from 1: each that says
 * something new, or all. The caller frees the array. */
static int *choose_statements(struct place *place, const struct drill *drill, bool all, int *count)
{
    (void)count_statements(place, drill);
    size_t total = 0;
    char **texts = sim_statements(place->house->sim, &total);
    int *chosen = mem_alloc(total, sizeof *chosen);
    *count = 0;
    for (size_t i = 0; i < total; i++) {
        bool seen = false;
        cut_numbers(texts[i]);
        for (size_t j = 0; j < i && !all; j++)
            seen |= strcmp(texts[i], texts[j]) == 0;
        if (!seen)
            chosen[(*count)++] = (int)i + 1;
    }
    sim_texts_free(texts, total);
    return chosen;
}

static void no_error_of_the_catalogue_leaves_anything(void **state)
{
    (void)state;
    struct place place;
    unsigned seed = SEED;
    int errors = 0;
    for (size_t i = 0; i < drill_count; i++) {
        int statements;
        if (only_kind >= 0 && (int)i != only_kind)
            continue;
        place_make(&place);
        int *chosen = choose_statements(&place, &drills[i], errors_a_kind > 0, &statements);
        int pairs = statements * (int)ERRORS;
        int step = errors_a_kind > 0 && pairs > errors_a_kind ? pairs / errors_a_kind : 1;
        int before = errors;
        int first = (int)(drill_random(&seed) % (unsigned)step);
        for (int pair = first; pair < pairs; pair += step) {
            refuse(&place, &drills[i], chosen[pair / (int)ERRORS], (size_t)pair % ERRORS);
            errors++;
        }
        print_message("%s: %d statements x %zu errors, %d tried\n", drills[i].name, statements,
                      ERRORS, errors - before);
        free(chosen);
        harness_stop(place.house);
    }
    print_message("%d errors in %zu drills: 0 flags, snapshots, tables and files left\n", errors,
                  drill_count);
}

/* --- what passes, and what is full ----------------------------------------------------------- */

static int count_status(const cJSON *trials, const char *status)
{
    int count = 0;
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items"))
        count += strcmp(text_at(trial, "status"), status) == 0;
    return count;
}

/* Three times, then it does; and with no end to it a limited number of times. */
static void what_passes_is_tried_again_a_limited_number_of_times(void **state)
{
    (void)state;
    static const int numbers[] = {1205, 1222, 3023};
    static const struct drill four = {
        .name = "backup_sweep, 4 repeats",
        .body = "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales',"
                "'buffercount':[50],'targets':[{'name':'disk','paths':['/var/opt/mssql/backup']}]},"
                "'design':{'repetitions':1,'warmups':0,'seed':7,'max_repetitions':4}}",
    };
    struct place place;
    place_make(&place);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        for (int times = 3; times >= -1; times -= 4) {
            char *id = NULL;
            char *fault = mem_format("{'do':'error','match':'BACKUP DATABASE [Sales]','number':%d,"
                                     "'severity':13,'times':%d,'text':'drill'}",
                                     numbers[i], times);
            cJSON *job = run(&place, &four, fault, &id);
            cJSON *trials = part_of(&place, id, "trials?limit=500");
            bool ends = times > 0;
            assert_int_equal(strcmp(text_at(job, "state"), "failed") != 0, ends);
            assert_int_equal(count_status(trials, "contaminated"), ends ? 3 : 10); /* 2 x (4 + 1) */
            assert_int_equal(count_status(trials, "ok"), ends ? 2 : 0);
            drill_expect_clean(place.house->sim, &four, fault);
            cJSON_Delete(trials);
            cJSON_Delete(job);
            free(fault);
            free(id);
        }
    harness_stop(place.house);
}

static void a_disk_that_fills_up_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < drill_count; i++) {
        struct place place;
        if (drills[i].arms == 0)
            continue;
        place_make(&place);
        bool snapshots = strstr(drills[i].body, "snapshot_overhead") != NULL;
        drill_set_flag(place.house->sim, &drills[i]);
        inject(&place, snapshots ? "{'do':'hold_before','match':'SELECT TOP'}"
                                 : "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales] TO "
                                   "DISK','percent':10}");
        char *id = harness_submit(place.house, drills[i].body);
        assert_int_equal(sim_wait_for(place.house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        inject(&place, "{'do':'fill_volume','path':'/var/opt/mssql/backup','free_mib':0}");
        sim_release(place.house->sim);
        cJSON_Delete(harness_wait(place.house, id));
        drill_expect_clean(place.house->sim, &drills[i], drills[i].name);
        expect_nothing_open(&place, drills[i].name);
        free(id);
        harness_stop(place.house);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_connection_leaves_nothing_and_loses_nothing),
        cmocka_unit_test(no_error_of_the_catalogue_leaves_anything),
        cmocka_unit_test(what_passes_is_tried_again_a_limited_number_of_times),
        cmocka_unit_test(a_disk_that_fills_up_leaves_nothing),
    };
    enum drill_form form = drill_form(argc, argv);
    cuts_a_kind = cuts_of[form];
    errors_a_kind = argc > 2 ? (int)strtol(argv[2], NULL, 10) : errors_of[form];
    only_kind = argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
