#pragma once
/* The strict half of json.h: says whether a text is RFC 8259 JSON within our limits, and builds
 * nothing. cJSON may then read it without deciding anything. Threads: any. */
#include "server/err.h"

#include <stddef.h>

/* Checks all that json_parse refuses, except duplicate members, with this limit of tokens.
 * ERR_INPUT names the place. */
MUST_CHECK int json_scan(const char *text, size_t length, size_t token_max, struct err *err);

/* The length in bytes (1..4) of the UTF-8 character at text, of which `left` bytes may be read;
 * 0 when there is no valid one: cut off, overlong, a surrogate, or beyond U+10FFFF. */
size_t json_utf8_length(const char *text, size_t left);
