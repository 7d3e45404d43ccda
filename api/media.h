#pragma once
/* Media types: what we can send, which of it a client's Accept wants, and whether a body is
 * JSON. Pure. Threads: any. */
#include <stdbool.h>

enum media {
    MEDIA_JSON,
    MEDIA_CSV,
    MEDIA_MARKDOWN,
    MEDIA_HTML,
    MEDIA_YAML,
    MEDIA_EVENTS,
    MEDIA_METRICS,
    MEDIA_PROBLEM,
};
#define MEDIA_COUNT (MEDIA_PROBLEM + 1)
#define MEDIA_BIT(media) (1u << (media))

/* The value for Content-Type. */
const char *media_type(enum media media);

/* Picks from `offered` (MEDIA_BITs) what accept (a header's value, or NULL) likes best; among
 * equals the lowest enum value, JSON first. Returns false when it wants none of them. */
bool media_choose(const char *accept, unsigned offered, enum media *out_media);

/* True for application/json, with or without a charset of UTF-8. NULL is not. */
bool media_is_json(const char *content_type);
