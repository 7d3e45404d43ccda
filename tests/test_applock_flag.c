/* A trace flag between two services on one server: one is killed while the flag is on, the other
 * finds it on, takes that for what was there before and puts it back so. The first one puts it off
 * after that, and never while the other one measures. */
#include "jobs/applock.h"
#include "jobs/ending.h"
#include "jobs/inside.h"
#include "server/mem.h"
#include "tests/child_kit.h"
#include "tests/flag_kit.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BACKUP "BACKUP DATABASE [Sales]"
#define RECONCILE "/v1/instances/sql01/reconcile"
#define CLEANING "it is being cleaned up just now"
#define BUSY "another Sweetspot measures there now; the flag is put back after it"

/* house: the service that goes on; child: the one that is killed. */
struct scene {
    struct harness *house;
    struct child child;
    char *theirs;
    char *ours;
};

/* Killed in its second trial, with the flag on, while ours waits for the lock; ours is held in its
 * first one then. */
static void scene_start(struct scene *scene)
{
    int status;
    applock_set_pause(10);
    ending_set_first_retry(10);
    jobs_set_tick(5);
    scene->house = harness_start(NULL);
    harness_register(scene->house, FLAG_ALLOW);
    child_make(&scene->child, NULL);
    child_start(&scene->child);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}," FLAG_ALLOW "}",
                            sim_port(scene->house->sim));
    cJSON_Delete(child_ask(&scene->child, "PUT", "/v1/instances/sql01", NULL, body, &status));
    assert_int_equal(status, 201);
    free(body);
    flag_fault(scene->house, "{'do':'hold_at_percent','match':'" BACKUP "','nth':2}");
    scene->theirs = child_submit(&scene->child, "k", FLAG_JOB_PAIR, NULL);
    assert_int_equal(sim_wait_for(scene->house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    scene->ours = harness_submit(scene->house, FLAG_JOB_PAIR);
    cJSON_Delete(harness_wait_state(scene->house, scene->ours, "waiting", "instance_busy"));
    assert_true(flag_is_on(scene->house, 3042));
    flag_fault(scene->house, "{'do':'hold_at_percent','match':'" BACKUP "'}");
    (void)child_end(&scene->child, SIGKILL);
    assert_int_equal(sim_wait_for(scene->house->sim, SIM_EVENT_STATEMENTS, BACKUP, 3, 20000), 0);
    assert_int_equal(sim_wait_for(scene->house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
}

/* It took "on" for what was there before, which its report says may be wrong. */
static void ours_ends(struct scene *scene)
{
    sim_release(scene->house->sim);
    cJSON *job = harness_wait(scene->house, scene->ours);
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_true(cJSON_IsNull(at(job, "error")));
    cJSON_Delete(job);
    cJSON *report = sweep_report_of(scene->house, scene->ours);
    char *warnings = cJSON_PrintUnformatted(at(report, "warnings"));
    assert_non_null(strstr(warnings, "Trace flag 3042 was on when this began, shortly after "
                                     "another Sweetspot measured here"));
    free(warnings);
    cJSON_Delete(report);
    assert_true(flag_is_on(scene->house, 3042));
}

static void theirs_ends(struct scene *scene)
{
    cJSON *job = child_wait_for_end(&scene->child, scene->theirs);
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    assert_false(flag_is_on(scene->house, 3042));
    flag_expect_tidy(scene->house);
    (void)child_end(&scene->child, SIGTERM);
    child_remove(&scene->child);
    harness_stop(scene->house);
    free(scene->theirs);
    free(scene->ours);
}

/* Asked again while its own clean-up is at it, which lets nobody else. */
static cJSON *reconcile(struct scene *scene)
{
    for (int i = 0; i < 5000; i++) {
        int status;
        cJSON *answer = child_ask(&scene->child, "POST", RECONCILE, NULL, "{}", &status);
        assert_int_equal(status, 200);
        const cJSON *pending = at(answer, "pending");
        if (!cJSON_IsString(pending) || strcmp(pending->valuestring, CLEANING) != 0)
            return answer;
        cJSON_Delete(answer);
    }
    fail_msg("its clean-up does not end");
    return NULL;
}

static void the_first_one_back_while_the_second_measures(void **state)
{
    (void)state;
    struct scene scene;
    scene_start(&scene);
    child_start(&scene.child);
    char *target = mem_format("/v1/jobs/%s", scene.theirs);
    for (bool waits = false; !waits;) { /* its first try has found the lock taken */
        cJSON *job = child_get(&scene.child, target);
        assert_true(cJSON_IsNull(at(job, "finished_at")));
        waits = strcmp(text_at(job, "state"), "waiting") == 0;
        if (waits)
            assert_string_equal(text_at(job, "state_reason"), "instance_busy");
        cJSON_Delete(job);
    }
    cJSON *answer = reconcile(&scene);
    assert_string_equal(text_at(answer, "intents/0/action"), "trace_flag");
    assert_string_equal(text_at(answer, "intents/0/state"), "open");
    assert_string_equal(text_at(answer, "pending"), BUSY);
    cJSON_Delete(answer);
    ours_ends(&scene);
    answer = reconcile(&scene);
    assert_string_equal(text_at(answer, "intents/0/state"), "undone");
    cJSON_Delete(answer);
    assert_false(flag_is_on(scene.house, 3042));
    free(target);
    theirs_ends(&scene);
}

static void the_first_one_back_after_the_second(void **state)
{
    (void)state;
    struct scene scene;
    scene_start(&scene);
    ours_ends(&scene);
    child_start(&scene.child);
    theirs_ends(&scene);
}

/* A server that has no such lock: as ever, at once. */
static void without_such_a_lock_the_flag_is_put_back_at_once(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, FLAG_ALLOW);
    flag_fault(house, "{'do':'hide','match':'sp_getapplock'}");
    flag_fault(house, "{'do':'hold_at_percent','match':'" BACKUP "','nth':2}");
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    flag_fault(house, "{'do':'stop_listening'}");
    flag_fault(house, "{'do':'drop_all'}");
    cJSON_Delete(harness_wait_state(house, id, "waiting", "unreachable"));
    char *target = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", target, NULL, 202));
    cJSON_Delete(harness_wait(house, id));
    assert_true(flag_is_on(house, 3042));
    flag_fault(house, "{'do':'listen'}");
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    assert_string_equal(text_at(answer, "intents/0/state"), "undone");
    assert_true(cJSON_IsNull(at(answer, "pending")));
    cJSON_Delete(answer);
    assert_false(flag_is_on(house, 3042));
    free(target);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_back_while_the_second_measures),
        cmocka_unit_test(the_first_one_back_after_the_second),
        cmocka_unit_test(without_such_a_lock_the_flag_is_put_back_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
