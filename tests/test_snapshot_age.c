/* No snapshot of ours gets older than 30 minutes and 60 seconds while its server can be reached,
 * whatever becomes of the trial, of the daemon and of the network. Time is passed by the tests
 * (server/clock.h). */
#include "server/clock.h"
#include "server/limits.h"
#include "tests/snapshot_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define LONGEST (LIMIT_SNAPSHOT_S * SECOND)
#define DESIGN ",'design':{'repetitions':1,'warmups':0,'order':'sequential'}"
#define BODY SNAPSHOTS(ON_ADVENTURE "," PLACES ",'snapshots':[0,2]", DESIGN)
#define DROP "DROP DATABASE [sweetspot"
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct scene {
    struct harness *house;
    char *id;
    int databases;   /* without ours */
    int64_t made_ms; /* by the steady clock */
};

static int64_t steady_ms(void)
{
    return clock_mono_ns() / 1000000;
}

/* A job that is held in its workload, under two snapshots. */
static void scene_make(struct scene *scene)
{
    clock_pass_ms(0);
    scene->house = house_of(NULL, LINUX_ALLOW);
    scene->databases = sim_database_count(scene->house->sim);
    inject(scene->house, "{'do':'hold_before','match':'SELECT TOP (" ROWS ") * INTO','nth':2}");
    scene->made_ms = steady_ms();
    scene->id = harness_submit(scene->house, BODY);
    assert_int_equal(sim_wait_for(scene->house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    assert_int_equal(sim_database_count(scene->house->sim), scene->databases + 2);
    sim_forget_statements(scene->house->sim);
}

static void scene_end(struct scene *scene)
{
    free(scene->id);
    harness_stop(scene->house);
    clock_reset();
}

/* They are dropped without any more time passing; how old they got. */
static int64_t wait_for_drops(struct scene *scene)
{
    assert_int_equal(sim_wait_for(scene->house->sim, SIM_EVENT_STATEMENTS, DROP, 2, 20000), 0);
    return steady_ms() - scene->made_ms;
}

static void a_trial_drops_them_after_half_an_hour(void **state)
{
    (void)state;
    struct scene scene;
    scene_make(&scene);
    clock_pass_ms(LONGEST - 5 * SECOND);
    cJSON *job = harness_wait_state(scene.house, scene.id, "running", NULL);
    assert_int_equal(sim_database_count(scene.house->sim), scene.databases + 2);
    assert_int_equal(sim_count_statements(scene.house->sim, "(attention)"), 0);
    clock_pass_ms(6 * SECOND);
    assert_true(wait_for_drops(&scene) <= LONGEST + 60 * SECOND);
    cJSON_Delete(harness_wait(scene.house, scene.id));
    expect_clean(scene.house, "AdventureWorks");
    cJSON_Delete(job);
    scene_end(&scene);
}

/* The daemon is killed, as the server sees it: the connection breaks, and nothing is undone. */
static void die(struct scene *scene)
{
    inject(scene->house, "{'do':'stop_listening'}");
    inject(scene->house, "{'do':'drop_all'}");
    harness_stop_daemon(scene->house);
    assert_int_equal(sim_database_count(scene->house->sim), scene->databases + 2);
    inject(scene->house, "{'do':'clear'}");
}

/* Closes every window of the instance for the next hours, so that the job may not go on. */
static void close_windows(struct scene *scene)
{
    struct tm from;
    struct tm to;
    time_t begin = (time_t)(clock_wall_ms() / 1000) - 7200;
    time_t end = begin + 3600;
    assert_non_null(gmtime_r(&begin, &from));
    assert_non_null(gmtime_r(&end, &to));
    char *body = mem_format(
        "{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
        "'password':{'env':'SWEETSPOT_SECRET_SIM'}," LINUX_ALLOW ",'windows':[{'days':['mon','tue',"
        "'wed','thu','fri','sat','sun'],'from':'%02d:%02d','to':'%02d:%02d','time_zone':'UTC'}]}",
        sim_port(scene->house->sim), from.tm_hour, from.tm_min, to.tm_hour, to.tm_min);
    cJSON_Delete(harness_call(scene->house, "PUT", "/v1/instances/sql01", body, 200));
    free(body);
}

/* Down for up to 30 minutes; then its job goes on, or waits for a window: they are dropped at the
 * start, before another minute has passed. */
static void a_daemon_that_was_killed_drops_them_at_its_start(void **state)
{
    (void)state;
    static const int down_minutes[] = {0, 1, 10, 29, 30};
    int64_t oldest_ms = 0;
    for (size_t i = 0; i < COUNT(down_minutes) * 2; i++) {
        struct scene scene;
        scene_make(&scene);
        if (i % 2 == 1)
            close_windows(&scene);
        die(&scene);
        clock_pass_ms(down_minutes[i / 2] * MINUTE);
        inject(scene.house, "{'do':'listen'}");
        harness_start_daemon(scene.house);
        int64_t age_ms = wait_for_drops(&scene);
        oldest_ms = age_ms > oldest_ms ? age_ms : oldest_ms;
        scene_end(&scene);
    }
    assert_true(oldest_ms <= LONGEST + 60 * SECOND);
    print_message("%zu kills, the oldest snapshot was %lld s old\n", COUNT(down_minutes) * 2,
                  (long long)(oldest_ms / 1000));
}

/* An instance that was away is looked at once a minute. */
static void what_an_outage_left_is_dropped_within_a_minute_of_its_end(void **state)
{
    (void)state;
    struct scene scene;
    scene_make(&scene);
    close_windows(&scene);
    die(&scene);
    harness_start_daemon(scene.house);
    for (int minutes = 0; minutes < 29; minutes++) {
        clock_pass_ms(MINUTE);
        cJSON *job = harness_wait_state(scene.house, scene.id, "waiting", NULL);
        cJSON_Delete(job);
    }
    assert_int_equal(sim_count_statements(scene.house->sim, DROP), 0);
    inject(scene.house, "{'do':'listen'}");
    clock_pass_ms(MINUTE);
    assert_true(wait_for_drops(&scene) <= LONGEST + 60 * SECOND);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_drops_them_after_half_an_hour),
        cmocka_unit_test(a_daemon_that_was_killed_drops_them_at_its_start),
        cmocka_unit_test(what_an_outage_left_is_dropped_within_a_minute_of_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
