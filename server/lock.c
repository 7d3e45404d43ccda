#include "server/lock.h"
#include "server/clock.h"

#include <assert.h>
#include <time.h>

void lock_init(struct lock *lock)
{
    int failed = pthread_mutex_init(&lock->mutex, NULL);
    assert(!failed);
    (void)failed;
}

void lock_fini(struct lock *lock)
{
    (void)pthread_mutex_destroy(&lock->mutex); /* fails only when held, which is a bug */
}

void lock_take(struct lock *lock) LOCK_ATTRIBUTE(no_thread_safety_analysis)
{
    int failed = pthread_mutex_lock(&lock->mutex);
    assert(!failed);
    (void)failed;
}

void lock_drop(struct lock *lock) LOCK_ATTRIBUTE(no_thread_safety_analysis)
{
    int failed = pthread_mutex_unlock(&lock->mutex);
    assert(!failed);
    (void)failed;
}

void wait_init(struct wait *wait)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&wait->condition, &attributes);
    assert(!failed);
    (void)failed;
    (void)pthread_condattr_destroy(&attributes);
}

void wait_fini(struct wait *wait)
{
    (void)pthread_cond_destroy(&wait->condition);
}

void wait_on(struct wait *wait, struct lock *lock)
{
    (void)pthread_cond_wait(&wait->condition, &lock->mutex);
}

void wait_until(struct wait *wait, struct lock *lock, int64_t mono_ns)
{
    int64_t at_ns = clock_machine_ns(mono_ns);
    at_ns = at_ns > 0 ? at_ns : 0; /* long over */
    struct timespec until = {.tv_sec = (time_t)(at_ns / 1000000000),
                             .tv_nsec = (long)(at_ns % 1000000000)};
    (void)pthread_cond_timedwait(&wait->condition, &lock->mutex, &until); /* time-out or wake */
}

void wait_wake_one(struct wait *wait)
{
    (void)pthread_cond_signal(&wait->condition);
}

void wait_wake_all(struct wait *wait)
{
    (void)pthread_cond_broadcast(&wait->condition);
}
