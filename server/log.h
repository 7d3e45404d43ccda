#pragma once
/* One event, one logfmt line on standard error. Never secrets, passwords or statement
 * parameters. `req=` or `job=` is set once per request or run and stands in every line of
 * that thread. Threads: any. */
#include "server/err.h"

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_ERROR, /* someone must act */
    LOG_LEVEL_WARN,  /* odd, but handled */
    LOG_LEVEL_INFO,  /* a job or the process changed state */
    LOG_LEVEL_DEBUG,
};

/* Lines above this level are dropped. */
void log_set_level(enum log_level level);

/* Reads error, warn, info or debug; -1 when it is none of them. */
int log_level_by_name(const char *name);

/* Whether lines of this level are written: for who would only make ready what is dropped. */
bool log_is_on(enum log_level level);

/* Sets this thread's context, such as log_context("job", id); NULL, NULL ends it. key is borrowed
 * until then; of value the first 99 bytes are copied. */
void log_context(const char *key, const char *value);

/* `event` is a short constant ("job_started"); format gives further key=value pairs, and
 * values from outside must be passed through log_quote() by "%s". May be NULL. */
void log_event(enum log_level level, const char *event, const char *format, ...) PRINTF_LIKE(3, 4);

/* Text as one logfmt value: quoted, control and bidi characters escaped, cut at 400 bytes.
 * Valid until the fourth later call in this thread. */
const char *log_quote(const char *text);
