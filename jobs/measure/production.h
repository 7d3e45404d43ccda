#pragma once
/* Whether an instance that is registered as a test looks like production all the same. Nothing
 * follows from it but a warning: an instance registered as test or development is believed
 * (api.md §2). The signs are a table. Pure. */
#include "server/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many sessions of others are more than a test has. */
#define PRODUCTION_SESSIONS 20

/* What is known of it. Texts are borrowed; NULL or -1: not known, which is no sign. */
struct production_look {
    const char *environment; /* as registered: production, test, development */
    const char *name;        /* as registered */
    const char *host;        /* its address */
    const char *host_name;   /* the machine's */
    const char *edition;     /* SERVERPROPERTY('Edition') */
    int64_t engine_edition;  /* SERVERPROPERTY('EngineEdition') */
    int64_t sessions;        /* of users, but for ours */
    int64_t primaries;       /* databases that are primary in an availability group here */
};

/* Appends one line to out: what looks like production, and what to do. False, and nothing appended,
 * when there is no sign or the instance is registered as production. */
bool production_doubt(const struct production_look *look, struct buf *out);

/* How many signs there are, the name of one, and whether it is seen: for tests. */
size_t production_sign_count(void);
const char *production_sign_name(size_t index);
bool production_sign_is_seen(size_t index, const struct production_look *look);

/* True when one of the words of a name is prod, prd or production (digits at a word's end do not
 * count), and the word before it is none of non, no, not, pre. */
bool production_name(const char *name);
