#pragma once
/* Maintenance windows of an instance (api.md §2): days, from, to, time zone. A window whose `to` is
 * not after its `from` ends on the next day; "00:00" to "24:00" is the whole day. `to` equal to
 * `from` might mean a whole day or none: it is refused when it comes in, and what is stored so is
 * read as a whole day. Days name the day on which it opens. Local times are resolved by the zone's
 * own rules (TZif files, RFC 9636): a time inside a gap counts from the end of the gap; a time that
 * occurs twice opens at the first and closes at the last. Pure but for reading the zone's file.
 * Threads: any. */
#include "server/err.h"
#include "server/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds a fault below pointer for each time_zone of the list that this machine does not know, and
 * for each `to` that equals its `from`. */
void window_check(const cJSON *windows, const char *pointer, struct json_faults *faults);

/* Whether a window is open at wall_ms, and when that changes next (0: never, or not within eight
 * days). windows: NULL, "always" or [] mean always open. ERR_SYSTEM when a zone cannot be read. */
MUST_CHECK int window_state(const cJSON *windows, int64_t wall_ms, bool *out_open,
                            int64_t *out_change_ms, struct err *err);

/* From when to when a window is open, those that touch taken as one; wall ms. */
struct window_span {
    int64_t opens_at;
    int64_t closes_at;
};

/* The one that is open at wall_ms; *out_found is false when none is, or when none ever closes.
 * Errors as window_state. */
MUST_CHECK int window_around(const cJSON *windows, int64_t wall_ms, bool *out_found,
                             struct window_span *out, struct err *err);

/* A trial that began at began_ms and was cut by the span's end: whether it had the whole of it, as
 * far as any can. first: nothing was measured before it since the job's turn came at ready_ms. */
bool window_was_whole(const struct window_span *span, int64_t began_ms, bool first,
                      int64_t ready_ms);
