/* A job that comes back makes sure that its former session is gone before it repeats anything. */
#include "server/mem.h"
#include "server/mssql.h"
#include "tests/sweep_kit.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LOOK "SELECT COUNT(*), COALESCE(HAS_PERMS_BY_NAME"
#define BODY SWEEP(",'buffercount':[50]", SHORT)

/* What the server still does for a client that is gone. */
struct ghost {
    struct mssql *session;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct err ignored; /* however it ends */
    (void)(mssql_execute(arg, "BACKUP DATABASE [AdventureWorks] TO DISK = N'NUL' WITH COPY_ONLY",
                         NULL, NULL, &ignored) < 0);
    return NULL;
}

static void ghost_start(struct ghost *ghost, struct sim *sim, const char *job)
{
    char name[80];
    (void)snprintf(name, sizeof name, "sweetspot %s", job);
    ghost->session = harness_session(sim, name);
    sweep_fault(sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Adv'}");
    assert_int_equal(pthread_create(&ghost->thread, NULL, work, ghost->session), 0);
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_HELD, NULL, 2, 20000), 0);
}

static void ghost_end(struct ghost *ghost)
{
    (void)pthread_join(ghost->thread, NULL);
    mssql_close(ghost->session);
}

struct scene {
    struct harness *house;
    struct ghost ghost;
    char *id; /* of the job that the ghost belongs to; it waits */
    char *blocker;
};

/* A job that waits for another one, while its former session is still at something. */
static void scene_make(struct scene *scene)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]'}");
    scene->house = house;
    scene->blocker = harness_submit(house, BODY);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    scene->id = harness_submit(house, BODY);
    cJSON_Delete(harness_wait_state(house, scene->id, "waiting", "instance_busy"));
    ghost_start(&scene->ghost, house->sim, scene->id);
    sim_forget_statements(house->sim);
}

static void end_blocker(struct scene *scene)
{
    char *target = mem_format("/v1/jobs/%s/cancel", scene->blocker);
    cJSON_Delete(harness_call(scene->house, "POST", target, NULL, 202));
    cJSON_Delete(harness_wait(scene->house, scene->blocker));
    free(target);
}

static void scene_end(struct scene *scene)
{
    ghost_end(&scene->ghost);
    free(scene->blocker);
    free(scene->id);
    harness_stop(scene->house);
}

static void waits_until_the_former_session_is_gone(void **state)
{
    (void)state;
    struct scene scene;
    scene_make(&scene);
    struct sim *sim = scene.house->sim;
    end_blocker(&scene);
    assert_int_equal(sim_wait_for(sim, SIM_EVENT_STATEMENTS, LOOK, 3, 20000), 0);
    assert_int_equal(sim_count_statements(sim, "BACKUP"), 0);
    sim_release(sim);
    cJSON_Delete(harness_wait(scene.house, scene.id));
    assert_int_equal(sim_count_statements(sim, "BACKUP DATABASE [Sales]"), 2);
    scene_end(&scene);
}

static void does_not_wait_for_a_server_that_does_not_tell(void **state)
{
    (void)state;
    struct scene scene;
    scene_make(&scene);
    sweep_fault(scene.house->sim, "{'do':'error','match':'" LOOK "','number':300,'severity':14,"
                                  "'times':-1,'text':'denied'}");
    sweep_fault(scene.house->sim, "{'do':'error','match':'SELECT TOP (1) command','number':300,"
                                  "'severity':14,'times':-1,'text':'denied'}");
    end_blocker(&scene);
    assert_int_equal(
        sim_wait_for(scene.house->sim, SIM_EVENT_STATEMENTS, "BACKUP DATABASE [Sales]", 1, 20000),
        0);
    sim_release(scene.house->sim);
    cJSON_Delete(harness_wait(scene.house, scene.id));
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_until_the_former_session_is_gone),
        cmocka_unit_test(does_not_wait_for_a_server_that_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
