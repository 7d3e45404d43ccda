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

/* --- the seam for tests, which do not wait ---
 * Once one of these was called, wait_until (server/lock.h) looks at the clock every few
 * milliseconds, so that who waits for a moment notices. Any thread may call them. */

/* From now on it is so much later by both clocks (0: only says that the seam is used). */
void clock_pass_ms(int64_t ms);
/* Somebody sets the wall clock so much on, or (negative) back. */
void clock_set_wall_ms(int64_t by_ms);
/* Both clocks are the machine's again. */
void clock_reset(void);
/* The machine's own moment at which a wait for this moment of clock_mono_ns() looks again. */
int64_t clock_machine_ns(int64_t mono_ns);

/* Writes RFC 3339 UTC with milliseconds into out and returns it. */
const char *clock_format(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

/* Reads RFC 3339 ("2026-12-01T02:53:08Z", fraction and offset allowed) into *out_wall_ms.
 * Returns false, leaving it untouched, when text is not such a time. */
bool clock_parse(const char *text, int64_t *out_wall_ms);
