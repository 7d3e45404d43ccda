/* A BACKUP whose cancel the server ignores: our side drops the connection after half a minute, and
 * the server goes on writing, for it has not noticed. Its file is touched when that is over, and
 * not before. Time is passed by the tests (server/clock.h). */
#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000)
#define MINUTE (60 * SECOND)
#define BACKUP "BACKUP DATABASE [Sales]"
#define LOOK "SELECT COUNT(*), COALESCE(HAS_PERMS_BY_NAME"
#define DELETION "EXECUTE master."
#define BODY SWEEP(",'buffercount':[50]" TO_DISK, SHORT ",'assume_free_mib':100000")
#define PATIENCE 400000

struct scene {
    struct harness *house;
    char *id;
};

static cJSON *job_of(struct scene *scene)
{
    char *target = mem_format("/v1/jobs/%s", scene->id);
    cJSON *job = harness_call(scene->house, "GET", target, NULL, 200);
    free(target);
    return job;
}

static bool is_cleaned(struct scene *scene, const char *cleanup)
{
    cJSON *job = job_of(scene);
    bool is = strcmp(text_at(job, "cleanup"), cleanup) == 0;
    cJSON_Delete(job);
    return is;
}

/* Of the one file of ours; 0: there is none. */
static int64_t file_bytes(struct sim *sim)
{
    size_t count = 0;
    int64_t bytes = 0;
    struct sim_left *files = sim_files(sim, &count);
    for (size_t i = 0; i < count; i++)
        bytes += files[i].size_bytes;
    sim_files_free(files, count);
    return bytes;
}

static void hold_at(struct sim *sim, int percent)
{
    char *fault = mem_format("{'do':'hold_at_percent','match':'" BACKUP "','percent':%d}", percent);
    sweep_fault(sim, fault);
    free(fault);
}

/* A job that was cancelled, whose BACKUP is held at 40 % and still will be at 60 %. */
static void give_up(struct scene *scene)
{
    clock_pass_ms(0);
    scene->house = harness_start(NULL);
    struct sim *sim = scene->house->sim;
    harness_register(scene->house, ALLOW);
    hold_at(sim, 40);
    hold_at(sim, 60);
    sweep_fault(sim, "{'do':'ignore_attention','match':'BACKUP','times':-1}");
    sweep_fault(sim, "{'do':'ignore_close','match':'BACKUP'}");
    scene->id = harness_submit(scene->house, BODY);
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s/cancel", scene->id);
    cJSON_Delete(harness_call(scene->house, "POST", target, NULL, 202));
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_ATTENTIONS, NULL, 1, 20000), 0);
    clock_pass_ms(31 * SECOND);
    cJSON *job = harness_wait(scene->house, scene->id);
    assert_string_equal(text_at(job, "state"), "cancelled");
    assert_string_equal(text_at(job, "cleanup"), "pending");
    cJSON_Delete(job);
    free(target);
    sim_forget_statements(sim);
}

static void scene_end(struct scene *scene)
{
    free(scene->id);
    harness_stop(scene->house);
    clock_reset();
}

/* Time passes, so much with each call, until the server was asked so often whether the old session
 * still works. */
static void pass_looks(struct scene *scene, int looks, int64_t step_ms)
{
    for (int i = 0; sim_count_statements(scene->house->sim, LOOK) < looks; i++) {
        assert_true(i < PATIENCE);
        clock_pass_ms(step_ms);
        cJSON_Delete(job_of(scene));
    }
}

static void pass_until(struct scene *scene, const char *cleanup)
{
    for (int i = 0; !is_cleaned(scene, cleanup); i++) {
        assert_true(i < PATIENCE);
        clock_pass_ms(10 * SECOND);
    }
}

static void untouched(struct scene *scene)
{
    struct sim *sim = scene->house->sim;
    assert_int_equal(sim_count_statements(sim, DELETION), 0);
    assert_int_equal(sim_count_statements(sim, "BACKUP"), 0);
    assert_int_equal(sweep_files_left(sim), 1);
    assert_false(is_cleaned(scene, "done")); /* after an hour it is told as failed, and tried on */
}

static void go_on_writing(struct scene *scene)
{
    struct sim *sim = scene->house->sim;
    int64_t before = file_bytes(sim);
    assert_true(before > 0);
    sim_release(sim);
    for (int i = 0; file_bytes(sim) <= before; i++) {
        assert_true(i < PATIENCE);
        cJSON_Delete(job_of(scene));
    }
}

/* --- a server that shows sessions ----------------------------------------------------------- */

static void a_file_is_deleted_when_the_old_session_is_gone_and_not_before(void **state)
{
    (void)state;
    struct scene scene;
    give_up(&scene);
    struct sim *sim = scene.house->sim;
    pass_looks(&scene, 20, 2 * SECOND);
    untouched(&scene);
    go_on_writing(&scene);
    sim_forget_statements(sim);
    pass_looks(&scene, 60, 2 * SECOND);
    untouched(&scene);
    char *next = harness_submit(scene.house, BODY); /* waits for what was left */
    cJSON_Delete(harness_wait_state(scene.house, next, "waiting", "cleanup_pending"));
    clock_pass_ms(MINUTE);
    cJSON_Delete(harness_wait_state(scene.house, next, "waiting", "cleanup_pending"));
    untouched(&scene);
    sim_release(sim); /* it notices, and rolls back */
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_BACKUPS, NULL, 0, 20000), 0);
    pass_until(&scene, "done");
    cJSON *job = harness_wait(scene.house, next);
    assert_string_equal(text_at(job, "cleanup"), "done");
    sweep_nothing_left(sim);
    cJSON_Delete(job);
    free(next);
    scene_end(&scene);
}

static void the_same_when_the_daemon_was_started_anew(void **state)
{
    (void)state;
    struct scene scene;
    give_up(&scene);
    harness_stop_daemon(scene.house);
    harness_start_daemon(scene.house);
    pass_looks(&scene, 20, 2 * SECOND);
    untouched(&scene);
    sim_release(scene.house->sim);
    sim_release(scene.house->sim);
    sim_fault_clear(scene.house->sim);
    assert_int_equal(sim_wait_for(scene.house->sim, SIM_EVENT_BACKUPS, NULL, 0, 20000), 0);
    pass_until(&scene, "done");
    sweep_nothing_left(scene.house->sim);
    scene_end(&scene);
}

/* --- one that does not ---------------------------------------------------------------------- */

static void without_the_right_to_see_sessions_nothing_is_touched_for_ten_minutes(void **state)
{
    (void)state;
    struct scene scene;
    give_up(&scene);
    struct sim *sim = scene.house->sim;
    int64_t since = clock_wall_ms();
    sweep_fault(sim, "{'do':'refuse_right','match':'VIEW SERVER PERFORMANCE STATE'}");
    sweep_fault(sim, "{'do':'refuse_right','match':'VIEW SERVER STATE'}");
    harness_stop_daemon(scene.house); /* it is stored */
    harness_start_daemon(scene.house);
    int looks = 0;
    while (clock_wall_ms() - since < LIMIT_GIVEN_UP_S * SECOND - MINUTE) {
        pass_looks(&scene, looks + 1, SECOND / 4);
        if (clock_wall_ms() - since < LIMIT_GIVEN_UP_S * SECOND - 5 * SECOND)
            untouched(&scene); /* else they are over: the daemon was slow, and not the clock */
        looks++;
    }
    assert_true(looks > 0);
    sim_fault_clear(sim);
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_BACKUPS, NULL, 0, 20000), 0);
    sweep_fault(sim, "{'do':'refuse_right','match':'VIEW SERVER PERFORMANCE STATE'}");
    sweep_fault(sim, "{'do':'refuse_right','match':'VIEW SERVER STATE'}");
    pass_until(&scene, "done");
    assert_true(clock_wall_ms() - since >= LIMIT_GIVEN_UP_S * SECOND - 2 * SECOND);
    sweep_nothing_left(sim);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_deleted_when_the_old_session_is_gone_and_not_before),
        cmocka_unit_test(the_same_when_the_daemon_was_started_anew),
        cmocka_unit_test(without_the_right_to_see_sessions_nothing_is_touched_for_ten_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
