/* Two services, each with a results database of its own, and one server that all their instances
 * are names of: never two sessions measure at the same time. 40 jobs, 4 workers each;
 * SWEETSPOT_TEST_LONG=1: 200 jobs, 8 workers. */
#include "jobs/applock.h"
#include "jobs/inside.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/mssql_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SERVICES 2
#define WAIT_NS ((int64_t)240 * 1000000000)
#define TAKE "DECLARE @answer int; EXECUTE @answer = master.sys.sp_getapplock"

/* One server under names that a service takes for different ones: else it would queue its own jobs.
 */
static const char *const hosts[] = {"\"127.0.0.1\"", "\"localhost\"", "\"127.1\"",
                                    "\"127.0.1\"",   "\"0x7f.1\"",    "\"0177.0.0.1\"",
                                    "\"127.0.0x1\"", "\"0x7f000001\""};

struct service {
    struct jobs_place *place;
    struct jobs *jobs;
    char **ids;
    int count;
};

static void service_start(struct service *service, struct sim *sim, int workers)
{
    void *state = NULL;
    struct err err = {0};
    char port[16];
    (void)jobs_place_set_up(&state);
    service->place = state;
    service->place->config.workers = workers;
    assert_int_equal(setenv("SWEETSPOT_SECRET_TEST", PLACE_PASSWORD, 1), 0);
    (void)snprintf(port, sizeof port, "%d", sim_port(sim));
    for (int i = 0; i < workers; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "sql%d", i);
        const char *changes[] = {"/host", hosts[i], "/port", port, "/login", "'sa'", NULL};
        jobs_place_put_instance(service->place, name, changes);
    }
    if (jobs_start(&service->place->parts, &service->jobs, &err) < 0)
        fail_msg("%s", err.msg);
}

static void service_end(struct service *service)
{
    jobs_stop(service->jobs);
    void *state = service->place;
    (void)jobs_place_tear_down(&state);
    for (int i = 0; i < service->count; i++)
        free(service->ids[i]);
    free(service->ids);
}

static void submit(struct service *service, const char *database, int count, int instances)
{
    const char *const changes[] = {
        "/parameters/database",          database, "/parameters/buffercount", "[7]", "/design",
        "{'repetitions':1,'warmups':0}", NULL};
    service->ids = mem_alloc((size_t)count, sizeof(char *));
    for (int i = 0; i < count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "sql%d", i % instances);
        struct job_row row = jobs_place_job(name, changes);
        service->ids[service->count++] = jobs_place_put_job(service->place, &row);
    }
    jobs_wake(service->jobs);
}

/* How many ran to their last trial (one repetition answers nothing); the test fails when one does
 * not. */
static int wait_for_all(struct service *service)
{
    int64_t until = clock_mono_ns() + WAIT_NS;
    for (int i = 0; i < service->count;) {
        struct job_row row = jobs_place_get_job(service->place, service->ids[i]);
        bool done = row.finished_at != 0;
        if (done && row.error)
            fail_msg("%s: %s", row.state, row.error);
        if (!done && clock_mono_ns() > until)
            fail_msg("job %d is still %s", i, row.state);
        job_row_fini(&row);
        i += done;
        if (!done)
            (void)usleep(2000); /* the next look, not a guess of how long it takes */
    }
    return service->count;
}

static void one_session_measures_at_a_time(void **state)
{
    (void)state;
    bool is_long = getenv("SWEETSPOT_TEST_LONG") != NULL;
    int jobs = is_long ? 200 : 40;
    int workers = is_long ? 8 : 4;
    struct place *server = place_make("{'time_scale':0}");
    struct service services[SERVICES] = {{0}};
    for (int i = 0; i < SERVICES; i++)
        service_start(&services[i], server->sim, workers);
    for (int i = 0; i < SERVICES; i++)
        submit(&services[i], "'Sales'", jobs, workers);
    int ended = 0;
    for (int i = 0; i < SERVICES; i++)
        ended += wait_for_all(&services[i]);
    for (int i = 0; i < SERVICES; i++)
        service_end(&services[i]);
    int most = sim_most_backing_up(server->sim);
    print_message("%d jobs x %d workers x %d services: %d ran, %d times asked for the lock, "
                  "at most %d measured at a time\n",
                  jobs, workers, SERVICES, ended, sim_count_statements(server->sim, TAKE), most);
    assert_int_equal(ended, jobs * SERVICES);
    assert_int_equal(most, 1);
    place_free(server);
}

/* What the lock is for: without it they do meet, and the count above would show it. */
static void without_the_lock_two_services_meet(void **state)
{
    (void)state;
    struct place *server = place_make("{'time_scale':0}");
    struct service services[SERVICES] = {{0}};
    place_fault(server, "{'do':'hide','match':'sp_getapplock'}");
    place_fault(server, "{'do':'hide','match':'dm_exec_requests'}"); /* nor see each other's work */
    place_fault(server, "{'do':'hold_at_percent','match':'BACKUP','times':2}");
    for (int i = 0; i < SERVICES; i++)
        service_start(&services[i], server->sim, 1);
    submit(&services[0], "'Sales'", 1, 1);
    submit(&services[1], "'AdventureWorks'", 1, 1);
    assert_int_equal(sim_wait_for(server->sim, SIM_EVENT_HELD, NULL, 2, 20000), 0);
    assert_int_equal(sim_most_backing_up(server->sim), 2);
    sim_release(server->sim);
    for (int i = 0; i < SERVICES; i++)
        (void)wait_for_all(&services[i]);
    for (int i = 0; i < SERVICES; i++)
        service_end(&services[i]);
    place_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_session_measures_at_a_time),
        cmocka_unit_test(without_the_lock_two_services_meet),
    };
    log_set_level(LOG_LEVEL_ERROR);
    applock_set_pause(5);
    jobs_set_tick(5);
    return cmocka_run_group_tests(tests, place_init, place_fini);
}
