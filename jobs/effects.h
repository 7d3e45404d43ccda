#pragma once
/* What a report says in few lines, for events: the effects with their intervals, and what was not
 * decided. Pure. */
#include "server/json.h"

#define EFFECTS_MOST 8 /* of each list; the report has them all */

/* Adds to data, from a report: `effects` [{what, measure, value, low, high, level, verdict}],
 * `effects_more` (how many were left out), `undecided` [what], `undecided_more`. measure: "speed"
 * (above 1 is faster), "time" (above 1 is slower), "fraction_of_ceiling", "mib_s" (median, 5 to
 * 95 %). Unknown numbers are null. */
void effects_add(cJSON *data, const cJSON *report);

/* One effect in words; the caller frees it. effect: an item of `effects`. */
char *effects_words(const cJSON *effect);
