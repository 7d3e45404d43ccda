#pragma once
/* Moments that must not pass unseen: one heap, one thread named "deadline". Connections that are
 * too slow and long polls whose time is up hang here. Setting and clearing cost O(log n) and
 * wake the thread only when the nearest moment comes nearer. Threads: any. */
#include "server/err.h"

#include <stddef.h>
#include <stdint.h>

struct deadlines;

/* One moment, inside the caller's struct; zeroed means not set. */
struct deadline {
    int64_t at_ns; /* of clock_mono_ns() */
    size_t place;  /* in the heap, from 1; 0: not set */
    /* Called once in the deadline thread (or by deadlines_hasten) under its lock, after the
     * deadline was cleared: it must only hand on, and not call this module. */
    void (*passed)(struct deadline *deadline);
};

MUST_CHECK int deadlines_start(struct deadlines **out, struct err *err);

/* All must be cleared. Joins the thread. Accepts NULL. */
void deadlines_stop(struct deadlines *deadlines);

/* Sets or moves a deadline; one that has passed already fires at once (in the thread). */
void deadline_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ns);

/* Lets the nearest moment pass now, in this thread; nothing when none is set. */
void deadlines_hasten(struct deadlines *deadlines);

/* After it returns `passed` is not and will not be called. Harmless when not set. */
void deadline_clear(struct deadlines *deadlines, struct deadline *deadline);
