#pragma once
/* The target of a request, read from its raw bytes: libmicrohttpd's own decoding cuts at %00 and
 * turns %2F into a slash before anybody can route (facts of 0.9.75). Pure. Threads: any. */
#include <stddef.h>

#define TARGET_SEGMENTS 8 /* more than any path of ours has */
#define TARGET_QUERIES 16 /* more than any list has parameters */

struct target_query {
    const char *name;
    const char *value; /* "" when there was no = */
};

/* Kept by value; zeroed is empty. Texts point into `text`. */
struct target {
    char *raw;       /* as it was sent, but for the http://HOST of a whole URL */
    char *authority; /* HOST or HOST:PORT of a whole URL (RFC 9112 3.2.2); NULL: there was none */
    char *text;      /* decoded, a NUL after each part */
    const char *segments[TARGET_SEGMENTS];
    size_t segment_count; /* all there are; "/" has none, "/v1/" ends with an empty one */
    struct target_query queries[TARGET_QUERIES];
    size_t query_count;
};

/* Reads raw into *out, which the caller ends with target_fini in every case. Returns NULL, or
 * what is wrong with it as the end of a sentence ("holds %00"). */
const char *target_read(const char *raw, struct target *out);
void target_fini(struct target *target);
