/* kill -9 between any two statements of every kind, and before, in and after every commit of its
 * journal: the daemon kills itself at the numbered point, is started again, and goes on.
 * In the short form some points of each kind, spread evenly; `drill_crash long`: all of them. */
#include "server/mem.h"
#include "tests/child_kit.h"
#include "tests/faults/crash_points.h"
#include "tests/faults/drill_kit.h"
#include "tests/harness.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Of each kind; 0: all. */
static const int points_of[] = {[DRILL_SMALL] = 3, [DRILL_SHORT] = 12, [DRILL_LONG] = 0};
#define DEATH_MS 30000

static int points_wanted; /* set by main */

struct place {
    struct child child;
    struct sim *sim;
    struct crash_points *points;
    int jobs;     /* submitted so far */
    char key[32]; /* of the last one */
};

static void map_points(struct place *place)
{
    char *path = mem_format("%s/points", place->child.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *place->points), 0);
    void *at = mmap(NULL, sizeof *place->points, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    place->points = at;
    assert_int_equal(setenv("SWEETSPOT_DRILL", path, 1), 0);
    (void)close(fd);
    free(path);
}

static void place_make(struct place *place)
{
    int status;
    *place = (struct place){.jobs = 0};
    child_make(&place->child, getenv("SWEETSPOT_TEST_DRILL"));
    map_points(place);
    place->sim = drill_sim_start(place->child.dir);
    child_start(&place->child);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'encryption':'request','password':{'env':'SWEETSPOT_SECRET_SIM'}," //
                            DRILL_ALLOW "}",
                            sim_port(place->sim));
    cJSON_Delete(child_ask(&place->child, "PUT", "/v1/instances/sql01", NULL, body, &status));
    assert_int_equal(status, 201);
    free(body);
}

static void place_end(struct place *place)
{
    assert_int_equal(child_end(&place->child, SIGTERM), 0);
    drill_sim_stop(place->sim);
    (void)munmap(place->points, sizeof *place->points);
    child_remove(&place->child);
}

/* NULL when the daemon was killed before it answered. */
static char *submit(struct place *place, const struct drill *drill, int64_t crash_at)
{
    (void)snprintf(place->key, sizeof place->key, "job-%d", place->jobs++);
    drill_set_flag(place->sim, drill);
    sim_forget_statements(place->sim);
    atomic_store(&place->points->count, 0);
    atomic_store(&place->points->crash_at, crash_at);
    return child_submit(&place->child, place->key, drill->body, NULL);
}

static cJSON *part_of(struct place *place, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    cJSON *tree = child_get(&place->child, target);
    free(target);
    return tree;
}

/* The job ends well, whole, with nothing left and nothing open. */
static void expect_end(struct place *place, const struct drill *drill, const char *id,
                       const char *context)
{
    int status;
    cJSON *job = child_wait_for_end(&place->child, id);
    cJSON *trials = part_of(place, id, "trials?limit=500");
    cJSON *report = part_of(place, id, "report");
    drill_expect_whole(drill, job, trials, report, context);
    drill_expect_clean(place->sim, drill, context);
    cJSON *open = child_ask(&place->child, "POST", "/v1/instances/sql01/reconcile", NULL,
                            "{'dry_run':true}", &status);
    if (cJSON_GetArraySize(at(open, "intents")) != 0)
        fail_msg("%s: %s", context, cJSON_PrintUnformatted(open));
    cJSON_Delete(open);
    cJSON_Delete(report);
    cJSON_Delete(trials);
    cJSON_Delete(job);
}

/* How many points an undisturbed job passes. */
static int64_t count_points(struct place *place, const struct drill *drill)
{
    char *id = submit(place, drill, 0);
    expect_end(place, drill, id, drill->name);
    free(id);
    return atomic_load(&place->points->count);
}

/* False when the job passed fewer points this time. */
static bool crash_at(struct place *place, const struct drill *drill, int64_t number)
{
    char context[300];
    char *id = submit(place, drill, number);
    bool died = child_has_died(&place->child, DEATH_MS);
    atomic_store(&place->points->crash_at, 0);
    if (died)
        child_start(&place->child);
    if (!id) /* as a caller does who got no answer */
        id = child_submit(&place->child, place->key, drill->body, NULL);
    assert_non_null(id);
    (void)snprintf(context, sizeof context, "%s, killed at point %d (%s)", drill->name, (int)number,
                   place->points->last);
    expect_end(place, drill, id, context);
    free(id);
    return died;
}

static int drill_kind(struct place *place, const struct drill *drill, int *out_kills)
{
    int64_t points = count_points(place, drill);
    int64_t step = points_wanted > 0 && points > points_wanted ? points / points_wanted : 1;
    int kills = 0;
    for (int64_t number = 1; number <= points; number += step)
        kills += crash_at(place, drill, number);
    print_message("%s: %d crash points, killed at %d of them\n", drill->name, (int)points, kills);
    *out_kills += kills;
    return (int)points;
}

/* None is lost, none is there twice. */
static void expect_all_jobs(struct place *place)
{
    int found = 0;
    const char *cursor = NULL;
    cJSON *list = NULL;
    do {
        char *target =
            mem_format("/v1/jobs?limit=500%s%s", cursor ? "&cursor=" : "", cursor ? cursor : "");
        cJSON *next = child_get(&place->child, target);
        free(target);
        cJSON_Delete(list);
        list = next;
        found += cJSON_GetArraySize(at(list, "items"));
        cursor = cJSON_GetStringValue(at(list, "next_cursor"));
    } while (cursor);
    cJSON_Delete(list);
    assert_int_equal(found, place->jobs);
}

static void a_crash_at_any_point_leaves_nothing_and_loses_nothing(void **state)
{
    (void)state;
    int points = 0;
    int kills = 0;
    int jobs = 0;
    for (size_t i = 0; i < drill_count; i++) {
        struct place place; /* anew, so that msdb's history does not grow without end */
        place_make(&place);
        points += drill_kind(&place, &drills[i], &kills);
        expect_all_jobs(&place);
        jobs += place.jobs;
        place_end(&place);
    }
    print_message(
        "%d crash points in %zu drills, %d kills, %d jobs: 0 flags, snapshots, tables and "
        "files left, 0 trials lost, 0 doubled, every flag as before\n",
        points, drill_count, kills, jobs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_at_any_point_leaves_nothing_and_loses_nothing),
    };
    points_wanted = points_of[drill_form(argc, argv)];
    if (!getenv("SWEETSPOT_TEST_DRILL"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
