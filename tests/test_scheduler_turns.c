/* Whose turn it is: reasons that stay, windows that one job ignores, and many who claim at once. */
#include "jobs/scheduler.h"
#include "jobs/upkeep.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/store_kit.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOUR ((int64_t)3600000)
#define SATURDAY ((int64_t)1764979200000) /* 2025-12-06T00:00:00Z */
#define NIGHT "[{'days':['sat'],'from':'01:00','to':'05:00','time_zone':'UTC'}]"

static struct jobs_place *place_of(void **state)
{
    return *state;
}

static char *put(struct jobs_place *place, const char *instance, int64_t priority)
{
    struct job_row row = jobs_place_job(instance, NULL);
    row.priority = priority;
    return jobs_place_put_job(place, &row);
}

static struct claim claim_at(struct jobs_place *place, int64_t now_ms)
{
    struct claim claim = {.now_ms = now_ms};
    jobs_place_claim(place, &claim);
    return claim;
}

static void end_job(struct jobs_place *place, const char *id)
{
    struct job_row row = jobs_place_get_job(place, id);
    mem_replace(&row.state, "succeeded");
    jobs_place_update_job(place, &row);
    job_row_fini(&row);
}

static void a_job_that_was_not_reached_keeps_its_reason(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const windows[] = {"/windows", NIGHT, NULL};
    jobs_place_put_instance(place, "a", windows);
    struct job_row row = jobs_place_job("a", NULL);
    row.retry_at = SATURDAY + 2 * HOUR;
    mem_replace(&row.state, "waiting");
    mem_replace(&row.state_reason, "unreachable");
    char *away = jobs_place_put_job(place, &row);
    char *behind = put(place, "a", 5);
    assert_false(claim_at(place, SATURDAY).found); /* the window is shut */
    jobs_place_expect_state(place, behind, "waiting", "window");
    jobs_place_expect_state(place, away, "waiting", "unreachable");
    struct claim claim = claim_at(place, SATURDAY + HOUR); /* the other one runs */
    assert_string_equal(claim.row.id, behind);
    job_row_fini(&claim.row);
    jobs_place_expect_state(place, away, "waiting", "unreachable");
    struct overdue overdue = {.now_ms = SATURDAY + 2 * HOUR}; /* its moment comes: now it waits */
    jobs_place_write(place, upkeep_overdue_work, &overdue);
    assert_false(claim_at(place, SATURDAY + 2 * HOUR).found);
    jobs_place_expect_state(place, away, "waiting", "instance_busy");
    free(behind);
    free(away);
}

static void a_job_that_ignores_windows_does_not_queue_behind_one_that_waits(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const windows[] = {"/windows", NIGHT, NULL};
    static const char *const ignoring[] = {"/ignore_windows", "true", NULL};
    jobs_place_put_instance(place, "a", windows);
    char *high = put(place, "a", 9);
    char *low = put(place, "a", 1);
    struct job_row row = jobs_place_job("a", ignoring);
    char *ignores = jobs_place_put_job(place, &row);
    struct claim claim = claim_at(place, SATURDAY);
    assert_true(claim.found);
    assert_string_equal(claim.row.id, ignores);
    assert_int_equal(claim.closes_at, 0);
    job_row_fini(&claim.row);
    assert_false(claim_at(place, SATURDAY).found);
    jobs_place_expect_state(place, high, "waiting", "instance_busy");
    end_job(place, ignores);
    claim = claim_at(place, SATURDAY + HOUR); /* inside, the order is the usual one */
    assert_string_equal(claim.row.id, high);
    job_row_fini(&claim.row);
    free(high);
    free(low);
    free(ignores);
}

/* --- many who claim at once ------------------------------------------------------------------ */

#define CLAIMERS 8
#define CROWD_INSTANCES 10
#define CROWD_JOBS 200

struct crowd {
    struct jobs_place *place;
    atomic_int running[CROWD_INSTANCES];
    atomic_int most; /* on one instance at once */
    atomic_int ended;
};

static int finish_work(struct db *db, void *arg, struct err *err)
{
    struct job_row *row = arg;
    mem_replace(&row->state, "succeeded");
    return store_job_update(db, row, err);
}

static void *claim_and_end(void *arg)
{
    struct crowd *crowd = arg;
    while (atomic_load(&crowd->ended) < CROWD_JOBS) {
        struct claim claim = {.now_ms = clock_wall_ms()};
        struct err err = {0};
        if (scheduler_claim(crowd->place->store, &claim, &err) < 0)
            abort();
        if (!claim.found) {
            (void)sched_yield();
            continue;
        }
        int instance = claim.row.instance[0] - 'a';
        int now = atomic_fetch_add(&crowd->running[instance], 1) + 1;
        if (now > atomic_load(&crowd->most))
            atomic_store(&crowd->most, now);
        (void)sched_yield();
        (void)atomic_fetch_sub(&crowd->running[instance], 1);
        if (store_write(crowd->place->store, finish_work, &claim.row, &err) < 0)
            abort(); /* two had it */
        (void)atomic_fetch_add(&crowd->ended, 1);
        job_row_fini(&claim.row);
    }
    return NULL;
}

static void eight_claim_two_hundred_jobs_and_never_two_of_an_instance(void **state)
{
    static struct crowd crowd;
    pthread_t threads[CLAIMERS];
    crowd = (struct crowd){.place = place_of(state)};
    for (int i = 0; i < CROWD_JOBS; i++) {
        char name[2] = {(char)('a' + i % CROWD_INSTANCES), '\0'};
        if (i < CROWD_INSTANCES)
            jobs_place_put_instance(crowd.place, name, NULL);
        free(put(crowd.place, name, i % 10));
    }
    for (int i = 0; i < CLAIMERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_and_end, &crowd), 0);
    for (int i = 0; i < CLAIMERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&crowd.ended), CROWD_JOBS);
    assert_int_equal(atomic_load(&crowd.most), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(a_job_that_was_not_reached_keeps_its_reason),
        JOBS_TEST(a_job_that_ignores_windows_does_not_queue_behind_one_that_waits),
        JOBS_TEST(eight_claim_two_hundred_jobs_and_never_two_of_an_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
