/* The threads of jobs/, from submit to end, with a SQL Server in the process or none at all. */
#include "jobs/event.h"
#include "jobs/pool.h"
#include "jobs/watch.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/fake_mssql.h"
#include "tests/jobs_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE_NS ((int64_t)30 * 1000000000)

/* --- waiting without sleeping -------------------------------------------------------------- */

/* Something that happens in another thread, and that the test waits for. */
struct happening {
    struct lock lock;
    struct wait wake;
    int count;
};

static void happening_init(struct happening *happening)
{
    lock_init(&happening->lock);
    wait_init(&happening->wake);
    happening->count = 0;
}

static void happening_fini(struct happening *happening)
{
    wait_fini(&happening->wake);
    lock_fini(&happening->lock);
}

static void happen(struct happening *happening)
{
    lock_take(&happening->lock);
    happening->count++;
    wait_wake_all(&happening->wake);
    lock_drop(&happening->lock);
}

/* False when it did not happen so often in time. */
static bool await(struct happening *happening, int count)
{
    int64_t until = clock_mono_ns() + PATIENCE_NS;
    lock_take(&happening->lock);
    while (happening->count < count && clock_mono_ns() < until)
        wait_until(&happening->wake, &happening->lock, until);
    bool happened = happening->count >= count;
    lock_drop(&happening->lock);
    return happened;
}

static void on_end(void *ctx, const char *id)
{
    (void)id;
    happen(ctx);
}

/* --- the place ------------------------------------------------------------------------------ */

struct scene {
    struct jobs_place *place;
    struct jobs *jobs;
    struct happening happening;
};

static int set_up(void **state)
{
    struct scene *scene = mem_alloc(1, sizeof *scene);
    void *place = NULL;
    fake_reset();
    (void)jobs_place_set_up(&place);
    scene->place = place;
    happening_init(&scene->happening);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    void *place = scene->place;
    jobs_stop(scene->jobs);
    (void)jobs_place_tear_down(&place);
    happening_fini(&scene->happening);
    free(scene);
    fake_reset();
    return 0;
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void start(struct scene *scene)
{
    struct err err = {0};
    kit_ok(jobs_start(&scene->place->parts, &scene->jobs, &err), &err);
}

static char *put_job(struct scene *scene, const char *instance, const char *parameters)
{
    const char *changes[] = {"/parameters", parameters, "/design",
                             "{'repetitions':2,'warmups':0,'seed':1}", NULL};
    struct job_row row = jobs_place_job(instance, changes);
    return jobs_place_put_job(scene->place, &row);
}

static void cancel(struct scene *scene, const char *id)
{
    struct cancellation cancellation = {.jobs = scene->jobs, .id = id};
    jobs_place_write(scene->place, jobs_cancel_work, &cancellation);
    job_row_fini(&cancellation.row);
    jobs_cancelled(scene->jobs, id);
}

#define ON_NUL "{'database':'Sales','buffercount':[50]}"
#define ON_DISK                                                                                    \
    "{'database':'Sales','buffercount':[50],'targets':[{'name':'d','paths':['/backup']}]}"

/* --- tests ---------------------------------------------------------------------------------- */

static void carries_jobs_of_several_instances_to_their_ends(void **state)
{
    struct scene *scene = *state;
    char *ids[6];
    struct jobs_watch *watches[6];
    static const char *const instances[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++)
        jobs_place_put_instance(scene->place, instances[i], NULL);
    start(scene);
    for (size_t i = 0; i < 6; i++) {
        ids[i] = put_job(scene, instances[i % 3], ON_DISK);
        watches[i] = jobs_watch_add(scene->jobs, ids[i], on_end, &scene->happening);
        jobs_wake(scene->jobs);
    }
    assert_true(await(&scene->happening, 6));
    for (size_t i = 0; i < 6; i++) {
        jobs_place_expect_state(scene->place, ids[i], "succeeded", NULL);
        jobs_watch_remove(scene->jobs, watches[i]);
        free(ids[i]);
    }
    assert_int_equal(fake_files(), 0);
    assert_int_equal(fake_backups(), 6 * 2 * 2); /* two settings, each twice */
}

static void takes_up_at_its_start_what_another_process_left_running(void **state)
{
    struct scene *scene = *state;
    jobs_place_put_instance(scene->place, "a", NULL);
    struct job_row row = jobs_place_job("a", NULL);
    mem_replace(&row.state, "running");
    char *id = jobs_place_put_job(scene->place, &row);
    start(scene);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    struct job_row now = jobs_place_get_job(scene->place, id);
    if (strcmp(now.state, "succeeded") != 0)
        assert_true(await(&scene->happening, 1));
    job_row_fini(&now);
    jobs_place_expect_state(scene->place, id, "succeeded", NULL);
    jobs_watch_remove(scene->jobs, watch);
    free(id);
}

/* Hangs in the first BACKUP until it is cancelled, and says so. */
static enum fake_outcome hang_and_tell(void *ctx, int n, const char *statement)
{
    (void)statement;
    happen(ctx);
    return n == 1 ? FAKE_HANG : FAKE_OK;
}

static void cancels_a_running_backup(void **state)
{
    struct scene *scene = *state;
    struct happening hanging;
    struct job_current current = {-5, -5};
    happening_init(&hanging);
    jobs_place_put_instance(scene->place, "a", NULL);
    jobs_place_put_webhook(scene->place, "all", "['*']", true);
    fake_set_on_backup(hang_and_tell, &hanging);
    start(scene);
    char *id = put_job(scene, "a", ON_DISK);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    assert_true(await(&hanging, 1));
    assert_true(jobs_current(scene->jobs, id, &current));
    assert_int_equal(current.arm, 0);
    assert_int_equal(jobs_busy(scene->jobs), 1);
    cancel(scene, id);
    assert_true(await(&scene->happening, 1));
    jobs_place_expect_state(scene->place, id, "cancelled", NULL);
    assert_int_equal(jobs_place_deliveries(scene->place, "all", EVENT_JOB_FINISHED), 1);
    assert_int_equal(fake_files(), 0);
    assert_false(jobs_current(scene->jobs, id, &current));
    jobs_watch_remove(scene->jobs, watch);
    happening_fini(&hanging);
    free(id);
}

/* Before the statement can be cancelled: says that it is there, then waits until a stop was asked
 * for, which so reaches nothing. */
struct early {
    struct happening there;
    struct happening stopped;
};

static enum fake_outcome wait_for_the_stop(void *ctx, int n, const char *statement)
{
    struct early *early = ctx;
    (void)n;
    (void)statement;
    happen(&early->there);
    (void)await(&early->stopped, 1); /* the test fails by itself when it does not come */
    return FAKE_HANG;
}

static void repeats_a_stop_that_came_too_early(void **state)
{
    struct scene *scene = *state;
    struct early early;
    happening_init(&early.there);
    happening_init(&early.stopped);
    jobs_place_put_instance(scene->place, "a", NULL);
    fake_set_on_backup(wait_for_the_stop, &early);
    start(scene);
    char *id = put_job(scene, "a", ON_NUL);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    assert_true(await(&early.there, 1));
    cancel(scene, id);
    assert_int_equal(fake_cancels(), 0);
    happen(&early.stopped);
    assert_true(await(&scene->happening, 1));
    jobs_place_expect_state(scene->place, id, "cancelled", NULL);
    jobs_watch_remove(scene->jobs, watch);
    happening_fini(&early.there);
    happening_fini(&early.stopped);
    free(id);
}

static void *drain(void *arg)
{
    jobs_drain(arg);
    return NULL;
}

static void repeats_a_stop_that_came_too_early_at_the_end_of_the_daemon(void **state)
{
    struct scene *scene = *state;
    struct early early;
    pthread_t thread;
    happening_init(&early.there);
    happening_init(&early.stopped);
    jobs_place_put_instance(scene->place, "a", NULL);
    fake_set_on_backup(wait_for_the_stop, &early);
    start(scene);
    char *id = put_job(scene, "a", ON_NUL);
    jobs_wake(scene->jobs);
    assert_true(await(&early.there, 1));
    assert_int_equal(pthread_create(&thread, NULL, drain, scene->jobs), 0);
    happen(&early.stopped);
    assert_int_equal(pthread_join(thread, NULL), 0);
    jobs_place_expect_state(scene->place, id, "queued", NULL);
    happening_fini(&early.there);
    happening_fini(&early.stopped);
    free(id);
}

static void returns_a_running_job_to_the_queue_when_the_daemon_ends(void **state)
{
    struct scene *scene = *state;
    struct happening hanging;
    happening_init(&hanging);
    jobs_place_put_instance(scene->place, "a", NULL);
    jobs_place_put_webhook(scene->place, "all", "['*']", true);
    fake_set_on_backup(hang_and_tell, &hanging);
    start(scene);
    char *id = put_job(scene, "a", ON_DISK);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    assert_true(await(&hanging, 1));
    jobs_drain(scene->jobs);
    jobs_place_expect_state(scene->place, id, "queued", NULL);
    assert_int_equal(fake_files(), 0);
    assert_int_equal(scene->happening.count, 0); /* it has not ended */
    assert_int_equal(jobs_place_deliveries(scene->place, "all", EVENT_JOB_FINISHED), 0);
    jobs_watch_remove(scene->jobs, watch);
    jobs_stop(scene->jobs);
    start(scene); /* and goes on after the next start */
    watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    struct job_row now = jobs_place_get_job(scene->place, id);
    if (strcmp(now.state, "succeeded") != 0)
        assert_true(await(&scene->happening, 1));
    job_row_fini(&now);
    jobs_place_expect_state(scene->place, id, "succeeded", NULL);
    jobs_watch_remove(scene->jobs, watch);
    happening_fini(&hanging);
    free(id);
}

static void lets_a_job_wait_whose_instance_is_not_reached(void **state)
{
    struct scene *scene = *state;
    jobs_place_put_instance(scene->place, "a", NULL);
    jobs_place_put_instance(scene->place, "b", NULL);
    jobs_place_put_webhook(scene->place, "all", "['instance.unreachable']", true);
    fake_refuse_logins(ERR_UNREACHABLE, 0);
    start(scene);
    int64_t before = clock_wall_ms();
    char *id = put_job(scene, "a", ON_NUL);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    int64_t until = clock_mono_ns() + PATIENCE_NS;
    while (jobs_place_deliveries(scene->place, "all", EVENT_INSTANCE_UNREACHABLE) == 0)
        assert_true(clock_mono_ns() < until);
    struct job_row row = jobs_place_get_job(scene->place, id);
    assert_string_equal(row.state, "waiting");
    assert_string_equal(row.state_reason, "unreachable");
    assert_in_range(row.retry_at, before + 5000, clock_wall_ms() + 5000);
    assert_int_equal(row.attempts, 1);
    job_row_fini(&row);
    jobs_drain(scene->jobs);
    assert_int_equal(scene->happening.count, 0); /* waiting is no end */
    jobs_watch_remove(scene->jobs, watch);
    free(id);
}

static void ends_a_job_that_cannot_be_read_with_its_events(void **state)
{
    struct scene *scene = *state;
    jobs_place_put_raw_instance(scene->place, "a", "{\"host\":5}");
    jobs_place_put_webhook(scene->place, "all", "['job.finished','job.failed']", true);
    jobs_place_put_webhook(scene->place, "star", "['*']", true);
    start(scene);
    char *id = put_job(scene, "a", ON_NUL);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    assert_true(await(&scene->happening, 1));
    jobs_place_expect_state(scene->place, id, "failed", NULL);
    assert_int_equal(jobs_place_deliveries(scene->place, "all", EVENT_JOB_FINISHED), 1);
    assert_int_equal(jobs_place_deliveries(scene->place, "all", EVENT_JOB_FAILED), 1);
    assert_int_equal(jobs_place_deliveries(scene->place, "star", EVENT_JOB_FINISHED), 0);
    assert_int_equal(jobs_place_deliveries(scene->place, "star", EVENT_JOB_FAILED), 1);
    jobs_watch_remove(scene->jobs, watch);
    free(id);
}

struct waker {
    struct jobs *jobs;
    atomic_bool enough;
};

static void *wake_all_the_time(void *arg)
{
    struct waker *waker = arg;
    while (!atomic_load(&waker->enough))
        jobs_wake(waker->jobs);
    return NULL;
}

static void keeps_deadlines_while_it_is_woken_all_the_time(void **state)
{
    struct scene *scene = *state;
    pthread_t thread;
    static const char *const windows[] = {
        "/windows", "[{'days':['mon'],'from':'01:00','to':'00:59','time_zone':'UTC'}]", NULL};
    jobs_place_put_instance(scene->place, "a", windows);
    start(scene);
    struct job_row row = jobs_place_job("a", NULL);
    mem_replace(&row.state, "waiting");
    mem_replace(&row.state_reason, "not_before");
    row.not_before = clock_wall_ms() + 3600000;
    row.deadline = clock_wall_ms() + 1;
    char *id = mem_copy(row.id);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    struct waker waker = {.jobs = scene->jobs};
    assert_int_equal(pthread_create(&thread, NULL, wake_all_the_time, &waker), 0);
    free(jobs_place_put_job(scene->place, &row));
    assert_true(await(&scene->happening, 1));
    atomic_store(&waker.enough, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    jobs_place_expect_state(scene->place, id, "timed_out", NULL);
    jobs_watch_remove(scene->jobs, watch);
    free(id);
}

static void ends_a_run_whose_deadline_passes(void **state)
{
    struct scene *scene = *state;
    struct happening hanging;
    happening_init(&hanging);
    jobs_place_put_instance(scene->place, "a", NULL);
    fake_set_on_backup(hang_and_tell, &hanging);
    start(scene);
    struct job_row row = jobs_place_job("a", NULL);
    row.deadline = clock_wall_ms() + 2000;
    char *id = jobs_place_put_job(scene->place, &row);
    struct jobs_watch *watch = jobs_watch_add(scene->jobs, id, on_end, &scene->happening);
    jobs_wake(scene->jobs);
    assert_true(await(&scene->happening, 1));
    jobs_place_expect_state(scene->place, id, "timed_out", NULL);
    jobs_watch_remove(scene->jobs, watch);
    happening_fini(&hanging);
    free(id);
}

static void tells_each_watcher_once_and_none_that_was_removed(void **state)
{
    (void)state;
    struct watchers *watchers = watchers_new();
    struct happening kept;
    struct happening removed;
    struct happening other;
    happening_init(&kept);
    happening_init(&removed);
    happening_init(&other);
    struct jobs_watch *first = watchers_add(watchers, "job-1", on_end, &kept);
    struct jobs_watch *second = watchers_add(watchers, "job-1", on_end, &removed);
    struct jobs_watch *third = watchers_add(watchers, "job-2", on_end, &other);
    struct jobs_watch *fourth = watchers_add(watchers, "job-1", on_end, &kept);
    watchers_remove(watchers, second);
    watchers_remove(watchers, NULL);
    watchers_tell(watchers, "job-1");
    watchers_tell(watchers, "job-1");
    assert_int_equal(kept.count, 2);
    assert_int_equal(removed.count, 0);
    assert_int_equal(other.count, 0);
    watchers_remove(watchers, first);
    watchers_remove(watchers, third);
    watchers_remove(watchers, fourth);
    watchers_free(watchers);
    watchers_free(NULL);
    happening_fini(&kept);
    happening_fini(&removed);
    happening_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POOL_TEST(carries_jobs_of_several_instances_to_their_ends),
        POOL_TEST(takes_up_at_its_start_what_another_process_left_running),
        POOL_TEST(cancels_a_running_backup),
        POOL_TEST(repeats_a_stop_that_came_too_early),
        POOL_TEST(repeats_a_stop_that_came_too_early_at_the_end_of_the_daemon),
        POOL_TEST(returns_a_running_job_to_the_queue_when_the_daemon_ends),
        POOL_TEST(lets_a_job_wait_whose_instance_is_not_reached),
        POOL_TEST(ends_a_job_that_cannot_be_read_with_its_events),
        POOL_TEST(keeps_deadlines_while_it_is_woken_all_the_time),
        POOL_TEST(ends_a_run_whose_deadline_passes),
        cmocka_unit_test(tells_each_watcher_once_and_none_that_was_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
