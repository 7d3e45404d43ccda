#include "api/deadline.h"
#include "server/clock.h"
#include "server/lock.h"
#include "server/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct deadlines {
    pthread_t thread;
    struct wait changed;    /* the nearest moment came nearer, or stop */
    struct lock lock;       /* guards what follows, and `place` and `at_ns` of every deadline set */
    struct deadline **heap; /* heap[1] is the nearest; heap[0] is not used */
    size_t capacity;
    size_t count;
    int64_t wakes_at_ns; /* when the thread looks again by itself; INT64_MAX: never */
    bool stopping;
};

static void put_locked(struct deadlines *deadlines, size_t place, struct deadline *deadline)
    NEEDS(deadlines->lock)
{
    deadlines->heap[place] = deadline;
    deadline->place = place;
}

static void rise_locked(struct deadlines *deadlines, size_t place) NEEDS(deadlines->lock)
{
    struct deadline *deadline = deadlines->heap[place];
    while (place > 1 && deadlines->heap[place / 2]->at_ns > deadline->at_ns) {
        put_locked(deadlines, place, deadlines->heap[place / 2]);
        place /= 2;
    }
    put_locked(deadlines, place, deadline);
}

static void sink_locked(struct deadlines *deadlines, size_t place) NEEDS(deadlines->lock)
{
    struct deadline *deadline = deadlines->heap[place];
    while (place * 2 <= deadlines->count) {
        size_t child = place * 2;
        if (child < deadlines->count &&
            deadlines->heap[child + 1]->at_ns < deadlines->heap[child]->at_ns)
            child++;
        if (deadlines->heap[child]->at_ns >= deadline->at_ns)
            break;
        put_locked(deadlines, place, deadlines->heap[child]);
        place = child;
    }
    put_locked(deadlines, place, deadline);
}

static void remove_locked(struct deadlines *deadlines, struct deadline *deadline)
    NEEDS(deadlines->lock)
{
    size_t place = deadline->place;
    struct deadline *last = deadlines->heap[deadlines->count--];
    deadline->place = 0;
    if (last == deadline)
        return;
    put_locked(deadlines, place, last);
    rise_locked(deadlines, place);
    sink_locked(deadlines, last->place);
}

static void pass_first_locked(struct deadlines *deadlines) NEEDS(deadlines->lock)
{
    struct deadline *due = deadlines->heap[1];
    remove_locked(deadlines, due);
    due->passed(due);
}

static void fire_locked(struct deadlines *deadlines) NEEDS(deadlines->lock)
{
    int64_t now_ns = clock_mono_ns();
    while (deadlines->count > 0 && deadlines->heap[1]->at_ns <= now_ns)
        pass_first_locked(deadlines);
}

static void *run(void *arg)
{
    struct deadlines *deadlines = arg;
    lock_take(&deadlines->lock);
    while (!deadlines->stopping) {
        fire_locked(deadlines);
        deadlines->wakes_at_ns = deadlines->count > 0 ? deadlines->heap[1]->at_ns : INT64_MAX;
        if (deadlines->count > 0)
            wait_until(&deadlines->changed, &deadlines->lock, deadlines->wakes_at_ns);
        else
            wait_on(&deadlines->changed, &deadlines->lock);
    }
    lock_drop(&deadlines->lock);
    return NULL;
}

int deadlines_start(struct deadlines **out, struct err *err)
{
    struct deadlines *deadlines = mem_alloc(1, sizeof *deadlines);
    lock_init(&deadlines->lock);
    wait_init(&deadlines->changed);
    int failed = pthread_create(&deadlines->thread, NULL, run, deadlines);
    if (failed) {
        wait_fini(&deadlines->changed);
        lock_fini(&deadlines->lock);
        free(deadlines);
        return err_set(err, ERR_SYSTEM, failed, "start the deadline thread: error %d", failed);
    }
    (void)pthread_setname_np(deadlines->thread, "deadline"); /* for people who debug */
    *out = deadlines;
    return 0;
}

void deadlines_stop(struct deadlines *deadlines)
{
    if (!deadlines)
        return;
    lock_take(&deadlines->lock);
    assert(deadlines->count == 0);
    deadlines->stopping = true;
    wait_wake_one(&deadlines->changed);
    lock_drop(&deadlines->lock);
    (void)pthread_join(deadlines->thread, NULL); /* fails only for a thread that is not ours */
    wait_fini(&deadlines->changed);
    lock_fini(&deadlines->lock);
    free(deadlines->heap);
    free(deadlines);
}

void deadline_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ns)
{
    lock_take(&deadlines->lock);
    if (deadline->place > 0)
        remove_locked(deadlines, deadline);
    deadline->at_ns = at_ns;
    deadlines->count++;
    deadlines->heap = mem_grow(deadlines->heap, &deadlines->capacity, deadlines->count + 1,
                               sizeof(struct deadline *));
    put_locked(deadlines, deadlines->count, deadline);
    rise_locked(deadlines, deadlines->count);
    /* A thread that wakes too early (the moment was moved away) just sleeps again: cheaper than a
     * wake with every request. */
    if (at_ns < deadlines->wakes_at_ns) {
        deadlines->wakes_at_ns = at_ns;
        wait_wake_one(&deadlines->changed);
    }
    lock_drop(&deadlines->lock);
}

void deadline_clear(struct deadlines *deadlines, struct deadline *deadline)
{
    lock_take(&deadlines->lock);
    if (deadline->place > 0)
        remove_locked(deadlines, deadline);
    lock_drop(&deadlines->lock);
}

void deadlines_hasten(struct deadlines *deadlines)
{
    lock_take(&deadlines->lock);
    if (deadlines->count > 0)
        pass_first_locked(deadlines);
    lock_drop(&deadlines->lock);
}
