#pragma once
/* Entity tags (RFC 9110 §8.8) and what If-Match and If-None-Match ask. Pure. Threads: any. */
#include "server/err.h"

#include <stdbool.h>
#include <stdint.h>

#define ETAG_SIZE 48

/* The version of a row in quotes; returns out. For rows whose name never comes back, such as jobs.
 */
const char *etag_of_version(int64_t version, char out[ETAG_SIZE]);

/* The same for rows that may be deleted and made anew under one name, each time with version 1:
 * when this one was made tells them apart. */
const char *etag_of_named(int64_t version, int64_t created_at, char out[ETAG_SIZE]);

/* True when the list of a header ("*", or tags with commas) holds etag. W/ is overlooked when
 * weak is true (If-None-Match), and never matches otherwise (If-Match). */
bool etag_in(const char *list, const char *etag, bool weak);

/* What a PUT or DELETE asks before it changes a thing; texts are borrowed, NULL: nothing. */
struct precondition {
    const char *if_match;
    const char *if_none_match;
};

/* True when something is asked at all, so that the row must be read first. */
bool precondition_is_set(const struct precondition *wanted);

/* True when a thing with this ETag (NULL: there is none) may be changed. */
bool precondition_holds(const struct precondition *wanted, const char *etag);
