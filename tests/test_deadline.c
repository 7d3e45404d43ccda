/* The heap of moments: order, moving, clearing, also under several threads. */
#include "api/deadline.h"
#include "server/clock.h"
#include "server/lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 500

struct moment {
    struct deadline deadline; /* first */
    struct seen *seen;
    int number;
};

struct seen {
    struct wait more;
    struct lock lock; /* guards what follows */
    int order[MANY];
    int count;
};

static void note(struct deadline *deadline)
{
    struct moment *moment = (struct moment *)deadline;
    struct seen *seen = moment->seen;
    lock_take(&seen->lock);
    seen->order[seen->count++] = moment->number;
    wait_wake_all(&seen->more);
    lock_drop(&seen->lock);
}

static void wait_for(struct seen *seen, int count)
{
    lock_take(&seen->lock);
    while (seen->count < count)
        wait_on(&seen->more, &seen->lock);
    lock_drop(&seen->lock);
}

static struct seen *seen_new(struct moment *moments, int count)
{
    struct seen *seen = calloc(1, sizeof *seen);
    assert_non_null(seen);
    lock_init(&seen->lock);
    wait_init(&seen->more);
    for (int i = 0; i < count; i++)
        moments[i] = (struct moment){.deadline.passed = note, .seen = seen, .number = i};
    return seen;
}

static void seen_free(struct seen *seen)
{
    wait_fini(&seen->more);
    lock_fini(&seen->lock);
    free(seen);
}

static struct deadlines *start(void)
{
    struct err err;
    struct deadlines *deadlines = NULL;
    assert_int_equal(deadlines_start(&deadlines, &err), 0);
    return deadlines;
}

static void moments_pass_in_their_order(void **state)
{
    static struct moment moments[MANY];
    (void)state;
    struct seen *seen = seen_new(moments, MANY);
    struct deadlines *deadlines = start();
    int64_t base_ns = clock_mono_ns() + 50000000; /* all are set before the first passes */
    for (int i = 0; i < MANY; i++)
        deadline_set(deadlines, &moments[i].deadline, base_ns + (int64_t)(i * 7919 % MANY) * 10000);
    wait_for(seen, MANY);
    for (int i = 1; i < MANY; i++)
        assert_true(seen->order[i - 1] * 7919 % MANY < seen->order[i] * 7919 % MANY);
    deadlines_stop(deadlines);
    seen_free(seen);
}

static void the_nearest_moment_can_be_made_to_pass(void **state)
{
    struct moment moments[3];
    (void)state;
    struct seen *seen = seen_new(moments, 3);
    struct deadlines *deadlines = start();
    int64_t far_ns = clock_mono_ns() + 3600LL * 1000000000;
    deadlines_hasten(deadlines); /* harmless */
    for (int i = 0; i < 3; i++)
        deadline_set(deadlines, &moments[i].deadline, far_ns - i);
    for (int i = 0; i < 4; i++) /* the fourth finds none */
        deadlines_hasten(deadlines);
    deadlines_stop(deadlines);
    assert_int_equal(seen->count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen->order[i], 2 - i);
    seen_free(seen);
}

static void a_moved_moment_passes_once_and_a_cleared_one_never(void **state)
{
    struct moment moments[4];
    (void)state;
    struct seen *seen = seen_new(moments, 4);
    struct deadlines *deadlines = start();
    int64_t far_ns = clock_mono_ns() + 3600LL * 1000000000;
    for (int i = 0; i < 4; i++)
        deadline_set(deadlines, &moments[i].deadline, far_ns + i);
    deadline_clear(deadlines, &moments[0].deadline);
    deadline_clear(deadlines, &moments[0].deadline);  /* harmless */
    deadline_set(deadlines, &moments[2].deadline, 1); /* nearer: wakes the thread */
    wait_for(seen, 1);
    deadline_set(deadlines, &moments[3].deadline, 1);
    wait_for(seen, 2);
    deadline_clear(deadlines, &moments[2].deadline);
    deadline_clear(deadlines, &moments[1].deadline);
    deadlines_stop(deadlines);
    assert_int_equal(seen->count, 2);
    assert_int_equal(seen->order[0], 2);
    assert_int_equal(seen->order[1], 3);
    seen_free(seen);
}

struct setter {
    struct deadlines *deadlines;
    struct moment *moments;
    int count;
};

/* As connections do: set, move, clear, over and over. */
static void *set_and_clear(void *arg)
{
    const struct setter *setter = arg;
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < setter->count; i++) {
            int64_t at_ns = clock_mono_ns() + (i % 3 == 0 ? 3600LL * 1000000000 : round * 1000);
            setter->moments[i].number = -1;
            deadline_set(setter->deadlines, &setter->moments[i].deadline, at_ns);
            deadline_clear(setter->deadlines, &setter->moments[i].deadline);
        }
    return NULL;
}

static void ignore(struct deadline *deadline)
{
    (void)deadline;
}

static void threads_do_not_disturb_each_other(void **state)
{
    static struct moment moments[4][20];
    pthread_t threads[4];
    struct setter setters[4];
    (void)state;
    struct deadlines *deadlines = start();
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 20; k++)
            moments[i][k].deadline.passed = ignore;
        setters[i] = (struct setter){deadlines, moments[i], 20};
        assert_int_equal(pthread_create(&threads[i], NULL, set_and_clear, &setters[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    deadlines_stop(deadlines); /* asserts that none is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_pass_in_their_order),
        cmocka_unit_test(the_nearest_moment_can_be_made_to_pass),
        cmocka_unit_test(a_moved_moment_passes_once_and_a_cleared_one_never),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
