#pragma once
/* The checksum of evidence: SHA-256 over the text without white space between tokens and without
 * its last member, which is the checksum. Numbers and texts count as they are written: a changed
 * bit is found even where the value stays the same (1e5 and 1E5). Pure. */
#include "server/err.h"

#include <stddef.h>

/* Appends ,"sha256":"…" to an object's compact text; takes the text, gives the caller the new. */
char *evidence_seal(char *text);

/* ERR_INPUT: the last member is no checksum, or not that of the rest. text is JSON. */
MUST_CHECK int evidence_check_seal(const char *text, size_t length, struct err *err);
