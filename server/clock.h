#pragma once
/* Time, in two kinds that are never mixed: durations come from the monotonic clock,
 * dates from the wall clock. Threads: any. */
#include "server/err.h"

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_TEXT_SIZE 32 /* room for "2026-12-01T02:53:08.123Z" */

/* Nanoseconds since an arbitrary moment; never goes back. */
int64_t clock_mono_ns(void);

/* Milliseconds since 1970-01-01T00:00:00Z. */
int64_t clock_wall_ms(void);

/* Writes RFC 3339 UTC with milliseconds into out and returns it. */
const char *clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

/* Reads RFC 3339 ("2026-12-01T02:53:08Z", fraction and offset allowed) into *out_wall_ms.
 * Returns false, leaving it untouched, when text is not such a time. */
bool clock_parse(const char *text, int64_t *out_wall_ms);
