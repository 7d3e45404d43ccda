#pragma once
/* A mutex that clang's thread-safety analysis understands, and a condition to wait on.
 * One lock at a time; nothing slow under a lock. */
#include <pthread.h>
#include <stdint.h>

#ifdef __clang__
#define LOCK_ATTRIBUTE(x) __attribute__((x))
#else
#define LOCK_ATTRIBUTE(x)
#endif
#define NEEDS(x) LOCK_ATTRIBUTE(requires_capability(x))
#define LOCK_TAKES(x) LOCK_ATTRIBUTE(acquire_capability(x))
#define LOCK_DROPS(x) LOCK_ATTRIBUTE(release_capability(x))

struct LOCK_ATTRIBUTE(capability("mutex")) lock {
    pthread_mutex_t mutex;
};

struct wait {
    pthread_cond_t condition; /* on the monotonic clock */
};

#define LOCK_INIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER                                                                  \
    }

void lock_init(struct lock *lock);
void lock_fini(struct lock *lock);
void lock_take(struct lock *lock) LOCK_TAKES(*lock);
void lock_drop(struct lock *lock) LOCK_DROPS(*lock);

void wait_init(struct wait *wait);
void wait_fini(struct wait *wait);

/* Gives the lock up, sleeps until signalled (or for no reason: loop!), takes it again. */
void wait_on(struct wait *wait, struct lock *lock) NEEDS(*lock);

/* The same, ending at the latest at this moment of clock_mono_ns(). */
void wait_until(struct wait *wait, struct lock *lock, int64_t mono_ns) NEEDS(*lock);

void wait_wake_one(struct wait *wait);
void wait_wake_all(struct wait *wait);
