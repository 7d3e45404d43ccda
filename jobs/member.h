#pragma once
/* Members that several definitions share, and small steps of writing JSON. Pure. */
#include "server/json.h"

#include <stdint.h>

/* Adds faults below /labels unless labels is NULL or an object of at most LIMIT_LABELS texts
 * with names that ?label= can find. */
void member_check_labels(const cJSON *labels, struct json_faults *faults);

/* A copy of value, or fallback when there is none; fallback is used up either way. */
cJSON *member_copy_or(const cJSON *value, cJSON *fallback);

/* A number, null when it is negative (our "unknown"). */
cJSON *member_number_or_null(int64_t value);

/* A time as RFC 3339, null for 0. */
cJSON *member_time_or_null(int64_t wall_ms);

/* Appends a text to an array that does not hold it yet. */
void member_add_text_once(cJSON *array, const char *text);

/* A member's whole number, `missing` when it is absent or no number. */
int64_t member_int(const cJSON *object, const char *name, int64_t missing);

/* Reads a document of the store that we wrote ourselves. The limits on what comes from outside do
 * not hold for it: the plan of a big job has more tokens than any body may have. ERR_STORE when it
 * is no JSON. The caller frees *out_tree. */
MUST_CHECK int member_parse_own(const char *document, cJSON **out_tree, struct err *err);

/* Whether two texts name the same database: without the case of letters, as nearly all servers
 * compare names. Where a server tells "Sales" from "SALES" the two are taken for one. */
bool member_is_same_database(const char *name, const char *other);

/* A member's text, NULL when it is absent or no text; borrowed. */
const char *member_text(const cJSON *object, const char *name);
