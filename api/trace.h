#pragma once
/* The caller's trace (W3C Trace Context), so that a log line of ours is found from theirs. Pure. */
#include <stdbool.h>

#define TRACE_ID_SIZE 33 /* 32 hex digits */

/* Reads the trace id out of a traceparent header, which may be NULL. False when it is none: then
 * the header is ignored, as the standard asks for. */
bool trace_id_of(const char *traceparent, char out[TRACE_ID_SIZE]);
