/* kill -9 from outside, at random moments, while jobs of every kind run one after the other: the
 * daemon as it is shipped. 60 kills; `drill_kill long`: 500; `drill_kill N`: N. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/child_kit.h"
#include "tests/faults/drill_kit.h"
#include "tests/harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define KILLS_A_JOB 2
#define STATEMENTS_MOST 60 /* between two kills */
#define MOMENT_US 3000     /* and how much later, at most */
#define SEED 42u

static const int kills_of[] = {[DRILL_SMALL] = 8, [DRILL_SHORT] = 60, [DRILL_LONG] = 500};
static int kills; /* set by main */

struct place {
    struct child child;
    struct sim *sim;
    unsigned seed;
    char **ids; /* of all jobs */
    const struct drill **drills;
    int jobs;
};

static void register_at(struct place *place)
{
    int status;
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'encryption':'request','password':{'env':'SWEETSPOT_SECRET_SIM'}," //
                            DRILL_ALLOW "}",
                            sim_port(place->sim));
    cJSON_Delete(child_ask(&place->child, "PUT", "/v1/instances/sql01", NULL, body, &status));
    assert_int_equal(status, 201);
    free(body);
}

/* A job of the next kind whose flag begins off: they all share one server. */
static void submit_next(struct place *place)
{
    static size_t at = 0;
    char key[32];
    do
        at = (at + 1) % drill_count;
    while (drills[at].flag_was_on);
    (void)snprintf(key, sizeof key, "job-%d", place->jobs);
    place->drills[place->jobs] = &drills[at];
    place->ids[place->jobs++] = child_submit(&place->child, key, drills[at].body, NULL);
}

/* Between two instructions, not only where a statement arrives. */
static void pass_a_moment(struct place *place)
{
    int64_t until = clock_mono_ns() + (int64_t)(drill_random(&place->seed) % MOMENT_US) * 1000;
    while (clock_mono_ns() < until)
        continue;
}

static void kill_at_random(struct place *place)
{
    int so_far = sim_count_statements(place->sim, "");
    int point = so_far + 1 + (int)(drill_random(&place->seed) % STATEMENTS_MOST);
    (void)sim_wait_for(place->sim, SIM_EVENT_STATEMENTS, "", point, 1000); /* idle: kill it so */
    pass_a_moment(place);
    int status = child_end(&place->child, SIGKILL);
    assert_true(WIFSIGNALED(status));
    sim_forget_statements(place->sim);
    child_start(&place->child);
}

static cJSON *part_of(struct place *place, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    cJSON *tree = child_get(&place->child, target);
    free(target);
    return tree;
}

static void expect_end(struct place *place, int number)
{
    char context[64];
    const char *id = place->ids[number];
    cJSON *job = child_wait_for_end(&place->child, id);
    cJSON *trials = part_of(place, id, "trials?limit=500");
    cJSON *report = part_of(place, id, "report");
    (void)snprintf(context, sizeof context, "job %d (%.40s)", number, place->drills[number]->name);
    drill_expect_whole(place->drills[number], job, trials, report, context);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(place->ids[number]);
}

static void random_kills_leave_nothing_and_lose_nothing(void **state)
{
    (void)state;
    struct place place = {.seed = SEED,
                          .ids = mem_alloc((size_t)kills + 1, sizeof(char *)),
                          .drills = mem_alloc((size_t)kills + 1, sizeof(struct drill *))};
    child_make(&place.child, NULL);
    place.sim = drill_sim_start(place.child.dir);
    child_start(&place.child);
    register_at(&place);
    for (int i = 0; i < kills; i++) {
        if (i % KILLS_A_JOB == 0)
            submit_next(&place);
        kill_at_random(&place);
    }
    for (int i = 0; i < place.jobs; i++)
        expect_end(&place, i);
    drill_expect_clean(place.sim, &drills[0], "after all");
    int status;
    cJSON *open = child_ask(&place.child, "POST", "/v1/instances/sql01/reconcile", NULL,
                            "{'dry_run':true}", &status);
    assert_int_equal(cJSON_GetArraySize(at(open, "intents")), 0);
    cJSON_Delete(open);
    print_message("seed %u: %d random kills, %d jobs: 0 flags, snapshots, tables and files left, "
                  "0 trials lost, 0 doubled\n",
                  SEED, kills, place.jobs);
    assert_int_equal(child_end(&place.child, SIGTERM), 0);
    drill_sim_stop(place.sim);
    child_remove(&place.child);
    free(place.drills);
    free(place.ids);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_kills_leave_nothing_and_lose_nothing),
    };
    enum drill_form form = drill_form(argc, argv);
    kills = kills_of[form];
    if (argc > 1 && form != DRILL_LONG)
        kills = (int)strtol(argv[1], NULL, 10);
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
